"""TensorProto and arrays: every element type, raw storage, and tensors that were saved in pieces."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.errors import LoadError
from gradviz.nets.words import count, quoted
from gradviz.proto import TensorProto

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

# Element type -> (dtype, the field its elements stand in). Narrow integers are kept as int32, halves as their bits.
_KINDS: dict[TensorProto.DataType, tuple[str, str]] = {
    TensorProto.FLOAT: ("<f4", "float_data"),
    TensorProto.INT32: ("<i4", "int32_data"),
    TensorProto.BYTE: ("u1", "byte_data"),
    TensorProto.STRING: ("O", "string_data"),
    TensorProto.BOOL: ("?", "int32_data"),
    TensorProto.UINT8: ("u1", "int32_data"),
    TensorProto.INT8: ("i1", "int32_data"),
    TensorProto.UINT16: ("<u2", "int32_data"),
    TensorProto.INT16: ("<i2", "int32_data"),
    TensorProto.INT64: ("<i8", "int64_data"),
    TensorProto.FLOAT16: ("<f2", "int32_data"),
    TensorProto.DOUBLE: ("<f8", "double_data"),
}
_TYPES: dict[str, TensorProto.DataType] = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "uint16": TensorProto.UINT16,
    "int16": TensorProto.INT16,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
}
_STORED = {"bool": "uint8", "float16": "uint16"}  # dtypes whose bits, not values, are what the field takes
_DATA = ("float_data", "int32_data", "string_data", "double_data", "int64_data")
_MOST_DIMS = 32
_LARGEST = 2**31  # elements; a damaged shape must not ask for more memory than any tensor of a file can fill


def to_array(tensor: TensorProto) -> Array:
    """The tensor as a NumPy array of its shape; texts as an object array of `bytes`.

    Raises:
        LoadError: its content is not in the message, or does not fill its shape, or its type is no NumPy type.
    """
    import numpy as np

    dtype, field = _kind(tensor)
    shape = _shape(tensor)
    if dtype == "O":
        flat = np.empty(len(tensor.string_data), object)
        flat[:] = list(tensor.string_data)
    elif packed := _packed(tensor):
        flat = _from_bytes(tensor, packed, np.dtype(dtype))
    elif tensor.data_type == TensorProto.FLOAT16:
        flat = np.array(tensor.int32_data, np.int64).astype("<u2").view("<f2")
    else:
        flat = np.array(getattr(tensor, field), np.int64 if field == "int32_data" else dtype).astype(dtype)
    if flat.size != prod(shape):
        raise LoadError(
            f"{_title(tensor)} of shape {list(shape)} holds {count(flat.size, 'value')}, not {prod(shape):,}"
        )
    return flat.reshape(shape).astype(np.dtype(dtype).newbyteorder("="), copy=False)


def from_array(array: Any, name: str = "") -> TensorProto:
    """A TensorProto of an array, with its values in the typed fields as Caffe2 writes them.

    Args:
        array: anything that NumPy makes an array of; texts become a STRING tensor.
        name: the blob's name, left out where it is empty.

    Raises:
        TypeError: no element type of the format holds its dtype.
    """
    import numpy as np

    values = np.asarray(array)
    tensor = TensorProto(dims=values.shape)
    if name:
        tensor.name = name
    if values.dtype.kind in "OSU":
        tensor.data_type = TensorProto.STRING
        tensor.string_data.extend(_as_bytes(each) for each in values.ravel().tolist())
        return tensor
    if values.dtype.name not in _TYPES:
        raise TypeError(f"no tensor of the format holds {values.dtype}")
    tensor.data_type = _TYPES[values.dtype.name]
    flat = np.ascontiguousarray(values).ravel()
    field = _KINDS[tensor.data_type][1]
    stored = _STORED.get(values.dtype.name)
    getattr(tensor, field).extend((flat.view(stored) if stored else flat).tolist())
    return tensor


def join(pieces: Sequence[TensorProto]) -> TensorProto:
    """One tensor of the pieces that it was saved in; each says by its segment which elements it holds.

    Raises:
        LoadError: the pieces leave a gap, overlap, or do not agree on shape and type.
    """
    if len(pieces) == 1 and not pieces[0].HasField("segment"):
        return pieces[0]
    whole = TensorProto()
    at = 0
    for piece in sorted(pieces, key=lambda each: each.segment.begin):
        if at == 0:
            whole.CopyFrom(piece)
            whole.ClearField("segment")
        elif piece.dims != whole.dims or piece.data_type != whole.data_type:
            raise LoadError(f"the pieces of {_title(whole)} do not agree on shape or type")
        else:
            _append(whole, piece)
        if piece.segment.begin != at:
            raise LoadError(f"a piece of {_title(whole)} is missing: nothing holds element {at:,}")
        at = piece.segment.end
    if at != prod(whole.dims):
        raise LoadError(f"a piece of {_title(whole)} is missing: nothing holds element {at:,}")
    return whole


def _append(whole: TensorProto, piece: TensorProto) -> None:
    for field in _DATA:
        getattr(whole, field).extend(getattr(piece, field))
    for field in ("byte_data", "raw_data"):
        if piece.HasField(field):
            setattr(whole, field, getattr(whole, field) + getattr(piece, field))


def _kind(tensor: TensorProto) -> tuple[str, str]:
    if tensor.storage_type in (TensorProto.EXTERNAL, TensorProto.NO_CONTENT):
        raise LoadError(f"{_title(tensor)} is stored outside the file: its values are not here")
    if tensor.data_type not in _KINDS:
        raise LoadError(f"{_title(tensor)} has the element type {tensor.data_type}, which holds no numbers or texts")
    return _KINDS[tensor.data_type]


def _shape(tensor: TensorProto) -> tuple[int, ...]:
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape) or prod(shape) > _LARGEST or len(shape) > _MOST_DIMS:
        raise LoadError(f"{_title(tensor)} has an impossible shape: {list(shape)[:8]}")
    return shape


def _packed(tensor: TensorProto) -> bytes:
    """Content that stands as plain bytes: raw storage, or the byte field that newer writers use for narrow types."""
    return tensor.raw_data if tensor.storage_type == TensorProto.RAW else tensor.byte_data


def _from_bytes(tensor: TensorProto, packed: bytes, dtype: np.dtype[Any]) -> Array:
    import numpy as np

    if len(packed) % dtype.itemsize:
        raise LoadError(f"{_title(tensor)} holds {count(len(packed), 'byte')}, no whole number of elements")
    return np.frombuffer(packed, dtype)


def _title(tensor: TensorProto) -> str:
    return f"the tensor {quoted(tensor.name)}" if tensor.name else "a tensor without a name"


def _as_bytes(text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    raise TypeError(f"no tensor of the format holds {type(text).__name__} objects")
