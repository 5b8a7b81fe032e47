"""`trace(model, ys)`: walk a net backwards and keep everything that happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from gradviz.autodiff.events import Accumulate, Enter, Make, Map, Rename, Skip
from gradviz.autodiff.nested import Nest
from gradviz.autodiff.state import Generators, State, Visit
from gradviz.autodiff.walk import Walk
from gradviz.nets import as_model
from gradviz.ops.foreign import as_answer
from gradviz.ops.records import GradientSlice, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.explain.surprises import TraceWarning
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.recording import Recording
    from gradviz.autodiff.walk import Answer
    from gradviz.errors import GradientError
    from gradviz.nets import Model
    from gradviz.ops.records import Gradient, GradientOp
    from gradviz.proto import DeviceOption, NetDef, OperatorDef


@dataclass(frozen=True, slots=True)
class Renamed:
    """One renamed output.

    Attributes:
        blob: the blob whose gradients are added up.
        op: index of the gradient operator.
        output: which of its outputs.
        old: name before.
        new: name after.
    """

    blob: str
    op: int
    output: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to one forward operator; a step cut short by an error lacks what would have come later.

    Attributes:
        op_index: index of the operator in the net.
        op: the operator.
        asked: whether the gradient rule was asked.
        in_versions: version read of each input, by name.
        out_versions: version written of each output, by name.
        g_output: gradient of each output.
        g_input: gradient of each input that the rule answered for.
        gradient_ops: gradient operators as made, before renames.
        first_gradient_op: where they stand among the gradient operators.
        locally_generated_blobs: names that they wrote.
        sparse_merged: sparse generators after merging, in order.
        pass_through: generators of gradients that pass straight through, in order.
        renames: outputs renamed by accumulation.
        sum_ops: operators that accumulation added.
        grad_map: what accumulation put into the gradient map.
        first_event: index of its first event in `trace.events`.
        last_event: index of its last event.
    """

    op_index: int
    op: OperatorDef
    asked: bool
    in_versions: dict[str, int]
    out_versions: dict[str, int]
    g_output: list[Gradient]
    g_input: list[Gradient]
    gradient_ops: list[OperatorDef]
    first_gradient_op: int
    locally_generated_blobs: list[str]
    sparse_merged: list[Generator]
    pass_through: list[Generator]
    renames: list[Renamed]
    sum_ops: list[OperatorDef]
    grad_map: dict[str, Gradient]
    first_event: int
    last_event: int


class Steps(Sequence[Step]):
    """The steps of a walk, last forward operator first; each is made from its events when asked for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording.visits)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [_step(self._recording, i) for i in range(*index.indices(len(self)))]
        return _step(self._recording, range(len(self))[index])


def _step(recording: Recording, visit: int) -> Step:
    first, last = recording.visit_span(visit)
    opening = recording.events[first]
    assert isinstance(opening, Enter | Skip)
    local = opening.op_index - recording.offset
    play: Any = recording.events[local]
    context = Visit()
    made: list[GradientOp] = []
    first_op = 0
    renames: list[Renamed] = []
    sums: list[GradientOp] = []
    grad_map: dict[str, Gradient] = {}
    for event in recording.events[first : last + 1]:
        context.apply(event)
        if isinstance(event, Make):
            made, first_op = list(event.gradient_ops), event.first
        elif isinstance(event, Rename):
            renames.append(Renamed(event.blob, event.gradient_op, event.output, event.old, event.new))
        elif isinstance(event, Accumulate):
            sums += event.ops
        elif isinstance(event, Map) and event.summed:
            grad_map[event.blob] = event.gradient
    return Step(
        op_index=opening.op_index,
        op=opening.op.proto,
        asked=isinstance(opening, Enter),
        in_versions=dict(zip(play.op.inputs, play.in_versions, strict=True)),
        out_versions=dict(zip(play.op.outputs, play.out_versions, strict=True)),
        g_output=list(opening.g_output),
        g_input=list(context.g_input),
        gradient_ops=[op.to_proto() for op in made],
        first_gradient_op=first_op,
        locally_generated_blobs=context.locally_generated_blobs,
        sparse_merged=_flat(context.merged),
        pass_through=_flat(context.pass_through),
        renames=renames,
        sum_ops=[op.to_proto() for op in sums],
        grad_map=grad_map,
        first_event=first,
        last_event=last,
    )


def _flat(generators: Generators) -> list[Generator]:
    return [generator for by_version in generators.values() for found in by_version.values() for generator in found]


class Trace:
    """A walk and all that can be asked about it.

    Attributes:
        model: the model that was walked.
        ys: what the gradient was asked of: blob -> None, a name, or a slice.
        chosen: how the ys came about: `given`, `external outputs` or `unread outputs`.
        skip: how many operators at the start of the net were left out.
        steps: one Step for each forward operator reached, last operator first.
        recording: the event stream with its indices.
        options: what else `trace` was asked, to trace a mended net in the same way.
        walk: the walk itself, for who explains it.
    """

    def __init__(
        self, model: Model, walk: Walk, ys: dict[str, Gradient], chosen: str, options: Mapping[str, Any]
    ) -> None:
        self.model = model
        self.ys = ys
        self.chosen = chosen
        self.options = options
        self.skip: int = options["skip"]
        self.recording = walk.recording
        self.steps = Steps(walk.recording)
        self.walk = walk
        self._enable_diagnosis()

    @property
    def error(self) -> GradientError | None:
        """The error that stopped the walk, or None."""
        return self.walk.error

    def _enable_diagnosis(self) -> None:
        if self.walk.error is not None:
            self.walk.error.examine = self._examine

    @property
    def finished(self) -> bool:
        """Whether the walk has come to its end, or to an error."""
        events = self.recording.events
        return bool(events) and events[-1].phase == "end"

    def advance(self, visits: int | None = None) -> bool:
        """Let a lazy walk go on; between two calls what there is can be used, and nobody needs to call again.

        Args:
            visits: how many forward operators to visit; None for all that are left.

        Returns:
            Whether the walk is finished.
        """
        if not self.finished:
            self.walk.run(visits)
            self._enable_diagnosis()
        return self.finished

    def _examine(self) -> Any:
        from gradviz.autodiff.explain.examine import examine

        return examine(self)

    @cached_property
    def warnings(self) -> list[TraceWarning]:
        """What upstream lets pass and a user should know, one line each; found when they are first asked for."""
        from gradviz.autodiff.explain.surprises import warnings_about

        return warnings_about(self)

    @property
    def net(self) -> NetDef:
        """The forward NetDef."""
        return self.model.net

    @property
    def ops(self) -> list[Op]:
        """The forward operators that were played."""
        return self.recording.ops

    @property
    def events(self) -> Sequence[Event]:
        """Every event, the finest grain."""
        return self.recording.events

    @property
    def gradient_ops(self) -> list[OperatorDef]:
        """The gradient operators in order, after renames; after an error, what had been built."""
        return self.gradient_ops_at(len(self.events) - 1)

    def gradient_ops_at(self, i: int) -> list[OperatorDef]:
        """The gradient operators that exist after event `i`, with the renames made so far."""
        return gradient_protos(self.recording, range(len(self.events))[i])

    @property
    def input_to_grad(self) -> dict[str, str | GradientSlice]:
        """Blob -> gradient; empty after an error, entries that are None left out."""
        if self.error is not None:
            return {}
        return {blob: gradient for blob, gradient in self.walk.gradient_map.items() if gradient is not None}

    def state_at(self, i: int) -> State:
        """Everything the algorithm holds after event `i` (negative: from the end).

        Raises:
            IndexError: there is no such event.
        """
        return State(self.recording, range(len(self.events))[i])

    def nested_at(self, i: int) -> list[tuple[str, Trace]]:
        """Walks over nested nets that the visit around event `i` made: the argument's name, and a trace of its own.

        A control operator (If, While, Do) gets its gradient from such walks; other visits have none.
        """
        visit = self.recording.visit_of(range(len(self.events))[i])
        if visit is None:
            return []
        first, last = self.recording.visit_span(visit)
        made = []
        for event in range(first, last + 1):
            for nested in self.recording.nested.get(event, ()):
                ys: dict[str, Gradient] = dict(nested.ys)
                options = {**self.options, "skip": 0}
                made.append((nested.label, Trace(as_model(nested.net), nested.walk, ys, "nested", options)))
        return made

    def net_with_gradients(self) -> NetDef:
        """A NetDef with the gradient operators appended, as `AddGradientOperators` leaves it."""
        made = type(self.net)()
        made.CopyFrom(self.net)
        made.op.extend(self.gradient_ops)
        return made

    def __repr__(self) -> str:
        end = f"failed: {self.error}" if self.error else f"{len(self.recording.gradient_ops)} gradient ops"
        return f"Trace({self.model.name}: {len(self.ops)} ops, {len(self.events)} events, {end})"


def gradient_protos(recording: Recording, position: int | None = None) -> list[OperatorDef]:
    """The gradient operators after event `position` (the last one if None), with the renames made so far."""
    state = State(recording, len(recording.events) - 1 if position is None else position)
    made = [op.to_proto() for op in recording.gradient_ops[: state.gradient_op_count]]
    for mark in recording.rename_marks[: recording.renames.count(state.position)]:
        event = recording.events[mark]
        assert isinstance(event, Rename)
        _rename(made[event.gradient_op], event)
    return made


def _rename(op: OperatorDef, event: Rename) -> None:
    if op.type == "If":
        from gradviz.ops.control import rename_in_branches

        rename_in_branches(op, event.old, event.new)
    op.output[event.output] = event.new


def trace(
    model: Any,
    ys: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    name_scope: str = "",
    device_scope: DeviceOption | None = None,
    gradient_of: Callable[..., Any] | None = None,
    skip: int = 0,
    strict: bool = False,
    lazy: bool = False,
) -> Trace:
    """Build the gradients of a net as Caffe2 does, and keep every event.

    Args:
        model: a Model, a NetDef, or a NetDef of another generated module.
        ys: what the gradient is asked of. A list: gradients of ones are made. A dict: blob -> None (made), a gradient
            blob, or a `GradientSlice`. None: the net's external outputs, else the blobs that nothing reads.
        name_scope: the name scope in force, with its final `/`; made gradients get it as a prefix.
        device_scope: the device option in force; made gradients get it.
        gradient_of: in place of the registry: takes an OperatorDef and the gradients of its outputs, returns
            OperatorDefs and the gradients of its inputs.
        skip: leave out so many operators at the start of the net.
        strict: raise the error that stops the walk instead of keeping it in `trace.error`.
        lazy: only play the operators and seed the ys; `trace.advance` goes on from there.

    Raises:
        TypeError: ys is neither list nor dict, or a key is not text.
        ValueError: `skip` is negative.
        GradientError: with `strict`, what stopped the walk.
    """
    from gradviz.autodiff.targets import choose

    if skip < 0:
        raise ValueError(f"skip counts operators from the start of the net, so it can't be {skip}")
    opened = as_model(model)
    chosen, how = choose(opened.net, ys, skip)
    names: dict[str, str] = {}
    ops = [Op(proto, names) for proto in opened.net.op[skip:]]
    if gradient_of is None:
        nest = Nest(name_scope, device_scope)
        walk = Walk(ops, chosen, nest.ask, name_scope, device_scope, skip)
        walk.nest = nest
    else:
        walk = Walk(ops, chosen, _asked_of(gradient_of), name_scope, device_scope, skip)
    walk.run(0 if lazy else None)
    options = {"name_scope": name_scope, "device_scope": device_scope, "gradient_of": gradient_of, "skip": skip}
    made = Trace(opened, walk, chosen, how, options)
    if strict and made.error is not None:
        raise made.error
    return made


def _asked_of(gradient_of: Callable[..., Any]) -> Callable[[Op, Sequence[Gradient]], Answer]:
    return lambda op, g_output: as_answer(gradient_of(op.proto, list(g_output)))
