"""Functions of one array, element by element."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import erf, keep_where, on_host
from gradviz.ops._checks import NUMBERS, like, only, require, require_indices, require_same_shape
from gradviz.ops.arguments import arg, values
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit, from_input, from_output
from gradviz.ops.schema import MANY
from gradviz.proto import TensorProto

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any

FLOAT_MAX = 3.4028234663852886e38
"""The largest finite float32."""


def sqr_rule(maker: Maker) -> list[GradientOp]:
    """Twice x dy; the incoming gradient is doubled in place, whoever else reads it."""
    x, dy = maker.I(0), maker.GO(0)
    return [maker.make("Scale", [dy], [dy], arg("scale", 2.0)), maker.make("Mul", [dy, x], [maker.GI(0)])]


def sqrt_rule(maker: Maker) -> list[GradientOp]:
    """Half of dy / y."""
    dx = maker.GI(0)
    return [
        maker.make("Scale", [maker.GO(0)], [dx], arg("scale", 0.5)),
        maker.make("Div", [dx, maker.O(0)], [dx]),
    ]


# Powers, roots and exponentials.

operator("Exp", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Mul", [O(0), GO(0)], [GI(0)]))
operator("Log", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Div", [GO(0), I(0)], [GI(0)]))
operator("Sqr", inputs=1, outputs=1, inplace=[(0, 0)], gradient=sqr_rule)
operator("Cube", inputs=1, outputs=1, gradient=emit("CubeGradient", [GO(0), I(0)], [GI(0)]))
operator("CubeGradient", inputs=2, outputs=1)
operator("Sqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=sqrt_rule)
operator("Cbrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("CbrtGradient", [GO(0), O(0)], [GI(0)]))
operator("CbrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Rsqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("RsqrtGradient", [GO(0), O(0)], [GI(0)]))
operator("RsqrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Reciprocal", inputs=1, outputs=1, inplace=[(0, 0)], gradient=from_output("ReciprocalGradient"))
operator("ReciprocalGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Erf", inputs=1, outputs=1, gradient=from_input("ErfGradient"))
operator("ErfGradient", inputs=2, outputs=1)


@kernel("Exp")
@only("float32")
def exp(xp: Any, x: Array) -> Array:
    return xp.exp(x)


@kernel("Log")
@only("float32")
def log(xp: Any, x: Array) -> Array:
    return xp.log(x)


@kernel("Sqr")
@only("float32")
def sqr(xp: Any, x: Array) -> Array:
    return x * x


@kernel("Cube")
@only(*NUMBERS)
def cube(xp: Any, x: Array) -> Array:
    return x * x * x


@kernel("CubeGradient")
@only(*NUMBERS)
def cube_gradient(xp: Any, dy: Array, x: Array) -> Array:
    require_same_shape(dy, x)
    return 3 * dy * x * x


@kernel("Sqrt")
@only("float32", "float64")
def sqrt(xp: Any, x: Array) -> Array:
    return xp.sqrt(x)


@kernel("Cbrt")
@only("float32")
def cbrt(xp: Any, x: Array) -> Array:
    return xp.cbrt(x)


@kernel("CbrtGradient")
@only("float32")
def cbrt_gradient(xp: Any, dy: Array, y: Array) -> Array:
    require_same_shape(dy, y)
    return dy / (3 * y * y)


@kernel("Rsqrt")
@only("float32")
def rsqrt(xp: Any, x: Array) -> Array:
    return 1 / xp.sqrt(x)


@kernel("RsqrtGradient")
@only("float32")
def rsqrt_gradient(xp: Any, dy: Array, y: Array) -> Array:
    require_same_shape(dy, y)
    return -0.5 * dy * y * y * y


@kernel("Reciprocal")
@only("float32")
def reciprocal(xp: Any, x: Array) -> Array:
    return 1 / x


@kernel("ReciprocalGradient")
@only("float32")
def reciprocal_gradient(xp: Any, y: Array, dy: Array) -> Array:
    require_same_shape(y, dy)
    return -dy * y * y


@kernel("Erf")
@only("float32")
def erf_kernel(xp: Any, x: Array) -> Array:
    return erf(xp, x)


@kernel("ErfGradient")
@only("float32")
def erf_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return 2 / math.pi**0.5 * xp.exp(-x * x) * dy


# Trigonometry. The hyperbolic ones name the gradient first, the others the input.

operator("Sin", inputs=1, outputs=1, gradient=from_input("SinGradient"))
operator("SinGradient", inputs=2, outputs=1)
operator("Cos", inputs=1, outputs=1, gradient=from_input("CosGradient"))
operator("CosGradient", inputs=2, outputs=1)
operator("Tan", inputs=1, outputs=1, gradient=from_input("TanGradient"))
operator("TanGradient", inputs=2, outputs=1)
operator("Asin", inputs=1, outputs=1, gradient=from_input("AsinGradient"))
operator("AsinGradient", inputs=2, outputs=1)
operator("Acos", inputs=1, outputs=1, gradient=from_input("AcosGradient"))
operator("AcosGradient", inputs=2, outputs=1)
operator("Atan", inputs=1, outputs=1, gradient=from_input("AtanGradient"))
operator("AtanGradient", inputs=2, outputs=1)
operator("Sinh", inputs=1, outputs=1, gradient=emit("SinhGradient", [GO(0), I(0)], [GI(0)]))
operator("SinhGradient", inputs=2, outputs=1)
operator("Cosh", inputs=1, outputs=1, gradient=emit("CoshGradient", [GO(0), I(0)], [GI(0)]))
operator("CoshGradient", inputs=2, outputs=1)


@kernel("Sin")
@only("float32")
def sin(xp: Any, x: Array) -> Array:
    return xp.sin(x)


@kernel("SinGradient")
@only("float32")
def sin_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return dy * xp.cos(x)


@kernel("Cos")
@only("float32")
def cos(xp: Any, x: Array) -> Array:
    return xp.cos(x)


@kernel("CosGradient")
@only("float32")
def cos_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return -dy * xp.sin(x)


@kernel("Tan")
@only("float32")
def tan(xp: Any, x: Array) -> Array:
    return xp.tan(x)


@kernel("TanGradient")
@only("float32")
def tan_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return dy / xp.square(xp.cos(x))


@kernel("Asin")
@only("float32")
def asin(xp: Any, x: Array) -> Array:
    return xp.arcsin(x)


@kernel("AsinGradient")
@only("float32")
def asin_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return dy / xp.sqrt(1 - x * x)


@kernel("Acos")
@only("float32")
def acos(xp: Any, x: Array) -> Array:
    return xp.arccos(x)


@kernel("AcosGradient")
@only("float32")
def acos_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return -dy / xp.sqrt(1 - x * x)


@kernel("Atan")
@only("float32")
def atan(xp: Any, x: Array) -> Array:
    return xp.arctan(x)


@kernel("AtanGradient")
@only("float32")
def atan_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return dy / (1 + x * x)


@kernel("Sinh")
@only("float32")
def sinh(xp: Any, x: Array) -> Array:
    return xp.sinh(x)


@kernel("SinhGradient")
@only("float32")
def sinh_gradient(xp: Any, dy: Array, x: Array) -> Array:
    require_same_shape(dy, x)
    return dy * xp.cosh(x)


@kernel("Cosh")
@only("float32")
def cosh(xp: Any, x: Array) -> Array:
    return xp.cosh(x)


@kernel("CoshGradient")
@only("float32")
def cosh_gradient(xp: Any, dy: Array, x: Array) -> Array:
    require_same_shape(dy, x)
    return dy * xp.sinh(x)


# Signs, rounding and limits.

operator("Abs", inputs=1, outputs=1, gradient=from_input("AbsGradient"))
operator("AbsGradient", inputs=2, outputs=1)
operator("Sign", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Ceil", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator("Floor", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator("Clip", inputs=1, outputs=1, inplace=[(0, 0)], args="min max", gradient=from_output("ClipGradient"))
operator("ClipGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("EnsureClipped", inputs=(1, 3), outputs=1, inplace=[(0, 0)], gradient=SHOULD_NOT)
operator("ClipTensorByScaling", inputs=(2, 3), outputs=1, inplace=[(0, 0)], args="threshold", gradient=SHOULD_NOT)


@kernel("Abs")
@only("float32")
def absolute(xp: Any, x: Array) -> Array:
    return xp.abs(x)


@kernel("AbsGradient")
@only("float32")
def abs_gradient(xp: Any, x: Array, dy: Array) -> Array:
    """0 at 0; a NaN counts as negative."""
    require_same_shape(x, dy)
    return xp.where(x == 0, 0, xp.where(x > 0, dy, -dy))


@kernel("Sign")
@only(*NUMBERS)
def sign(xp: Any, x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN."""
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


@kernel("Ceil")
@only("float32")
def ceil(xp: Any, x: Array) -> Array:
    return xp.ceil(x)


@kernel("Floor")
@only("float32")
def floor(xp: Any, x: Array) -> Array:
    return xp.floor(x)


@kernel("Clip")
@only("float32")
def clip(xp: Any, x: Array, *, min: float = -FLOAT_MAX, max: float = FLOAT_MAX) -> Array:
    """Where the limits cross, the upper one wins."""
    return _clip(xp, x, min, max)


def _clip(xp: Any, x: Array, low: float, high: float) -> Array:
    return xp.minimum(xp.maximum(x, low), high)


@kernel("ClipGradient")
@only("float32")
def clip_gradient(xp: Any, y: Array, dy: Array, *, min: float = -FLOAT_MAX, max: float = FLOAT_MAX) -> Array:
    """The gradient passes strictly between the limits."""
    dy = like(y, dy)
    return keep_where((y > min) & (y < max), dy)


@kernel("EnsureClipped")
@only("float32", at=[0])
def ensure_clipped(
    xp: Any,
    x: Array,
    indices: Array | None = None,
    gradient: Array | None = None,
    *,
    ctx: Context,
    min: float = -FLOAT_MAX,
    max: float = FLOAT_MAX,
) -> Array:
    """Clip everything, or (in place only) the rows that `indices` name: those that a sparse gradient has touched."""
    if indices is None:
        return _clip(xp, x, min, max)
    expect("int32 int64", indices)
    require(gradient is not None, "with indices the gradient of the rows is needed")
    require(ctx.op.input[0] == ctx.op.output[0], "with indices it must run in place")
    require(x.ndim > 0, "an array of rank 0 has no rows")
    require_indices(indices, len(x))
    clipped = x.copy()
    clipped[indices] = _clip(xp, x[indices], min, max)
    return clipped


@kernel("ClipTensorByScaling")
@only("float32")
def clip_tensor_by_scaling(
    xp: Any, x: Array, norm: Array, extra: Array | None = None, *, threshold: float = 0.0
) -> Array:
    """Scale down so that `norm` becomes the threshold (times `extra`, if it is there), should it be larger."""
    require(threshold > 0, f"threshold must be larger than 0, not {threshold}")
    require(x.size > 0, "there is nothing to scale")
    require(
        norm.size == 1 and (extra is None or extra.size == 1), "the norm and the extra threshold are single numbers"
    )
    norm = norm.reshape(())
    limit = threshold if extra is None else threshold * extra.reshape(())
    return x * xp.where(norm > limit, limit / norm, xp.ones_like(norm))


# From one dtype to another.


def cast_rule(maker: Maker) -> list[GradientOp]:
    """Cast back; where to is not known from the definition unless `from_type` says so."""
    inputs, outputs = [maker.GO(0)], [maker.GI(0)]
    to = _data_type(maker, "to")
    if not (maker.args.has("from_type", "i") or maker.args.has("from_type", "s")):
        maker.refuse("the argument from_type (an integer or a text) must say what type the input has")
    own = arg("to", _data_type(maker, "from_type")), arg("from_type", to)
    return [maker.make("Cast", inputs, outputs, *own, copied=None)]


def _data_type(maker: Maker, name: str) -> int:
    """The number of the tensor type that an argument names, as a text in any case or as a number."""
    if not maker.args.has(name, "s"):
        number = maker.args.integer(name, TensorProto.FLOAT)
        if not -(2**31) <= number < 2**31:
            maker.refuse(f"argument {name} does not fit into 32 bits: {number}")
        return number
    text = maker.args.text(name)
    types = TensorProto.DataType.items()
    found = dict(types).get(text.upper())
    if found is None:
        maker.refuse(f"argument {name} names the tensor type {text}, which does not exist")
    return found


operator("Cast", inputs=1, outputs=1, args="to", gradient=cast_rule)
operator("HalfToFloat", inputs=1, outputs=1, gradient=emit("FloatToHalf", [GO(0)], [GI(0)]))
operator("FloatToHalf", inputs=1, outputs=1, gradient=emit("HalfToFloat", [GO(0)], [GI(0)]))

_CASTS: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.INT32: "int32",
    TensorProto.STRING: "string",
    TensorProto.BOOL: "bool",
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16",
    TensorProto.INT64: "int64",
    TensorProto.DOUBLE: "float64",
}


@kernel("Cast")
@only("float32", "int32", "bool", "uint8", "int8", "uint16", "int16", "int64", "float64")
def cast(xp: Any, x: Array, *, to: int | str = TensorProto.FLOAT) -> Array:
    """To the tensor type `to`, a number or a name in any case; half floats are not among them."""
    number = dict(TensorProto.DataType.items()).get(to.upper(), -1) if isinstance(to, str) else to
    wanted = _CASTS.get(number)
    require(wanted is not None, f"the argument to names no tensor type that can be cast to: {to}")
    return _written(x) if wanted == "string" else x.astype(wanted)


def _written(x: Array) -> Array:
    """Numbers as text, floats with six decimals. Text lies on the host, whatever the backend."""
    import numpy as np

    host = on_host(x)
    form = "%f" if host.dtype.kind == "f" else "%d"
    written = np.empty(host.shape, dtype=object)
    written.reshape(-1)[:] = [(form % value).encode() for value in host.reshape(-1)]
    return written


@kernel("HalfToFloat")
@only("float16")
def half_to_float(xp: Any, x: Array) -> Array:
    return x.astype("float32")


@kernel("FloatToHalf")
@only("float32")
def float_to_half(xp: Any, x: Array, *, clip: bool = False) -> Array:
    """Beyond the range of half floats lies infinity, or with `clip` the largest of them."""
    return (_clip(xp, x, -65504.0, 65504.0) if clip else x).astype("float16")


# Tables and thresholds.


def quant_decode_rule(maker: Maker) -> list[GradientOp]:
    """Reads the codebook, every code and the gradient of every output."""
    gradients = [maker.GO(i) for i in range(len(maker.op.outputs))]
    return [maker.make("QuantDecodeGradient", [*maker.op.inputs, *gradients], [maker.GI(0)])]


operator("NanCheck", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=emit("NanCheck", [GO(0)], [GI(0)]))
operator("EnforceFinite", inputs=1, outputs=0, gradient=SHOULD_NOT)
operator("Bucketize", inputs=1, outputs=1, args="boundaries")
operator("BucketizeOp", checked=False, runs=False, gradient=NONE)
operator(
    "SquareRootDivide", inputs=2, outputs=1, inplace=[(0, 0)], gradient=emit("SquareRootDivide", [GO(0), I(1)], [GI(0)])
)
operator(
    "PiecewiseLinearTransform", inputs=(1, 4), outputs=1, args="bounds slopes intercepts binary", gradient=SHOULD_NOT
)
operator("QuantDecode", arities=lambda i, o: i == o + 1 >= 2, gradient=quant_decode_rule)
operator("QuantDecodeGradient", outputs=1, arities=lambda i, o: i >= 3 and i % 2 == 1 and o == 1)


@kernel("NanCheck")
@only("float32", at=[0])
def nan_check(xp: Any, x: Array, *others: Array) -> Array:
    """Hand the first input on, or fail where it is not finite; the other inputs only make it wait."""
    require(bool(xp.isfinite(x).all()), "the input holds NaN or infinity")
    return x


@kernel("EnforceFinite")
@only("float32", "float64")
def enforce_finite(xp: Any, x: Array) -> tuple[()]:
    finite = xp.isfinite(x)
    if not bool(finite.all()):
        at = int(xp.argmin(finite.reshape(-1)))
        raise ValueError(f"element {at} is not finite: {float(x.reshape(-1)[at])}")
    return ()


@kernel("Bucketize")
@only("float32")
def bucketize(xp: Any, x: Array, *, boundaries: list[float]) -> Array:
    """The number of boundaries that lie below each element."""
    require(x.ndim > 0, "an array of rank 0 has no buckets")
    require(all(a <= b for a, b in pairwise(boundaries)), "the boundaries must be sorted")
    return xp.searchsorted(xp.asarray(boundaries, dtype="float32"), x).astype("int32")


@kernel("SquareRootDivide")
def square_root_divide(xp: Any, x: Array, scale: Array) -> Array:
    """Row by row x / sqrt(scale); rows whose scale is 0 stay as they are."""
    expect("float32", x)
    expect("int32 int64 float32", scale)
    require(scale.ndim == 1 and x.ndim > 0 and len(scale) == len(x), "there must be one scale for each row")
    require(bool((scale >= 0).all()), "scales must not be negative")
    divisor = xp.where(scale == 0, 1, xp.sqrt(scale.astype(x.dtype)))
    return x / divisor.reshape(-1, *[1] * (x.ndim - 1))


@kernel("PiecewiseLinearTransform")
@only("float32")
def piecewise_linear_transform(
    xp: Any,
    x: Array,
    bounds: Array | None = None,
    slopes: Array | None = None,
    intercepts: Array | None = None,
    *,
    ctx: Context,
    binary: bool = False,
) -> Array:
    """One function for each column, or (`binary`) one for the probability of yes, of which no is the complement."""
    bounds, slopes, intercepts = _pieces(xp, ctx, (bounds, slopes, intercepts))
    groups = bounds.size - slopes.size
    require(slopes.size == intercepts.size, "there must be as many intercepts as slopes")
    require(groups > 0 and slopes.size > 0 and slopes.size % groups == 0, "each group has one bound more than slopes")
    bounds, slopes, intercepts = (each.reshape(groups, -1) for each in (bounds, slopes, intercepts))
    require(bool((bounds[:, 1:] >= bounds[:, :-1]).all()), "the bounds of each group must be sorted")
    if binary:
        return _binary_pieces(xp, x, bounds, slopes, intercepts)
    require(x.ndim == 2 and x.shape[1] == groups, f"the input must have two dimensions and {groups} columns")
    columns = [_piecewise(xp, x[:, j], bounds[j], slopes[j], intercepts[j]) for j in range(groups)]
    return xp.stack(columns, axis=1)


def _pieces(xp: Any, ctx: Context, given: tuple[Array | None, ...]) -> list[Array]:
    """Bounds, slopes and intercepts, from the arguments or from the inputs."""
    found = values(ctx.op)
    names = ("bounds", "slopes", "intercepts")
    from_arguments = [name in found for name in names]
    require(all(from_arguments) or not any(from_arguments), "bounds, slopes and intercepts go together")
    if all(from_arguments):
        require(given[0] is None, "bounds, slopes and intercepts are arguments, so there must be one input only")
        return [xp.asarray(found[name], dtype="float32") for name in names]
    require(given[2] is not None, "bounds, slopes and intercepts must be given, as arguments or as inputs")
    return list(given)


def _binary_pieces(xp: Any, x: Array, bounds: Array, slopes: Array, intercepts: Array) -> Array:
    require(len(bounds) == 1, "with binary there must be one function only")
    require(x.ndim == 1 or (x.ndim == 2 and x.shape[1] in {1, 2}), "with binary the input must have one or two columns")
    if x.ndim == 1 or x.shape[1] == 1:
        return _piecewise(xp, x, bounds[0], slopes[0], intercepts[0])
    yes = _piecewise(xp, x[:, 1], bounds[0], slopes[0], intercepts[0])
    return xp.stack([1 - yes, yes], axis=1)


def _piecewise(xp: Any, x: Array, bounds: Array, slopes: Array, intercepts: Array) -> Array:
    """Constant outside of the bounds."""
    piece = xp.clip(xp.searchsorted(bounds, x) - 1, 0, slopes.size - 1)
    return slopes[piece] * xp.minimum(xp.maximum(x, bounds[0]), bounds[-1]) + intercepts[piece]


@kernel("QuantDecode")
def quant_decode(xp: Any, codebook: Array, *codes: Array) -> tuple[Array, ...]:
    """Look every code up in the codebook."""
    _expect_codes(codebook, codes)
    return tuple(codebook[each] for each in codes)


@kernel("QuantDecodeGradient")
def quant_decode_gradient(xp: Any, codebook: Array, *codes_and_gradients: Array) -> Array:
    """Sum up, for each entry of the codebook, the gradients where it was looked up."""
    half = len(codes_and_gradients) // 2
    codes, gradients = codes_and_gradients[:half], codes_and_gradients[half:]
    _expect_codes(codebook, codes)
    expect("float32", *gradients)
    total = xp.zeros_like(codebook)
    for code, gradient in zip(codes, gradients, strict=True):
        require_same_shape(code, gradient)
        xp.add.at(total, code.reshape(-1), gradient.reshape(-1))
    return total


def _expect_codes(codebook: Array, codes: tuple[Array, ...]) -> None:
    expect("float32", codebook)
    expect("uint8 uint16 int32", *codes)
    require(codebook.ndim == 1, "the codebook must have one dimension")
    for each in codes:
        require_indices(each, len(codebook))
