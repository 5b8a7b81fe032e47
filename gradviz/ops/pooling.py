"""Pooling over windows and over regions of interest."""

from gradviz.ops.registry import SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit

operator("AveragePool", inputs=1, outputs=1, gradient=emit("AveragePoolGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("AveragePoolGradient", inputs=3, outputs=1)
operator("AveragePool1D", inputs=1, outputs=1, gradient=emit("AveragePool1DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("AveragePool1DGradient", inputs=3, outputs=1)
operator("AveragePool2D", inputs=1, outputs=1, gradient=emit("AveragePool2DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("AveragePool2DGradient", inputs=3, outputs=1)
operator("AveragePool3D", inputs=1, outputs=1, gradient=emit("AveragePool3DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("AveragePool3DGradient", inputs=3, outputs=1)
operator("MaxPool", inputs=1, outputs=1, gradient=emit("MaxPoolGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MaxPoolGradient", inputs=3, outputs=1)
operator("MaxPool1D", inputs=1, outputs=1, gradient=emit("MaxPool1DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MaxPool1DGradient", inputs=3, outputs=1)
operator("MaxPool2D", inputs=1, outputs=1, gradient=emit("MaxPool2DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MaxPool2DGradient", inputs=3, outputs=1)
operator("MaxPool3D", inputs=1, outputs=1, gradient=emit("MaxPool3DGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MaxPool3DGradient", inputs=3, outputs=1)
operator(
    "MaxPoolWithIndex", inputs=1, outputs=2, gradient=emit("MaxPoolWithIndexGradient", [I(0), GO(0), O(1)], [GI(0)])
)
operator("MaxPoolWithIndexGradient")
operator(
    "LpPool",
    inputs=1,
    outputs=1,
    args="p kernel stride pad dilation order",
    gradient=emit("LpPoolGradient", [I(0), O(0), GO(0)], [GI(0)]),
)
operator("LpPoolGradient", inputs=3, outputs=1)
operator(
    "RoIPool",
    inputs=2,
    arities=[(2, 1), (2, 2)],
    args="is_test order pooled_h pooled_w spatial_scale",
    gradient=emit("RoIPoolGradient", [I(0), I(1), O(1), GO(0)], [GI(0)]),
)
operator("RoIPoolGradient", inputs=4, outputs=1)
operator(
    "RoIAlign",
    inputs=2,
    outputs=1,
    args="spatial_scale pooled_h pooled_w sampling_ratio",
    gradient=emit("RoIAlignGradient", [I(0), I(1), GO(0)], [GI(0)]),
)
operator("RoIAlignGradient", inputs=3, outputs=1)
operator(
    "RoIAlignRotated",
    inputs=2,
    outputs=1,
    args="spatial_scale pooled_h pooled_w sampling_ratio",
    gradient=emit("RoIAlignRotatedGradient", [I(0), I(1), GO(0)], [GI(0)]),
)
operator("RoIAlignRotatedGradient", inputs=3, outputs=1)
operator("RMACRegions", inputs=1, outputs=1, args="scales overlap", gradient=SHOULD_NOT)
