"""The algorithm: the walk's own steps, the current one marked, each with the values that it has just used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradviz.tui import words
from gradviz.tui.lines import LineView
from gradviz.tui.panes.happened import short
from gradviz.tui.rows import Row, pad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.tui.desk import Desk

VISIT_PHASES = ("enter", "make", "check", "collect", "merge", "pass_through", "frontier", "map", "accumulate")
"""What one forward operator goes through."""

LABELS = {
    "play": "play",
    "seed": "seed",
    "enter": "g_output",
    "make": "make",
    "check": "1 check",
    "collect": "2 collect",
    "merge": "3 merge",
    "pass_through": "4 pass on",
    "frontier": "5 frontier",
    "map": "map",
    "accumulate": "accumulate",
    "end": "end",
}

PURPOSE = {
    "play": "count blob versions",
    "seed": "a gradient for each y",
    "enter": "gradients of outputs",
    "make": "ask the gradient rule",
    "check": "same versions as seen?",
    "collect": "record the generators",
    "merge": "two halves → one slice",
    "pass_through": "gradients no op made",
    "frontier": "newest gradient of what",
    "map": "blob → gradient",
    "accumulate": "all read? add them up",
    "end": "gradient ops and map",
}
"""What a phase is there for, in few words: shown until its turn comes."""

_LABEL = 11


class Line(NamedTuple):
    """One line of the pane.

    Attributes:
        phase: the phase that it belongs to; `for` is the line of the loop.
        event: the event that it tells of; None where there is none.
        first: whether it opens its phase, and so is labelled.
        note: what it says in place of an event.
    """

    phase: str
    event: int | None
    first: bool
    note: str = ""


def lines(desk: Desk) -> list[Line]:
    """What the pane shows at the cursor."""
    recording, position = desk.recording, desk.position
    made = [_play_line(desk)]
    made += _phase_lines(desk, "seed", range(recording.plays, _seeds_end(desk)))
    visit = desk.session.visit
    finished = desk.event.kind == "finish"
    made.append(Line("for", None, True))
    events: range = range(0)
    if visit is not None and not finished:
        events = range(recording.visits[visit], position + 1)
    by_phase: dict[str, list[int]] = {}
    for i in events:
        by_phase.setdefault(recording.events[i].phase, []).append(i)
    for phase in VISIT_PHASES:
        made += _phase_lines(desk, phase, by_phase.get(phase, []))
    ended = desk.event.phase == "end"
    made.append(Line("end", position if ended else None, True, "" if ended else PURPOSE["end"]))
    return made


def _play_line(desk: Desk) -> Line:
    position, plays = desk.position, desk.recording.plays
    if position < plays:
        return Line("play", position, True)
    return Line("play", None, True, words.counted(plays, "op"))


def _seeds_end(desk: Desk) -> int:
    recording = desk.recording
    first_visit = recording.visits[0] if len(recording.visits) else recording.plays + len(desk.trace.ys)
    return min(first_visit, desk.position + 1, len(recording.events) - 1)


def _phase_lines(desk: Desk, phase: str, events: range | list[int]) -> Iterator[Line]:
    if not len(events):
        yield Line(phase, None, True, "–" if _passed(desk, phase) else PURPOSE[phase])
    elif phase in desk.folded:
        held = desk.position if desk.position in events else None
        yield Line(phase, held, True, f"▸ {words.counted(len(events), 'event')}")
    else:
        yield Line(phase, events[0], True)
        for event in events[1:]:
            yield Line(phase, event, False)


def _passed(desk: Desk, phase: str) -> bool:
    """Whether the walk is beyond a phase of which nothing is to be told."""
    if phase == "seed":
        return desk.session.visit is not None
    event = desk.event
    if event.kind == "fail" and desk.position > 0:
        event = desk.recording.events[desk.position - 1]
    if event.phase not in VISIT_PHASES:
        return False
    return VISIT_PHASES.index(event.phase) > VISIT_PHASES.index(phase)


class AlgorithmPane(LineView):
    """The walk as a program, at the visit of one forward operator."""

    BORDER_TITLE = "Algorithm"

    desk: Desk
    lines: list[Line]

    def draw(self, desk: Desk) -> None:
        """Draw the walk's steps at the cursor, the current one marked."""
        self.desk = desk
        self.lines = lines(desk)
        self.show(len(self.lines), self._current())

    def _current(self) -> int:
        position = self.desk.position
        return next((i for i, line in enumerate(self.lines) if line.event == position), 0)

    @property
    def phase(self) -> str:
        """The phase of the selected line."""
        return self.lines[self.selected].phase if self.lines else ""

    @property
    def event(self) -> int | None:
        """The event of the selected line."""
        return self.lines[self.selected].event if self.lines else None

    def row(self, line: int, width: int) -> Row:
        what = self.lines[line]
        if what.phase == "for":
            return self._loop()
        here = what.event == self.desk.position
        inside = what.phase in VISIT_PHASES
        reached = what.event is not None or what.note == "–"
        label = pad(LABELS[what.phase], _LABEL) if what.first else " " * _LABEL
        row: Row = [
            ("▶ " if here else "  ", "accent"),
            ("  " if inside else "", ""),
            (label, "accent" if here and what.first else "title" if reached else "dim"),
        ]
        if what.note or what.event is None:
            return [*row, (what.note, "dim")]
        return [*row, *short(self.desk.recording.events[what.event])]

    def _loop(self) -> Row:
        opening = self.desk.opening
        row: Row = [("  ", ""), ("for op in reversed(net)", "title" if opening else "dim")]
        if opening is None:
            return row
        return [*row, ("  op ", "dim"), (f"{opening.op_index} ", "strong"), (words.shown(opening.op.type), "kind")]

    def ground(self, line: int) -> str:
        return "here" if self.lines[line].event == self.desk.position else ""
