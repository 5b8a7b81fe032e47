import json

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import check_gradients
from gradviz.execute.gradcheck import dense
from gradviz.nets import NetBuilder
from gradviz.ops import registry
from gradviz.ops.records import GradientSlice
from gradviz.ops.rules import GI, GO, I, emit
from tests.execute.nets import filled_mlp, mlp, mlp_feeds


@pytest.fixture
def my_op():
    """An operator with a rule, whose gradient kernel is given by the test."""
    registry.operators()

    def register(forward, gradient):
        registry.operator("MyOp", inputs=1, outputs=1, gradient=emit("MyOpGradient", [I(0), GO(0)], [GI(0)]))
        registry.operator("MyOpGradient", inputs=2, outputs=1)
        registry.kernel("MyOp")(forward)
        registry.kernel("MyOpGradient")(gradient)

    yield register
    registry.unregister("MyOp")
    registry.unregister("MyOpGradient")


def one_op(type="MyOp", **args):
    net = NetBuilder()
    net.add(type, "x", "y", **args)
    return net.net


X = {"x": np.array([0.5, -1.25, 2.0], np.float32)}


def test_right_gradients_pass_to_many_digits():
    report = check_gradients(mlp(), mlp_feeds(), ["loss"])
    assert report.ok
    assert [row.blob for row in report.rows] == ["x", "w1", "b1", "w2", "b2"]
    assert all(row.max_rel < 1e-6 and row.dtype == "float64" for row in report.rows)
    assert all(row.checked == mlp_feeds()[row.blob].size for row in report.rows)


def test_a_wrong_gradient_is_found_and_shown(my_op):
    my_op(lambda xp, x: x**3, lambda xp, x, dy: 3 * x**2 * dy + (x == 2))
    (row,) = check_gradients(one_op(), X, ["y"]).rows
    assert not row.ok
    assert row.worst_index == (2,)
    assert row.numeric == pytest.approx(12, rel=1e-6)
    assert row.analytic == pytest.approx(13)
    assert row.max_abs == pytest.approx(1, rel=1e-4)
    assert "at [2] the derivative is 12, the gradient says 13" in row.reason


def test_a_wrong_gradient_of_a_large_blob_is_found_by_projection(my_op):
    def wrong(xp, x, dy):
        gradient = 2 * x * dy
        gradient[37] += 1
        return gradient

    my_op(lambda xp, x: x**2, wrong)
    report = check_gradients(one_op(), {"x": np.linspace(-1, 1, 5000, dtype=np.float32)}, ["y"])
    (row,) = report.rows
    assert not report.ok
    assert row.method == "projections"
    assert row.worst_index == (37,)
    assert row.analytic - row.numeric == pytest.approx(1, rel=1e-4)


def test_projections_alone_or_every_element_on_request(my_op):
    my_op(lambda xp, x: x**2, lambda xp, x, dy: 2 * x * dy)
    feeds = {"x": np.linspace(-1, 1, 100, dtype=np.float32)}
    assert check_gradients(one_op(), feeds, ["y"], elements=True).rows[0].checked == 100
    assert check_gradients(one_op(), feeds, ["y"], elements=False).rows[0].checked == 3
    assert check_gradients(one_op(), feeds, ["y"]).ok


def test_a_kink_is_called_one():
    report = check_gradients(one_op("Relu"), {"x": [0.0, 1.0]}, ["y"])
    assert "kink" in report.first.reason
    assert report.first.worst_index == (0,)


def test_a_kernel_that_knows_float32_only_is_checked_in_float32(my_op):
    def forward(xp, x):
        if x.dtype != np.float32:
            raise ValueError("float32 only")
        return x**2

    my_op(forward, lambda xp, x, dy: 2 * x * dy)
    report = check_gradients(one_op(), X, ["y"])
    assert report.ok
    assert report.rows[0].dtype == "float32"
    assert "in float32, with its noise" in report.notices[0]


def test_a_kernel_that_narrows_is_named(my_op):
    my_op(lambda xp, x: (x**2).astype(np.float32), lambda xp, x, dy: 2 * x * dy)
    report = check_gradients(one_op(), X, ["y"])
    assert report.ok
    assert "MyOp, which computes in float32" in report.notices[0]


def test_given_gradients_weigh_the_function():
    feeds = {**mlp_feeds(), "given": np.arange(6, dtype=np.float32).reshape(3, 2)}
    report = check_gradients(mlp(), feeds, {"y": "given"})
    assert report.ok
    assert report.function != check_gradients(mlp(), mlp_feeds(), ["y"]).function


def test_sparse_gradients_are_made_dense():
    net = NetBuilder()
    net.add("Gather", ["table", "rows"], "y")
    net.add("Sqr", "y", "z")
    feeds = {"table": np.arange(6, dtype=np.float32).reshape(3, 2), "rows": np.array([2, 2, 0], np.int64)}
    assert check_gradients(net.net, feeds, ["z"]).ok
    np.testing.assert_array_equal(dense([1, 1], [[1], [2]], (3, 1)), [[0], [3], [0]])


def test_a_slice_may_be_given():
    net = NetBuilder()
    net.add("Copy", "x", "y")
    feeds = {"x": np.ones((3, 2), np.float32), "i": np.array([1], np.int64), "v": np.ones((1, 2), np.float32)}
    report = check_gradients(net.net, feeds, {"x": GradientSlice("i", "v")}, wrt=["x"])
    assert report.ok


def test_blobs_that_the_net_makes_can_be_moved_too():
    (row,) = check_gradients(mlp(), mlp_feeds(), ["loss"], wrt=["h"]).rows
    assert row.ok
    assert row.version == 1


@pytest.mark.parametrize(
    ("wrt", "reason"),
    [
        ("rows", "not differentiable: rows is int64"),
        ("nothing", "the net has no blob nothing"),
        ("labels", "CrossEntropy gives its labels no gradient"),
    ],
)
def test_what_cannot_be_checked_says_why(wrt, reason):
    net = NetBuilder()
    net.add("Gather", ["table", "rows"], "y")
    net.add("CrossEntropy", ["y", "labels"], "z")
    feeds = {"table": np.full((3, 2), 0.5), "rows": np.array([2, 0], np.int64), "labels": np.full((2, 2), 0.5)}
    feeds = {name: value.astype(np.float32) if name != "rows" else value for name, value in feeds.items()}
    report = check_gradients(net.net, feeds, ["z"], wrt=[wrt])
    assert not report.ok
    assert reason in report.first.reason


def test_a_stopped_gradient_is_explained():
    net = NetBuilder()
    net.add("Sqr", "x", "s")
    net.add("StopGradient", "s", "t")
    net.add("Mul", ["s", "t"], "y")
    report = check_gradients(net.net, X, ["y"])
    assert "op 1 StopGradient lets no gradient through, on purpose" in report.first.reason


def test_a_lost_given_gradient_is_explained():
    net = NetBuilder()
    net.add("Sqr", "x", "s")
    net.add("Sqr", "s", "t")
    feeds = {**X, "ds": np.ones(3, np.float32)}
    report = check_gradients(net.net, feeds, {"t": None, "s": "ds"})
    assert "the gradient given for s is lost" in report.first.reason


def test_random_ops_draw_the_same_numbers_at_every_evaluation():
    net = NetBuilder()
    net.add("Dropout", "x", ["y", "mask"], ratio=0.5, is_test=0)
    assert check_gradients(net.net, {"x": np.ones(50, np.float32)}, ["y"]).ok


def test_an_init_net_is_run_once():
    assert check_gradients(filled_mlp(), {"x": np.ones((2, 4), np.float32)}, ["loss"]).ok


def test_tolerances_can_be_chosen(my_op):
    my_op(lambda xp, x: x**2, lambda xp, x, dy: 2.001 * x * dy)
    assert not check_gradients(one_op(), X, ["y"]).ok
    assert check_gradients(one_op(), X, ["y"], rtol=1e-2).ok


def test_a_report_goes_into_json(my_op):
    my_op(lambda xp, x: x**2, lambda xp, x, dy: 3 * x * dy)
    decoded = json.loads(json.dumps(check_gradients(one_op(), X, ["y"]).as_dict()))
    assert decoded["ok"] is False
    assert decoded["rows"][0]["blob"] == "x"


def test_without_gradients_there_is_nothing_to_check():
    net = NetBuilder()
    net.add("MergeDim", "x", "y")
    with pytest.raises(ExecutionError, match="no gradients were built"):
        check_gradients(net.net, {"x": np.ones((1, 1, 2), np.float32)})


def test_a_given_gradient_of_another_shape_is_refused():
    net = NetBuilder("net")
    net.add("ConstantFill", "x", "y")
    feeds = {"x": np.ones((2, 3), np.float32), "g": np.ones(1, np.float32)}
    with pytest.raises(ExecutionError, match="the given gradient g does not fit a value of shape"):
        check_gradients(net.net, feeds, {"y": "g"})
