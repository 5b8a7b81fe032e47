"""Shapes and layout: reshape, permute, concatenate, split, slice, tile."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import axis_of, only, require
from gradviz.ops._images import channel_axis
from gradviz.ops._rows import integers, lengths_of, namespace, starts_of
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.rules import GI, GO, I, emit
from gradviz.ops.schema import MANY
from gradviz.proto import Argument

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _dims(gradient: str) -> str:
    """Name of the second output of a Reshape or Concat that makes `gradient`: upstream's throw-away of old sizes."""
    return f"_{gradient}_dims"


def _reshape_gradient(m: Maker) -> list[GradientOp]:
    gradient = m.GI(0)
    return [m.make("Reshape", [m.GO(0), m.O(1)], [gradient, _dims(gradient)], copied=None)]


def _concat_gradient(m: Maker) -> list[GradientOp]:
    if not m.has_GO(0):
        return []
    return [m.make("Split", [m.GO(0), m.O(1)], [m.GI(i) for i in range(len(m.op.inputs))])]


def _split_gradient(m: Maker) -> list[GradientOp]:
    """Outputs without a gradient are left out, although the sizes then no longer add up."""
    parts = [m.GO(i) for i in range(len(m.op.outputs)) if m.has_GO(i)]
    if not parts:
        return []
    gradient = m.GI(0)
    return [m.make("Concat", parts, [gradient, _dims(gradient)])]


def _slice_gradient(m: Maker) -> list[GradientOp]:
    bounds = [m.I(1), m.I(2)] if len(m.op.inputs) > 1 else []
    return [m.make("SliceGradient", [m.I(0), *bounds, m.GO(0)], [m.GI(0)])]


def _tile_gradient(m: Maker) -> list[GradientOp]:
    return [m.make("TileGradient", [m.GO(0), *m.op.inputs[1:]], [m.GI(0)])]


def _transpose_gradient(m: Maker) -> list[GradientOp]:
    """The forward's arguments, the first `axes` inverted."""
    axes = m.args.get("axes")
    own = [_inverted(m, each) if each is axes else each for each in m.op.proto.arg]
    return [m.make("Transpose", [m.GO(0)], [m.GI(0)], *own, copied=None)]


def _inverted(m: Maker, axes: Argument) -> Argument:
    inverse = list(axes.ints)
    for position, axis in enumerate(axes.ints):
        if not 0 <= axis < len(inverse):
            m.refuse(f"axes {list(axes.ints)} is no permutation", axes=list(axes.ints))
        inverse[axis] = position
    made = Argument()
    made.CopyFrom(axes)
    made.ints[:] = inverse
    return made


_resize_back = emit("ResizeLike", [GO(0), I(0)], [GI(0)])

# The same elements in other dimensions.

operator("Reshape", inputs=(1, 2), outputs=2, inplace=[(0, 0)], args="shape", gradient=_reshape_gradient)
operator("Flatten", inputs=1, outputs=1, args="axis", gradient=_resize_back)
operator("FlattenToVec", inputs=1, outputs=1, gradient=_resize_back)
operator("Squeeze", inputs=1, outputs=1, inplace=[(0, 0)], args="dims", gradient=emit("ExpandDims", [GO(0)], [GI(0)]))
operator("ExpandDims", inputs=1, outputs=1, inplace=[(0, 0)], args="dims", gradient=emit("Squeeze", [GO(0)], [GI(0)]))
operator(
    "PrependDim",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="dim_size",
    gradient=emit("MergeDim", [GO(0)], [GI(0)], copied=None),
)
operator("MergeDim", inputs=1, outputs=1, inplace=[(0, 0)])
operator("ResizeLike", inputs=2, outputs=1, gradient=SHOULD_NOT)
operator("Shape", inputs=1, outputs=1, args="axes", gradient=SHOULD_NOT)
operator("Size", inputs=1, outputs=1, gradient=NONE)
operator("IsEmpty", inputs=1, outputs=1, gradient=SHOULD_NOT)


@kernel("Reshape")
def reshape(xp: Any, x: Array, new_shape: Array = None, *, shape: list[int] | None = None) -> tuple[Array, Array]:
    """The second output is the old shape, in the dtype of the shape that came as an input, else int64."""
    if new_shape is None:
        return x.reshape(_filled_in(x, shape or [])), xp.asarray(x.shape, dtype=xp.int64)
    require(shape is None, "the new shape is given as an input and as an argument; leave one out")
    require(new_shape.size > 0, "the new shape is empty")
    return x.reshape(_filled_in(x, integers(new_shape))), xp.asarray(x.shape, dtype=new_shape.dtype)


def _filled_in(x: Array, shape: list[int]) -> list[int]:
    """A new shape with the sizes that 0 copies from the old; those that -1 infers are 0 where there is no element."""
    require(all(size >= -1 for size in shape), f"a size in {shape} is negative")
    if x.size == 0:
        return [0 if size == -1 else size for size in shape]
    return [x.shape[i] if size == 0 and i < x.ndim else size for i, size in enumerate(shape)]


@kernel("Flatten")
def flatten(xp: Any, x: Array, *, axis: int = 1) -> Array:
    """A matrix: the dimensions before `axis` and those from it on."""
    require(0 <= axis <= x.ndim, f"axis {axis} is not within 0 to {x.ndim}")
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


@kernel("FlattenToVec")
def flatten_to_vector(xp: Any, x: Array) -> Array:
    require(x.ndim > 0, "a scalar cannot be flattened")
    return x.reshape(x.size)


@kernel("Squeeze")
def squeeze(xp: Any, x: Array, *, dims: list[int]) -> Array:
    dropped = _sorted_dims(dims)
    require(dropped[-1] < x.ndim, f"there is no dimension {dropped[-1]} in an array of rank {x.ndim}")
    return xp.squeeze(x, axis=tuple(dropped))


@kernel("ExpandDims")
def expand_dims(xp: Any, x: Array, *, dims: list[int]) -> Array:
    shape = list(x.shape)
    for dim in _sorted_dims(dims):
        require(dim <= len(shape), f"dimension {dim} would leave a gap behind rank {len(shape)}")
        shape.insert(dim, 1)
    return x.reshape(shape)


def _sorted_dims(dims: list[int]) -> list[int]:
    require(len(dims) > 0, "dims is empty")
    require(min(dims) >= 0, f"dims {dims} must not be negative")
    return sorted(set(dims))


@kernel("PrependDim")
def prepend_dim(xp: Any, x: Array, *, dim_size: int = 0) -> Array:
    require(dim_size > 0, f"dim_size must be positive, not {dim_size}")
    require(x.ndim > 0 and x.shape[0] % dim_size == 0, f"the first dimension is no multiple of dim_size {dim_size}")
    return x.reshape(dim_size, x.shape[0] // dim_size, *x.shape[1:])


@kernel("MergeDim")
def merge_dim(xp: Any, x: Array) -> Array:
    require(x.ndim > 1, "there are no two dimensions to merge")
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


@kernel("ResizeLike")
def resize_like(xp: Any, x: Array, like: Array) -> Array:
    return x.reshape(like.shape)


@kernel("Shape")
def shape_of(xp: Any, x: Array, *, axes: list[int] | None = None) -> Array:
    require(all(0 <= axis < x.ndim for axis in axes or ()), f"axes {axes} do not exist in an array of rank {x.ndim}")
    return xp.asarray([x.shape[axis] for axis in axes] if axes else x.shape, dtype=xp.int64)


@kernel("Size")
def size(xp: Any, x: Array) -> Array:
    return xp.asarray(x.size, dtype=xp.int64)


@kernel("IsEmpty")
def is_empty(xp: Any, x: Array) -> Array:
    return xp.asarray(x.size == 0)


# Dimensions in another order.

operator("Transpose", inputs=1, outputs=1, args="axes", gradient=_transpose_gradient)
operator("NCHW2NHWC", inputs=1, outputs=1, gradient=emit("NHWC2NCHW", [GO(0)], [GI(0)]))
operator("NHWC2NCHW", inputs=1, outputs=1, gradient=emit("NCHW2NHWC", [GO(0)], [GI(0)]))


@kernel("Transpose")
@only("float32", "float64", "int32", "int64")
def transpose(xp: Any, x: Array, *, axes: list[int] | None = None) -> Array:
    """With no `axes`, dimensions in reverse order."""
    order = axes or list(reversed(range(x.ndim)))
    require(sorted(order) == list(range(x.ndim)), f"axes {order} are no permutation of {x.ndim} dimensions")
    return xp.transpose(x, order).copy()


@kernel("NCHW2NHWC")
@only("float32")
def to_channels_last(xp: Any, x: Array) -> Array:
    require(x.ndim >= 3, f"rank {x.ndim} is less than 3")
    return xp.moveaxis(x, 1, -1).copy()


@kernel("NHWC2NCHW")
@only("float32")
def to_channels_first(xp: Any, x: Array) -> Array:
    require(x.ndim >= 3, f"rank {x.ndim} is less than 3")
    return xp.moveaxis(x, -1, 1).copy()


# Joined and taken apart.

operator("Concat", inputs=(1, MANY), outputs=2, args="axis order add_axis", gradient=_concat_gradient)
operator("DepthConcat", inputs=(1, MANY), outputs=2, gradient=_concat_gradient)
operator("Split", inputs=(1, 2), outputs=(1, MANY), args="axis add_axis split order", gradient=_split_gradient)
operator("DepthSplit", inputs=(1, 2), outputs=(1, MANY), gradient=_split_gradient)
operator("SplitByLengths", inputs=2, outputs=(1, MANY), args="axis order use_scaling_lengths", gradient=_split_gradient)
operator("Append", inputs=2, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)


@kernel("Concat", "DepthConcat")
def concat(
    xp: Any, *parts: Array, axis: int | None = None, add_axis: int = 0, order: str | None = None
) -> tuple[Array, Array]:
    """The second output has the size of each part along the axis."""
    first = parts[0]
    require(all(part.dtype == first.dtype for part in parts), "inputs have different dtypes")
    xp_parts = namespace(xp, *parts)
    adds = bool(add_axis) and axis is not None
    axis = axis_of(_axis_or_channels(axis, order), first.ndim + adds)
    joined = xp_parts.stack(parts, axis=axis) if adds else xp_parts.concatenate(parts, axis=axis)
    return joined, xp.asarray([1 if adds else part.shape[axis] for part in parts], dtype=xp.int32)


@kernel("Split", "DepthSplit")
def split_(
    xp: Any,
    x: Array,
    sizes: Array = None,
    *,
    ctx: Context,
    axis: int | None = None,
    add_axis: int = 0,
    order: str | None = None,
    split: list[int] | None = None,
) -> tuple[Array, ...]:
    """Sizes come as an input or as an argument; without, all parts are equal."""
    adds = bool(add_axis) and axis is not None
    axis = axis_of(_axis_or_channels(axis, order), x.ndim)
    if sizes is not None:
        require(not split, "the sizes are given as an input and as an argument; leave one out")
        expect("int32", sizes)
        split = sizes.reshape(-1).tolist()
    elif not split:
        require(x.shape[axis] % ctx.outputs == 0, f"{x.shape[axis]} do not split into {ctx.outputs} equal parts")
        split = [x.shape[axis] // ctx.outputs] * ctx.outputs
    require(len(split) == ctx.outputs, f"there are {len(split)} sizes for {ctx.outputs} outputs")
    parts = _taken_apart(x, axis, split)
    return tuple(part.squeeze(axis) for part in parts) if adds else parts


@kernel("SplitByLengths")
def split_by_lengths(
    xp: Any,
    x: Array,
    lengths: Array,
    *,
    ctx: Context,
    axis: int | None = None,
    order: str | None = None,
    use_scaling_lengths: int = 0,
) -> tuple[Array, ...]:
    """Each output gets an equal share of the lengths, and their sum in size; or what this is in proportion."""
    axis = axis_of(_axis_or_channels(axis, order), x.ndim)
    sizes = lengths_of(lengths)
    require(len(sizes) % ctx.outputs == 0, f"{len(sizes)} lengths do not divide among {ctx.outputs} outputs")
    factor = x.shape[axis] // sum(sizes) if use_scaling_lengths and sum(sizes) else 1
    share = len(sizes) // ctx.outputs
    return _taken_apart(x, axis, [factor * sum(sizes[i * share : (i + 1) * share]) for i in range(ctx.outputs)])


def _taken_apart(x: Array, axis: int, sizes: list[int]) -> tuple[Array, ...]:
    require(
        sum(sizes) == x.shape[axis], f"sizes {sizes} add up to {sum(sizes)}, but dimension {axis} has {x.shape[axis]}"
    )
    require(min(sizes) >= 0, f"a size in {sizes} is negative")
    starts = starts_of(sizes)
    before = (slice(None),) * axis
    return tuple(x[(*before, slice(start, stop))] for start, stop in pairwise(starts))


def _axis_or_channels(axis: int | None, order: str | None) -> int:
    """The axis, given itself or as that of the channels."""
    require(axis is None or order is None, "axis and order are both given; leave one out")
    return channel_axis(order or "NCHW") if axis is None else axis


@kernel("Append")
def append(xp: Any, x: Array, more: Array) -> Array:
    require(x.dtype == more.dtype, "inputs have different dtypes")
    return namespace(xp, x).concatenate((x, more), axis=0)


operator("Slice", inputs=(1, 3), outputs=1, args="starts ends", gradient=_slice_gradient)
operator("SliceGradient")


@kernel("Slice")
def slice_(
    xp: Any,
    x: Array,
    starts_in: Array = None,
    ends_in: Array = None,
    *,
    starts: list[int] | None = None,
    ends: list[int] | None = None,
) -> Array:
    """In one dimension only; -1 as an end is through the last element."""
    return x[_bounds(x, starts if starts_in is None else starts_in, ends if starts_in is None else ends_in)]


@kernel("SliceGradient")
def slice_gradient(
    xp: Any, x: Array, *rest: Array, starts: list[int] | None = None, ends: list[int] | None = None
) -> Array:
    *bounds, dy = rest
    region = _bounds(x, *(bounds or (starts, ends)))
    dx = xp.zeros(x.shape, dtype=dy.dtype)
    require(dx[region].shape == dy.shape, f"the gradient has shape {dy.shape}, the slice {dx[region].shape}")
    dx[region] = dy
    return dx


def _bounds(x: Array, starts: Any, ends: Any) -> tuple[slice, ...]:
    require(starts is not None and ends is not None, "starts and ends are wanted, as inputs or as arguments")
    starts, ends = integers(starts), integers(ends)
    require(len(starts) == len(ends) <= x.ndim, f"{len(starts)} starts and {len(ends)} ends do not fit rank {x.ndim}")
    found = [_bound(size, start, end) for size, start, end in zip(x.shape, starts, ends, strict=False)]
    cut = [i for i, each in enumerate(found) if each.stop - each.start < x.shape[i]]
    require(len(cut) <= 1 or x.size == 0, f"dimensions {cut} are sliced at once, where upstream slices one")
    return tuple(found)


def _bound(size: int, start: int, end: int) -> slice:
    if size == 0:
        return slice(0, 0)
    start, end = (min(size + 1 + at if at < 0 else at, size) for at in (start, end))
    require(0 <= start <= end, f"a slice from {start} to {end} of {size} is not possible")
    return slice(start, end)


# Repeated.

operator("Tile", inputs=(1, 3), outputs=1, args="tiles axis", gradient=_tile_gradient)
operator("TileGradient", inputs=(1, 3), outputs=1)
operator("NumpyTile", inputs=2)
operator("Expand", inputs=2, outputs=1, gradient=emit("ExpandGradient", [GO(0), I(0)], [GI(0)]))
operator("ExpandGradient", inputs=2, outputs=1)
operator("LengthsTile", inputs=2, outputs=1, gradient=emit("LengthsSum", [GO(0), I(1)], [GI(0)]))


@kernel("Tile")
def tile(
    xp: Any,
    x: Array,
    tiles_in: Array = None,
    axis_in: Array = None,
    *,
    tiles: int | None = None,
    axis: int | None = None,
) -> Array:
    expect("int32 int64 float32 float64 string", x)
    tiles, axis = _tiles_and_axis(x, tiles_in, axis_in, tiles, axis)
    return namespace(xp, x).tile(x, [tiles if i == axis else 1 for i in range(x.ndim)])


@kernel("TileGradient")
def tile_gradient(
    xp: Any,
    dy: Array,
    tiles_in: Array = None,
    axis_in: Array = None,
    *,
    tiles: int | None = None,
    axis: int | None = None,
) -> Array:
    expect("int32 int64 float32 float64", dy)
    tiles, axis = _tiles_and_axis(dy, tiles_in, axis_in, tiles, axis)
    require(tiles > 0 and dy.shape[axis] % tiles == 0, f"dimension {axis} does not consist of {tiles} tiles")
    stacked = dy.reshape(*dy.shape[:axis], tiles, dy.shape[axis] // tiles, *dy.shape[axis + 1 :])
    return stacked.sum(axis=axis, dtype=dy.dtype)


def _tiles_and_axis(x: Array, tiles_in: Array, axis_in: Array, tiles: int | None, axis: int | None) -> tuple[int, int]:
    """What comes as an input goes before the argument; int64 tiles are taken for the axis too, as upstream does."""
    if tiles_in is not None:
        (tiles,) = integers(tiles_in)
        axis = tiles if str(tiles_in.dtype) == "int64" and axis is not None else axis
    if axis_in is not None:
        (axis,) = integers(axis_in)
    if tiles is None or axis is None:
        raise ValueError("tiles and axis are wanted, as inputs or as arguments")
    require(tiles >= 0, f"tiles {tiles} is negative")
    return tiles, axis_of(axis, x.ndim)


@kernel("NumpyTile")
def numpy_tile(xp: Any, x: Array, repeats: Array) -> Array:
    """How often to repeat along each dimension: as many numbers as the rank."""
    times = integers(repeats)
    require(len(times) == x.ndim, f"{len(times)} repeats do not fit rank {x.ndim}")
    require(min(times, default=0) >= 0, f"repeats {times} must not be negative")
    return namespace(xp, x).tile(x, times)


@kernel("Expand")
@only("int32", "int64", "float32", "float64", at=[0])
def expand(xp: Any, x: Array, shape: Array) -> Array:
    """NumPy's broadcasting in both directions; sizes of 0 or less in `shape` count as 1."""
    expect("int64", shape)
    wanted = [max(size, 1) for size in integers(shape)]
    rank = max(len(wanted), x.ndim)
    wanted = [1] * (rank - len(wanted)) + wanted
    own = [1] * (rank - x.ndim) + list(x.shape)
    target = [there if here == 1 else here for here, there in zip(own, wanted, strict=True)]
    require(
        all(there in {1, size} for size, there in zip(target, wanted, strict=True)),
        f"shape {tuple(x.shape)} does not expand to {wanted}",
    )
    return xp.broadcast_to(x, target).copy()


@kernel("ExpandGradient")
@only("int32", "int64", "float32", "float64", at=[0])
def expand_gradient(xp: Any, dy: Array, x: Array) -> Array:
    """The sum over all places to which an element was copied."""
    require(dy.ndim >= x.ndim, f"the gradient has rank {dy.ndim}, less than the input's {x.ndim}")
    own = [1] * (dy.ndim - x.ndim) + list(x.shape)
    copied = tuple(i for i, size in enumerate(own) if size == 1)
    return dy.sum(axis=copied, keepdims=True, dtype=dy.dtype).reshape(x.shape)


@kernel("LengthsTile")
def lengths_tile(xp: Any, x: Array, lengths: Array) -> Array:
    times = lengths_of(lengths)
    require(x.ndim > 0 and len(times) == x.shape[0], f"{len(times)} lengths do not fit shape {x.shape}")
    return namespace(xp, x).repeat(x, times, axis=0)


operator("ComputeOffset", inputs=(1, MANY), outputs=1, gradient=SHOULD_NOT)

no_kernel("it reads the cursor of a data set, which is no tensor", "ComputeOffset")
