"""Arrays of text: object arrays of bytes, which stay on the host with every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import only, require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator

if TYPE_CHECKING:
    from collections.abc import Callable

Array = Any

operator("StringEndsWith", inputs=1, outputs=1, args="suffix", gradient=SHOULD_NOT)
operator("StringEquals", inputs=1, outputs=1, args="text", gradient=SHOULD_NOT)
operator("StringJoin", inputs=1, outputs=1, args="delimiter axis", gradient=SHOULD_NOT)
operator("StringPrefix", inputs=1, outputs=1, args="length", gradient=SHOULD_NOT)
operator("StringStartsWith", inputs=1, outputs=1, args="prefix", gradient=SHOULD_NOT)
operator("StringSuffix", inputs=1, outputs=1, args="length", gradient=SHOULD_NOT)


@kernel("StringStartsWith")
@only("string")
def starts_with(xp: Any, x: Array, *, prefix: str = "") -> Array:
    start = _bytes(prefix)
    return _asked(xp, x, lambda text: text.startswith(start))


@kernel("StringEndsWith")
@only("string")
def ends_with(xp: Any, x: Array, *, suffix: str = "") -> Array:
    end = _bytes(suffix)
    return _asked(xp, x, lambda text: text.endswith(end))


@kernel("StringEquals")
@only("string")
def equals(xp: Any, x: Array, *, text: str = "") -> Array:
    wanted = _bytes(text)
    return _asked(xp, x, lambda each: each == wanted)


@kernel("StringPrefix")
@only("string")
def prefix_of(xp: Any, x: Array, *, length: int = 3) -> Array:
    """The first bytes of each text."""
    require(length >= 0, f"length {length} is negative")
    return _changed(x, lambda text: text[:length])


@kernel("StringSuffix")
@only("string")
def suffix_of(xp: Any, x: Array, *, length: int = 3) -> Array:
    """The last bytes of each text."""
    require(length >= 0, f"length {length} is negative")
    return _changed(x, lambda text: text[max(len(text) - length, 0) :])


@kernel("StringJoin")
def join(xp: Any, x: Array, *, delimiter: str = ",", axis: int = 0) -> Array:
    """The texts (or numbers) of each row, or with axis 1 of each column, with the delimiter behind every one."""
    expect("string float32 float64 int32 int64 bool", x)
    require(x.size > 0 and x.ndim in {1, 2}, f"a vector or matrix with elements is wanted, not shape {x.shape}")
    require(axis in {0, 1} and (axis == 0 or x.ndim == 2), f"axis {axis} does not exist")
    import numpy as np

    rows = x.reshape(x.shape[0], -1)
    joined = np.empty(rows.shape[axis], dtype=object)
    end = _bytes(delimiter)
    for i, row in enumerate((rows if axis == 0 else rows.T).tolist()):
        joined[i] = b"".join(_written(each) + end for each in row)
    return joined


def _written(value: Any) -> bytes:
    """A number as a C++ stream writes it."""
    if isinstance(value, bytes):
        return value
    return (f"{value:g}" if isinstance(value, float) else str(int(value))).encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _asked(xp: Any, x: Array, question: Callable[[bytes], bool]) -> Array:
    return xp.asarray([question(text) for text in x.reshape(-1).tolist()], dtype=bool).reshape(x.shape)


def _changed(x: Array, change: Callable[[bytes], bytes]) -> Array:
    changed = x.copy()
    changed.reshape(-1)[:] = [change(text) for text in x.reshape(-1).tolist()]
    return changed
