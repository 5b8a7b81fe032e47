"""Convolutions: plain, transposed, deformable, locally connected."""

from gradviz.ops.registry import TODO, operator

operator("Conv", inputs=(2, 3), outputs=1, gradient=TODO)
operator("ConvGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv1D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("Conv1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv2D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("Conv2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv3D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("Conv3DGradient", inputs=(2, 3), outputs=(1, 3))
operator(
    "ConvTranspose",
    inputs=(2, 3),
    outputs=1,
    args="legacy_pad kernels strides pads adjs order shared_buffer no_bias",
    gradient=TODO,
)
operator("ConvTransposeGradient", inputs=3, outputs=(1, 3))
operator("ConvRelu", inputs=(2, 3), outputs=1)
operator("ConvFusion", inputs=(2, 4), outputs=1, inplace=[(2, 0), (3, 0)], args="fusion_type")
operator("DeformConv", inputs=(3, 4), outputs=1, gradient=TODO)
operator("DeformConvGradient", inputs=4, outputs=(2, 4))
operator("LC", inputs=(2, 3), outputs=1, gradient=TODO)
operator("LCGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC1D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("LC1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC2D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("LC2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC3D", inputs=(2, 3), outputs=1, gradient=TODO)
operator("LC3DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Im2Col", inputs=1, outputs=1, gradient=TODO)
operator("Col2Im", inputs=2, outputs=1, gradient=TODO)
