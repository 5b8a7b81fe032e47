"""Where the elements of a padded or resized image come from, one axis at a time."""

from __future__ import annotations

from typing import Any

from gradviz.ops._checks import require

Array = Any


def channel_axis(order: str) -> int:
    """The axis of the channels in a batch of images: 1 for NCHW, 3 for NHWC.

    Raises:
        ValueError: another order.
    """
    require(order in {"NCHW", "NHWC"}, f"order must be NCHW or NHWC, not {order!r}")
    return 1 if order == "NCHW" else 3


def along_axis(vector: Array, axis: int, rank: int) -> Array:
    """A vector as an array of that rank which broadcasts along all axes but one."""
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def padding_sources(xp: Any, size: int, before: int, after: int, mode: str) -> tuple[Array, Array]:
    """Where each place of a padded axis takes its value from.

    Args:
        xp: the array namespace.
        size: of the axis without padding.
        before: places added in front; cut off where negative.
        after: places added behind, likewise.
        mode: `constant`, `reflect` or `edge`.

    Returns:
        Indices into the axis, clamped to it, and whether the place lies within it.

    Raises:
        ValueError: unknown mode, nothing left, or pads too wide to be reflected.
    """
    require(mode in {"constant", "reflect", "edge"}, f"mode must be constant, reflect or edge, not {mode!r}")
    require(size > 0 and size + before + after > 0, f"pads {before} and {after} leave nothing of {size}")
    places = xp.arange(-before, size + after)
    inside = (places >= 0) & (places < size)
    if mode == "reflect":
        require(max(before, after) < size, f"pads {before} and {after} are too wide to reflect {size}")
        places = xp.minimum(xp.abs(places), 2 * (size - 1) - xp.abs(places))
    return xp.clip(places, 0, size - 1), inside


def resized(xp: Any, size: int, scale: float) -> int:
    """The size of a resized axis; computed in float32, as upstream does, where 3 times 0.9999999 can be 3."""
    found = int(xp.float32(size) * xp.float32(scale))
    require(found > 0, f"nothing is left of {size} scaled by {scale}")
    return found


def nearest_sources(xp: Any, size: int, count: int, scale: float) -> Array:
    """For each of `count` places of a resized axis the index in the original one of that `size`."""
    places = xp.arange(count, dtype=xp.float32) / xp.float32(scale)
    return xp.minimum(places.astype(xp.int64), size - 1)


def linear_sources(xp: Any, size: int, count: int) -> list[tuple[Array, Array]]:
    """For each of `count` places of an axis resized so that corners fall on corners: two indices with weights."""
    step = xp.float32(size - 1) / xp.float32(count - 1) if count > 1 else xp.float32(0)
    exact = xp.arange(count, dtype=xp.float32) * step
    low = exact.astype(xp.int64)
    share = exact - low.astype(xp.float32)
    return [(low, 1 - share), (xp.minimum(low + 1, size - 1), share)]
