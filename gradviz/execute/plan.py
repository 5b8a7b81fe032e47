"""Operators and nets made ready to run: checked, kernels found, arguments decoded. Done once, not at every run."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError, GradientError
from gradviz.execute.scope import MISSING, Frame, SliceSlot
from gradviz.ops import registry
from gradviz.ops.arguments import Arguments, values
from gradviz.ops.context import Context
from gradviz.ops.dtypes import DtypeError
from gradviz.ops.records import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gradviz.execute.backend import Backend
    from gradviz.execute.scope import AnySlot
    from gradviz.ops.registry import Kernel
    from gradviz.proto import NetDef, OperatorDef

    Link = tuple["BoundOp", list[AnySlot], list[AnySlot]]

# What NumPy, CuPy and Python raise about values, shapes, dtypes and objects of the wrong kind.
KERNEL_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError, AssertionError)

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


@dataclass(slots=True)
class Runtime:
    """What lasts as long as one run.

    Attributes:
        backend: where arrays live.
        random: a random generator of that backend.
        cancelled: asked between operators; stops the run when true.
        widen: whether every float32 that an operator makes becomes float64, for gradient checks.
        narrowed: the types that made float32 out of float64 in such a run.
    """

    backend: Backend
    random: Any = None
    cancelled: Callable[[], bool] | None = None
    widen: bool = False
    narrowed: set[str] = field(default_factory=set)
    contexts: dict[int, ScopedContext] = field(default_factory=dict)
    programs: dict[int, Program] = field(default_factory=dict)

    def context(self, bound: BoundOp) -> ScopedContext:
        """The context of an operator, the same one at every call."""
        found = self.contexts.get(id(bound))
        if found is None:
            option = bound.op.proto.device_option
            seeded = option.HasField("random_seed") and option.random_seed
            random = self.backend.generator(option.random_seed) if seeded else self.random
            found = ScopedContext(bound.op.proto, len(bound.op.outputs), random, backend=self.backend.name)
            found.runtime = self
            found.run_net = found.run_named
            self.contexts[id(bound)] = found
        return found

    def program(self, net: NetDef) -> Program:
        """The program of a nested net, made at first use."""
        found = self.programs.get(id(net))
        if found is None:
            found = self.programs[id(net)] = Program.of(net.op)
        return found


class Cancelled(ExecutionError):  # noqa: N818
    """A run was called off from outside."""


@dataclass(slots=True)
class ScopedContext(Context):
    """A context that also knows the names around the operator, for operators that run nested nets."""

    frame: Frame = field(default_factory=Frame)
    runtime: Runtime = None  # type: ignore[assignment]

    def run_in(self, net: NetDef, frame: Frame) -> None:
        """Run a nested net in a frame."""
        self.runtime.program(net).run(frame, self.runtime)

    def run_named(self, net: NetDef, named: dict[str, Any]) -> dict[str, Any]:
        """Run a nested net over named values only; all values that are there afterwards."""
        frame = Frame()
        frame.fill(named.items())
        self.run_in(net, frame)
        return dict(frame.values())


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
    known = frozenset(names) - {"ctx"}
    return Signature(least, None if unbounded else most, known, tuple(required), takes_all, "ctx" in names)


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

    def __call__(self, inputs: Sequence[Any], runtime: Runtime, frame: Frame | None = None) -> Any:
        """Run the kernel.

        Args:
            inputs: one value for each input, already where the backend computes.
            runtime: gives array namespace, random numbers and nested nets.
            frame: the names around the operator.

        Returns:
            A sequence with one value for each output, or `DONE` from operators that wrote them into `frame`.

        Raises:
            ExecutionError: the kernel refused, or failed.
        """
        try:
            if not self.takes_context:
                made = self.kernel(runtime.backend.xp, *inputs, **self.keywords)
            else:
                context = runtime.context(self)
                if frame is not None:
                    context.frame = frame
                made = self.kernel(runtime.backend.xp, *inputs, ctx=context, **self.keywords)
        except KERNEL_ERRORS as error:
            raise failure(self.op, _reason(self.op, inputs, error)) from error
        if type(made) is not tuple:
            if made is DONE:
                return DONE
            made = (made,)
        return self._checked(made)

    def _checked(self, made: tuple[Any, ...]) -> list[Any]:
        wanted = len(self.op.outputs)
        if len(made) < wanted:
            raise failure(self.op, f"its kernel made {len(made)} outputs where {wanted} are wanted")
        # Arithmetic on arrays of rank 0 yields NumPy scalars.
        return [np.asarray(each) if isinstance(each, np.generic) else each for each in made[:wanted]]


def as_op(op: Any) -> Op:
    """The record of an operator given as a record, a message of ours or a message of another protobuf module."""
    if isinstance(op, Op):
        return op
    from gradviz.ops.foreign import as_operator

    if not hasattr(op, "SerializeToString"):
        raise TypeError(f"an OperatorDef is wanted, not {type(op).__name__}")
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


@dataclass(slots=True)
class Program:
    """A net made ready to run.

    Attributes:
        ops: its operators in order.
    """

    ops: list[BoundOp]

    @classmethod
    def of(cls, ops: Iterable[OperatorDef | Op]) -> Program:
        """Make the operators of a net ready to run.

        Raises:
            OpError: the first operator that cannot be run.
        """
        names: dict[str, str] = {}
        bound = []
        for index, each in enumerate(ops):
            op = each if isinstance(each, Op) else Op(each, names)
            try:
                bound.append(bind(op))
            except OpError as error:
                raise error.inside(index, op) from error.__cause__
        return cls(bound)

    def link(self, frame: Frame) -> list[Link]:
        """Find the slots of every operator's names in a frame, in order of execution."""
        for bound in self.ops:
            for name in bound.keywords.get("alias_dst", ()) if bound.nested else ():
                if not isinstance(frame.find(name), SliceSlot):
                    frame.slots[name] = SliceSlot(frame.get(name))
        return [
            (bound, [frame.reach(name) for name in bound.op.inputs], [frame.reach(name) for name in bound.op.outputs])
            for bound in self.ops
        ]

    def run(self, frame: Frame, runtime: Runtime) -> None:
        """Run all operators over a frame; nothing is recorded.

        Raises:
            OpError: an operator failed.
            Cancelled: the run was called off.
        """
        for index, (bound, inputs, outputs) in enumerate(self.link(frame)):
            if runtime.cancelled is not None and runtime.cancelled():
                raise Cancelled(f"cancelled before op {index} {bound.op.type}")
            step(index, bound, inputs, outputs, runtime, frame)


def step(
    index: int,
    bound: BoundOp,
    inputs: Sequence[AnySlot],
    outputs: Sequence[AnySlot],
    runtime: Runtime,
    frame: Frame,
) -> None:
    """Run one operator of a net: read its slots, call its kernel, fill its slots.

    Raises:
        OpError: it failed; says which operator it was.
    """
    read = [slot.value for slot in inputs]
    try:
        if not bound.nested:
            for i, value in enumerate(read):
                if value is MISSING:
                    raise failure(bound.op, f"its input {bound.op.inputs[i]} was never written")
        made = bound(read, runtime, frame)
    except OpError as error:
        raise error.inside(index, bound.op) from error.__cause__
    except Cancelled:
        raise
    except ExecutionError as error:
        raise OpError(str(error), bound.op).inside(index, bound.op) from error
    if made is not DONE:
        if runtime.widen:
            made = _widened(bound.op.type, read, made, runtime)
        for slot, value in zip(outputs, made, strict=True):
            slot.value = value


def _widened(type: str, read: Sequence[Any], made: Sequence[Any], runtime: Runtime) -> list[Any]:
    wide = any(_is_float(value, 8) for value in read)
    if wide and any(_is_float(value, 4) for value in made):
        known = registry.lookup(type)
        if known is None or known.family != "fillers":  # those read shapes only
            runtime.narrowed.add(type)
    return [value.astype(np.float64) if _is_float(value, 4) else value for value in made]


def _is_float(value: Any, size: int) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind == "f" and dtype.itemsize == size


def failure(op: Op, reason: str) -> OpError:
    """An error that names an operator by its type and outputs; raise what this returns."""
    return OpError(f"{op.type} ({', '.join(op.outputs)}): {reason}", op)


def describe(value: Any) -> str:
    """Dtype and shape of a value, such as `float32[2, 3]`."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        name = "string" if value.dtype.kind == "O" else str(value.dtype)
        return f"{name}[{', '.join(map(str, value.shape))}]"
    return f"a {type(value).__name__} object"


def _reason(op: Op, inputs: Sequence[Any], error: Exception) -> str:
    named = ", ".join(f"{name} {describe(value)}" for name, value in zip(op.inputs, inputs, strict=False))
    if isinstance(error, DtypeError):
        for i, value in enumerate(inputs):
            if value is error.array:
                return f"its input {i} ({op.inputs[i]}) is {error.found}, but must be {error.wanted}; inputs: {named}"
    text = " ".join(str(error).split())
    plain = isinstance(error, ValueError | AssertionError) and text
    said = text if plain else f"{type(error).__name__}: {text}"
    return f"{said}; inputs: {named}" if named else said
