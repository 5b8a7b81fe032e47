"""Fillers: arrays out of constants, ranges and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, kernel, operator
from gradviz.proto import TensorProto

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ops.context import Context

_DTYPES: dict[int | None, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.INT32: "int32",
    TensorProto.STRING: "string",
    TensorProto.BOOL: "bool",
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16",
    TensorProto.INT64: "int64",
    TensorProto.DOUBLE: "float64",
}

operator(
    "ConstantFill",
    inputs=(0, 2),
    outputs=1,
    inplace=[(0, 0)],
    args="value dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "GaussianFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="mean std shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniformFill",
    outputs=1,
    arities=[(0, 1), (1, 1), (3, 1)],
    inplace=[(0, 0)],
    args="min max shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniformIntFill",
    outputs=1,
    arities=[(0, 1), (1, 1), (3, 1)],
    inplace=[(0, 0)],
    args="min max shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniqueUniformFill",
    inputs=(0, 2),
    outputs=1,
    inplace=[(0, 0)],
    args="min max dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "XavierFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], args="shape extra_shape input_as_shape", gradient=NONE
)
operator("MSRAFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], gradient=NONE)
operator(
    "DiagonalFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="value dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator("RangeFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], gradient=NONE)
operator("LengthsRangeFill", inputs=1, outputs=1, gradient=NONE)
operator(
    "GivenTensorFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values dtype shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorBoolFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorByteStringToUInt8Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorDoubleFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorInt16Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorInt64Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorIntFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorStringFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator("Float16ConstantFill", inputs=0, outputs=1, args="value shape", gradient=NONE)
operator("Float16UniformFill", inputs=0, outputs=1, args="shape min max", gradient=NONE)


def _size(
    inputs: Sequence[Any], shape: Sequence[int] | int, extra_shape: Sequence[int] = (), input_as_shape: int = 0
) -> tuple[int, ...]:
    """The shape to fill: the argument `shape`, or what the first input has or says, then `extra_shape`."""
    if isinstance(shape, int):
        raise ValueError("the argument shape must be a list of integers")
    if not inputs:
        require(not extra_shape, "the argument extra_shape needs an input")
        require(not input_as_shape, "the argument input_as_shape needs an input that holds the shape")
        return tuple(shape)
    require(not shape, "the shape is given twice: by the argument shape and by an input")
    if not input_as_shape:
        return (*inputs[0].shape, *extra_shape)
    expect("int64", inputs[0])
    require(inputs[0].ndim == 1, "with input_as_shape the input must be a list of sizes")
    return (*inputs[0].tolist(), *extra_shape)


def _dtype(dtype: int | str | None, value: Any) -> str:
    """Name of the dtype that an argument `dtype` says, or else the one that the argument `value` has."""
    if dtype is None:
        require(value is None or isinstance(value, float | int), "without dtype the argument value must be a number")
        return "int64" if isinstance(value, int) else "float32"
    number = dict(TensorProto.DataType.items()).get(dtype.upper()) if isinstance(dtype, str) else dtype
    name = _DTYPES.get(number)
    if name is None:
        raise ValueError(f"the argument dtype names no type that can be filled: {dtype}")
    return name


def _is_of(dtype: str, value: Any) -> bool:
    """Whether a value stands in the field of an argument that upstream reads for this dtype."""
    wanted = str if dtype == "string" else float if dtype.startswith("float") else int
    return isinstance(value, wanted)


def _texts(texts: Sequence[str], size: tuple[int, ...]) -> Any:
    """Text lives on the host with every backend."""
    import numpy as np

    made = np.empty(len(texts), dtype=object)
    made[:] = [text.encode("utf-8", "surrogateescape") for text in texts]
    return made.reshape(size)


def _constant(xp: Any, size: tuple[int, ...], value: Any, dtype: str) -> Any:
    if value is None:
        value = "" if dtype == "string" else 0
    else:
        require(_is_of(dtype, value), f"the argument value is no {dtype}")
    if dtype != "string":
        return xp.full(size, _in_range(xp, [value], dtype)[0], dtype=dtype)
    count = 1
    for extent in size:
        count *= extent
    return _texts([value] * count, size)


def _in_range(xp: Any, values: Sequence[Any], dtype: str) -> Sequence[Any]:
    if "int" in dtype and values:
        limits = xp.iinfo(dtype)
        require(limits.min <= min(values) and max(values) <= limits.max, f"a value is too large for {dtype}")
    return values


@kernel("ConstantFill")
def constant_fill(
    xp: Any,
    *inputs: Any,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    value: Any = None,
    dtype: int | None = None,
) -> Any:
    """One value everywhere; a second input, of one element, holds it in place of the argument `value`."""
    name = _dtype(dtype, value)
    size = _size(inputs, shape, extra_shape, input_as_shape)
    if len(inputs) < 2:
        return _constant(xp, size, value, name)
    expect(name, inputs[1])
    require(inputs[1].size == 1, "the input that holds the value must have one element")
    return xp.full(size, inputs[1].item(), dtype=name)


@kernel("Float16ConstantFill")
def float16_constant_fill(xp: Any, *, shape: Sequence[int] = (), value: float = 0.0) -> Any:
    return xp.full(_size((), shape), value, dtype="float16")


@kernel("DiagonalFill")
def diagonal_fill(
    xp: Any,
    *inputs: Any,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    value: Any = None,
    dtype: int | None = None,
) -> Any:
    """Zeros with one value along the diagonal; of a tall matrix the diagonal starts again below the square."""
    name = _dtype(dtype, value)
    size = _size(inputs, shape, extra_shape, input_as_shape)
    require(len(size) >= 2, "a diagonal needs at least two dimensions")
    require(len(size) == 2 or len(set(size)) == 1, "with more than two dimensions all must be equal")
    require(name != "string", "text has no zero")
    flat = xp.zeros(size, dtype=name).reshape(-1)
    step = size[1] + 1 if len(size) == 2 else sum(size[0] ** power for power in range(len(size)))
    flat[::step] = _constant(xp, (), value, name)
    return flat.reshape(size)


def _given(xp: Any, size: tuple[int, ...], values: Sequence[Any], dtype: str) -> Any:
    # Upstream reads the list that belongs to the dtype; numbers of another kind are as good as not there.
    found = [value for value in values if _is_of(dtype, value)]
    count = 1
    for extent in size:
        count *= extent
    require(len(found) == count, f"{len(found)} values of {dtype} are given for the shape {list(size)}")
    if dtype == "string":
        return _texts(found, size)
    return xp.asarray(_in_range(xp, found, dtype), dtype=dtype).reshape(size)


@kernel("GivenTensorFill")
def given_tensor_fill(
    xp: Any,
    *inputs: Any,
    values: Sequence[Any],
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    dtype: int | str = TensorProto.FLOAT,
) -> Any:
    """The values that the argument lists."""
    name = _dtype(dtype, None)
    require(name not in {"uint8", "int8", "uint16"}, f"the argument dtype may not be {name}")
    return _given(xp, _size(inputs, shape, extra_shape, input_as_shape), values, name)


def _given_fill(type: str, dtype: str) -> None:
    def given_fill(
        xp: Any,
        *inputs: Any,
        values: Sequence[Any],
        shape: Sequence[int] = (),
        extra_shape: Sequence[int] = (),
        input_as_shape: int = 0,
    ) -> Any:
        """The values that the argument lists, of one dtype."""
        return _given(xp, _size(inputs, shape, extra_shape, input_as_shape), values, dtype)

    kernel(type)(given_fill)


_given_fill("GivenTensorBoolFill", "bool")
_given_fill("GivenTensorDoubleFill", "float64")
_given_fill("GivenTensorInt16Fill", "int16")
_given_fill("GivenTensorInt64Fill", "int64")
_given_fill("GivenTensorIntFill", "int32")
_given_fill("GivenTensorStringFill", "string")


@kernel("GivenTensorByteStringToUInt8Fill")
def given_tensor_byte_string_fill(
    xp: Any,
    *inputs: Any,
    values: Sequence[Any],
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
) -> Any:
    """The bytes of one text."""
    require(len(values) == 1 and _is_of("string", values[0]), "the argument values must hold one text")
    given = list(values[0].encode("utf-8", "surrogateescape"))
    return _given(xp, _size(inputs, shape, extra_shape, input_as_shape), given, "uint8")


@kernel("RangeFill")
def range_fill(
    xp: Any,
    *inputs: Any,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
) -> Any:
    """0, 1, 2, ... as float32, in row-major order."""
    made = xp.zeros(_size(inputs, shape, extra_shape, input_as_shape), dtype="float32")
    return xp.arange(made.size, dtype="float32").reshape(made.shape)


@kernel("LengthsRangeFill")
def lengths_range_fill(xp: Any, lengths: Any) -> Any:
    """0 .. n - 1 for each length n, one after another, as int32."""
    expect("int32", lengths)
    require(lengths.ndim == 1, "the lengths must be a list")
    counts = lengths.tolist()
    starts = xp.repeat(xp.cumsum(lengths) - lengths, counts)
    return (xp.arange(sum(counts)) - starts).astype("int32")


def _uniform(xp: Any, ctx: Context, size: tuple[int, ...], low: Any, high: Any) -> Any:
    return (ctx.random.random(size, dtype=xp.float32) * (high - low) + low).astype("float32")


def _limits(inputs: Sequence[Any], low: Any, high: Any, default: Any, dtype: str) -> tuple[Any, Any]:
    """Least and largest value: two inputs of one element each, or two arguments."""
    if len(inputs) < 3:
        low, high = (default(0) if low is None else low), (default(1) if high is None else high)
        require(isinstance(low, default) and isinstance(high, default), f"min and max must be {default.__name__}s")
        require(low < high, f"max must be larger than min, but they are {high} and {low}")
        return low, high
    require(low is None and high is None, "min and max are given twice: by arguments and by inputs")
    expect(dtype, inputs[1], inputs[2])
    require(inputs[1].size == inputs[2].size == 1, "the inputs min and max must have one element each")
    return inputs[1].item(), inputs[2].item()


@kernel("UniformFill")
def uniform_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    min: float | None = None,
    max: float | None = None,
) -> Any:
    """Random float32 between `min` and `max`, evenly distributed; nothing where inputs give limits the wrong way."""
    low, high = _limits(inputs, min, max, float, "float32")
    size = _size(inputs, shape, extra_shape, input_as_shape)
    return _uniform(xp, ctx, (0, *size[1:]) if low > high else size, low, high)


@kernel("Float16UniformFill")
def float16_uniform_fill(
    xp: Any, *, ctx: Context, shape: Sequence[int] = (), min: float = 0.0, max: float = 1.0
) -> Any:
    require(len(shape) > 0, "the argument shape must be a list of integers")
    return _uniform(xp, ctx, _size((), shape), min, max).astype("float16")


@kernel("UniformIntFill")
def uniform_int_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    min: int | None = None,
    max: int | None = None,
) -> Any:
    """Random int32 from `min` to `max`, both included; nothing where inputs give limits the wrong way."""
    low, high = _limits(inputs, min, max, int, "int32")
    size = _size(inputs, shape, extra_shape, input_as_shape)
    if low > high:
        return xp.zeros((0, *size[1:]), dtype="int32")
    return ctx.random.integers(low, high + 1, size).astype("int32")


@kernel("UniqueUniformFill")
def unique_uniform_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    min: int = 0,
    max: int = 0,
    dtype: int = TensorProto.INT32,
) -> Any:
    """Random integers from `min` to `max`, none twice, and none of those that a second input lists."""
    name = _dtype(dtype, None)
    require(name in {"int32", "int64"}, "the argument dtype must be int32 or int64")
    made = xp.zeros(_size(inputs, shape, extra_shape, input_as_shape), dtype=name)
    avoided = inputs[1].reshape(-1) if len(inputs) > 1 else made.reshape(-1)[:0]
    expect(name, avoided)
    require(len(set(avoided.tolist())) == avoided.size, "the values to avoid must not repeat")
    require(made.size <= max - min + 1 - avoided.size, f"{made.size} different values do not fit from {min} to {max}")
    return _distinct(xp, ctx, made.size, min, max, avoided).astype(name).reshape(made.shape)


def _distinct(xp: Any, ctx: Context, count: int, low: int, high: int, avoided: Any) -> Any:
    """`count` different integers: out of all that there are, or, where these are very many, drawn until enough."""
    if high - low < 1_000_000:
        pool = xp.arange(low, high + 1)
        pool = pool[~xp.isin(pool, avoided)]
        return pool[xp.argsort(ctx.random.random(pool.size))[:count]]
    found: dict[int, None] = {}
    barred = set(avoided.tolist())
    while len(found) < count:
        drawn = ctx.random.integers(low, high + 1, count - len(found)).tolist()
        found.update(dict.fromkeys(value for value in drawn if value not in barred))
    return xp.asarray(list(found), dtype="int64")


@kernel("GaussianFill")
def gaussian_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
) -> Any:
    """Random float32, normally distributed."""
    size = _size(inputs, shape, extra_shape, input_as_shape)
    return (ctx.random.standard_normal(size, dtype=xp.float32) * std + mean).astype("float32")


@kernel("XavierFill")
def xavier_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
) -> Any:
    """Even between plus and minus the root of three over the fan-in: the elements that one first index selects."""
    size = _size(inputs, shape, extra_shape, input_as_shape)
    scale = (3 / _fan_in(size, 0)) ** 0.5
    return _uniform(xp, ctx, size, -scale, scale)


@kernel("MSRAFill")
def msra_fill(
    xp: Any,
    *inputs: Any,
    ctx: Context,
    shape: Sequence[int] = (),
    extra_shape: Sequence[int] = (),
    input_as_shape: int = 0,
) -> Any:
    """Normal with the root of two over the fan-in as deviation; here the fan-in is what one second index selects."""
    size = _size(inputs, shape, extra_shape, input_as_shape)
    return gaussian_fill(xp, ctx=ctx, shape=size, std=(2 / _fan_in(size, 1)) ** 0.5)


def _fan_in(size: tuple[int, ...], axis: int) -> int:
    require(len(size) > axis, f"the shape must have at least {axis + 1} dimensions")
    fan_in = 1
    for i, extent in enumerate(size):
        fan_in *= 1 if i == axis else extent
    return max(fan_in, 1)
