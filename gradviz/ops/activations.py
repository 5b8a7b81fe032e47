"""Activations: one array in, one of the same shape out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import as_matrix, erf, keep_where, sigmoid
from gradviz.ops._checks import axis_of, like, only, require, require_same_shape
from gradviz.ops.registry import kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit, from_input, from_output

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def softsign_rule(maker: Maker) -> list[GradientOp]:
    """The gradient reads the input, which an in-place Softsign has overwritten: refused."""
    if maker.I(0) == maker.O(0):
        maker.refuse("it runs in place, and the gradient needs the input that it overwrites", blob=maker.I(0))
    return [maker.make("SoftsignGradient", [maker.I(0), maker.GO(0)], [maker.GI(0)])]


# Piecewise linear. Where the output tells on which piece the input lay, the gradient reads the output.

operator("Relu", inputs=1, outputs=1, inplace=[(0, 0)], gradient=from_output("ReluGradient"))
operator("ReluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("ReluN", inputs=1, outputs=1, inplace=[(0, 0)], args="n", gradient=from_output("ReluNGradient"))
operator("ReluNGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="n")
operator("LeakyRelu", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha", gradient=from_output("LeakyReluGradient"))
operator("LeakyReluGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="alpha")
operator(
    "ThresholdedRelu",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="alpha",
    gradient=from_output("ThresholdedReluGradient"),
)
operator("ThresholdedReluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator(
    "HardSigmoid", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha beta", gradient=from_output("HardSigmoidGradient")
)
operator("HardSigmoidGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator(
    "PRelu",
    inputs=2,
    outputs=1,
    inplace=[(0, 0)],
    gradient=emit("PReluGradient", [O(0), GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("PReluGradient", inputs=4, outputs=2)


@kernel("Relu")
@only("float32")
def relu(xp: Any, x: Array) -> Array:
    return xp.maximum(x, 0)


@kernel("ReluGradient")
@only("float32")
def relu_gradient(xp: Any, y: Array, dy: Array) -> Array:
    """The gradient passes where the output is positive; NaN there stops it."""
    require_same_shape(y, dy)
    return keep_where(y > 0, dy)


@kernel("ReluN")
@only("float32")
def relu_n(xp: Any, x: Array, *, n: float = 6.0) -> Array:
    return xp.minimum(xp.maximum(x, 0), n)


@kernel("ReluNGradient")
@only("float32")
def relu_n_gradient(xp: Any, y: Array, dy: Array, *, n: float = 6.0) -> Array:
    require_same_shape(y, dy)
    return keep_where((y > 0) & (y < n), dy)


@kernel("LeakyRelu")
@only("float32")
def leaky_relu(xp: Any, x: Array, *, alpha: float = 0.01) -> Array:
    return xp.where(x < 0, x * alpha, x)


@kernel("LeakyReluGradient")
@only("float32")
def leaky_relu_gradient(xp: Any, y: Array, dy: Array, *, alpha: float = 0.01) -> Array:
    dy = like(y, dy)
    return xp.where(y >= 0, dy, dy * alpha)


@kernel("ThresholdedRelu")
@only("float32")
def thresholded_relu(xp: Any, x: Array, *, alpha: float = 1.0) -> Array:
    return xp.where(x > alpha, x, 0)


@kernel("ThresholdedReluGradient")
@only("float32")
def thresholded_relu_gradient(xp: Any, y: Array, dy: Array, *, alpha: float = 1.0) -> Array:
    require_same_shape(y, dy)
    return keep_where(y > alpha, dy)


@kernel("HardSigmoid")
@only("float32")
def hard_sigmoid(xp: Any, x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    return xp.maximum(xp.minimum(alpha * x + beta, 1), 0)


@kernel("HardSigmoidGradient")
@only("float32")
def hard_sigmoid_gradient(xp: Any, y: Array, dy: Array, *, alpha: float = 0.2) -> Array:
    require_same_shape(y, dy)
    return keep_where((y > 0) & (y < 1), dy * alpha)


@kernel("PRelu")
@only("float32")
def prelu(xp: Any, x: Array, slope: Array, *, order: str = "NCHW") -> Array:
    """One slope for all, or one for each channel."""
    return xp.where(x > 0, x, x * _along_channels(x, slope, order))


@kernel("PReluGradient")
@only("float32")
def prelu_gradient(xp: Any, y: Array, dy: Array, x: Array, slope: Array, *, order: str = "NCHW") -> tuple[Array, Array]:
    require_same_shape(x, y, dy)
    slopes = _along_channels(x, slope, order)
    d_slope = xp.where(x > 0, 0, dy * x)
    other = tuple(i for i in range(x.ndim) if slopes.shape[i] == 1) if slopes.ndim else None
    return xp.where(x > 0, dy, dy * slopes), xp.sum(d_slope, axis=other).reshape(slope.shape)


def _along_channels(x: Array, slope: Array, order: str) -> Array:
    """The slopes, shaped to be broadcast over `x`."""
    if slope.size == 1:
        return slope.reshape(())
    channel = 1 if order == "NCHW" else x.ndim - 1
    require(
        channel < x.ndim and x.shape[channel] == slope.size, f"there are {slope.size} slopes, but not as many channels"
    )
    return slope.reshape([-1 if i == channel else 1 for i in range(x.ndim)])


# Smooth.

operator("Elu", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha", gradient=from_output("EluGradient"))
operator("EluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Selu", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha scale", gradient=from_output("SeluGradient"))
operator("SeluGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="alpha scale")
operator("Sigmoid", inputs=1, outputs=1, inplace=[(0, 0)], gradient=from_output("SigmoidGradient"))
operator("SigmoidGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Tanh", inputs=1, outputs=1, inplace=[(0, 0)], gradient=from_output("TanhGradient"))
operator("TanhGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Softplus", inputs=1, outputs=1, inplace=[(0, 0)], gradient=from_output("SoftplusGradient"))
operator("SoftplusGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Softsign", inputs=1, outputs=1, inplace=[(0, 0)], gradient=softsign_rule)
operator("SoftsignGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Swish", inputs=1, outputs=1, gradient=emit("SwishGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("SwishGradient", inputs=3, outputs=1, inplace=[(2, 0)])
operator("Mish", inputs=1, outputs=1, gradient=emit("MishGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MishGradient", inputs=3, outputs=1)
operator("Gelu", inputs=1, outputs=1, args="fast_gelu", gradient=emit("GeluGradient", [GO(0), I(0)], [GI(0)]))
operator("GeluGradient", inputs=2, outputs=1)
operator("Logit", inputs=1, outputs=1, inplace=[(0, 0)], args="eps", gradient=from_input("LogitGradient"))
operator("LogitGradient", inputs=2, outputs=1, args="eps")

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


@kernel("Elu")
@only("float32")
def elu(xp: Any, x: Array, *, alpha: float = 1.0) -> Array:
    return xp.where(x > 0, x, alpha * (xp.exp(x) - 1))


@kernel("EluGradient")
@only("float32")
def elu_gradient(xp: Any, y: Array, dy: Array, *, alpha: float = 1.0) -> Array:
    require_same_shape(y, dy)
    return xp.where(y < 0, dy * (y + alpha), dy)


@kernel("Selu")
@only("float32")
def selu(xp: Any, x: Array, *, alpha: float = SELU_ALPHA, scale: float = SELU_SCALE) -> Array:
    require(scale > 1, f"scale must be larger than 1, not {scale}")
    return scale * xp.where(x > 0, x, alpha * xp.exp(x) - alpha)


@kernel("SeluGradient")
@only("float32")
def selu_gradient(xp: Any, y: Array, dy: Array, *, alpha: float = SELU_ALPHA, scale: float = SELU_SCALE) -> Array:
    require(scale > 1, f"scale must be larger than 1, not {scale}")
    dy = like(y, dy)
    return xp.where(y > 0, scale * dy, dy * (y + scale * alpha))


@kernel("Sigmoid")
@only("float32")
def sigmoid_kernel(xp: Any, x: Array) -> Array:
    return sigmoid(xp, x)


@kernel("SigmoidGradient")
@only("float32")
def sigmoid_gradient(xp: Any, y: Array, dy: Array) -> Array:
    require_same_shape(y, dy)
    return dy * y * (1 - y)


@kernel("Tanh")
@only("float32")
def tanh(xp: Any, x: Array) -> Array:
    return xp.tanh(x)


@kernel("TanhGradient")
@only("float32")
def tanh_gradient(xp: Any, y: Array, dy: Array) -> Array:
    require_same_shape(y, dy)
    return dy * (1 - y * y)


@kernel("Softplus")
@only("float32")
def softplus(xp: Any, x: Array) -> Array:
    """Overflows to infinity above about 88, as upstream does."""
    return xp.log(xp.exp(x) + 1)


@kernel("SoftplusGradient")
@only("float32")
def softplus_gradient(xp: Any, y: Array, dy: Array) -> Array:
    require_same_shape(y, dy)
    return dy * (1 - xp.exp(-y))


@kernel("Softsign")
@only("float32")
def softsign(xp: Any, x: Array) -> Array:
    return x / (1 + xp.abs(x))


@kernel("SoftsignGradient")
@only("float32")
def softsign_gradient(xp: Any, x: Array, dy: Array) -> Array:
    require_same_shape(x, dy)
    return dy / xp.square(1 + xp.abs(x))


@kernel("Swish")
@only("float32")
def swish(xp: Any, x: Array) -> Array:
    return x / (1 + xp.exp(-x))


@kernel("SwishGradient")
@only("float32")
def swish_gradient(xp: Any, x: Array, y: Array, dy: Array) -> Array:
    require_same_shape(x, y, dy)
    return dy * (y + (1 - y) * sigmoid(xp, x))


@kernel("Mish")
@only("float32", "float64")
def mish(xp: Any, x: Array) -> Array:
    return x * xp.tanh(xp.log1p(xp.exp(x)))


@kernel("MishGradient")
@only("float32", "float64")
def mish_gradient(xp: Any, x: Array, y: Array, dy: Array) -> Array:
    require_same_shape(x, y, dy)
    t = xp.tanh(xp.log1p(xp.exp(x)))
    return dy * (t + x * (1 - t * t) * sigmoid(xp, x))


_ROOT_2_PI = 0.7978845608028654  # sqrt(2 / pi)
_CUBIC = 0.044715


@kernel("Gelu")
@only("float32")
def gelu(xp: Any, x: Array, *, fast_gelu: bool = False) -> Array:
    """The input times its normal distribution function; `fast_gelu` approximates that function by a tanh."""
    if fast_gelu:
        return 0.5 * x * (1 + xp.tanh(_ROOT_2_PI * (x + _CUBIC * x * x * x)))
    return x * _normal_cdf(xp, x)


@kernel("GeluGradient")
@only("float32")
def gelu_gradient(xp: Any, dy: Array, x: Array, *, fast_gelu: bool = False) -> Array:
    require_same_shape(dy, x)
    if not fast_gelu:
        density = 0.5 * _ROOT_2_PI * xp.exp(-0.5 * x * x)
        return dy * (_normal_cdf(xp, x) + x * density)
    t = xp.tanh(_ROOT_2_PI * (x + _CUBIC * x * x * x))
    inner = _ROOT_2_PI * (1 + 3 * _CUBIC * x * x)
    return dy * 0.5 * (1 + t + x * (1 - t * t) * inner)


def _normal_cdf(xp: Any, x: Array) -> Array:
    return 0.5 * (1 + erf(xp, x * 0.5**0.5))


@kernel("Logit")
@only("float32")
def logit(xp: Any, x: Array, *, eps: float = 1e-6) -> Array:
    clipped = xp.minimum(xp.maximum(x, eps), 1 - eps)
    return xp.log(clipped / (1 - clipped))


@kernel("LogitGradient")
@only("float32")
def logit_gradient(xp: Any, x: Array, dy: Array, *, eps: float = 1e-6) -> Array:
    """0 where the input was clipped."""
    require(x.ndim > 0, "an array of rank 0 has no last dimension")
    require_same_shape(x, dy)
    return xp.where((x < eps) | (x > 1 - eps), 0, dy / (x * (1 - x)))


# Not element by element.

operator("Softmax", inputs=1, outputs=1, args="axis", gradient=from_output("SoftmaxGradient"))
operator("SoftmaxGradient", inputs=2, outputs=1)
operator("SoftmaxFp16", checked=False, runs=False, gradient=from_output("SoftmaxFp16Gradient"))
operator("Glu", inputs=1, outputs=1)
operator("MakeTwoClass", inputs=1, outputs=1, gradient=emit("MakeTwoClassGradient", [GO(0)], [GI(0)]))
operator("MakeTwoClassGradient", inputs=1, outputs=1)


@kernel("Softmax")
@only("float32")
def softmax(xp: Any, x: Array, *, axis: int = 1) -> Array:
    """Over everything from `axis` on, taken as one dimension."""
    rows = as_matrix(x, axis)
    if rows.size == 0:
        return xp.zeros_like(x)
    powers = rows - rows.max(axis=1, keepdims=True)
    xp.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers.reshape(x.shape)


@kernel("SoftmaxGradient")
@only("float32")
def softmax_gradient(xp: Any, y: Array, dy: Array, *, axis: int = 1) -> Array:
    require_same_shape(y, dy)
    rows, grads = as_matrix(y, axis), as_matrix(dy, axis)
    dx = grads - (rows * grads).sum(axis=1, keepdims=True)
    dx *= rows
    return dx.reshape(y.shape)


@kernel("Glu")
@only("float32")
def glu(xp: Any, x: Array, *, dim: int = -1) -> Array:
    """The first half of dimension `dim`, gated by the sigmoid of the second."""
    dim = axis_of(dim, x.ndim)
    require(x.shape[dim] % 2 == 0, f"dimension {dim} must be even, but is {x.shape[dim]}")
    value, gate = xp.split(x, 2, axis=dim)
    return value * sigmoid(xp, gate)


@kernel("MakeTwoClass")
@only("float32")
def make_two_class(xp: Any, x: Array) -> Array:
    """The probabilities of no and yes, side by side in a new last dimension."""
    return xp.stack([1 - x, x], axis=-1)


@kernel("MakeTwoClassGradient")
@only("float32")
def make_two_class_gradient(xp: Any, dy: Array) -> Array:
    require(dy.ndim > 0 and dy.shape[-1] == 2, f"the last dimension must be 2, but the shape is {dy.shape}")
    return dy[..., 1] - dy[..., 0]
