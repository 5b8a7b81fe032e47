"""A run as it goes on: what is there before the first operator, then operator after operator, kept and freed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.execute.advice import advice
from gradviz.execute.feeds import as_feed
from gradviz.execute.health import is_bad
from gradviz.execute.missing import MissingFeedsError, describe_missing, read_before_written
from gradviz.execute.notices import idle_feeds, notices_about
from gradviz.execute.plan import OpError, describe, failure
from gradviz.execute.program import Cancelled, Runtime
from gradviz.execute.scope import MISSING, AnySlot, Frame
from gradviz.execute.workspace import Workspace, owner_of, version_table
from gradviz.nets.tensors import to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradviz.execute.backend import Backend
    from gradviz.execute.plan import BoundOp
    from gradviz.execute.program import Link, Program
    from gradviz.execute.run import Plan
    from gradviz.ops.records import Op

Keep = str | Iterable[str]


class Output(NamedTuple):
    """One output of an operator of a run.

    Attributes:
        at: which of its outputs.
        name: the blob.
        version: the version that is written.
        slot: where the value goes.
        kept: whether it is to be kept.
    """

    at: int
    name: str
    version: int
    slot: AnySlot
    kept: bool


class Stage:
    """A frame with the operators of a run tied to it, and what is known of them; good for one run after the other.

    Attributes:
        runtime: of the runs.
        ops: the operators.
        program: the same, ready to run.
        frame: the names.
        links: the operators tied to the frame.
        notices: what devices, engines and undeclared inputs have to be told; None until somebody asked.
    """

    def __init__(self, backend: Backend, program: Program, ops: list[Op]) -> None:
        self.runtime = Runtime.on(backend)
        self.ops = ops
        self.program = program
        self.frame = Frame()
        self.notices: list[str] | None = None
        self._kept: frozenset[str] | None = None
        self.links: list[Link] = program.link(self.frame, self.runtime)
        self._versions = version_table(ops)
        self._kept_rows: tuple[frozenset[str] | None, list[tuple[Output, ...]]] | None = None

    def outputs(self, kept: frozenset[str] | None) -> list[tuple[Output, ...]]:
        """What each operator writes, if only these blobs are kept (None: all)."""
        if self._kept_rows is None or self._kept_rows[0] != kept:
            rows = [
                tuple(
                    Output(i, name, version, slot, kept is None or name in kept)
                    for i, (name, version, slot) in enumerate(
                        zip(link.bound.op.outputs, written, link.outputs, strict=True)
                    )
                )
                for link, (_, written) in zip(self.links, self._versions, strict=True)
            ]
            self._kept_rows = kept, rows
        return self._kept_rows[1]

    @cached_property
    def lasting(self) -> dict[str, tuple[int, Op, int]]:
        """The blobs that are read before they are written, with their first readers."""
        return read_before_written(self.ops)

    @cached_property
    def inside(self) -> set[str]:
        """Every name that the arguments of operators with nested nets mention."""
        return named_inside(self.program.ops)

    @cached_property
    def frees(self) -> list[tuple[tuple[str, AnySlot, bool], ...]]:
        """For each operator the blobs that no later one reads or writes, but for those that nested nets name.

        Each with its slot, and whether the next round reads it.
        """
        last: dict[str, int] = {}
        for index, op in enumerate(self.ops):
            last.update(dict.fromkeys((*op.inputs, *op.outputs), index))
        frees: list[list[str]] = [[] for _ in self.ops]
        for name, index in last.items():
            if name not in self.inside:
                frees[index].append(name)
        return [tuple((name, self.frame.reach(name), name in self.lasting) for name in names) for names in frees]

    def want(self, kept: frozenset[str] | None) -> None:
        """Let kernels leave out what nobody reads, if only these blobs are kept (None: all)."""
        if kept != self._kept:
            self._kept = kept
            for link, wanted in zip(self.links, self._wanted(kept), strict=True):
                link.want(wanted)

    def _wanted(self, kept: frozenset[str] | None) -> list[frozenset[int] | None]:
        if kept is None:
            return [None] * len(self.ops)
        wanted_now = {*kept, *self.lasting, *self.inside}
        read_later: set[str] = set()
        found: list[frozenset[int] | None] = []
        for op in reversed(self.ops):
            alive = (i for i, name in enumerate(op.outputs) if name in read_later or name in wanted_now)
            found.append(frozenset(alive))
            read_later.difference_update(op.outputs)
            read_later.update(op.inputs)
        return found[::-1]

    def clear(self) -> None:
        """Let go of all values."""
        for slot in self.frame.slots.values():
            slot.value = MISSING


def named_inside(ops: Sequence[BoundOp]) -> set[str]:
    """Every name that the arguments of operators with nested nets mention."""
    found: set[str] = set()
    todo = [bound.op.proto for bound in ops if bound.nested]
    while todo:
        op = todo.pop()
        for argument in op.arg:
            texts = [text.decode("utf-8", "surrogateescape") for text in argument.strings]
            found.update(texts, (f"{text}_grad" for text in texts))
            for net in (argument.n, *argument.nets):
                for inner in net.op:
                    found.update(inner.input, inner.output)
                    todo.append(inner)
    return found


class Going:
    """One run.

    Attributes:
        workspace: what there is of it by now.
    """

    def __init__(
        self,
        plan: Plan,
        stage: Stage,
        keep: Keep,
        anomaly: bool = False,
        progress: Callable[[int, int, Op], None] | None = None,
    ) -> None:
        self.plan = plan
        self.stage = stage
        self.anomaly = anomaly
        self.progress = progress
        self.keep_last = keep == "last"
        kept = None if keep == "all" else frozenset() if self.keep_last else _names(keep)
        forward = min(plan.forward, len(stage.ops))
        self.workspace = Workspace(stage.ops, forward, plan.input_to_grad, stage.runtime.backend, kept)
        self.fed: dict[str, Any] = {}
        stage.want(None if self.keep_last else kept)
        self._outputs = stage.outputs(kept)
        self._tracks = kept is not None

    # Before the first operator.

    def prepare(self, feeds: Mapping[str, Any], start: Mapping[str, Any] | Workspace | None = None) -> None:
        """Fill the frame: feeds, what the init net makes of them, parameters, and the feeds once more.

        Raises:
            MissingFeedsError: something is read that nobody makes.
            OpError: an operator of the init net failed.
        """
        backend = self.stage.runtime.backend
        self.fed = {name: backend.to_device(as_feed(name, value)) for name, value in feeds.items()}
        if start is None:
            self._put(self.fed)
            self._run_init()
            parameters = self.plan.model.parameters
            self._put({name: backend.to_device(to_array(proto)) for name, proto in parameters.items()})
        else:
            self._put({name: backend.to_device(start[name]) for name in start})
        self._put(self.fed)
        self._ask_for_missing()
        self._notice()

    def _put(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.stage.frame.reach(name).value = value

    def _run_init(self) -> None:
        program = self.plan.init_program()
        if program is None:
            return
        try:
            program.run(self.stage.frame, self.stage.runtime)
        except OpError as error:
            raise OpError(f"init net: {error}", error.op, (-1, *error.path)) from error

    def _ask_for_missing(self) -> None:
        frame, stage = self.stage.frame, self.stage
        missing = [name for name in stage.lasting if frame.get(name) is MISSING]
        if missing:
            missing = [name for name in missing if name not in stage.inside]
        if missing:
            known = {name: value.shape for name, value in frame.values() if hasattr(value, "shape")}
            made = set(self.plan.filled())
            filled = [name for name in stage.lasting if name in made]
            raise MissingFeedsError(describe_missing(stage.ops, missing, known), filled)

    def _notice(self) -> None:
        stage = self.stage
        if stage.notices is None:
            stage.notices = notices_about(self.plan.model.net, stage.ops, stage.lasting, stage.runtime.backend.name)
        given = self.plan.trace.ys.values() if self.plan.trace is not None else ()
        self.workspace.notices += [*self.plan.notices, *stage.notices, *idle_feeds(self.fed, stage.lasting, given)]

    def told(self, error: OpError) -> OpError:
        """The error with what had been computed, and with what may help."""
        if len(error.path) == 1:
            read = {name: self.stage.frame.get(name) for name in error.op.inputs}
            help = advice(error, self.stage.ops, self.fed, read)
            if help:
                error = _with(error, help)
        error.workspace = self.workspace
        return error

    # The operators.

    def iterate(self, iterations: int) -> None:
        """Run all operators so many times.

        Raises:
            OpError: an operator failed.
            Cancelled: the run was called off.
        """
        workspace = self.workspace
        for iteration in range(iterations):
            values = dict(self.stage.frame.values())
            workspace._begin(values)
            if self._tracks:
                workspace._memory += [(name, *owner_of(value)) for name, value in values.items()]
            if not self._iterate_once(iteration, iterations):
                break
        if self.keep_last:
            self._keep_last()

    def _iterate_once(self, iteration: int, iterations: int) -> bool:
        """Run all operators; False where an anomaly ends the run."""
        links, runtime, index = self.stage.links, self.stage.runtime, 0
        frees = self.stage.frees if self._tracks and not self.keep_last else None
        try:
            for index, link in enumerate(links):
                if runtime.cancelled is not None and runtime.cancelled():
                    raise Cancelled(f"cancelled before op {index} {link.bound.op.type}")
                if self.anomaly or link.elsewhere:
                    if not self._run_watched(index, link):
                        return False
                else:
                    link.run(runtime)
                    self._record(index)
                if frees is not None and frees[index]:
                    self._free(frees[index], iteration == iterations - 1)
                if self.progress is not None:
                    self.progress(iteration * len(links) + index + 1, iterations * len(links), link.bound.op)
        except OpError as error:
            raise error.inside(index, links[index].bound.op) from error.__cause__
        return True

    def _run_watched(self, index: int, link: Link) -> bool:
        """Run an operator that may write elsewhere, or make an anomaly: False then."""
        runtime = self.stage.runtime
        before = self._holdings() if link.elsewhere else None
        good = self.anomaly and not any(is_bad(runtime.backend.xp, slot.value) for slot in link.inputs)
        link.run(runtime)
        self._record(index)
        if before is not None:
            self._record_hidden(index, link, before)
        return not (good and self._is_anomaly(index, link))

    def _record(self, index: int) -> None:
        workspace, tracks = self.workspace, self._tracks
        for output, name, version, slot, kept in self._outputs[index]:
            value = slot.value
            if tracks:
                workspace._memory.append((name, *owner_of(value)))
            if kept and value is not MISSING:
                workspace._record(index, output, name, version, value)

    def _holdings(self) -> dict[str, Any]:
        return {name: slot.holds for name, slot in self.stage.frame.slots.items()}

    def _record_hidden(self, index: int, link: Link, before: dict[str, Any]) -> None:
        keep = self.workspace._keep
        for name, slot in self.stage.frame.slots.items():
            if slot.holds is before.get(name, MISSING) or name in link.bound.op.outputs:
                continue
            if self.stage.runtime.backend.is_array(slot.value) and (keep is None or name in keep):
                self.workspace._record(index, None, name, self._version_now(name, index), slot.value)

    def _version_now(self, name: str, index: int) -> int:
        return sum(op.outputs.count(name) for op in self.stage.ops[: index + 1])

    def _is_anomaly(self, index: int, link: Link) -> bool:
        xp, op = self.stage.runtime.backend.xp, link.bound.op
        bad = [name for name, slot in zip(op.outputs, link.outputs, strict=True) if is_bad(xp, slot.value)]
        if bad:
            inputs = ", ".join(f"{name} {describe(self.stage.frame.get(name))}" for name in op.inputs)
            reason = f"{', '.join(bad)} has NaN or Inf although its inputs ({inputs}) are finite"
            self.workspace.stopped = f"op {index} {failure(op, reason)}"
        return bool(bad)

    def _free(self, freed: Iterable[tuple[str, AnySlot, bool]], last: bool) -> None:
        for name, slot, lasting in freed:
            if last or not lasting:
                slot.value = MISSING
                self.workspace._memory.append((name, 0, 0))

    def _keep_last(self) -> None:
        round_ = self.workspace._rounds[-1]
        written = {each.name: each.version for row in self._outputs for each in row}
        for name, value in self.stage.frame.values():
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
