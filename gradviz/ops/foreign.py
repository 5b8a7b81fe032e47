"""Taking operators and gradients from outside: other generated modules, plain pairs, rules that users wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError, EncodeError

from gradviz.ops.records import GradientOp, GradientSlice
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from gradviz.ops.records import Gradient


def as_operator(message: Any) -> OperatorDef:
    """An OperatorDef of ours from one of any generated module.

    Raises:
        TypeError: it is none.
    """
    if isinstance(message, OperatorDef):
        return message
    kind = getattr(getattr(message, "DESCRIPTOR", None), "full_name", "caffe2.OperatorDef")
    if isinstance(message, type) or not hasattr(message, "SerializeToString") or kind != "caffe2.OperatorDef":
        raise TypeError(f"an OperatorDef is wanted, not {type(message).__name__}")
    try:
        return OperatorDef.FromString(message.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise TypeError(f"an OperatorDef is wanted; a {type(message).__name__} is none: {error}") from error


def as_gradient(value: Any) -> Gradient:
    """A gradient as others may give it: None, text, or a pair of texts."""
    if value is None or isinstance(value, GradientSlice):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, tuple | list) and len(value) == 2:
        return GradientSlice(str(value[0]), str(value[1]))
    return str(value)


def as_answer(answer: Any) -> tuple[list[GradientOp], list[Gradient]]:
    """A rule's answer in our own records: the operators may be one message, a list, or None."""
    made, g_input = answer
    if made is None:
        made = []
    elif not isinstance(made, list | tuple):
        made = [made]
    ops = [op if isinstance(op, GradientOp) else GradientOp.from_proto(as_operator(op)) for op in made]
    return ops, [as_gradient(gradient) for gradient in g_input]
