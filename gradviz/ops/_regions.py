"""Regions of interest: boxes over pictures, upright or rotated, and what is sampled from them.

Boxes are worked off one by one: each has bins and sampling points of its own. Coordinates are numbers of the dtype of
the regions, as upstream has them: a point's distance from an element is small beside the coordinate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.ops._checks import require

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[int, int]


class Box(NamedTuple):
    """An upright box in the coordinates of the picture's elements."""

    picture: int
    top: float
    left: float
    height: float
    width: float


class RotatedBox(NamedTuple):
    """A box around a centre; the angle is in radians, counted against the clock."""

    picture: int
    y: float
    x: float
    height: float
    width: float
    angle: float


class Bins(NamedTuple):
    """Along one dimension: which elements the bins reach, and with what weight each element counts in each bin."""

    reach: slice
    weights: Any


def boxes(rois: Any, scale: float, aligned: int) -> Iterator[Box]:
    """Read rows (picture, x1, y1, x2, y2); without the first column, all lie in picture 0."""
    real = rois.dtype.type
    offset = real(0.5 if aligned else 0)
    for row in rois.tolist():
        *picture, left, top, right, bottom = row
        left, top, right, bottom = (real(side) * real(scale) - offset for side in (left, top, right, bottom))
        yield Box(_picture(picture), top, left, *_size(bottom - top, right - left, aligned))


def rotated_boxes(rois: Any, scale: float, aligned: int) -> Iterator[RotatedBox]:
    """Read rows (picture, centre x, centre y, width, height, degrees), the first column as in `boxes`."""
    real = rois.dtype.type
    offset = real(0.5 if aligned else 0)
    for row in rois.tolist():
        *picture, x, y, width, height, degrees = row
        x, y, width, height = (real(number) * real(scale) for number in (x, y, width, height))
        size = _size(height, width, aligned)
        yield RotatedBox(_picture(picture), y - offset, x - offset, *size, math.radians(degrees))


def _picture(given: list[float]) -> int:
    return int(given[0]) if given else 0


def _size(height: Any, width: Any, aligned: int) -> tuple[Any, Any]:
    if aligned:
        require(height >= 0 and width >= 0, f"a region has the size {height} by {width}")
        return height, width
    one = type(height)(1)
    return max(height, one), max(width, one)


def bin_weights(xp: Any, box: Box, bins: Pair, x: Any, sampling_ratio: int) -> tuple[Bins, Bins]:
    """Weights by which rows and columns count in each bin: bilinear sampling is a product of both."""
    _in_batch(box.picture, x)
    return (
        _along(xp, box.top, box.height, bins[0], x.shape[2], sampling_ratio, x.dtype),
        _along(xp, box.left, box.width, bins[1], x.shape[3], sampling_ratio, x.dtype),
    )


def _in_batch(picture: int, x: Any) -> None:
    require(0 <= picture < x.shape[0], f"a region lies in picture {picture} of {x.shape[0]}")


def _along(xp: Any, first: float, length: float, bins: int, size: int, sampling_ratio: int, dtype: Any) -> Bins:
    samples = _samples(length, bins, sampling_ratio)
    points = _points(xp, first, length, bins, samples)
    inside = (points >= -1) & (points <= size)
    points = points.clip(0, size - 1)
    low = min(size - 1, max(0, math.floor(first)))
    high = max(low + 1, min(size, math.ceil(first + length) + 1))
    # A point counts for the two elements next to it, by its distance to each.
    elements = xp.arange(low, high, dtype=points.dtype)
    nearness = xp.maximum(0, 1 - abs(points[..., None] - elements)) * inside[..., None]
    return Bins(slice(low, high), (nearness.sum(axis=1) / max(samples, 1)).astype(dtype))


def _samples(length: float, bins: int, sampling_ratio: int) -> int:
    """Sampling points of a bin along one dimension."""
    return sampling_ratio if sampling_ratio > 0 else math.ceil(length / bins)


def _points(xp: Any, first: float, length: float, bins: int, samples: int) -> Any:
    """Where the sampling points lie: (bins, samples)."""
    dtype = getattr(length, "dtype", "float64")
    side = length / bins
    within = (xp.arange(samples, dtype=dtype) + 0.5) * side / max(samples, 1)
    return first + xp.arange(bins, dtype=dtype)[:, None] * side + within


def rotated_samples(xp: Any, box: RotatedBox, bins: Pair, x: Any, sampling_ratio: int) -> Any:
    """The mean of the bilinear samples in each bin of a rotated box: (C, *bins)."""
    _in_batch(box.picture, x)
    rows, columns = _samples(box.height, bins[0], sampling_ratio), _samples(box.width, bins[1], sampling_ratio)
    down = _points(xp, -box.height / 2, box.height, bins[0], rows)[:, None, :, None]
    across = _points(xp, -box.width / 2, box.width, bins[1], columns)[None, :, None, :]
    cos, sin = math.cos(box.angle), math.sin(box.angle)
    sampled = _bilinear(xp, x[box.picture], down * cos - across * sin + box.y, down * sin + across * cos + box.x)
    return sampled.sum(axis=(3, 4)) / max(rows * columns, 1)


def _bilinear(xp: Any, picture: Any, y: Any, x: Any) -> Any:
    """Samples of a picture (C, H, W) at points; zero where a point is more than one element outside."""
    height, width = picture.shape[1:]
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = y.clip(0, height - 1), x.clip(0, width - 1)
    top, left = xp.floor(y).astype("int64"), xp.floor(x).astype("int64")
    bottom, right = xp.minimum(top + 1, height - 1), xp.minimum(left + 1, width - 1)
    low_y, low_x = (y - top).astype(picture.dtype), (x - left).astype(picture.dtype)
    upper = picture[:, top, left] * (1 - low_x) + picture[:, top, right] * low_x
    lower = picture[:, bottom, left] * (1 - low_x) + picture[:, bottom, right] * low_x
    return (upper * (1 - low_y) + lower * low_y) * inside


def greatest(xp: Any, x: Any, rois: Any, bins: Pair, scale: float) -> tuple[Any, Any]:
    """The greatest element of each bin (0 where it is empty) and its place in the plane (-1 there)."""
    shape = (rois.shape[0], x.shape[1], *bins)
    y, places = xp.zeros(shape, x.dtype), xp.full(shape, -1, "int32")
    for i, row in enumerate(rois.tolist()):
        picture = int(row[0])
        _in_batch(picture, x)
        left, top, right, bottom = (_round(side * scale) for side in row[1:])
        rows = list(_bins(top, bottom, bins[0], x.shape[2]))
        columns = list(_bins(left, right, bins[1], x.shape[3]))
        for r, (row_first, row_last) in enumerate(rows):
            for c, (first, last) in enumerate(columns):
                part = x[picture, :, row_first:row_last, first:last]
                if part.size:
                    best = part.reshape(part.shape[0], -1).argmax(axis=1)
                    y[i, :, r, c] = part.max(axis=(1, 2))
                    wide = last - first
                    places[i, :, r, c] = (best // wide + row_first) * x.shape[3] + best % wide + first
    return y, places


def _round(value: float) -> int:
    """Halves go away from zero."""
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def _bins(first: int, last: int, count: int, size: int) -> Iterator[Pair]:
    """Where each of `count` bins between two elements begins and ends, inside the picture."""
    width = max(last - first + 1, 1) / count
    for i in range(count):
        begin, end = math.floor(i * width) + first, math.ceil((i + 1) * width) + first
        yield min(max(begin, 0), size), min(max(end, 0), size)
