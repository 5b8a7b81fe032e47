"""Which dtypes a kernel takes: most operators know float32 only and refuse the rest."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_wide = False


def expect(dtypes: str, *arrays: Any) -> None:
    """Refuse arrays of other dtypes.

    Args:
        dtypes: names separated by spaces, such as `float32` or `int32 int64`; `string` is an object array of bytes.
        arrays: what to look at; all must be of one of those dtypes, each for itself.

    Raises:
        ValueError: one is not, or is no tensor; the executor says which operator it was.
    """
    allowed = dtypes.split()
    for array in arrays:
        found = _name(array)
        if found in allowed or (_wide and found == "float64" and "float32" in allowed):
            continue
        raise ValueError(f"{found} where {' or '.join(allowed)} is wanted")


def _name(array: Any) -> str:
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return f"{type(array).__name__} object"
    return "string" if dtype.kind == "O" else str(dtype)


@contextmanager
def float64_for_float32() -> Iterator[None]:
    """Inside, kernels that take float32 take float64 as well, so that a gradient check has no float32 noise."""
    global _wide
    before, _wide = _wide, True
    try:
        yield
    finally:
        _wide = before
