"""Dropout and sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import only, require, require_same_shape
from gradviz.ops._rows import lengths_of, starts_of
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _dropout_gradient(m: Maker) -> list[GradientOp]:
    mask = [] if m.args.flag("is_test") else [m.O(1)]
    return [m.make("DropoutGrad", [m.GO(0), *mask], [m.GI(0)])]


operator(
    "Dropout",
    inputs=1,
    outputs=(1, 2),
    inplace=[(0, 0)],
    args="ratio is_test",
    required="is_test",
    gradient=_dropout_gradient,
)
operator("DropoutGrad", inputs=(1, 2), outputs=1, inplace=[(0, 0)])
operator("WeightedSample", inputs=(1, 2), outputs=(1, 2), gradient=SHOULD_NOT)
operator("WeightedMultiSampling", inputs=(1, 2), outputs=1, args="num_samples")
operator("WeightedMultiSample", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "ReservoirSampling",
    arities=[(4, 2), (7, 4)],
    enforced=[(0, 0), (1, 1), (5, 2), (6, 3)],
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator("SparseDropoutWithReplacement", inputs=2, arities=[(2, 2)], args="ratio replacement_value", gradient=NONE)
operator("SortAndShuffle", inputs=(1, MANY), outputs=1)

no_kernel("it samples a stream of data sets into a reservoir under a lock", "ReservoirSampling")
no_kernel("it reads the cursor of a data set, which is no tensor", "SortAndShuffle")


@kernel("Dropout")
@only("float32")
def dropout(xp: Any, x: Array, *, ctx: Context, is_test: int, ratio: float = 0.5) -> tuple[Array, Any]:
    """In training what is kept is scaled up, and a mask says what was; in a test all passes and there is no mask."""
    require(0 <= ratio < 1, f"ratio {ratio} is not at least 0 and below 1")
    if is_test:
        return x, None
    mask = ctx.random.random(x.shape) >= ratio
    return _kept(xp, x, mask, ratio), mask


@kernel("DropoutGrad")
@only("float32", at=[0])
def dropout_gradient(xp: Any, dy: Array, mask: Array = None, *, is_test: int = 0, ratio: float = 0.5) -> Array:
    require(0 <= ratio < 1, f"ratio {ratio} is not at least 0 and below 1")
    if is_test:
        return dy
    require(mask is not None, "in training a mask is wanted")
    expect("bool", mask)
    require_same_shape(dy, mask)
    return _kept(xp, dy, mask, ratio)


def _kept(xp: Any, x: Array, mask: Array, ratio: float) -> Array:
    """A product, as upstream computes it: infinity times 0 is NaN."""
    return x * mask * x.dtype.type(1 / (1 - ratio))


@kernel("WeightedSample")
def weighted_sample(xp: Any, weights: Array, values: Array = None, *, ctx: Context) -> tuple[Array, ...]:
    """One column drawn for each row, as often as its weight says; and the value that stands there."""
    expect("float32", weights)
    require(weights.ndim == 2, f"a matrix of weights is wanted, not rank {weights.ndim}")
    if values is not None:
        expect("float32", values)
        require_same_shape(weights, values)
    if weights.size == 0:
        return xp.zeros(0, dtype=xp.int32), xp.zeros(0, dtype=weights.dtype)
    reached = xp.cumsum(weights, axis=1)
    drawn = (1 - ctx.random.random((weights.shape[0], 1))) * reached[:, -1:]
    column = xp.minimum((reached < drawn).sum(axis=1, keepdims=True), weights.shape[1] - 1)
    chosen = () if values is None else (xp.take_along_axis(values, column, axis=1),)
    return column.astype(xp.int32), *chosen


@kernel("WeightedMultiSampling")
def weighted_multi_sampling(
    xp: Any, cumulative: Array, like: Array = None, *, ctx: Context, num_samples: int | None = None
) -> Array:
    """Samples from a distribution that is given as cumulative sums; how many, an argument or a shape says."""
    expect("float32", cumulative)
    require(cumulative.ndim == 1, f"cumulative sums are a vector, not of rank {cumulative.ndim}")
    require(like is None or num_samples is None, "the number of samples is given as an input and as an argument")
    shape = (num_samples or 0,) if like is None else like.shape
    require(min(shape, default=0) >= 0, f"num_samples {num_samples} is negative")
    if cumulative.size == 0:
        return xp.zeros(0, dtype=xp.int32)
    drawn = (1 - ctx.random.random(shape)) * cumulative[-1]
    return xp.searchsorted(cumulative, drawn.astype(cumulative.dtype)).astype(xp.int32)


@kernel("SparseDropoutWithReplacement")
def sparse_dropout_with_replacement(
    xp: Any, ids: Array, lengths: Array, *, ctx: Context, ratio: float = 0.0, replacement_value: int = 0
) -> tuple[Array, Array]:
    """With probability `ratio` a whole segment gives way to one id."""
    expect("int64", ids)
    require(0 <= ratio <= 1, f"ratio {ratio} is not within 0 and 1")
    require(ids.ndim == 1, f"ids are a vector, not of rank {ids.ndim}")
    sizes = lengths_of(lengths, ids.size)
    dropped = (ctx.random.random(len(sizes)) < ratio).tolist()
    starts = starts_of(sizes)
    one = xp.full(1, replacement_value, dtype=ids.dtype)
    parts = [one if gone else ids[starts[i] : starts[i + 1]] for i, gone in enumerate(dropped)]
    left = [1 if gone else size for gone, size in zip(dropped, sizes, strict=True)]
    return xp.concatenate([ids[:0], *parts]), xp.asarray(left, dtype=xp.int32)
