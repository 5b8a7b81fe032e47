"""Shapes and layout: reshape, concatenate, split, slice, tile, pad, resize, permute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, emit
from gradviz.ops.schema import MANY
from gradviz.proto import Argument

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule


def _dims(gradient: str) -> str:
    """Name of the second output of a Reshape or Concat that makes `gradient`: upstream's throw-away of old sizes."""
    return f"_{gradient}_dims"


def _reshape_gradient(m: Maker) -> list[GradientOp]:
    gradient = m.GI(0)
    return [m.make("Reshape", [m.GO(0), m.O(1)], [gradient, _dims(gradient)], copied=None)]


def _concat_gradient(m: Maker) -> list[GradientOp]:
    if not m.has_GO(0):
        return []
    return [m.make("Split", [m.GO(0), m.O(1)], [m.GI(i) for i in range(len(m.op.inputs))])]


def _split_gradient(m: Maker) -> list[GradientOp]:
    """Outputs without a gradient are left out, although the sizes then no longer add up."""
    parts = [m.GO(i) for i in range(len(m.op.outputs)) if m.has_GO(i)]
    if not parts:
        return []
    gradient = m.GI(0)
    return [m.make("Concat", parts, [gradient, _dims(gradient)])]


def _slice_gradient(m: Maker) -> list[GradientOp]:
    bounds = [m.I(1), m.I(2)] if len(m.op.inputs) > 1 else []
    return [m.make("SliceGradient", [m.I(0), *bounds, m.GO(0)], [m.GI(0)])]


def _tile_gradient(m: Maker) -> list[GradientOp]:
    return [m.make("TileGradient", [m.GO(0), *m.op.inputs[1:]], [m.GI(0)])]


def _transpose_gradient(m: Maker) -> list[GradientOp]:
    """The forward's arguments, the first `axes` inverted."""
    axes = m.args.get("axes")
    own = [_inverted(m, each) if each is axes else each for each in m.op.proto.arg]
    return [m.make("Transpose", [m.GO(0)], [m.GI(0)], *own, copied=None)]


def _inverted(m: Maker, axes: Argument) -> Argument:
    inverse = list(axes.ints)
    for position, axis in enumerate(axes.ints):
        if not 0 <= axis < len(inverse):
            m.refuse(f"axes {list(axes.ints)} is no permutation", axes=list(axes.ints))
        inverse[axis] = position
    made = Argument()
    made.CopyFrom(axes)
    made.ints[:] = inverse
    return made


def _resize_gradient(type: str) -> Rule:
    """Rule of resizes whose scales may come as a second input."""

    def rule(m: Maker) -> list[GradientOp]:
        return [m.make(type, [m.GO(0), *m.op.inputs], [m.GI(0)])]

    return rule


_resize_back = emit("ResizeLike", [GO(0), I(0)], [GI(0)])

operator("Reshape", inputs=(1, 2), outputs=2, inplace=[(0, 0)], args="shape", gradient=_reshape_gradient)
operator("Flatten", inputs=1, outputs=1, args="axis", gradient=_resize_back)
operator("FlattenToVec", inputs=1, outputs=1, gradient=_resize_back)
operator("Squeeze", inputs=1, outputs=1, inplace=[(0, 0)], args="dims", gradient=emit("ExpandDims", [GO(0)], [GI(0)]))
operator("ExpandDims", inputs=1, outputs=1, inplace=[(0, 0)], args="dims", gradient=emit("Squeeze", [GO(0)], [GI(0)]))
operator(
    "PrependDim",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="dim_size",
    gradient=emit("MergeDim", [GO(0)], [GI(0)], copied=None),
)
operator("MergeDim", inputs=1, outputs=1, inplace=[(0, 0)])
operator("ResizeLike", inputs=2, outputs=1, gradient=SHOULD_NOT)
operator("Shape", inputs=1, outputs=1, args="axes", gradient=SHOULD_NOT)
operator("Size", inputs=1, outputs=1, gradient=NONE)
operator("Transpose", inputs=1, outputs=1, args="axes", gradient=_transpose_gradient)
operator("NCHW2NHWC", inputs=1, outputs=1, gradient=emit("NHWC2NCHW", [GO(0)], [GI(0)]))
operator("NHWC2NCHW", inputs=1, outputs=1, gradient=emit("NCHW2NHWC", [GO(0)], [GI(0)]))
operator("Concat", inputs=(1, MANY), outputs=2, args="axis order add_axis", gradient=_concat_gradient)
operator("Split", inputs=(1, 2), outputs=(1, MANY), args="axis add_axis split order", gradient=_split_gradient)
operator("SplitByLengths", inputs=2, outputs=(1, MANY), args="axis order use_scaling_lengths", gradient=_split_gradient)
operator("DepthConcat", inputs=(1, MANY), outputs=2, gradient=_concat_gradient)
operator("DepthSplit", inputs=(1, 2), outputs=(1, MANY), gradient=_split_gradient)
operator("Slice", inputs=(1, 3), outputs=1, args="starts ends", gradient=_slice_gradient)
operator("SliceGradient")
operator("Tile", inputs=(1, 3), outputs=1, args="tiles axis", gradient=_tile_gradient)
operator("TileGradient", inputs=(1, 3), outputs=1)
operator("NumpyTile", inputs=2)
operator("Expand", inputs=2, outputs=1, gradient=emit("ExpandGradient", [GO(0), I(0)], [GI(0)]))
operator("ExpandGradient", inputs=2, outputs=1)
operator("LengthsTile", inputs=2, outputs=1, gradient=emit("LengthsSum", [GO(0), I(1)], [GI(0)]))
operator("Append", inputs=2, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
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
operator("ChannelShuffle", inputs=1, outputs=1, gradient=emit("ChannelShuffleGradient", [GO(0)], [GI(0)]))
operator("ChannelShuffleGradient", inputs=1, outputs=1)
operator(
    "SpaceToBatch", inputs=1, outputs=1, args="pad block_size order", gradient=emit("BatchToSpace", [GO(0)], [GI(0)])
)
operator(
    "BatchToSpace", inputs=1, outputs=1, args="pad block_size order", gradient=emit("SpaceToBatch", [GO(0)], [GI(0)])
)
operator("IsEmpty", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("ComputeOffset", inputs=(1, MANY), outputs=1, gradient=SHOULD_NOT)
