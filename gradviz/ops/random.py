"""Dropout and sampling."""

from gradviz.ops.registry import NONE, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("Dropout", inputs=1, outputs=(1, 2), inplace=[(0, 0)], args="ratio is_test", required="is_test", gradient=TODO)
operator("DropoutGrad", inputs=(1, 2), outputs=1, inplace=[(0, 0)])
operator("WeightedSample", inputs=(1, 2), outputs=(1, 2), gradient=SHOULD_NOT)
operator("WeightedMultiSampling", inputs=(1, 2), outputs=1, args="num_samples")
operator("WeightedMultiSample", checked=False, runs=False, gradient=SHOULD_NOT)
operator(
    "ReservoirSampling",
    arities=[(4, 2), (7, 4)],
    enforced=[(0, 0), (1, 1), (5, 2), (6, 3)],
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator("SparseDropoutWithReplacement", inputs=2, arities=[(2, 2)], args="ratio replacement_value", gradient=NONE)
operator("SortAndShuffle", inputs=(1, MANY), outputs=1)
