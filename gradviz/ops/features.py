"""Merging of feature tensors.

The inputs come in groups, one for each feature; only the values of a group have a gradient.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require, require_same_dtype
from gradviz.ops._rows import beside, lengths_of, namespace, starts_of
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import kernel, operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule

Array = Any


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


# What the kernels share: the output goes example by example, and within an example feature by feature. So each input's
# rows are chunks, one an example, and merging is one permutation of all inputs put behind each other.


def _order(sizes: Sequence[Sequence[int]]) -> list[int]:
    """Where each row of the output stands in the inputs put behind each other.

    Args:
        sizes: for each feature the size of its chunk in each example.
    """
    next_row = starts_of([sum(chunks) for chunks in sizes])
    order: list[int] = []
    for chunks in zip(*sizes, strict=True):
        for feature, size in enumerate(chunks):
            order.extend(range(next_row[feature], next_row[feature] + size))
            next_row[feature] += size
    return order


def _merged(xp: Any, arrays: Sequence[Array], sizes: Sequence[Sequence[int]]) -> Array:
    for array, chunks in zip(arrays, sizes, strict=True):
        require_same_dtype(arrays[0], array)
        require(array.shape == (sum(chunks),), f"{sum(chunks)} elements are wanted, not shape {array.shape}")
    joined = namespace(xp, *arrays).concatenate(arrays)
    return joined[beside(joined, xp.asarray(_order(sizes), dtype=xp.int64))]


def _taken_apart(xp: Any, merged: Array, sizes: Sequence[Sequence[int]]) -> list[Array]:
    """The opposite of `_merged`."""
    starts = starts_of([sum(chunks) for chunks in sizes])
    require(merged.shape == (starts[-1],), f"{starts[-1]} elements are wanted, not shape {merged.shape}")
    joined = merged.copy()
    joined[beside(joined, xp.asarray(_order(sizes), dtype=xp.int64))] = merged
    return [joined[start:stop] for start, stop in pairwise(starts)]


def _totals(xp: Any, sizes: Sequence[Sequence[int]]) -> Array:
    """How many rows each example has."""
    return xp.asarray([sum(chunks) for chunks in zip(*sizes, strict=True)], dtype=xp.int32)


def _presence(masks: Sequence[Array]) -> list[list[int]]:
    """For each feature whether it is there in each example, as 0 and 1."""
    expect("bool", *masks)
    require(all(mask.shape == masks[0].shape and mask.ndim == 1 for mask in masks), "masks are vectors of one size")
    return [[int(there) for there in mask.tolist()] for mask in masks]


def _ids(xp: Any, feature_ids: Sequence[int], present: Sequence[Sequence[int]]) -> Array:
    """The id of each feature that is there, example by example."""
    require(len(feature_ids) == len(present), f"there are {len(feature_ids)} feature_ids for {len(present)} features")
    ids = [
        id for there in zip(*present, strict=True) for id, is_there in zip(feature_ids, there, strict=True) if is_there
    ]
    return xp.asarray(ids, dtype=xp.int64)


def _present_lengths(lengths: Sequence[Array], present: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each feature its length in each example, 0 where it is not there."""
    sizes = [lengths_of(each) for each in lengths]
    require(all(len(each) == len(present[0]) for each in sizes), "lengths and masks have different sizes")
    return [[a * b for a, b in zip(size, there, strict=True)] for size, there in zip(sizes, present, strict=True)]


# One feature an input: its mask says in which examples it is there.


@kernel("MergeDenseFeatureTensors")
def merge_dense(xp: Any, values: Array, mask: Array, *, feature_ids: list[int]) -> tuple[Array, Array, Array]:
    """A column for each feature."""
    expect("bool", mask)
    require(values.ndim == 2 and mask.shape == values.shape, f"values {values.shape} and mask {mask.shape} differ")
    present = _presence([mask[:, i] for i in range(mask.shape[1])])
    return _totals(xp, present), _ids(xp, feature_ids, present), values[beside(values, mask)]


@kernel("MergeSingleScalarFeatureTensors")
def merge_single_scalars(xp: Any, *inputs: Array, feature_ids: list[int]) -> tuple[Array, Array, Array]:
    values, masks = inputs[::2], inputs[1::2]
    present = _presence(masks)
    there = [value[beside(value, mask)] for value, mask in zip(values, masks, strict=True)]
    return _totals(xp, present), _ids(xp, feature_ids, present), _merged(xp, there, present)


@kernel("MergeSingleScalarFeatureTensorsGradient")
def merge_single_scalars_gradient(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    *masks, dy = inputs
    gradients = []
    for mask, part in zip(masks, _taken_apart(xp, dy, _presence(masks)), strict=True):
        dx = namespace(xp, dy).zeros(mask.shape, dtype=dy.dtype)
        if dy.dtype.kind == "O":
            dx[...] = b""
        dx[beside(dy, mask)] = part
        gradients.append(dx)
    return tuple(gradients)


@kernel("MergeSingleListFeatureTensors")
def merge_single_lists(xp: Any, *inputs: Array, feature_ids: list[int]) -> tuple[Array, ...]:
    lengths, values, masks = (inputs[i::3] for i in range(3))
    present = _presence(masks)
    sizes = _present_lengths(lengths, present)
    values_lengths = _merged(xp, [each[mask] for each, mask in zip(lengths, masks, strict=True)], present)
    return _totals(xp, present), _ids(xp, feature_ids, present), values_lengths, _merged(xp, values, sizes)


@kernel("MergeSingleMapFeatureTensors")
def merge_single_maps(xp: Any, *inputs: Array, feature_ids: list[int]) -> tuple[Array, ...]:
    lengths, keys, values, masks = (inputs[i::4] for i in range(4))
    present = _presence(masks)
    sizes = _present_lengths(lengths, present)
    values_lengths = _merged(xp, [each[mask] for each, mask in zip(lengths, masks, strict=True)], present)
    ids = _ids(xp, feature_ids, present)
    return _totals(xp, present), ids, values_lengths, _merged(xp, keys, sizes), _merged(xp, values, sizes)


@kernel("MergeSingleListFeatureTensorsGradient", "MergeSingleMapFeatureTensorsGradient")
def merge_single_lists_gradient(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    *rest, dy = inputs
    return tuple(_taken_apart(xp, dy, _present_lengths(rest[::2], _presence(rest[1::2]))))


# Several features an input, already merged: lengths say how many there are in each example.


@kernel("MergeMultiScalarFeatureTensors")
def merge_multi_scalars(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    lengths, keys, values = (inputs[i::3] for i in range(3))
    sizes = [lengths_of(each) for each in lengths]
    return _totals(xp, sizes), _merged(xp, keys, sizes), _merged(xp, values, sizes)


@kernel("MergeMultiScalarFeatureTensorsGradient")
def merge_multi_scalars_gradient(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    *lengths, dy = inputs
    return tuple(_taken_apart(xp, dy, [lengths_of(each) for each in lengths]))


@kernel("MergeMultiListFeatureTensors", "MergeMultiMapFeatureTensors")
def merge_multi_lists(xp: Any, *inputs: Array, ctx: Context) -> tuple[Array, ...]:
    """Lengths, keys and the lengths of lists are merged by key; the lists, and a map's own keys, by element."""
    lengths, keys, values_lengths, *elements = (inputs[i :: ctx.outputs] for i in range(ctx.outputs))
    sizes = [lengths_of(each) for each in lengths]
    inner = _element_counts(sizes, values_lengths)
    by_key = [_merged(xp, keys, sizes), _merged(xp, values_lengths, sizes)]
    return _totals(xp, sizes), *by_key, *(_merged(xp, each, inner) for each in elements)


@kernel("MergeMultiListFeatureTensorsGradient", "MergeMultiMapFeatureTensorsGradient")
def merge_multi_lists_gradient(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    *rest, dy = inputs
    return tuple(_taken_apart(xp, dy, _element_counts([lengths_of(each) for each in rest[::2]], rest[1::2])))


def _element_counts(sizes: Sequence[Sequence[int]], values_lengths: Sequence[Array]) -> list[list[int]]:
    """For each input how many elements each example has."""
    counts = []
    for chunks, lengths in zip(sizes, values_lengths, strict=True):
        inner = lengths_of(lengths)
        require(len(inner) == sum(chunks), f"there are {len(inner)} lists for {sum(chunks)} keys")
        counts.append([sum(inner[start:stop]) for start, stop in pairwise(starts_of(chunks))])
    return counts
