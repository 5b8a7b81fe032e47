"""A walk as diagnoses, remedies and stories look at it: who wrote which version, who read it, what became of a visit.

Operators are counted as in the net (operators that were left out count too); versions are those of the walk. A scene
of a nested net knows where in the net around it it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Enter, Make, Play, Skip, versioned
from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.trace import Trace
    from gradviz.autodiff.walk import Walk
    from gradviz.errors import GradientError
    from gradviz.nets import Model
    from gradviz.ops.records import Gradient, Op

Site = tuple[tuple[int, str], ...]
"""Where a nested net stands: operator and argument that hold it, outermost first; empty for the net itself."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a blob.

    Attributes:
        blob: its name.
        version: the version.
        writer: the operator that wrote it; None where it came from outside.
        writer_type: that operator's type, empty where there is none.
        in_place: whether the writer read the version before it.
        readers: operators that read it, in order, each once.
        reader_types: their types.
        is_y: whether the gradient was asked of it.
    """

    blob: str
    version: int
    writer: int | None
    writer_type: str
    in_place: bool
    readers: tuple[int, ...]
    reader_types: tuple[str, ...]
    is_y: bool

    def sentence(self) -> str:
        """Who wrote it and who read it, in one line."""
        if self.writer is None:
            made = "comes from outside"
        else:
            made = f"written by op {self.writer} ({self.writer_type})" + (" in place" if self.in_place else "")
        pairs = zip(self.readers[:6], self.reader_types, strict=False)
        read = [f"op {index} ({kind})" for index, kind in pairs]
        more = len(self.readers) - len(read)
        who = joined(read + ([f"{more} more"] if more else []))
        reads = f"read by {who}" if read else "read by no op"
        return f"{versioned(self.blob, self.version)}: {made}, {reads}{', a y' if self.is_y else ''}"


class Scene:
    """One walk, looked at after it ended or failed.

    Attributes:
        walk: the walk.
        offset: how many operators at the start of the net were left out.
        site: where the net stands, if it is nested.
        options: what `trace` was asked beside model and ys, to trace again in the same way.
        around: the scene of the net around it, for a nested one.
        model: the model that was walked.
    """

    def __init__(
        self, walk: Walk, model: Model, options: Mapping[str, Any], site: Site = (), around: Scene | None = None
    ) -> None:
        self.walk = walk
        self.model = model
        self.offset = walk.recording.offset
        self.site = site
        self.options = options
        self.around = around
        self._histories: dict[str, list[Version]] = {}
        self._generators: dict[tuple[str, int], list[tuple[int | None, Generator]]] = {}

    @classmethod
    def of(cls, trace: Trace) -> Scene:
        """The scene of a trace."""
        return cls(trace.walk, trace.model, trace.options)

    def innermost(self) -> Scene:
        """Where the error arose: this scene, or that of the nested net in which the walk failed."""
        scene = self
        while True:
            error, nested = scene.walk.error, scene.walk.recording.nested
            inner = nested.get(len(scene.walk.recording.events) - 1, ()) if error is not None else ()
            failed = next((each for each in reversed(inner) if each.walk.error is not None), None)
            if error is None or error.op_index is None or failed is None:
                return scene
            site = (*scene.site, (error.op_index, failed.label))
            scene = Scene(failed.walk, scene.model, scene.options, site, scene)

    # Operators.

    @property
    def error(self) -> GradientError | None:
        """What stopped the walk."""
        return self.walk.error

    @property
    def ops(self) -> list[Op]:
        """The operators that were played; the first has the index `offset`."""
        return self.walk.ops

    @property
    def last(self) -> int:
        """Index after the last operator."""
        return self.offset + len(self.walk.ops)

    def op(self, index: int) -> Op:
        """An operator by its index in the net."""
        return self.walk.ops[index - self.offset]

    def named(self, index: int) -> str:
        """An operator as messages name it."""
        return f"op {index} ({self.op(index).type})"

    def all_named(self, indices: tuple[int, ...] | list[int], most: int = 6) -> str:
        """Several operators as messages name them."""
        shown = [self.named(index) for index in indices[:most]]
        more = len(indices) - len(shown)
        return joined(shown + ([f"{more} more"] if more else []))

    def play(self, index: int) -> Play:
        """The event that played an operator."""
        event = self.walk.recording.events[index - self.offset]
        assert isinstance(event, Play)
        return event

    # Versions.

    def reads(self, index: int) -> dict[str, int]:
        """Version read of each input of an operator."""
        play = self.play(index)
        return dict(zip(play.op.inputs, play.in_versions, strict=True))

    def writes(self, index: int) -> dict[str, int]:
        """Version written of each output of an operator."""
        play = self.play(index)
        return dict(zip(play.op.outputs, play.out_versions, strict=True))

    def knows(self, blob: str) -> bool:
        """Whether an operator reads or writes the blob."""
        return (blob, 0) in self.writers or (blob, 1) in self.writers or bool(self.readers(blob, 0))

    def last_version(self, blob: str) -> int:
        """The version that is there when the net has run."""
        return self.walk.frontier.get(blob, 0)

    def readers(self, blob: str, version: int) -> list[int]:
        """Operators that read a version, in order, each once."""
        end = len(self.walk.ops)
        found = self.walk.usages.get((blob, version), ())
        return [index + self.offset for index in dict.fromkeys(found) if index < end]

    def history_readers(self, blob: str) -> bool:
        """Whether any version of a blob is read."""
        return any((blob, version) in self.walk.usages and self.readers(blob, version) for version in self._span(blob))

    def _span(self, blob: str) -> range:
        return range(self.walk.frontier.get(blob, -1) + 1)

    def writer(self, blob: str, version: int) -> int | None:
        """The operator that wrote a version; None where it came from outside."""
        return self.writers.get((blob, version))

    def is_y(self, blob: str, version: int | None = None) -> bool:
        """Whether the gradient is asked of the blob (at this version)."""
        return blob in self.walk.ys and version in (None, self.last_version(blob))

    def history(self, blob: str) -> list[Version]:
        """Every version of a blob, oldest first."""
        found = self._histories.get(blob)
        if found is None:
            found = self._histories[blob] = list(self._scan(blob))
        return found

    def _scan(self, blob: str) -> Iterator[Version]:
        writers = self.writers
        for version in self._span(blob):
            writer = writers.get((blob, version))
            readers = tuple(self.readers(blob, version))
            yield Version(
                blob=blob,
                version=version,
                writer=writer,
                writer_type="" if writer is None else self.op(writer).type,
                in_place=writer is not None and self.reads(writer).get(blob) == version - 1,
                readers=readers,
                reader_types=tuple(self.op(index).type for index in readers),
                is_y=self.is_y(blob, version),
            )

    @cached_property
    def writers(self) -> dict[tuple[str, int], int]:
        """Blob and version -> the operator that wrote it."""
        events = self.walk.recording.events
        found: dict[tuple[str, int], int] = {}
        for event in events[: len(self.walk.ops)]:
            assert isinstance(event, Play)
            for key in zip(event.op.outputs, event.out_versions, strict=True):
                found[key] = event.op_index
        return found

    # Visits.

    def visit_events(self, index: int) -> list[Event]:
        """Events of the visit to an operator; empty where the walk did not come so far."""
        recording = self.walk.recording
        visit = self.last - 1 - index
        if not 0 <= visit < len(recording.visits):
            return []
        first, last = recording.visit_span(visit)
        return recording.events[first : last + 1]

    def visited(self, index: int) -> bool:
        """Whether the walk came to an operator."""
        return 0 <= self.last - 1 - index < len(self.walk.recording.visits)

    def entered(self, index: int) -> bool:
        """Whether the walk came to an operator and found a gradient at one of its outputs."""
        visit = self.last - 1 - index
        recording = self.walk.recording
        return 0 <= visit < len(recording.visits) and isinstance(recording.events[recording.visits[visit]], Enter)

    def made(self, index: int) -> Make | None:
        """What the gradient rule of an operator answered, if it was asked and did."""
        recording = self.walk.recording
        visit = self.last - 1 - index
        if not 0 <= visit < len(recording.visits):
            return None
        following = recording.visits[visit] + 1
        event = recording.events[following] if following < len(recording.events) else None
        return event if isinstance(event, Make) else None

    def g_output(self, index: int) -> tuple[Gradient, ...]:
        """Gradients of an operator's outputs when the walk came to it; all None before it came."""
        visit = self.last - 1 - index
        recording = self.walk.recording
        if not 0 <= visit < len(recording.visits):
            return (None,) * len(self.op(index).outputs)
        event = recording.events[recording.visits[visit]]
        return event.g_output if isinstance(event, Enter | Skip) else ()

    def generators(self, blob: str, version: int) -> list[tuple[int | None, Generator]]:
        """Who makes the gradient of a version: forward operator (None: the y itself) and generator, in order."""
        wanted = (blob, version)
        if wanted not in self.walk.generators:
            return []
        found = self._generators.get(wanted)
        if found is None:
            column, events = self.walk.recording.generators, self.walk.recording.events
            found = self._generators[wanted] = [
                (events[mark].op_index, generator)
                for mark, key, generator in zip(column.marks, column.keys, column.values, strict=True)
                if key == wanted
            ]
        return found

    def forward_of(self, gradient_op: int) -> int | None:
        """The forward operator whose visit made a gradient operator; None for those made for the ys."""
        from bisect import bisect_right

        counts = self.walk.recording.op_counts
        position = bisect_right(counts.values, gradient_op)
        if position >= len(counts.marks):
            return None
        return self.walk.recording.events[counts.marks[position]].op_index


def joined(names: list[str] | tuple[str, ...], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def capital(text: str) -> str:
    """A sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def shortened(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """Names as a sentence lists them; of many the first and how many more there are."""
    more = len(names) - most
    return joined([*names[:most], f"{more:,} more"]) if more > 0 else joined(names)


def has_nested_nets(op: Op) -> bool:
    """Whether an argument of the operator holds a net."""
    return any(argument.HasField("n") or argument.nets for argument in op.proto.arg)


def must_stay_in_place(op: Op, blob: str) -> bool:
    """Whether the schema demands that an input and an output of the operator are this blob."""
    known = lookup(op.type)
    if known is None or not known.schema.enforced:
        return False
    rule = known.schema.enforced
    return any(
        source == target == blob and (rule(i, j) if callable(rule) else (i, j) in rule)
        for i, source in enumerate(op.inputs)
        for j, target in enumerate(op.outputs)
    )
