"""Reductions: values by hand, axes kept or not, reductions of nothing, lengths, slopes, and what is refused."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute.operator import run_op
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run
from tests.ops.slopes import check_slopes

NAN, INF = math.nan, math.inf
X = np.array([[[1.5, -2.25, 0.5], [3.75, 0.25, -1.0]], [[2.5, 4.25, -0.75], [-3.5, 1.25, 2.0]]])
BY_AXES = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"]
NUMPY = [np.sum, np.mean, np.max, np.min, lambda x, **k: np.abs(x).sum(**k), lambda x, **k: np.sqrt((x * x).sum(**k))]


def f32(*values):
    return np.array(values, "float32")


@pytest.mark.parametrize(("type", "reference"), zip(BY_AXES, NUMPY, strict=True))
@pytest.mark.parametrize("axes", [(0,), (0, 2), (-1,), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_over_axes(type, reference, axes, keepdims):
    found = run(type, X.astype("float32"), axes=list(axes), keepdims=keepdims)
    np.testing.assert_allclose(found, reference(X, axis=axes, keepdims=bool(keepdims)), 1e-5)


def test_all_axes_are_meant_and_kept_unless_said_otherwise():
    assert run("ReduceSum", X.astype("float32")).shape == (1, 1, 1)
    assert run("ReduceSum", X.astype("float32"), axes=[1, 1]).shape == (2, 1, 3)
    with pytest.raises(ExecutionError, match="axis 3"):
        run("ReduceSum", X.astype("float32"), axes=[3])


@pytest.mark.parametrize("type", [*BY_AXES, "Moments"])
@pytest.mark.parametrize("args", [{}, {"axes": [1]}, {"axes": [0, 2], "keepdims": 0}])
def test_slopes_over_axes(type, args):
    check_slopes(type, X, outputs=2 if type == "Moments" else 1, **args)


def test_extremes_skip_nan_and_share_nothing():
    x = f32(NAN, 2, 5, 5)
    assert run("ReduceMax", x).tolist() == [5]
    assert run("ReduceMin", x).tolist() == [2]
    assert run("ReduceMaxGradient", f32(7), x, f32(5)).tolist() == [0, 0, 7, 7]


def test_reductions_of_nothing():
    nothing = np.zeros((0, 2), "float32")
    assert run("ReduceSum", nothing, axes=[0]).tolist() == [[0, 0]]
    assert run("ReduceMean", nothing, axes=[0]).tolist() == [[0, 0]]
    assert run("ReduceMax", nothing, axes=[0]).tolist() == [[np.finfo("float32").min] * 2]
    assert run("ReduceMin", nothing.astype("int32"), axes=[0]).tolist() == [[np.iinfo("int32").max] * 2]
    assert run("AveragedLoss", nothing).tolist() == 0
    assert run("SumElements", nothing).shape == ()


@pytest.mark.parametrize("type", ["ReduceFrontSum", "ReduceFrontMean", "ReduceBackSum", "ReduceBackMean"])
@pytest.mark.parametrize("dims", [0, 1, 2, 3])
def test_reductions_from_the_front_and_the_back(type, dims):
    reference = np.sum if "Sum" in type else np.mean
    axes = tuple(range(dims)) if "Front" in type else tuple(range(3 - dims, 3))
    np.testing.assert_allclose(run(type, X.astype("float32"), num_reduce_dim=dims), reference(X, axis=axes), 1e-5)
    check_slopes(type, X, num_reduce_dim=dims)


def test_reductions_with_lengths():
    x, lengths = np.array([[1, 2, 3], [4, 5, 6]], "float32"), np.array([2, 3], "int32")
    assert run("ReduceBackSum", x, lengths).tolist() == [3, 15]
    assert run("ReduceBackMean", x, lengths).tolist() == [1.5, 5]
    assert run("ReduceBackMax", x, lengths).tolist() == [2, 6]
    assert run("ReduceFrontSum", x.T, lengths).tolist() == [3, 15]
    assert run("ReduceBackSum", x, np.array([0, 1], "int32")).tolist() == [1, 4]
    for type in ("ReduceBackSum", "ReduceBackMean", "ReduceBackMax"):
        check_slopes(type, x, lengths)
        check_slopes(type.replace("Back", "Front"), x.T.copy(), lengths)


@pytest.mark.parametrize(
    ("lengths", "args", "said"),
    [
        (np.array([4, 1], "int32"), {}, "between 0 and 3"),
        (np.array([1], "int32"), {}, "2 lengths"),
        (np.array([1, 1], "int64"), {}, "int64"),
        (np.array([1, 1], "int32"), {"num_reduce_dim": 2}, "one dimension"),
    ],
)
def test_reductions_with_lengths_refuse(lengths, args, said):
    with pytest.raises(ExecutionError, match=said):
        run("ReduceBackSum", np.ones((2, 3), "float32"), lengths, **args)


def test_the_gradient_takes_a_shape_in_place_of_the_input():
    assert run("ReduceFrontMeanGradient", f32(4, 8), np.array([2, 2])).tolist() == [[2, 4], [2, 4]]


def test_max_over_rows_and_columns_of_matrices():
    assert run("RowwiseMax", X.astype("float32")).tolist() == [[1.5, 3.75], [4.25, 2]]
    assert run("ColwiseMax", X.astype("float32")).tolist() == [[3.75, 0.25, 0.5], [2.5, 4.25, 2]]
    check_slopes("RowwiseMax", X)
    check_slopes("ColwiseMax", X)
    with pytest.raises(ExecutionError, match="three dimensions"):
        run("RowwiseMax", X[0].astype("float32"))


@pytest.mark.parametrize(
    ("type", "args"),
    [
        ("SumElements", {}),
        ("SumElements", {"average": 1}),
        ("AveragedLoss", {}),
        ("LpNorm", {"p": 1}),
        ("LpNorm", {"p": 2, "average": 1}),
        ("BatchMoments", {"order": "NHWC"}),
        ("BatchMoments", {}),
    ],
)
def test_slopes_of_the_rest(type, args):
    check_slopes(type, X.reshape(2, 2, 3, 1), outputs=2 if type == "BatchMoments" else 1, **args)


def test_front_weighted_sum_gives_its_gradient_to_the_data_only():
    check_slopes("ReduceFrontWeightedSum", X[0], np.array([2.0, 3.0]), wrt=[])
    op = definition("ReduceFrontWeightedSum", 2, ["out"], grad_on_weights=1)
    made, g_input = make_gradient(Op(op), ["g00"])
    assert [each.type for each in made] == ["Shape", "ReduceFrontWeightedSumGradient"]
    assert made[0].outputs == ["_out_dims"] and g_input == ["x0_grad", None]
    (found,) = run_op(made[1].to_proto(), [f32(2, 3), f32(1, 10), np.array([2, 2])])
    assert found.tolist() == [[2, 20], [3, 30]]


def test_norms_and_sums_of_everything():
    assert run("LpNorm", f32(-1, 2), p=1).tolist() == [3]
    assert run("LpNorm", f32(-1, 2)).tolist() == [5]
    assert run("LpNormGradient", f32(-1, 0, 2), f32(10), p=1).tolist() == [-10, 0, 10]
    assert run("SumSqrElements", f32(1, 3), average=1).tolist() == 5
    assert run("SumElementsInt", np.array([1, 2], "int32")).dtype == np.int32
    assert run("ReduceTailSum", X.astype("float32")).tolist() == [2.75, 5.75]
    with pytest.raises(ExecutionError, match="p must be"):
        run("LpNorm", f32(1), p=3)


def test_batch_moments_are_means_of_values_and_squares():
    mean, square = run("BatchMoments", f32(1, 3, 2, 4).reshape(2, 1, 2), outputs=2)
    assert (mean.tolist(), square.tolist()) == ([2.5], [7.5])


def test_integral_image_and_its_gradient():
    x = f32(1, 2, 3, 4).reshape(1, 1, 2, 2)
    assert run("IntegralImage", x)[0, 0].tolist() == [[0, 0, 0], [0, 1, 3], [0, 4, 10]]
    dy = np.ones((1, 1, 3, 3), "float32")
    assert run("IntegralImageGradient", x, dy)[0, 0].tolist() == [[1, 2], [2, 4]]
    with pytest.raises(ExecutionError, match="four dimensions"):
        run("IntegralImage", x[0])


@pytest.mark.parametrize("type", ["ReduceMean", "ReduceL1", "ReduceL2", "SumElements", "AveragedLoss"])
def test_only_single_precision(type):
    with pytest.raises(ExecutionError, match="int64"):
        run(type, np.array([1, 2]))
