"""Sequences of unequal lengths: packing, padding, reversing."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi, prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import only, require, require_same_dtype
from gradviz.ops._rows import beside, integers, lengths_of, namespace, starts_of
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, kernel, operator
from gradviz.ops.rules import GI, GO, I, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _padded_gradient(m: Maker) -> list[str]:
    """What the gradients of padding read: the output's gradient and, where there are lengths, the new lengths."""
    return [m.GO(0), m.O(1)] if len(m.op.inputs) > 1 else [m.GO(0)]


def _add_padding_gradient(m: Maker) -> list[GradientOp]:
    reads = _padded_gradient(m)
    made = [m.make("RemovePadding", reads, [m.GI(0)])]
    if len(m.op.inputs) > 2:
        made.append(m.make("GatherPadding", reads, [m.GI(i) for i in range(2, len(m.op.inputs))]))
    return made


def _remove_padding_gradient(m: Maker) -> list[GradientOp]:
    return [m.make("AddPadding", _padded_gradient(m), [m.GI(0)])]


# Packed: a row for each segment, filled up at the end.

operator(
    "PackSegments",
    inputs=2,
    outputs=(1, 2),
    args="max_length pad_minf return_presence_mask",
    gradient=emit("UnpackSegments", [I(0), GO(0)], [GI(1)]),
)
operator(
    "UnpackSegments", inputs=2, outputs=1, args="max_length", gradient=emit("PackSegments", [I(0), GO(0)], [GI(1)])
)
operator("PackRNNSequence", inputs=2, outputs=1, gradient=emit("UnpackRNNSequence", [GO(0), I(1)], [GI(0)]))
operator("UnpackRNNSequence", inputs=2, outputs=1, gradient=emit("PackRNNSequence", [GO(0), I(1)], [GI(0)]))
operator("ReversePackedSegs", inputs=2, outputs=1, gradient=emit("ReversePackedSegs", [GO(0), I(1)], [GI(0)]))
operator("VariableLengthSequencePadding", inputs=2, outputs=1, inplace=[(0, 0)])
operator("LengthsPad", inputs=2, outputs=1, args="padding_value target_length", gradient=NONE)


@kernel("PackSegments")
def pack_segments(
    xp: Any,
    lengths: Array,
    data: Array,
    *,
    max_length: int = -1,
    pad_minf: int = 0,
    return_presence_mask: int = 0,
) -> tuple[Array, Any]:
    """Segments longer than `max_length` are cut off; what is not there is 0, or minus infinity with `pad_minf`."""
    sizes = _sizes(lengths)
    require(data.ndim > 0 and sum(sizes) == data.shape[0], f"lengths {sizes} do not add up to shape {data.shape}")
    width = max(sizes, default=0) if max_length == -1 else max_length
    packed = _blank(xp, (len(sizes), width, *data.shape[1:]), data)
    if pad_minf and data.dtype.kind == "f":
        packed[...] = -float("inf")
    present = xp.arange(width) < xp.asarray(sizes, dtype=xp.int64)[:, None]
    packed[beside(data, present)] = data[beside(data, _kept(xp, sizes, width))]
    return packed, present if return_presence_mask else None


@kernel("UnpackSegments")
def unpack_segments(xp: Any, lengths: Array, data: Array, *, max_length: int = -1) -> Array:
    sizes = _sizes(lengths)
    require(data.ndim > 1 and len(sizes) == data.shape[0], f"{len(sizes)} lengths do not fit shape {data.shape}")
    width = data.shape[1]
    require(max_length in {-1, width}, f"max_length {max_length} is not the width {width} of the packed segments")
    if max_length != -1:
        sizes = [min(size, width) for size in sizes]
    require(max(sizes, default=0) <= width, f"a segment is longer than the width {width}")
    present = xp.arange(width) < xp.asarray(sizes, dtype=xp.int64)[:, None]
    return data[beside(data, present)]


def _sizes(lengths: Array) -> list[int]:
    expect("int32 int64", lengths)
    sizes = integers(lengths)
    require(min(sizes, default=0) >= 0, f"a length in {sizes} is negative")
    return sizes


def _kept(xp: Any, sizes: list[int], width: int) -> Array:
    """Which rows remain where segments are cut off at `width`."""
    sizes_array = xp.asarray(sizes, dtype=xp.int64)
    starts = xp.repeat(xp.cumsum(sizes_array) - sizes_array, sizes)
    return xp.arange(sum(sizes)) - starts < width


def _blank(xp: Any, shape: tuple[int, ...], like: Array) -> Array:
    """Zeros, or empty texts."""
    blank = namespace(xp, like).zeros(shape, dtype=like.dtype)
    if like.dtype.kind == "O":
        blank[...] = b""
    return blank


@kernel("PackRNNSequence")
def pack_rnn_sequence(xp: Any, values: Array, lengths: Array) -> Array:
    """Time first: a column for each sequence, 0 behind its end."""
    expect("float32 float64 int32 int64", values)
    sizes = lengths_of(lengths, values.shape[0] if values.ndim else 0)
    packed = xp.zeros((len(sizes), max(sizes, default=0), *values.shape[1:]), dtype=values.dtype)
    packed[xp.arange(packed.shape[1]) < xp.asarray(sizes, dtype=xp.int64)[:, None]] = values
    return xp.swapaxes(packed, 0, 1).copy()


@kernel("UnpackRNNSequence")
def unpack_rnn_sequence(xp: Any, values: Array, lengths: Array) -> Array:
    expect("float32 float64 int32 int64", values)
    require(values.ndim > 1, f"time and sequences are wanted, not rank {values.ndim}")
    sizes = lengths_of(lengths)
    fits = len(sizes) <= values.shape[1] and max(sizes, default=0) <= values.shape[0]
    require(fits, f"lengths {sizes} do not fit shape {values.shape}")
    present = xp.arange(values.shape[0]) < xp.asarray(sizes, dtype=xp.int64)[:, None]
    return xp.swapaxes(values, 0, 1)[: len(sizes)][present]


@kernel("ReversePackedSegs")
def reverse_packed_segments(xp: Any, data: Array, lengths: Array) -> Array:
    """Each sequence turned around within its length; what lies behind it stays."""
    expect("float32 float64 int32 int64 bool", data)
    sizes = _sizes(lengths)
    _require_time_first(data, sizes)
    size = xp.asarray(sizes, dtype=xp.int64)
    time = xp.arange(data.shape[0])[:, None]
    return data[xp.where(time < size, size - 1 - time, time), xp.arange(data.shape[1])]


@kernel("VariableLengthSequencePadding")
@only("float32", at=[0])
def variable_length_sequence_padding(xp: Any, data: Array, lengths: Array) -> Array:
    """0 behind the end of each sequence."""
    sizes = lengths_of(lengths)
    _require_time_first(data, sizes)
    return xp.where((xp.arange(data.shape[0])[:, None] < xp.asarray(sizes, dtype=xp.int64))[:, :, None], data, 0)


def _require_time_first(data: Array, sizes: list[int]) -> None:
    require(data.ndim == 3, f"time, sequences and features are wanted, not rank {data.ndim}")
    fits = len(sizes) == data.shape[1] and max(sizes, default=0) <= data.shape[0]
    require(fits, f"lengths {sizes} do not fit shape {data.shape}")


@kernel("LengthsPad")
def lengths_pad(xp: Any, data: Array, lengths: Array, *, padding_value: float = -1.0, target_length: int = -1) -> Array:
    """Each segment filled up to the same length."""
    expect("float32 float64 int32 int64", data)
    require(target_length > 0, f"target_length {target_length} must be positive")
    sizes = lengths_of(lengths, data.shape[0] if data.ndim else 0)
    require(max(sizes, default=0) <= target_length, f"a segment is longer than target_length {target_length}")
    padded = xp.full((len(sizes), target_length, *data.shape[1:]), padding_value, dtype=data.dtype)
    padded[xp.arange(target_length) < xp.asarray(sizes, dtype=xp.int64)[:, None]] = data
    return padded.reshape(len(sizes) * target_length, *data.shape[1:])


# Padded: rows put before and behind each segment, and taken off again.

operator(
    "AddPadding", inputs=(1, 4), outputs=(1, 2), args="padding_width end_padding_width", gradient=_add_padding_gradient
)
operator(
    "RemovePadding",
    inputs=(1, 2),
    outputs=(1, 2),
    args="padding_width end_padding_width",
    gradient=_remove_padding_gradient,
)
operator("GatherPadding", inputs=2, outputs=(1, 2), args="padding_width end_padding_width")
operator("PadEmptySamples", inputs=(1, MANY), outputs=(1, MANY))


@kernel("AddPadding")
def add_padding(
    xp: Any,
    data: Array,
    lengths: Array = None,
    start: Array = None,
    end: Array = None,
    *,
    padding_width: int = 1,
    end_padding_width: int | None = None,
) -> tuple[Array, Array]:
    """Zeros, or copies of `start` and `end` (`start` in place of both), around each segment; and the new lengths."""
    expect("float32 float64 int32 int64 bool", data)
    sizes, before, after = _segments(data, lengths, padding_width, end_padding_width)
    pads = [_pad_rows(xp, data, row, width) for row, width in ((start, before), (start if end is None else end, after))]
    parts = [part for first, last in pairwise(starts_of(sizes)) for part in (pads[0], data[first:last], pads[1])]
    return xp.concatenate([data[:0], *parts]), xp.asarray([size + before + after for size in sizes], dtype=xp.int32)


def _pad_rows(xp: Any, data: Array, row: Array, width: int) -> Array:
    if row is None:
        return xp.zeros((width, *data.shape[1:]), dtype=data.dtype)
    require_same_dtype(data, row)
    require(row.size == prod(data.shape[1:]), f"a padding of shape {row.shape} does not fit rows {data.shape[1:]}")
    return xp.broadcast_to(row.reshape(data.shape[1:]), (width, *data.shape[1:]))


@kernel("RemovePadding")
def remove_padding(
    xp: Any, data: Array, lengths: Array = None, *, padding_width: int = 1, end_padding_width: int | None = None
) -> tuple[Array, Array]:
    expect("float32 float64 int32 int64 bool", data)
    sizes, before, after = _segments(data, lengths, padding_width, end_padding_width)
    require(min(sizes, default=before + after) >= before + after, f"a segment in {sizes} is shorter than its padding")
    parts = [data[first + before : last - after] for first, last in pairwise(starts_of(sizes))]
    return xp.concatenate([data[:0], *parts]), xp.asarray([size - before - after for size in sizes], dtype=xp.int32)


@kernel("GatherPadding")
def gather_padding(
    xp: Any,
    data: Array,
    lengths: Array,
    *,
    ctx: Context,
    padding_width: int = 1,
    end_padding_width: int | None = None,
) -> tuple[Array, ...]:
    """The sums of all paddings in front and of all behind, or of both together."""
    expect("float32 float64 int32 int64", data)
    sizes, before, after = _segments(data, lengths, padding_width, end_padding_width)
    if before == after == 0:
        return (xp.zeros((), dtype=xp.int64),) * ctx.outputs
    require(min(sizes, default=before + after) >= before + after, f"a segment in {sizes} is shorter than its padding")
    edges = list(pairwise(starts_of(sizes)))
    front = [row for first, _ in edges for row in range(first, first + before)]
    back = [row for _, last in edges for row in range(last - after, last)]
    chosen = [front, back] if ctx.outputs > 1 else [front + back]
    return tuple(data[xp.asarray(rows, dtype=xp.int64)].sum(axis=0, dtype=data.dtype) for rows in chosen)


def _segments(data: Array, lengths: Array, width: int, end_width: int | None) -> tuple[list[int], int, int]:
    """Lengths of the segments (one segment, if there are none), and the widths of the padding."""
    require(data.ndim > 0, "a scalar has no rows")
    after = width if end_width is None or end_width < 0 else end_width
    require(width >= 0, f"padding_width {width} is negative")
    return [data.shape[0]] if lengths is None else lengths_of(lengths, data.shape[0]), width, after


@kernel("PadEmptySamples")
def pad_empty_samples(xp: Any, lengths: Array, *features: Array) -> tuple[Array, ...]:
    """Each empty segment gets one row of zeros."""
    sizes = lengths_of(lengths)
    padded = [max(size, 1) for size in sizes]
    is_pad = xp.repeat(xp.asarray([size == 0 for size in sizes], dtype=bool), padded)
    outputs = [xp.asarray(padded, dtype=xp.int32)]
    for feature in features:
        require(feature.ndim > 0 and feature.shape[0] == sum(sizes), f"lengths {sizes} do not fit {feature.shape}")
        filled = _blank(xp, (sum(padded), *feature.shape[1:]), feature)
        filled[beside(feature, ~is_pad)] = feature
        outputs.append(filled)
    return tuple(outputs)


# Positions.

operator("SinusoidPositionEncoding", inputs=1, outputs=1, args="embedding_size alpha amplitude")


@kernel("SinusoidPositionEncoding")
def sinusoid_position_encoding(
    xp: Any, positions: Array, *, embedding_size: int = 100, alpha: float = 10000.0, amplitude: float = 1.0
) -> Array:
    """Sine and cosine in turn of position / alpha^(k / size); the first column's position counts for its whole row.

    Wavelengths are spaced evenly in their logarithm, so that position 0 gives NaN in all but the last place.
    """
    expect("int32 int64", positions)
    require(positions.ndim == 2, f"a matrix of positions is wanted, not rank {positions.ndim}")
    require(embedding_size > 0, f"embedding_size {embedding_size} must be positive")
    start = xp.log(positions[:, :1].astype(xp.float32))
    stop = start - xp.float32(log(alpha) * (embedding_size - 1) / embedding_size)
    step = (stop - start) / xp.float32(max(embedding_size - 1, 1))
    place = xp.arange(embedding_size)
    exponents = xp.where(place == embedding_size - 1, stop, start + step * place.astype(xp.float32))
    phase = (place % 2).astype(xp.float32) * xp.float32(pi / 2)
    codes = xp.float32(amplitude) * xp.sin(xp.exp(exponents) + phase)
    return xp.repeat(codes[:, None, :], positions.shape[1], axis=1)
