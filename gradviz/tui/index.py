"""Who wrote and who read what: look-ups over one trace, each made when it is first asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
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
    """Look-ups over the forward and the gradient operators of a trace, which may still be walking."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._writers: dict[str, list[int]] = {}
        self._readers: dict[str, list[int]] = {}
        self._sums: list[tuple[int, int]] = []
        self._ops_seen = self._renames_seen = self._marks_seen = 0

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
        self._catch_up()
        writers = self._writers.get(name, [])
        found = bisect_left(writers, before) - 1
        return writers[found] if found >= 0 else None

    def gradient_readers(self, name: str, after: int, count: int) -> list[int]:
        """Gradient operators behind `after` that read a name, among the first `count`."""
        self._catch_up()
        return [op for op in self._readers.get(name, ()) if after < op < count]

    def _catch_up(self) -> None:
        """Take in the gradient operators and renames that a walk has made since the last look."""
        recording = self.trace.recording
        ops = recording.gradient_ops
        for i in range(self._ops_seen, len(ops)):
            for name in dict.fromkeys(ops[i].outputs):
                self._writers.setdefault(name, []).append(i)
            for name in dict.fromkeys(ops[i].inputs):
                self._readers.setdefault(name, []).append(i)
        self._ops_seen = len(ops)
        for mark in recording.rename_marks[self._renames_seen :]:
            event = recording.events[mark]
            assert isinstance(event, Rename)
            insort(self._writers.setdefault(event.new, []), event.gradient_op)
        self._renames_seen = len(recording.rename_marks)

    @property
    def sums(self) -> list[tuple[int, int]]:
        """Where gradients are added up: visit, and the event that added the operators."""
        recording = self.trace.recording
        for mark in recording.op_marks[self._marks_seen :]:
            if isinstance(recording.events[mark], Accumulate):
                self._sums.append((bisect_right(recording.visits, mark) - 1, mark))
        self._marks_seen = len(recording.op_marks)
        return self._sums


def _first(event: Any) -> int:
    """The first gradient operator that an event added."""
    found = event.gradient_op if isinstance(event, Seed) else event.first
    return int(found or 0)
