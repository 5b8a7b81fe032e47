"""Arithmetic: both ways of broadcasting, sums and extremes of many, powers, slopes, and what is refused."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.execute.operator import run_op
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run
from tests.ops.slopes import check_slopes

NAN, INF = math.nan, math.inf
A = np.arange(1, 25, dtype="float64").reshape(2, 3, 4) / 7


def f32(*values):
    return np.array(values, "float32")


def test_standard_broadcasting():
    assert run("Add", f32(1, 2).reshape(2, 1), f32(10, 20, 30)).tolist() == [[11, 21, 31], [12, 22, 32]]
    assert run("Mul", np.float32(2), f32(1, 2)).tolist() == [2, 4]
    assert run("Sub", np.zeros((0, 3), "float32"), f32(1, 2, 3)).shape == (0, 3)
    assert run("Add", np.zeros((0,), "float32"), f32(1, 2, 3)).shape == (0,)
    with pytest.raises(ExecutionError, match="broadcast"):
        run("Add", f32(1, 2), f32(1, 2, 3))


@pytest.mark.parametrize(
    ("shape", "args"),
    [
        ((4,), {}),
        ((3, 4), {}),
        ((2, 3), {"axis": 0}),
        ((3,), {"axis": 1}),
        ((3, 1), {"axis": 1}),
        ((1, 3), {"axis": 0}),
        ((1,), {}),
        ((), {}),
        ((3, 4), {"axis_str": "C"}),
        ((2, 3, 4), {}),
    ],
)
def test_legacy_broadcasting_matches_a_part_of_the_first_shape(shape, args):
    b = np.arange(1, 1 + math.prod(shape), dtype="float32").reshape(shape)
    start = {"axis_str": 1}.get(next(iter(args), ""), args.get("axis", A.ndim - len(shape)))
    wide = b.reshape((1,) * start + shape + (1,) * (A.ndim - start - len(shape)))
    found = run("Sub", A.astype("float32"), b, broadcast=1, **args)
    np.testing.assert_allclose(found, A - wide, 1e-5)


@pytest.mark.parametrize(
    ("b", "args", "said"),
    [
        ((2,), {"broadcast": 1}, "does not match"),
        ((3,), {"broadcast": 1, "axis": 2}, "does not match"),
        ((4,), {"broadcast": 1, "axis": 3}, "axis must lie"),
        ((1, 2, 3, 4), {"broadcast": 1}, "more dimensions"),
        ((2, 1, 4), {"broadcast": 1}, "does not match"),
        ((3,), {"broadcast": 1, "axis": 1, "axis_str": "C"}, "together"),
        ((3,), {"broadcast": 1, "axis_str": "Z"}, "no letter"),
        ((4,), {"axis": 2}, "without broadcast"),
    ],
)
def test_broadcasting_refuses(b, args, said):
    with pytest.raises(ExecutionError, match=said):
        run("Add", A.astype("float32"), np.ones(b, "float32"), **args)


@pytest.mark.parametrize("type", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("a", "b", "args"),
    [
        ((2, 3), (2, 3), {}),
        ((2, 3), (3,), {}),
        ((3,), (2, 3), {}),
        ((2, 1, 2), (3, 1), {}),
        ((2, 3), (), {}),
        ((2, 3, 2), (3,), {"broadcast": 1, "axis": 1}),
        ((2, 3), (1,), {"broadcast": 1}),
    ],
)
def test_slopes_are_summed_over_what_was_stretched(type, a, b, args):
    random = np.random.default_rng(1)
    check_slopes(type, random.uniform(1, 2, a), random.uniform(1, 2, b), **args)


def test_gradients_of_nothing_are_zero():
    da, db = run("AddGradient", *[np.zeros(shape, "float32") for shape in ((0, 3), (0, 3), (3,))], outputs=2)
    assert da.shape == (0, 3) and db.tolist() == [0, 0, 0]


def test_mul_gradient_in_place_clobbers_the_gradient_as_upstream_does():
    dc, a, b = f32(2, 2), f32(3, 3), f32(5, 5)
    op = definition("MulGradient", 3, ["x0", "y"])
    assert [each.tolist() for each in run_op(op, [dc, a, b])] == [[10, 10], [30, 30]]
    op = definition("MulGradient", 3, ["y", "x0"])
    assert [each.tolist() for each in run_op(op, [dc, a, b])] == [[10, 10], [6, 6]]
    op = definition("MulGradient", 3, ["x0", "y"])
    assert [each.tolist() for each in run_op(op, [dc, a, b[:1]])] == [[0, 0], [0]]


def test_div_gradient_in_its_older_form():
    da, db = run("DivGradient", f32(2), f32(3), f32(8), outputs=2)
    assert (da.tolist(), db.tolist()) == ([4], [-12])


def test_integers_are_divided_towards_zero():
    a, b = np.array([7, -7, 7, -7, 6], "int64"), np.array([2, 2, -2, -2, 3], "int64")
    assert run("Div", a, b).tolist() == [3, -3, -3, 3, 2]
    with pytest.raises(ExecutionError, match="divided by zero"):
        run("Div", a[:1], np.array([0]))


def test_dtypes_must_agree():
    with pytest.raises(ExecutionError, match="dtypes"):
        run("Add", f32(1), np.ones(1))
    with pytest.raises(ExecutionError, match="bool"):
        run("Sub", np.array([True]), np.array([True]))


def test_sums():
    assert run("Sum", f32(1, 2), f32(3, 4), f32(5, 6)).tolist() == [9, 12]
    assert run("SumRelu", f32(1, -9), f32(3, 4)).tolist() == [4, 0]
    assert run("SumInt", np.array([1], "int32"), np.array([2], "int32")).dtype == np.int32
    with pytest.raises(ExecutionError, match="shapes"):
        run("Sum", f32(1, 2), f32(1))


def test_sum_hands_its_gradient_to_every_input():
    made, g_input = make_gradient(Op(definition("Sum", 3)), ["g00"])
    assert (made, g_input) == ([], ["g00"] * 3)


def test_extremes_give_the_whole_gradient_to_all_that_tie():
    a, b = f32(1, 5, 2), f32(1, 3, 4)
    assert run("Max", a, b).tolist() == [1, 5, 4]
    assert run("Min", a, b).tolist() == [1, 3, 2]
    da, db = run("MaxGradient", f32(1, 5, 4), f32(7, 7, 7), a, b, outputs=2)
    assert (da.tolist(), db.tolist()) == ([7, 7, 0], [7, 0, 7])
    with pytest.raises(ExecutionError, match="shapes"):
        run("Max", a, f32(1))


def test_mean_and_weighted_sum():
    assert run("Mean", f32(1, 2), f32(3, 6)).tolist() == [2, 4]
    assert run("WeightedSum", f32(1, 2), f32(10), f32(3, 4), f32(100)).tolist() == [310, 420]
    assert run("WeightedSum", f32(NAN, 2), f32(0), f32(3, 4), f32(1)).tolist() == [3, 4]
    check_slopes("Mean", np.ones(2), np.zeros(2))
    check_slopes("WeightedSum", A[0], np.array([2.0]), A[1], np.array([3.0]))
    check_slopes("WeightedSum", A[0], np.array([2.0]), A[1], np.array([3.0]), grad_on_w=1)
    with pytest.raises(ExecutionError, match="single number"):
        run("WeightedSum", f32(1), f32(1, 2))


@pytest.mark.parametrize("exponent", [2.0, -1.0, 0.5, 0.0, 3.5])
def test_slopes_of_powers_by_a_number(exponent):
    check_slopes("Pow", A, exponent=exponent, wrt=[0])


@pytest.mark.parametrize(("b", "args"), [((2, 3), {}), ((3,), {"broadcast": 1}), ((2,), {"broadcast": 1, "axis": 0})])
def test_slopes_of_powers_by_an_array(b, args):
    random = np.random.default_rng(2)
    check_slopes("Pow", random.uniform(1, 2, (2, 3)), random.uniform(1, 2, b), **args)


def test_powers():
    assert run("Pow", f32(4, -INF), exponent=0.5).tolist()[0] == 2
    assert np.isnan(run("Pow", f32(-INF), exponent=0.5)[0])
    assert run("Pow", f32(2, 3), f32(3, 2)).tolist() == [8, 9]
    with pytest.raises(ExecutionError, match="shapes"):
        run("Pow", f32(2, 3), f32(3))
    with pytest.raises(ExecutionError, match="one of the two"):
        run("Pow", f32(2, 3))


def test_powers_in_place():
    (power, *_), _ = make_gradient(Op(definition("Pow", 1, ["x0"], exponent=0.1)), ["g00"])
    (exponent,) = power.to_proto().arg
    single = np.float32
    assert exponent.f == (single(0.1) - single(1)) / single(0.1)
    with pytest.raises(GradientError, match="exponent 0"):
        make_gradient(Op(definition("Pow", 1, ["x0"], exponent=0.0)), ["g00"])
    with pytest.raises(GradientError, match="in place"):
        make_gradient(Op(definition("Pow", 2, ["x1"])), ["g00"])


def test_sum_reduce_like():
    assert run("SumReduceLike", A.astype("float32"), np.zeros((3, 1), "float32"), axis=1).shape == (3, 1)
    np.testing.assert_allclose(run("SumReduceLike", A.astype("float32"), f32(0)), [A.sum()], 1e-5)


def test_mod_keeps_the_sign_of_the_element_or_of_the_divisor():
    x = np.array([7, -7, 6, -6], "int32")
    assert run("Mod", x, divisor=3).tolist() == [1, -1, 0, 0]
    assert run("Mod", x, divisor=3, sign_follow_divisor=1).tolist() == [1, 2, 0, 0]
    assert run("Mod", x, divisor=-3, sign_follow_divisor=1).tolist() == [-2, -1, 0, 0]
    assert run("Mod", x, divisor=2**40).tolist() == [7, -7, 6, -6]
    with pytest.raises(ExecutionError, match="divisor"):
        run("Mod", x)


def test_rows_and_columns():
    x = f32(1, 2, 3, 4).reshape(2, 2)
    assert run("RowMul", x, f32(10, 100)).tolist() == [[10, 20], [300, 400]]
    assert run("ElementwiseLinear", x, f32(10, 100), f32(1, 2)).tolist() == [[11, 202], [31, 402]]
    check_slopes("RowMul", A, np.array([2.0, 3.0]))
    check_slopes("ElementwiseLinear", A, np.linspace(1, 2, 12), np.linspace(0, 1, 12))
    check_slopes("ElementwiseLinear", A, np.linspace(1, 2, 4), np.linspace(0, 1, 4), axis=2)
    with pytest.raises(ExecutionError, match="one weight"):
        run("RowMul", x, f32(1))
    with pytest.raises(ExecutionError, match="2 factors"):
        run("ElementwiseLinear", x, f32(1), f32(1))


def test_box_cox():
    found = run("BatchBoxCox", f32(1, 3).reshape(1, 2), f32(0, 2), f32(1, 0))
    np.testing.assert_allclose(found, [[math.log(2), 4]], 1e-5)


def test_replace_nan():
    assert run("ReplaceNaN", f32(NAN, 1)).tolist() == [0, 1]
    assert run("ReplaceNaN", np.array([NAN, INF]), value=2.5).tolist() == [2.5, INF]


def test_scales():
    assert run("Scale", f32(1, 2), scale=3.0).tolist() == [3, 6]
    assert run("Scale", f32(1, 2)).tolist() == [1, 2]
    assert [each.tolist() for each in run("ScaleBlobs", f32(1), f32(2), outputs=2, scale=3.0)] == [[3], [6]]
    check_slopes("Scale", A, scale=-2.0)
    check_slopes("Negative", A)
