"""Boxes: moved, clipped, compared and thinned out.

An upright box is (x1, y1, x2, y2), a rotated one (centre x, centre y, width, height, degrees). `one` is the 1 by which
older detectors let a box reach beyond its last pixel, or 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gradviz.ops._checks import require

_LARGEST_STEP = math.log(1000 / 16)
"""The most that a size may grow by, as a logarithm."""


class AngleBounds(NamedTuple):
    """Degrees between which angles are brought; None where they are left as they are."""

    low: int
    high: int


def moved(xp: Any, boxes: Any, deltas: Any, weights: list[float], one: int, bounds: AngleBounds | None) -> Any:
    """Boxes (n, 4) or (n, 5) shifted and resized by deltas (n, 4 or 5), which count by the inverse of `weights`.

    Args:
        xp: array namespace.
        boxes: upright or rotated boxes.
        deltas: shifts in units of a box's size, logarithms of growth, and for rotated boxes a turn in radians.
        weights: what the four deltas are divided by.
        one: see the module's docstring.
        bounds: where angles are to lie.
    """
    steps = deltas[:, :4] / xp.asarray(weights, deltas.dtype)
    growth = xp.exp(xp.minimum(steps[:, 2:], deltas.dtype.type(_LARGEST_STEP)))
    if boxes.shape[1] == 4:
        size = boxes[:, 2:] - boxes[:, :2] + one
        centre = steps[:, :2] * size + boxes[:, :2] + size / 2
        half = growth * size / 2
        return xp.concatenate([centre - half, centre + half - one], axis=1)
    size = boxes[:, 2:4]
    angle = deltas[:, 4:] * deltas.dtype.type(180 / math.pi) + boxes[:, 4:]
    if bounds is not None:
        period = bounds.high - bounds.low
        require(period > 0 and period % 180 == 0, f"angles cannot be brought between {bounds.low} and {bounds.high}")
        angle = xp.where(angle < bounds.low, angle + period, xp.where(angle > bounds.high, angle - period, angle))
    return xp.concatenate([steps[:, :2] * size + boxes[:, :2], growth * size, angle], axis=1)


def clipped(xp: Any, boxes: Any, height: float, width: float, angle_threshold: float, one: int) -> Any:
    """Boxes cut off at the picture's edges; of rotated ones only those turned by at most `angle_threshold` degrees."""
    if boxes.shape[1] == 4:
        return _clip_corners(xp, boxes, height, width, one)
    if angle_threshold < 0:
        return boxes
    half = (boxes[:, 2:4] - one) / 2
    corners = _clip_corners(xp, xp.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1), height, width, one)
    low, high = corners[:, :2], corners[:, 2:]
    cut = xp.concatenate([(low + high) / 2, high - low + one, boxes[:, 4:]], axis=1)
    return xp.where(abs(boxes[:, 4:]) <= angle_threshold, cut, boxes)


def _clip_corners(xp: Any, boxes: Any, height: float, width: float, one: int) -> Any:
    farthest = xp.asarray([width - one, height - one] * 2, boxes.dtype)
    return xp.maximum(xp.minimum(boxes, farthest), 0)


def large_enough(boxes: Any, least: float, info: list[float], one: int) -> Any:
    """Which boxes are at least so large (scaled as the picture is) and have their centre in the picture."""
    height, width, scale = info
    least = max(least * scale, 1.0)
    if boxes.shape[1] == 4:
        size = boxes[:, 2:] - boxes[:, :2] + one
        centre = boxes[:, :2] + size / 2
    else:
        centre, size = boxes[:, :2], boxes[:, 2:4]
    return (size >= least).all(axis=1) & (centre[:, 0] < width) & (centre[:, 1] < height)


def overlaps(xp: Any, boxes: Any, i: int, others: Any, one: int) -> Any:
    """Intersection over union of box `i` with the boxes at `others`."""
    if boxes.shape[1] == 5:
        return _rotated_overlaps(xp, boxes[i], boxes[others])
    mine, theirs = boxes[i], boxes[others]
    low, high = xp.maximum(mine[:2], theirs[:, :2]), xp.minimum(mine[2:], theirs[:, 2:])
    common = xp.maximum(high - low + one, 0).prod(axis=1)
    return common / ((mine[2:] - mine[:2] + one).prod() + (theirs[:, 2:] - theirs[:, :2] + one).prod(axis=1) - common)


def thinned(xp: Any, boxes: Any, order: Any, threshold: float, most: int, one: int) -> list[int]:
    """Indices of boxes of which none overlaps a better one by more than `threshold`.

    Args:
        xp: array namespace.
        boxes: (n, 4) or (n, 5).
        order: indices of the boxes to look at, best first.
        threshold: greatest overlap that is let pass.
        most: greatest number of boxes to keep; negative for any.
        one: see the module's docstring.
    """
    kept: list[int] = []
    while order.size and not 0 <= most <= len(kept):
        best, order = int(order[0]), order[1:]
        kept.append(best)
        order = order[overlaps(xp, boxes, best, order, one) <= threshold]
    return kept


class Softness(NamedTuple):
    """How soft thinning lowers scores: `linear` or `gaussian`, with this width, and below which score it discards."""

    method: str
    sigma: float
    least: float


def softly_thinned(
    xp: Any, boxes: Any, scores: Any, order: Any, threshold: float, soft: Softness, one: int
) -> tuple[list[int], Any]:
    """As `thinned`, but overlapping a better box only lowers a score. Returns what is kept and the new scores."""
    scores, kept = scores.copy(), []
    while order.size:
        at = int(scores[order].argmax())
        best = int(order[at])
        kept.append(best)
        order = order.copy()
        order[at] = order[0]
        order = order[1:]
        overlap = overlaps(xp, boxes, best, order, one)
        if soft.method == "gaussian":
            scores[order] *= xp.exp(-overlap * overlap / soft.sigma)
        else:
            scores[order] *= xp.where(overlap > threshold, 1 - overlap, 1).astype(scores.dtype)
        order = order[scores[order] >= soft.least]
    return kept, scores


Point = tuple[float, float]


def _rotated_overlaps(xp: Any, mine: Any, theirs: Any) -> Any:
    """Intersection over union of one rotated box with others; only those whose circles meet are looked at closely."""
    radius, radii = xp.hypot(*mine[2:4]) / 2, xp.hypot(theirs[:, 2], theirs[:, 3]) / 2
    near = xp.hypot(theirs[:, 0] - mine[0], theirs[:, 1] - mine[1]) <= radius + radii
    found, box = xp.zeros(theirs.shape[0], theirs.dtype), mine.tolist()
    found[near] = xp.asarray([_rotated_overlap(box, other) for other in theirs[near].tolist()], theirs.dtype)
    return found


def _rotated_overlap(a: list[float], b: list[float]) -> float:
    common = _area(_intersection(_corners(a), _corners(b)))
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def _corners(box: list[float]) -> list[Point]:
    x, y, width, height, degrees = box
    cos, sin = math.cos(math.radians(degrees)) / 2, math.sin(math.radians(degrees)) / 2
    across, down = (cos * width, -sin * width), (sin * height, cos * height)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return [(x + i * across[0] + j * down[0], y + i * across[1] + j * down[1]) for i, j in signs]


def _intersection(polygon: list[Point], window: list[Point]) -> list[Point]:
    """A convex polygon cut off at each side of another (after Sutherland and Hodgman); both go round alike."""
    for start, end in zip(window, window[1:] + window[:1], strict=True):
        sides = [_side(start, end, point) for point in polygon]
        cut: list[Point] = []
        for k, (point, side) in enumerate(zip(polygon, sides, strict=True)):
            before, before_side = polygon[k - 1], sides[k - 1]
            if (side >= 0) != (before_side >= 0):
                share = before_side / (before_side - side)
                cut.append((before[0] + share * (point[0] - before[0]), before[1] + share * (point[1] - before[1])))
            if side >= 0:
                cut.append(point)
        polygon = cut
    return polygon


def _side(start: Point, end: Point, point: Point) -> float:
    return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])


def _area(polygon: list[Point]) -> float:
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs)) / 2
