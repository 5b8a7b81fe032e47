"""A walk as the report's page reads it: every event as a short row of numbers, and its sentence.

Names are numbered; a row names them by number, -1 is none. A gradient is numbered too: a name, or a pair of names for
a slice. A generator is `[gradient, op, output]`, or with five places where it is sparse (indices first).

| kind | after the kind's number and the operator's index |
|---|---|
| play, skip, finish, fail | nothing; what a play reads and writes stands with its operator |
| seed | blob, version, gradient, gradient operator or null, whether the blob is new, generator or null |
| enter | gradients of the outputs |
| make | first gradient operator, how many, gradients of the inputs |
| check | gradient operator, name, role, blob or -1, version wanted, version found |
| local | gradient operator |
| dense, merge, pass_through | blob, version, generator |
| half | blob, version, generator, which half: 0 indices, 1 values |
| frontier | blob, version, version before or null |
| map | blob, gradient, gradient before, whether there was one, whether accumulation set it |
| verify | blob, version |
| rename | blob, gradient operator, output, name before, name after |
| accumulate | blob, first gradient operator, how many, gradient |
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gradviz import __version__
from gradviz.autodiff.events import PHASES
from gradviz.ops.records import GradientSlice
from gradviz.render.escape import visible
from gradviz.render.graph import DEVICES
from gradviz.render.progress import states_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.trace import Trace
    from gradviz.execute import Workspace
    from gradviz.ops.records import Gradient
    from gradviz.proto import DeviceOption
    from gradviz.render.page.picture import Node

SCHEMA, VERSION = "gradviz.report", 1

KINDS = (
    *("play", "seed", "enter", "skip", "make", "check", "local", "dense", "half", "merge", "pass_through"),
    *("frontier", "map", "verify", "rename", "accumulate", "finish", "fail"),
)
"""Kinds of events; a row begins with an index into them."""

ROLES = ("gradient", "output", "input", "local", "unknown")
FIGURES = ("min", "max", "mean", "std", "l2", "zeros", "nan", "inf")
_DIGITS = 6


class _Names:
    """Names and gradients, numbered as they first occur."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.gradients: dict[Gradient, int] = {}

    def name(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def names(self, texts: Iterable[str]) -> list[int]:
        return [self.name(text) for text in texts]

    def gradient(self, gradient: Gradient) -> int:
        if gradient is None:
            return -1
        return self.gradients.setdefault(gradient, len(self.gradients))

    def generator(self, made: Generator) -> list[int | None]:
        gradient = self.gradient(made.gradient)
        if made.kind == "dense":
            return [gradient, made.op, made.idx]
        return [gradient, made.op_indices, made.idx_indices, made.op_values, made.idx_values]

    def spelled(self) -> tuple[list[str], list[Any]]:
        """All names, and all gradients by their names' numbers."""
        gradients: list[Any] = [
            self.names(each) if isinstance(each, GradientSlice) else self.name(str(each)) for each in self.gradients
        ]
        return [visible(name) for name in self.numbers], gradients


def record_of(trace: Trace, workspace: Workspace | None = None, picture: Iterable[Node] = ()) -> dict[str, Any]:
    """Everything that the page steps through, as plain values.

    Args:
        trace: the walk.
        workspace: a run of the same net, for figures of values; None leaves them out.
        picture: the nodes of the picture of the whole net.
    """
    names = _Names()
    rows = [_row(event, names) for event in trace.events]
    recording = trace.recording
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "gradviz": __version__,
        "net": visible(trace.model.name),
        "ys": names.names(trace.ys),
        "kinds": KINDS,
        "phases": PHASES,
        "roles": ROLES,
        "offset": recording.offset,
        "ops": [_played(event, names) for event in trace.events[: len(trace.ops)]],
        "outcomes": list(states_at(trace, len(rows) - 1).values()),
        "visits": list(recording.visits),
        "gradientOps": [
            [names.name(op.type), names.names(op.inputs), names.names(op.outputs), names.name(_device(op.device))]
            for op in recording.gradient_ops
        ],
        "nested": _nested(trace),
        "events": rows,
        "sentences": [visible(event.sentence()) for event in trace.events],
        "values": [] if workspace is None else _values(workspace, trace, names),
        "figures": FIGURES,
        "picture": [[id, -1 if blob is None else names.name(blob), *rest] for id, blob, *rest in picture],
        "forward": 0 if workspace is None else workspace.forward,
    }
    made["names"], made["gradients"] = names.spelled()
    return made


def _played(play: Any, names: _Names) -> list[Any]:
    """One forward operator: type, inputs, versions read, outputs, versions written, blobs that were new, device."""
    return [
        names.name(play.op.type),
        names.names(play.op.inputs),
        list(play.in_versions),
        names.names(play.op.outputs),
        list(play.out_versions),
        names.names(play.added),
        names.name(_device(play.op.device)),
    ]


def _device(option: DeviceOption | None) -> str:
    """The device in words; empty for the CPU."""
    if option is None or not option.device_type:
        return ""
    return _device_name(option.device_type, option.device_id)


@lru_cache(maxsize=64)
def _device_name(type: int, number: int) -> str:
    return f"{DEVICES[type] if 0 <= type < len(DEVICES) else f'device type {type}'} {number}"


# Events.


def _row(event: Event, names: _Names) -> list[Any]:
    kind = event.kind
    op = event.op_index
    return [_NUMBERS[kind], -1 if op is None else op, *(_WRITERS[kind](event, names) if kind in _WRITERS else ())]


def _seed(e: Any, names: _Names) -> list[Any]:
    generator = None if e.generator is None else names.generator(e.generator)
    return [names.name(e.blob), e.version, names.gradient(e.gradient), e.gradient_op, int(e.added), generator]


def _enter(e: Any, names: _Names) -> list[Any]:
    return [[names.gradient(each) for each in e.g_output]]


def _make(e: Any, names: _Names) -> list[Any]:
    return [e.first, len(e.gradient_ops), [names.gradient(each) for each in e.g_input]]


def _check(e: Any, names: _Names) -> list[Any]:
    blob = names.name(e.blob) if e.blob else -1
    return [e.gradient_op, names.name(e.name), ROLES.index(e.role), blob, e.wanted, e.found]


def _local(e: Any, names: _Names) -> list[Any]:
    return [e.gradient_op]


def _recorded(e: Any, names: _Names) -> list[Any]:
    return [names.name(e.blob), e.version, names.generator(e.generator)]


def _half(e: Any, names: _Names) -> list[Any]:
    return [*_recorded(e, names), int(e.half == "values")]


def _frontier(e: Any, names: _Names) -> list[Any]:
    return [names.name(e.blob), e.version, e.previous]


def _map(e: Any, names: _Names) -> list[Any]:
    gradients = names.gradient(e.gradient), names.gradient(e.previous)
    return [names.name(e.blob), *gradients, int(e.known), int(e.summed)]


def _rename(e: Any, names: _Names) -> list[Any]:
    return [names.name(e.blob), e.gradient_op, e.output, names.name(e.old), names.name(e.new)]


def _verify(e: Any, names: _Names) -> list[Any]:
    return [names.name(e.blob), e.version]


def _accumulate(e: Any, names: _Names) -> list[Any]:
    return [names.name(e.blob), e.first, len(e.ops), names.gradient(e.gradient)]


_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_WRITERS: dict[str, Callable[[Any, _Names], list[Any]]] = {
    "seed": _seed,
    "enter": _enter,
    "make": _make,
    "check": _check,
    "local": _local,
    "dense": _recorded,
    "merge": _recorded,
    "pass_through": _recorded,
    "half": _half,
    "frontier": _frontier,
    "map": _map,
    "verify": _verify,
    "rename": _rename,
    "accumulate": _accumulate,
}


# Nested walks, and values.


def _nested(trace: Trace) -> dict[int, list[list[Any]]]:
    """Event -> the walks over nested nets that it stands for, in order: where, and their sentences."""
    found: dict[int, list[list[Any]]] = {}
    for event, walks in trace.recording.nested.items():
        pending = [(each.label, each.walk) for each in reversed(walks)]
        while pending:
            where, walk = pending.pop()
            sentences = [visible(each.sentence()) for each in walk.recording.events]
            found.setdefault(event, []).append([visible(where), sentences])
            inner = [
                (f"{where}, op {walk.recording.events[at].op_index}, {each.label}", each.walk)
                for at, each_walks in walk.recording.nested.items()
                for each in each_walks
            ]
            pending += reversed(inner)
    return found


def _values(workspace: Workspace, trace: Trace, names: _Names) -> list[list[Any]]:
    """Blob, version, operator of the run (-1 for feeds), shape, dtype, figures, name of the gradient (-1: none)."""
    from gradviz.render.values import rows_of

    return [
        [
            names.name(row["blob"]),
            row["version"],
            -1 if row["op"] is None else row["op"],
            "×".join(map(str, row["shape"])),
            names.name(row["dtype"]),
            *(_short(row[figure]) for figure in FIGURES),
            -1 if row["gradient"] is None else names.name(row["gradient"]),
        ]
        for row in rows_of(workspace, trace)
    ]


def _short(figure: float | int | None) -> float | int | None:
    return float(f"{figure:.{_DIGITS}g}") if isinstance(figure, float) else figure
