"""Gathering, scattering, masking, and sparse forms of dense arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.records import GradientSlice
from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, each_part, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _gather_gradient(m: Maker) -> list[GradientOp]:
    """A slice of names that are there already; an operator only where a dense gradient is asked for."""
    dense, axis = m.args.flag("dense_gradient"), m.args.integer("axis")
    if axis != 0:
        return [m.make("BatchGatherGradient", [m.I(0), m.I(1), m.GO(0)], [m.GI(0)], arg("axis", axis))]
    if dense:
        return [m.make("SparseToDense", [m.I(1), m.GO(0), m.I(0)], [m.GI(0)])]
    m.g_input[0] = GradientSlice(m.I(1), m.GO(0))
    return []


def _gather_by_key_gradient(m: Maker) -> list[GradientOp]:
    own = arg("pack_first_input", m.args.integer("pack_first_input"))
    sources = range(1, len(m.op.inputs))
    outputs: list[str] = []
    if m.is_dense(0):
        for i in sources:
            outputs += [f"_{m.GI(i)}_keys", m.GI(i)]
        return [m.make("Partition", [m.I(0), m.GO(0)], outputs, own)]
    for i in sources:
        outputs += [f"_{m.GI_I(i)}_keys", m.GI_I(i), m.GI_V(i)]
    return [m.make("Partition", [m.I(0), m.GO_I(0), m.GO_V(0)], outputs, own)]


def _sequence_mask_gradient(m: Maker) -> list[GradientOp]:
    inputs = [m.GO(0), *m.op.inputs[1:]]
    return [m.make("SequenceMask", inputs, [m.GI(0)], arg("grad", True), copied="before")]


def _sparse_to_dense_mask_gradient(m: Maker) -> list[GradientOp]:
    lengths = m.op.inputs[3:]
    return [m.make("SparseToDenseMaskGradient", [m.I(0), m.GO(0), *lengths], [m.GI(1)])]


def _each_split_alike(n_in: int, n_out: int) -> bool:
    """Counts of a partition: each input is split into the same number of outputs, at least one."""
    return n_out >= n_in and n_out % n_in == 0


operator("Gather", inputs=2, outputs=1, gradient=_gather_gradient)
operator("BatchGatherGradient", inputs=3, outputs=1)
operator("BatchGather", inputs=2, outputs=1, gradient=emit("BatchGatherGradient", [I(0), I(1), GO(0)], [GI(0)]))
operator("GatherByKey", inputs=(2, MANY), outputs=1, gradient=_gather_by_key_gradient)
operator("GatherFused8BitRowwise", inputs=2, outputs=1)
operator("BatchPermutation", inputs=2, outputs=1, gradient=emit("BatchPermutationGradient", [I(1), GO(0)], [GI(0)]))
operator("BatchPermutationGradient", inputs=2, outputs=1)
operator("BooleanMask", inputs=2, outputs=(1, 2), gradient=emit("BooleanMaskGradient", [I(1), GO(0)], [GI(0)]))
operator("BooleanMaskGradient", inputs=2, outputs=1)
operator("BooleanMaskLengths", inputs=2, outputs=1, gradient=NONE)
operator("BooleanUnmask", inputs=(2, MANY), outputs=1, arities=lambda n, _: n % 2 == 0, gradient=NONE)
operator(
    "SequenceMask",
    inputs=(1, 2),
    outputs=1,
    args="mode axis grad radius batch repeat_from_axis",
    gradient=_sequence_mask_gradient,
)
operator("Scatter", inputs=3, outputs=1, inplace=[(0, 0)], args="axis", gradient=SHOULD_NOT)
operator("ScatterAssign", inputs=3, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
operator(
    "ScatterWeightedSum",
    inputs=(5, MANY),
    outputs=1,
    arities=lambda n, _: n % 2 == 1,
    enforced=[(0, 0)],
    gradient=SHOULD_NOT,
)
operator("SparseToDense", inputs=(2, 3), outputs=1, gradient=emit("Gather", [GO(0), I(0)], [GI(1)]))
operator(
    "SparseToDenseMask",
    inputs=(3, 4),
    outputs=(1, 2),
    args="mask return_presence_mask max_skipped_indices",
    gradient=_sparse_to_dense_mask_gradient,
)
operator("SparseToDenseMaskGradient", inputs=(2, 3), outputs=1)
operator(
    "BatchSparseToDense",
    inputs=(3, 4),
    outputs=1,
    args="dense_last_dim default_value",
    gradient=emit("BatchDenseToSparse", [I(0), I(1), GO(0)], [GI(2)]),
)
operator(
    "BatchDenseToSparse", inputs=3, outputs=1, gradient=emit("BatchSparseToDense", [I(0), I(1), GO(0), I(2)], [GI(2)])
)
operator("DenseVectorToIdList", inputs=1, outputs=2, gradient=NONE)
operator("OneHot", inputs=2, outputs=1, gradient=NONE)
operator("BatchOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchBucketOneHot", inputs=3, outputs=1)
operator("BucketBatchOneHot", checked=False, runs=False, gradient=NONE)
operator("SegmentOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchBucketize", inputs=4, outputs=1, gradient=NONE)
operator("Partition", inputs=(1, MANY), arities=_each_split_alike, args="pack_first_input", gradient=NONE)
operator("LengthsPartition", inputs=(2, MANY), arities=_each_split_alike, args="pack_first_input", gradient=NONE)
operator("Unique", inputs=1, outputs=(1, 2), gradient=SHOULD_NOT)
operator("FindDuplicateElements", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Find", inputs=2, outputs=1, args="missing_value")
operator("UnsafeCoalesce", arities=lambda n_in, n_out: n_out == n_in + 1, inplace="one_to_one")
operator("CopyRowsToTensor", inputs=3, outputs=1, enforced=[(0, 0)], gradient=each_part("CopyRowsToTensorGradient"))
operator("CopyRowsToTensorGradient", inputs=1, outputs=1, inplace=[(0, 0)])
operator("RemoveDataBlocks", inputs=2, outputs=1, gradient=SHOULD_NOT)
operator("Range", inputs=(1, 3), outputs=1, gradient=NONE)
operator("KeySplit", inputs=1, outputs=(1, MANY))
operator("KeySplitOp", checked=False, runs=False, gradient=NONE)
operator("MergeIdLists", inputs=(2, MANY), outputs=2, arities=lambda n, _: n % 2 == 0, gradient=NONE)
operator("NGramFromCategorical", inputs=1, outputs=1, gradient=NONE)
operator("IndexHash", inputs=1, outputs=1, inplace=[(0, 0)], args="seed modulo", gradient=SHOULD_NOT)
