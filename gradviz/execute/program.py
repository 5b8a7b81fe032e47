"""Nets made ready to run, and what lasts as long as one run of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError
from gradviz.execute.plan import DONE, BoundOp, OpError, bind, failure, told
from gradviz.execute.scope import MISSING, Frame, SliceSlot
from gradviz.ops import registry
from gradviz.ops.context import Context
from gradviz.ops.records import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gradviz.execute.backend import Backend
    from gradviz.proto import NetDef, OperatorDef


class Cancelled(ExecutionError):  # noqa: N818
    """A run was called off from outside."""


class LazyRandom:
    """A random generator that is made when it is first asked for something, as most operators never do."""

    __slots__ = ("_backend", "_made", "_seed")

    def __init__(self, backend: Backend, seed: int | None) -> None:
        self._backend = backend
        self.restart(seed)

    def restart(self, seed: int | None) -> None:
        """Begin the numbers of `seed` (others each time if None)."""
        self._seed = seed
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._backend.generator(self._seed)
        return getattr(self._made, name)


@dataclass(slots=True)
class Runtime:
    """What lasts as long as one run.

    Attributes:
        backend: where arrays live.
        random: random numbers for the operators that have no seed of their own.
        cancelled: asked between operators; stops the run when true.
        widen: whether every float32 that an operator makes becomes float64, for gradient checks.
        narrowed: the types that made float32 out of float64 in such a run.
    """

    backend: Backend
    random: LazyRandom
    cancelled: Callable[[], bool] | None = None
    widen: bool = False
    narrowed: set[str] = field(default_factory=set)
    contexts: dict[BoundOp, ScopedContext] = field(default_factory=dict)
    programs: dict[int, Program] = field(default_factory=dict)

    @classmethod
    def on(cls, backend: Backend, seed: int | None = None, widen: bool = False) -> Runtime:
        """A runtime that draws the numbers of `seed`."""
        return cls(backend, LazyRandom(backend, seed), widen=widen)

    def restart(self, seed: int | None, cancelled: Callable[[], bool] | None) -> None:
        """Become as good as new, for another run of the same programs."""
        self.cancelled = cancelled
        self.random.restart(seed)
        for bound, context in self.contexts.items():
            context.state = {}
            if context.random is not self.random:
                context.random.restart(bound.op.proto.device_option.random_seed)

    def context(self, bound: BoundOp) -> ScopedContext:
        """The context of an operator, the same one at every call."""
        found = self.contexts.get(bound)
        if found is None:
            option = bound.op.proto.device_option
            own = LazyRandom(self.backend, option.random_seed) if option.HasField("random_seed") else self.random
            found = ScopedContext(bound.op.proto, len(bound.op.outputs), own, backend=self.backend.name)
            found.runtime = self
            found.run_net = found.run_named
            self.contexts[bound] = found
        return found

    def program(self, net: NetDef) -> Program:
        """The program of a nested net, made at first use."""
        found = self.programs.get(id(net))
        if found is None:
            found = self.programs[id(net)] = Program.of(net.op)
        return found


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


_value_of = attrgetter("value")


class Link:
    """An operator tied to the slots of a frame.

    Attributes:
        bound: the operator.
        inputs: a slot for each input.
        outputs: a slot for each output.
        elsewhere: whether it may change blobs that are no outputs of it.
    """

    __slots__ = ("_call", "_context", "_count", "_frame", "bound", "elsewhere", "inputs", "outputs")

    def __init__(self, bound: BoundOp, frame: Frame, runtime: Runtime) -> None:
        self.bound = bound
        self.inputs = [frame.reach(name) for name in bound.op.inputs]
        self.outputs = [frame.reach(name) for name in bound.op.outputs]
        self.elsewhere = bound.nested or any(type(slot) is SliceSlot for slot in self.outputs)
        self._count = len(self.outputs)
        self._frame = frame
        self._context = runtime.context(bound) if bound.takes_context else None
        keywords = bound.keywords if self._context is None else {**bound.keywords, "ctx": self._context}
        self._call = partial(bound.kernel, runtime.backend.xp, **keywords)

    def want(self, outputs: frozenset[int] | None) -> None:
        """Tell the kernel which outputs somebody reads or keeps; None: all."""
        if self._context is not None:
            self._context.wanted = outputs

    def run(self, runtime: Runtime) -> None:
        """Read the input slots, call the kernel, fill the output slots.

        Raises:
            OpError: the operator failed.
            Cancelled: the run was called off while a nested net ran.
        """
        try:
            if self._context is not None:
                self._context.frame = self._frame
            made = self._call(*map(_value_of, self.inputs))
            if type(made) is np.ndarray and self._count == 1 and not runtime.widen:  # as most do
                self.outputs[0].value = made
                return
            if type(made) is not tuple:
                if made is DONE:
                    return
                made = (made,)
            if len(made) != self._count:
                made = self._trimmed(made)
            if runtime.widen:
                made = _widened(self.bound.op.type, self._read(), made, runtime)
            for slot, value in zip(self.outputs, made, strict=True):
                slot.value = value if type(value) is np.ndarray else _settled(value, runtime.backend)
        except Cancelled:
            raise
        except Exception as error:  # kernels come from anywhere, and raise what NumPy, CuPy and others raise
            raise told(self.bound.op, self._read(), error) from error

    def _read(self) -> list[Any]:
        return [slot.value for slot in self.inputs]

    def _trimmed(self, made: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(made) < self._count:
            raise failure(self.bound.op, f"its kernel made {len(made)} outputs where {self._count} are wanted")
        return made[: self._count]


def _settled(value: Any, backend: Backend) -> Any:
    if isinstance(value, np.generic):  # arithmetic on arrays of rank 0 yields NumPy scalars
        return backend.to_device(value)
    if value is MISSING:
        raise ValueError("an input was handed on that was never written")
    return value


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

    def link(self, frame: Frame, runtime: Runtime) -> list[Link]:
        """Tie every operator to the slots of a frame, in order of execution."""
        for bound in self.ops:
            for name in bound.keywords.get("alias_dst", ()) if bound.nested else ():
                if not isinstance(frame.find(name), SliceSlot):
                    frame.slots[name] = SliceSlot(frame.get(name))
        return [Link(bound, frame, runtime) for bound in self.ops]

    def run(self, frame: Frame, runtime: Runtime) -> None:
        """Run all operators over a frame; nothing is recorded.

        Raises:
            OpError: an operator failed.
            Cancelled: the run was called off.
        """
        for index, link in enumerate(self.link(frame, runtime)):
            if runtime.cancelled is not None and runtime.cancelled():
                raise Cancelled(f"cancelled before op {index} {link.bound.op.type}")
            step(index, link, runtime)


def step(index: int, link: Link, runtime: Runtime) -> None:
    """Run one operator of a net.

    Raises:
        OpError: it failed; says which operator of the net it was.
    """
    try:
        link.run(runtime)
    except OpError as error:
        raise error.inside(index, link.bound.op) from error.__cause__


def _widened(type: str, read: Sequence[Any], made: Sequence[Any], runtime: Runtime) -> tuple[Any, ...]:
    wide = any(_is_float(value, 8) for value in read)
    if wide and any(_is_float(value, 4) for value in made):
        known = registry.lookup(type)
        if known is None or known.family != "fillers":  # those read shapes only
            runtime.narrowed.add(type)
    return tuple([value.astype(np.float64) if _is_float(value, 4) else value for value in made])


def _is_float(value: Any, size: int) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind == "f" and dtype.itemsize == size
