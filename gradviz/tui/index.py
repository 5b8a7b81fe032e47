"""Who wrote and who read what: look-ups over one trace, each made when it is first asked for."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.autodiff.events import Accumulate, Rename, Seed

if TYPE_CHECKING:
    from gradviz.autodiff.events import Play
    from gradviz.autodiff.trace import Trace


class Use(NamedTuple):
    """One use of a blob by a forward operator.

    Attributes:
        op: index of the operator in the net.
        version: the version that it read or wrote.
        writes: whether it wrote it.
    """

    op: int
    version: int
    writes: bool


class NetIndex:
    """Look-ups over the forward and the gradient operators of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def play(self, op: int) -> Play | None:
        """The event that played a forward operator."""
        recording = self.trace.recording
        index = op - recording.offset
        if not 0 <= index < recording.plays:
            return None
        found: Any = recording.events[index]
        return found  # type: ignore[no-any-return]

    # Forward blobs.

    def history(self, blob: str) -> list[Use]:
        """Every use of a blob in the order of the net; an operator's reads come before its writes."""
        found = []
        for op in self._users.get(blob, ()):
            play = self.play(op)
            if play is None:
                continue
            reads = zip(play.op.inputs, play.in_versions, strict=True)
            writes = zip(play.op.outputs, play.out_versions, strict=True)
            found += [Use(op, version, False) for name, version in reads if name == blob]
            found += [Use(op, version, True) for name, version in writes if name == blob]
        return found

    def writer(self, blob: str, version: int) -> int | None:
        """The operator that wrote a version; None where it comes from outside."""
        return next((use.op for use in self.history(blob) if use.writes and use.version == version), None)

    def readers(self, blob: str, version: int) -> list[int]:
        """The operators that read a version, each once."""
        return list(dict.fromkeys(use.op for use in self.history(blob) if not use.writes and use.version == version))

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        users: dict[str, list[int]] = {}
        for op, record in enumerate(self.trace.ops, self.trace.recording.offset):
            for name in {*record.inputs, *record.outputs}:
                users.setdefault(name, []).append(op)
        return users

    @cached_property
    def type_width(self) -> int:
        """Columns of the longest operator type."""
        return max((len(type) for type in {op.type for op in self.trace.ops}), default=0)

    # Gradient operators.

    def maker(self, gradient_op: int) -> int:
        """The event that added a gradient operator."""
        marks, events = self.trace.recording.op_marks, self.trace.recording.events
        return marks[bisect_right(marks, gradient_op, key=lambda mark: _first(events[mark])) - 1]

    def gradient_writer(self, name: str, before: int) -> int | None:
        """The last gradient operator before `before` that writes a name."""
        writers = self._gradient_writers.get(name, [])
        found = bisect_right(writers, before - 1) - 1
        return writers[found] if found >= 0 else None

    def gradient_readers(self, name: str, after: int, count: int) -> list[int]:
        """Gradient operators behind `after` that read a name, among the first `count`."""
        return [op for op in self._gradient_readers.get(name, ()) if after < op < count]

    @cached_property
    def _gradient_writers(self) -> dict[str, list[int]]:
        made: dict[str, list[int]] = {}
        for i, op in enumerate(self.trace.recording.gradient_ops):
            for name in dict.fromkeys(op.outputs):
                made.setdefault(name, []).append(i)
        for mark in self.trace.recording.rename_marks:
            event = self.trace.events[mark]
            assert isinstance(event, Rename)
            made.setdefault(event.new, []).append(event.gradient_op)
            made[event.new].sort()
        return made

    @cached_property
    def _gradient_readers(self) -> dict[str, list[int]]:
        made: dict[str, list[int]] = {}
        for i, op in enumerate(self.trace.recording.gradient_ops):
            for name in dict.fromkeys(op.inputs):
                made.setdefault(name, []).append(i)
        return made

    @cached_property
    def sums(self) -> list[tuple[int, int]]:
        """Where gradients are added up: visit, and the event that added the operators."""
        recording = self.trace.recording
        found = [mark for mark in recording.op_marks if isinstance(recording.events[mark], Accumulate)]
        return [(bisect_right(recording.visits, mark) - 1, mark) for mark in found]


def _first(event: Any) -> int:
    """The first gradient operator that an event added."""
    found = event.gradient_op if isinstance(event, Seed) else event.first
    return int(found or 0)
