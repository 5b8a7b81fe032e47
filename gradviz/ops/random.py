"""Dropout and sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _dropout_gradient(m: Maker) -> list[GradientOp]:
    mask = [] if m.args.flag("is_test") else [m.O(1)]
    return [m.make("DropoutGrad", [m.GO(0), *mask], [m.GI(0)])]


operator(
    "Dropout",
    inputs=1,
    outputs=(1, 2),
    inplace=[(0, 0)],
    args="ratio is_test",
    required="is_test",
    gradient=_dropout_gradient,
)
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
