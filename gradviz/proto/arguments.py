"""Arguments of operators and nets, made from Python values."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from gradviz.errors import GradvizError
from gradviz.proto.caffe2 import Argument, NetDef, TensorProto

if TYPE_CHECKING:
    from collections.abc import Iterator


def arg(name: str, value: Any) -> Argument:
    """Make an argument; the Python type of `value` chooses the field.

    Args:
        name: argument name.
        value: bool or int -> `i`; float -> `f`; str or bytes -> `s`; NetDef -> `n`; TensorProto -> `t`; lists of
            these -> the plural fields. An empty list makes an argument without any value.

    Raises:
        TypeError: no field holds such a value.
        GradvizError: nets are nested so deeply that protobuf can't copy them.
    """
    made = Argument(name=name)
    with copying():
        _fill(made, value)
    return made


@contextmanager
def copying() -> Iterator[None]:
    """Inside, copies of messages that are nested so deeply that protobuf can't read them are refused in our words."""
    try:
        yield
    except DecodeError as error:
        raise GradvizError("nets are nested too deeply: protobuf reads 100 levels, about 33 nets") from error


def _fill(made: Argument, value: Any) -> None:
    if isinstance(value, bool | int):
        made.i = int(value)
    elif isinstance(value, float):
        made.f = value
    elif isinstance(value, str | bytes):
        made.s = _as_bytes(value)
    elif isinstance(value, NetDef):
        made.n.CopyFrom(value)
    elif isinstance(value, TensorProto):
        made.t.CopyFrom(value)
    else:
        _fill_plural(made, list(value))


def _fill_plural(made: Argument, values: list[Any]) -> None:
    if all(isinstance(value, bool | int) for value in values):
        made.ints.extend(int(value) for value in values)
    elif all(isinstance(value, float | int) for value in values):
        made.floats.extend(values)
    elif all(isinstance(value, str | bytes) for value in values):
        made.strings.extend(_as_bytes(value) for value in values)
    elif all(isinstance(value, NetDef) for value in values):
        made.nets.extend(values)
    elif all(isinstance(value, TensorProto) for value in values):
        made.tensors.extend(values)
    else:
        raise TypeError(f"argument {made.name}: no field holds {values!r}")


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
