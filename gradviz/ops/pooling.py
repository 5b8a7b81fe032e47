"""Pooling over windows and over regions of interest."""

from gradviz.ops.registry import SHOULD_NOT, TODO, operator

operator("AveragePool", inputs=1, outputs=1, gradient=TODO)
operator("AveragePoolGradient", inputs=3, outputs=1)
operator("AveragePool1D", inputs=1, outputs=1, gradient=TODO)
operator("AveragePool1DGradient", inputs=3, outputs=1)
operator("AveragePool2D", inputs=1, outputs=1, gradient=TODO)
operator("AveragePool2DGradient", inputs=3, outputs=1)
operator("AveragePool3D", inputs=1, outputs=1, gradient=TODO)
operator("AveragePool3DGradient", inputs=3, outputs=1)
operator("MaxPool", inputs=1, outputs=1, gradient=TODO)
operator("MaxPoolGradient", inputs=3, outputs=1)
operator("MaxPool1D", inputs=1, outputs=1, gradient=TODO)
operator("MaxPool1DGradient", inputs=3, outputs=1)
operator("MaxPool2D", inputs=1, outputs=1, gradient=TODO)
operator("MaxPool2DGradient", inputs=3, outputs=1)
operator("MaxPool3D", inputs=1, outputs=1, gradient=TODO)
operator("MaxPool3DGradient", inputs=3, outputs=1)
operator("MaxPoolWithIndex", inputs=1, outputs=2, gradient=TODO)
operator("MaxPoolWithIndexGradient")
operator("LpPool", inputs=1, outputs=1, args="p kernel stride pad dilation order", gradient=TODO)
operator("LpPoolGradient", inputs=3, outputs=1)
operator(
    "RoIPool", inputs=2, arities=[(2, 1), (2, 2)], args="is_test order pooled_h pooled_w spatial_scale", gradient=TODO
)
operator("RoIPoolGradient", inputs=4, outputs=1)
operator("RoIAlign", inputs=2, outputs=1, args="spatial_scale pooled_h pooled_w sampling_ratio", gradient=TODO)
operator("RoIAlignGradient", inputs=3, outputs=1)
operator("RoIAlignRotated", inputs=2, outputs=1, args="spatial_scale pooled_h pooled_w sampling_ratio", gradient=TODO)
operator("RoIAlignRotatedGradient", inputs=3, outputs=1)
operator("RMACRegions", inputs=1, outputs=1, args="scales overlap", gradient=SHOULD_NOT)
