"""Gathering, scattering and masking of rows and elements."""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import axis_of, only, require, require_same_dtype, require_same_shape
from gradviz.ops._rows import add_along, add_at, beside, integers, namespace, require_indices
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.records import GradientSlice
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, each_part, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _gather_gradient(m: Maker) -> list[GradientOp]:
    """A slice of names that are there already; an operator only where a dense gradient is asked for."""
    dense, axis = m.args.flag("dense_gradient"), m.args.integer("axis")
    if axis != 0:
        return [m.make("BatchGatherGradient", [m.I(0), m.I(1), m.GO(0)], [m.GI(0)], arg("axis", axis))]
    if dense:
        return [m.make("SparseToDense", [m.I(1), m.GO(0), m.I(0)], [m.GI(0)])]
    m.g_input[0] = GradientSlice(m.I(1), m.GO(0))
    return []


def _sequence_mask_gradient(m: Maker) -> list[GradientOp]:
    inputs = [m.GO(0), *m.op.inputs[1:]]
    return [m.make("SequenceMask", inputs, [m.GI(0)], arg("grad", True), copied="before")]


# Rows taken by index.

operator("Gather", inputs=2, outputs=1, gradient=_gather_gradient)
operator("BatchGather", inputs=2, outputs=1, gradient=emit("BatchGatherGradient", [I(0), I(1), GO(0)], [GI(0)]))
operator("BatchGatherGradient", inputs=3, outputs=1)
operator("GatherFused8BitRowwise", inputs=2, outputs=1)
operator("BatchPermutation", inputs=2, outputs=1, gradient=emit("BatchPermutationGradient", [I(1), GO(0)], [GI(0)]))
operator("BatchPermutationGradient", inputs=2, outputs=1)
operator("RemoveDataBlocks", inputs=2, outputs=1, gradient=SHOULD_NOT)


@kernel("Gather")
def gather(
    xp: Any, data: Array, index: Array, *, axis: int = 0, match_outer: int = 0, wrap_indices: int | None = None
) -> Array:
    """Negative indices count from the end on axis 0; on others only with `wrap_indices`."""
    return _gathered(xp, data, index, axis, match_outer, axis == 0 if wrap_indices is None else wrap_indices)


@kernel("BatchGather")
def batch_gather(xp: Any, data: Array, index: Array, *, match_outer: int = 0) -> Array:
    return _gathered(xp, data, index, 1, match_outer, False)


def _gathered(xp: Any, data: Array, index: Array, axis: int, match_outer: Any, wrap: Any) -> Array:
    axis = axis_of(axis, data.ndim)
    size = data.shape[axis]
    if size == 0:
        return data
    require_indices(index, size, least=-size if wrap else 0)
    index = beside(data, xp.where(index < 0, index + size, index))
    if not match_outer:
        return namespace(xp, data).take(data, index, axis=axis)
    outer, rows, flat = _matched(xp, data, index, axis)
    taken = data.reshape(outer, size, -1 if data.size else prod(data.shape[axis + 1 :]))[rows, flat]
    return taken.reshape(*index.shape, *data.shape[axis + 1 :])


def _matched(xp: Any, data: Array, index: Array, axis: int) -> tuple[int, Array, Array]:
    """For indices of their own for each place before `axis`: number of places, places and indices as a grid."""
    require(index.shape[:axis] == data.shape[:axis], f"indices {index.shape} do not match {data.shape} before {axis}")
    outer = prod(data.shape[:axis])
    return outer, xp.arange(outer)[:, None], index.reshape(outer, prod(index.shape[axis:]))


@kernel("BatchGatherGradient")
@only("float32", at=[0, 2])
def batch_gather_gradient(
    xp: Any, data: Array, index: Array, dy: Array, *, axis: int = 1, match_outer: int = 0
) -> Array:
    axis = axis_of(axis, data.ndim)
    require(data.shape[:axis] == dy.shape[:axis], f"data {data.shape} and gradient {dy.shape} differ before {axis}")
    dx = xp.zeros(data.shape, dtype=dy.dtype)
    if data.size == 0:
        return dx
    size, inner = data.shape[axis], prod(data.shape[axis + 1 :])
    require_indices(index, size)
    if match_outer:
        outer, rows, flat = _matched(xp, data, index, axis)
        add_at(xp, dx.reshape(outer, size, inner), (rows, flat), dy.reshape(*flat.shape, inner))
        return dx
    outer = prod(data.shape[:axis])
    return add_along(xp, dy.reshape(outer, index.size, inner), index.reshape(-1), 1, size).reshape(data.shape)


@kernel("GatherFused8BitRowwise")
def gather_fused_8bit_rowwise(xp: Any, data: Array, index: Array) -> Array:
    """Each row ends in its scale and bias, two float32 stored as eight bytes."""
    expect("uint8", data)
    require(data.ndim == 2 and data.shape[1] > 8, f"rows of more than eight bytes are wanted, not shape {data.shape}")
    require_indices(index, data.shape[0])
    rows = data[index.reshape(-1)]
    scale_and_bias = xp.ascontiguousarray(rows[:, -8:]).view(xp.float32)
    return rows[:, :-8].astype(xp.float32) * scale_and_bias[:, :1] + scale_and_bias[:, 1:]


@kernel("BatchPermutation")
@only("float32", at=[0])
def batch_permutation(xp: Any, x: Array, order: Array) -> Array:
    _require_order(order, x)
    return x[order]


@kernel("BatchPermutationGradient")
@only("float32", at=[1])
def batch_permutation_gradient(xp: Any, order: Array, dy: Array) -> Array:
    _require_order(order, dy)
    dx = xp.zeros_like(dy)
    dx[order] = dy
    return dx


def _require_order(order: Array, x: Array) -> None:
    expect("int32", order)
    require(x.ndim > 0 and order.shape == x.shape[:1], f"the order {order.shape} does not fit shape {x.shape}")
    require_indices(order, x.shape[0])


@kernel("RemoveDataBlocks")
def remove_data_blocks(xp: Any, data: Array, index: Array) -> Array:
    """All rows but those indexed."""
    if index.size == 0:
        return data
    require_indices(index, data.shape[0])
    kept = xp.ones(data.shape[0], dtype=bool)
    kept[index] = False
    return data[beside(data, kept)]


# Rows and elements written by index. The kernels answer with a new array, although the operators run in place.

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
operator("CopyRowsToTensor", inputs=3, outputs=1, enforced=[(0, 0)], gradient=each_part("CopyRowsToTensorGradient"))
operator("CopyRowsToTensorGradient", inputs=1, outputs=1, inplace=[(0, 0)])


@kernel("Scatter")
def scatter(xp: Any, data: Array, index: Array, updates: Array, *, axis: int = 1) -> Array:
    """Each update goes to its own place, but along `axis` to where its index says."""
    axis = axis_of(axis, data.ndim)
    require_same_dtype(data, updates)
    require_same_shape(index, updates)
    require(index.ndim == data.ndim, f"indices of rank {index.ndim} do not fit data of rank {data.ndim}")
    fits = all(here <= there for i, (here, there) in enumerate(zip(index.shape, data.shape, strict=True)) if i != axis)
    require(fits, f"updates of shape {updates.shape} do not fit into {data.shape}")
    require_indices(index, data.shape[axis])
    places = [xp.arange(n).reshape([-1 if i == k else 1 for k in range(data.ndim)]) for i, n in enumerate(index.shape)]
    places[axis] = index
    written = data.copy()
    written[tuple(beside(data, place) for place in places)] = updates
    return written


@kernel("ScatterAssign")
def scatter_assign(xp: Any, data: Array, index: Array, rows: Array) -> Array:
    expect("float32 float16 uint8 int32 int64", data)
    require_same_dtype(data, rows)
    written = data.copy()
    if _require_rows(data, index, rows):
        written[index.reshape(-1)] = rows.reshape(index.size, *data.shape[1:])
    return written


@kernel("ScatterWeightedSum")
def scatter_weighted_sum(xp: Any, data: Array, weight: Array, index: Array, *rows_and_weights: Array) -> Array:
    """The rows indexed are scaled by `weight`, as often as their index stands, then the others are added by theirs."""
    expect("float32", data, weight, *rows_and_weights)
    weights = [weight, *rows_and_weights[1::2]]
    require(data.size > 0, "there is nothing to add to")
    require(all(each.size == 1 for each in weights), "a weight is one number")
    flat = index.reshape(-1)
    require_indices(flat, data.shape[0])
    times = xp.bincount(flat.astype(xp.int64), minlength=data.shape[0]).astype(data.dtype)
    scale = weight.reshape(()) ** times
    summed = data * scale.reshape(-1, *[1] * (data.ndim - 1))
    for rows, factor in zip(rows_and_weights[::2], weights[1:], strict=True):
        if _require_rows(data, flat, rows):
            add_at(xp, summed, flat, rows.reshape(flat.size, *data.shape[1:]) * factor.reshape(()))
    return summed


def _require_rows(data: Array, index: Array, rows: Array) -> bool:
    """Refuse rows that do not fit their indices; whether there is any."""
    require(data.ndim > 0, "the input has to be at least a vector")
    require_indices(index, data.shape[0])
    wanted = index.size * prod(data.shape[1:])
    require(rows.size == wanted, f"there are {rows.size} elements for {index.size} rows of {data.shape[1:]}")
    return bool(wanted)


@kernel("CopyRowsToTensor")
def copy_rows_to_tensor(xp: Any, data: Array, index: Array, row: Array) -> Array:
    """One row is written to all the places indexed."""
    expect("float32 float64 float16 int32 int64", data)
    require_same_dtype(data, row)
    require(data.ndim == 2 and row.shape == data.shape[1:], f"a row of shape {row.shape} does not fit {data.shape}")
    expect("int64", index)
    require_indices(index, data.shape[0])
    written = data.copy()
    written[index.reshape(-1)] = row
    return written


@kernel("CopyRowsToTensorGradient")
def copy_rows_to_tensor_gradient(xp: Any, dy: Array) -> Array:
    return dy


# Masks.

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


@kernel("BooleanMask")
def boolean_mask(xp: Any, data: Array, mask: Array) -> tuple[Array, Array]:
    """The rows where the mask is true, and their indices."""
    _require_mask(mask)
    require(data.ndim > 0 and mask.size == data.shape[0], f"a mask of {mask.size} does not fit shape {data.shape}")
    return data[beside(data, mask)], xp.flatnonzero(mask).astype(xp.int64)


@kernel("BooleanMaskGradient")
def boolean_mask_gradient(xp: Any, mask: Array, dy: Array) -> Array:
    """One element for each place of the mask, even if the gradient has rows: of those the first elements are taken."""
    _require_mask(mask)
    expect("bool int32 int64 float32 float64", dy)
    count = int(mask.sum())
    require(count <= dy.size, f"the mask has {count} places for {dy.size} elements")
    dx = xp.zeros(mask.shape, dtype=dy.dtype)
    dx[mask] = dy.reshape(-1)[:count]
    return dx


@kernel("BooleanMaskLengths")
def boolean_mask_lengths(xp: Any, lengths: Array, mask: Array) -> Array:
    """How many elements of each segment the mask leaves."""
    _require_mask(mask)
    expect("int32 int64", lengths)
    sizes = integers(lengths)
    require(min(sizes, default=0) >= 0 and sum(sizes) == mask.size, f"lengths {sizes} do not fit a mask of {mask.size}")
    left = xp.concatenate((xp.zeros(1, dtype=xp.int64), xp.cumsum(mask)))
    ends = xp.cumsum(lengths)
    return (left[ends] - left[ends - lengths]).astype(lengths.dtype)


@kernel("BooleanUnmask")
def boolean_unmask(xp: Any, *masks_and_values: Array) -> Array:
    """Values put together by masks; where several are true, the first counts."""
    masks, values = masks_and_values[::2], masks_and_values[1::2]
    left = xp.ones(masks[0].shape, dtype=bool)
    joined = xp.zeros(masks[0].shape, dtype=values[0].dtype)
    for mask, value in zip(masks, values, strict=True):
        _require_mask(mask)
        require_same_shape(masks[0], mask)
        require_same_dtype(values[0], value)
        mine = mask & left
        require(value.shape == (int(mine.sum()),), f"{int(mine.sum())} values are wanted where a mask is true first")
        joined[mine] = value
        left = left & ~mask
    require(not bool(left.any()), "at some place no mask is true")
    return joined


def _require_mask(mask: Array) -> None:
    expect("bool", mask)
    require(mask.ndim == 1, f"a mask is a vector, not of rank {mask.ndim}")


@kernel("SequenceMask")
@only("float32", at=[0])
def sequence_mask(
    xp: Any,
    x: Array,
    limits: Array = None,
    *,
    mode: str,
    axis: int = 1,
    radius: int = 10,
    grad: int = 0,
    fill_val: float = -float("inf"),
    batch: int | None = None,
    repeat_from_axis: int | None = None,
) -> Array:
    """Fill what a rule hides: of each row, the columns behind its length, outside its window, or a triangle.

    Rows are the dimensions before `axis` (behind `batch`, where that is given), columns those from it on (before
    `repeat_from_axis`). As a gradient it fills with 0.
    """
    axis = axis_of(axis, x.ndim)
    first = 0 if batch is None else axis_of(batch, x.ndim) + 1
    last = x.ndim if repeat_from_axis is None else axis_of(repeat_from_axis, x.ndim)
    require(repeat_from_axis is None or mode == "sequence", "repeat_from_axis goes with mode sequence only")
    require(repeat_from_axis is None or batch is None, "repeat_from_axis and batch do not go together")
    require(first <= axis <= last, f"axes {first}, {axis}, {last} are not in order")
    rows, columns = prod(x.shape[first:axis]), prod(x.shape[axis:last])
    view = x.reshape(prod(x.shape[:first]), rows, columns, prod(x.shape[last:]))
    hidden = _hidden(xp, mode, rows, columns, limits, radius)
    return xp.where(hidden[:, :, None], x.dtype.type(0 if grad else fill_val), view).reshape(x.shape)


def _hidden(xp: Any, mode: str, rows: int, columns: int, limits: Array, radius: int) -> Array:
    row, column = xp.arange(rows)[:, None], xp.arange(columns)[None, :]
    if mode in {"sequence", "window"}:
        require(limits is not None, f"mode {mode} wants a second input")
        expect("int32", limits)
        require(limits.size >= rows, f"there are {limits.size} limits for {rows} rows")
        limit = limits.reshape(-1)[:rows, None]
        return column >= limit if mode == "sequence" else xp.abs(column - limit) > radius
    triangles = {
        "upper": column > row,
        "lower": column < row,
        "upperdiag": column >= row,
        "lowerdiag": column <= row,
    }
    require(mode in triangles, f"mode {mode!r} is none of sequence, window, {', '.join(triangles)}")
    return triangles[mode]


# Numbers in a row.

operator("Range", inputs=(1, 3), outputs=1, gradient=NONE)


@kernel("Range")
def range_(xp: Any, *ends: Array) -> Array:
    """From a start (0) up to, without, a stop by a step (1); with integers a negative step may lose its last number."""
    expect("int32 int64 float32 float64", *ends)
    require(all(end.dtype == ends[0].dtype for end in ends), "dtypes must be equal")
    require(all(end.size == 1 for end in ends), "start, stop and step are one number each")
    numbers = [end.reshape(()) for end in ends]
    zero, one = xp.zeros_like(numbers[0]), xp.ones_like(numbers[0])
    start, stop, step = {1: [zero, *numbers, one], 2: [*numbers, one]}.get(len(numbers), numbers)
    require(bool(step != 0), "the step is 0")
    is_integer = ends[0].dtype.kind == "i"
    count = _steps(int(stop - start), int(step)) if is_integer else ceil((stop - start) / step)
    return (start + step * xp.arange(max(count, 0))).astype(ends[0].dtype)


def _steps(distance: int, step: int) -> int:
    """Upstream's count: the quotient cut off towards 0, and one more where the steps then fall short."""
    count = abs(distance) // abs(step) * (1 if (distance < 0) == (step < 0) else -1)
    return count + 1 if count * step < distance else count
