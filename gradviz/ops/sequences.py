"""Sequences of unequal lengths: packing, padding, reversing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import NONE, operator
from gradviz.ops.rules import GI, GO, I, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _padded_gradient(m: Maker) -> list[str]:
    """What the gradients of padding read: the output's gradient and, where there are lengths, the new lengths."""
    return [m.GO(0), m.O(1)] if len(m.op.inputs) > 1 else [m.GO(0)]


def _add_padding_gradient(m: Maker) -> list[GradientOp]:
    reads = _padded_gradient(m)
    made = [m.make("RemovePadding", reads, [m.GI(0)])]
    if len(m.op.inputs) > 2:
        made.append(m.make("GatherPadding", reads, [m.GI(i) for i in range(2, len(m.op.inputs))]))
    return made


def _remove_padding_gradient(m: Maker) -> list[GradientOp]:
    return [m.make("AddPadding", _padded_gradient(m), [m.GI(0)])]


operator(
    "PackSegments",
    inputs=2,
    outputs=(1, 2),
    args="max_length pad_minf return_presence_mask",
    gradient=emit("UnpackSegments", [I(0), GO(0)], [GI(1)]),
)
operator(
    "UnpackSegments", inputs=2, outputs=1, args="max_length", gradient=emit("PackSegments", [I(0), GO(0)], [GI(1)])
)
operator("PackRNNSequence", inputs=2, outputs=1, gradient=emit("UnpackRNNSequence", [GO(0), I(1)], [GI(0)]))
operator("UnpackRNNSequence", inputs=2, outputs=1, gradient=emit("PackRNNSequence", [GO(0), I(1)], [GI(0)]))
operator("ReversePackedSegs", inputs=2, outputs=1, gradient=emit("ReversePackedSegs", [GO(0), I(1)], [GI(0)]))
operator(
    "AddPadding", inputs=(1, 4), outputs=(1, 2), args="padding_width end_padding_width", gradient=_add_padding_gradient
)
operator(
    "RemovePadding",
    inputs=(1, 2),
    outputs=(1, 2),
    args="padding_width end_padding_width",
    gradient=_remove_padding_gradient,
)
operator("GatherPadding", inputs=2, outputs=(1, 2), args="padding_width end_padding_width")
operator("PadEmptySamples", inputs=(1, MANY), outputs=(1, MANY))
operator("LengthsPad", inputs=2, outputs=1, args="padding_value target_length", gradient=NONE)
operator("VariableLengthSequencePadding", inputs=2, outputs=1, inplace=[(0, 0)])
operator("SinusoidPositionEncoding", inputs=1, outputs=1, args="embedding_size alpha amplitude")
