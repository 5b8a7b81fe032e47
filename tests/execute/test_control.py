"""Nets inside nets, against what the README of the recorded runs says of them."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import run
from gradviz.nets import NetBuilder

ONE = np.float32(1)
YES, NO = np.array([True]), np.array([False])


def builder(*ops):
    made = NetBuilder()
    for type, inputs, outputs, args in ops:
        gradient = args.pop("is_gradient_op", False)
        made.add(type, inputs, outputs, **args)
        made._net.op[-1].is_gradient_op = gradient
    return made


def net(*ops):
    return builder(*ops).net


def branch(type, source, target):
    return builder((type, [source], [target], {}))


def if_net(**branches):
    return net(("If", ["c", "x"], ["y"], branches))


def test_if_takes_the_branch_that_the_condition_says():
    both = if_net(then_net=branch("Negative", "x", "y"), else_net=branch("Copy", "x", "y"))
    assert run(both, {"c": YES, "x": ONE}, ys=())["y"] == -1
    assert run(both, {"c": NO, "x": ONE}, ys=())["y"] == 1


def test_if_without_else_leaves_all_as_it_was():
    only = if_net(then_net=branch("Negative", "x", "y"))
    assert run(only, {"c": NO, "x": ONE, "y": np.float32(5)}, ys=())["y"] == 5
    assert "y" not in run(only, {"c": NO, "x": ONE}, ys=())


def test_what_a_plain_branch_makes_is_seen_outside():
    then = builder(("Negative", ["x"], ["z"], {}), ("Copy", ["z"], ["y"], {}))
    workspace = run(if_net(then_net=then), {"c": YES, "x": ONE}, ys=())
    assert workspace["y"] == -1
    assert [write.blob for write in workspace.writes] == ["y"]
    assert [(write.blob, float(write.value)) for write in workspace.hidden_writes] == [("z", -1.0)]


@pytest.mark.parametrize("condition", [np.array([1], np.int32), np.array([True, True]), np.float32(1)])
def test_a_condition_is_one_bool(condition):
    with pytest.raises(ExecutionError, match="exactly one element"):
        run(if_net(then_net=branch("Negative", "x", "y")), {"c": condition, "x": ONE}, ys=())


@pytest.mark.parametrize("condition", [np.array(True), np.array([True])])
def test_a_condition_of_either_rank_does(condition):
    assert run(if_net(then_net=branch("Negative", "x", "y")), {"c": condition, "x": ONE}, ys=())["y"] == -1


def while_net(**extra):
    body = builder(("Add", ["x", "x"], ["x"], {}), ("Add", ["i", "one"], ["i"], {}))
    condition = builder(("LT", ["i", "limit"], ["c"], {}))
    return net(("While", ["c", "x", "i", "one", "limit"], ["x", "i", "c"], {"loop_net": body, "cond_net": condition}))


def test_while_asks_its_condition_net_before_each_round():
    feeds = {"c": NO, "x": ONE, "i": np.int64(0), "one": np.int64(1), "limit": np.int64(3)}
    workspace = run(while_net(), feeds, ys=())
    assert workspace["x"] == 8
    assert workspace["i"] == 3
    assert not workspace["c"]


def test_while_without_condition_net_reads_what_the_body_leaves():
    body = builder(("Add", ["x", "x"], ["x"], {}), ("Copy", ["no"], ["c"], {}))
    loop = net(("While", ["c", "x", "no"], ["x", "c"], {"loop_net": body}))
    assert run(loop, {"c": YES, "x": ONE, "no": NO}, ys=())["x"] == 2
    assert run(loop, {"c": NO, "x": ONE, "no": NO}, ys=())["x"] == 1


def test_an_endless_loop_can_be_called_off():
    loop = net(("While", ["c", "x"], ["x"], {"loop_net": builder(("Add", ["x", "x"], ["x"], {}))}))
    asked = []
    workspace = run(loop, {"c": YES, "x": ONE}, ys=(), cancel=lambda: asked.append(1) or len(asked) > 50)
    assert "cancelled" in workspace.stopped


DO_NET = builder(("Mul", ["a_in", "a_in"], ["local"], {}), ("Negative", ["local"], ["b_in"], {}))


def do(outputs=("b", "scope"), gradient=False, **args):
    binds = {"net": DO_NET, "inner_blobs": ["a_in", "b_in"], "outer_blobs_idx": [0, 1]}
    return ("Do", ["a", "scope"], list(outputs), {**binds, **args, "is_gradient_op": gradient})


SCOPE = ("CreateScope", [], ["scope"], {})
HAS = ("HasScope", ["scope"], ["has"], {})


def test_do_binds_names_and_keeps_the_others_to_itself():
    workspace = run(net(SCOPE, do(), HAS), {"a": np.float32(3)}, ys=())
    assert workspace["b"] == -9
    assert "local" not in workspace
    assert "a_in" not in workspace
    assert workspace["has"].tolist() == [True]


def test_an_outer_blob_that_is_not_bound_cannot_be_read():
    inside = builder(("Negative", ["a"], ["b_in"], {}))
    with pytest.raises(ExecutionError, match="input a was never written"):
        run(net(SCOPE, do(net=inside)), {"a": ONE}, ys=())


GRADIENT = builder(("Mul", ["local", "g_in"], ["r_in"], {}))


def gradient_do(**args):
    binds = {"net": GRADIENT, "inner_blobs": ["g_in", "r_in"], "outer_blobs_idx": [0, 1]}
    return ("Do", ["g", "scope"], ["r", "scope"], {**binds, **args, "is_gradient_op": True})


def test_a_gradient_do_finds_the_locals_of_the_newest_run():
    ops = [SCOPE, do(), ("Add", ["a", "a"], ["a"], {}), do(), gradient_do(), HAS]
    workspace = run(net(*ops), {"a": np.float32(3), "g": ONE}, ys=())
    assert workspace["r"] == 36
    assert workspace["has"].tolist() == [True]


def test_a_gradient_do_without_a_forward_run_is_refused():
    with pytest.raises(ExecutionError, match="no forward run is left"):
        run(net(SCOPE, gradient_do()), {"g": ONE}, ys=())


def test_a_gradient_do_must_not_reuse_workspaces():
    with pytest.raises(ExecutionError, match="reuse_workspace"):
        run(net(SCOPE, do(), gradient_do(reuse_workspace=1)), {"a": ONE, "g": ONE}, ys=())


def read_bound(**args):
    inside = builder(("Copy", ["a_in"], ["r_in"], {}))
    binds = {"net": inside, "inner_blobs": ["a_in", "r_in"], "outer_blobs_idx": [0, 1]}
    return ("Do", ["a", "scope"], ["r", "scope"], {**binds, **args, "is_gradient_op": True})


@pytest.mark.parametrize(("flag", "seen"), [(0, 6), (1, 3)])
def test_bound_blobs_are_seen_as_they_are_unless_they_were_copied(flag, seen):
    ops = [SCOPE, do(copy_external_blobs=flag), ("Add", ["a", "a"], ["a"], {}), read_bound()]
    assert run(net(*ops), {"a": np.float32(3)}, ys=())["r"] == seen


def test_copying_a_bound_blob_without_value_is_refused():
    inside = builder(("Copy", ["a_in"], ["other"], {}))
    with pytest.raises(ExecutionError, match=r"b_in .*holds nothing"):
        run(net(SCOPE, do(net=inside, copy_external_blobs=1)), {"a": ONE}, ys=())


def test_the_place_of_a_failure_is_told_from_the_outside_in():
    inside = builder(("Copy", ["a_in"], ["local"], {}), ("FC", ["a_in", "a_in", "a_in"], ["b_in"], {}))
    with pytest.raises(ExecutionError, match=r"^op 1 Do, in it op 1 FC \(b_in\)") as caught:
        run(net(SCOPE, do(net=inside)), {"a": ONE}, ys=())
    assert caught.value.path == (1, 1)
    assert caught.value.op.type == "FC"


def onnx_while(**flags):
    body = NetBuilder(inputs=["i", "go", "v"], outputs=["go_on", "next"])
    body.add("Add", ["v", "v"], "next")
    body.add("LT", ["next", "limit"], "go_on")
    return net(("ONNXWhile", ["trips", "c", "x"], ["y"], {"body": body, **flags}))


@pytest.mark.parametrize(
    ("flags", "trips", "result"),
    [
        ({"has_trip_count": 1}, 3, 8),
        ({"has_cond": 1}, 3, 16),
        ({"has_trip_count": 1, "has_cond": 1}, 2, 4),
        ({"has_trip_count": 1}, 0, 1),
    ],
)
def test_the_loop_of_onnx(flags, trips, result):
    feeds = {"trips": np.array([trips], np.int64), "c": YES, "x": ONE, "limit": np.float32(10)}
    workspace = run(onnx_while(**flags), feeds, ys=())
    assert workspace["y"] == result
    assert workspace["x"] == 1


def test_a_barrier_hands_everything_on():
    workspace = run(net(("AsyncNetBarrier", ["a", "b"], ["c", "d"], {})), {"a": [1.0], "b": [2.0]}, ys=())
    assert (workspace["c"].item(), workspace["d"].item()) == (1, 2)
