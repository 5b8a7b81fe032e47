"""Rows, indices and lengths: what gathering, scattering, splitting and packing share.

All helpers work on the arrays of any backend. Small integer arrays (shapes, lengths, bounds) are read to the host; of
large ones (indices) only the extremes are read, to check them.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = Any


def integers(values: Any) -> list[int]:
    """A small list of integers, whether it came as an argument or as an array of rank 1.

    Raises:
        ValueError: an array that is not of rank 1, or of no integer dtype.
    """
    if not hasattr(values, "dtype"):
        return [int(value) for value in values]
    require(values.dtype.kind in "iu", f"integers are wanted, not {values.dtype}")
    require(values.ndim == 1, f"a vector is wanted, not an array of rank {values.ndim}")
    return [int(value) for value in values.tolist()]


def lengths_of(lengths: Array, total: int | None = None) -> list[int]:
    """The lengths of segments, an int32 vector, read to the host.

    Args:
        lengths: one length for each segment.
        total: what they must add up to.

    Raises:
        ValueError: another dtype or rank, a negative length, or another sum.
    """
    require(str(getattr(lengths, "dtype", None)) == "int32", "lengths must be int32")
    found = integers(lengths)
    require(all(length >= 0 for length in found), f"a length is negative: {min(found, default=0)}")
    if total is not None:
        require(sum(found) == total, f"the lengths add up to {sum(found)}, but there are {total} rows")
    return found


def starts_of(lengths: Sequence[int]) -> list[int]:
    """Where each segment starts; one entry more than there are segments, the last is the total."""
    return [0, *accumulate(lengths)]


def require_indices(index: Array, count: int, least: int = 0) -> None:
    """Refuse indices outside `least` to `count - 1`.

    Raises:
        ValueError: the dtype is neither int32 nor int64, or an index is out of range.
    """
    require(str(index.dtype) in {"int32", "int64"}, f"indices must be int32 or int64, not {index.dtype}")
    if index.size:
        low, high = int(index.min()), int(index.max())
        require(low >= least, f"index {low} is out of range: the least is {least}")
        require(high < count, f"index {high} is out of range: there are {count}")


def add_at(xp: Any, target: Array, index: Any, values: Array) -> None:
    """Add `values` to `target[index]` in place, adding up where an index stands twice."""
    if target.dtype == xp.int64:
        # Devices have no atomic addition of signed 64-bit integers; two's complement makes the unsigned one do.
        target, values = target.view(xp.uint64), values.astype(xp.int64).view(xp.uint64)
    xp.add.at(target, index, values)


def add_along(xp: Any, values: Array, index: Array, axis: int, size: int) -> Array:
    """Add slices of `values` along `axis` up into `size` slots: the opposite of taking `index` along that axis."""
    moved = xp.moveaxis(values, axis, 0)
    summed = xp.zeros((size, *moved.shape[1:]), dtype=values.dtype)
    layers = _layers(index.tolist()) if index.size <= _FEW_SLICES else []
    if 0 < len(layers) <= _FEW_LAYERS:
        for slots, slices in layers:
            summed[slots] += moved[slices]
    else:
        add_at(xp, summed, index, moved)
    return xp.moveaxis(summed, 0, axis)


# Adding whole slices is ten times faster than element by element, while each slot is met only a few times.
_FEW_SLICES = 4096
_FEW_LAYERS = 8


def _layers(index: list[int]) -> list[tuple[list[int], list[int]]]:
    """Slots and slices in layers, so that within a layer no slot stands twice."""
    met: dict[int, int] = {}
    layers: list[tuple[list[int], list[int]]] = []
    for position, slot in enumerate(index):
        depth = met.get(slot, 0)
        met[slot] = depth + 1
        if depth == len(layers):
            layers.append(([], []))
        layers[depth][0].append(slot)
        layers[depth][1].append(position)
    return layers


def beside(data: Array, index: Array) -> Array:
    """An index or mask into `data`, brought to where `data` is: text lives on the host with every backend."""
    return index.get() if data.dtype.kind == "O" and hasattr(index, "get") else index


def namespace(xp: Any, *arrays: Array) -> Any:
    """The array namespace for these arrays: text lives on the host with every backend."""
    if all(array.dtype.kind == "O" for array in arrays) and arrays:
        import numpy as np

        return np
    return xp
