"""`run(model, feeds, ys)`: forward, then the gradient operators that the backward walk built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError
from gradviz.execute import backend as backends
from gradviz.execute.advice import advice
from gradviz.execute.feeds import as_feed
from gradviz.execute.health import is_bad
from gradviz.execute.missing import MissingFeedsError, describe_missing, read_before_written
from gradviz.execute.notices import notices_about
from gradviz.execute.plan import Cancelled, OpError, Program, Runtime, describe, failure, step
from gradviz.execute.scope import MISSING, Frame, SliceSlot
from gradviz.execute.workspace import Workspace, owner_of, version_table
from gradviz.nets import as_model
from gradviz.nets.tensors import to_array
from gradviz.ops.records import GradientSlice, Op

if TYPE_CHECKING:
    import threading

    from gradviz.autodiff import Trace
    from gradviz.execute.plan import BoundOp, Link
    from gradviz.nets import Model

Ys = Sequence[str] | Mapping[str, Any] | None
Keep = str | Iterable[str]


def run(
    model: Any,
    feeds: Mapping[str, Any] | None = None,
    ys: Ys = None,
    *,
    backend: str = "numpy",
    iterations: int = 1,
    keep: Keep = "all",
    seed: int | None = None,
    until: int | str | None = None,
    anomaly: bool = False,
    progress: Callable[[int, int, Op], None] | None = None,
    cancel: threading.Event | Callable[[], bool] | None = None,
) -> Workspace:
    """Run a net: its init net, the feeds, the forward operators, then the gradient operators.

    Args:
        model: a Model, or a NetDef of ours or of another protobuf module.
        feeds: arrays by blob name; they go before what the init net makes. Python numbers and lists become float32 or
            int32, arrays keep their dtype.
        ys: what gradients are asked of: names, or name -> gradient, as for `trace`. None asks of the net's outputs and
            goes on without gradients where that fails; () builds none, and runs the net as it is.
        backend: `numpy` or `cupy`.
        iterations: how often to run the operators in the same workspace.
        keep: `all` values, the `last` one of each blob, or the blobs of these names; whatever else is freed as soon as
            nothing needs it.
        seed: of random operators that have no seed of their own.
        until: stop after this operator (index), or after the first that writes this blob.
        anomaly: stop at the first operator that makes NaN or Inf out of finite inputs; `stopped` says where.
        progress: called after each operator with the number done, the number in all, and the operator.
        cancel: an Event, or a function; the run ends before the next operator once it is set, or returns true.

    Returns:
        The values. After a cancelled run, or an anomaly, those that there were by then; `stopped` says why.

    Raises:
        ExecutionError: feeds are missing, an operator cannot be run, or one failed (an `OpError` that has the values
            up to there as its `workspace`).
        GradientError: `ys` were given and their gradients cannot be built.
    """
    return Plan(model, ys).run(
        feeds,
        backend=backend,
        iterations=iterations,
        keep=keep,
        seed=seed,
        until=until,
        anomaly=anomaly,
        progress=progress,
        cancel=cancel,
    )


class Plan:
    """A net and its gradients made ready to run, any number of times: what `run` does before it computes anything.

    Attributes:
        model: the model.
        trace: the backward walk; None where no gradients were asked for.
        ops: forward operators, then gradient operators.
        forward: how many of them are the forward net's.
        notices: what was done although it is not as it should be, one sentence each.
    """

    def __init__(self, model: Any, ys: Ys = None) -> None:
        self.model: Model = as_model(model)
        self.trace: Trace | None = None
        self.notices: list[str] = []
        names: dict[str, str] = {}
        self.ops = [Op(op, names) for op in self.model.net.op]
        self.forward = len(self.ops)
        if self._wants_gradients(ys):
            self._build_gradients(ys, names)
        self._programs: dict[int, Program] = {}
        self._init: Program | None = None

    def _wants_gradients(self, ys: Ys) -> bool:
        if ys is None:
            return bool(self.ops) and not any(op.proto.is_gradient_op for op in self.ops)
        return len(ys) > 0

    def _build_gradients(self, ys: Ys, names: dict[str, str]) -> None:
        from gradviz.autodiff import trace

        walked = trace(self.model, ys)
        if walked.error is None:
            self.trace = walked
            self.ops += [Op(op, names) for op in walked.gradient_ops]
        elif ys is not None:
            raise walked.error
        else:
            self.notices.append(f"no gradients were built: {walked.error}")

    @property
    def input_to_grad(self) -> dict[str, str | GradientSlice]:
        """Blob -> name of its gradient, or slice; empty without gradients."""
        return self.trace.input_to_grad if self.trace is not None else {}

    def program(self, count: int | None = None) -> Program:
        """The first `count` operators made ready to run (all if None).

        Raises:
            OpError: some cannot be run; the message names all their types.
        """
        count = len(self.ops) if count is None else count
        found = self._programs.get(count)
        if found is None:
            found = self._programs[count] = _bind_all(self.ops[:count])
        return found

    def missing(self, feeds: Iterable[str] = ()) -> list[str]:
        """The blobs that must be fed: read before they are written, and made by neither init net nor parameters."""
        given = {*feeds, *self.filled()}
        return [name for name in read_before_written(self.ops) if name not in given]

    def filled(self) -> list[str]:
        """The blobs that the init net makes, or that came along as parameters."""
        made = [name for op in self.model.init.op for name in op.output] if self.model.init is not None else []
        return list(dict.fromkeys([*made, *self.model.parameters]))

    def run(
        self,
        feeds: Mapping[str, Any] | None = None,
        *,
        backend: str = "numpy",
        iterations: int = 1,
        keep: Keep = "all",
        seed: int | None = None,
        until: int | str | None = None,
        anomaly: bool = False,
        progress: Callable[[int, int, Op], None] | None = None,
        cancel: threading.Event | Callable[[], bool] | None = None,
    ) -> Workspace:
        """Run; see `run`, whose arguments these are."""
        chosen = backends.get(backend)
        runtime = Runtime(chosen, chosen.generator(seed), _cancelled(cancel))
        count = len(self.ops) if until is None else self._until(until)
        going = _Run(self, runtime, count, keep, anomaly, progress)
        with np.errstate(all="ignore"):
            try:
                going.prepare(feeds or {})
                going.iterate(iterations)
            except Cancelled as error:
                going.workspace.stopped = str(error)
            except OpError as error:
                raise going.told(error) from error.__cause__
        return going.workspace

    def _until(self, until: int | str) -> int:
        if isinstance(until, int):
            if not -len(self.ops) <= until < len(self.ops):
                raise ExecutionError(f"until: there is no op {until}; the run has {len(self.ops)} ops")
            return until % len(self.ops) + 1
        for index, op in enumerate(self.ops):
            if until in op.outputs or until == op.proto.name != "":
                return index + 1
        raise ExecutionError(f"until: no op of the run writes {until}")


def _cancelled(cancel: threading.Event | Callable[[], bool] | None) -> Callable[[], bool] | None:
    if cancel is None:
        return None
    return cancel if callable(cancel) else cancel.is_set


def _bind_all(ops: Sequence[Op]) -> Program:
    try:
        return Program.of(ops)
    except OpError as error:
        others = [index for index, op in enumerate(ops) if _cannot_bind(op) and (index,) != error.path]
        if others:
            types = ", ".join(dict.fromkeys(ops[index].type for index in others))
            more = f"{error} (nor can {len(others)} other{'s' if len(others) > 1 else ''}: {types})"
            raise OpError(more, error.op, error.path) from error
        raise


def _cannot_bind(op: Op) -> bool:
    from gradviz.execute.plan import bind

    try:
        bind(op)
    except OpError:
        return True
    return False


class _Run:
    """One run as it goes on."""

    def __init__(
        self,
        plan: Plan,
        runtime: Runtime,
        count: int,
        keep: Keep,
        anomaly: bool,
        progress: Callable[[int, int, Op], None] | None,
    ) -> None:
        self.plan = plan
        self.runtime = runtime
        self.program = plan.program(count)
        self.ops = plan.ops[:count]
        self.anomaly = anomaly
        self.progress = progress
        self.keep_last = keep == "last"
        kept = None if keep == "all" else frozenset() if self.keep_last else _names(keep)
        self.workspace = Workspace(self.ops, min(plan.forward, count), plan.input_to_grad, runtime.backend, kept)
        self.workspace.notices += plan.notices
        self.frame = Frame()
        self.fed: dict[str, Any] = {}
        self.lasting = read_before_written(self.ops)
        self.frees = [] if kept is None or self.keep_last else _frees(self.program.ops)
        self.versions = version_table(self.ops)

    # Before the first operator.

    def prepare(self, feeds: Mapping[str, Any]) -> None:
        backend = self.runtime.backend
        given = self.fed = {name: backend.to_device(as_feed(name, value)) for name, value in feeds.items()}
        self.frame.fill(given.items())
        if self.plan.model.init is not None:
            self._run_init()
        for name, proto in self.plan.model.parameters.items():
            self.frame.reach(name).value = backend.to_device(to_array(proto))
        for name, value in given.items():
            self.frame.reach(name).value = value
        self._ask_for_missing()
        self.workspace.notices += notices_about(self.plan.model.net, self.ops, self.lasting, given, backend.name)

    def _run_init(self) -> None:
        init = self.plan.model.init
        assert init is not None
        try:
            _bind_all([Op(op) for op in init.op]).run(self.frame, self.runtime)
        except OpError as error:
            raise OpError(f"init net: {error}", error.op, (-1, *error.path)) from error

    def _ask_for_missing(self) -> None:
        missing = [name for name in self.lasting if self.frame.get(name) is MISSING]
        made_inside = _named_inside(self.program.ops)
        missing = [name for name in missing if name not in made_inside]
        if missing:
            known = {name: value.shape for name, value in self.frame.values() if hasattr(value, "shape")}
            filled = [name for name in self.lasting if name in set(self.plan.filled())]
            raise MissingFeedsError(describe_missing(self.ops, missing, known), filled)

    def told(self, error: OpError) -> OpError:
        """The error with what had been computed, and with what may help."""
        if len(error.path) == 1:
            read = {name: self.frame.get(name) for name in error.op.inputs}
            help = advice(error, self.ops, self.fed, read)
            if help:
                error = _with(error, help)
        error.workspace = self.workspace
        return error

    # The operators.

    def iterate(self, iterations: int) -> None:
        links = self.program.link(self.frame)
        for iteration in range(iterations):
            self.workspace._begin(dict(self.frame.values()))
            if self.workspace._keep is not None:
                self.workspace._memory += [(name, *owner_of(value)) for name, value in self.frame.values()]
            if not self._iterate_once(links, iteration, iterations):
                break
        if self.keep_last:
            self._keep_last()

    def _iterate_once(self, links: list[Link], iteration: int, iterations: int) -> bool:
        runtime, frame, count = self.runtime, self.frame, len(links)
        last = iteration == iterations - 1
        for index, (bound, inputs, outputs) in enumerate(links):
            if runtime.cancelled is not None and runtime.cancelled():
                raise Cancelled(f"cancelled before op {index} {bound.op.type}")
            before = self._holdings() if _writes_elsewhere(bound, outputs) else None
            good = not self.anomaly or not any(is_bad(runtime.backend.xp, slot.value) for slot in inputs)
            step(index, bound, inputs, outputs, runtime, frame)
            self._record(index, bound, outputs)
            if before is not None:
                self._record_hidden(index, bound, before)
            if self.anomaly and good and self._is_anomaly(index, bound, outputs):
                return False
            if self.frees:
                self._free(index, last)
            if self.progress is not None:
                self.progress(iteration * count + index + 1, iterations * count, bound.op)
        return True

    def _record(self, index: int, bound: BoundOp, outputs: Sequence[Any]) -> None:
        workspace, versions = self.workspace, self.versions[index][1]
        for i, (name, slot) in enumerate(zip(bound.op.outputs, outputs, strict=True)):
            value = slot.value
            if value is not MISSING:
                workspace._record(index, i, name, versions[i], value)
            if workspace._keep is not None:
                workspace._memory.append((name, *owner_of(value)))

    def _holdings(self) -> dict[str, Any]:
        return {name: slot.holds for name, slot in self.frame.slots.items()}

    def _record_hidden(self, index: int, bound: BoundOp, before: dict[str, Any]) -> None:
        for name, slot in self.frame.slots.items():
            if slot.holds is not before.get(name, MISSING) and name not in bound.op.outputs:
                value = slot.value
                if self.runtime.backend.is_array(value):
                    self.workspace._record(index, None, name, self._version_now(name, index), value)

    def _version_now(self, name: str, index: int) -> int:
        return sum(op.outputs.count(name) for op in self.ops[: index + 1])

    def _is_anomaly(self, index: int, bound: BoundOp, outputs: Sequence[Any]) -> bool:
        xp = self.runtime.backend.xp
        bad = [name for name, slot in zip(bound.op.outputs, outputs, strict=True) if is_bad(xp, slot.value)]
        if bad:
            read = [self.frame.get(name) for name in bound.op.inputs]
            inputs = ", ".join(f"{name} {describe(value)}" for name, value in zip(bound.op.inputs, read, strict=True))
            reason = f"{', '.join(bad)} has NaN or Inf although its inputs ({inputs}) are finite"
            self.workspace.stopped = f"op {index} {failure(bound.op, reason)}"
        return bool(bad)

    def _free(self, index: int, last: bool) -> None:
        for name in self.frees[index]:
            if last or name not in self.lasting:
                self.frame.reach(name).value = MISSING
                self.workspace._memory.append((name, 0, 0))

    def _keep_last(self) -> None:
        round_ = self.workspace._rounds[-1]
        written = {name: version for (_, versions), op in zip(self.versions, self.ops, strict=True)
                   for name, version in zip(op.outputs, versions, strict=True)}  # fmt: skip
        for name, value in self.frame.values():
            if name in written:
                round_.values[name] = {written[name]: value}
            else:
                round_.initial[name] = value


def _with(error: OpError, help: str) -> OpError:
    told = OpError(f"{error}; {help}", error.op, error.path)
    told.__cause__ = error.__cause__
    return told


def _names(keep: Keep) -> frozenset[str]:
    return frozenset([keep] if isinstance(keep, str) else keep)


def _frees(ops: Sequence[BoundOp]) -> list[tuple[str, ...]]:
    """For each operator the blobs that no later one reads or writes; those that nested nets name are left alone."""
    held = _named_inside(ops)
    last: dict[str, int] = {}
    for index, bound in enumerate(ops):
        last.update(dict.fromkeys((*bound.op.inputs, *bound.op.outputs), index))
    frees: list[list[str]] = [[] for _ in ops]
    for name, index in last.items():
        if name not in held:
            frees[index].append(name)
    return [tuple(names) for names in frees]


def _named_inside(ops: Sequence[BoundOp]) -> set[str]:
    """Every name that the arguments of operators with nested nets mention."""
    found: set[str] = set()
    todo = [bound.op.proto for bound in ops if bound.nested]
    while todo:
        op = todo.pop()
        for argument in op.arg:
            found.update(text.decode("utf-8", "surrogateescape") for text in argument.strings)
            found.update(f"{text.decode('utf-8', 'surrogateescape')}_grad" for text in argument.strings)
            for net in (argument.n, *argument.nets):
                for inner in net.op:
                    found.update(inner.input, inner.output)
                    todo.append(inner)
    return found


def _writes_elsewhere(bound: BoundOp, outputs: Sequence[Any]) -> bool:
    return bound.nested or any(type(slot) is SliceSlot and slot.of is not None for slot in outputs)
