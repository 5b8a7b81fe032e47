"""Which dtypes a kernel takes: most operators know float32 only and refuse the rest."""

from __future__ import annotations

from contextlib import contextmanager
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
    allowed = dtypes.split()
    for array in arrays:
        found = _name(array)
        if found in allowed or (_wide and found == "float64" and "float32" in allowed):
            continue
        raise DtypeError(array, found, " or ".join(allowed))


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
