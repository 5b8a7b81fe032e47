import json
import re

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import compare, run
from gradviz.execute.compare import ulps
from gradviz.nets.tensors import from_array
from gradviz.proto import TensorProtos
from tests.execute.nets import in_place, mlp, mlp_feeds


def test_a_run_equals_itself():
    workspace = run(mlp(), mlp_feeds(), ys=["loss"])
    report = compare(workspace, workspace)
    assert report.ok
    assert report.first is None
    assert len(report.rows) == sum(len(workspace.versions(blob)) for blob in workspace)


def test_the_first_divergence_comes_first_in_order_of_execution():
    feeds = mlp_feeds()
    moved = {**feeds, "w2": feeds["w2"] + 0.1}
    report = compare(run(mlp(), feeds, ys=["loss"]), run(mlp(), moved, ys=["loss"]))
    assert not report.ok
    assert (report.first.blob, report.first.version, report.first.op_index) == ("w2", 0, None)
    after = next(row for row in report.rows if not row.ok and row.op_index is not None)
    assert (after.blob, after.op_index) == ("y", 2)
    assert after.max_abs > 0
    assert "elements differ" in after.reason


def test_versions_are_aligned():
    report = compare(run(in_place(), {"x": [1.0]}, ys=()), run(in_place(), {"x": [2.0]}, ys=()))
    assert [(row.version, row.a, row.b) for row in report.rows] == [(0, 1, 2), (1, 2, 4), (2, 4, 8), (3, 8, 16)]


def test_the_worst_element_is_shown():
    report = compare({"x": np.array([[1.0, 2], [3, 4]])}, {"x": np.array([[1.0, 2.5], [7, 4]])})
    (row,) = report.rows
    assert (row.worst_index, row.a, row.b, row.max_abs) == ((1, 0), 3, 7, 4)
    assert row.max_rel == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (np.ones(2), np.ones(3), r"shape \[2\] against \[3\]"),
        (np.ones(2), np.ones(2, np.float32), "dtype float64 against float32"),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "1 of 2 elements differ, 1 of them NaN in one only"),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), "1 of 2 elements differ"),
        (np.array([1, 2]), np.array([1, 3]), "1 of 2 elements differ"),
        (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), "1 of 2 elements differ"),
    ],
)
def test_what_differs(a, b, reason):
    report = compare({"x": a}, {"x": b})
    assert not report.ok
    assert re.match(reason, report.first.reason)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (np.array([1.0]), np.array([1.00005])),
        (np.ones((0, 3)), np.ones((0, 3))),
        (np.array(b"text", object), np.array(b"text", object)),
    ],
)
def test_what_agrees(a, b):
    assert compare({"x": a}, {"x": b}).ok


def test_units_in_the_last_place():
    one = np.array([1.0, -1.0, 0.0], np.float32)
    up = np.array([np.nextafter(np.float32(1), np.float32(2)), -1.0, -0.0], np.float32)
    assert ulps(one, up).tolist() == [1, 0, 0]
    assert not compare({"x": one}, {"x": up}, rtol=0, atol=0).ok
    assert compare({"x": one}, {"x": up}, rtol=0, atol=0, ulp=1).ok
    assert compare({"x": one}, {"x": up}, rtol=0, atol=0).first.max_ulp == 1


def test_a_run_against_saved_outputs(tmp_path):
    workspace = run(mlp(), mlp_feeds(), ys=["loss"])
    np.savez(tmp_path / "out.npz", y=workspace["y"], loss=workspace["loss"])
    protos = TensorProtos(protos=[from_array(workspace["y"] + 1, "y")])
    (tmp_path / "out.pb").write_bytes(protos.SerializeToString())
    report = compare(workspace, tmp_path / "out.npz")
    assert report.ok
    assert [row.blob for row in report.rows] == ["y", "loss"]
    assert compare(workspace, str(tmp_path / "out.pb")).first.blob == "y"


def test_a_run_against_a_recorded_run(tmp_path):
    workspace = run(in_place(), {"x": [1.0]}, ys=())
    values = [{"iteration": 0, "blob": "x", "version": v, "key": f"val/{v}"} for v in (1, 2, 3)]
    manifest = {"inputs": [{"blob": "x", "key": "in/0"}], "values": values}
    arrays = {f"val/{v}": np.array([2.0**v], np.float32) for v in (1, 2)} | {"val/3": np.array([9.0], np.float32)}
    text = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
    np.savez(tmp_path / "run.npz", manifest=text, **{"in/0": np.array([1.0], np.float32)}, **arrays)
    report = compare(workspace, tmp_path / "run.npz")
    assert [row.ok for row in report.rows] == [True, True, True, False]
    assert report.first.version == 3


def test_what_only_one_has_is_listed():
    report = compare({"x": np.ones(1), "y": np.ones(1)}, {"x": np.ones(1), "z": np.ones(1)})
    assert report.ok
    assert (report.only_a, report.only_b) == (["y"], ["z"])


def test_nothing_in_common_is_no_agreement():
    assert not compare({"x": np.ones(1)}, {"y": np.ones(1)}).ok


def test_a_report_goes_into_json():
    report = compare({"x": np.array([1.0]), "s": np.array([b"a"], object)}, {"x": np.array([2.0]), "s": [1]})
    decoded = json.loads(json.dumps(report.as_dict()))
    assert decoded["ok"] is False
    assert decoded["rows"][0]["worst_index"] == [0]


def test_something_else_is_refused():
    with pytest.raises(ExecutionError):
        compare(3, {"x": np.ones(1)})
