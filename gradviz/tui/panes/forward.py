"""The forward net: every operator with the versions of its blobs, its state, and a gutter for breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from gradviz.tui import words
from gradviz.tui.lines import LineView
from gradviz.tui.rows import Names, Row, arrow, pad

if TYPE_CHECKING:
    from gradviz.tui.desk import Desk

GLYPHS = {
    "unplayed": (" ", "dim"),
    "waiting": ("·", "dim"),
    "current": ("▶", "accent"),
    "done": ("✓", "good"),
    "skipped": ("–", "dim"),
    "failed": ("✗", "bad"),
}
"""The glyph and the role of each state of an operator."""

_TYPE = 16
"""Operator types take at most so many columns."""


def operator_row(desk: Desk, op: int, width: int) -> Row:
    """One operator: gutter, state, index, type, what it reads and writes."""
    record = desk.op_record(op)
    state = desk.op_state(op)
    glyph, role = GLYPHS[state]
    number = f"{op:>{len(str(desk.recording.offset + len(desk.recording.ops) - 1))}}"
    kinds = min(desk.index.type_width, _TYPE, max(width // 4, 6))
    text = {"current": "strong", "failed": "strong", "unplayed": "dim", "skipped": "dim"}.get(state, "")
    quiet = state in ("unplayed", "skipped")
    row: Row = [
        _gutter(desk, op),
        (f"{glyph} ", role),
        (f"{number} ", "accent" if state == "current" else "dim"),
        (pad(words.shorten(words.shown(record.type), kinds), kinds) + " ", "dim" if quiet else "kind"),
    ]
    left = width - 4 - len(number) - kinds - 1
    why = " no gradient" if state == "skipped" and left > 36 else ""
    inputs, outputs = _blobs(desk, op, text)
    row += arrow(inputs, outputs, left - len(why))
    return [*row, (why, "dim")] if why else row


def _gutter(desk: Desk, op: int) -> tuple[str, str]:
    return {"": (" ", ""), "on": ("●", "bad"), "off": ("○", "dim")}[desk.breakpoint_at(op)]


def _blobs(desk: Desk, op: int, role: str) -> tuple[Names, Names]:
    record = desk.op_record(op)
    play = desk.index.play(op) if desk.op_state(op) != "unplayed" else None
    if play is None:
        return Names([(name, None, role) for name in record.inputs]), Names([(n, None, role) for n in record.outputs])
    reads = [(*each, role) for each in zip(record.inputs, play.in_versions, strict=True)]
    return Names(reads), Names([(*each, role) for each in zip(record.outputs, play.out_versions, strict=True)])


class ForwardPane(LineView):
    """The forward operators, first to last."""

    BORDER_TITLE = "Forward net"

    class Gutter(Message):
        """The gutter beside an operator was clicked."""

        def __init__(self, op: int) -> None:
            super().__init__()
            self.op = op

    desk: Desk

    def draw(self, desk: Desk) -> None:
        """Draw what is in sight, the selected operator in the middle."""
        self.desk = desk
        offset = desk.recording.offset
        self.show(len(desk.recording.ops), desk.op - offset)

    @property
    def op(self) -> int:
        """The selected operator."""
        return self.selected + self.desk.recording.offset

    @property
    def marks_selection(self) -> bool:
        return True

    def row(self, line: int, width: int) -> Row:
        return operator_row(self.desk, line + self.desk.recording.offset, width)

    def ground(self, line: int) -> str:
        return "here" if line + self.desk.recording.offset == self.desk.current_op else ""

    def clicked(self, line: int, column: int) -> bool:
        if column > 1:
            return False
        self.post_message(self.Gutter(line + self.desk.recording.offset))
        return True
