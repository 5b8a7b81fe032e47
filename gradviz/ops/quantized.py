"""Quantised arithmetic and row-wise quantised tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops._quantized import (
    EIGHT,
    EIGHT_HALF,
    FAKE_FOUR,
    FAKE_TWO,
    FOUR,
    TWO,
    Format,
    pack,
    unpack,
)
from gradviz.ops._segments import Segmentation, by_lengths, column, mean, sizes, total
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, kernel, no_kernel, operator
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator("ByteWeightDequant", inputs=1, outputs=1)
operator("FloatToFused2BitFakeRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFused2BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFused4BitFakeRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFused4BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFused8BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFused8BitRowwiseQuantizedHalfScaleBias", inputs=1, outputs=1, gradient=NONE)
operator("FloatToFusedRandRowwiseQuantized", inputs=1, outputs=1, args="bitwidth random", gradient=NONE)
operator("FloatToRowwiseQuantized8Bits", inputs=1, outputs=2, gradient=NONE)
operator("Fused2BitRowwiseQuantizedToFloat", inputs=1, outputs=1, gradient=NONE)
operator("Fused2BitRowwiseQuantizedToHalf", inputs=1, outputs=1, gradient=NONE)
operator("Fused4BitRowwiseQuantizedToFloat", inputs=1, outputs=1, gradient=NONE)
operator("Fused4BitRowwiseQuantizedToHalf", inputs=1, outputs=1, gradient=NONE)
operator("Fused8BitRowwiseQuantizedHalfScaleBiasToFloat", inputs=1, outputs=1, gradient=NONE)
operator("Fused8BitRowwiseQuantizedHalfScaleBiasToHalfFloat", inputs=1, outputs=1, gradient=NONE)
operator("Fused8BitRowwiseQuantizedToFloat", inputs=1, outputs=1, gradient=NONE)
operator("Fused8BitRowwiseQuantizedToHalfFloat", inputs=1, outputs=1, gradient=NONE)
operator("FusedRandRowwiseQuantizedToFloat", inputs=1, outputs=1, gradient=NONE)
operator("HalfFloatToFused8BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("HalfFloatToFused8BitRowwiseQuantizedHalfScaleBias", inputs=1, outputs=1, gradient=NONE)
operator("HalfToFused2BitFakeRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("HalfToFused2BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("HalfToFused4BitFakeRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("HalfToFused4BitRowwiseQuantized", inputs=1, outputs=1, gradient=NONE)
operator("Int8Add", inputs=2, outputs=1, inplace=[(0, 0), (1, 0)], args="Y_scale Y_zero_point")
operator("Int8AddRelu", inputs=2, outputs=1, inplace=[(0, 0), (1, 0)], args="Y_scale Y_zero_point")
operator("Int8AveragePool", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8AveragePoolRelu", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8BatchMatMul", checked=False)
operator("Int8ChannelShuffle", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8Concat", inputs=(1, MANY), outputs=(1, 2), args="Y_scale Y_zero_point axis add_axis")
operator("Int8Conv", inputs=(2, 3), outputs=1, args="Y_scale Y_zero_point")
operator("Int8ConvPackWeight", inputs=(1, 2), outputs=1, args="quantize_groupwise save_unpacked_weights in_scale")
operator("Int8ConvRelu", inputs=(2, 3), outputs=1, args="Y_scale Y_zero_point")
operator("Int8ConvSum", inputs=(2, 4), outputs=1, inplace=[(2, 0), (3, 0)])
operator("Int8ConvSumRelu", inputs=(2, 4), outputs=1, inplace=[(2, 0), (3, 0)])
operator("Int8ConvTranspose", inputs=(2, 3), outputs=1, args="Y_scale Y_zero_point")
operator("Int8Dequantize", inputs=1, outputs=1)
operator("Int8DequantizeRowWise", checked=False)
operator("Int8ElementwiseLinear", checked=False)
operator("Int8FC", inputs=(3, 4), outputs=(1, 4), args="Y_scale Y_zero_point")
operator(
    "Int8FCPackWeight", inputs=(1, 2), outputs=(1, 2), args="axis_w quantize_channelwise save_unpacked_weights in_scale"
)
operator("Int8FCRelu", inputs=(3, 4), outputs=1)
operator("Int8Flatten", inputs=1, outputs=1, args="Y_scale Y_zero_point axis")
operator("Int8Gather", checked=False)
operator("Int8GenQuantParams", inputs=2, outputs=1)
operator("Int8GivenIntTensorFill", inputs=0, outputs=1, args="values shape Y_scale Y_zero_point")
operator("Int8GivenTensorFill", inputs=0, outputs=1, args="values shape Y_scale Y_zero_point")
operator("Int8GroupNorm", inputs=3, arities=[(3, 1), (3, 3)])
operator("Int8LSTMUnit", checked=False)
operator("Int8LeakyRelu", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha Y_scale Y_zero_point")
operator("Int8MaxPool", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8MaxPoolRelu", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8Mul", checked=False)
operator("Int8Quantize", inputs=(1, 2), outputs=1, args="Y_scale Y_zero_point")
operator("Int8Relu", inputs=1, outputs=1, inplace=[(0, 0)], args="Y_scale Y_zero_point")
operator("Int8Reshape", inputs=(1, 2), outputs=2, inplace=[(0, 0)], args="shape Y_scale Y_zero_point")
operator("Int8ResizeNearest", inputs=1, outputs=1, args="Y_scale Y_zero_point width_scale height_scale output_size")
operator(
    "Int8RoIAlign", inputs=2, outputs=1, args="Y_scale Y_zero_point spatial_scale pooled_h pooled_w sampling_ratio"
)
operator("Int8Sigmoid", inputs=1, outputs=1, args="Y_scale Y_zero_point")
operator("Int8Slice", inputs=(1, 3), outputs=1, args="Y_scale Y_zero_point starts ends dim start_idx end_idx")
operator("Int8Softmax", inputs=1, outputs=1, args="Y_scale Y_zero_point axis")
operator("Int8SpatialBN", inputs=5, outputs=1)
operator("Int8SpatialBNRelu", inputs=5, outputs=1)
operator("Int8Sum", inputs=(1, MANY), outputs=1, inplace=[(0, 0), (1, 0)], args="Y_scale Y_zero_point")
operator("Int8SumRelu", inputs=(1, MANY), outputs=1, inplace=[(0, 0), (1, 0)], args="Y_scale Y_zero_point")
operator("Int8Tanh", checked=False)
operator("Int8Transpose", inputs=1, outputs=1, args="axes Y_scale Y_zero_point")
operator("Quantize", inputs=(1, 2), outputs=1)
operator("Rowwise8BitQuantizedToFloat", inputs=2, outputs=1, gradient=NONE)
operator("SparseLengthsMean2BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsMean4BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsMean8BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsMean8BitsRowwise", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsMeanFused2BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsMeanFused4BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsMeanFused8BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsSum2BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsSum4BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsSum8BitRowwiseSparse", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsSum8BitsRowwise", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsSumFused2BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsSumFused4BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsSumFused8BitRowwise", inputs=3, outputs=1, gradient=NONE)
operator("SparseLengthsSumSparseLookup", inputs=(3, 4), outputs=(2, 3), gradient=NONE)
operator("SparseLengthsWeightedMean8BitsRowwise", inputs=5, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSum2BitRowwiseSparse", inputs=5, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSum4BitRowwiseSparse", inputs=5, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSum8BitRowwiseSparse", inputs=5, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSum8BitsRowwise", inputs=5, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSumFused2BitRowwise", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSumFused4BitRowwise", inputs=4, outputs=1, gradient=NONE)
operator("SparseLengthsWeightedSumFused8BitRowwise", inputs=4, outputs=1, gradient=NONE)
operator("Dequantize", inputs=1, outputs=1)


def _packing(types: str, dtype: str, layout: Format) -> None:
    def quantise(xp: Any, x: Any, *, ctx: Context) -> Any:
        """Quantise rows of numbers to fused rows of bytes; the engine GREEDY looks for a narrower range."""
        expect(dtype, x)
        return pack(xp, x, layout, greedy=ctx.op.engine == "GREEDY")

    kernel(*types.split())(quantise)


_packing("FloatToFused8BitRowwiseQuantized", "float32", EIGHT)
_packing("FloatToFused8BitRowwiseQuantizedHalfScaleBias", "float32", EIGHT_HALF)
_packing("FloatToFused4BitRowwiseQuantized", "float32", FOUR)
_packing("FloatToFused2BitRowwiseQuantized", "float32", TWO)
_packing("FloatToFused4BitFakeRowwiseQuantized", "float32", FAKE_FOUR)
_packing("FloatToFused2BitFakeRowwiseQuantized", "float32", FAKE_TWO)
_packing("HalfFloatToFused8BitRowwiseQuantized", "float16", EIGHT)
_packing("HalfFloatToFused8BitRowwiseQuantizedHalfScaleBias", "float16", EIGHT_HALF)
_packing("HalfToFused4BitRowwiseQuantized", "float16", FOUR)
_packing("HalfToFused2BitRowwiseQuantized", "float16", TWO)
_packing("HalfToFused4BitFakeRowwiseQuantized", "float16", FAKE_FOUR)
_packing("HalfToFused2BitFakeRowwiseQuantized", "float16", FAKE_TWO)


def _unpacking(type: str, layout: Format, dtype: str = "float32") -> None:
    def dequantise(xp: Any, fused: Any) -> Any:
        """Read fused rows of bytes as rows of numbers."""
        return unpack(xp, fused, layout).astype(dtype)

    kernel(type)(dequantise)


_unpacking("Fused8BitRowwiseQuantizedToFloat", EIGHT)
_unpacking("Fused8BitRowwiseQuantizedToHalfFloat", EIGHT, "float16")
_unpacking("Fused8BitRowwiseQuantizedHalfScaleBiasToFloat", EIGHT_HALF)
# Upstream answers in float32 under this name, too.
_unpacking("Fused8BitRowwiseQuantizedHalfScaleBiasToHalfFloat", EIGHT_HALF)
_unpacking("Fused4BitRowwiseQuantizedToFloat", FOUR)
_unpacking("Fused4BitRowwiseQuantizedToHalf", FOUR, "float16")
_unpacking("Fused2BitRowwiseQuantizedToFloat", TWO)
_unpacking("Fused2BitRowwiseQuantizedToHalf", TWO, "float16")


@kernel("FloatToRowwiseQuantized8Bits")
def float_to_rowwise_quantized_8_bits(xp: Any, x: Any) -> tuple[Any, Any]:
    """Rows as bytes, and for each row (scale, bias) as float32."""
    expect("float32", x)
    rows = x.reshape(x.shape[0], -1)
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    scale = xp.where(high > low, (high - low) / xp.float32(255), 1).astype("float32")
    values = xp.rint((rows - low) / scale).astype("uint8")
    return values.reshape(x.shape), xp.concatenate([scale, low], axis=1)


def _byte_rows(data: Any, scale_bias: Any) -> Any:
    expect("uint8", data)
    expect("float32", scale_bias)
    require(scale_bias.shape == (data.shape[0], 2), f"scale and bias must have the shape ({data.shape[0]}, 2)")
    scale, bias = column(scale_bias[:, 0], data), column(scale_bias[:, 1], data)
    return data.astype("float32") * scale + bias


@kernel("Rowwise8BitQuantizedToFloat")
def rowwise_8_bit_quantized_to_float(xp: Any, data: Any, scale_bias: Any) -> Any:
    return _byte_rows(data, scale_bias)


# Sums over segments of rows of quantised tables.


def _pool(xp: Any, rows: Any, weights: Any, lengths: Any, averages: bool) -> Any:
    """Fold rows that were picked and read already."""
    segments = by_lengths(xp, lengths, rows.shape[0])
    if weights is not None:
        expect("float32", weights)
        require(weights.shape == rows.shape[:1], f"there are {weights.size} weights for {rows.shape[0]} rows")
        rows = rows * column(weights, rows)
    return (mean if averages else total)(xp, rows, segments)


def _check_indices(indices: Any, rows: int) -> None:
    expect("int32 int64", indices)
    inside = bool(((indices >= 0) & (indices < rows)).all())
    require(indices.ndim == 1 and inside, f"the indices must be a list of numbers from 0 to {rows - 1}")


def _pooling_rowwise(type: str, averages: bool, weighted: bool) -> None:
    def pool(xp: Any, data: Any, *rest: Any) -> Any:
        """Sum or mean of the rows of each segment; inputs are data, weights (if weighted), indices, lengths, scales."""
        weights = rest[0] if weighted else None
        indices, lengths, scale_bias = rest[-3:]
        _check_indices(indices, data.shape[0])
        return _pool(xp, _byte_rows(data[indices], scale_bias[indices]), weights, lengths, averages)

    kernel(type)(pool)


_pooling_rowwise("SparseLengthsSum8BitsRowwise", averages=False, weighted=False)
_pooling_rowwise("SparseLengthsMean8BitsRowwise", averages=True, weighted=False)
_pooling_rowwise("SparseLengthsWeightedSum8BitsRowwise", averages=False, weighted=True)
_pooling_rowwise("SparseLengthsWeightedMean8BitsRowwise", averages=True, weighted=True)


def _pooling_fused(type: str, layout: Format, averages: bool, weighted: bool) -> None:
    def pool(xp: Any, data: Any, *rest: Any) -> Any:
        """Sum or mean of the fused rows of each segment; inputs are data, weights (if weighted), indices, lengths."""
        weights = rest[0] if weighted else None
        indices, lengths = rest[-2:]
        _check_indices(indices, data.shape[0])
        return _pool(xp, unpack(xp, data[indices], layout), weights, lengths, averages)

    kernel(type)(pool)


def _pooling_pruned(type: str, layout: Format, averages: bool, weighted: bool) -> None:
    def pool(xp: Any, data: Any, *rest: Any) -> Any:
        """As the fused form, but an index is looked up in a mapping (the last input) first; -1 means a row of zeros.

        A mapping of one element maps nothing.
        """
        weights = rest[0] if weighted else None
        indices, lengths, mapping = rest[-3:]
        expect("int32", mapping)
        if mapping.size == 1:
            places, kept = indices, None
            _check_indices(places, data.shape[0])
        else:
            _check_indices(indices, mapping.size)
            places = mapping[indices]
            kept = places >= 0
            require(not places.size or int(places.max()) < data.shape[0], "the mapping names a row that is not there")
        if kept is None:
            rows = unpack(xp, data[places], layout)
        else:
            rows = xp.zeros((places.size, unpack(xp, data[:0], layout).shape[1]), dtype="float32")
            rows[kept] = unpack(xp, data[places[kept]], layout)
        return _pool(xp, rows, weights, lengths, averages)

    kernel(type)(pool)


for _bits, _layout in ((8, EIGHT), (4, FOUR), (2, TWO)):
    for _fold, _averages, _weighted in (("Sum", False, False), ("Mean", True, False), ("WeightedSum", False, True)):
        _pooling_fused(f"SparseLengths{_fold}Fused{_bits}BitRowwise", _layout, _averages, _weighted)
        _pooling_pruned(f"SparseLengths{_fold}{_bits}BitRowwiseSparse", _layout, _averages, _weighted)


@kernel("SparseLengthsSumSparseLookup")
def sparse_lengths_sum_sparse_lookup(
    xp: Any, indices: Any, lengths: Any, mapping: Any, weights: Any = None
) -> tuple[Any, ...]:
    """Indices looked up in a mapping, without those that it maps to -1; lengths and weights without them, too."""
    expect("int32 int64", indices)
    expect("int32", mapping)
    ids, count, _ = by_lengths(xp, lengths, indices.size)
    if mapping.size == 1:
        return (indices, lengths) if weights is None else (indices, lengths, weights)
    _check_indices(indices, mapping.size)
    places = mapping[indices]
    kept = places >= 0
    made = places[kept].astype(indices.dtype), sizes(xp, Segmentation(ids[kept], count)).astype("int32")
    return made if weights is None else (*made, weights[kept])


# Rows with an own header: bits of a value, values missing in the last byte's column, least and largest value.

_HEADER = 10


@kernel("FloatToFusedRandRowwiseQuantized")
def float_to_fused_rand_rowwise_quantized(xp: Any, x: Any, *, ctx: Context, bitwidth: int = 8, random: int = 1) -> Any:
    """Quantise rows to 1, 2, 4 or 8 bits, rounding at random or to the nearest.

    A row's values are cut into as many parts as a byte holds values; byte i holds the i-th value of every part.
    """
    expect("float32", x)
    require(x.ndim == 2 and bitwidth in {1, 2, 4, 8}, "a matrix is wanted, and a bitwidth of 1, 2, 4 or 8")
    rows, width = x.shape
    per_byte = 8 // bitwidth
    part = -(-width // per_byte)
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    scaled = (x - low) / ((high - low) / xp.float32((1 << bitwidth) - 1) + xp.float32(1e-8))
    levels = xp.floor(scaled + ctx.random.random(x.shape, dtype=xp.float32)) if random else xp.rint(scaled)
    values = xp.zeros((rows, per_byte * part), dtype="uint8")
    values[:, :width] = xp.clip(levels, 0, (1 << bitwidth) - 1).astype("uint8")
    shifts = xp.arange(0, 8, bitwidth, dtype="uint8")[:, None]
    packed = (values.reshape(rows, per_byte, part) << shifts).sum(axis=1).astype("uint8")
    header = xp.broadcast_to(xp.asarray([bitwidth, per_byte * part - width], dtype="uint8"), (rows, 2))
    limits = xp.ascontiguousarray(xp.concatenate([low, high], axis=1)).view("uint8")
    return xp.concatenate([header, limits, packed], axis=1)


@kernel("FusedRandRowwiseQuantizedToFloat")
def fused_rand_rowwise_quantized_to_float(xp: Any, fused: Any) -> Any:
    """Read what FloatToFusedRandRowwiseQuantized wrote; the first row's header says how."""
    expect("uint8", fused)
    require(fused.ndim == 2 and fused.shape[0] > 0 and fused.shape[1] >= _HEADER, "rows with a header are wanted")
    bits, missing = int(fused[0, 0]), int(fused[0, 1])
    require(bits in {1, 2, 4, 8}, f"the header says that values have {bits} bits")
    limits = xp.ascontiguousarray(fused[:, 2:_HEADER]).view("float32")
    low, high = limits[:, :1], limits[:, 1:]
    step = (high - low) / xp.float32((1 << bits) - 1)
    packed = fused[:, _HEADER:]
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    values = xp.concatenate(parts, axis=1)
    return values[:, : values.shape[1] - missing].astype("float32") * step + low


_ARITHMETIC = (
    "Int8Add Int8AddRelu Int8AveragePool Int8AveragePoolRelu Int8BatchMatMul Int8ChannelShuffle Int8Concat "
    "Int8Conv Int8ConvPackWeight Int8ConvRelu Int8ConvSum Int8ConvSumRelu Int8ConvTranspose Int8Dequantize "
    "Int8DequantizeRowWise Int8ElementwiseLinear Int8FC Int8FCPackWeight Int8FCRelu Int8Flatten Int8Gather "
    "Int8GenQuantParams Int8GivenIntTensorFill Int8GivenTensorFill Int8GroupNorm Int8LSTMUnit Int8LeakyRelu "
    "Int8MaxPool Int8MaxPoolRelu Int8Mul Int8Quantize Int8Relu Int8Reshape Int8ResizeNearest Int8RoIAlign "
    "Int8Sigmoid Int8Slice Int8Softmax Int8SpatialBN Int8SpatialBNRelu Int8Sum Int8SumRelu Int8Tanh "
    "Int8Transpose "
    "ByteWeightDequant Dequantize Quantize"
)
no_kernel(
    "its arithmetic is for inference on integers; gradviz runs nets that are trained",
    *_ARITHMETIC.split(),
)
