"""Losses and distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.registry import SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _softmax_with_loss_gradient(maker: Maker) -> list[GradientOp]:
    """The loss's gradient alone counts; a gradient of the softmax is ignored."""
    inputs = [*maker.op.inputs, maker.O(0), maker.GO(1)]
    return [maker.make(maker.op.type + "Gradient", inputs, [maker.GI(0)])]


def _pair_wise_loss_gradient(maker: Maker) -> list[GradientOp]:
    """The lengths, where given, come last."""
    inputs = [maker.I(0), maker.I(1), maker.GO(0), *maker.op.inputs[2:]]
    return [maker.make("PairWiseLossGradient", inputs, [maker.GI(0)])]


def _dot_product_with_padding_gradient(maker: Maker) -> list[GradientOp]:
    """The two arguments are read loosely (of doubles the first, a wrong field as 0) and stated anew."""
    given = {argument.name: argument for argument in reversed(maker.op.proto.arg)}
    pad_value = given["pad_value"].f if "pad_value" in given else 0.0
    replicate = given["replicate"].i != 0 if "replicate" in given else False
    inputs, outputs = [maker.I(0), maker.I(1), maker.GO(0)], [maker.GI(0), maker.GI(1)]
    own = [arg("pad_value", pad_value), arg("replicate", replicate)]
    return [maker.make("DotProductWithPaddingGradient", inputs, outputs, *own)]


operator("CrossEntropy", inputs=2, outputs=1, gradient=emit("CrossEntropyGradient", [I(0), I(1), GO(0)], [GI(0)]))
operator("CrossEntropyGradient", inputs=3, outputs=1)
operator(
    "LabelCrossEntropy", inputs=2, outputs=1, gradient=emit("LabelCrossEntropyGradient", [I(0), I(1), GO(0)], [GI(0)])
)
operator("LabelCrossEntropyGradient", inputs=3, outputs=1)
operator(
    "SoftmaxWithLoss",
    inputs=(2, 3),
    arities=[(2, 2), (2, 3), (3, 2), (3, 3)],
    args="label_prob axis scale order",
    gradient=_softmax_with_loss_gradient,
)
operator("SoftmaxWithLossGradient", outputs=1)
operator("SpatialSoftmaxWithLoss", inputs=(2, 3), outputs=2, gradient=_softmax_with_loss_gradient)
operator("SpatialSoftmaxWithLossGradient", outputs=1)
operator(
    "SigmoidCrossEntropyWithLogits",
    inputs=2,
    outputs=1,
    args="log_D_trick unjoined_lr_loss",
    gradient=emit("SigmoidCrossEntropyWithLogitsGradient", [GO(0), I(0), I(1)], [GI(0)]),
)
operator("SigmoidCrossEntropyWithLogitsGradient", inputs=3, outputs=1)
operator(
    "WeightedSigmoidCrossEntropyWithLogits",
    inputs=3,
    outputs=1,
    gradient=emit("WeightedSigmoidCrossEntropyWithLogitsGradient", [GO(0), I(0), I(1), I(2)], [GI(0)]),
)
operator("WeightedSigmoidCrossEntropyWithLogitsGradient", inputs=4, outputs=1)
operator(
    "SquaredL2Distance",
    inputs=2,
    outputs=1,
    gradient=emit("SquaredL2DistanceGradient", [I(0), I(1), GO(0)], [GI(0), GI(1)]),
)
operator("SquaredL2DistanceGradient", inputs=3, outputs=2)
operator("L1Distance", inputs=2, outputs=1, gradient=emit("L1DistanceGradient", [I(0), I(1), GO(0)], [GI(0), GI(1)]))
operator("L1DistanceGradient", inputs=3, outputs=2)
operator("DotProduct", inputs=2, outputs=1, gradient=emit("DotProductGradient", [I(0), I(1), GO(0)], [GI(0), GI(1)]))
operator("DotProductGradient", inputs=3, outputs=2)
operator(
    "DotProductWithPadding",
    inputs=2,
    outputs=1,
    args="pad_value replicate",
    gradient=_dot_product_with_padding_gradient,
)
operator("DotProductWithPaddingGradient", inputs=3, outputs=2)
operator(
    "CosineSimilarity",
    inputs=2,
    outputs=1,
    gradient=emit("CosineSimilarityGradient", [I(0), I(1), GO(0)], [GI(0), GI(1)]),
)
operator("CosineSimilarityGradient", inputs=3, outputs=2)
operator(
    "CosineEmbeddingCriterion",
    inputs=2,
    outputs=1,
    gradient=emit("CosineEmbeddingCriterionGradient", [I(0), I(1), GO(0)], [GI(0)]),
)
operator("CosineEmbeddingCriterionGradient", inputs=3, outputs=1)
operator(
    "MarginRankingCriterion",
    inputs=3,
    outputs=1,
    args="margin",
    gradient=emit("MarginRankingCriterionGradient", [I(0), I(1), I(2), GO(0)], [GI(0), GI(1)]),
)
operator("MarginRankingCriterionGradient", inputs=4, outputs=2)
operator("PairWiseLoss", inputs=(2, 3), outputs=1, gradient=_pair_wise_loss_gradient)
operator("PairWiseLossGradient", inputs=(3, 4), outputs=1)
operator(
    "LambdaRankNdcg", inputs=3, outputs=2, gradient=emit("LambdaRankNdcgGradient", [I(0), I(2), O(1), GO(0)], [GI(0)])
)
operator("LambdaRankNdcgGradient", inputs=4, outputs=1)
operator("BernoulliJSD", inputs=2, outputs=1, gradient=emit("BernoulliJSDGradient", [GO(0), I(0), I(1)], [GI(0)]))
operator("BernoulliJSDGradient", inputs=3, outputs=1)
operator(
    "HSoftmax",
    inputs=4,
    outputs=2,
    args="hierarchy",
    gradient=emit("HSoftmaxGradient", [I(0), I(1), I(2), I(3), O(1), GO(0)], [GI(0), GI(1), GI(2), GO(1)]),
)
operator("HSoftmaxGradient", inputs=6, outputs=4)
operator("HSoftmaxSearch", inputs=3, outputs=2, args="tree beam topN", gradient=SHOULD_NOT)
operator("HuffmanTreeHierarchy", inputs=1, outputs=1, args="num_classes")
operator("HuffmanTreeHierarchyOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("Perplexity", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator(
    "SparseLpRegularizer",
    inputs=(2, 3),
    outputs=1,
    enforced=[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)],
    args="p reg_lambda",
)
operator("SparseLpNorm", checked=False, runs=False, gradient=SHOULD_NOT)
