import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import compare, run
from gradviz.nets import NetBuilder
from gradviz.ops.records import GradientSlice
from tests.execute.nets import in_place, mlp, mlp_feeds


def test_each_version_keeps_its_value():
    workspace = run(in_place(), {"x": [1.0]}, ys=())
    assert workspace.versions("x") == [0, 1, 2, 3]
    assert [workspace.value("x", version).item() for version in range(4)] == [1, 2, 4, 8]
    assert workspace["x"].item() == 8


def test_versions_that_operators_read_and_write():
    workspace = run(in_place(), {"x": [1.0]}, ys=())
    assert [workspace.read_version(i, 0) for i in range(3)] == [0, 1, 2]
    assert [workspace.written_version(i, 0) for i in range(3)] == [1, 2, 3]


def test_writes_stand_in_order_of_execution():
    workspace = run(mlp(), mlp_feeds(), ys=())
    writes = [(write.iteration, write.op_index, write.output, write.blob, write.version) for write in workspace.writes]
    assert writes == [(0, 0, 0, "h", 1), (0, 1, 0, "h", 2), (0, 2, 0, "y", 1), (0, 3, 0, "s", 1), (0, 4, 0, "loss", 1)]
    assert all(isinstance(write.value, np.ndarray) for write in workspace.writes)


def test_what_is_not_there_is_told():
    workspace = run(mlp(), mlp_feeds(), ys=())
    with pytest.raises(ExecutionError, match="no blob los; near are loss"):
        workspace["los"]
    with pytest.raises(KeyError):
        workspace["los"]
    with pytest.raises(ExecutionError, match="h has no version 3; there are 1, 2"):
        workspace.value("h", 3)
    with pytest.raises(ExecutionError, match="no gradient of w1"):
        workspace.gradient("w1")


def test_a_sparse_gradient_is_a_slice_of_arrays():
    net = NetBuilder()
    net.add("Gather", ["table", "rows"], "y")
    feeds = {"table": np.ones((5, 2), np.float32), "rows": np.array([3, 3, 1], np.int64)}
    gradient = run(net.net, feeds, ys=["y"]).gradient("table")
    assert isinstance(gradient, GradientSlice)
    assert gradient.indices.tolist() == [3, 3, 1]
    assert gradient.values.shape == (3, 2)


def nan_net():
    """The square root of a Relu: its gradient is infinite at 0, and the Relu's mask swallows what comes of it."""
    net = NetBuilder()
    net.add("Relu", "x", "p")
    net.add("Sqrt", "p", "r")
    net.add("Sqr", "r", "s")
    net.add("AveragedLoss", "s", "loss")
    return net.net


def test_where_nan_is_born_and_where_it_dies():
    workspace = run(nan_net(), {"x": [-1.0, 4.0]}, ys=["loss"])
    assert [(bad.what, bad.op.outputs[0]) for bad in workspace.bad()] == [("born", "p_grad"), ("dies", "x_grad")]
    assert workspace.first_bad.blobs == ("p_grad",)
    assert workspace.first_bad.health[0].nan == 1
    assert "makes NaN or Inf out of finite inputs: p_grad" in str(workspace.first_bad)
    assert np.isfinite(workspace["x_grad"]).all()


def test_a_healthy_run_has_no_first_bad():
    workspace = run(nan_net(), {"x": [1.0, 4.0]}, ys=["loss"])
    assert workspace.first_bad is None
    assert workspace.bad_inputs == []


def test_nan_that_was_fed_is_not_born_here():
    workspace = run(nan_net(), {"x": [np.nan, 4.0]}, ys=())
    assert workspace.bad_inputs == ["x"]
    assert workspace.first_bad is None
    assert {bad.what for bad in workspace.bad()} == {"spreads"}


def test_health_of_a_version():
    workspace = run(mlp(), mlp_feeds(), ys=())
    assert workspace.health("h", 1).min < 0
    assert workspace.health("h", 2).min == 0
    assert workspace.health("h").shape == (3, 5)


def test_a_workspace_lists_its_blobs():
    workspace = run(mlp(), mlp_feeds(), ys=())
    assert list(workspace) == workspace.keys()
    assert {"x", "w1", "h", "loss"} <= set(workspace)
    assert "loss" in workspace
    assert "other" not in workspace


def test_last_values_are_saved_under_their_names(tmp_path):
    workspace = run(mlp(), mlp_feeds(), ys=())
    workspace.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as saved:
        assert set(saved.files) == set(workspace)
        np.testing.assert_array_equal(saved["loss"], workspace["loss"])


def test_every_version_is_saved_so_that_it_can_be_compared(tmp_path):
    workspace = run(in_place(), {"x": [1.0]}, ys=(), iterations=2)
    workspace.save(tmp_path / "run.npz", every_version=True)
    report = compare(workspace, tmp_path / "run.npz")
    assert report.ok
    assert len([row for row in report.rows if row.version]) == 6


def test_text_is_saved_without_pickles(tmp_path):
    net = NetBuilder()
    net.add("Copy", "x", "y")
    workspace = run(net.net, {"x": np.array([b"ab", b"c"], object)}, ys=())
    workspace.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as saved:
        assert saved["y"].tolist() == [b"ab", b"c"]
