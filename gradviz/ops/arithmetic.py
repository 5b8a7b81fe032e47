"""Arithmetic, comparisons and logic between arrays, with legacy and modern broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import as_matrix, keep_where
from gradviz.ops._broadcast import Broadcast, binary
from gradviz.ops._checks import NUMBERS, like, only, require, require_same_shape
from gradviz.ops.arguments import arg
from gradviz.ops.registry import NOT_IMPLEMENTED, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit, pass_through
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule
    from gradviz.proto import Argument

Array = Any


# Two arrays, broadcast: arithmetic.

operator(
    "Add",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("AddGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("AddGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Sub",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("SubGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("SubGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Mul",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("MulGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("MulGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Div",
    inputs=2,
    outputs=1,
    inplace=[(0, 0)],
    args="broadcast axis",
    gradient=emit("DivGradient", [GO(0), I(0), I(1), O(0)], [GI(0), GI(1)]),
)
operator("DivGradient", inputs=(3, 4), outputs=2, inplace=[(0, 0)])


@binary("Add", dtypes=NUMBERS)
def add(xp: Any, a: Array, b: Array) -> Array:
    return a + b


@binary("Sub", dtypes=NUMBERS)
def sub(xp: Any, a: Array, b: Array) -> Array:
    return a - b


@binary("Mul", dtypes=NUMBERS)
def mul(xp: Any, a: Array, b: Array) -> Array:
    return a * b


@binary("Div", dtypes=NUMBERS)
def div(xp: Any, a: Array, b: Array) -> Array:
    """Integers are divided towards zero."""
    if a.dtype.kind == "f":
        return a / b
    require(bool((b != 0).all()), "an integer is divided by zero")
    below = a // b
    return below + ((below * b != a) & ((a < 0) != (b < 0)))


def binary_gradient(*types: str) -> Callable[[Callable[[Any, Array, Array, Array], tuple[Array, Array]]], Any]:
    """Register a function of the gradient and two arrays of its shape; its two answers are summed to their shapes."""

    def register(function: Callable[[Any, Array, Array, Array], tuple[Array, Array]]) -> Callable[..., Array]:
        @kernel(*types)
        @only(*NUMBERS)
        def run(
            xp: Any,
            dc: Array,
            a: Array,
            b: Array,
            *,
            broadcast: bool = False,
            axis: int = -1,
            axis_str: str = "",
            order: str = "NCHW",
        ) -> tuple[Array, Array]:
            together = Broadcast(a, b, broadcast, axis, axis_str, order)
            return together.sums(xp, *function(xp, together.gradient(dc), *together.arrays(xp)))

        return run

    return register


@binary_gradient("AddGradient")
def add_gradient(xp: Any, dc: Array, a: Array, b: Array) -> tuple[Array, Array]:
    return dc, dc


@binary_gradient("SubGradient")
def sub_gradient(xp: Any, dc: Array, a: Array, b: Array) -> tuple[Array, Array]:
    return dc, -dc


@kernel("MulGradient")
@only(*NUMBERS)
def mul_gradient(
    xp: Any,
    dc: Array,
    a: Array,
    b: Array,
    *,
    ctx: Context,
    broadcast: bool = False,
    axis: int = -1,
    axis_str: str = "",
    order: str = "NCHW",
) -> tuple[Array, Array]:
    """In place it answers what upstream does, which overwrites the incoming gradient before it has read all of it."""
    together = Broadcast(a, b, broadcast, axis, axis_str, order)
    dc, (wide_a, wide_b) = together.gradient(dc), together.arrays(xp)
    if ctx.op.input[0] in ctx.op.output and not together.trivial:
        return xp.zeros_like(a), xp.zeros_like(b)  # upstream clears what it sums up in
    da = dc * wide_b
    db = (da if ctx.op.input[0] == ctx.op.output[0] else dc) * wide_a
    return together.sums(xp, da, db)


@kernel("DivGradient")
@only("float32", "float64")
def div_gradient(
    xp: Any,
    *arrays: Array,
    broadcast: bool = False,
    axis: int = -1,
    axis_str: str = "",
    order: str = "NCHW",
) -> tuple[Array, Array]:
    """Reads dC, A, B and C; or, as older nets write it, B, C and dC, where A has the shape of C."""
    b, c, dc = arrays if len(arrays) == 3 else (arrays[2], arrays[3], arrays[0])
    a = c if len(arrays) == 3 else arrays[1]
    together = Broadcast(a, b, broadcast, axis, axis_str, order)
    da = together.gradient(dc) / together.arrays(xp)[1]
    return together.sums(xp, da, -da * together.gradient(c))


# Powers.


def pow_rule(maker: Maker) -> list[GradientOp]:
    """A number as exponent (the argument decides, an exponent input then is not looked at), or an array."""
    if "exponent" in maker.args:
        return _pow_number(maker, maker.args.real("exponent"))
    if maker.O(0) in (maker.I(0), maker.I(1)):
        maker.refuse("it runs in place, and the gradient needs both inputs", blob=maker.O(0))
    return _pow_array(maker)


def _pow_number(maker: Maker, exponent: float) -> list[GradientOp]:
    """A x^(a-1) dy; in place only x^a is left, and x^(a-1) is its power (a-1)/a."""
    power = arg("exponent", exponent - 1)
    if maker.I(0) == maker.O(0):
        if not abs(exponent) > 1e-12:
            maker.refuse("with the exponent 0 it cannot run in place", blob=maker.I(0))
        power.f = power.f / exponent  # both rounded to single precision, as upstream computes it
    dx, dy = maker.GI(0), maker.GO(0)
    return [
        maker.make("Pow", [maker.I(0)], [dx], power, copied=None),
        maker.make("Mul", [dx, dy], [dx], copied=None),
        maker.make("Scale", [dx], [dx], arg("scale", exponent), copied=None),
    ]


def _pow_array(maker: Maker) -> list[GradientOp]:
    """A x^(a-1) dy for the base, log(x) x^a dy for the exponent, summed down to its shape where it was broadcast."""
    x, a, y, dy, dx, da = maker.I(0), maker.I(1), maker.O(0), maker.GO(0), maker.GI(0), maker.GI(1)
    before = da + "_autogen_pre_red"
    broadcast = _broadcast_arguments(maker)
    last = before if broadcast else da

    def make(type: str, inputs: list[str], output: str, *own: Argument) -> GradientOp:
        return maker.make(type, inputs, [output], *own, copied=None)

    ops = [
        make("ConstantFill", [a], da, arg("value", 1.0)),
        make("Sub", [a, da], da),
        make("Pow", [x, da], dx, *broadcast),
        make("Mul", [dx, dy], dx),
        make("Mul", [dx, a], dx, *broadcast),
        make("Log", [x], before),
        make("Mul", [before, y], before),
        make("Mul", [before, dy], last),
    ]
    if broadcast:
        ops.append(make("SumReduceLike", [before, a], da, *broadcast[1:]))
    return ops


def _broadcast_arguments(maker: Maker) -> list[Argument]:
    """`broadcast` and its companions, completed by their defaults; nothing where `broadcast` is not there at all."""
    if "broadcast" not in maker.args:
        return []
    defaults: dict[str, int | str] = {"broadcast": 0, "axis": -1, "axis_str": "", "order": "NCHW"}
    return [maker.args.get(name) or arg(name, value) for name, value in defaults.items()]


operator("Pow", inputs=(1, 2), outputs=1, inplace=[(0, 0), (1, 0)], args="exponent axis broadcast", gradient=pow_rule)
operator("SumReduceLike", inputs=2, outputs=1, args="axis axis_str order")


@kernel("Pow")
@only("float32")
def power(
    xp: Any,
    x: Array,
    exponents: Array | None = None,
    *,
    exponent: float | None = None,
    broadcast: bool = False,
    axis: int = -1,
    axis_str: str = "",
    order: str = "NCHW",
) -> Array:
    """One exponent as an argument, or an array of them; which is broadcast only where `broadcast` says so."""
    require((exponent is None) != (exponents is None), "the exponent is an argument or an input, and one of the two")
    if exponents is None:
        return _to_the(xp, x, exponent)
    if not broadcast:
        require_same_shape(x, exponents)
    return xp.power(*Broadcast(x, exponents, broadcast, axis, axis_str, order).arrays(xp))


def _to_the(xp: Any, x: Array, exponent: float | None) -> Array:
    """Square roots differ from powers at minus infinity, which upstream shows."""
    if exponent == 0.5:
        return xp.sqrt(x)
    if exponent == -0.5:
        return 1 / xp.sqrt(x)
    return xp.power(x, exponent)


@kernel("SumReduceLike")
@only("float32", "float64")
def sum_reduce_like(xp: Any, a: Array, b: Array, *, axis: int = -1, axis_str: str = "", order: str = "NCHW") -> Array:
    """Sum `a` down to the shape of `b`, as if `b` had been broadcast to it."""
    return Broadcast(a, b, True, axis, axis_str, order).sums(xp, a, a)[1]


# Many arrays of one shape.


def _all_inputs(maker: Maker) -> list[str]:
    """Gradients for every input."""
    return [maker.GI(i) for i in range(len(maker.op.inputs))]


def extremum_rule(type: str) -> Rule:
    """Max and Min: the gradient operator compares the output with every input."""

    def rule(maker: Maker) -> list[GradientOp]:
        return [maker.make(type, [maker.O(0), maker.GO(0), *maker.op.inputs], _all_inputs(maker))]

    return rule


def mean_rule(maker: Maker) -> list[GradientOp]:
    """Every input gets its share of the output's gradient."""
    return [maker.make("MeanGradient", [maker.GO(0)], _all_inputs(maker))]


def weighted_sum_rule(maker: Maker) -> list[GradientOp]:
    """Inputs alternate between arrays and weights; weights get a gradient where `grad_on_w` asks, behind the arrays."""
    count = len(maker.op.inputs)
    outputs = [maker.GI(i) for i in range(0, count, 2)]
    if maker.args.flag("grad_on_w"):
        outputs += [maker.GI(i) for i in range(1, count, 2)]
    return [maker.make("WeightedSumGradient", [maker.GO(0), *maker.op.inputs], outputs)]


operator("Sum", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=pass_through())
operator("SumInt", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("SumRelu", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("Max", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=extremum_rule("MaxGradient"))
operator("MaxGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Min", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=extremum_rule("MinGradient"))
operator("MinGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Mean", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=mean_rule)
operator("MeanGradient", inputs=1, outputs=(1, MANY), inplace=[(0, 0)])
operator(
    "WeightedSum",
    outputs=1,
    arities=lambda i, o: i >= 2 and i % 2 == 0 and o == 1,
    inplace=[(0, 0)],
    gradient=weighted_sum_rule,
)
operator("WeightedSumGradient", outputs=(1, MANY), arities=lambda i, o: i % 2 == 1 and o >= 1)
operator("ScaleBlobs", inputs=(1, MANY), outputs=(1, MANY), inplace="any", args="scale")


@kernel("Sum")
@only(*NUMBERS)
def sum_all(xp: Any, *arrays: Array) -> Array:
    require_same_shape(*arrays)
    if len(arrays) == 1:
        return arrays[0].copy()
    total = xp.add(arrays[0], arrays[1])
    for array in arrays[2:]:
        total += array
    return total


@kernel("SumInt")
@only("int32")
def sum_int(xp: Any, *arrays: Array) -> Array:
    return sum_all(xp, *arrays)


@kernel("SumRelu")
@only("float32")
def sum_relu(xp: Any, *arrays: Array) -> Array:
    return xp.maximum(sum_all(xp, *arrays), 0)


@kernel("Max")
@only("float32")
def largest(xp: Any, *arrays: Array) -> Array:
    require_same_shape(*arrays)
    found = arrays[0].copy()
    for array in arrays[1:]:
        found = xp.maximum(found, array)
    return found


@kernel("Min")
@only("float32")
def smallest(xp: Any, *arrays: Array) -> Array:
    require_same_shape(*arrays)
    found = arrays[0].copy()
    for array in arrays[1:]:
        found = xp.minimum(found, array)
    return found


@kernel("MaxGradient", "MinGradient")
@only("float32")
def extremum_gradient(xp: Any, y: Array, dy: Array, *arrays: Array) -> tuple[Array, ...]:
    """Every input that ties gets the whole gradient."""
    require_same_shape(y, dy, *arrays)
    return tuple(keep_where(array == y, dy) for array in arrays)


@kernel("Mean")
@only("float32", "float64")
def mean(xp: Any, *arrays: Array) -> Array:
    return sum_all(xp, *arrays) * (1 / len(arrays))


@kernel("MeanGradient")
@only("float32", "float64")
def mean_gradient(xp: Any, dy: Array, *, ctx: Context) -> tuple[Array, ...]:
    return (dy * (1 / ctx.outputs),) * ctx.outputs


@kernel("WeightedSum")
@only("float32")
def weighted_sum(xp: Any, *arrays_and_weights: Array) -> Array:
    """A weight of 0 leaves its array out, NaN and all."""
    arrays, weights = _weighted(arrays_and_weights)
    total = xp.zeros_like(arrays[0])
    for array, weight in zip(arrays, weights, strict=True):
        total += xp.where(weight == 0, 0, weight * like(total, array))
    return total


@kernel("WeightedSumGradient")
@only("float32")
def weighted_sum_gradient(
    xp: Any, dy: Array, *arrays_and_weights: Array, ctx: Context, grad_on_w: bool = False
) -> tuple[Array, ...]:
    """Gradients of the arrays, then (`grad_on_w`) those of the weights, of shape (1,)."""
    arrays, weights = _weighted(arrays_and_weights)
    wanted = len(arrays) + len(weights) if grad_on_w else len(arrays)
    require(ctx.outputs == wanted, f"there must be {wanted} outputs")
    require_same_shape(dy, *arrays)
    found = tuple(weight * dy for weight in weights)
    return found + tuple(xp.sum(array * dy).reshape(1) for array in arrays) if grad_on_w else found


def _weighted(arrays_and_weights: tuple[Array, ...]) -> tuple[list[Array], list[Array]]:
    arrays, weights = arrays_and_weights[::2], arrays_and_weights[1::2]
    require(arrays[0].size > 0, "there is nothing to sum")
    require(all(weight.size == 1 for weight in weights), "each weight must be a single number")
    return list(arrays), [weight.reshape(()) for weight in weights]


@kernel("ScaleBlobs")
@only("float32")
def scale_blobs(xp: Any, *arrays: Array, scale: float = 1.0) -> tuple[Array, ...]:
    return tuple(array * scale for array in arrays)


# One array.

operator("Scale", inputs=1, outputs=1, inplace=[(0, 0)], args="scale", gradient=emit("Scale", [GO(0)], [GI(0)]))
operator("Negative", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Negative", [GO(0)], [GI(0)]))
operator("Mod", inputs=1, outputs=1, inplace=[(0, 0)], args="divisor sign_follow_divisor")
operator("ModOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("ReplaceNaN", inputs=1, outputs=1, inplace=[(0, 0)], args="value", gradient=SHOULD_NOT)


@kernel("Scale")
@only("float32", "float64")
def scale_kernel(xp: Any, x: Array, *, scale: float = 1.0) -> Array:
    return x * scale


@kernel("Negative")
@only(*NUMBERS)
def negative(xp: Any, x: Array) -> Array:
    return -x


@kernel("Mod")
@only("int32", "int64")
def mod(xp: Any, x: Array, *, divisor: int = 0, sign_follow_divisor: bool = False) -> Array:
    """The remainder has the sign of the element, or with `sign_follow_divisor` that of the divisor."""
    require(divisor != 0, "the divisor must not be 0")
    remainder = xp.remainder(x.astype("int64"), divisor)
    if not sign_follow_divisor:
        other_sign = (remainder != 0) & ((x < 0) != (divisor < 0))
        remainder = xp.where(other_sign, remainder - divisor, remainder)
    return remainder.astype(x.dtype)


@kernel("ReplaceNaN")
@only("float32", "float64")
def replace_nan(xp: Any, x: Array, *, value: float = 0.0) -> Array:
    return xp.where(xp.isnan(x), xp.full_like(x, value), x)


# An array and vectors.


def row_mul_rule(maker: Maker) -> list[GradientOp]:
    """The weights' gradient is the product, summed over each row."""
    dy, dw = maker.GO(0), maker.GI(1)
    products = dw + "before_aggregate"
    return [
        maker.make("RowMul", [dy, maker.I(1)], [maker.GI(0)]),
        maker.make("Mul", [dy, maker.I(0)], [products]),
        maker.make("ReduceTailSum", [products], [dw]),
    ]


operator("RowMul", inputs=2, outputs=1, gradient=row_mul_rule)
operator(
    "ElementwiseLinear",
    inputs=3,
    outputs=1,
    args="axis",
    gradient=emit("ElementwiseLinearGradient", [GO(0), I(0), I(1)], [GI(0), GI(1), GI(2)]),
)
operator("ElementwiseLinearGradient", inputs=3, outputs=3)
operator("BatchBoxCox", inputs=3, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)


@kernel("RowMul")
@only("float32")
def row_mul(xp: Any, rows: Array, weights: Array) -> Array:
    require(rows.ndim > 0 and len(rows) == weights.size, "there must be one weight for each row")
    return rows * weights.reshape(-1, *[1] * (rows.ndim - 1))


@kernel("ElementwiseLinear")
@only("float32")
def elementwise_linear(xp: Any, x: Array, a: Array, b: Array, *, axis: int = 1) -> Array:
    """Scale and shift along everything from `axis` on, taken as one dimension."""
    rows = _rows(x, a, axis)
    require(b.shape == a.shape, "there must be as many shifts as factors")
    return (rows * a + b).reshape(x.shape)


@kernel("ElementwiseLinearGradient")
@only("float32")
def elementwise_linear_gradient(xp: Any, dy: Array, x: Array, a: Array, *, axis: int = 1) -> tuple[Array, Array, Array]:
    rows, grads = _rows(x, a, axis), _rows(like(x, dy), a, axis)
    return (grads * a).reshape(x.shape), xp.sum(grads * rows, axis=0), xp.sum(grads, axis=0)


def _rows(x: Array, a: Array, axis: int) -> Array:
    rows = as_matrix(x, axis)
    require(a.shape == rows.shape[1:], f"there must be {rows.shape[1]} factors, but their shape is {a.shape}")
    return rows


@kernel("BatchBoxCox")
@only("float32", "float64")
def batch_box_cox(xp: Any, x: Array, lambda1: Array, lambda2: Array) -> Array:
    """The Box-Cox transform of each column, shifted by `lambda2`; the logarithm where `lambda1` is 0."""
    columns = x.size // len(x) if x.ndim and len(x) else lambda1.size
    require(lambda1.shape == lambda2.shape == (columns,), f"there must be {columns} lambdas of each kind")
    shifted = xp.maximum(x.reshape(len(x), columns) + lambda2, 1e-6)
    exponent = xp.where(lambda1 == 0, 1, lambda1)
    transformed = xp.where(lambda1 == 0, xp.log(shifted), (xp.power(shifted, exponent) - 1) / exponent)
    return transformed.reshape(x.shape)
