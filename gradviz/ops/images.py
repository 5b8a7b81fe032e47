"""Batches of images: padded, resized, their channels shuffled, space folded into the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import only, require
from gradviz.ops._images import along_axis, channel_axis, linear_sources, nearest_sources, padding_sources, resized
from gradviz.ops._rows import add_along
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import kernel, operator
from gradviz.ops.rules import GI, GO, I, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule

Array = Any


def _resize_gradient(type: str) -> Rule:
    """Rule of resizes whose scales may come as a second input."""

    def rule(m: Maker) -> list[GradientOp]:
        return [m.make(type, [m.GO(0), *m.op.inputs], [m.GI(0)])]

    return rule


# Images: padded and resized.

operator("PadImage", inputs=1, outputs=1, gradient=emit("PadImageGradient", [GO(0)], [GI(0)]))
operator("PadImageGradient", inputs=1, outputs=1)
operator(
    "ResizeNearest",
    inputs=(1, 2),
    outputs=1,
    args="width_scale height_scale",
    gradient=_resize_gradient("ResizeNearestGradient"),
)
operator("ResizeNearestGradient", inputs=(2, 3), outputs=1, args="width_scale height_scale")
operator(
    "ResizeNearest3D",
    inputs=1,
    outputs=1,
    args="temporal_scale width_scale height_scale",
    gradient=emit("ResizeNearest3DGradient", [GO(0), I(0)], [GI(0)]),
)
operator("ResizeNearest3DGradient", inputs=2, outputs=1, args="temporal_scale width_scale height_scale")
operator(
    "UpsampleBilinear",
    inputs=(1, 2),
    outputs=1,
    args="width_scale height_scale",
    gradient=_resize_gradient("UpsampleBilinearGradient"),
)
operator("UpsampleBilinearGradient", inputs=(2, 3), outputs=1, args="width_scale height_scale")


@kernel("PadImage")
@only("float32")
def pad_image(
    xp: Any, x: Array, *, mode: str = "constant", value: float = 0.0, order: str = "NCHW", **args: Any
) -> Array:
    """Pads may be negative: they crop. `reflect` leaves out the border itself."""
    require(x.ndim == 4, f"an image batch has rank 4, not {x.ndim}")
    padded = x
    for axis, before, after in _image_pads(order, args):
        places, inside = padding_sources(xp, x.shape[axis], before, after, mode)
        padded = xp.take(padded, places, axis=axis)
        if mode == "constant":
            padded = xp.where(along_axis(inside, axis, 4), padded, x.dtype.type(value))
    return padded


@kernel("PadImageGradient")
@only("float32")
def pad_image_gradient(xp: Any, dy: Array, *, mode: str = "constant", order: str = "NCHW", **args: Any) -> Array:
    """Each padded place gives its gradient back to where its value came from."""
    require(dy.ndim == 4, f"an image batch has rank 4, not {dy.ndim}")
    for axis, before, after in _image_pads(order, args):
        size = dy.shape[axis] - before - after
        places, inside = padding_sources(xp, size, before, after, mode)
        if mode == "constant":
            dy = xp.where(along_axis(inside, axis, 4), dy, 0)
        dy = add_along(xp, dy, places, axis, size)
    return dy


def _image_pads(order: str, args: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Axis, pad before and pad after, for height and width; of several ways to give pads the later counts here."""
    top, left, bottom, right = args.get("pads") or [0, 0, 0, 0]
    if "pad" in args:
        top = left = bottom = right = args["pad"]
    elif all(f"pad_{side}" in args for side in "tlbr"):
        top, left, bottom, right = (args[f"pad_{side}"] for side in "tlbr")
    height = channel_axis(order) % 3 + 1
    return [(height, top, bottom), (height + 1, left, right)]


@kernel("ResizeNearest")
def resize_nearest(
    xp: Any,
    x: Array,
    scales: Array = None,
    *,
    height_scale: float = 1.0,
    width_scale: float = 1.0,
    order: str = "NCHW",
) -> Array:
    expect("float32", x)
    for axis, scale in _image_scales(x, order, scales, height_scale, width_scale):
        x = xp.take(x, nearest_sources(xp, x.shape[axis], resized(xp, x.shape[axis], scale), scale), axis=axis)
    return x


@kernel("ResizeNearestGradient")
def resize_nearest_gradient(
    xp: Any,
    dy: Array,
    x: Array,
    scales: Array = None,
    *,
    height_scale: float = 1.0,
    width_scale: float = 1.0,
    order: str = "NCHW",
) -> Array:
    expect("float32", dy)
    for axis, scale in _image_scales(dy, order, scales, height_scale, width_scale):
        dy = add_along(xp, dy, nearest_sources(xp, x.shape[axis], dy.shape[axis], scale), axis, x.shape[axis])
    return dy


def _image_scales(x: Array, order: str, scales: Array, height: float, width: float) -> list[tuple[int, float]]:
    require(x.ndim == 4, f"an image batch has rank 4, not {x.ndim}")
    if scales is not None:
        expect("float32", scales)
        require(scales.shape == (2,), f"the scales of height and width are wanted, not shape {scales.shape}")
        height, width = scales.tolist()
    require(height > 0 and width > 0, f"scales {height} and {width} must be positive")
    first = channel_axis(order) % 3 + 1
    return [(first, height), (first + 1, width)]


@kernel("ResizeNearest3D")
@only("float32")
def resize_nearest_3d(
    xp: Any, x: Array, *, temporal_scale: float = 1.0, height_scale: float = 1.0, width_scale: float = 1.0
) -> Array:
    require(x.ndim == 5, f"a video batch has rank 5, not {x.ndim}")
    for axis, scale in ((2, temporal_scale), (3, height_scale), (4, width_scale)):
        x = xp.take(x, nearest_sources(xp, x.shape[axis], resized(xp, x.shape[axis], scale), scale), axis=axis)
    return x


@kernel("ResizeNearest3DGradient")
@only("float32", at=[0])
def resize_nearest_3d_gradient(
    xp: Any, dy: Array, x: Array, *, temporal_scale: float = 1.0, height_scale: float = 1.0, width_scale: float = 1.0
) -> Array:
    require(dy.ndim == 5, f"a video batch has rank 5, not {dy.ndim}")
    for axis, scale in ((2, temporal_scale), (3, height_scale), (4, width_scale)):
        dy = add_along(xp, dy, nearest_sources(xp, x.shape[axis], dy.shape[axis], scale), axis, x.shape[axis])
    return dy


@kernel("UpsampleBilinear")
@only("float32", at=[0])
def upsample_bilinear(
    xp: Any, x: Array, scales: Array = None, *, height_scale: float = 1.0, width_scale: float = 1.0
) -> Array:
    """Corners fall on corners."""
    for axis, scale in reversed(_image_scales(x, "NCHW", scales, height_scale, width_scale)):
        for_low = linear_sources(xp, x.shape[axis], resized(xp, x.shape[axis], scale))
        x = sum(xp.take(x, places, axis=axis) * along_axis(weights, axis, 4) for places, weights in for_low)
    return x


@kernel("UpsampleBilinearGradient")
@only("float32", at=[0])
def upsample_bilinear_gradient(
    xp: Any, dy: Array, x: Array, scales: Array = None, *, height_scale: float = 1.0, width_scale: float = 1.0
) -> Array:
    for axis, _ in _image_scales(dy, "NCHW", scales, height_scale, width_scale):
        shares = linear_sources(xp, x.shape[axis], dy.shape[axis])
        dy = sum(add_along(xp, dy * along_axis(w, axis, 4), places, axis, x.shape[axis]) for places, w in shares)
    return dy


# Channels and space.

operator("ChannelShuffle", inputs=1, outputs=1, gradient=emit("ChannelShuffleGradient", [GO(0)], [GI(0)]))
operator("ChannelShuffleGradient", inputs=1, outputs=1)
operator(
    "SpaceToBatch", inputs=1, outputs=1, args="pad block_size order", gradient=emit("BatchToSpace", [GO(0)], [GI(0)])
)
operator(
    "BatchToSpace", inputs=1, outputs=1, args="pad block_size order", gradient=emit("SpaceToBatch", [GO(0)], [GI(0)])
)


@kernel("ChannelShuffle")
def channel_shuffle(xp: Any, x: Array, *, group: int = 1, order: str = "NCHW") -> Array:
    """Channels as a matrix with a row for each group, transposed."""
    return _shuffled(xp, x, channel_axis(order), group)


@kernel("ChannelShuffleGradient")
def channel_shuffle_gradient(xp: Any, dy: Array, *, group: int = 1, order: str = "NCHW") -> Array:
    axis = channel_axis(order)
    require(group > 0 and dy.ndim > axis, f"rank {dy.ndim} has no channels")
    return _shuffled(xp, dy, axis, max(dy.shape[axis] // group, 1) if dy.shape[axis] % group == 0 else group)


def _shuffled(xp: Any, x: Array, axis: int, rows: int) -> Array:
    expect("float32", x)
    require(x.ndim > axis, f"rank {x.ndim} has no channels")
    channels = x.shape[axis]
    require(rows > 0 and channels % rows == 0, f"{channels} channels do not divide into {rows} groups")
    matrix = x.reshape(*x.shape[:axis], rows, channels // rows, *x.shape[axis + 1 :])
    return xp.swapaxes(matrix, axis, axis + 1).reshape(x.shape)


@kernel("SpaceToBatch")
def space_to_batch(xp: Any, x: Array, *, block_size: int = 2, order: str = "NCHW", **pads: int) -> Array:
    """Each of the `block_size`² phases of the padded image becomes a batch of its own, the phase varying slowest."""
    top, left, bottom, right = _space_pads(order, pads)
    expect("float32", x)
    padded = xp.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    batch, channels, height, width = padded.shape
    require(
        height % block_size == 0 == width % block_size, f"{height} × {width} do not divide into blocks of {block_size}"
    )
    blocks = padded.reshape(batch, channels, height // block_size, block_size, width // block_size, block_size)
    phases = blocks.transpose(3, 5, 0, 1, 2, 4)
    return phases.reshape(-1, channels, height // block_size, width // block_size)


@kernel("BatchToSpace")
def batch_to_space(xp: Any, x: Array, *, block_size: int = 2, order: str = "NCHW", **pads: int) -> Array:
    top, left, bottom, right = _space_pads(order, pads)
    expect("float32", x)
    batches, channels, height, width = x.shape
    require(batches % block_size**2 == 0, f"a batch of {batches} does not divide into {block_size}² phases")
    phases = x.reshape(block_size, block_size, batches // block_size**2, channels, height, width)
    image = phases.transpose(2, 3, 4, 0, 5, 1).reshape(-1, channels, height * block_size, width * block_size)
    return image[:, :, top : image.shape[2] - bottom, left : image.shape[3] - right].copy()


def _space_pads(order: str, args: dict[str, int]) -> tuple[int, int, int, int]:
    require(order == "NCHW", f"order must be NCHW, not {order}")
    pad = args.get("pad", 0)
    top, left, bottom, right = (args.get(f"pad_{side}", pad) for side in "tlbr")
    return top, left, bottom, right
