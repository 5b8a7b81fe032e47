"""Which dtypes a kernel takes: most operators know float32 only and refuse the rest."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_wide = False


class DtypeError(ValueError):
    """An array has a dtype that the kernel does not take.

    Attributes:
        array: the array itself, by which whoever ran the kernel finds out which input it was.
        found: name of its dtype.
        wanted: the dtypes that are taken.
    """

    def __init__(self, array: Any, found: str, wanted: str) -> None:
        super().__init__(f"{found} where {wanted} is wanted")
        self.array = array
        self.found = found
        self.wanted = wanted


def expect(dtypes: str, *arrays: Any) -> None:
    """Refuse arrays of other dtypes.

    Args:
        dtypes: names separated by spaces, such as `float32` or `int32 int64`; `string` is an object array of bytes.
        arrays: what to look at; all must be of one of those dtypes, each for itself.

    Raises:
        DtypeError: one is not, or is no tensor; the executor says which operator it was.
    """
    quick = _numbers(dtypes)
    for array in arrays:
        dtype = getattr(array, "dtype", None)
        if dtype is not None and dtype.num in quick:
            continue
        allowed = dtypes.split()
        found = _name(array)
        if found in allowed or (_wide and found == "float64" and "float32" in allowed):
            continue
        raise DtypeError(array, found, " or ".join(allowed))


# NumPy's number of a dtype tells these apart; a dtype's name does so too, but takes microseconds to spell out.
_KEYS = {
    "bool": ("b", 1),
    "uint8": ("u", 1),
    "int8": ("i", 1),
    "uint16": ("u", 2),
    "int16": ("i", 2),
    "int32": ("i", 4),
    "int64": ("i", 8),
    "float16": ("f", 2),
    "float32": ("f", 4),
    "float64": ("f", 8),
    "string": ("O", 8),
}


@cache
def _numbers(dtypes: str) -> frozenset[int]:
    """The numbers of these dtypes; some have two, such as int64, which is C's `long` and `long long`."""
    import numpy as np

    keys = {_KEYS[name] for name in dtypes.split() if name in _KEYS}
    known = [np.dtype(code) for code in np.typecodes["All"]]
    return frozenset(dtype.num for dtype in known if (dtype.kind, dtype.itemsize) in keys)


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
