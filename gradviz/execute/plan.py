"""Operators made ready to run: checked, kernels found, arguments decoded. Done once, not at every run."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gradviz.errors import ExecutionError, GradientError
from gradviz.execute.fitting import misfit
from gradviz.execute.scope import MISSING
from gradviz.ops import registry
from gradviz.ops.arguments import Arguments, values
from gradviz.ops.dtypes import DtypeError
from gradviz.ops.records import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.execute.scope import AnySlot
    from gradviz.ops.registry import Kernel
    from gradviz.proto import OperatorDef

    Link = tuple["BoundOp", list[AnySlot], list[AnySlot]]

DONE: Any = object()
"""What a kernel returns that has written its outputs itself (operators that run nested nets)."""


class OpError(ExecutionError):
    """An operator of a net cannot be run, or failed.

    Attributes:
        op: the operator.
        path: its index in the net; for an operator of a nested net the indices from the outermost net inwards.
        workspace: what had been computed by then; None before a run.
    """

    def __init__(self, message: str, op: Op, path: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.op = op
        self.path = path
        self.workspace: Any = None

    def inside(self, index: int, outer: Op) -> OpError:
        """The same error, seen from the net around: it happened in operator `index` of that net."""
        where = f"op {index} " if self.op is outer and not self.path else f"op {index} {outer.type}, in it "
        return OpError(where + str(self), self.op, (index, *self.path))


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes, read off its parameters.

    Attributes:
        least: how many inputs it must be given.
        most: how many it takes at most; None for any number.
        names: its keyword-only parameters: arguments of the operator.
        required: those of them that have no default.
        kinds: their annotations by name, which say what they may hold.
        takes_all: whether it takes every argument (`**args`).
        takes_context: whether it asks for `ctx`.
    """

    least: int
    most: int | None
    names: frozenset[str]
    required: tuple[str, ...]
    kinds: dict[str, str]
    takes_all: bool
    takes_context: bool


@cache
def signature_of(kernel: Kernel) -> Signature:
    """Read a kernel's parameters; the first, `xp`, is not counted."""
    least, most = 0, 0
    names: list[str] = []
    required: list[str] = []
    kinds: dict[str, str] = {}
    takes_all = unbounded = False
    for parameter in list(inspect.signature(kernel).parameters.values())[1:]:
        has_default = parameter.default is not parameter.empty
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            most += 1
            least += not has_default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            unbounded = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            takes_all = True
        else:
            names.append(parameter.name)
            kinds[parameter.name] = _written(parameter.annotation)
            if not has_default and parameter.name != "ctx":
                required.append(parameter.name)
    known = frozenset(names) - {"ctx"}
    return Signature(least, None if unbounded else most, known, tuple(required), kinds, takes_all, "ctx" in names)


def _written(annotation: Any) -> str:
    """An annotation as it is written: text already, or a type where a kernel's module reads them at once."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


@dataclass(slots=True, eq=False)
class BoundOp:
    """One operator of a net, ready to be called any number of times.

    Attributes:
        op: the record of the operator.
        kernel: its kernel.
        keywords: the arguments that the kernel wants, decoded.
        takes_context: whether the kernel asks for `ctx`.
        nested: whether it runs nested nets itself, so that its inputs may be missing.
    """

    op: Op
    kernel: Kernel
    keywords: dict[str, Any]
    takes_context: bool
    nested: bool = False


def as_op(op: Any) -> Op:
    """The record of an operator given as a record, a message of ours or a message of another protobuf module."""
    if isinstance(op, Op):
        return op
    from gradviz.ops.foreign import as_operator

    return Op(as_operator(op))


def bind(op: Op | OperatorDef | Any) -> BoundOp:
    """Make an operator ready to run, with the checks that Caffe2 makes when it creates one.

    Raises:
        OpError: unknown type, no kernel, a schema that does not fit, arguments missing or in conflict.
    """
    op = as_op(op)
    kernel = _kernel_of(op)
    signature = signature_of(kernel)
    count = len(op.inputs)
    if count < signature.least or (signature.most is not None and count > signature.most):
        raise failure(op, f"it has {count} inputs, which its kernel does not take")
    given = _arguments_of(op)
    for name in signature.required:
        if name not in given:
            raise failure(op, f"it lacks the argument {name}, which is required")
    wrong = misfit(signature.kinds, given)
    if wrong is not None:
        raise failure(op, wrong)
    if not signature.takes_all:
        given = {name: value for name, value in given.items() if name in signature.names}
    return BoundOp(op, kernel, given, signature.takes_context, getattr(kernel, "nested", False))


def why_not(type: str) -> str | None:
    """Why operators of a type cannot be run, in a clause; None where they can."""
    known = registry.lookup(type)
    if known is None:
        near = registry.nearest_types(type)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"{type!r} is an operator type that gradviz does not know{hint}"
    if known.kernel is not None:
        return None
    reason = known.why_no_kernel or ("" if known.runs else "upstream has no operator of this name either")
    return "gradviz has no kernel for this type, so it cannot be run" + (f": {reason}" if reason else "")


def _kernel_of(op: Op) -> Kernel:
    known = registry.lookup(op.type)
    broken = known.schema.violation(op) if known is not None else None
    if broken is not None:
        raise failure(op, f"it does not fit its schema: {broken}")
    reason = why_not(op.type)
    if reason is not None:
        raise failure(op, reason)
    assert known is not None
    assert known.kernel is not None
    return known.kernel


def _arguments_of(op: Op) -> dict[str, Any]:
    try:
        Arguments(op.proto.arg)
    except GradientError as error:
        raise failure(op, str(error)) from error
    return values(op.proto)


def failure(op: Op, reason: str) -> OpError:
    """An error that names an operator by its type and outputs; raise what this returns."""
    return OpError(f"{op.type} ({_some(op.outputs)}): {reason}", op)


_MOST = 8


def _some(words: Sequence[str]) -> str:
    """The first words, with commas between; and how many more there are."""
    more = len(words) - _MOST
    return ", ".join(words[:_MOST]) + (f" and {more} more" if more > 0 else "")


def describe(value: Any) -> str:
    """Dtype and shape of a value, such as `float32[2, 3]`."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        name = "string" if value.dtype.kind == "O" else str(value.dtype)
        return f"{name}[{', '.join(map(str, value.shape))}]"
    return f"a {type(value).__name__} object"


def told(op: Op, inputs: Sequence[Any], error: Exception) -> OpError:
    """What a kernel raised, as an error of its operator; raise what this returns.

    Args:
        op: the operator.
        inputs: the values that it read.
        error: what was raised; an OpError is given back as it is.
    """
    if isinstance(error, OpError):
        return error
    missing = [name for name, value in zip(op.inputs, inputs, strict=False) if value is MISSING]
    if isinstance(error, ExecutionError):
        made = OpError(str(error), op)
    elif missing:
        made = failure(op, f"its input {missing[0]} was never written")
    else:
        made = failure(op, _reason(op, inputs, error))
    made.__cause__ = error
    return made


def _reason(op: Op, inputs: Sequence[Any], error: Exception) -> str:
    named = _some([f"{name} {describe(value)}" for name, value in zip(op.inputs, inputs, strict=False)])
    if isinstance(error, DtypeError):
        for i, value in enumerate(inputs):
            if value is error.array:
                return f"its input {i} ({op.inputs[i]}) is {error.found}, but must be {error.wanted}; inputs: {named}"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "there is not enough memory for what it computes" + (f": {text}" if text else "") + f"; inputs: {named}"
    plain = isinstance(error, ValueError | AssertionError) and text
    said = text if plain else f"{type(error).__name__}: {text}"
    return f"{said}; inputs: {named}" if named else said
