"""The state of a walk after any event: a fold over the events, and every event can be undone.

A `State` stands at a position of a recording. Its parts are made when they are first asked for, from the events that
touch them, and then kept up to date by stepping: a step back costs what a step forward costs, and a jump makes only
what is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import (
    Dense,
    Enter,
    Finish,
    Frontier,
    Half,
    Local,
    Make,
    Map,
    Merge,
    PassThrough,
    Play,
    Rename,
    Seed,
    Skip,
)

if TYPE_CHECKING:
    from gradviz.autodiff.events import Event
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.recording import Recording
    from gradviz.ops.records import Gradient

Generators = dict[str, dict[int, "list[Generator]"]]


class Visit:
    """What lives only while one forward operator is visited.

    Attributes:
        g_output: gradients of its outputs.
        g_input: gradients of its inputs, once the rule answered.
        locally_generated_blobs: names written by this step's gradient operators so far.
        halves: halves of sparse gradients: blob -> version -> list.
        pass_through: generators of gradients that pass straight through: blob -> version -> list.
        merged: sparse generators after merging: blob -> version -> list.
    """

    __slots__ = ("g_input", "g_output", "halves", "locally_generated_blobs", "merged", "pass_through")

    def __init__(self) -> None:
        self.g_output: tuple[Gradient, ...] = ()
        self.g_input: tuple[Gradient, ...] = ()
        self.locally_generated_blobs: list[str] = []
        self.halves: Generators = {}
        self.pass_through: Generators = {}
        self.merged: Generators = {}

    def apply(self, event: Event) -> None:
        """Take in one event of the visit."""
        if isinstance(event, Enter | Skip):
            self.g_output = event.g_output
        elif isinstance(event, Make):
            self.g_input = event.g_input
        elif isinstance(event, Local):
            self.locally_generated_blobs.extend(event.names)
        elif isinstance(event, Half):
            _append(self.halves, event.blob, event.version, event.generator)
        elif isinstance(event, Merge):
            _append(self.merged, event.blob, event.version, event.generator)
        elif isinstance(event, PassThrough):
            _append(self.pass_through, event.blob, event.version, event.generator)


def _append(generators: Generators, blob: str, version: int, generator: Generator) -> None:
    generators.setdefault(blob, {}).setdefault(version, []).append(generator)


def _drop_last(generators: Generators, blob: str, version: int) -> None:
    found = generators[blob][version]
    found.pop()
    if not found:
        del generators[blob][version]
        if not generators[blob]:
            del generators[blob]


class State:
    """Everything the algorithm holds after one event.

    The dictionaries that it gives are its own and change when it steps; copy what you want to keep.

    Attributes:
        position: index of the event it stands after.
    """

    __slots__ = (
        "_frontier",
        "_generators",
        "_gradient_frontier",
        "_map",
        "_recording",
        "_renamed",
        "_visit",
        "position",
    )

    def __init__(self, recording: Recording, position: int) -> None:
        self._recording = recording
        self.position = position
        self._frontier: dict[str, int] | None = None
        self._gradient_frontier: dict[str, int] | None = None
        self._generators: Generators | None = None
        self._map: dict[str, Gradient] | None = None
        self._renamed: dict[tuple[int, int], str] | None = None
        self._visit: Visit | None = None

    # What is asked of it.

    @property
    def event(self) -> Event:
        """The event it stands after."""
        return self._recording.events[self.position]

    @property
    def op_index(self) -> int | None:
        """The forward operator being visited (or played); None outside of a visit."""
        return self.event.op_index

    @property
    def phase(self) -> str:
        """The phase that the event belongs to."""
        return self.event.phase

    @property
    def frontier(self) -> dict[str, int]:
        """Last version of each blob: name -> version."""
        if self._frontier is None:
            self._frontier = self._make_frontier()
        return self._frontier

    @property
    def gradient_frontier(self) -> dict[str, int]:
        """Version to which the newest gradient of each blob belongs: name -> version."""
        if self._gradient_frontier is None:
            self._gradient_frontier = dict(self._recording.gradient_frontier.upto(self.position))
        return self._gradient_frontier

    @property
    def gradient_generators(self) -> Generators:
        """Who makes gradients: name -> version -> list of Generator; empty lists are left out."""
        if self._generators is None:
            made: Generators = {}
            for (blob, version), generator in self._recording.generators.upto(self.position):
                _append(made, blob, version, generator)
            self._generators = made
        return self._generators

    @property
    def gradient_map(self) -> dict[str, Gradient]:
        """The gradient map with its None entries: blobs that were looked at and got no gradient."""
        if self._map is None:
            self._map = dict(self._recording.gradients.upto(self.position))
        return self._map

    @property
    def input_to_grad(self) -> dict[str, Gradient]:
        """The gradient map: name -> gradient name or slice; entries that are None left out."""
        return {blob: gradient for blob, gradient in self.gradient_map.items() if gradient is not None}

    @property
    def visit(self) -> Visit:
        """What lives only while the current forward operator is visited."""
        if self._visit is None:
            self._visit = self._make_visit()
        return self._visit

    @property
    def g_output(self) -> tuple[Gradient, ...]:
        """Gradients of the current operator's outputs."""
        return self.visit.g_output

    @property
    def g_input(self) -> tuple[Gradient, ...]:
        """Gradients of the current operator's inputs, once its rule answered."""
        return self.visit.g_input

    @property
    def locally_generated_blobs(self) -> list[str]:
        """Names written so far by the gradient operators of the current visit."""
        return self.visit.locally_generated_blobs

    @property
    def sparse_generators(self) -> Generators:
        """Halves of sparse gradients of the current visit: name -> version -> list of Generator."""
        return self.visit.halves

    @property
    def gradient_op_count(self) -> int:
        """How many gradient operators there are."""
        counts = self._recording.op_counts
        found = counts.count(self.position)
        return counts.values[found - 1] if found else 0

    def outputs_of(self, gradient_op: int) -> list[str]:
        """Names of a gradient operator's outputs after the renames so far."""
        names = self._recording.gradient_ops[gradient_op].outputs
        return [self.renamed.get((gradient_op, i), name) for i, name in enumerate(names)]

    @property
    def renamed(self) -> dict[tuple[int, int], str]:
        """Renames so far: (gradient operator, output) -> present name."""
        if self._renamed is None:
            self._renamed = dict(self._recording.renames.upto(self.position))
        return self._renamed

    # Stepping.

    def forward(self) -> Event:
        """Step over the next event and take it in; the caller knows that there is one."""
        self.position += 1
        event = self.event
        self._apply(event)
        return event

    def back(self) -> Event:
        """Undo the event it stands after, and return it; the caller knows that there is one before."""
        event = self.event
        self._undo(event)
        self.position -= 1
        return event

    def snapshot(self) -> dict[str, Any]:
        """All parts as plain, independent values, for comparisons."""
        visit = self.visit
        return {
            "op_index": self.op_index,
            "phase": self.phase,
            "frontier": dict(self.frontier),
            "gradient_frontier": dict(self.gradient_frontier),
            "gradient_generators": _copied(self.gradient_generators),
            "gradient_map": dict(self.gradient_map),
            "renamed": dict(self.renamed),
            "gradient_op_count": self.gradient_op_count,
            "g_output": visit.g_output,
            "g_input": visit.g_input,
            "locally_generated_blobs": list(visit.locally_generated_blobs),
            "sparse_generators": _copied(visit.halves),
            "pass_through": _copied(visit.pass_through),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.snapshot() == other.snapshot()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"State(after event {self.position}: {self.event.sentence()})"

    # The fold, and its inverse.

    def _apply(self, event: Event) -> None:
        if isinstance(event, Enter | Skip):
            self._visit = Visit()
        elif isinstance(event, Finish):
            self._visit = None
        if self._visit is not None:
            self._visit.apply(event)
        if isinstance(event, Play):
            self._apply_versions(event)
        elif isinstance(event, Seed):
            self._apply_seed(event)
        elif isinstance(event, Frontier):
            if self._gradient_frontier is not None:
                self._gradient_frontier[event.blob] = event.version
        elif isinstance(event, Map):
            if self._map is not None:
                self._map[event.blob] = event.gradient
        elif isinstance(event, Rename):
            if self._renamed is not None:
                self._renamed[event.gradient_op, event.output] = event.new
        elif isinstance(event, Dense | Merge | PassThrough) and self._generators is not None:
            _append(self._generators, event.blob, event.version, event.generator)

    def _undo(self, event: Event) -> None:
        self._visit = None  # made anew from the few events of its visit when it is asked for
        if isinstance(event, Play):
            self._undo_versions(event)
        elif isinstance(event, Seed):
            self._undo_seed(event)
        elif isinstance(event, Frontier):
            if self._gradient_frontier is not None:
                _restore(self._gradient_frontier, event.blob, event.previous, event.previous is not None)
        elif isinstance(event, Map):
            if self._map is not None:
                _restore(self._map, event.blob, event.previous, event.known)
        elif isinstance(event, Rename):
            if self._renamed is not None:
                was = self._recording.gradient_ops[event.gradient_op].outputs[event.output]
                _restore(self._renamed, (event.gradient_op, event.output), event.old, event.old != was)
        elif isinstance(event, Dense | Merge | PassThrough) and self._generators is not None:
            _drop_last(self._generators, event.blob, event.version)

    def _apply_versions(self, event: Play) -> None:
        if self._frontier is not None:
            _play(self._frontier, event)

    def _undo_versions(self, event: Play) -> None:
        if self._frontier is None:
            return
        for name in event.op.outputs:
            self._frontier[name] -= 1
        for name in event.added:
            del self._frontier[name]

    def _apply_seed(self, event: Seed) -> None:
        if self._frontier is not None and event.added:
            self._frontier[event.blob] = event.version
        if self._gradient_frontier is not None:
            self._gradient_frontier[event.blob] = event.version
        if self._map is not None:
            self._map[event.blob] = event.gradient
        if self._generators is not None and event.generator is not None:
            _append(self._generators, event.blob, event.version, event.generator)

    def _undo_seed(self, event: Seed) -> None:
        if self._frontier is not None and event.added:
            del self._frontier[event.blob]
        if self._gradient_frontier is not None:
            del self._gradient_frontier[event.blob]
        if self._map is not None:
            del self._map[event.blob]
        if self._generators is not None and event.generator is not None:
            _drop_last(self._generators, event.blob, event.version)

    # Making a part from the events that touch it.

    def _make_frontier(self) -> dict[str, int]:
        recording = self._recording
        if recording.versions.count(self.position) == len(recording.versions.keys):
            return dict(recording.frontier)
        return dict(recording.versions.upto(self.position))

    def _make_visit(self) -> Visit:
        made = Visit()
        visit = self._recording.visit_of(self.position)
        if visit is None:
            return made
        first, last = self._recording.visit_span(visit)
        if self.position <= last:
            for event in self._recording.events[first : self.position + 1]:
                made.apply(event)
        return made


def _play(frontier: dict[str, int], event: Play) -> None:
    frontier.update(dict.fromkeys(event.added, 0))
    frontier.update(zip(event.op.outputs, event.out_versions, strict=True))


def _restore(part: dict[Any, Any], key: Any, value: Any, known: bool) -> None:
    if known:
        part[key] = value
    else:
        del part[key]


def _copied(generators: Generators) -> Generators:
    return {blob: {version: list(each) for version, each in by.items()} for blob, by in generators.items()}
