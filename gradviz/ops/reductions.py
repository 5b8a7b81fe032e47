"""Reductions over dimensions, and what ranks or counts elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule


def with_lengths(type: str, *, reads_output: bool = False) -> Rule:
    """Reductions with an optional second input, the lengths: the gradient operator reads it where it is there."""

    def rule(maker: Maker) -> list[GradientOp]:
        inputs = [maker.GO(0), maker.I(0)]
        if reads_output:
            inputs.append(maker.O(0))
        return [maker.make(type, [*inputs, *maker.op.inputs[1:2]], [maker.GI(0)])]

    return rule


def front_weighted_sum_rule(maker: Maker) -> list[GradientOp]:
    """The data's shape goes through a blob of its own; the weights get no gradient, whatever `grad_on_weights` says."""
    shape = f"_{maker.O(0)}_dims"
    return [
        maker.make("Shape", [maker.I(0)], [shape]),
        maker.make("ReduceFrontWeightedSumGradient", [maker.I(1), maker.GO(0), shape], [maker.GI(0)]),
    ]


operator(
    "ReduceSum",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceSumGradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceSumGradient", inputs=3, outputs=1)
operator(
    "ReduceMean",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceMeanGradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceMeanGradient", inputs=3, outputs=1)
operator(
    "ReduceMax",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceMaxGradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceMaxGradient", inputs=3, outputs=1)
operator(
    "ReduceMin",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceMinGradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceMinGradient", inputs=3, outputs=1)
operator(
    "ReduceL1",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceL1Gradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceL1Gradient", inputs=3, outputs=1)
operator(
    "ReduceL2",
    inputs=1,
    outputs=1,
    args="axes keepdims",
    gradient=emit("ReduceL2Gradient", [GO(0), I(0), O(0)], [GI(0)]),
)
operator("ReduceL2Gradient", inputs=3, outputs=1)
operator(
    "ReduceBackMax",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceBackMaxGradient", reads_output=True),
)
operator("ReduceBackMaxGradient", inputs=(3, 4), outputs=1)
operator(
    "ReduceBackMean", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceBackMeanGradient")
)
operator("ReduceBackMeanGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceBackSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceBackSumGradient")
)
operator("ReduceBackSumGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceFrontMax",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceFrontMaxGradient", reads_output=True),
)
operator("ReduceFrontMaxGradient", inputs=(3, 4), outputs=1)
operator(
    "ReduceFrontMean",
    inputs=(1, 2),
    outputs=1,
    args="num_reduce_dims",
    gradient=with_lengths("ReduceFrontMeanGradient"),
)
operator("ReduceFrontMeanGradient", inputs=(2, 3), outputs=1)
operator(
    "ReduceFrontSum", inputs=(1, 2), outputs=1, args="num_reduce_dims", gradient=with_lengths("ReduceFrontSumGradient")
)
operator("ReduceFrontSumGradient", inputs=(2, 3), outputs=1)
operator("ReduceFrontWeightedSum", inputs=2, outputs=1, args="grad_on_weights", gradient=front_weighted_sum_rule)
operator("ReduceFrontWeightedSumGradient", inputs=3, outputs=1)
operator("ReduceTailSum", inputs=1, outputs=1)
operator("ColwiseMax", inputs=1, outputs=1, gradient=emit("ColwiseMaxGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("ColwiseMaxGradient")
operator("RowwiseMax", inputs=1, outputs=1, gradient=emit("RowwiseMaxGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("RowwiseMaxGradient", inputs=3, outputs=1)
operator(
    "SumElements", inputs=1, outputs=1, args="average", gradient=emit("SumElementsGradient", [I(0), GO(0)], [GI(0)])
)
operator("SumElementsGradient", inputs=2, outputs=1)
operator("SumElementsInt", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("SumSqrElements", inputs=1, outputs=1, args="average")
operator(
    "Moments",
    inputs=1,
    outputs=2,
    args="axes keepdims",
    gradient=emit("MomentsGradient", [GO(0), GO(1), I(0), O(0)], [GI(0)]),
)
operator("MomentsGradient", inputs=4, outputs=1)
operator("BatchMoments", inputs=1, outputs=2, gradient=emit("BatchMomentsGradient", [GO(0), GO(1), I(0)], [GI(0)]))
operator("BatchMomentsGradient", inputs=3, outputs=1)
operator("ArgMax", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("ArgMin", inputs=1, outputs=1, args="axis keepdims", gradient=SHOULD_NOT)
operator("TopK", inputs=(1, 2), outputs=(2, 3), gradient=emit("TopKGradient", [GO(0), O(1), I(0)], [GI(0)]))
operator("TopKGradient", inputs=3, outputs=1)
operator("FlexibleTopK", inputs=2, outputs=2, gradient=emit("FlexibleTopKGradient", [I(0), I(1), GO(0), O(1)], [GI(0)]))
operator("FlexibleTopKGradient", inputs=4, outputs=1)
operator("LpNorm", inputs=1, outputs=1, args="p average", gradient=emit("LpNormGradient", [I(0), GO(0)], [GI(0)]))
operator("LpNormGradient", inputs=2, outputs=1, args="p average")
operator("AveragedLoss", inputs=1, outputs=1, gradient=emit("AveragedLossGradient", [I(0), GO(0)], [GI(0)]))
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
operator("IntegralImage", inputs=1, outputs=1, gradient=emit("IntegralImageGradient", [I(0), GO(0)], [GI(0)]))
operator("IntegralImageGradient", inputs=2, outputs=1)
operator("ColumnMaxGradient", inputs=3, outputs=1, runs=False)
