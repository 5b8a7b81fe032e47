"""What lies on the desk: the session, look-ups over its net, and what the user has selected or folded.

Panes draw from it and from nothing else, so that a screen drawn anew at the same place looks the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.debug import Stop
from gradviz.tui.index import NetIndex

if TYPE_CHECKING:
    from gradviz.autodiff.events import Enter, Event, Skip
    from gradviz.autodiff.recording import Recording
    from gradviz.autodiff.state import State
    from gradviz.autodiff.trace import Trace
    from gradviz.debug import Session
    from gradviz.debug.compare_states import Moment
    from gradviz.ops.records import Op

PHASE_NAMES = {
    "play": "play",
    "seed": "seed",
    "enter": "enter",
    "make": "make",
    "check": "1 check",
    "collect": "2 collect",
    "merge": "3 merge",
    "pass_through": "4 pass through",
    "frontier": "5 frontier",
    "map": "map",
    "accumulate": "accumulate",
    "end": "end",
}
"""Phases as the screen calls them."""


class Desk:
    """What the panes draw from.

    Attributes:
        session: the cursor, with its breakpoints and watches.
        index: look-ups over the net.
        before: the event where the cursor stood at the last stop; what changed since then is marked.
        stop: the last stop.
        op: the selected forward operator (index in the net).
        blob: the blob whose versions are shown; None follows the cursor.
        folded: phases of the algorithm that are folded.
        hops: how far the graph reaches from the current operator.
        values: what the last run of the net left, None before one.
        mark: the moment that the Diff screen compares with, None where none is marked.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.index = NetIndex(session.trace)
        self.before = session.position
        self.stop = Stop(session.position, "goto")
        self.op = self.current_op if self.current_op is not None else self.recording.offset
        self.blob: str | None = None
        self.folded: set[str] = set()
        self.hops = 1
        self.values: Any = None
        self.mark: Moment | None = None

    @property
    def trace(self) -> Trace:
        return self.session.trace

    @property
    def recording(self) -> Recording:
        return self.session.trace.recording

    @property
    def state(self) -> State:
        return self.session.state

    @property
    def event(self) -> Event:
        return self.session.event

    @property
    def position(self) -> int:
        return self.session.position

    @property
    def current_op(self) -> int | None:
        """The forward operator at the cursor: being played or visited."""
        return self.session.event.op_index

    def op_record(self, op: int) -> Op:
        """A forward operator by its index in the net."""
        return self.recording.ops[op - self.recording.offset]

    @property
    def opening(self) -> Enter | Skip | None:
        """The event that opened the visit at the cursor; None outside of a visit."""
        visit = self.session.visit
        if visit is None or self.event.kind == "finish":
            return None
        found: Any = self.recording.events[self.recording.visits[visit]]
        return found  # type: ignore[no-any-return]

    def arrived(self, stop: Stop, before: int) -> None:
        """Take note of a stop: what was selected gives way to what is current."""
        self.stop = stop
        self.before = before
        self.blob = None
        if self.current_op is not None:
            self.op = self.current_op

    def op_state(self, op: int) -> str:
        """How far an operator is: `unplayed`, `current`, `waiting`, `done`, `skipped` or `failed`."""
        recording, position = self.recording, self.position
        if self.current_op == op:
            return "failed" if self.event.kind == "fail" else "current"
        index = op - recording.offset
        if position < index:
            return "unplayed"
        visit = len(recording.ops) - 1 - index
        if visit >= len(recording.visits) or recording.visits[visit] > position:
            return "waiting"
        return "skipped" if recording.events[recording.visits[visit]].kind == "skip" else "done"

    def breakpoint_at(self, op: int) -> str:
        """Whether a breakpoint stands on an operator: empty, `on` or `off`."""
        found = [each for each in self.session.breakpoints if each.kind == "op" and each.value == op]
        if not found:
            return ""
        return "on" if found[0].enabled else "off"
