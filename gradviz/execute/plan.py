"""An operator made ready to run: checked, its kernel found, its arguments decoded. Done once, not at every call."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops import registry
from gradviz.ops.arguments import Arguments, values
from gradviz.ops.context import Context
from gradviz.ops.records import Op

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence

    from gradviz.execute.backend import Backend
    from gradviz.ops.registry import Kernel
    from gradviz.proto import NetDef, OperatorDef


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes, read off its parameters.

    Attributes:
        least: how many inputs it must be given.
        most: how many it takes at most; None for any number.
        names: its keyword-only parameters: arguments of the operator.
        required: those of them that have no default.
        takes_all: whether it takes every argument (`**args`).
        takes_context: whether it asks for `ctx`.
    """

    least: int
    most: int | None
    names: frozenset[str]
    required: tuple[str, ...]
    takes_all: bool
    takes_context: bool


@cache
def signature_of(kernel: Kernel) -> Signature:
    """Read a kernel's parameters; the first, `xp`, is not counted."""
    least, most = 0, 0
    names: list[str] = []
    required: list[str] = []
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
            if not has_default and parameter.name != "ctx":
                required.append(parameter.name)
    takes_context = "ctx" in names
    known = frozenset(names) - {"ctx"}
    return Signature(least, None if unbounded else most, known, tuple(required), takes_all, takes_context)


# What NumPy, CuPy and Python raise about values, shapes, dtypes and objects of the wrong kind.
KERNEL_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError, AssertionError)


@dataclass(slots=True)
class BoundOp:
    """One operator of a net, ready to be called any number of times.

    Attributes:
        op: the record of the operator.
        kernel: its kernel.
        keywords: the arguments that the kernel wants, decoded.
        takes_context: whether the kernel asks for `ctx`.
    """

    op: Op
    kernel: Kernel
    keywords: dict[str, Any]
    takes_context: bool
    state: MutableMapping[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        backend: Backend,
        inputs: Sequence[Any],
        random: Any = None,
        run_net: Callable[[NetDef, dict[str, Any]], dict[str, Any]] | None = None,
    ) -> list[Any]:
        """Run the kernel.

        Args:
            backend: gives the array namespace.
            inputs: one value for each input, already where the backend computes.
            random: a random generator of that backend.
            run_net: runs nested nets.

        Returns:
            One value for each output.

        Raises:
            ExecutionError: the kernel refused, or failed.
        """
        try:
            if not self.takes_context:
                made = self.kernel(backend.xp, *inputs, **self.keywords)
            else:
                context = Context(self.op.proto, len(self.op.outputs), random, self.state, run_net, backend.name)
                made = self.kernel(backend.xp, *inputs, ctx=context, **self.keywords)
        except KERNEL_ERRORS as error:
            raise failure(self.op, f"{_said(error)}; inputs were {describe(inputs)}") from error
        return self._spread(made)

    def _spread(self, made: Any) -> list[Any]:
        wanted = len(self.op.outputs)
        answers = made if isinstance(made, tuple) else (made,)
        if len(answers) < wanted:
            raise failure(self.op, f"its kernel made {len(answers)} outputs where {wanted} are wanted")
        # Arithmetic on arrays of rank 0 yields NumPy scalars.
        return [np.asarray(each) if isinstance(each, np.generic) else each for each in answers[:wanted]]


def as_op(op: Any) -> Op:
    """The record of an operator given as a record, a message of ours or a message of another protobuf module."""
    if isinstance(op, Op):
        return op
    from gradviz.proto import OperatorDef

    if not isinstance(op, OperatorDef):
        if not hasattr(op, "SerializeToString"):
            raise TypeError(f"an OperatorDef is wanted, not {type(op).__name__}")
        op = OperatorDef.FromString(op.SerializeToString())
    return Op(op)


def bind(op: Op | OperatorDef | Any) -> BoundOp:
    """Make an operator ready to run, with the checks that Caffe2 makes when it creates one.

    Raises:
        ExecutionError: unknown type, no kernel, a schema that does not fit, arguments missing or in conflict.
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
    if not signature.takes_all:
        given = {name: value for name, value in given.items() if name in signature.names}
    return BoundOp(op, kernel, given, signature.takes_context)


def _kernel_of(op: Op) -> Kernel:
    known = registry.lookup(op.type)
    if known is None:
        near = registry.nearest_types(op.type)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise failure(op, f"{op.type!r} is an operator type that gradviz does not know{hint}")
    broken = known.schema.violation(op)
    if broken is not None:
        raise failure(op, f"it does not fit its schema: {broken}")
    if known.kernel is not None:
        return known.kernel
    reason = known.why_no_kernel or ("" if known.runs else "upstream has no operator of this name either")
    raise failure(op, "gradviz has no kernel for this type, so it cannot be run" + (f": {reason}" if reason else ""))


def _arguments_of(op: Op) -> dict[str, Any]:
    try:
        Arguments(op.proto.arg)
    except GradientError as error:
        raise failure(op, str(error)) from error
    return values(op.proto)


def failure(op: Op, reason: str) -> ExecutionError:
    """An error that names an operator by its type and outputs; raise what this returns."""
    return ExecutionError(f"{op.type} ({', '.join(op.outputs)}): {reason}")


def describe(inputs: Sequence[Any]) -> str:
    """Dtypes and shapes of values, in one line."""
    return ", ".join(_kind(value) for value in inputs) if inputs else "none"


def _kind(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        name = "string" if value.dtype.kind == "O" else str(value.dtype)
        return f"{name}[{', '.join(map(str, value.shape))}]"
    return f"{type(value).__name__} object"


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | AssertionError) and text else f"{type(error).__name__}: {text}"
