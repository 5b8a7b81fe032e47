"""The gradient net: the gradient operators made so far, with their renames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.events import Accumulate, Make
from gradviz.tui import words
from gradviz.tui.lines import LineView
from gradviz.tui.rows import Names, Row, arrow, pad

if TYPE_CHECKING:
    from gradviz.tui.desk import Desk

_TYPE = 24


def gradient_row(desk: Desk, op: int, width: int) -> Row:
    """One gradient operator: what it was made for, index, type, inputs, outputs with the names they got."""
    record = desk.recording.gradient_ops[op]
    mark, role = _mark(desk, op)
    number = f"{op:>{len(str(max(len(desk.recording.gradient_ops) - 1, 0)))}}"
    kinds = min(_TYPE, max(width // 4, 6))
    row: Row = [
        (f"{mark} ", role),
        (f"{number} ", "dim"),
        (pad(words.shorten(words.shown(record.type), kinds), kinds) + " ", "kind"),
    ]
    inputs = Names([(name, None, "") for name in record.inputs])
    outputs = Names(_outputs(desk, op))
    return row + arrow(inputs, outputs, width - 4 - len(number) - kinds, share=0.67)


def _outputs(desk: Desk, op: int) -> list[tuple[str, int | None, str]]:
    was = desk.recording.gradient_ops[op].outputs
    now = desk.state.outputs_of(op)
    found: list[tuple[str, int | None, str]] = []
    for old, new in zip(was, now, strict=True):
        if old != new:
            found += [(old, None, "dim"), ("→", None, "dim")]
        found.append((new, None, "accent" if old != new else ""))
    return found


def _mark(desk: Desk, op: int) -> tuple[str, str]:
    """What a gradient operator is: a sum, or one of this visit."""
    event = desk.recording.events[desk.index.maker(op)]
    if isinstance(event, Accumulate):
        return "╂", "accent" if event.op_index == desk.current_op else "warn"
    if isinstance(event, Make) and event.op_index == desk.current_op and desk.opening is not None:
        return "▶", "accent"
    return " ", ""


class GradientPane(LineView):
    """The gradient operators in order."""

    BORDER_TITLE = "Gradient net"

    desk: Desk

    def draw(self, desk: Desk) -> None:
        """Draw the last operators; the newest is selected."""
        self.desk = desk
        count = desk.state.gradient_op_count
        self.entitle(f"Gradient net · {words.counted(count, 'op')}" if count else "Gradient net")
        self.show(count, count - 1)

    def row(self, line: int, width: int) -> Row:
        return gradient_row(self.desk, line, width)

    @property
    def event(self) -> int | None:
        """The event that made the selected operator."""
        return self.desk.index.maker(self.selected) if self.count else None
