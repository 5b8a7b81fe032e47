"""Reductions over segments, given by lengths, ids or ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops._segments import (
    Segmentation,
    by_ids,
    by_lengths,
    by_sorted_ids,
    column,
    largest,
    log_mean_exp,
    log_sum_exp,
    mean,
    sizes,
    total,
)
from gradviz.ops.dtypes import expect
from gradviz.ops.records import GradientSlice
from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GI_V, GO, I, Maker, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.ops._segments import Fold
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Rule


def at_indices(indices: int, rows: Rule) -> Rule:
    """The data gets a sparse gradient: what `rows` makes first are its values, input `indices` its indices."""

    def rule(m: Maker) -> list[GradientOp]:
        made = rows(m)
        m.g_input[0] = GradientSlice(m.I(indices), made[0].outputs[0])
        return made

    return rule


def by_weights(plain: Rule, with_weights: Rule | None = None) -> Rule:
    """Weights are constants to `plain`; `grad_on_weights` asks for `with_weights`, which segment ids do not have."""

    def rule(m: Maker) -> list[GradientOp]:
        if with_weights is not None:
            m.GO(0)  # upstream looks at this first where it has both rules, at the argument where it has one
        if not m.args.flag("grad_on_weights"):
            return plain(m)
        if with_weights is None:
            m.refuse("the argument grad_on_weights is implemented for lengths only, not for segment ids")
        return with_weights(m)

    return rule


operator(
    "LengthsSum",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsIndicesInGradientSumGradient", [GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsIndicesInGradientSumGradient", inputs=3, outputs=1)
operator("LengthsSumGradient", inputs=2, outputs=1)
operator(
    "LengthsMean",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsIndicesInGradientMeanGradient", [GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsIndicesInGradientMeanGradient", inputs=3, outputs=1)
operator("LengthsMeanGradient", inputs=2, outputs=1)
operator(
    "LengthsMax",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsMaxWithMainInputAndForwardOutputGradient", [O(0), GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsMaxWithMainInputAndForwardOutputGradient", inputs=4, outputs=(1, MANY))
operator(
    "LengthsWeightedSum",
    inputs=3,
    outputs=1,
    args="grad_on_weights",
    gradient=by_weights(
        emit("LengthsWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)]),
        with_weights=emit("LengthsWeightedSumWithMainInputGradient", [I(1), GO(0), I(2), I(0)], [GI(0), GI(1)]),
    ),
)
operator("LengthsWeightedSumGradient", inputs=3, outputs=1)
operator("LengthsWeightedSumWithMainInputGradient", inputs=4, outputs=(1, MANY))
operator(
    "LengthsTopK", inputs=2, outputs=2, args="k", gradient=emit("LengthsTopKGradient", [I(1), O(1), GO(0)], [GI(0)])
)
operator("LengthsTopKGradient", inputs=3, outputs=1)
operator("LengthsSplit", inputs=(1, 2), outputs=1, args="n_split", gradient=NOT_IMPLEMENTED)
operator("LengthsGather", inputs=3, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToSegmentIds", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToShape", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToRanges", inputs=1, outputs=1)
operator("LengthsToWeights", inputs=1, outputs=1, args="power")
operator("LengthsToOffsets", inputs=1, outputs=1)
operator("SegmentIdsToLengths", inputs=(1, 2), outputs=1, gradient=SHOULD_NOT)
operator("SegmentIdsToRanges", inputs=(1, 2), outputs=1, gradient=SHOULD_NOT)
operator("SegmentIdsToLengthWeights", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "SparseLengthsSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SparseLengthsIndicesInGradientSumGradient", [GO(0), I(2), I(1)], [GI_V(0)])),
)
operator("SparseLengthsIndicesInGradientSumGradient", inputs=3, outputs=1)
operator("SparseLengthsSumGradient", inputs=2, outputs=1)
operator(
    "SparseLengthsMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SparseLengthsIndicesInGradientMeanGradient", [GO(0), I(2), I(1)], [GI_V(0)])),
)
operator("SparseLengthsIndicesInGradientMeanGradient", inputs=3, outputs=1)
operator("SparseLengthsMeanGradient", inputs=2, outputs=1)
operator("SparseLengthsMax", checked=False)
operator(
    "SparseLengthsWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(
        2,
        by_weights(
            emit("SparseLengthsIndicesInGradientWeightedSumGradient", [I(1), GO(0), I(3), I(2)], [GI_V(0)]),
            with_weights=emit(
                "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient",
                [I(1), GO(0), I(3), I(0), I(2)],
                [GI_V(0), GI(1)],
            ),
        ),
    ),
)
operator("SparseLengthsIndicesInGradientWeightedSumGradient", inputs=4, outputs=1)
operator("SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient", inputs=5, outputs=2)
operator("SparseLengthsWeightedSumGradient", inputs=3, outputs=1)
operator("SparseLengthsPositionalWeightedSum", inputs=4, outputs=1)
operator("SortedSegmentSum", inputs=2, outputs=1, gradient=emit("SortedSegmentSumGradient", [GO(0), I(1)], [GI(0)]))
operator("SortedSegmentSumGradient", inputs=2, outputs=1)
operator("SortedSegmentMean", inputs=2, outputs=1, gradient=emit("SortedSegmentMeanGradient", [GO(0), I(1)], [GI(0)]))
operator("SortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SortedSegmentWeightedSum",
    inputs=3,
    outputs=1,
    args="grad_on_weights",
    gradient=by_weights(emit("SortedSegmentWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)])),
)
operator("SortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "SortedSegmentRangeSum",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeSumGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeSumGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeMean",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeMeanGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeMeanGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeMax",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeMaxGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeMaxGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeLogSumExp",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeLogSumExpGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeLogSumExpGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeLogMeanExp",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeLogMeanExpGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeLogMeanExpGradient", inputs=4, outputs=1)
operator(
    "SparseSortedSegmentSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SortedSegmentSumGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseSortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "SparseSortedSegmentMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SortedSegmentMeanGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseSortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SparseSortedSegmentWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(2, by_weights(emit("SortedSegmentWeightedSumGradient", [I(1), GO(0), I(3)], [GI_V(0)]))),
)
operator("SparseSortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "UnsortedSegmentSum",
    inputs=2,
    outputs=1,
    args="num_segments",
    gradient=emit("UnsortedSegmentSumGradient", [GO(0), I(1)], [GI(0)]),
)
operator("UnsortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "UnsortedSegmentMean",
    inputs=2,
    outputs=1,
    args="num_segments",
    gradient=emit("UnsortedSegmentMeanGradient", [GO(0), I(1)], [GI(0)]),
)
operator("UnsortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "UnsortedSegmentWeightedSum",
    inputs=3,
    outputs=1,
    args="num_segments grad_on_weights",
    gradient=by_weights(emit("UnsortedSegmentWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)])),
)
operator("UnsortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "SparseUnsortedSegmentSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("UnsortedSegmentSumGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseUnsortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "SparseUnsortedSegmentMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("UnsortedSegmentMeanGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseUnsortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SparseUnsortedSegmentWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(2, by_weights(emit("UnsortedSegmentWeightedSumGradient", [I(1), GO(0), I(3)], [GI_V(0)]))),
)
operator("SparseUnsortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator("GatherRanges", inputs=2, outputs=2)
operator("GatherRangesOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "GatherRangesToDense",
    inputs=(2, 3),
    outputs=(1, MANY),
    args="lengths min_observation max_mismatched_ratio max_empty_ratio",
    gradient=NONE,
)
operator("SparseLengthsWeightedSumWithMainInputGradient", inputs=5, outputs=(1, MANY))


def _rows(data: Any, indices: Any = None) -> Any:
    """The rows to reduce: all of the data, or those that indices pick; half floats become floats there."""
    if indices is None:
        expect("float32", data)
        require(data.ndim > 0, "the data must have rows")
        return data
    expect("float32 float16", data)
    expect("int32 int64", indices)
    require(indices.ndim == 1, "the indices must be a list")
    inside = bool(((indices >= 0) & (indices < data.shape[0])).all())
    require(inside, f"an index is outside of the {data.shape[0]} rows")
    picked = data[indices]
    return picked.astype("float32") if picked.dtype.itemsize == 2 else picked


def _weigh(rows: Any, weights: Any) -> Any:
    expect("float32", weights)
    require(weights.shape == rows.shape[:1], f"there are {weights.size} weights for {rows.shape[0]} rows")
    return rows * column(weights, rows)


def reducing(
    segments: Callable[..., Segmentation], fold: Fold, weighted: bool = False, sparse: bool = False
) -> Callable[..., Any]:
    """A kernel over the inputs data, weights (if weighted), indices (if sparse), and what gives the segments."""

    def reduce(xp: Any, data: Any, *rest: Any, num_segments: int = -1) -> Any:
        rows = _rows(data, rest[int(weighted)] if sparse else None)
        if weighted:
            rows = _weigh(rows, rest[0])
        return fold(xp, rows, segments(xp, rest[-1], rows.shape[0], num_segments))

    return reduce


def _spread(xp: Any, segments: Callable[..., Segmentation], dy: Any, key: Any) -> tuple[Any, Segmentation]:
    """Each row gets its segment's gradient."""
    expect("float32", dy)
    found = segments(xp, key, None, dy.shape[0])
    require(found[1] == dy.shape[0], f"there are {dy.shape[0]} gradients for {found[1]} segments")
    return dy[found[0]], found


def sum_gradient(segments: Callable[..., Segmentation]) -> Callable[..., Any]:
    """A kernel over the inputs gradient, what gives the segments, and maybe data or indices, which it needs not."""

    def gradient(xp: Any, dy: Any, key: Any, *_: Any) -> Any:
        return _spread(xp, segments, dy, key)[0]

    return gradient


def mean_gradient(segments: Callable[..., Segmentation]) -> Callable[..., Any]:
    """As `sum_gradient`, shared out among the segment's rows."""

    def gradient(xp: Any, dy: Any, key: Any, *_: Any) -> Any:
        rows, found = _spread(xp, segments, dy, key)
        return rows / column(sizes(xp, found)[found[0]].astype(rows.dtype), rows)

    return gradient


def weighted_sum_gradient(segments: Callable[..., Segmentation]) -> Callable[..., Any]:
    """A kernel over the inputs weights, gradient, what gives the segments, and maybe indices, which it needs not."""

    def gradient(xp: Any, weights: Any, dy: Any, key: Any, *_: Any) -> Any:
        return _weigh(_spread(xp, segments, dy, key)[0], weights)

    return gradient


for _name, _segments in (("Lengths", by_lengths), ("SortedSegment", by_sorted_ids), ("UnsortedSegment", by_ids)):
    for _sparse in (False, True):
        _prefix = f"Sparse{_name}" if _sparse else _name
        kernel(f"{_prefix}Sum")(reducing(_segments, total, sparse=_sparse))
        kernel(f"{_prefix}Mean")(reducing(_segments, mean, sparse=_sparse))
        kernel(f"{_prefix}WeightedSum")(reducing(_segments, total, weighted=True, sparse=_sparse))
        kernel(f"{_prefix}SumGradient")(sum_gradient(_segments))
        kernel(f"{_prefix}MeanGradient")(mean_gradient(_segments))
        kernel(f"{_prefix}WeightedSumGradient")(weighted_sum_gradient(_segments))

kernel("LengthsMax")(reducing(by_lengths, largest))
kernel("SparseLengthsMax")(reducing(by_lengths, largest, sparse=True))
kernel("SortedSegmentRangeSum")(reducing(by_sorted_ids, total))
kernel("SortedSegmentRangeMean")(reducing(by_sorted_ids, mean))
kernel("SortedSegmentRangeMax")(reducing(by_sorted_ids, largest))
kernel("SortedSegmentRangeLogSumExp")(reducing(by_sorted_ids, log_sum_exp))
kernel("SortedSegmentRangeLogMeanExp")(reducing(by_sorted_ids, log_mean_exp))
kernel("LengthsIndicesInGradientSumGradient", "SparseLengthsIndicesInGradientSumGradient")(sum_gradient(by_lengths))
kernel("LengthsIndicesInGradientMeanGradient", "SparseLengthsIndicesInGradientMeanGradient")(mean_gradient(by_lengths))
kernel("SparseLengthsIndicesInGradientWeightedSumGradient")(weighted_sum_gradient(by_lengths))


@kernel(
    "LengthsWeightedSumWithMainInputGradient",
    "SparseLengthsWeightedSumWithMainInputGradient",
    "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient",
)
def weighted_sum_gradients(
    xp: Any, weights: Any, dy: Any, lengths: Any, data: Any, indices: Any = None
) -> tuple[Any, Any]:
    """Gradients of the rows and of their weights."""
    spread, _ = _spread(xp, by_lengths, dy, lengths)
    rows = _rows(data, indices)
    require(rows.shape == spread.shape, f"the data must have the shape {spread.shape}, not {rows.shape}")
    return _weigh(spread, weights), (spread * rows).sum(axis=tuple(range(1, rows.ndim)))


@kernel("LengthsMaxWithMainInputAndForwardOutputGradient")
def lengths_max_gradient(xp: Any, y: Any, dy: Any, lengths: Any, x: Any) -> Any:
    """Every element that equals its segment's largest gets the whole gradient."""
    spread, found = _spread(xp, by_lengths, dy, lengths)
    return xp.where(_rows(x) == y[found.ids], spread, 0)


def _range_gradient(of: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(xp: Any, x: Any, y: Any, dy: Any, ids: Any) -> Any:
        """A kernel over the reduction's inputs, output and gradient."""
        spread, found = _spread(xp, by_sorted_ids, dy, ids)
        require(spread.shape == x.shape, f"the data must have the shape {spread.shape}, not {x.shape}")
        count = column(sizes(xp, found)[ids].astype(x.dtype), x)
        return of(xp, x, y[ids], spread, count)

    return gradient


kernel("SortedSegmentRangeSumGradient")(_range_gradient(lambda xp, x, y, dy, count: dy))
kernel("SortedSegmentRangeMeanGradient")(_range_gradient(lambda xp, x, y, dy, count: dy / count))
kernel("SortedSegmentRangeMaxGradient")(_range_gradient(lambda xp, x, y, dy, count: xp.where(x == y, dy, 0)))
kernel("SortedSegmentRangeLogSumExpGradient")(_range_gradient(lambda xp, x, y, dy, count: dy * xp.exp(x - y)))
kernel("SortedSegmentRangeLogMeanExpGradient")(_range_gradient(lambda xp, x, y, dy, count: dy * xp.exp(x - y) / count))


@kernel("SparseLengthsPositionalWeightedSum")
def sparse_lengths_positional_weighted_sum(xp: Any, data: Any, weights: Any, indices: Any, lengths: Any) -> Any:
    """As SparseLengthsWeightedSum, but the n-th row of every segment has the n-th weight."""
    expect("float32", weights)
    rows = _rows(data, indices)
    segments = by_lengths(xp, lengths, rows.shape[0])
    places = xp.arange(rows.shape[0]) - _starts(xp, lengths)[segments[0]]
    require(not places.size or int(places.max()) < weights.size, "a segment is longer than there are weights")
    return total(xp, _weigh(rows, weights[places]), segments)


def _starts(xp: Any, lengths: Any) -> Any:
    """Where each segment begins, as int64."""
    return xp.cumsum(lengths, dtype="int64") - lengths


@kernel("LengthsTopK")
def lengths_top_k(xp: Any, data: Any, lengths: Any, *, k: int) -> tuple[Any, Any]:
    """The k largest of each segment, and where in the segment they stood; 0 and -1 where it is shorter than k.

    Gives float32 and int32 of shape (segments, k).
    """
    expect("float32", data)
    require(data.ndim == 1 and k >= 1, "the data must be a list, and k at least 1")
    ids, count, _ = by_lengths(xp, lengths, data.shape[0])
    order = xp.argsort(-data, kind="stable")
    order = order[xp.argsort(ids[order], kind="stable")]
    rank = xp.arange(data.size) - _starts(xp, lengths)[ids]
    order, ids, rank = order[rank < k], ids[rank < k], rank[rank < k]
    values, indices = xp.zeros((count, k), dtype=data.dtype), xp.full((count, k), -1, dtype="int32")
    values[ids, rank] = data[order]
    indices[ids, rank] = order - _starts(xp, lengths)[ids]
    return values, indices


@kernel("LengthsTopKGradient")
def lengths_top_k_gradient(xp: Any, lengths: Any, indices: Any, dy: Any) -> Any:
    """The gradients of the k largest, back at their places; 0 elsewhere."""
    expect("float32", dy)
    expect("int32", lengths, indices)
    made = xp.zeros(int(lengths.sum()), dtype=dy.dtype)
    there = indices >= 0
    made[(indices + _starts(xp, lengths)[:, None])[there]] = dy[there]
    return made


@kernel("LengthsSplit")
def lengths_split(xp: Any, lengths: Any, count: Any = None, *, n_split: int = 0) -> Any:
    """Each length in `n_split` parts (argument or second input) as equal as can be, the larger ones first."""
    expect("int32", lengths)
    if count is not None:
        expect("int32", count)
        n_split = int(count.reshape(-1)[0])
    require(n_split > 0, "the number of parts must be positive")
    parts = xp.arange(n_split)
    return (lengths[:, None] // n_split + (parts < lengths[:, None] % n_split)).astype("int32").reshape(-1)


@kernel("LengthsGather")
def lengths_gather(xp: Any, items: Any, lengths: Any, indices: Any) -> Any:
    """The segments that indices pick, one after another."""
    expect("int32 int64", indices)
    by_lengths(xp, lengths, items.shape[0])
    picked = lengths[indices]
    ids = by_lengths(xp, picked).ids
    places = xp.arange(ids.size) - _starts(xp, picked)[ids] + _starts(xp, lengths)[indices][ids]
    return items[places]


@kernel("LengthsToSegmentIds")
def lengths_to_segment_ids(xp: Any, lengths: Any) -> Any:
    """Each segment's number as often as it is long, as int32."""
    return by_lengths(xp, lengths)[0].astype("int32")


@kernel("LengthsToShape")
def lengths_to_shape(xp: Any, lengths: Any) -> Any:
    """(number of segments, their length), which must be the same for all."""
    expect("int32", lengths)
    found = set(lengths.tolist())
    require(lengths.ndim == 1 and len(found) == 1, "all lengths must be equal")
    return xp.asarray([lengths.size, *found], dtype="int32")


@kernel("LengthsToRanges")
def lengths_to_ranges(xp: Any, lengths: Any) -> Any:
    """(start, length) of each segment, as int32 of shape (segments, 2)."""
    expect("int32", lengths)
    return xp.stack([_starts(xp, lengths), lengths], axis=1).astype("int32")


@kernel("LengthsToOffsets")
def lengths_to_offsets(xp: Any, lengths: Any, *, include_last_offset: int = 0) -> Any:
    """Where each segment begins, and, if asked for, where the last one ends."""
    expect("int32", lengths)
    ends = xp.concatenate([xp.zeros(1, dtype="int32"), xp.cumsum(lengths, dtype="int32")])
    return ends if include_last_offset else ends[:-1]


@kernel("LengthsToWeights")
def lengths_to_weights(xp: Any, lengths: Any, *, power: float = 0.5) -> Any:
    """For each row of a segment 1 / length ** power, as float32."""
    expect("int32 int64", lengths)
    ids = by_lengths(xp, lengths.astype("int32")).ids
    return (1 / lengths.astype("float64") ** power).astype("float32")[ids]


def _sorted_sizes(xp: Any, ids: Any, like: Any) -> Any:
    """Rows of each segment; ids are sorted but may leave numbers out. There are as many segments as `like` has rows."""
    expect("int32 int64", ids)
    require(ids.ndim == 1 and bool((ids[1:] >= ids[:-1]).all()), "the segment ids must be a sorted list")
    count = int(ids[-1]) + 1 if ids.size else 0
    if like is not None:
        require(count <= like.shape[0], f"there are {count} segments for {like.shape[0]} rows")
        count = like.shape[0]
    return sizes(xp, Segmentation(ids, count)).astype("int32")


@kernel("SegmentIdsToLengths")
def segment_ids_to_lengths(xp: Any, ids: Any, like: Any = None) -> Any:
    """How long each segment is, as int32; a second input says how many segments there are by its number of rows."""
    return _sorted_sizes(xp, ids, like)


@kernel("SegmentIdsToRanges")
def segment_ids_to_ranges(xp: Any, ids: Any, like: Any = None) -> Any:
    """(start, length) of each segment, as int32 of shape (segments, 2)."""
    return lengths_to_ranges(xp, _sorted_sizes(xp, ids, like))


def _pick_ranges(xp: Any, data: Any, ranges: Any) -> Any:
    """The elements of ranges (start, length), one after another."""
    starts, lengths = ranges[:, 0], ranges[:, 1].astype("int32")
    inside = bool(((starts >= 0) & (lengths >= 0) & (starts + lengths <= data.shape[0])).all())
    require(inside, f"a range leaves the {data.shape[0]} elements of the data")
    ids = by_lengths(xp, lengths).ids
    return data[xp.arange(ids.size) - _starts(xp, lengths)[ids] + starts[ids]]


@kernel("GatherRanges")
def gather_ranges(xp: Any, data: Any, ranges: Any) -> tuple[Any, Any]:
    """The data in ranges (start, length) of shape (examples, ranges, 2), and how much each example got, as int32."""
    expect("int32 int64", ranges)
    require(data.ndim == 1, "the data must be a list")
    require(ranges.ndim == 3 and ranges.shape[2] == 2, "ranges must have the shape (examples, ranges, 2)")
    return _pick_ranges(xp, data, ranges.reshape(-1, 2)), ranges[:, :, 1].sum(axis=1).astype("int32")


@kernel("GatherRangesToDense")
def gather_ranges_to_dense(
    xp: Any,
    data: Any,
    ranges: Any,
    key: Any = None,
    *,
    ctx: Context,
    lengths: Sequence[int] = (),
    min_observation: int = 10000,
    max_mismatched_ratio: float = 0.01,
    max_empty_ratio: float = 1.0,
) -> tuple[Any, ...]:
    """For each of the lengths a matrix of the ranges that long; zeros where a range is empty or of another length.

    With keys the elements of a range come in the order of their keys. Too many ranges that do not fit are refused.
    """
    expect("int32 int64", ranges)
    require(len(lengths) == ctx.outputs, f"there are {len(lengths)} lengths for {ctx.outputs} outputs")
    require(min(lengths, default=1) > 0, "the lengths must be positive")
    require(data.ndim == 1 and ranges.ndim == 3, "the data must be a list, the ranges (examples, outputs, 2)")
    require(ranges.shape[1:] == (len(lengths), 2), f"the ranges must have the shape (examples, {len(lengths)}, 2)")
    seen = ctx.state.setdefault("seen", {"all": 0, "mismatched": [0] * len(lengths), "empty": [0] * len(lengths)})
    seen["all"] += ranges.shape[0]
    allowed = max(seen["all"], min_observation)
    made = []
    for i, length in enumerate(lengths):
        fits, empty = ranges[:, i, 1] == length, ranges[:, i, 1] == 0
        seen["empty"][i] += int(empty.sum())
        seen["mismatched"][i] += int((~fits & ~empty).sum())
        for ratio, what in ((max_mismatched_ratio, "mismatched"), (max_empty_ratio, "empty")):
            require(ratio >= 1 or seen[what][i] <= allowed * ratio, f"too many {what} ranges for output {i}")
        made.append(_dense(xp, data, ranges[fits, i], fits, length, key))
    return tuple(made)


def _dense(xp: Any, data: Any, ranges: Any, fits: Any, length: int, key: Any) -> Any:
    rows = _pick_ranges(xp, data, ranges).reshape(-1, length)
    if key is not None:
        expect("int64", key)
        order = xp.argsort(_pick_ranges(xp, key, ranges).reshape(-1, length), axis=1, kind="stable")
        rows = xp.take_along_axis(rows, order, axis=1)
    made = xp.zeros((fits.size, length), dtype=data.dtype)
    made[fits] = rows
    return made
