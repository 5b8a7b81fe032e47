"""Sequences of unequal lengths: packing, padding, reversing."""

from gradviz.ops.registry import NONE, TODO, operator
from gradviz.ops.schema import MANY

operator("PackSegments", inputs=2, outputs=(1, 2), args="max_length pad_minf return_presence_mask", gradient=TODO)
operator("UnpackSegments", inputs=2, outputs=1, args="max_length", gradient=TODO)
operator("PackRNNSequence", inputs=2, outputs=1, gradient=TODO)
operator("UnpackRNNSequence", inputs=2, outputs=1, gradient=TODO)
operator("ReversePackedSegs", inputs=2, outputs=1, gradient=TODO)
operator("AddPadding", inputs=(1, 4), outputs=(1, 2), args="padding_width end_padding_width", gradient=TODO)
operator("RemovePadding", inputs=(1, 2), outputs=(1, 2), args="padding_width end_padding_width", gradient=TODO)
operator("GatherPadding", inputs=2, outputs=(1, 2), args="padding_width end_padding_width")
operator("PadEmptySamples", inputs=(1, MANY), outputs=(1, MANY))
operator("LengthsPad", inputs=2, outputs=1, args="padding_value target_length", gradient=NONE)
operator("VariableLengthSequencePadding", inputs=2, outputs=1, inplace=[(0, 0)])
operator("SinusoidPositionEncoding", inputs=1, outputs=1, args="embedding_size alpha amplitude")
