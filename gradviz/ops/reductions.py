"""Reductions over dimensions: sums, means, extremes, norms and moments."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import as_matrix
from gradviz.ops._checks import NUMBERS, axis_of, only, require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit, from_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Emit, Maker, Rule

Array = Any


# Over given axes, all of them if none are given.


def axes_rule(type: str) -> Emit:
    """The gradient operator reads the input and the output, whether it needs them or not."""
    return emit(type, [GO(0), I(0), O(0)], [GI(0)])


operator("ReduceSum", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceSumGradient"))
operator("ReduceSumGradient", inputs=3, outputs=1)
operator("ReduceMean", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceMeanGradient"))
operator("ReduceMeanGradient", inputs=3, outputs=1)
operator("ReduceMax", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceMaxGradient"))
operator("ReduceMaxGradient", inputs=3, outputs=1)
operator("ReduceMin", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceMinGradient"))
operator("ReduceMinGradient", inputs=3, outputs=1)
operator("ReduceL1", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceL1Gradient"))
operator("ReduceL1Gradient", inputs=3, outputs=1)
operator("ReduceL2", inputs=1, outputs=1, args="axes keepdims", gradient=axes_rule("ReduceL2Gradient"))
operator("ReduceL2Gradient", inputs=3, outputs=1)
operator(
    "Moments",
    inputs=1,
    outputs=2,
    args="axes keepdims",
    gradient=emit("MomentsGradient", [GO(0), GO(1), I(0), O(0)], [GI(0)]),
)
operator("MomentsGradient", inputs=4, outputs=1)


def _axes_of(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({axis_of(axis, x.ndim) for axis in axes})) or tuple(range(x.ndim))


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return prod(x.shape[axis] for axis in axes)


def _stretch(dy: Array, x: Array, axes: Sequence[int]) -> Array:
    """`dy` with its reduced dimensions as 1, whether or not it has kept them, to be broadcast over `x`."""
    reduced = _axes_of(x, axes)
    kept = tuple(1 if i in reduced else size for i, size in enumerate(x.shape))
    require(dy.size == prod(kept), f"the shape {dy.shape} does not go with {x.shape} reduced over {reduced}")
    return dy.reshape(kept)


@kernel("ReduceSum")
@only(*NUMBERS)
def reduce_sum(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    return xp.sum(x, axis=_axes_of(x, axes), dtype=x.dtype, keepdims=bool(keepdims))


@kernel("ReduceSumGradient")
@only(*NUMBERS)
def reduce_sum_gradient(xp: Any, dy: Array, x: Array, y: Array, *, axes: Sequence[int] = ()) -> Array:
    return xp.broadcast_to(_stretch(dy, x, axes), x.shape).copy()


@kernel("ReduceMean")
@only("float32")
def reduce_mean(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    """The mean of nothing is 0."""
    return reduce_sum(xp, x, axes=axes, keepdims=keepdims) / max(1, _count(x, _axes_of(x, axes)))


@kernel("ReduceMeanGradient")
@only("float32")
def reduce_mean_gradient(xp: Any, dy: Array, x: Array, y: Array, *, axes: Sequence[int] = ()) -> Array:
    return reduce_sum_gradient(xp, dy / max(1, _count(x, _axes_of(x, axes))), x, y, axes=axes)


@kernel("ReduceMax")
@only(*NUMBERS)
def reduce_max(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    """NaN is skipped; over nothing it is the lowest number of the dtype."""
    return _extreme(xp, xp.max, x, _limits(xp, x).min, axes, keepdims)


@kernel("ReduceMin")
@only(*NUMBERS)
def reduce_min(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    """NaN is skipped; over nothing it is the highest number of the dtype."""
    return _extreme(xp, xp.min, x, _limits(xp, x).max, axes, keepdims)


def _limits(xp: Any, x: Array) -> Any:
    return xp.finfo(x.dtype) if x.dtype.kind == "f" else xp.iinfo(x.dtype)


def _extreme(xp: Any, reduce: Any, x: Array, neutral: Any, axes: Sequence[int], keepdims: bool) -> Array:
    reduced = _axes_of(x, axes)
    if _count(x, reduced) == 0:
        return xp.full_like(xp.sum(x, axis=reduced, dtype=x.dtype, keepdims=bool(keepdims)), neutral)
    if x.dtype.kind == "f":
        x = xp.where(xp.isnan(x), x.dtype.type(neutral), x)
    return reduce(x, axis=reduced, keepdims=bool(keepdims))


@kernel("ReduceMaxGradient", "ReduceMinGradient")
@only(*NUMBERS)
def reduce_extreme_gradient(xp: Any, dy: Array, x: Array, y: Array, *, axes: Sequence[int] = ()) -> Array:
    """Every element that ties gets the whole gradient."""
    return xp.where(x == _stretch(y, x, axes), _stretch(dy, x, axes), xp.zeros_like(x))


@kernel("ReduceL1")
@only("float32")
def reduce_l1(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    return reduce_sum(xp, xp.abs(x), axes=axes, keepdims=keepdims)


@kernel("ReduceL1Gradient")
@only("float32")
def reduce_l1_gradient(xp: Any, dy: Array, x: Array, y: Array, *, axes: Sequence[int] = ()) -> Array:
    dy = _stretch(dy, x, axes)
    return xp.where(x == 0, 0, xp.where(x > 0, dy, -dy))


@kernel("ReduceL2")
@only("float32")
def reduce_l2(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> Array:
    return xp.sqrt(reduce_sum(xp, x * x, axes=axes, keepdims=keepdims))


@kernel("ReduceL2Gradient")
@only("float32")
def reduce_l2_gradient(xp: Any, dy: Array, x: Array, y: Array, *, axes: Sequence[int] = ()) -> Array:
    """A norm of almost 0 counts as 1e-12."""
    return _stretch(dy, x, axes) * x / xp.maximum(_stretch(y, x, axes), 1e-12)


@kernel("Moments")
@only("float32")
def moments(xp: Any, x: Array, *, axes: Sequence[int] = (), keepdims: bool = True) -> tuple[Array, Array]:
    """Mean and (biased) variance."""
    mean = reduce_mean(xp, x, axes=axes)
    variance = reduce_mean(xp, xp.square(x - mean), axes=axes)
    if keepdims:
        return mean, variance
    shape = reduce_sum(xp, x, axes=axes, keepdims=False).shape
    return mean.reshape(shape), variance.reshape(shape)


@kernel("MomentsGradient")
@only("float32")
def moments_gradient(
    xp: Any, d_mean: Array, d_variance: Array, x: Array, mean: Array, *, axes: Sequence[int] = ()
) -> Array:
    count = max(1, _count(x, _axes_of(x, axes)))
    return (_stretch(d_mean, x, axes) + 2 * (x - _stretch(mean, x, axes)) * _stretch(d_variance, x, axes)) / count


# Over the first or the last `num_reduce_dim` dimensions; with an input of lengths, over the first few of one dimension.


def with_lengths(type: str, *, reads_output: bool = False) -> Rule:
    """Reductions with an optional second input, the lengths: the gradient operator reads it where it is there."""

    def rule(maker: Maker) -> list[GradientOp]:
        inputs = [maker.GO(0), maker.I(0)]
        if reads_output:
            inputs.append(maker.O(0))
        return [maker.make(type, [*inputs, *maker.op.inputs[1:2]], [maker.GI(0)])]

    return rule


operator(
    "ReduceFrontSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceFrontSumGradient")
)
operator("ReduceFrontSumGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceFrontMean",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceFrontMeanGradient"),
)
operator("ReduceFrontMeanGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceFrontMax",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceFrontMaxGradient", reads_output=True),
)
operator("ReduceFrontMaxGradient", inputs=(3, 4), outputs=1)
operator(
    "ReduceBackSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceBackSumGradient")
)
operator("ReduceBackSumGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceBackMean", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceBackMeanGradient")
)
operator("ReduceBackMeanGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceBackMax",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceBackMaxGradient", reads_output=True),
)
operator("ReduceBackMaxGradient", inputs=(3, 4), outputs=1)


def _front(shape: tuple[int, ...], num_reduce_dim: int, is_front: bool) -> tuple[int, int, tuple[int, ...]]:
    """How many elements are reduced to one, to how many, and their shape."""
    require(0 <= num_reduce_dim <= len(shape), f"num_reduce_dim must lie between 0 and {len(shape)}")
    split = num_reduce_dim if is_front else len(shape) - num_reduce_dim
    reduced, rest = (shape[:split], shape[split:]) if is_front else (shape[split:], shape[:split])
    return prod(reduced), prod(rest), rest


def _counted(xp: Any, lengths: Array | None, count: int, rest: int, num_reduce_dim: int) -> tuple[Array, Array] | None:
    """Which elements count, as (count, rest), and how many of each column; None where all do."""
    if lengths is None:
        return None
    expect("int32", lengths)
    require(num_reduce_dim == 1, "with lengths there must be one dimension to reduce")
    require(lengths.size == rest, f"there must be {rest} lengths, not {lengths.size}")
    require(bool(((lengths >= 0) & (lengths <= count)).all()), f"lengths must lie between 0 and {count}")
    return xp.arange(count).reshape(-1, 1) < lengths.reshape(1, -1), lengths.reshape(-1)


def _columns(x: Array, count: int, rest: int, is_front: bool) -> Array:
    """`x` as a matrix whose columns are reduced."""
    return x.reshape(count, rest) if is_front else x.reshape(rest, count).T


@kernel("ReduceFrontSum", "ReduceFrontMean", "ReduceBackSum", "ReduceBackMean")
@only(*NUMBERS, at=[0])
def reduce_dims(xp: Any, x: Array, lengths: Array | None = None, *, ctx: Context, num_reduce_dim: int = 1) -> Array:
    """A length of 0 still takes in the first element, as upstream does."""
    is_front = "Front" in ctx.op.type
    count, rest, shape = _front(x.shape, num_reduce_dim, is_front)
    columns = _columns(x, count, rest, is_front)
    counted = _counted(xp, lengths, count, rest, num_reduce_dim)
    if counted is not None:
        mask = counted[0]
        mask[:1] = True
        columns = xp.where(mask, columns, xp.zeros_like(columns))
    total = xp.sum(columns, axis=0, dtype=x.dtype)
    if "Mean" in ctx.op.type and count:
        total = _share(xp, total, count if counted is None else counted[1])
    return total.reshape(shape)


def _share(xp: Any, x: Array, count: Any) -> Array:
    """`x` over a count, in the dtype of `x`; integers towards zero."""
    shared = x / count
    return (xp.trunc(shared) if x.dtype.kind == "i" else shared).astype(x.dtype)


@kernel("ReduceFrontSumGradient", "ReduceFrontMeanGradient", "ReduceBackSumGradient", "ReduceBackMeanGradient")
@only(*NUMBERS, at=[0])
def reduce_dims_gradient(
    xp: Any, dy: Array, x: Array, lengths: Array | None = None, *, ctx: Context, num_reduce_dim: int = 1
) -> Array:
    """`x` is the input, or (in older nets) its shape."""
    is_front = "Front" in ctx.op.type
    shape = tuple(x.tolist()) if x.ndim == 1 and x.dtype.kind == "i" and x.dtype.itemsize == 8 else x.shape
    count, rest, _ = _front(shape, num_reduce_dim, is_front)
    require(dy.size == rest, f"the gradient must have {rest} elements, but its shape is {dy.shape}")
    counted = _counted(xp, lengths, count, rest, num_reduce_dim)
    if "Mean" in ctx.op.type and count:
        dy = _share(xp, dy.reshape(-1), count if counted is None else counted[1])
    dx = xp.broadcast_to(dy.reshape(1, rest), (count, rest))
    if counted is not None:
        dx = xp.where(counted[0], dx, xp.zeros_like(dx))
    return (dx if is_front else dx.T).reshape(shape).copy()


@kernel("ReduceFrontMax", "ReduceBackMax")
@only("float32", at=[0])
def reduce_dims_max(xp: Any, x: Array, lengths: Array | None = None, *, ctx: Context, num_reduce_dim: int = 1) -> Array:
    """NaN is skipped unless it comes first; a length of 0 takes in the first element."""
    is_front = "Front" in ctx.op.type
    count, rest, shape = _front(x.shape, num_reduce_dim, is_front)
    if count == 0:
        return xp.zeros(shape, x.dtype)
    columns = _columns(x, count, rest, is_front)
    left_out = xp.isnan(columns)
    counted = _counted(xp, lengths, count, rest, num_reduce_dim)
    if counted is not None:
        left_out |= ~counted[0]
    left_out[:1] = False
    return xp.max(xp.where(left_out, -xp.inf, columns), axis=0).astype(x.dtype).reshape(shape)


@kernel("ReduceFrontMaxGradient", "ReduceBackMaxGradient")
@only("float32", at=[0, 1, 2])
def reduce_dims_max_gradient(
    xp: Any,
    dy: Array,
    x: Array,
    y: Array,
    lengths: Array | None = None,
    *,
    ctx: Context,
    num_reduce_dim: int = 1,
) -> Array:
    """Every element that ties gets the whole gradient."""
    is_front = "Front" in ctx.op.type
    count, rest, _ = _front(x.shape, num_reduce_dim, is_front)
    require(dy.size == y.size == rest, f"the output and its gradient must have {rest} elements")
    hit = _columns(x, count, rest, is_front) == y.reshape(1, rest)
    counted = _counted(xp, lengths, count, rest, num_reduce_dim)
    if counted is not None:
        hit = hit & counted[0]
    dx = xp.where(hit, dy.reshape(1, rest), 0)
    return (dx if is_front else dx.T).reshape(x.shape)


# Over one dimension, or over everything.


def front_weighted_sum_rule(maker: Maker) -> list[GradientOp]:
    """The data's shape goes through a blob of its own; the weights get no gradient, whatever `grad_on_weights` says."""
    shape = f"_{maker.O(0)}_dims"
    return [
        maker.make("Shape", [maker.I(0)], [shape]),
        maker.make("ReduceFrontWeightedSumGradient", [maker.I(1), maker.GO(0), shape], [maker.GI(0)]),
    ]


operator("ReduceFrontWeightedSum", inputs=2, outputs=1, args="grad_on_weights", gradient=front_weighted_sum_rule)
operator("ReduceFrontWeightedSumGradient", inputs=3, outputs=1)
operator("ReduceTailSum", inputs=1, outputs=1)
operator("RowwiseMax", inputs=1, outputs=1, gradient=emit("RowwiseMaxGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("RowwiseMaxGradient", inputs=3, outputs=1)
operator("ColwiseMax", inputs=1, outputs=1, gradient=emit("ColwiseMaxGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("ColwiseMaxGradient")
operator("ColumnMaxGradient", inputs=3, outputs=1, runs=False)
operator("SumElements", inputs=1, outputs=1, args="average", gradient=from_input("SumElementsGradient"))
operator("SumElementsGradient", inputs=2, outputs=1)
operator("SumElementsInt", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("SumSqrElements", inputs=1, outputs=1, args="average")
operator("AveragedLoss", inputs=1, outputs=1, gradient=from_input("AveragedLossGradient"))
operator("AveragedLossGradient", inputs=2, outputs=1)
operator("LpNorm", inputs=1, outputs=1, args="p average", gradient=from_input("LpNormGradient"))
operator("LpNormGradient", inputs=2, outputs=1, args="p average")
operator("BatchMoments", inputs=1, outputs=2, gradient=emit("BatchMomentsGradient", [GO(0), GO(1), I(0)], [GI(0)]))
operator("BatchMomentsGradient", inputs=3, outputs=1)
operator("IntegralImage", inputs=1, outputs=1, gradient=from_input("IntegralImageGradient"))
operator("IntegralImageGradient", inputs=2, outputs=1)


@kernel("ReduceFrontWeightedSum")
@only("float32")
def reduce_front_weighted_sum(xp: Any, x: Array, weights: Array) -> Array:
    require(x.ndim > 0 and weights.shape == x.shape[:1], f"there must be one weight for each row of {x.shape}")
    return xp.sum(x * weights.reshape(-1, *[1] * (x.ndim - 1)), axis=0)


@kernel("ReduceFrontWeightedSumGradient")
@only("float32", at=[0, 1])
def reduce_front_weighted_sum_gradient(xp: Any, weights: Array, dy: Array, shape: Array) -> Array:
    expect("int64", shape)
    wanted = tuple(shape.reshape(-1).tolist())
    require(weights.shape == wanted[:1] and dy.shape == wanted[1:], f"weights and gradient do not go with {wanted}")
    return weights.reshape(-1, *[1] * dy.ndim) * dy


@kernel("ReduceTailSum")
@only("float32")
def reduce_tail_sum(xp: Any, x: Array) -> Array:
    return xp.sum(as_matrix(x, 1), axis=1) if x.ndim > 1 else x.copy()


def _require_matrices(x: Array, axis: int, *reduced: Array) -> None:
    require(x.ndim == 3, f"the input must have three dimensions, not {x.ndim}")
    require(x.shape[axis] > 0, f"there is nothing along axis {axis}")
    for each in reduced:
        wanted = x.shape[:axis] + x.shape[axis + 1 :]
        require(each.shape == wanted, f"the output and its gradient must have the shape {wanted}, not {each.shape}")


@kernel("RowwiseMax")
@only("float32")
def rowwise_max(xp: Any, x: Array) -> Array:
    """Of a batch of matrices, the maximum of each row."""
    _require_matrices(x, 2)
    return xp.max(x, axis=2)


@kernel("RowwiseMaxGradient")
@only("float32")
def rowwise_max_gradient(xp: Any, x: Array, y: Array, dy: Array) -> Array:
    _require_matrices(x, 2, y, dy)
    return xp.where(x == y[:, :, None], dy[:, :, None], 0)


@kernel("ColwiseMax")
@only("float32")
def colwise_max(xp: Any, x: Array) -> Array:
    """Of a batch of matrices, the maximum of each column."""
    _require_matrices(x, 1)
    return xp.max(x, axis=1)


@kernel("ColwiseMaxGradient")
@only("float32")
def colwise_max_gradient(xp: Any, x: Array, y: Array, dy: Array) -> Array:
    _require_matrices(x, 1, y, dy)
    return xp.where(x == y[:, None, :], dy[:, None, :], 0)


@kernel("SumElements")
@only("float32")
def sum_elements(xp: Any, x: Array, *, average: bool = False) -> Array:
    """A number of rank 0; the average of nothing is 0."""
    return x.sum().reshape(()) / (max(1, x.size) if average else 1)


@kernel("SumElementsGradient")
@only("float32")
def sum_elements_gradient(xp: Any, x: Array, dy: Array, *, average: bool = False) -> Array:
    require(dy.size == 1, "the gradient must be a single number")
    dx = xp.empty(x.shape, dy.dtype)
    dx[...] = dy.reshape(()) / (max(1, x.size) if average else 1)
    return dx


@kernel("SumElementsInt")
@only("int32")
def sum_elements_int(xp: Any, x: Array) -> Array:
    return xp.sum(x, dtype=x.dtype).reshape(())


@kernel("SumSqrElements")
@only("float32")
def sum_sqr_elements(xp: Any, x: Array, *, average: bool = False) -> Array:
    return sum_elements(xp, x * x, average=average)


@kernel("AveragedLoss")
@only("float32")
def averaged_loss(xp: Any, x: Array) -> Array:
    return sum_elements(xp, x, average=True)


@kernel("AveragedLossGradient")
@only("float32")
def averaged_loss_gradient(xp: Any, x: Array, dy: Array) -> Array:
    return sum_elements_gradient(xp, x, dy, average=True)


@kernel("LpNorm")
@only("float32")
def lp_norm(xp: Any, x: Array, *, p: int = 2, average: bool = False) -> Array:
    """Of shape (1,): the sum of absolute values (p=1), or of squares (p=2), from which no root is taken."""
    require(p in {1, 2}, f"p must be 1 or 2, not {p}")
    return sum_elements(xp, xp.abs(x) if p == 1 else x * x, average=average).reshape(1)


@kernel("LpNormGradient")
@only("float32")
def lp_norm_gradient(xp: Any, x: Array, dy: Array, *, p: int = 2, average: bool = False) -> Array:
    require(p in {1, 2}, f"p must be 1 or 2, not {p}")
    slope = 2 * x if p == 2 else (x > 1e-12).astype(x.dtype) - (x < -1e-12).astype(x.dtype)
    return slope * sum_elements_gradient(xp, x, dy, average=average)


@kernel("BatchMoments")
@only("float32")
def batch_moments(xp: Any, x: Array, *, order: str = "NCHW") -> tuple[Array, Array]:
    """Means of the elements of each channel, and of their squares."""
    others, _, _ = _channels(x, order)
    return xp.mean(x, axis=others), xp.mean(x * x, axis=others)


@kernel("BatchMomentsGradient")
@only("float32")
def batch_moments_gradient(xp: Any, d_mean: Array, d_square: Array, x: Array, *, order: str = "NCHW") -> Array:
    _, shape, count = _channels(x, order)
    channels = x.shape[1 if order == "NCHW" else -1]
    require(d_mean.size == d_square.size == channels, f"there must be a gradient for each of {channels} channels")
    return (d_mean.reshape(shape) + 2 * x * d_square.reshape(shape)) / count


def _channels(x: Array, order: str) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """All dimensions but the channels; the shape of one number a channel; how many elements a channel has."""
    require(x.ndim > 1, "the input must have at least two dimensions")
    channel = 1 if order == "NCHW" else x.ndim - 1
    others = tuple(i for i in range(x.ndim) if i != channel)
    shape = tuple(-1 if i == channel else 1 for i in range(x.ndim))
    return others, shape, prod(x.shape[i] for i in others)


@kernel("IntegralImage")
@only("float32")
def integral_image(xp: Any, x: Array) -> Array:
    """The sum of all pixels above and left of each corner of each pixel: one row and one column more."""
    require(x.ndim == 4, f"the input must have four dimensions, not {x.ndim}")
    summed = xp.zeros((*x.shape[:2], x.shape[2] + 1, x.shape[3] + 1), x.dtype)
    summed[:, :, 1:, 1:] = xp.cumsum(xp.cumsum(x, axis=3), axis=2)
    return summed


@kernel("IntegralImageGradient")
@only("float32")
def integral_image_gradient(xp: Any, x: Array, dy: Array) -> Array:
    """What upstream computes, sums from the top left; the true gradient would sum from the bottom right."""
    require(x.ndim == 4, f"the input must have four dimensions, not {x.ndim}")
    wanted = (*x.shape[:2], x.shape[2] + 1, x.shape[3] + 1)
    require(dy.shape == wanted, f"the gradient must have the shape {wanted}, not {dy.shape}")
    return xp.cumsum(xp.cumsum(dy[:, :, :-1, :-1], axis=3), axis=2)
