import threading

import numpy as np
import pytest

import gradviz
from gradviz.errors import ExecutionError, GradientError
from gradviz.execute import Plan, run
from gradviz.execute.plan import OpError
from gradviz.nets import Model, NetBuilder
from gradviz.nets.tensors import from_array
from gradviz.ops import registry
from tests.execute.nets import filled_mlp, in_place, mlp, mlp_feeds


def by_hand(feeds):
    """Values and gradients of the MLP by NumPy."""
    h = np.maximum(feeds["x"] @ feeds["w1"].T + feeds["b1"], 0)
    y = h @ feeds["w2"].T + feeds["b2"]
    dy = 2 * y / y.size
    dh = (dy @ feeds["w2"]) * (h > 0)
    return {"h": h, "y": y, "loss": np.square(y).mean()}, {"w2": dy.T @ h, "w1": dh.T @ feeds["x"], "b1": dh.sum(0)}


def test_forward_and_gradients_agree_with_numpy():
    feeds = mlp_feeds()
    values, gradients = by_hand(feeds)
    workspace = gradviz.run(mlp(), feeds, ys=["loss"])
    for name, value in values.items():
        np.testing.assert_allclose(workspace[name], value, rtol=1e-5)
    for name, value in gradients.items():
        np.testing.assert_allclose(workspace.gradient(name), value, rtol=1e-4, atol=1e-6)


def test_without_ys_the_nets_outputs_are_asked_for():
    workspace = run(mlp(), mlp_feeds())
    assert workspace.gradient("w1").shape == (5, 4)


def test_no_ys_runs_the_net_as_it_is():
    workspace = run(mlp(), mlp_feeds(), ys=())
    assert len(workspace.ops) == workspace.forward == 5


def test_without_ys_a_net_that_has_no_gradient_still_runs():
    net = NetBuilder()
    net.add("MergeDim", "x", "y")
    net.add("FlattenToVec", "y", "z")
    workspace = run(net.net, {"x": np.ones((1, 2, 3), np.float32)})
    assert workspace["y"].shape == (2, 3)
    assert "no gradients were built" in workspace.notices[0]


def test_gradients_that_were_asked_for_and_cannot_be_built_are_an_error():
    net = NetBuilder()
    net.add("MergeDim", "x", "y")
    with pytest.raises(GradientError):
        run(net.net, {"x": np.ones((1, 2, 3), np.float32)}, ys=["y"])


def test_an_init_net_fills_parameters_and_feeds_go_before():
    workspace = run(filled_mlp(), {"x": np.ones((1, 4), np.float32), "b1": np.zeros(5, np.float32)}, ys=(), seed=1)
    assert workspace["w1"].shape == (5, 4)
    assert workspace["b1"].tolist() == [0] * 5
    assert workspace["b2"].tolist() == [0.5] * 2


def test_a_seed_repeats_a_run():
    x = {"x": np.ones((1, 4), np.float32)}
    first, again, other = (run(filled_mlp(), x, ys=(), seed=seed)["w1"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_parameters_of_an_export_are_there():
    feeds = mlp_feeds()
    model = Model(net=mlp(), parameters={name: from_array(feeds[name], name) for name in ("w1", "b1", "w2", "b2")})
    assert run(model, {"x": feeds["x"]}, ys=())["loss"] == run(mlp(), feeds, ys=())["loss"]


def test_feeds_are_copied():
    x = np.ones(2, np.float32)
    workspace = run(in_place(), {"x": x}, ys=())
    x[:] = 7
    assert workspace.value("x", 0).tolist() == [1, 1]
    assert workspace["x"].tolist() == [8, 8]


def test_python_numbers_and_lists_are_taken():
    net = NetBuilder()
    net.add("Gather", ["table", "rows"], "y")
    workspace = run(net.net, {"table": [[1.0, 2.0], [3.0, 4.0]], "rows": [1, 0]}, ys=())
    assert workspace["y"].tolist() == [[3, 4], [1, 2]]
    assert workspace["y"].dtype == np.float32


@pytest.mark.parametrize("until", [2, -3, "y"])
def test_until_stops_after_an_op_or_a_blob(until):
    workspace = run(mlp(), mlp_feeds(), ys=(), until=until)
    assert "y" in workspace
    assert "s" not in workspace


def test_until_names_something_that_is_there():
    with pytest.raises(ExecutionError, match="no op 99"):
        run(mlp(), mlp_feeds(), ys=(), until=99)
    with pytest.raises(ExecutionError, match="no op of the run writes nothing"):
        run(mlp(), mlp_feeds(), ys=(), until="nothing")


def test_until_needs_no_kernels_beyond():
    net = NetBuilder()
    net.add("Relu", "x", "y")
    net.add("NoSuchOp", "y", "z")
    assert run(net.net, {"x": [1.0]}, ys=(), until="y")["y"] == [1]


def test_every_type_that_cannot_be_run_is_named():
    net = NetBuilder()
    for i, type in enumerate(("Relu", "NoSuchOp", "NorThisOp", "NoSuchOp")):
        net.add(type, f"x{i}", f"x{i + 1}")
    with pytest.raises(OpError, match=r"^op 1 NoSuchOp .*nor can 2 others: NorThisOp, NoSuchOp") as caught:
        run(net.net, {"x0": [1.0]}, ys=())
    assert caught.value.path == (1,)


def test_a_failing_op_leaves_what_was_computed():
    net = NetBuilder()
    net.add("Relu", "x", "y")
    net.add("FC", ["y", "w", "b"], "z")
    feeds = {"x": np.ones((2, 3), np.float32), "w": np.ones((2, 2), np.float32), "b": np.ones(2, np.float32)}
    with pytest.raises(OpError, match=r"op 1 FC \(z\).*y float32\[2, 3\], w float32\[2, 2\]") as caught:
        run(net.net, feeds, ys=())
    assert caught.value.path == (1,)
    assert caught.value.workspace["y"].shape == (2, 3)


def test_progress_is_told_and_a_run_can_be_called_off():
    told = []
    event = threading.Event()

    def progress(done, total, op):
        told.append((done, total, op.type))
        if done == 2:
            event.set()

    workspace = run(mlp(), mlp_feeds(), ys=(), progress=progress, cancel=event)
    assert told == [(1, 5, "FC"), (2, 5, "Relu")]
    assert workspace.stopped == "cancelled before op 2 FC"
    assert "h" in workspace
    assert "y" not in workspace


def test_iterations_start_from_what_the_last_one_left():
    workspace = run(in_place(), {"x": [1.0]}, ys=(), iterations=2)
    assert [(write.iteration, write.version, write.value.item()) for write in workspace.writes] == [
        (0, 1, 2),
        (0, 2, 4),
        (0, 3, 8),
        (1, 1, 16),
        (1, 2, 32),
        (1, 3, 64),
    ]
    assert workspace.value("x", 0).item() == 8
    assert workspace.value("x", 0, iteration=0).item() == 1


def test_only_what_is_asked_for_is_kept():
    feeds = mlp_feeds()
    whole = run(mlp(), feeds, ys=["loss"])
    some = run(mlp(), feeds, ys=["loss"], keep=["loss", "w1_grad"])
    assert set(some) == {"loss", "w1_grad"}
    np.testing.assert_array_equal(some["w1_grad"], whole["w1_grad"])
    with pytest.raises(ExecutionError, match="y was not kept"):
        some["y"]
    assert some.peak_bytes < whole.peak_bytes


def test_the_last_values_can_be_kept():
    workspace = run(in_place(), {"x": [1.0]}, ys=(), keep="last", iterations=2)
    assert workspace["x"].item() == 64
    assert workspace.versions("x") == [3]


def test_freeing_leaves_later_iterations_what_they_read():
    feeds = mlp_feeds()
    workspace = run(mlp(), feeds, ys=["loss"], keep=["loss"], iterations=3)
    losses = [workspace.value("loss", iteration=i).item() for i in range(3)]
    assert losses[0] == losses[1] == losses[2]


def test_memory_that_is_not_kept_does_not_grow_with_depth():
    def peak(depth):
        net = NetBuilder()
        for i in range(depth):
            net.add("Relu", f"x{i}", f"x{i + 1}")
        return run(net.net, {"x0": np.ones(1000, np.float32)}, ys=(), keep=[f"x{depth}"]).peak_bytes

    assert peak(3) == peak(30) == 2 * 4000


def test_views_count_once():
    net = NetBuilder()
    net.add("Reshape", "x", ["y", "old"], shape=[2, 500])
    workspace = run(net.net, {"x": np.ones(1000, np.float32)}, ys=())
    assert workspace.peak_bytes < 4000 + 100


def test_anomaly_mode_stops_where_nan_is_born():
    net = NetBuilder()
    net.add("Copy", "x", "y")
    net.add("Log", "y", "z")
    net.add("Relu", "z", "r")
    workspace = run(net.net, {"x": [1.0, -1.0]}, ys=(), anomaly=True)
    assert workspace.stopped.startswith("op 1 Log (z): z has NaN or Inf although its inputs (y float32[2]) are finite")
    assert "r" not in workspace


def test_a_plan_runs_many_times():
    plan = Plan(mlp(), ["loss"])
    feeds = mlp_feeds()
    first = plan.run(feeds)["loss"]
    assert plan.run({**feeds, "x": 2 * feeds["x"]})["loss"] != first
    assert plan.run(feeds)["loss"] == first


def test_what_is_no_net_is_a_type_error():
    with pytest.raises(TypeError):
        run("net.pb")


def test_random_ops_with_a_seed_of_their_own_repeat_without_one():
    net = NetBuilder()
    net.add("GaussianFill", [], "x", shape=[4], device=gradviz.proto.DeviceOption(random_seed=5))
    first, again = (run(net.net, ys=())["x"] for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_kernels_hear_which_outputs_nobody_wants():
    heard = []

    def kernel(xp, x, *, ctx):
        heard.append([ctx.wants(i) for i in range(3)])
        return (x,) * ctx.outputs

    registry.operators()
    registry.operator("MyOp", inputs=1, outputs=2)
    registry.kernel("MyOp")(kernel)
    try:
        net = NetBuilder()
        net.add("MyOp", "x", ["a", "b"])
        net.add("MyOp", "a", ["c", "d"])
        net.add("MyOp", "c", ["a", "e"])
        plan = Plan(net.net, ())
        for keep in (["e"], "all", "last", ["b", "e"]):
            plan.run({"x": [1.0]}, keep=keep)
    finally:
        registry.unregister("MyOp")
    everything = [[True, True, False]] * 3
    little = [[True, False, False], [True, False, False], [False, True, False]]
    more = [[True, True, False], [True, False, False], [False, True, False]]
    assert heard == [*little, *everything, *everything, *more]


def test_gradients_that_nobody_wants_are_left_out():
    feeds = mlp_feeds()
    whole, some = (run(mlp(), feeds, ys=["loss"], keep=keep) for keep in ("all", ["w1_grad", "b1_grad"]))
    np.testing.assert_array_equal(whole["w1_grad"], some["w1_grad"])
    np.testing.assert_array_equal(whole["b1_grad"], some["b1_grad"])
