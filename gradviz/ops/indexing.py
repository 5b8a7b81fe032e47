"""Gathering, scattering, masking, and sparse forms of dense arrays."""

from gradviz.ops.registry import NONE, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("Gather", inputs=2, outputs=1, gradient=TODO)
operator("BatchGatherGradient", inputs=3, outputs=1)
operator("BatchGather", inputs=2, outputs=1, gradient=TODO)
operator("GatherByKey", inputs=(2, MANY), outputs=1, gradient=TODO)
operator("GatherFused8BitRowwise", inputs=2, outputs=1)
operator("BatchPermutation", inputs=2, outputs=1, gradient=TODO)
operator("BatchPermutationGradient", inputs=2, outputs=1)
operator("BooleanMask", inputs=2, outputs=(1, 2), gradient=TODO)
operator("BooleanMaskGradient", inputs=2, outputs=1)
operator("BooleanMaskLengths", inputs=2, outputs=1, gradient=NONE)
operator(
    "BooleanUnmask",
    outputs=1,
    arities=[(2, 1), (4, 1), (6, 1), (8, 1), (10, 1), (12, 1), (14, 1), (16, 1), (18, 1), (20, 1), (22, 1), (24, 1)],
    gradient=NONE,
)
operator("SequenceMask", inputs=(1, 2), outputs=1, args="mode axis grad radius batch repeat_from_axis", gradient=TODO)
operator("Scatter", inputs=3, outputs=1, inplace=[(0, 0)], args="axis", gradient=SHOULD_NOT)
operator("ScatterAssign", inputs=3, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
operator(
    "ScatterWeightedSum",
    outputs=1,
    arities=[(5, 1), (7, 1), (9, 1), (11, 1), (13, 1), (15, 1), (17, 1), (19, 1), (21, 1), (23, 1)],
    enforced=[(0, 0)],
    gradient=SHOULD_NOT,
)
operator("SparseToDense", inputs=(2, 3), outputs=1, gradient=TODO)
operator(
    "SparseToDenseMask",
    inputs=(3, 4),
    outputs=(1, 2),
    args="mask return_presence_mask max_skipped_indices",
    gradient=TODO,
)
operator("SparseToDenseMaskGradient", inputs=(2, 3), outputs=1)
operator("BatchSparseToDense", inputs=(3, 4), outputs=1, args="dense_last_dim default_value", gradient=TODO)
operator("BatchDenseToSparse", inputs=3, outputs=1, gradient=TODO)
operator("DenseVectorToIdList", inputs=1, outputs=2, gradient=NONE)
operator("OneHot", inputs=2, outputs=1, gradient=NONE)
operator("BatchOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchBucketOneHot", inputs=3, outputs=1)
operator("BucketBatchOneHot", checked=False, runs=False, gradient=NONE)
operator("SegmentOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchBucketize", inputs=4, outputs=1, gradient=NONE)
operator(
    "Partition",
    arities=[
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 5),
        (1, 6),
        (1, 7),
        (1, 8),
        (1, 9),
        (1, 10),
        (1, 11),
        (1, 12),
        (2, 2),
        (2, 4),
        (2, 6),
        (2, 8),
        (2, 10),
        (2, 12),
        (3, 3),
        (3, 6),
        (3, 9),
        (3, 12),
        (4, 4),
        (4, 8),
        (4, 12),
        (5, 5),
        (5, 10),
        (6, 6),
        (6, 12),
        (7, 7),
        (8, 8),
        (9, 9),
        (10, 10),
        (11, 11),
        (12, 12),
    ],
    args="pack_first_input",
    gradient=NONE,
)
operator(
    "LengthsPartition",
    arities=[
        (2, 2),
        (2, 4),
        (2, 6),
        (2, 8),
        (2, 10),
        (2, 12),
        (3, 3),
        (3, 6),
        (3, 9),
        (3, 12),
        (4, 4),
        (4, 8),
        (4, 12),
        (5, 5),
        (5, 10),
        (6, 6),
        (6, 12),
        (7, 7),
        (8, 8),
        (9, 9),
        (10, 10),
        (11, 11),
        (12, 12),
    ],
    args="pack_first_input",
    gradient=NONE,
)
operator("Unique", inputs=1, outputs=(1, 2), gradient=SHOULD_NOT)
operator("FindDuplicateElements", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Find", inputs=2, outputs=1, args="missing_value")
operator(
    "UnsafeCoalesce",
    arities=[
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 6),
        (6, 7),
        (7, 8),
        (8, 9),
        (9, 10),
        (10, 11),
        (11, 12),
        (12, 13),
        (13, 14),
        (14, 15),
        (15, 16),
        (16, 17),
        (17, 18),
        (18, 19),
        (19, 20),
        (20, 21),
        (21, 22),
        (22, 23),
        (23, 24),
    ],
    inplace="one_to_one",
)
operator("CopyRowsToTensor", inputs=3, outputs=1, enforced=[(0, 0)], gradient=TODO)
operator("CopyRowsToTensorGradient", inputs=1, outputs=1, inplace=[(0, 0)])
operator("RemoveDataBlocks", inputs=2, outputs=1, gradient=SHOULD_NOT)
operator("Range", inputs=(1, 3), outputs=1, gradient=NONE)
operator("KeySplit", inputs=1, outputs=(1, MANY))
operator("KeySplitOp", checked=False, runs=False, gradient=NONE)
operator(
    "MergeIdLists",
    outputs=2,
    arities=[(2, 2), (4, 2), (6, 2), (8, 2), (10, 2), (12, 2), (14, 2), (16, 2), (18, 2), (20, 2), (22, 2), (24, 2)],
    gradient=NONE,
)
operator("NGramFromCategorical", inputs=1, outputs=1, gradient=NONE)
operator("IndexHash", inputs=1, outputs=1, inplace=[(0, 0)], args="seed modulo", gradient=SHOULD_NOT)
