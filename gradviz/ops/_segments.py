"""Rows in segments: which row belongs where, and folds over the rows of each segment.

Rows are arrays of shape (rows, ...), folds of shape (count, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect


class Segmentation(NamedTuple):
    """Which row belongs to which segment.

    Attributes:
        ids: for each row the number of its segment.
        number: how many segments there are.
        each: how many rows every segment has, where all have as many and lie in order; otherwise 0.
    """

    ids: Any
    number: int
    each: int = 0


Fold: TypeAlias = Callable[[Any, Any, Segmentation], Any]


def by_lengths(xp: Any, lengths: Any, rows: int | None = None, _: int = -1) -> Segmentation:
    """Segments one after another, given by their lengths; `rows` is how many rows they must make in all."""
    expect("int32", lengths)
    require(lengths.ndim == 1, "the lengths must be a list")
    counts = lengths.tolist()
    require(min(counts, default=0) >= 0, "a length is negative")
    require(rows is None or sum(counts) == rows, f"the lengths sum up to {sum(counts)}, but there are {rows} rows")
    each = counts[0] if len(set(counts)) == 1 else 0
    return Segmentation(xp.repeat(xp.arange(len(counts)), counts), len(counts), each)


def by_sorted_ids(xp: Any, ids: Any, rows: int | None = None, _: int = -1) -> Segmentation:
    """Segments given by ids that start at 0, are sorted and leave no number out."""
    _check_ids(ids, rows)
    if not ids.size:
        return Segmentation(ids, 0)
    steps = ids[1:] - ids[:-1]
    gapless = bool((ids[0] == 0) & ((steps == 0) | (steps == 1)).all())
    require(gapless, "segment ids must start at 0, be sorted and have no gaps")
    return Segmentation(ids, int(ids[-1]) + 1)


def by_ids(xp: Any, ids: Any, rows: int | None = None, count: int = -1) -> Segmentation:
    """Segments given by ids in any order; `count` segments, or as many as the largest id asks for."""
    _check_ids(ids, rows)
    if not ids.size:
        return Segmentation(ids, max(count, 0))
    least, largest = int(ids.min()), int(ids.max())
    count = largest + 1 if count < 0 else count
    require(least >= 0 and largest < count, f"segment ids must be from 0 to {count - 1}, not {least} to {largest}")
    return Segmentation(ids, count)


def _check_ids(ids: Any, rows: int | None) -> None:
    expect("int32", ids)
    require(ids.ndim == 1, "the segment ids must be a list")
    require(rows is None or ids.size == rows, f"there are {ids.size} segment ids for {rows} rows")


def total(xp: Any, rows: Any, segments: Segmentation) -> Any:
    """Sum of each segment; 0 where it is empty."""
    if segments.each:
        return _side_by_side(rows, segments).sum(axis=1)
    return _scatter(xp.add, xp, rows, segments, 0)


def mean(xp: Any, rows: Any, segments: Segmentation) -> Any:
    """Mean of each segment; 0 where it is empty."""
    return total(xp, rows, segments) / column(xp.maximum(sizes(xp, segments), 1).astype(rows.dtype), rows)


def largest(xp: Any, rows: Any, segments: Segmentation) -> Any:
    """Largest element of each segment; 0 where it is empty."""
    if segments.each:
        return _side_by_side(rows, segments).max(axis=1)
    found = _scatter(xp.maximum, xp, rows, segments, -xp.inf)
    return xp.where(column(sizes(xp, segments), rows) > 0, found, 0).astype(rows.dtype)


def log_sum_exp(xp: Any, rows: Any, segments: Segmentation) -> Any:
    """Logarithm of the sum of exponentials of each segment, without overflow."""
    top = largest(xp, rows, segments)
    return xp.log(total(xp, xp.exp(rows - top[segments[0]]), segments)) + top


def log_mean_exp(xp: Any, rows: Any, segments: Segmentation) -> Any:
    """Logarithm of the mean of exponentials of each segment, without overflow."""
    return log_sum_exp(xp, rows, segments) - xp.log(column(sizes(xp, segments).astype(rows.dtype), rows))


def sizes(xp: Any, segments: Segmentation) -> Any:
    """How many rows each segment has, as int64."""
    ids, count, _ = segments
    return xp.bincount(ids, minlength=count) if ids.size else xp.zeros(count, dtype="int64")


def column(values: Any, rows: Any) -> Any:
    """One value for each row, shaped so that it multiplies rows of the shape of `rows`."""
    return values.reshape(values.shape + (1,) * (rows.ndim - 1))


def _side_by_side(rows: Any, segments: Segmentation) -> Any:
    """The rows as (count, each, ...), where all segments have as many."""
    return rows.reshape(segments.number, segments.each, *rows.shape[1:])


def _scatter(ufunc: Any, xp: Any, rows: Any, segments: Segmentation, start: float) -> Any:
    ids, count, _ = segments
    made = xp.full((count, *rows.shape[1:]), start, dtype=rows.dtype)
    if rows.size:
        # `at` is many times faster over one dimension than over rows.
        width = rows[0].size
        places = ids if width == 1 else (ids[:, None].astype("int64") * width + xp.arange(width)).reshape(-1)
        ufunc.at(made.reshape(-1), places, rows.reshape(-1))
    return made
