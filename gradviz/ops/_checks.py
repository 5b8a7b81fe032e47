"""Small checks that kernels share. Each raises ValueError with what is wrong; the executor says where."""

from __future__ import annotations

from typing import Any


def need(condition: Any, reason: str) -> None:
    """Refuse where `condition` does not hold.

    Raises:
        ValueError: with `reason`.
    """
    if not condition:
        raise ValueError(reason)


def canonical_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; a negative one counts from the end.

    Raises:
        ValueError: there is no such axis among `rank` of them.
    """
    need(-rank <= axis < rank, f"axis {axis} is out of range where there are {rank} dimensions")
    return axis % rank


def same_shape(a: Any, b: Any) -> None:
    """Refuse two arrays of different shapes.

    Raises:
        ValueError: the shapes differ.
    """
    need(a.shape == b.shape, f"shapes {list(a.shape)} and {list(b.shape)} differ")
