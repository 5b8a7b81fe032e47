"""Elementwise operators: values by hand, slopes against differences, casts, limits and refusals."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops._arrays import erf
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from gradviz.proto import TensorProto
from tests.ops.running import definition, run
from tests.ops.slopes import check_slopes

NAN, INF = math.nan, math.inf


def f32(*values):
    return np.array(values, "float32")


def same(found, *wanted):
    np.testing.assert_allclose(found, np.array(wanted), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("type", "x", "y"),
    [
        ("Exp", [0, 1], [1, math.e]),
        ("Log", [1, math.e, 0], [0, 1, -INF]),
        ("Sqr", [-3, 2], [9, 4]),
        ("Cube", [-2, 3], [-8, 27]),
        ("Sqrt", [4, -1], [2, NAN]),
        ("Cbrt", [8, -27], [2, -3]),
        ("Rsqrt", [4, 0], [0.5, INF]),
        ("Reciprocal", [4, 0], [0.25, INF]),
        ("Abs", [-2, 3, NAN], [2, 3, NAN]),
        ("Sign", [-2, 0, 3, NAN], [-1, 0, 1, 0]),
        ("Ceil", [0.2, -0.2], [1, 0]),
        ("Floor", [0.2, -0.2], [0, -1]),
        ("Sin", [math.pi / 2], [1]),
        ("Cos", [math.pi], [-1]),
        ("Tan", [math.pi / 4], [1]),
        ("Asin", [1], [math.pi / 2]),
        ("Acos", [0], [math.pi / 2]),
        ("Atan", [1], [math.pi / 4]),
        ("Sinh", [1], [math.sinh(1)]),
        ("Cosh", [1], [math.cosh(1)]),
        ("Erf", [0.3, -1, 3], [math.erf(0.3), math.erf(-1), math.erf(3)]),
    ],
)
def test_values(type, x, y):
    found = run(type, f32(*x))
    assert found.dtype == np.float32
    same(found, *y)


POWERS = ["Exp", "Log", "Sqr", "Cube", "Sqrt", "Cbrt", "Rsqrt", "Reciprocal", "Abs", "Erf"]
CIRCLES = ["Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh"]
POSITIVE = np.array([[0.2, 0.5], [0.7, 0.9]])


@pytest.mark.parametrize("type", POWERS + CIRCLES)
def test_slopes(type):
    check_slopes(type, POSITIVE)


def test_slopes_left_of_zero():
    for type in ("Abs", "Cube", "Cbrt", "Erf", "Sqr", "Clip"):
        check_slopes(type, -POSITIVE)


def test_slopes_of_clip_and_of_the_root_that_divides():
    check_slopes("Clip", POSITIVE, min=0.3, max=0.8)
    check_slopes("SquareRootDivide", POSITIVE, np.array([4, 0], "int32"))


def test_erf_is_exact_everywhere():
    x = np.linspace(-5, 5, 2001)
    assert np.abs(erf(np, x) - [math.erf(each) for each in x]).max() < 1e-15
    tiny = np.array([1e-20], "float32")
    assert erf(np, tiny)[0] == pytest.approx(2 / math.sqrt(math.pi) * 1e-20)


def test_abs_has_slope_zero_at_zero_and_takes_nan_for_negative():
    same(run("AbsGradient", f32(0, NAN, 2), f32(5, 5, 5)), 0, -5, 5)


def test_clip():
    same(run("Clip", f32(-2, 0.5, 2), min=-1.0, max=1.0), -1, 0.5, 1)
    same(run("Clip", f32(-2, 0.5, 2), min=1.0, max=0.0), 0, 0, 0)
    assert run("Clip", f32(INF))[0] == np.finfo("float32").max
    same(run("ClipGradient", f32(-1, 0.5, 1), f32(1, 1, 1), min=-1.0, max=1.0), 0, 1, 0)


def test_sqr_doubles_the_incoming_gradient_in_place():
    made, g_input = make_gradient(Op(definition("Sqr", 1)), ["g00"])
    assert [(op.type, list(op.inputs), list(op.outputs)) for op in made] == [
        ("Scale", ["g00"], ["g00"]),
        ("Mul", ["g00", "x0"], ["x0_grad"]),
    ]
    assert g_input == ["x0_grad"]


@pytest.mark.parametrize(
    ("to", "x", "wanted", "dtype"),
    [
        (TensorProto.INT32, f32(1.9, -1.9), [1, -1], "int32"),
        ("double", f32(0.5), [0.5], "float64"),
        ("INT64", np.array([True, False]), [1, 0], "int64"),
        (TensorProto.BOOL, f32(0.5, 0, NAN), [True, False, True], "bool"),
        (TensorProto.UINT8, np.array([3, 300], "int32"), [3, 44], "uint8"),
    ],
)
def test_cast(to, x, wanted, dtype):
    found = run("Cast", x, to=to)
    assert found.dtype == dtype and found.tolist() == wanted


def test_cast_to_text():
    assert run("Cast", np.array([[3, -4]], "int32"), to=TensorProto.STRING).tolist() == [[b"3", b"-4"]]
    assert run("Cast", f32(0.5), to="string").tolist() == [b"0.500000"]


@pytest.mark.parametrize("to", [TensorProto.FLOAT16, TensorProto.BYTE, 99, "no_type"])
def test_cast_refuses(to):
    with pytest.raises(ExecutionError, match="no tensor type"):
        run("Cast", f32(1), to=to)


def test_cast_refuses_text():
    with pytest.raises(ExecutionError, match="string"):
        run("Cast", np.array([b"1"], object), to=TensorProto.FLOAT)


def test_gradient_of_cast_casts_back():
    (op,), _ = make_gradient(Op(definition("Cast", 1, to="float", from_type="int32")), ["g00"])
    assert {arg.name: arg.i for arg in op.to_proto().arg} == {"to": TensorProto.INT32, "from_type": TensorProto.FLOAT}
    with pytest.raises(GradientError, match="from_type"):
        make_gradient(Op(definition("Cast", 1, to=1)), ["g00"])
    with pytest.raises(GradientError, match="does not exist"):
        make_gradient(Op(definition("Cast", 1, to="float", from_type="no_type")), ["g00"])


def test_half_floats_there_and_back():
    half = run("FloatToHalf", f32(0.5, 1e6, -1e6))
    assert half.dtype == np.float16 and half.tolist() == [0.5, INF, -INF]
    assert run("FloatToHalf", f32(1e6), clip=1).tolist() == [65504]
    assert run("HalfToFloat", half).dtype == np.float32


def test_nan_check_and_enforce_finite():
    assert run("NanCheck", f32(1, 2), f32(NAN)).tolist() == [1, 2]
    with pytest.raises(ExecutionError, match="NaN"):
        run("NanCheck", f32(1, INF))
    assert run("EnforceFinite", f32(1, 2), outputs=0) == []
    with pytest.raises(ExecutionError, match="element 1"):
        run("EnforceFinite", f32(1, NAN), outputs=0)


def test_bucketize_counts_the_boundaries_below():
    found = run("Bucketize", f32(0, 1, 1.5, 3, 9), boundaries=[1.0, 2.0, 3.0])
    assert found.dtype == np.int32 and found.tolist() == [0, 0, 1, 2, 3]
    with pytest.raises(ExecutionError, match="sorted"):
        run("Bucketize", f32(0), boundaries=[2.0, 1.0])


def test_square_root_divide():
    same(run("SquareRootDivide", f32(2, 4, 6, 8).reshape(2, 2), np.array([4, 0], "int32")).reshape(-1), 1, 2, 6, 8)
    with pytest.raises(ExecutionError, match="negative"):
        run("SquareRootDivide", f32(1).reshape(1, 1), np.array([-1], "int32"))
    with pytest.raises(ExecutionError, match="one scale"):
        run("SquareRootDivide", f32(1).reshape(1, 1), np.array([1, 1], "int32"))


def test_piecewise_linear():
    pieces = {"bounds": [0.0, 0.5, 1.0], "slopes": [1.0, 2.0], "intercepts": [0.0, -0.5]}
    x = f32(-1, 0.25, 0.5, 0.75, 3)
    same(run("PiecewiseLinearTransform", x, binary=1, **pieces), 0, 0.25, 0.5, 1, 1.5)
    same(run("PiecewiseLinearTransform", x.reshape(5, 1), **pieces)[:, 0], 0, 0.25, 0.5, 1, 1.5)
    same(run("PiecewiseLinearTransform", f32(0.9, 0.25).reshape(1, 2), binary=1, **pieces)[0], 0.75, 0.25)
    tables = [f32(*pieces[name]) for name in ("bounds", "slopes", "intercepts")]
    same(run("PiecewiseLinearTransform", x, *tables, binary=1), 0, 0.25, 0.5, 1, 1.5)
    with pytest.raises(ExecutionError, match="go together"):
        run("PiecewiseLinearTransform", x, binary=1, bounds=[0.0, 1.0])
    with pytest.raises(ExecutionError, match="sorted"):
        run("PiecewiseLinearTransform", x, binary=1, bounds=[1.0, 0.0], slopes=[1.0], intercepts=[0.0])


def test_quant_decode_sums_gradients_by_code():
    codebook, codes = f32(10, 20, 30), np.array([[0, 2], [2, 2]], "uint8")
    assert run("QuantDecode", codebook, codes).tolist() == [[10, 30], [30, 30]]
    assert run("QuantDecodeGradient", codebook, codes, f32(1, 2, 3, 4).reshape(2, 2)).tolist() == [1, 0, 9]
    both = run("QuantDecode", codebook, codes, codes[:1], outputs=2)
    assert [each.shape for each in both] == [(2, 2), (1, 2)]
    check_slopes("QuantDecode", codebook, codes, codes[:1], outputs=2)


def test_ensure_clipped_touches_the_rows_of_a_sparse_gradient():
    x = f32(5, 5, 5).reshape(3, 1)
    op = definition("EnsureClipped", 3, ["x0"], max=1.0)
    from gradviz.execute.operator import run_op

    (found,) = run_op(op, [x, np.array([2, 0]), np.zeros((2, 1), "float32")])
    assert found.reshape(-1).tolist() == [1, 5, 1]
    with pytest.raises(ExecutionError, match="in place"):
        run("EnsureClipped", x, np.array([2, 0]), np.zeros((2, 1), "float32"))


def test_clip_by_scaling():
    same(run("ClipTensorByScaling", f32(3, 4), f32(5), threshold=1.0), 0.6, 0.8)
    same(run("ClipTensorByScaling", f32(3, 4), f32(5), threshold=5.0), 3, 4)
    same(run("ClipTensorByScaling", f32(3, 4), f32(5), f32(0.5), threshold=5.0), 1.5, 2)
    with pytest.raises(ExecutionError, match="threshold"):
        run("ClipTensorByScaling", f32(3, 4), f32(5))


@pytest.mark.parametrize("type", ["Exp", "Log", "Sqr", "Abs", "Clip", "Floor", "Erf", "Sin"])
def test_only_single_precision(type):
    with pytest.raises(ExecutionError, match="float64"):
        run(type, np.ones(2))
