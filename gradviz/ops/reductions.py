"""Reductions over dimensions, and what ranks or counts elements."""

from gradviz.ops.registry import NONE, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("ReduceSum", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceSumGradient", inputs=3, outputs=1)
operator("ReduceMean", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceMeanGradient", inputs=3, outputs=1)
operator("ReduceMax", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceMaxGradient", inputs=3, outputs=1)
operator("ReduceMin", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceMinGradient", inputs=3, outputs=1)
operator("ReduceL1", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceL1Gradient", inputs=3, outputs=1)
operator("ReduceL2", inputs=1, outputs=1, args="axes keepdims", gradient=TODO)
operator("ReduceL2Gradient", inputs=3, outputs=1)
operator("ReduceBackMax", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceBackMaxGradient", inputs=(3, 4), outputs=1)
operator("ReduceBackMean", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceBackMeanGradient", inputs=(2, 3), outputs=1)
operator("ReduceBackSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceBackSumGradient", inputs=(2, 3), outputs=1)
operator("ReduceFrontMax", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceFrontMaxGradient", inputs=(3, 4), outputs=1)
operator("ReduceFrontMean", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceFrontMeanGradient", inputs=(2, 3), outputs=1)
operator("ReduceFrontSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=TODO)
operator("ReduceFrontSumGradient", inputs=(2, 3), outputs=1)
operator("ReduceFrontWeightedSum", inputs=2, outputs=1, args="grad_on_weights", gradient=TODO)
operator("ReduceFrontWeightedSumGradient", inputs=3, outputs=1)
operator("ReduceTailSum", inputs=1, outputs=1)
operator("ColwiseMax", inputs=1, outputs=1, gradient=TODO)
operator("ColwiseMaxGradient")
operator("RowwiseMax", inputs=1, outputs=1, gradient=TODO)
operator("RowwiseMaxGradient", inputs=3, outputs=1)
operator("SumElements", inputs=1, outputs=1, args="average", gradient=TODO)
operator("SumElementsGradient", inputs=2, outputs=1)
operator("SumElementsInt", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("SumSqrElements", inputs=1, outputs=1, args="average")
operator("Moments", inputs=1, outputs=2, args="axes keepdims", gradient=TODO)
operator("MomentsGradient", inputs=4, outputs=1)
operator("BatchMoments", inputs=1, outputs=2, gradient=TODO)
operator("BatchMomentsGradient", inputs=3, outputs=1)
operator("ArgMax", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("ArgMin", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("TopK", inputs=(1, 2), outputs=(2, 3), gradient=TODO)
operator("TopKGradient", inputs=3, outputs=1)
operator("FlexibleTopK", inputs=2, outputs=2, gradient=TODO)
operator("FlexibleTopKGradient", inputs=4, outputs=1)
operator("LpNorm", inputs=1, outputs=1, args="p average", gradient=TODO)
operator("LpNormGradient", inputs=2, outputs=1, args="p average")
operator("AveragedLoss", inputs=1, outputs=1, gradient=TODO)
operator("AveragedLossGradient", inputs=2, outputs=1)
operator("Histogram", inputs=(1, MANY), outputs=1, args="bin_edges", gradient=SHOULD_NOT)
operator("AccumulateHistogram", inputs=1, outputs=2, args="lower_bound upper_bound num_buckets", gradient=SHOULD_NOT)
operator(
    "SelfBinningHistogram",
    inputs=(1, MANY),
    outputs=2,
    args="num_bins bin_spacing logspace_start abs",
    gradient=SHOULD_NOT,
)
operator("Quantile", inputs=(1, MANY), outputs=1, args="abs tol", gradient=SHOULD_NOT)
operator("Percentile", inputs=3, outputs=1, gradient=NONE)
operator(
    "BisectPercentile",
    inputs=1,
    outputs=1,
    args="percentile_raw percentile_mapping percentile_lower percentile_upper lengths",
    gradient=NONE,
)
operator("IntegralImage", inputs=1, outputs=1, gradient=TODO)
operator("IntegralImageGradient", inputs=2, outputs=1)
operator("ColumnMaxGradient", inputs=3, outputs=1, runs=False)
