"""Reductions over segments, given by lengths, ids or ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.records import GradientSlice
from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GI_V, GO, I, Maker, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Rule


def at_indices(indices: int, rows: Rule) -> Rule:
    """The data gets a sparse gradient: what `rows` makes first are its values, input `indices` its indices."""

    def rule(m: Maker) -> list[GradientOp]:
        made = rows(m)
        m.g_input[0] = GradientSlice(m.I(indices), made[0].outputs[0])
        return made

    return rule


def by_weights(plain: Rule, with_weights: Rule | None = None) -> Rule:
    """Weights are constants to `plain`; `grad_on_weights` asks for `with_weights`, which segment ids do not have."""

    def rule(m: Maker) -> list[GradientOp]:
        if not m.args.flag("grad_on_weights"):
            return plain(m)
        if with_weights is None:
            m.refuse("the argument grad_on_weights is implemented for lengths only, not for segment ids")
        return with_weights(m)

    return rule


operator(
    "LengthsSum",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsIndicesInGradientSumGradient", [GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsIndicesInGradientSumGradient", inputs=3, outputs=1)
operator("LengthsSumGradient", inputs=2, outputs=1)
operator(
    "LengthsMean",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsIndicesInGradientMeanGradient", [GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsIndicesInGradientMeanGradient", inputs=3, outputs=1)
operator("LengthsMeanGradient", inputs=2, outputs=1)
operator(
    "LengthsMax",
    inputs=2,
    outputs=1,
    gradient=emit("LengthsMaxWithMainInputAndForwardOutputGradient", [O(0), GO(0), I(1), I(0)], [GI(0)]),
)
operator("LengthsMaxWithMainInputAndForwardOutputGradient", inputs=4, outputs=(1, MANY))
operator(
    "LengthsWeightedSum",
    inputs=3,
    outputs=1,
    args="grad_on_weights",
    gradient=by_weights(
        emit("LengthsWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)]),
        with_weights=emit("LengthsWeightedSumWithMainInputGradient", [I(1), GO(0), I(2), I(0)], [GI(0), GI(1)]),
    ),
)
operator("LengthsWeightedSumGradient", inputs=3, outputs=1)
operator("LengthsWeightedSumWithMainInputGradient", inputs=4, outputs=(1, MANY))
operator(
    "LengthsTopK", inputs=2, outputs=2, args="k", gradient=emit("LengthsTopKGradient", [I(1), O(1), GO(0)], [GI(0)])
)
operator("LengthsTopKGradient", inputs=3, outputs=1)
operator("LengthsSplit", inputs=(1, 2), outputs=1, args="n_split", gradient=NOT_IMPLEMENTED)
operator("LengthsGather", inputs=3, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToSegmentIds", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToShape", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("LengthsToRanges", inputs=1, outputs=1)
operator("LengthsToWeights", inputs=1, outputs=1, args="power")
operator("LengthsToOffsets", inputs=1, outputs=1)
operator("SegmentIdsToLengths", inputs=(1, 2), outputs=1, gradient=SHOULD_NOT)
operator("SegmentIdsToRanges", inputs=(1, 2), outputs=1, gradient=SHOULD_NOT)
operator("SegmentIdsToLengthWeights", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "SparseLengthsSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SparseLengthsIndicesInGradientSumGradient", [GO(0), I(2), I(1)], [GI_V(0)])),
)
operator("SparseLengthsIndicesInGradientSumGradient", inputs=3, outputs=1)
operator("SparseLengthsSumGradient", inputs=2, outputs=1)
operator(
    "SparseLengthsMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SparseLengthsIndicesInGradientMeanGradient", [GO(0), I(2), I(1)], [GI_V(0)])),
)
operator("SparseLengthsIndicesInGradientMeanGradient", inputs=3, outputs=1)
operator("SparseLengthsMeanGradient", inputs=2, outputs=1)
operator("SparseLengthsMax", checked=False)
operator(
    "SparseLengthsWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(
        2,
        by_weights(
            emit("SparseLengthsIndicesInGradientWeightedSumGradient", [I(1), GO(0), I(3), I(2)], [GI_V(0)]),
            with_weights=emit(
                "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient",
                [I(1), GO(0), I(3), I(0), I(2)],
                [GI_V(0), GI(1)],
            ),
        ),
    ),
)
operator("SparseLengthsIndicesInGradientWeightedSumGradient", inputs=4, outputs=1)
operator("SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient", inputs=5, outputs=2)
operator("SparseLengthsWeightedSumGradient", inputs=3, outputs=1)
operator("SparseLengthsPositionalWeightedSum", inputs=4, outputs=1)
operator("SortedSegmentSum", inputs=2, outputs=1, gradient=emit("SortedSegmentSumGradient", [GO(0), I(1)], [GI(0)]))
operator("SortedSegmentSumGradient", inputs=2, outputs=1)
operator("SortedSegmentMean", inputs=2, outputs=1, gradient=emit("SortedSegmentMeanGradient", [GO(0), I(1)], [GI(0)]))
operator("SortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SortedSegmentWeightedSum",
    inputs=3,
    outputs=1,
    args="grad_on_weights",
    gradient=by_weights(emit("SortedSegmentWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)])),
)
operator("SortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "SortedSegmentRangeSum",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeSumGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeSumGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeMean",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeMeanGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeMeanGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeMax",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeMaxGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeMaxGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeLogSumExp",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeLogSumExpGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeLogSumExpGradient", inputs=4, outputs=1)
operator(
    "SortedSegmentRangeLogMeanExp",
    inputs=2,
    outputs=1,
    gradient=emit("SortedSegmentRangeLogMeanExpGradient", [I(0), O(0), GO(0), I(1)], [GI(0)]),
)
operator("SortedSegmentRangeLogMeanExpGradient", inputs=4, outputs=1)
operator(
    "SparseSortedSegmentSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SortedSegmentSumGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseSortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "SparseSortedSegmentMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("SortedSegmentMeanGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseSortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SparseSortedSegmentWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(2, by_weights(emit("SortedSegmentWeightedSumGradient", [I(1), GO(0), I(3)], [GI_V(0)]))),
)
operator("SparseSortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "UnsortedSegmentSum",
    inputs=2,
    outputs=1,
    args="num_segments",
    gradient=emit("UnsortedSegmentSumGradient", [GO(0), I(1)], [GI(0)]),
)
operator("UnsortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "UnsortedSegmentMean",
    inputs=2,
    outputs=1,
    args="num_segments",
    gradient=emit("UnsortedSegmentMeanGradient", [GO(0), I(1)], [GI(0)]),
)
operator("UnsortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "UnsortedSegmentWeightedSum",
    inputs=3,
    outputs=1,
    args="num_segments grad_on_weights",
    gradient=by_weights(emit("UnsortedSegmentWeightedSumGradient", [I(1), GO(0), I(2)], [GI(0)])),
)
operator("UnsortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator(
    "SparseUnsortedSegmentSum",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("UnsortedSegmentSumGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseUnsortedSegmentSumGradient", inputs=2, outputs=1)
operator(
    "SparseUnsortedSegmentMean",
    inputs=3,
    outputs=1,
    gradient=at_indices(1, emit("UnsortedSegmentMeanGradient", [GO(0), I(2)], [GI_V(0)])),
)
operator("SparseUnsortedSegmentMeanGradient", inputs=2, outputs=1)
operator(
    "SparseUnsortedSegmentWeightedSum",
    inputs=4,
    outputs=1,
    args="grad_on_weights",
    gradient=at_indices(2, by_weights(emit("UnsortedSegmentWeightedSumGradient", [I(1), GO(0), I(3)], [GI_V(0)]))),
)
operator("SparseUnsortedSegmentWeightedSumGradient", inputs=3, outputs=1)
operator("GatherRanges", inputs=2, outputs=2)
operator("GatherRangesOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "GatherRangesToDense",
    inputs=(2, 3),
    outputs=(1, MANY),
    args="lengths min_observation max_mismatched_ratio max_empty_ratio",
    gradient=NONE,
)
operator("SparseLengthsWeightedSumWithMainInputGradient", inputs=5, outputs=(1, MANY))
