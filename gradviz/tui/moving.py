"""Moving about: counts as in vi, the session's verbs, and finding a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.desk import Desk
from gradviz.tui.panes.header import Header

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from gradviz.debug import Session, Stop

_MOST = 9_999_999
"""No count is larger."""


class Moving(Screen[None]):
    """The part of the debug screen that moves the session's cursor."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.desk = Desk(session)
        self.count = 0
        self.pattern = ""
        self.onward: Callable[[], Stop] | None = None

    @property
    def session(self) -> Session:
        """What is debugged."""
        return self.desk.session

    # What the screen around it does.

    def redraw(self) -> None:
        """Draw every pane that is seen."""
        raise NotImplementedError

    def look_at(self, op: int) -> None:
        """Select a forward operator; the cursor stays where it is."""
        raise NotImplementedError

    # Counts, as in vi.

    def on_key(self, event: events.Key) -> None:
        digit = event.character if event.character and event.character in "0123456789" else ""
        if digit and (self.count or digit != "0"):
            self.count = min(self.count * 10 + int(digit), _MOST)
            event.stop()
            self.query_one(Header).draw(self.desk, str(self.count))

    def take_count(self) -> int:
        """The count that was typed, 1 without one; it is used up."""
        count, self.count = self.count, 0
        return count or 1

    # Moving.

    def travel(self, move: Callable[[], Stop], *, far: bool = False) -> None:
        """Let the session move, then show where it is.

        Args:
            move: the move.
            far: whether it goes on when the walk does, where it ran into an end that is only the end so far.
        """
        if move is not self.onward:
            self.onward = None
        before = self.session.position
        try:
            stop = move()
        except GradvizError as error:
            self.complain(str(error))
            return
        self.desk.arrived(stop, before)
        so_far = not self.desk.trace.finished and stop.position == self.session.last
        self.onward = move if so_far and (far or move is self.onward) else None
        self.redraw()

    def complain(self, text: str) -> None:
        """Say what is wrong, in one line."""
        self.notify(words.prose(text, 80), severity="error", markup=False)
        self.query_one(Header).draw(self.desk)

    def say(self, text: str) -> None:
        """Say what was done, in one line."""
        self.notify(words.prose(text, 80), timeout=3, markup=False)

    def action_step(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step(count))

    def action_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back(count))

    def action_phase(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step_phase(count))

    def action_phase_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back_phase(count))

    def action_op(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step_op(count))

    def action_op_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back_op(count))

    def action_out(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.out(count))

    def action_start(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.to_start_of_op(count))

    def action_run(self) -> None:
        self._repeat(self.take_count(), self.session.run)

    def action_run_back(self) -> None:
        self._repeat(self.take_count(), self.session.run_back)

    def _repeat(self, count: int, move: Callable[[], Stop]) -> None:
        def moves() -> Stop:
            stop = move()
            for _ in range(count - 1):
                if stop.reason not in ("breakpoint", "watch"):
                    break
                stop = move()
            return stop

        self.travel(moves, far=True)

    def action_first(self) -> None:
        self.take_count()
        self.travel(self.session.to_start)

    def action_last(self) -> None:
        self.take_count()
        self.travel(self.session.to_end, far=True)

    def action_run_to(self) -> None:
        self.take_count()
        op = self.desk.op
        if self._is_reached(op):
            self.travel(lambda: self.session.run_to_op(op))
        else:
            self.travel_to_op(op)

    def travel_to_op(self, op: int) -> None:
        """To the visit of an operator, even where the walk has still to come there."""

        def move() -> Stop:
            stop = self.session.goto_op(op)
            return stop if self._is_reached(op) else self.session.to_end()

        self.travel(move, far=True)

    def _is_reached(self, op: int) -> bool:
        """Whether the walk has visited an operator, or never will."""
        recording = self.desk.recording
        visit = len(recording.ops) - 1 - (op - recording.offset)
        return self.desk.trace.finished or visit < len(recording.visits)

    # Finding.

    def action_goto(self) -> None:
        if self.count:
            self.travel_to_op(self.take_count())
            return
        from gradviz.tui.screens.prompt import Prompt

        prompt = Prompt("go to", hint="7 an op · e143 an event · 50% a part of the way", check=self._check_goto)
        self.app.push_screen(prompt, self._go)

    def _check_goto(self, text: str) -> str:
        try:
            self._goal(text)
        except ValueError:
            return "an op by its number (7), an event (e143) or a part of the way (50%)"
        except GradvizError as error:
            return str(error)
        return ""

    def _goal(self, text: str) -> int:
        """The event that a text names."""
        text = text.strip().lower()
        last = self.session.last
        if text.endswith("%"):
            return last * min(max(int(text[:-1]), 0), 100) // 100
        if text.startswith("e"):
            event = int(text[1:])
            if not 0 <= event <= last:
                so_far = "" if self.desk.trace.finished else " so far"
                raise GradvizError(f"there is no event {event}: events go from 0 to {last}{so_far}")
            return event
        return type(self.session)(self.desk.trace, self.session.position).goto_op(int(text)).position

    def _go(self, text: str | None) -> None:
        if text and text.strip().isdecimal():
            self.travel_to_op(int(text))
        elif text:
            event = self._goal(text)
            self.travel(lambda: self.session.goto(event))

    def action_find(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        self.take_count()
        hint = "a regular expression over type, name, blobs and debug info"
        self.app.push_screen(Prompt("find op", value=self.pattern, hint=hint, check=self._check_find), self._found)

    def _check_find(self, text: str) -> str:
        try:
            found = self.session.find_op(text, self.desk.op)
        except GradvizError as error:
            return str(error)
        return "" if found is not None else f"no op matches {words.shown(text)}"

    def _found(self, text: str | None) -> None:
        if text:
            self.pattern = text
            self.action_find_next()

    def action_find_next(self) -> None:
        self._find(forward=True)

    def action_find_previous(self) -> None:
        self._find(forward=False)

    def _find(self, *, forward: bool) -> None:
        count = self.take_count()
        if not self.pattern:
            self.action_find()
            return
        found: int | None = self.desk.op
        for _ in range(min(count, 1000)):
            if found is not None:
                found = self.session.find_op(self.pattern, found, forward=forward)
        if found is None:
            self.complain(f"no op matches {self.pattern}")
        else:
            self.look_at(found)
