"""Losses and distances."""

from gradviz.ops.registry import SHOULD_NOT, TODO, operator

operator("CrossEntropy", inputs=2, outputs=1, gradient=TODO)
operator("CrossEntropyGradient", inputs=3, outputs=1)
operator("LabelCrossEntropy", inputs=2, outputs=1, gradient=TODO)
operator("LabelCrossEntropyGradient", inputs=3, outputs=1)
operator(
    "SoftmaxWithLoss",
    inputs=(2, 3),
    arities=[(2, 2), (2, 3), (3, 2), (3, 3)],
    args="label_prob axis scale order",
    gradient=TODO,
)
operator("SoftmaxWithLossGradient", outputs=1)
operator("SpatialSoftmaxWithLoss", inputs=(2, 3), outputs=2, gradient=TODO)
operator("SpatialSoftmaxWithLossGradient", outputs=1)
operator("SigmoidCrossEntropyWithLogits", inputs=2, outputs=1, args="log_D_trick unjoined_lr_loss", gradient=TODO)
operator("SigmoidCrossEntropyWithLogitsGradient", inputs=3, outputs=1)
operator("WeightedSigmoidCrossEntropyWithLogits", inputs=3, outputs=1, gradient=TODO)
operator("WeightedSigmoidCrossEntropyWithLogitsGradient", inputs=4, outputs=1)
operator("SquaredL2Distance", inputs=2, outputs=1, gradient=TODO)
operator("SquaredL2DistanceGradient", inputs=3, outputs=2)
operator("L1Distance", inputs=2, outputs=1, gradient=TODO)
operator("L1DistanceGradient", inputs=3, outputs=2)
operator("DotProduct", inputs=2, outputs=1, gradient=TODO)
operator("DotProductGradient", inputs=3, outputs=2)
operator("DotProductWithPadding", inputs=2, outputs=1, args="pad_value replicate", gradient=TODO)
operator("DotProductWithPaddingGradient", inputs=3, outputs=2)
operator("CosineSimilarity", inputs=2, outputs=1, gradient=TODO)
operator("CosineSimilarityGradient", inputs=3, outputs=2)
operator("CosineEmbeddingCriterion", inputs=2, outputs=1, gradient=TODO)
operator("CosineEmbeddingCriterionGradient", inputs=3, outputs=1)
operator("MarginRankingCriterion", inputs=3, outputs=1, args="margin", gradient=TODO)
operator("MarginRankingCriterionGradient", inputs=4, outputs=2)
operator("PairWiseLoss", inputs=(2, 3), outputs=1, gradient=TODO)
operator("PairWiseLossGradient", inputs=(3, 4), outputs=1)
operator("LambdaRankNdcg", inputs=3, outputs=2, gradient=TODO)
operator("LambdaRankNdcgGradient", inputs=4, outputs=1)
operator("BernoulliJSD", inputs=2, outputs=1, gradient=TODO)
operator("BernoulliJSDGradient", inputs=3, outputs=1)
operator("HSoftmax", inputs=4, outputs=2, args="hierarchy", gradient=TODO)
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
