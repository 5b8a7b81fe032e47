"""Merging of feature tensors.

The inputs come in groups, one for each feature; only the values of a group have a gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule


def _groups_of(size: int) -> Callable[[int, int], bool]:
    """Counts where inputs come in whole groups."""
    return lambda n_in, _: n_in % size == 0


def _odd(n_in: int, _: int) -> bool:
    """Counts of the gradients of lists and maps: two inputs for each group, and the output's gradient."""
    return n_in % 2 == 1


def _group_gradient(size: int, reads: tuple[int, ...], values: int, output: int) -> Rule:
    """Rule: of each group of `size` inputs the operator reads `reads` and makes the gradient of `values`.

    Args:
        size: how many inputs a group has.
        reads: places in a group.
        values: place in a group.
        output: which output's gradient is taken apart.
    """

    def rule(m: Maker) -> list[GradientOp]:
        starts = range(0, len(m.op.inputs), size)
        read = [m.I(start + place) for start in starts for place in reads]
        return [m.make(m.op.type + "Gradient", [*read, m.GO(output)], [m.GI(start + values) for start in starts])]

    return rule


operator("MergeDenseFeatureTensors", inputs=2, outputs=3, args="feature_ids")
operator(
    "MergeSingleScalarFeatureTensors",
    inputs=(2, MANY),
    outputs=3,
    arities=_groups_of(2),
    args="feature_ids",
    gradient=_group_gradient(2, reads=(1,), values=0, output=2),
)
operator("MergeSingleScalarFeatureTensorsGradient", inputs=(2, MANY), outputs=(1, MANY))
operator(
    "MergeSingleListFeatureTensors",
    inputs=(3, MANY),
    outputs=4,
    arities=_groups_of(3),
    args="feature_ids",
    gradient=_group_gradient(3, reads=(0, 2), values=1, output=3),
)
operator("MergeSingleListFeatureTensorsGradient", inputs=(3, MANY), outputs=(1, MANY), arities=_odd)
operator(
    "MergeSingleMapFeatureTensors",
    inputs=(4, MANY),
    outputs=5,
    arities=_groups_of(4),
    args="feature_ids",
    gradient=_group_gradient(4, reads=(0, 3), values=2, output=4),
)
operator("MergeSingleMapFeatureTensorsGradient", inputs=(3, MANY), outputs=(1, MANY), arities=_odd)
operator(
    "MergeMultiScalarFeatureTensors",
    inputs=(3, MANY),
    outputs=3,
    arities=_groups_of(3),
    gradient=_group_gradient(3, reads=(0,), values=2, output=2),
)
operator("MergeMultiScalarFeatureTensorsGradient", inputs=(2, MANY), outputs=(1, MANY))
operator(
    "MergeMultiListFeatureTensors",
    inputs=(4, MANY),
    outputs=4,
    arities=_groups_of(4),
    gradient=_group_gradient(4, reads=(0, 2), values=3, output=3),
)
operator("MergeMultiListFeatureTensorsGradient", inputs=(3, MANY), outputs=(1, MANY), arities=_odd)
operator(
    "MergeMultiMapFeatureTensors",
    inputs=(5, MANY),
    outputs=5,
    arities=_groups_of(5),
    gradient=_group_gradient(5, reads=(0, 2), values=4, output=4),
)
operator("MergeMultiMapFeatureTensorsGradient", inputs=(3, MANY), outputs=(1, MANY), arities=_odd)
