"""Normalisation over batches, channels, layers and neighbourhoods."""

from gradviz.ops.registry import SHOULD_NOT, TODO, operator

operator(
    "SpatialBN",
    arities=[(5, 1), (5, 5), (7, 1), (7, 5)],
    inplace=[(0, 0)],
    enforced=[(3, 1), (4, 2)],
    args="is_test epsilon order momentum num_batches",
    required="is_test",
    gradient=TODO,
)
operator("SpatialBNGradient", outputs=3, arities=[(5, 3), (7, 3)], inplace=[(5, 1)])
operator("LRN", inputs=1, outputs=(1, 2), args="size alpha beta bias order", gradient=TODO)
operator("LRNGradient", inputs=3, outputs=1)
operator("InstanceNorm", inputs=3, outputs=(1, 3), inplace=[(0, 0)], args="epsilon order", gradient=TODO)
operator("InstanceNormGradient", inputs=(4, 6), outputs=3)
operator("LayerNorm", outputs=3, arities=[(1, 3), (3, 3)], args="axis epsilon elementwise_affine", gradient=TODO)
operator("LayerNormGradient", arities=[(5, 1), (5, 3), (6, 1), (6, 3)])
operator("GroupNorm", inputs=3, arities=[(3, 1), (3, 3)], args="num_groups epsilon", gradient=TODO)
operator("GroupNormGradient", inputs=6, outputs=3)
operator("RMSNorm", inputs=3, outputs=2, args="axis epsilon", gradient=TODO)
operator("RMSNormGradient", inputs=4, outputs=3)
operator("Normalize", inputs=1, outputs=1, args="axis", gradient=TODO)
operator("NormalizeGradient", inputs=2, outputs=1, args="axis")
operator("NormalizeL1", inputs=1, outputs=1, args="axis")
operator("NormalizePlanarYUV", inputs=3, outputs=1, inplace=[(0, 0)])
operator("AffineChannel", inputs=3, outputs=1, inplace=[(0, 0)], gradient=TODO)
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
