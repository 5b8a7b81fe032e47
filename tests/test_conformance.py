import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from gradviz.autodiff import gradient_of
from gradviz.conformance import compare_arrays, conformance
from gradviz.errors import LoadError
from gradviz.execute import run
from gradviz.nets import NetBuilder
from gradviz.ops import registry
from gradviz.proto import OperatorDef

DATA = Path(__file__).parent / "data"


def gradient_row(type="Relu", grad_type="ReluGradient", **changes):
    op = OperatorDef(type=type, input=["x"], output=["y"])
    grad = OperatorDef(type=grad_type, input=["y", "y_grad"], output=["x_grad"], name="", is_gradient_op=True)
    row = {"op_b64": encoded(op), "g_output": ["y_grad"], "g_input": ["x_grad"], "grad_ops_b64": [encoded(grad)]}
    return {**row, **changes}


def encoded(message):
    return base64.b64encode(message.SerializeToString()).decode()


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def kernel_file(path, error=None, **changes):
    op = OperatorDef(type="Relu", input=["x"], output=["y"])
    side = [{"dtype": "float32", "shape": [2], "string": False}]
    row = {"case": 0, "op_b64": encoded(op), "inputs": side, "outputs": [] if error else side, "error": error}
    x, y = np.array([-1, 2], np.float32), changes.get("y", np.array([0, 2], np.float32))
    manifest = np.frombuffer(json.dumps([row]).encode(), np.uint8)
    np.savez(path, manifest=manifest, **{"0/in/0": x, "0/out/0": y})
    return path


def test_our_own_vectors_are_read_by_content_not_by_name():
    report = conformance(DATA / "gradients", types=["Relu", "Gather"])
    assert {row.type for row in report.rows} == {"Relu", "Gather"}
    assert {row.kind for row in report.rows} == {"gradients"}
    assert report.ok
    assert report.passed > 10


def test_a_vector_that_disagrees_is_counted_and_shown(tmp_path):
    write_rows(tmp_path / "v.jsonl", gradient_row(), gradient_row(grad_type="TanhGradient"))
    report = conformance(tmp_path)
    assert (report.passed, report.failed, report.ok) == (1, 1, False)
    (difference,) = report.differences
    assert (difference.kind, difference.type, difference.file, difference.place) == ("gradients", "Relu", "v.jsonl", 2)
    assert "ReluGradient" in difference.text
    assert "TanhGradient" in difference.text


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (gradient_row(g_input=["other"]), "g_input is"),
        (gradient_row(g_output=[None]), "refused (expected_dense"),
        (gradient_row(grad_ops_b64=[]), "1 gradient ops where 0 are recorded"),
        (gradient_row(error_kind="enforce"), "where a refusal (enforce) is recorded"),
        (gradient_row(type="NoSuchOp", error_kind="enforce"), "refused as no_gradient_maker where enforce"),
    ],
)
def test_what_a_gradient_vector_can_disagree_in(tmp_path, row, says):
    report = conformance(write_rows(tmp_path / "v.jsonl", row))
    assert says in report.differences[0].text


@pytest.mark.parametrize(
    ("changes", "ok"),
    [({"error_kind": "enforce", "g_output": [None]}, True), ({"error_kind": "not_registered"}, False)],
)
def test_refusals_agree_by_kind(tmp_path, changes, ok):
    assert conformance(write_rows(tmp_path / "v.jsonl", gradient_row(**changes))).ok is ok


def test_rows_without_order_agree_when_sorted(tmp_path):
    op = OperatorDef(type="Pow", input=["x"], output=["y"])
    op.arg.add(name="exponent", f=2.0)
    made, g_input = gradient_of(op, ["y_grad"])
    shuffled = [encoded(each) for each in reversed(made)]
    row = {"op_b64": encoded(op), "g_output": ["y_grad"], "g_input": list(g_input), "grad_ops_b64": shuffled}
    assert not conformance(write_rows(tmp_path / "a.jsonl", row)).ok
    assert conformance(write_rows(tmp_path / "b.jsonl", {**row, "unordered": True})).ok


def test_gzipped_lines_are_read(tmp_path):
    with gzip.open(tmp_path / "v.jsonl.gz", "wt") as out:
        out.write(json.dumps(gradient_row()))
    assert conformance(tmp_path).passed == 1


def test_kernels_are_run(tmp_path):
    kernel_file(tmp_path / "good.npz")
    kernel_file(tmp_path / "wrong.npz", y=np.array([0, 3], np.float32))
    kernel_file(tmp_path / "refused.npz", error="refused")
    report = conformance(tmp_path)
    assert [(row.kind, row.type, row.passed, row.failed) for row in report.rows] == [("kernels", "Relu", 1, 2)]
    assert [difference.file for difference in report.differences] == ["refused.npz", "wrong.npz"]
    assert "most at [1]: 2 where 3 is recorded" in report.differences[1].text


def test_types_without_kernel_are_skipped_and_counted(tmp_path):
    path = kernel_file(tmp_path / "v.npz")
    with np.load(path) as file:
        arrays = dict(file)
    row = json.loads(bytes(arrays["manifest"]))[0]
    row["op_b64"] = encoded(OperatorDef(type="NoSuchOp", input=["x"], output=["y"]))
    arrays["manifest"] = np.frombuffer(json.dumps([row]).encode(), np.uint8)
    np.savez(path, **arrays)
    report = conformance(path)
    assert (report.passed, report.skipped, report.ok) == (0, 1, True)
    assert report.why_skipped == {"operator type not known": 1}


def a_run(tmp_path):
    net = NetBuilder()
    net.add("Add", ["x", "x"], "x")
    net.add("Relu", "x", "y")
    run(net.net, {"x": [1.0, -1.0]}, ys=(), iterations=2).save(tmp_path / "run.npz", every_version=True)
    return tmp_path / "run.npz"


def test_whole_runs_are_run(tmp_path):
    report = conformance(a_run(tmp_path))
    assert [(row.kind, row.type, row.passed) for row in report.rows] == [("runs", "run", 1)]


def test_a_run_that_disagrees_says_where(tmp_path):
    path = a_run(tmp_path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["val/2"] = arrays["val/2"] + 1
    np.savez(path, **arrays)
    report = conformance(path)
    assert report.differences[0].text.startswith("op 0, x version 1: 2 of 2 elements differ")


def test_kinds_can_be_chosen(tmp_path):
    kernel_file(tmp_path / "k.npz")
    write_rows(tmp_path / "g.jsonl", gradient_row())
    assert {row.kind for row in conformance(tmp_path, kinds=["kernels"]).rows} == {"kernels"}


def test_progress_is_told_file_by_file(tmp_path):
    for name in "ab":
        write_rows(tmp_path / f"{name}.jsonl", gradient_row())
    told = []
    conformance(tmp_path, progress=lambda *each: told.append(each))
    assert told == [(0, 2, "a.jsonl"), (1, 2, "b.jsonl")]


def test_operators_from_outside_are_tested_the_same_way(tmp_path):
    rule = registry.lookup("Relu").gradient
    registry.operator("MyRelu", inputs=1, outputs=1, gradient=rule)
    try:
        assert conformance(write_rows(tmp_path / "v.jsonl", gradient_row(type="MyRelu"))).ok
    finally:
        registry.unregister("MyRelu")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("v.jsonl", b"{not json", "not JSON Lines"),
        ("v.jsonl", b"[1, 2]", "a line holds a list"),
        ("v.jsonl", b'{"a": 1}', "neither a gradient vector nor a trace"),
        ("v.jsonl", b'{"op_b64": "x", "g_output": []}', "line 1"),
        ("v.jsonl.gz", b"not gzip", "not JSON Lines"),
        ("v.npz", b"not zip", "not a file of recorded arrays"),
    ],
)
def test_files_of_another_kind_are_told_in_one_line(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LoadError, match=says) as caught:
        conformance(tmp_path)
    assert "\n" not in str(caught.value)


def test_an_empty_folder_and_a_missing_one_are_told(tmp_path):
    with pytest.raises(LoadError, match="no vector files"):
        conformance(tmp_path)
    with pytest.raises(LoadError, match="no such file"):
        conformance(tmp_path / "missing")


@pytest.mark.parametrize(
    ("a", "b", "differs"),
    [
        (np.ones(2, np.float32), np.ones(2, np.float32), False),
        (np.ones(2, np.float32), np.ones(2), True),
        (np.ones(2), np.ones(3), True),
        (np.array([np.nan, 1]), np.array([np.nan, 1.00001]), False),
        (np.array([np.nan, 1]), np.array([1, np.nan]), True),
        (np.array([1, 2]), np.array([1, 3]), True),
        (np.array([b"a"], object), np.array([b"a"], object), False),
        (object(), np.ones(2), True),
    ],
)
def test_how_arrays_are_compared(a, b, differs):
    assert (compare_arrays(a, b) is not None) is differs


@pytest.mark.shared
@pytest.mark.parametrize("folder", ["gradients", "runs"])
def test_recorded_vectors_agree(shared, folder):
    report = conformance(shared / "vectors" / folder)
    assert report.differences == []
    assert report.passed > 60
