"""A debugging session with no screen: a cursor over the events of a trace, which moves in both directions.

Every verb has its twin backwards. The cursor always stands on an event: the last one that has happened.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.debug.breakpoints import Breakpoint, Watch
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.state import State
    from gradviz.autodiff.trace import Trace


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where the cursor stands still.

    Attributes:
        position: index of the event.
        reason: `step`, `start`, `end`, `error`, `breakpoint`, `watch` or `goto`.
        breakpoint: the breakpoint that was hit.
        watch: the watch that fired.
        before: value of the watched blob before.
        after: value after.
    """

    position: int
    reason: str
    breakpoint: Breakpoint | None = None
    watch: Watch | None = None
    before: tuple[Any, ...] | None = None
    after: tuple[Any, ...] | None = None


class Session:
    """A cursor over a trace, with breakpoints and watches.

    Attributes:
        trace: what is debugged.
        breakpoints: where running stops.
        watches: blobs whose changes stop running.
        parent: the session around this one, where it stands in a nested net.
        label: what leads from the parent to here.
    """

    def __init__(self, trace: Trace, at: int = 0, parent: Session | None = None, label: str = "") -> None:
        if not hasattr(trace, "state_at"):
            raise TypeError(f"a Trace is debugged, not a {type(trace).__name__}: see gradviz.trace")
        self.trace = trace
        self.parent = parent
        self.label = label
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[Watch] = []
        self._state = trace.state_at(at)

    # Where it stands.

    @property
    def state(self) -> State:
        """The state at the cursor; it moves along with the cursor."""
        return self._state

    @property
    def position(self) -> int:
        """Index of the event at the cursor."""
        return self._state.position

    @property
    def event(self) -> Event:
        """The event at the cursor."""
        return self._state.event

    @property
    def last(self) -> int:
        """Index of the last event."""
        return len(self.trace.events) - 1

    @property
    def visit(self) -> int | None:
        """The visit at the cursor: 0 for the last forward operator; None before the first."""
        return self.trace.recording.visit_of(self.position)

    # Moving by events, phases and operators.

    def goto(self, position: int) -> Stop:
        """Jump to an event; positions beyond an end are the end."""
        target = min(max(position, 0), self.last)
        distance = target - self.position
        if abs(distance) > _NEAR:
            self._state = self.trace.state_at(target)
        for _ in range(abs(target - self.position)):
            if distance > 0:
                self._state.forward()
            else:
                self._state.back()
        return self._here("goto")

    def step(self, count: int = 1) -> Stop:
        """`count` events forward."""
        return self._moved(self.position + count)

    def back(self, count: int = 1) -> Stop:
        """`count` events back."""
        return self._moved(self.position - count)

    def step_phase(self, count: int = 1) -> Stop:
        """To the first event of the next phase, `count` times."""
        return self._repeat(count, self._next_phase)

    def back_phase(self, count: int = 1) -> Stop:
        """To the first event of this phase, or of the one before; `count` times."""
        return self._repeat(count, self._previous_phase)

    def step_op(self, count: int = 1) -> Stop:
        """To the start of the next operator's visit (or play), `count` times."""
        return self._repeat(count, self._next_op)

    def back_op(self, count: int = 1) -> Stop:
        """To the start of this operator's visit (or play), or of the one before; `count` times."""
        return self._repeat(count, self._previous_op)

    def out(self, count: int = 1) -> Stop:
        """To the end of this operator, `count` operators on."""
        return self._repeat(count, self._end_of_op)

    def to_start_of_op(self, count: int = 1) -> Stop:
        """To the start of this operator, `count` operators back."""
        return self._repeat(count, self._previous_op)

    def to_start(self) -> Stop:
        """To the first event."""
        return self._moved(0)

    def to_end(self) -> Stop:
        """To the last event."""
        return self._moved(self.last)

    def goto_op(self, op_index: int) -> Stop:
        """To the event that opens the visit of a forward operator; to its play if it was never visited.

        Raises:
            GradvizError: the net has no such operator.
        """
        recording = self.trace.recording
        index = op_index - recording.offset
        if not 0 <= index < len(recording.ops):
            first, last = recording.offset, recording.offset + len(recording.ops) - 1
            raise GradvizError(f"there is no op {op_index}: ops go from {first} to {last}")
        visit = len(recording.ops) - 1 - index
        return self.goto(recording.visits[visit] if visit < len(recording.visits) else index)

    # Nested nets.

    @property
    def breadcrumbs(self) -> list[str]:
        """The way from the outermost net to here."""
        crumbs: list[str] = []
        session: Session | None = self
        while session is not None:
            crumbs.append(session.label or session.trace.model.name)
            session = session.parent
        return crumbs[::-1]

    def doors(self) -> list[str]:
        """Names of the nested nets that the visited operator's gradient walked through."""
        return [label for label, _ in self.trace.nested_at(self.position)]

    def into(self, door: int = 0) -> Session:
        """A session in a nested net of the visited operator; it leads back through `parent`.

        Raises:
            GradvizError: the operator has no such nested walk.
        """
        nested = self.trace.nested_at(self.position)
        if not 0 <= door < len(nested):
            what = f"op {self.event.op_index} has no nested walk to step into"
            raise GradvizError(f"{what}; If, While and Do have, where they are visited")
        label, trace = nested[door]
        return Session(trace, parent=self, label=f"op {self.event.op_index} {label}")

    # Running.

    def run(self) -> Stop:
        """Forward to the next breakpoint, watch, error or the end."""
        return self._run(forward=True)

    def run_back(self) -> Stop:
        """Back to the breakpoint, watch or the start before."""
        return self._run(forward=False)

    def run_to_op(self, op_index: int) -> Stop:
        """Run to the visit of an operator, in whichever direction it lies; breakpoints on the way stop it."""
        here = self.position
        target = Session(self.trace, here).goto_op(op_index).position
        stop = self._run(forward=target > here, limit=target)
        return self._here("goto") if stop.position == target else stop

    def _run(self, *, forward: bool, limit: int | None = None) -> Stop:
        end = (self.last if forward else 0) if limit is None else limit
        if not (any(each.enabled for each in self.breakpoints) or any(each.enabled for each in self.watches)):
            self.goto(end)  # nothing can stop it on the way
            return self._here(self._end_reason())
        watched = {watch.blob: watch.value(self._state) for watch in self.watches if watch.enabled}
        while self.position != end:
            event = self._state.forward() if forward else self._state.back()
            stop = self._hit() or self._fired(event, watched)
            if stop is not None:
                return stop
        return self._here(self._end_reason())

    def _hit(self) -> Stop | None:
        event = self.event
        recording, index = self.trace.recording, event.op_index
        op = None if index is None else recording.ops[index - recording.offset]
        for each in self.breakpoints:
            if each.enabled and each.matches(event, op) and each.hit():
                return Stop(self.position, "breakpoint", breakpoint=each)
        return None

    def _fired(self, event: Event, watched: dict[str, tuple[Any, ...]]) -> Stop | None:
        for watch in self.watches:
            if not watch.enabled or not watch.may_change(event):
                continue
            before, after = watched[watch.blob], watch.value(self._state)
            if before != after:
                watched[watch.blob] = after
                return Stop(self.position, "watch", watch=watch, before=before, after=after)
        return None

    # Breakpoints and watches.

    def toggle(self, breakpoint: Breakpoint) -> bool:
        """Set a breakpoint, or remove the one that is there already; whether it is set now."""
        if not isinstance(breakpoint, Breakpoint):
            raise TypeError(f"a Breakpoint is needed (see `parse`), not a {type(breakpoint).__name__}")
        for each in self.breakpoints:
            if each.key == breakpoint.key:
                self.breakpoints.remove(each)
                return False
        self.breakpoints.append(breakpoint)
        return True

    def watch(self, blob: str) -> bool:
        """Watch a blob, or stop watching it; whether it is watched now."""
        if not isinstance(blob, str):
            raise TypeError(f"a blob is watched by its name, not by a {type(blob).__name__}")
        for each in self.watches:
            if each.blob == blob:
                self.watches.remove(each)
                return False
        self.watches.append(Watch(blob))
        return True

    # Finding.

    def find_op(self, pattern: str, start: int, *, forward: bool = True) -> int | None:
        """The next operator whose type, name, blobs or debug info match a regular expression, around the ends.

        Args:
            pattern: a regular expression, case ignored.
            start: index in the net to start beside.
            forward: towards higher indices, or lower.

        Raises:
            GradvizError: the pattern is no regular expression.
        """
        matches = _matcher(pattern)
        recording = self.trace.recording
        count = len(recording.ops)
        sign = 1 if forward else -1
        for distance in range(1, count + 1):
            index = (start - recording.offset + sign * distance) % count
            op = recording.ops[index]
            if matches((op.type, op.proto.name, *op.inputs, *op.outputs, op.proto.debug_info)):
                return index + recording.offset
        return None

    # How the moves are made.

    def _moved(self, position: int) -> Stop:
        self.goto(position)
        return self._here("step" if 0 < self.position < self.last else self._end_reason())

    def _here(self, reason: str) -> Stop:
        return Stop(self.position, reason)

    def _end_reason(self) -> str:
        if self.position == 0:
            return "start"
        return "error" if self.event.kind == "fail" else "end"

    def _repeat(self, count: int, move: Callable[[int], int]) -> Stop:
        position = self.position
        for _ in range(count):
            moved = move(position)
            if moved == position:
                break
            position = moved
        return self._moved(position)

    def _next_phase(self, position: int) -> int:
        events = self.trace.events
        here = _phase(events[position])
        for i in range(position + 1, self.last + 1):
            if _phase(events[i]) != here:
                return i
        return self.last

    def _previous_phase(self, position: int) -> int:
        if position == 0:
            return 0
        events = self.trace.events
        phase = _phase(events[position - 1])
        i = position - 1
        while i > 0 and _phase(events[i - 1]) == phase:
            i -= 1
        return i

    def _next_op(self, position: int) -> int:
        recording = self.trace.recording
        if position + 1 < recording.plays:
            return position + 1
        visit = bisect_right(recording.visits, position)
        return recording.visits[visit] if visit < len(recording.visits) else self.last

    def _previous_op(self, position: int) -> int:
        recording = self.trace.recording
        visit = bisect_left(recording.visits, position) - 1
        if visit >= 0:
            return recording.visits[visit]
        return max(min(position, recording.plays) - 1, 0)

    def _end_of_op(self, position: int) -> int:
        recording = self.trace.recording
        for start in (position, position + 1):
            visit = recording.visit_of(start)
            end = recording.visit_span(visit)[1] if visit is not None else start
            if end > position:
                return end
        return min(position + 1, self.last)


_NEAR = 64
"""Up to so many events stepping is cheaper than a jump, which makes the looked-at parts of the state anew."""


def _phase(event: Event) -> tuple[int | None, str]:
    """A phase is told apart by operator too, so that a run of plays is not one phase with the next."""
    return (None if event.phase == "play" else event.op_index), event.phase


def _matcher(pattern: str) -> Callable[[tuple[str, ...]], bool]:
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise GradvizError(f"{pattern!r} is no regular expression: {error}; write it otherwise") from error
    return lambda texts: any(compiled.search(text) for text in texts)
