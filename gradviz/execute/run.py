"""`run(model, feeds, ys)`: forward, then the gradient operators that the backward walk built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError
from gradviz.execute import backend as backends
from gradviz.execute.going import Going, Keep, Stage
from gradviz.execute.missing import read_before_written
from gradviz.execute.plan import OpError, bind
from gradviz.execute.program import Cancelled, Program
from gradviz.nets import as_model
from gradviz.ops.records import GradientSlice, Op

if TYPE_CHECKING:
    import threading

    from gradviz.autodiff import Trace
    from gradviz.execute.workspace import Workspace
    from gradviz.nets import Model

Ys = Sequence[str] | Mapping[str, Any] | None


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
        input_to_grad: blob -> name of its gradient, or slice; empty without gradients.
        notices: what was done although it is not as it should be, one sentence each.
    """

    def __init__(self, model: Any, ys: Ys = None) -> None:
        self.model: Model = as_model(model)
        self.trace: Trace | None = None
        self.input_to_grad: dict[str, str | GradientSlice] = {}
        self.notices: list[str] = []
        names: dict[str, str] = {}
        self.ops = [Op(op, names) for op in self.model.net.op]
        self.forward = len(self.ops)
        if self._wants_gradients(ys):
            self._build_gradients(ys, names)
        self._stages: dict[tuple[str, int], list[Stage]] = {}
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
            self.input_to_grad = walked.input_to_grad
            self.ops += [Op(op, names) for op in walked.gradient_ops]
        elif ys is not None:
            raise walked.error
        else:
            self.notices.append(f"no gradients were built: {walked.error}")

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

    def init_program(self) -> Program | None:
        """The init net made ready to run, where there is one.

        Raises:
            OpError: some of its operators cannot be run.
        """
        if self._init is None and self.model.init is not None:
            try:
                self._init = _bind_all([Op(op) for op in self.model.init.op])
            except OpError as error:
                raise OpError(f"init net: {error}", error.op, (-1, *error.path)) from error
        return self._init

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
        start: Mapping[str, Any] | Workspace | None = None,
        backend: str = "numpy",
        iterations: int = 1,
        keep: Keep = "all",
        seed: int | None = None,
        until: int | str | None = None,
        anomaly: bool = False,
        progress: Callable[[int, int, Op], None] | None = None,
        cancel: threading.Event | Callable[[], bool] | None = None,
    ) -> Workspace:
        """Run; see `run`, whose arguments these are, but for one.

        Args:
            feeds: arrays by blob name.
            start: values to begin with in place of what the init net makes: arrays, or an earlier run. They are not
                copied.
            backend: `numpy` or `cupy`.
            iterations: how often to run the operators.
            keep: which values to keep.
            seed: of random operators.
            until: where to stop.
            anomaly: whether to stop at NaN or Inf.
            progress: called after each operator.
            cancel: ends the run.
        """
        if not isinstance(feeds if feeds is not None else {}, Mapping):
            raise TypeError(f"feeds are a mapping of names to arrays, not a {type(feeds).__name__}")
        count = len(self.ops) if until is None else self._until(until)
        stage = self.stage(backend, count)
        stage.runtime.restart(seed, _cancelled(cancel))
        going = Going(self, stage, keep, anomaly, progress)
        with np.errstate(all="ignore"):
            try:
                going.prepare({} if feeds is None else feeds, start)
                going.iterate(iterations)
            except Cancelled as error:
                going.workspace.stopped = str(error)
            except OpError as error:
                raise going.told(error) from error.__cause__
        stage.clear()
        self._stages[backend, count].append(stage)
        return going.workspace

    def stage(self, backend: str, count: int) -> Stage:
        """A frame for the first `count` operators, with all names tied; one from an earlier run where one is free."""
        free = self._stages.setdefault((backend, count), [])
        if free:
            return free.pop()
        return Stage(backends.get(backend), self.program(count), self.ops[:count])

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
    try:
        bind(op)
    except OpError:
        return True
    return False
