"""Conversions between packed pictures and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import kernel, operator

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", inputs=2, outputs=1)
operator("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", inputs=2, outputs=1)


@kernel("PackedInt8BGRANHWCToNCHWCStylizerPreprocess")
def packed_to_planes(xp: Any, x: Any, mean: Any, *, ctx: Context, noise_std: float = 10.0) -> Any:
    """Bytes (N, H, W, 3 or 4) less the means of the three colours, with a little noise, as (N, 3, H, W)."""
    expect("uint8", x)
    expect("float32", mean)
    require(x.ndim == 4 and x.shape[3] in {3, 4} and mean.size == 3, f"X {x.shape} and mean {mean.shape} do not fit")
    planes = x[..., :3].transpose(0, 3, 1, 2).astype("float32") - mean.reshape(3, 1, 1)
    if noise_std:
        planes += ctx.random.standard_normal(planes.shape, dtype="float32") * xp.float32(noise_std)
    return xp.ascontiguousarray(planes)


@kernel("BRGNCHWCToPackedInt8BGRAStylizerDeprocess")
def planes_to_packed(xp: Any, x: Any, mean: Any) -> Any:
    """Three colours (N, 3, H, W) plus their means, as opaque bytes (N, H, W, 4)."""
    expect("float32", x, mean)
    require(x.ndim == 4 and x.shape[1] == 3 and mean.size == 3, f"X {x.shape} and mean {mean.shape} do not fit")
    packed = xp.full((x.shape[0], *x.shape[2:], 4), 255, "uint8")
    packed[..., :3] = xp.clip(x + mean.reshape(3, 1, 1), 0, 255).transpose(0, 2, 3, 1).astype("uint8")
    return packed
