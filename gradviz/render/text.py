"""The events of a walk as text and as JSON lines, and the state after one of them: what `gradviz trace` prints.

A line of JSON is one event. It always has `index`, `kind`, `phase`, `op_index` (null outside of a visit), `blobs` (the
names that it touches) and `sentence`; beside these stand the event's own fields, as `gradviz.autodiff.events` describes
them. Operators are `{"type", "inputs", "outputs"}`, slices `{"indices", "values"}`, generators
`{"kind", "gradient", ...}`, and an error `{"kind", "phase", "message", "op_index", "facts"}`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import PHASES, listed, spoken, versioned
from gradviz.autodiff.generators import Generator
from gradviz.errors import GradientError, GradvizError
from gradviz.nets.words import nearest
from gradviz.ops.records import GradientOp, GradientSlice, Op
from gradviz.render.escape import shortened, visible
from gradviz.render.progress import states_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.trace import Trace

_OWN = frozenset({"index", "kind", "phase", "op_index", "blobs", "sentence"})


def chosen(
    trace: Trace, upto: int, phases: Collection[str] = (), ops: Collection[str] = ()
) -> Iterator[tuple[int, Event]]:
    """Events with their numbers, up to and with `upto`.

    Args:
        trace: the walk.
        upto: index of the last event.
        phases: only events of these phases or kinds; all if empty.
        ops: only events of these forward operators: indices, or types; all if empty.

    Raises:
        GradvizError: there is no such phase or kind, or no such operator.
    """
    _check_phases(phases)
    indices = _indices(trace, ops)
    return (
        (index, event)
        for index, event in enumerate(islice(trace.events, upto + 1))
        if (not phases or event.phase in phases or event.kind in phases)
        and (indices is None or event.op_index in indices)
    )


_KINDS = (
    *("play", "seed", "enter", "skip", "make", "check", "local", "dense", "half", "merge", "pass_through"),
    *("frontier", "map", "verify", "rename", "accumulate", "finish", "fail"),
)


def _check_phases(phases: Collection[str]) -> None:
    for each in phases:
        if each not in PHASES and each not in _KINDS:
            known = ", ".join(dict.fromkeys((*PHASES, *_KINDS)))
            raise GradvizError(f"there is no phase or kind of event {each!r}; there are {known}")


def _indices(trace: Trace, ops: Collection[str]) -> set[int] | None:
    if not ops:
        return None
    found: set[int] = set()
    offset = trace.recording.offset
    for each in ops:
        if each.isdecimal():
            matching = {int(each)} & set(range(offset, offset + len(trace.ops)))
        else:
            matching = {index for index, op in enumerate(trace.ops, offset) if op.type == each}
        if not matching:
            last = offset + len(trace.ops) - 1
            near = nearest(each, {op.type for op in trace.ops})
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise GradvizError(f"the net has no op {each!r}: name an index from {offset} to {last}, or a type{hint}")
        found |= matching
    return found


def line(index: int, event: Event, width: int = 1) -> str:
    """One event on one line: number, phase, forward operator, sentence."""
    op = "" if event.op_index is None else f"op {event.op_index}"
    return f"{index:>{width}}  {event.phase:<12}  {op:<{width + 3}}  {visible(event.sentence())}"


def header(width: int = 1) -> str:
    """The heading of these lines."""
    return f"{'event':<{width}}  {'phase':<12}  {'op':<{width + 3}}  what happened"


def json_line(index: int, event: Event) -> str:
    """One event as a line of JSON: pure ASCII."""
    return json.dumps(as_json(index, event))


def as_json(index: int, event: Event) -> dict[str, Any]:
    """One event as plain values."""
    fields = event._asdict()
    own = {key: _plain(value) for key, value in fields.items() if key not in _OWN}
    return {
        "index": index,
        "kind": event.kind,
        "phase": event.phase,
        "op_index": event.op_index,
        "blobs": list(event.blobs),
        "sentence": event.sentence(),
        **own,
    }


def _plain(value: Any) -> Any:
    """A field of an event as JSON can hold it."""
    if isinstance(value, GradientSlice):
        return value._asdict()
    if isinstance(value, Op | GradientOp):
        return {"type": value.type, "inputs": list(value.inputs), "outputs": list(value.outputs)}
    if isinstance(value, Generator):
        return _generator(value)
    if isinstance(value, GradientError):
        return error_as_json(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _generator(generator: Generator) -> dict[str, Any]:
    names = ("op", "idx") if generator.kind == "dense" else ("op_indices", "idx_indices", "op_values", "idx_values")
    places = {name: getattr(generator, name) for name in names}
    return {"kind": generator.kind, "gradient": _plain(generator.gradient), **places}


def _diagnosed(error: GradientError) -> dict[str, Any]:
    remedies = [{"title": str(each), "explanation": str(each.explanation)} for each in error.remedies]
    return {**error_as_json(error), "explanation": list(error.explanation), "remedies": remedies}


def error_as_json(error: GradientError) -> dict[str, Any]:
    """The error that stopped a walk as plain values."""
    return {
        "kind": error.kind,
        "phase": error.phase,
        "message": str(error),
        "op_index": error.op_index,
        "facts": _plain(error.facts),
    }


# The state after an event.


def state_lines(trace: Trace, position: int) -> Iterator[str]:
    """What the algorithm holds after the event at `position`, a heading and a few lines for each part."""
    state = trace.state_at(position)
    yield f"State after event {position} of {len(trace.events) - 1} ({state.phase.replace('_', ' ')}):"
    counts = Counter(states_at(trace, position).values())
    yield "  forward ops        " + ", ".join(f"{count} {name}" for name, count in counts.items())
    yield f"  gradient ops       {state.gradient_op_count}"
    if state.g_output or state.g_input:
        yield f"  g_output           {visible(listed([spoken(each) for each in state.g_output]))}"
        yield f"  g_input            {visible(listed([spoken(each) for each in state.g_input]))}"
        yield f"  locally generated  {visible(listed(state.locally_generated_blobs))}"
    yield from _part("gradient frontier", [versioned(*each) for each in state.gradient_frontier.items()])
    generators = [
        f"{versioned(blob, version)}: {'; '.join(map(repr, found))}"
        for blob, versions in state.gradient_generators.items()
        for version, found in versions.items()
    ]
    yield from _part("generators", generators)
    yield from _part("gradient map", [f"{blob} → {spoken(each)}" for blob, each in state.gradient_map.items()])


_MOST_LINES = 40


def _part(name: str, items: list[str]) -> Iterator[str]:
    yield f"  {name} ({len(items)})"
    for each in items[-_MOST_LINES:]:
        yield f"    {shortened(visible(each), 160)}"
    if len(items) > _MOST_LINES:
        yield f"    … and {len(items) - _MOST_LINES} older ones"


def state_as_json(trace: Trace, position: int) -> dict[str, Any]:
    """What the algorithm holds after the event at `position`, as plain values."""
    state = trace.state_at(position)
    return {
        "index": position,
        "phase": state.phase,
        "op_index": state.op_index,
        "frontier": dict(state.frontier),
        "gradient_frontier": dict(state.gradient_frontier),
        "gradient_generators": _plain(state.gradient_generators),
        "gradient_map": _plain(state.gradient_map),
        "gradient_ops": state.gradient_op_count,
        "g_output": _plain(state.g_output),
        "g_input": _plain(state.g_input),
        "locally_generated_blobs": list(state.locally_generated_blobs),
        "sparse_generators": _plain(state.sparse_generators),
    }


# The walk at a glance.


def summary_lines(trace: Trace) -> Iterator[str]:
    """What became of a walk in a few lines."""
    last = len(trace.events) - 1
    yield f"net            {visible(trace.model.name)}: {len(trace.ops)} ops, {len(trace.recording.frontier)} blobs"
    yield f"ys             {listed([visible(y) for y in trace.ys])} ({trace.chosen})"
    counts = Counter(states_at(trace, last).values())
    yield "forward ops    " + ", ".join(f"{count} {name}" for name, count in counts.items())
    ops = Counter(op.type for op in trace.recording.gradient_ops)
    kinds = ", ".join(f"{count} {visible(type)}" for type, count in ops.most_common(8))
    yield f"gradient ops   {sum(ops.values())}" + (f": {kinds}" if kinds else "") + (", …" if len(ops) > 8 else "")
    if trace.error is None:
        yield f"gradients      {_pairs(trace)}"
    phases = Counter(event.phase for event in trace.events)
    yield f"events         {last + 1}: " + ", ".join(f"{phases[phase]} {phase}" for phase in PHASES if phases[phase])
    yield f"end            {visible(trace.events[last].sentence()) if last >= 0 else 'nothing happened'}"
    if trace.error is not None:
        yield from _labelled("why", trace.error.explanation)
        yield from _labelled("what mends it", [f"{i}. {each}" for i, each in enumerate(trace.error.remedies, 1)])
    for warning in trace.warnings:
        yield f"warning        {visible(warning)}"


def _labelled(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines with a name before the first."""
    for each in lines:
        yield f"{name:<13}  {visible(each)}"
        name = ""


def _pairs(trace: Trace, most: int = 12) -> str:
    pairs = [visible(f"{blob} → {spoken(gradient)}") for blob, gradient in trace.input_to_grad.items()]
    shown = ", ".join(shortened(pair, 80) for pair in pairs[:most])
    return shown + (f" and {len(pairs) - most} more" if len(pairs) > most else "") if pairs else "none"


def summary_as_json(trace: Trace) -> dict[str, Any]:
    """What became of a walk as plain values."""
    last = len(trace.events) - 1
    return {
        "net": trace.model.name,
        "ops": len(trace.ops),
        "ys": {y: _plain(gradient) for y, gradient in trace.ys.items()},
        "chosen": trace.chosen,
        "events": last + 1,
        "states": dict(Counter(states_at(trace, last).values())),
        "gradient_ops": [op.type for op in trace.gradient_ops],
        "input_to_grad": _plain(trace.input_to_grad),
        "warnings": list(trace.warnings),
        "error": None if trace.error is None else _diagnosed(trace.error),
    }
