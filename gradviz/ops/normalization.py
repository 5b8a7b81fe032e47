"""Normalisation over batches, channels, layers and neighbourhoods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _spatial_bn_gradient(maker: Maker) -> list[GradientOp]:
    """In test mode the statistics are inputs; in training the saved ones.

    Over several batches the sums of the scale's and the bias's gradients come in under the names they go out.
    """
    if maker.args.flag("is_test"):
        _expect_counts(maker, 5, 1)
        statistics = [maker.I(3), maker.I(4)]
    elif maker.args.integer("num_batches", 1) > 1:
        _expect_counts(maker, 7, 5)
        statistics = [maker.O(3), maker.O(4), maker.GI(1), maker.GI(2)]
    else:
        _expect_counts(maker, 5, 5)
        statistics = [maker.O(3), maker.O(4)]
    inputs = [maker.I(0), maker.I(1), maker.GO(0), *statistics]
    return [maker.make("SpatialBNGradient", inputs, [maker.GI(0), maker.GI(1), maker.GI(2)])]


def _expect_counts(maker: Maker, inputs: int, outputs: int) -> None:
    found = len(maker.op.inputs), len(maker.op.outputs)
    if found != (inputs, outputs):
        maker.refuse(
            f"with these values of is_test and num_batches it needs {inputs} inputs and {outputs} outputs, "
            f"but has {found[0]} and {found[1]}"
        )


def _instance_norm_gradient(maker: Maker) -> list[GradientOp]:
    """The saved statistics are read where the forward operator gives them out."""
    inputs = [maker.I(0), maker.I(1), maker.I(2), maker.GO(0), *maker.op.outputs[1:3]]
    return [maker.make("InstanceNormGradient", inputs, [maker.GI(0), maker.GI(1), maker.GI(2)])]


def _layer_norm_gradient(maker: Maker) -> list[GradientOp]:
    inputs = [maker.GO(0), maker.O(0), maker.O(1), maker.O(2), maker.I(0)]
    outputs = [maker.GI(0)]
    if maker.args.flag("elementwise_affine"):
        inputs.append(maker.I(1))
        outputs += [maker.GI(1), maker.GI(2)]
    return [maker.make("LayerNormGradient", inputs, outputs)]


def _affine_channel_gradient(maker: Maker) -> list[GradientOp]:
    """Scale and bias get gradients only where `is_learnable` is given; only then is the data read."""
    if maker.args.flag("is_learnable"):
        inputs, outputs = [maker.GO(0), maker.I(0), maker.I(1)], [maker.GI(0), maker.GI(1), maker.GI(2)]
    else:
        inputs, outputs = [maker.GO(0), maker.I(1)], [maker.GI(0)]
    return [maker.make("AffineChannelGradient", inputs, outputs)]


operator(
    "SpatialBN",
    arities=[(5, 1), (5, 5), (7, 1), (7, 5)],
    inplace=[(0, 0), (5, 3), (6, 4)],
    enforced=[(3, 1), (4, 2)],
    args="is_test epsilon order momentum num_batches",
    required="is_test",
    gradient=_spatial_bn_gradient,
)
operator("SpatialBNGradient", outputs=3, arities=[(5, 3), (7, 3)], inplace=[(5, 1), (6, 2)])
operator(
    "LRN",
    inputs=1,
    outputs=(1, 2),
    args="size alpha beta bias order",
    gradient=emit("LRNGradient", [I(0), O(0), GO(0)], [GI(0)]),
)
operator("LRNGradient", inputs=3, outputs=1)
operator(
    "InstanceNorm", inputs=3, outputs=(1, 3), inplace=[(0, 0)], args="epsilon order", gradient=_instance_norm_gradient
)
operator("InstanceNormGradient", inputs=(4, 6), outputs=3)
operator(
    "LayerNorm",
    outputs=3,
    arities=[(1, 3), (3, 3)],
    args="axis epsilon elementwise_affine",
    gradient=_layer_norm_gradient,
)
operator("LayerNormGradient", arities=[(5, 1), (5, 3), (6, 1), (6, 3)])
operator(
    "GroupNorm",
    inputs=3,
    arities=[(3, 1), (3, 3)],
    args="num_groups epsilon",
    gradient=emit("GroupNormGradient", [GO(0), I(0), I(1), I(2), O(1), O(2)], [GI(0), GI(1), GI(2)]),
)
operator("GroupNormGradient", inputs=6, outputs=3)
operator(
    "RMSNorm",
    inputs=3,
    outputs=2,
    args="axis epsilon",
    gradient=emit("RMSNormGradient", [GO(0), I(0), I(1), O(1)], [GI(0), GI(1), GI(2)]),
)
operator("RMSNormGradient", inputs=4, outputs=3)
operator("Normalize", inputs=1, outputs=1, args="axis", gradient=emit("NormalizeGradient", [I(0), GO(0)], [GI(0)]))
operator("NormalizeGradient", inputs=2, outputs=1, args="axis")
operator("NormalizeL1", inputs=1, outputs=1, args="axis")
operator("NormalizePlanarYUV", inputs=3, outputs=1, inplace=[(0, 0)])
operator("AffineChannel", inputs=3, outputs=1, inplace=[(0, 0)], gradient=_affine_channel_gradient)
operator("AffineChannelGradient", arities=[(2, 1), (2, 3), (3, 1), (3, 3)], inplace=[(0, 0)])
operator("ChannelStats", inputs=1, outputs=2, gradient=SHOULD_NOT)
operator("ChannelBackpropStats", inputs=4, outputs=2, gradient=SHOULD_NOT)
operator("C10LayerNorm_DontUseThisOpYet", checked=False)
operator(
    "SparseNormalize",
    inputs=(2, 3),
    outputs=1,
    enforced=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)],
    args="use_max_norm norm",
    gradient=SHOULD_NOT,
)
operator(
    "Float16SparseNormalize",
    inputs=(2, 3),
    outputs=1,
    enforced=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)],
    args="use_max_norm norm",
    gradient=SHOULD_NOT,
)
operator(
    "WeightScale", inputs=2, outputs=1, inplace=[(0, 0)], args="stepsize upper_bound_iter scale", gradient=SHOULD_NOT
)
