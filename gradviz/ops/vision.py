"""Conversions between packed pictures and arrays."""

from gradviz.ops.registry import operator

operator("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", inputs=2, outputs=1)
operator("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", inputs=2, outputs=1)
