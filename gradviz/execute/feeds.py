"""Feeds: what users hand in, as arrays by blob name.

On the command line a feed is a file (`.npz`, a TensorProto or TensorProtos in `.pb`), or `name=` with a `.npy` file or
a shape such as `8x1x28x28:int32`, which is filled from a seed.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError, LoadError

if TYPE_CHECKING:
    from collections.abc import Iterable

DTYPES = (
    *("float32", "float64", "float16", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "bool", "string"),
)
"""The dtypes of tensors in Caffe2."""

_KINDS = frozenset((dtype.kind, dtype.itemsize) for dtype in map(np.dtype, DTYPES[:-1]))

_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "byte": "uint8",
}
_SHAPE = re.compile(r"(?P<dims>(\d+(x\d+)*)?|scalar)(:(?P<dtype>[a-z0-9]+))?")
_LARGEST_INTEGER = 10


def as_feed(name: str, value: Any) -> Any:
    """A feed as an array of its own, so that the run and its caller do not change each other's.

    Python numbers and lists become float32, int32 or bool; arrays keep their dtype. No tensor: handed through.

    Raises:
        ExecutionError: Caffe2 has no such dtype, or lists are ragged.
    """
    if isinstance(value, np.ndarray | np.generic):
        return _checked(name, np.array(value))  # a copy

    from gradviz.proto import TensorProto

    if isinstance(value, TensorProto):
        from gradviz.nets.tensors import to_array

        return to_array(value)
    if isinstance(value, int | float | list | tuple | bytes):
        value = _from_python(name, value)
    elif hasattr(value, "__array__") and not hasattr(value, "get"):
        value = np.array(np.asarray(value))
    return _checked(name, value)


def _from_python(name: str, value: Any) -> Any:
    try:
        made = np.asarray(value)
    except ValueError as error:
        raise ExecutionError(f"feed {name}: its lists are no array: {error}") from error
    kinds = {"f": np.float32, "i": np.int32}
    if made.dtype.kind == "i" and made.size and np.abs(made).max() > np.iinfo(np.int32).max:
        return made
    return made.astype(kinds.get(made.dtype.kind, made.dtype))


def _checked(name: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    dtype = value.dtype
    if dtype.kind in "OSU":
        return value
    if (dtype.kind, dtype.itemsize) not in _KINDS:  # its name takes much longer
        raise ExecutionError(
            f"feed {name} is {dtype}, which no tensor of Caffe2 is; cast it to one of {', '.join(DTYPES[:-1])}"
        )
    return value if dtype.isnative else value.astype(dtype.newbyteorder("="))


def parse_feeds(texts: Iterable[str], seed: int = 0) -> dict[str, Any]:
    """Read feeds as the command line takes them.

    Args:
        texts: files, `name=file.npy`, or `name=shape[:dtype]`, such as `data=8x1x28x28` or `label=8:int32`. A later one
            replaces an earlier one of the same name.
        seed: of the values for shapes: floats from the standard normal distribution, small non-negative integers.

    Raises:
        ExecutionError: a text is none of these, or a file cannot be read.
    """
    found: dict[str, Any] = {}
    for number, text in enumerate(texts):
        found.update(_parse(text, np.random.default_rng((seed, number))))
    return found


def _parse(text: str, random: np.random.Generator) -> dict[str, Any]:
    name, separator, what = text.partition("=")
    if separator and name and not Path(text).exists():
        return {name: _named(name, what, random)}
    path = Path(text)
    if not path.exists():
        raise ExecutionError(f"feed {text!r} is no file and no name=shape[:dtype], such as data=8x1x28x28:float32")
    if path.suffix == ".npy":
        raise ExecutionError(f"feed {text!r}: which blob is it for? Write name={text}")
    return read_file(path)


def read_file(path: Path) -> dict[str, Any]:
    """The arrays in a file by name: `.npz`, or tensors in a protobuf file.

    Raises:
        ExecutionError: it cannot be read.
    """
    return _read_arrays(path) if path.suffix == ".npz" else _read_tensors(path)


def _named(name: str, what: str, random: np.random.Generator) -> Any:
    matched = _SHAPE.fullmatch(what)
    if matched is not None:
        return fill(name, _dims(matched["dims"]), matched["dtype"] or "float32", random)
    path = Path(what)
    if not path.exists():
        raise ExecutionError(f"feed {name}: {what!r} is no file and no shape; write such as {name}=8x1x28x28:float32")
    if path.suffix == ".npy":
        return as_feed(name, _load_npy(path))
    found = read_file(path)
    if name in found:
        return found[name]
    if len(found) == 1:
        return next(iter(found.values()))
    raise ExecutionError(f"feed {name}: {path} holds {', '.join(found)}, but no {name}")


def _dims(text: str) -> tuple[int, ...]:
    return () if text in {"", "scalar"} else tuple(int(each) for each in text.split("x"))


def fill(name: str, shape: tuple[int, ...], dtype: str, random: np.random.Generator) -> Any:
    """Values for a shape: floats from the standard normal distribution, integers from 0 to 9, fair bools, short texts.

    Raises:
        ExecutionError: Caffe2 has no such dtype, or the shape is too large for the memory.
    """
    dtype = _ALIASES.get(dtype, dtype)
    if dtype not in DTYPES:
        raise ExecutionError(f"feed {name}: Caffe2 has no dtype {dtype}; there are {', '.join(DTYPES)}")
    try:
        if dtype == "string":
            flat = np.empty(int(np.prod(shape)), object)
            flat[:] = [b"%d" % each for each in random.integers(0, _LARGEST_INTEGER, flat.size)]
            return flat.reshape(shape)
        if dtype == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if "int" in dtype:
            return random.integers(0, _LARGEST_INTEGER, shape).astype(dtype)
        return np.asarray(random.standard_normal(shape)).astype(dtype)
    except (MemoryError, ValueError) as error:
        raise ExecutionError(
            f"feed {name}: no array of shape {'x'.join(map(str, shape))} can be made: {error}"
        ) from error


def _load_npy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ExecutionError(f"feed {path}: not a NumPy file that can be read: {error}") from error


def _read_arrays(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: as_feed(name, arrays[name]) for name in arrays.files}
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ExecutionError(f"feed {path}: not an .npz file that can be read: {error}") from error


def _read_tensors(path: Path) -> dict[str, Any]:
    """Named tensors of a TensorProtos file, or of one TensorProto."""
    from google.protobuf.message import DecodeError

    from gradviz.nets.tensors import to_array
    from gradviz.proto import TensorProto, TensorProtos

    try:
        data = path.read_bytes()
        many = _try(TensorProtos, data)
        tensors = list(many.protos) if many is not None and many.protos else [TensorProto.FromString(data)]
        if not all(tensor.name for tensor in tensors):
            if len(tensors) == 1 and tensors[0].dims:
                return {path.stem: to_array(tensors[0])}
            raise ExecutionError(
                f"feed {path}: a tensor in it has no name; write NAME={path} for a file with one tensor"
            )
        return {tensor.name: to_array(tensor) for tensor in tensors}
    except (OSError, ValueError, DecodeError, LoadError) as error:  # ValueError: a name that no file can have
        raise ExecutionError(f"feed {path}: no TensorProto or TensorProtos that can be read: {error}") from error


def _try(message: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError:
        return None
