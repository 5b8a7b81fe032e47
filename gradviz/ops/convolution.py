"""Convolutions: plain, transposed, deformable, locally connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.registry import operator
from gradviz.ops.rules import GI, GO, I, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _windowed_gradient(maker: Maker, weights: int) -> list[GradientOp]:
    """One gradient operator for the inputs before the bias, the bias if any, and, unless it is unwanted, the data.

    `weights` inputs (the filter, and before it offsets) stand between the data and the bias.
    """
    args = maker.args
    has_bias = len(maker.op.inputs) == weights + 2
    inputs = [*(maker.I(i) for i in range(weights + 1)), maker.GO(0)]
    outputs = [maker.GI(i) for i in range(1, len(maker.op.inputs))]
    if not args.flag("no_gradient_to_input"):
        outputs.append(maker.GI(0))
    own = [] if has_bias else [arg("no_bias", 1)]
    return [maker.make(maker.op.type + "Gradient", inputs, outputs, *own)]


def _conv_gradient(maker: Maker) -> list[GradientOp]:
    return _windowed_gradient(maker, weights=1)


def _deform_conv_gradient(maker: Maker) -> list[GradientOp]:
    return _windowed_gradient(maker, weights=2)


operator("Conv", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("ConvGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv1D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv2D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv3D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv3DGradient", inputs=(2, 3), outputs=(1, 3))
operator(
    "ConvTranspose",
    inputs=(2, 3),
    outputs=1,
    args="legacy_pad kernels strides pads adjs order shared_buffer no_bias",
    gradient=_conv_gradient,
)
operator("ConvTransposeGradient", inputs=3, outputs=(1, 3))
operator("ConvRelu", inputs=(2, 3), outputs=1)
operator("ConvFusion", inputs=(2, 4), outputs=1, inplace=[(2, 0), (3, 0)], args="fusion_type")
operator("DeformConv", inputs=(3, 4), outputs=1, gradient=_deform_conv_gradient)
operator("DeformConvGradient", inputs=4, outputs=(2, 4))
operator("LC", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LCGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC1D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC2D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC3D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC3DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Im2Col", inputs=1, outputs=1, gradient=emit("Col2Im", [GO(0), I(0)], [GI(0)]))
operator("Col2Im", inputs=2, outputs=1, gradient=emit("Im2Col", [GO(0)], [GI(0)]))
