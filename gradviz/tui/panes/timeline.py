"""The timeline: one tick an operator, the sums and the failure on it; a click travels."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from textual.message import Message

from gradviz.tui.lines import LinePane

if TYPE_CHECKING:
    from textual import events

    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row

_PLAY = 12
"""The play of the forward net takes one part in so many."""


class Track:
    """Where events and visits lie on a line of so many columns."""

    def __init__(self, desk: Desk, width: int) -> None:
        self.recording = desk.recording
        self.width = width
        self.play = max(width // _PLAY, 2)
        self.visits = max(len(desk.recording.ops), 1)
        self.room = max(width - self.play, 1)

    def column(self, visit: int) -> int:
        """The column of a visit."""
        return self.play + min(visit * self.room // self.visits, self.room - 1)

    def column_of_event(self, position: int) -> int:
        """The column of an event."""
        recording = self.recording
        if position < recording.plays:
            return position * self.play // max(recording.plays, 1)
        visit = recording.visit_of(position)
        if visit is None:
            return self.play - 1
        last = len(recording.events) - 1
        return self.width - 1 if position == last and recording.events[last].kind == "finish" else self.column(visit)

    def event(self, column: int) -> int:
        """The event at a column: the start of the first visit there."""
        recording = self.recording
        if column < self.play:
            return min(column * max(recording.plays, 1) // self.play, max(len(recording.events) - 1, 0))
        visit = -(-(column - self.play) * self.visits // self.room)
        if column >= self.width - 1 or visit >= len(recording.visits):
            return len(recording.events) - 1
        return recording.visits[visit]

    def between(self, column: int) -> tuple[int, int]:
        """The visits that share a column: first, and one behind the last."""
        first = -(-(column - self.play) * self.visits // self.room)
        return first, max(-(-(column + 1 - self.play) * self.visits // self.room), first)


class Timeline(LinePane, can_focus=True):
    """All visits on one line."""

    class Travel(Message):
        """An event was pointed at."""

        def __init__(self, event: int) -> None:
            super().__init__()
            self.event = event

    desk: Desk
    _dragged = False

    def draw(self, desk: Desk) -> None:
        """Draw the line with the cursor on it."""
        self.desk = desk
        self.repaint()

    def rows(self, width: int) -> list[Row]:
        if not hasattr(self, "desk"):
            return []
        desk, track = self.desk, Track(self.desk, width)
        here = track.column_of_event(desk.position)
        cells = [self._cell(track, column, here) for column in range(width)]
        self._mark_breakpoints(track, cells)
        cells[min(here, width - 1)] = ("●", "bad" if desk.event.kind == "fail" else "accent")
        return [_merged(cells)]

    def _cell(self, track: Track, column: int, here: int) -> tuple[str, str]:
        role = "accent" if column < here else "dim"
        if column < track.play:
            return "┄", role
        first, end = track.between(column)
        recording = self.desk.recording
        if recording.events[-1].kind == "fail" and column == track.column(max(len(recording.visits) - 1, 0)):
            return "✗", "bad"
        sums = self.desk.index.sums
        at = bisect_left(sums, (first, 0))
        if at < len(sums) and sums[at][0] < end:
            return "╂", role if column < here else "warn"
        if len(recording.visits) <= first and len(recording.visits) < track.visits:
            return "╌", "dim"
        tick = first < end and track.room >= 2 * track.visits
        return ("┿" if column < here else "┼") if tick else ("━" if column < here else "─"), role

    def _mark_breakpoints(self, track: Track, cells: list[tuple[str, str]]) -> None:
        recording = self.desk.recording
        for each in self.desk.session.breakpoints:
            if each.kind != "op" or not isinstance(each.value, int):
                continue
            visit = len(recording.ops) - 1 - (each.value - recording.offset)
            if 0 <= visit < len(recording.ops):
                cells[track.column(visit)] = ("◆" if each.enabled else "◇", "bad")

    # Travelling.

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = True
        self.capture_mouse()
        self._travel(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged:
            self._travel(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragged = False
        self.release_mouse()

    def _travel(self, event: events.MouseEvent) -> None:
        offset = event.get_content_offset_capture(self)
        width = self.size.width
        column = min(max(offset.x, 0), width - 1)
        self.post_message(self.Travel(Track(self.desk, width).event(column)))


def _merged(cells: list[tuple[str, str]]) -> Row:
    row: Row = []
    for text, role in cells:
        if row and row[-1][1] == role:
            row[-1] = (row[-1][0] + text, role)
        else:
            row.append((text, role))
    return row
