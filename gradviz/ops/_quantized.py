"""Row-wise quantised tables: how rows are packed into bytes and read again.

A fused row is a row of bytes: its values, packed to 8, 4 or 2 bits with the first in the lowest bits, then a scale and
a bias, as float32 or float16. A value stands for `scale * value + bias`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect


@dataclass(frozen=True, slots=True)
class Format:
    """How a fused row is laid out.

    Attributes:
        bits: how many bits a quantised value has.
        footer: dtype of scale and bias.
        stored: how many bits it is stored in.
    """

    bits: int
    footer: str
    stored: int

    @property
    def footer_bytes(self) -> int:
        return 8 if self.footer == "float32" else 4


EIGHT = Format(8, "float32", 8)
EIGHT_HALF = Format(8, "float16", 8)
FOUR = Format(4, "float16", 4)
TWO = Format(2, "float16", 2)
FAKE_FOUR = Format(4, "float32", 8)
FAKE_TWO = Format(2, "float32", 8)


def unpack(xp: Any, fused: Any, layout: Format) -> Any:
    """Read fused rows: uint8 of shape (..., bytes) becomes float32 of shape (..., values)."""
    expect("uint8", fused)
    width = fused.shape[-1] - layout.footer_bytes if fused.ndim else -1
    require(width >= 0, f"a row must have at least {layout.footer_bytes} bytes")
    packed, footer = fused[..., :width], xp.ascontiguousarray(fused[..., width:]).view(layout.footer)
    values = _spread_bits(xp, packed, layout.stored).astype("float32")
    scale, bias = (footer[..., i : i + 1].astype("float32") for i in (0, 1))
    return values * scale + bias


def _spread_bits(xp: Any, packed: Any, bits: int) -> Any:
    if bits == 8:
        return packed
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return xp.stack(parts, axis=-1).reshape(*packed.shape[:-1], -1 if packed.size else packed.shape[-1] * len(parts))


def pack(xp: Any, x: Any, layout: Format, greedy: bool = False) -> Any:
    """Quantise rows: float32 of shape (..., values) becomes uint8 of shape (..., bytes).

    Args:
        xp: the array namespace.
        x: the rows.
        layout: how fused rows are laid out.
        greedy: give up a little at the ends of the range where that makes the whole more exact.
    """
    require(x.ndim > 0 and x.shape[-1] > 0, "rows must have at least one value")
    require(x.shape[-1] % (8 // layout.bits) == 0, f"rows must have a multiple of {8 // layout.bits} values")
    x = x.astype("float32")
    # The first of equal ends, which matters where 0 and -0 are both there.
    low = xp.take_along_axis(x, x.argmin(axis=-1)[..., None], axis=-1)
    high = xp.take_along_axis(x, x.argmax(axis=-1)[..., None], axis=-1)
    if layout is EIGHT:
        values, scale, bias = _by_range(xp, x, low, high)
    else:
        most = (1 << layout.bits) - 1
        if greedy:
            low, high = _narrow(xp, x, low, high, most)
        values, scale, bias = _by_scale(xp, x, low, high, most)
    packed = _gather_bits(xp, values.astype("uint8"), layout.stored)
    footer = xp.concatenate([scale, bias], axis=-1).astype(layout.footer)
    return xp.concatenate([packed, xp.ascontiguousarray(footer).view("uint8")], axis=-1)


def _gather_bits(xp: Any, values: Any, bits: int) -> Any:
    if bits == 8:
        return values
    grouped = values.reshape(*values.shape[:-1], values.shape[-1] * bits // 8, 8 // bits)
    return (grouped << xp.arange(0, 8, bits, dtype="uint8")).sum(axis=-1).astype("uint8")


def _by_range(xp: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    most, span = xp.float32(255), high - low
    # The summand keeps constant rows from dividing by zero.
    return xp.rint((x - low) * (most / (span + xp.float32(1e-8)))), span / most, low


def _by_scale(xp: Any, x: Any, low: Any, high: Any, most: int) -> tuple[Any, Any, Any]:
    """Scale and bias are rounded to half floats first, so that values are quantised by what will be read."""
    low = low.astype("float16").astype("float32")
    scale = ((high - low) / xp.float32(most)).astype("float16").astype("float32")
    inverse = 1 / scale
    usable = (scale != 0) & xp.isfinite(inverse)
    scale, inverse = xp.where(usable, scale, 1).astype("float32"), xp.where(usable, inverse, 1).astype("float32")
    return xp.clip(xp.rint((x - low) * inverse), 0, most), scale, low


_BINS = 200
_RATIO = 0.16


def _narrow(xp: Any, x: Any, low: Any, high: Any, most: int) -> tuple[Any, Any]:
    """Move the ends of each row's range inwards in small steps, and keep the range with the least squared error.

    In each step that end moves whose move costs less, until a share `_RATIO` of the range is given up.
    """

    def error(low: Any, high: Any) -> Any:
        values, scale, bias = _by_scale(xp, x, low, high, most)
        missed = x - (values * scale + bias)
        return xp.sqrt((missed * missed).sum(axis=-1, keepdims=True))

    step = (high - low) / xp.float32(_BINS)
    least = xp.float32(int(_BINS * (1 - _RATIO))) * step
    now_low, now_high, now = low, high, error(low, high)
    best = now
    while bool((going := now_low + least < now_high).any()):
        from_left, from_right = error(now_low + step, now_high), error(now_low, now_high - step)
        better = going & (now < from_left) & (now < from_right) & (now < best)
        best = xp.where(better, now, best)
        low, high = xp.where(better, now_low, low), xp.where(better, now_high, high)
        left = from_left < from_right
        now = xp.where(going, xp.where(left, from_left, from_right), now)
        now_low = xp.where(going & left, now_low + step, now_low)
        now_high = xp.where(going & ~left, now_high - step, now_high)
    return low, high
