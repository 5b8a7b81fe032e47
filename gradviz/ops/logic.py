"""Comparisons, logic and bits, and what chooses or refuses by them."""

from __future__ import annotations

from typing import Any

from gradviz.ops._arrays import on_host
from gradviz.ops._broadcast import binary
from gradviz.ops._checks import NUMBERS, like, only, require, require_same_shape
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, operator

Array = Any

# Two arrays, broadcast.

operator("And", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Or", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Xor", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Not", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("BitwiseAnd", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("BitwiseOr", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("BitwiseXor", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("EQ", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("NE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("LT", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("LE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("GT", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("GE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)

BITS = ("int32", "int64", "bool")
COMPARABLE = (*NUMBERS, "bool")


@binary("And", dtypes=("bool",))
def logical_and(xp: Any, a: Array, b: Array) -> Array:
    return a & b


@binary("Or", dtypes=("bool",))
def logical_or(xp: Any, a: Array, b: Array) -> Array:
    return a | b


@binary("Xor", dtypes=("bool",))
def logical_xor(xp: Any, a: Array, b: Array) -> Array:
    return a ^ b


@kernel("Not")
@only("bool")
def logical_not(xp: Any, x: Array) -> Array:
    return ~x


@binary("BitwiseAnd", dtypes=BITS)
def bitwise_and(xp: Any, a: Array, b: Array) -> Array:
    return a & b


@binary("BitwiseOr", dtypes=BITS)
def bitwise_or(xp: Any, a: Array, b: Array) -> Array:
    return a | b


@binary("BitwiseXor", dtypes=BITS)
def bitwise_xor(xp: Any, a: Array, b: Array) -> Array:
    return a ^ b


@binary("EQ", dtypes=COMPARABLE)
def equal(xp: Any, a: Array, b: Array) -> Array:
    return a == b


@binary("NE", dtypes=COMPARABLE)
def not_equal(xp: Any, a: Array, b: Array) -> Array:
    return a != b


@binary("LT", dtypes=COMPARABLE)
def less(xp: Any, a: Array, b: Array) -> Array:
    return a < b


@binary("LE", dtypes=COMPARABLE)
def less_or_equal(xp: Any, a: Array, b: Array) -> Array:
    return a <= b


@binary("GT", dtypes=COMPARABLE)
def greater(xp: Any, a: Array, b: Array) -> Array:
    return a > b


@binary("GE", dtypes=COMPARABLE)
def greater_or_equal(xp: Any, a: Array, b: Array) -> Array:
    return a >= b


# Tests and choices.

operator("Where", inputs=3, outputs=1, gradient=SHOULD_NOT)
operator("IsMemberOf", inputs=1, outputs=1, args="value dtype", gradient=SHOULD_NOT)
operator("StumpFunc", inputs=1, outputs=1, gradient=NONE)
operator("StumpFuncIndex", inputs=1, outputs=2, gradient=NONE)
operator("Assert", inputs=1, outputs=0, args="error_msg")
operator("IsNaN", inputs=1, outputs=1)


@kernel("Where")
@only("float32", "float64", "int32", "int64", "string", "bool", at=[1, 2])
def where(xp: Any, condition: Array, left: Array, right: Array, *, broadcast_on_rows: bool = False) -> Array:
    """Left where the condition holds, else right; `broadcast_on_rows` decides row by row."""
    expect("bool", condition)
    require_same_shape(left, right)
    if broadcast_on_rows:
        require(condition.ndim == 1 and left.ndim > 0 and len(left) == len(condition), "one condition a row is wanted")
        condition = condition.reshape(-1, *[1] * (left.ndim - 1))
    else:
        condition = like(left, condition)
    if left.dtype.kind == "O":
        import numpy as xp

        condition = on_host(condition)
    return xp.where(condition, left, right)


@kernel("IsMemberOf")
@only("int32", "int64", "bool", "string")
def is_member_of(xp: Any, x: Array, *, value: list[Any]) -> Array:
    if x.dtype.kind == "O":
        require(all(isinstance(each, str) for each in value), "the values must be texts, as the elements are")
        return xp.asarray(_is_text_in(x, {text.encode("utf-8", "surrogateescape") for text in value}))
    require(all(isinstance(each, int) for each in value), "the values must be integers, as the elements are")
    return xp.isin(x, xp.asarray(value, dtype=x.dtype))


def _is_text_in(x: Array, texts: set[bytes]) -> Array:
    import numpy as np

    return np.array([text in texts for text in x.reshape(-1)], dtype=bool).reshape(x.shape)


@kernel("StumpFunc")
@only("float32")
def stump_func(xp: Any, x: Array, *, threshold: float = 0.0, low_value: float = 0.0, high_value: float = 0.0) -> Array:
    """The low value up to the threshold, the high one above it."""
    return xp.where(x <= threshold, xp.full_like(x, low_value), xp.full_like(x, high_value))


@kernel("StumpFuncIndex")
@only("float32")
def stump_func_index(xp: Any, x: Array, *, threshold: float = 0.0) -> tuple[Array, Array]:
    """Flat positions of the elements up to the threshold, and of those above it."""
    low = x.reshape(-1) <= threshold
    return xp.flatnonzero(low).astype("int64"), xp.flatnonzero(~low).astype("int64")


@kernel("Assert")
def assert_true(xp: Any, x: Array, *, error_msg: str = "") -> tuple[()]:
    expect("bool int32 int64", x)
    holds = x.reshape(-1) != 0
    if not bool(holds.all()):
        said = f": {error_msg}" if error_msg else ""
        raise ValueError(f"the assertion fails at element {int(xp.argmin(holds))}{said}")
    return ()


@kernel("IsNaN")
@only("float32", "float64")
def is_nan(xp: Any, x: Array) -> Array:
    return xp.isnan(x).astype("uint8")
