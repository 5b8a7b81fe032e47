"""Ranks, order statistics and histograms."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import as_matrix
from gradviz.ops._checks import NUMBERS, axis_of, only, require, require_indices
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ops.context import Context

Array = Any

# The largest elements, and where they are.

operator("ArgMax", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("ArgMin", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("TopK", inputs=(1, 2), outputs=(2, 3), gradient=emit("TopKGradient", [GO(0), O(1), I(0)], [GI(0)]))
operator("TopKGradient", inputs=3, outputs=1)
operator("FlexibleTopK", inputs=2, outputs=2, gradient=emit("FlexibleTopKGradient", [I(0), I(1), GO(0), O(1)], [GI(0)]))
operator("FlexibleTopKGradient", inputs=4, outputs=1)


@kernel("ArgMax")
@only(*NUMBERS)
def arg_max(xp: Any, x: Array, *, axis: int = -1, keepdims: bool = True) -> Array:
    """The first of those that tie; NaN is skipped unless it comes first."""
    return _first(xp, xp.argmax, x, -xp.inf, axis, keepdims)


@kernel("ArgMin")
@only(*NUMBERS)
def arg_min(xp: Any, x: Array, *, axis: int = -1, keepdims: bool = True) -> Array:
    """The first of those that tie; NaN is skipped unless it comes first."""
    return _first(xp, xp.argmin, x, xp.inf, axis, keepdims)


def _first(xp: Any, search: Any, x: Array, worst: float, axis: int, keepdims: bool) -> Array:
    axis = axis_of(axis, x.ndim)
    require(x.shape[axis] > 0, f"there is nothing along axis {axis}")
    if x.dtype.kind == "f":
        missing = xp.isnan(xp.moveaxis(x, axis, 0))
        missing[:1] = False
        x = xp.where(xp.moveaxis(missing, 0, axis), worst, x)
    found = search(x, axis=axis).astype("int64")
    return xp.expand_dims(found, axis) if keepdims else found


@kernel("TopK")
@only("float32", at=[0])
def top_k(xp: Any, x: Array, k_input: Array | None = None, *, k: int = -1, axis: int = -1) -> tuple[Array, ...]:
    """Values, their indices along `axis`, and those in the flat input.

    Of those that tie, the first come first. Where fewer than k are there, values are filled up with 0, indices with -1.
    """
    axis = _last_or_from_the_front(axis, x.ndim)
    if k_input is not None:
        expect("int32 int64", k_input)
        require(k_input.size == 1, "k must be a single number")
        k = int(k_input.reshape(()))
    require(k >= 1, f"k must be at least 1, not {k}")
    n = x.shape[axis]
    order = _descending(xp, xp.moveaxis(x, axis, -1))[..., :k]
    flat = xp.moveaxis(xp.arange(x.size, dtype="int64").reshape(x.shape), axis, -1)
    found = xp.take_along_axis(xp.moveaxis(x, axis, -1), order, -1), order, xp.take_along_axis(flat, order, -1)
    padding = [(0, 0)] * (x.ndim - 1) + [(0, max(0, k - n))]
    filled = [xp.pad(each, padding, constant_values=fill) for each, fill in zip(found, (0, -1, -1), strict=True)]
    values, indices, flat = (xp.ascontiguousarray(xp.moveaxis(each, -1, axis)) for each in filled)
    return values, indices, flat.reshape(-1)


def _last_or_from_the_front(axis: int, rank: int) -> int:
    require(axis >= -1, f"axis is counted from the front, or -1 for the last one; not {axis}")
    return axis_of(axis, rank)


def _descending(xp: Any, x: Array) -> Array:
    """Indices along the last dimension, the largest element first."""
    return xp.argsort(-x, axis=-1, kind="stable").astype("int64")


@kernel("TopKGradient")
@only("float32", at=[0, 2])
def top_k_gradient(xp: Any, d_values: Array, indices: Array, x: Array, *, axis: int = -1) -> Array:
    expect("int64", indices)
    axis = _last_or_from_the_front(axis, x.ndim)
    require(d_values.shape == indices.shape, f"shapes must be equal, but are {d_values.shape} and {indices.shape}")
    require_indices(xp.maximum(indices, 0), x.shape[axis])
    # One place more takes what has the index -1 and is then cut off.
    rows = xp.zeros((*xp.moveaxis(x, axis, -1).shape[:-1], x.shape[axis] + 1), x.dtype)
    places = xp.moveaxis(xp.where(indices < 0, x.shape[axis], indices), axis, -1)
    flat, lead = as_matrix(rows, -1), xp.arange(rows[..., 0].size).reshape(-1, 1)
    require(as_matrix(places, -1).shape[0] == len(flat), f"{d_values.shape} and {x.shape} differ not only along {axis}")
    flat[lead, as_matrix(places, -1)] = as_matrix(xp.moveaxis(d_values, axis, -1), -1)
    return xp.ascontiguousarray(xp.moveaxis(rows[..., :-1], -1, axis))


@kernel("FlexibleTopK")
@only("float32", at=[0])
def flexible_top_k(xp: Any, x: Array, k: Array) -> tuple[Array, Array]:
    """As many of each row as `k` says, one row after the other."""
    rows = _rows_with_k(x, k)
    order = _descending(xp, rows)
    taken = xp.arange(rows.shape[1]).reshape(1, -1) < k.reshape(-1, 1)
    return xp.take_along_axis(rows, order, -1)[taken], order[taken]


@kernel("FlexibleTopKGradient")
@only("float32", at=[0, 2])
def flexible_top_k_gradient(xp: Any, x: Array, k: Array, d_values: Array, indices: Array) -> Array:
    rows = xp.zeros_like(_rows_with_k(x, k))
    lead = xp.repeat(xp.arange(len(rows)), k.reshape(-1).tolist())
    require(len(lead) == d_values.size == indices.size, f"there must be {len(lead)} gradients and indices")
    require_indices(indices, rows.shape[1])
    rows[lead, indices.reshape(-1)] = d_values.reshape(-1)
    return rows.reshape(x.shape)


def _rows_with_k(x: Array, k: Array) -> Array:
    expect("int64", k)
    require(x.ndim > 0, "an array of rank 0 has no rows")
    rows = as_matrix(x, -1)
    require(k.size == len(rows), f"there must be one k for each of {len(rows)} rows")
    require(bool(((k > 0) & (k <= rows.shape[1])).all()), f"each k must lie between 1 and {rows.shape[1]}")
    return rows


# Order statistics.

operator("Quantile", inputs=(1, MANY), outputs=1, args="abs tol", gradient=SHOULD_NOT)
operator("Percentile", inputs=3, outputs=1, gradient=NONE)
operator(
    "BisectPercentile",
    inputs=1,
    outputs=1,
    args="percentile_raw percentile_mapping percentile_lower percentile_upper lengths",
    gradient=NONE,
)


@kernel("Quantile")
@only("float32", "float64")
def quantile_kernel(xp: Any, *arrays: Array, quantile: float = -1.0, abs: bool = True, tol: float = 1e-3) -> Array:
    """A number of which about that share of all elements lie below or on it: bisected until `tol` is reached."""
    require(0 <= quantile <= 1, f"quantile must lie between 0 and 1, not {quantile}")
    require(tol > 0, f"tol must be larger than 0, not {tol}")
    values = _all_elements(xp, arrays, absolute=abs)
    require(values.size > 0, "there are no elements")
    wanted = ceil(xp.float32(values.size) * xp.float32(quantile))
    return xp.asarray([_bisect(values, wanted, tol)], dtype=values.dtype)


def _bisect(values: Array, wanted: int, tolerance: float) -> float:
    low, high = float(values.min()), float(values.max())
    if wanted == 0 or int((values <= low).sum()) >= wanted:
        return low
    if wanted == values.size:
        return high
    rounded = values.dtype.type
    while abs(high - low) > tolerance * (abs(high) + abs(low)):
        middle = float(rounded(low + (high - low) / 2))
        below = int((values <= middle).sum())
        if below == wanted:
            return middle
        require(middle not in {low, high}, "the elements lie too close together to be told apart")
        low, high = (low, middle) if below > wanted else (middle, high)
    return high


def _all_elements(xp: Any, arrays: Sequence[Array], absolute: bool) -> Array:
    joined = xp.concatenate([array.reshape(-1) for array in arrays])
    return xp.abs(joined) if absolute else joined


@kernel("Percentile")
@only("float32", at=[0, 1])
def percentile(xp: Any, x: Array, pairs: Array, lengths: Array) -> Array:
    """Percentiles of the elements of each column, interpolated in its part of the table of (value, percentile)."""
    expect("int32", lengths)
    require(
        x.ndim == 2 and pairs.ndim == 2 and pairs.shape[1] == 2, "two matrices are wanted, the table of two columns"
    )
    require(lengths.size == x.shape[1], f"there must be {x.shape[1]} lengths, not {lengths.size}")
    found, start = xp.empty_like(x), 0
    for column, length in enumerate(lengths.reshape(-1).tolist()):
        found[:, column] = _interpolated(xp, x[:, column], pairs[start : start + length])
        start += length
    require(start == len(pairs), f"the lengths add up to {start}, but the table has {len(pairs)} rows")
    return found


def _interpolated(xp: Any, x: Array, table: Array) -> Array:
    if len(table) == 0:
        return xp.ones_like(x)
    values, percentiles = xp.ascontiguousarray(table[:, 0]), table[:, 1]
    above = xp.searchsorted(values, x)
    upper = xp.minimum(above, len(values) - 1)
    lower = xp.maximum(upper - 1, 0)
    share = (x - values[lower]) / (values[upper] - values[lower])
    between = percentiles[lower] + share * (percentiles[upper] - percentiles[lower])
    inside = xp.where(values[upper] == x, percentiles[upper], xp.where(above == 0, 0, between))
    return xp.where(above == len(values), 1, inside)


@kernel("BisectPercentile")
@only("float32")
def bisect_percentile(
    xp: Any,
    x: Array,
    *,
    percentile_raw: Sequence[float] = (),
    percentile_mapping: Sequence[float] = (),
    percentile_lower: Sequence[float] = (),
    percentile_upper: Sequence[float] = (),
    lengths: Sequence[int] = (),
) -> Array:
    """The same with the tables as arguments, and percentiles of their own just below and above each value."""
    tables = (percentile_raw, percentile_mapping, percentile_lower, percentile_upper)
    require(len({len(table) for table in tables}) == 1, "the tables must have equal lengths")
    require(sum(lengths) == len(percentile_raw), "the lengths must add up to the length of the tables")
    require(x.ndim == 2 and x.shape[1] == len(lengths), f"the input must be a matrix of {len(lengths)} columns")
    raw, mapping, lower, upper = (xp.asarray(table, dtype="float32") for table in tables)
    found, start = xp.empty_like(x), 0
    for column, length in enumerate(lengths):
        part = slice(start, start + length)
        found[:, column] = _bisected(xp, x[:, column], raw[part], mapping[part], lower[part], upper[part])
        start += length
    return found


def _bisected(xp: Any, x: Array, raw: Array, mapping: Array, lower: Array, upper: Array) -> Array:
    require(len(raw) > 0, "each column needs a table")
    below = xp.clip(xp.searchsorted(raw, x, side="right") - 1, 0, len(raw) - 1)
    above = xp.minimum(below + 1, len(raw) - 1)
    share = (x - raw[below]) / (raw[above] - raw[below] + 1e-10)
    between = (1 - share) * upper[below] + share * lower[above]
    inside = xp.where(raw[below] == x, mapping[below], between)
    return xp.where(x < raw[0], 0, xp.where(x > raw[-1], 1, inside))


# Histograms.

operator("Histogram", inputs=(1, MANY), outputs=1, args="bin_edges", gradient=SHOULD_NOT)
operator("AccumulateHistogram", inputs=1, outputs=2, args="lower_bound upper_bound num_buckets", gradient=SHOULD_NOT)
operator(
    "SelfBinningHistogram",
    inputs=(1, MANY),
    outputs=2,
    args="num_bins bin_spacing logspace_start abs",
    gradient=SHOULD_NOT,
)


@kernel("Histogram")
@only("float32", "float64")
def histogram(xp: Any, *arrays: Array, bin_edges: Sequence[float] = ()) -> Array:
    """How many elements lie from each edge up to the next; others are not counted."""
    require(len(bin_edges) >= 2, f"there must be at least two edges, not {len(bin_edges)}")
    require(all(a < b for a, b in pairwise(bin_edges)), "the edges must increase strictly")
    edges = xp.asarray(bin_edges, dtype="float32").astype(arrays[0].dtype)
    places = xp.searchsorted(edges, _all_elements(xp, arrays, absolute=False), side="right")
    return xp.bincount(places, minlength=len(edges) + 1)[1:-1].astype("int64")


@kernel("AccumulateHistogram")
@only("float32")
def accumulate_histogram(
    xp: Any,
    x: Array,
    *,
    ctx: Context,
    lower_bound: float = 0.0,
    upper_bound: float = 1.0,
    num_buckets: int = 1,
) -> tuple[Array, Array]:
    """Counts of this input, and of all since the workspace began; the first and the last lie outside of the bounds."""
    require(num_buckets > 0, f"num_buckets must be larger than 0, not {num_buckets}")
    require(upper_bound > lower_bound, "the upper bound must be larger than the lower one")
    width = xp.float32(upper_bound - lower_bound) / xp.float32(num_buckets)
    flat = x.reshape(-1)
    inner = xp.clip((flat - xp.float32(lower_bound)) / width, 0, num_buckets - 1).astype("int64") + 1
    places = xp.where(flat < lower_bound, 0, xp.where(flat >= upper_bound, num_buckets + 1, inner))
    counts = xp.bincount(places, minlength=num_buckets + 2).astype("int64")
    before = ctx.state.get("counts")
    ctx.state["counts"] = total = counts.copy() if before is None else before + counts
    return counts, total


@kernel("SelfBinningHistogram")
@only("float32", "float64")
def self_binning_histogram(
    xp: Any,
    *arrays: Array,
    num_bins: int = 0,
    bin_spacing: str = "linear",
    logspace_start: float = 1e-24,
    abs: bool = False,
) -> tuple[Array, Array]:
    """Edges from the smallest to just above the largest element, and counts from each edge up to the next.

    The last count is 0. Elements that all equal one another are counted at the first edge.
    """
    require(num_bins >= 1, f"num_bins must be at least 1, not {num_bins}")
    require(bin_spacing in {"linear", "logarithmic"}, f"bin_spacing must be linear or logarithmic, not {bin_spacing}")
    require(logspace_start > 0, f"logspace_start must be larger than 0, not {logspace_start}")
    elements = _all_elements(xp, arrays, absolute=abs)
    if elements.size == 0:
        return xp.zeros(num_bins + 1, elements.dtype), xp.zeros(num_bins + 1, "int64")
    low, high = elements.min(), elements.max()
    if bin_spacing == "logarithmic":
        low, high = xp.maximum(low, logspace_start), xp.maximum(high, logspace_start)
    top = low + (high - low) * elements.dtype.type(1.0001)
    share = xp.arange(num_bins + 1, dtype=elements.dtype) / num_bins
    linear = bin_spacing == "linear"
    edges = low + share * (top - low) if linear else low * xp.exp((xp.log(top) - xp.log(low)) * share)
    if edges[-1] <= high:
        edges[-1] = top
        places = xp.zeros(elements.shape, "int64")
    else:
        places = xp.searchsorted(edges, elements, side="right")
        places = xp.maximum(places[places <= num_bins] - 1, 0)
    return edges, xp.bincount(places, minlength=num_bins + 1).astype("int64")
