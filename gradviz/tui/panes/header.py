"""The first line: what is open, the ys, and where the cursor stands; and the last: the keys that help most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from gradviz.ops.records import GradientSlice
from gradviz.tui import words
from gradviz.tui.desk import PHASE_NAMES
from gradviz.tui.lines import LinePane
from gradviz.tui.rows import joined, width_of

if TYPE_CHECKING:
    from textual import events

    from gradviz.ops.records import Gradient
    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row


def y_text(name: str, gradient: Gradient, width: int = 24) -> str:
    """A y as it is typed on the command line: `y`, `y=gradient` or `y=indices,values`."""
    text = words.blob(name, None, width)
    if gradient is None:
        return text
    if isinstance(gradient, GradientSlice):
        return f"{text}={words.blob(gradient.indices, None, 12)},{words.blob(gradient.values, None, 12)}"
    return f"{text}={words.blob(gradient, None, width)}"


def ys_text(desk: Desk, most: int = 3) -> str:
    """The ys in few words."""
    ys = list(desk.trace.ys.items())
    text = " ".join(y_text(*each) for each in ys[:most])
    return text + (f" +{len(ys) - most}" if len(ys) > most else "") if ys else "none"


class Header(LinePane):
    """File, ys, event, operator, phase."""

    desk: Desk
    count = ""

    def draw(self, desk: Desk, count: str = "") -> None:
        """Draw the line; `count` is what was typed of a count."""
        self.desk, self.count = desk, count
        self.repaint()

    def rows(self, width: int) -> list[Row]:
        if not hasattr(self, "desk"):
            return []
        right = self._right(width)
        lefts = (self._left(width, parts) for parts in (4, 3, 2, 1, 0))
        fitting = (left for left in lefts if width_of(left) + width_of(right) < width)
        return [joined(next(fitting, [(" ", "")]), right, width)]

    def _left(self, width: int, parts: int) -> Row:
        """Who we are, what is open, the ys: as many of them as `parts` says, the file first."""
        outer, *inner = self.desk.session.breadcrumbs
        path = self.desk.trace.model.path
        name = path.name if path and not inner else outer
        crumbs = " › ".join(words.shown(each) for each in (name, *inner))
        row: Row = [(" gradviz ", "strong")] if parts > 1 else []
        if parts > 0:
            row.append((" " + words.shorten(crumbs, max(width // 4, 8)), "accent"))
        if parts > 2:
            row += [("  ys ", "dim"), (words.shorten(ys_text(self.desk), max(width // 4, 8)), "")]
        if parts > 3 and self.desk.trace.chosen != "given":
            row.append((f" ({self.desk.trace.chosen})", "dim"))
        return row

    def _right(self, width: int) -> Row:
        desk = self.desk
        row: Row = [(f"{self.count}… ", "warn")] if self.count else []
        if not desk.trace.finished:
            done = len(desk.recording.visits) * 100 // max(len(desk.recording.ops), 1)
            row.append((f"walking {done}%  ", "warn"))
        row += [
            ("event " if width >= 60 else "", "dim"),
            (f"{desk.position}", "strong"),
            (f"/{desk.session.last}", "dim"),
        ]
        if desk.current_op is not None:
            kind = words.shorten(words.shown(desk.op_record(desk.current_op).type), 16 if width >= 60 else 8)
            row += [("  op ", "dim"), (f"{desk.current_op} ", "strong"), (kind, "kind")]
        failed = desk.event.kind == "fail"
        phase = "✗ failed" if failed else PHASE_NAMES[desk.event.phase]
        return [*row, ("  ", ""), (phase, "bad" if failed else "accent"), (" ", "")]


class Hints(LinePane):
    """Keys and what they do, as many as fit; each can be clicked."""

    class Pressed(Message):
        """A hint was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    hints: tuple[tuple[str, str, str], ...] = ()
    tail: tuple[tuple[str, str, str], ...] = ()

    def draw(self, hints: tuple[tuple[str, str, str], ...], tail: tuple[tuple[str, str, str], ...]) -> None:
        """Show hints (key, word, action); those of `tail` are never left out."""
        self.hints, self.tail = hints, tail
        self.repaint()

    def _fitting(self, width: int) -> tuple[tuple[str, str, str], ...]:
        left = width - 1 - sum(self._width(each) for each in self.tail)
        chosen = []
        for each in self.hints:
            left -= self._width(each)
            if left < 0:
                break
            chosen.append(each)
        return (*chosen, *self.tail)

    @staticmethod
    def _width(hint: tuple[str, str, str]) -> int:
        return len(hint[0]) + len(hint[1]) + 3

    def rows(self, width: int) -> list[Row]:
        row: Row = [(" ", "")]
        for key, word, _ in self._fitting(width):
            row += [(key, "strong"), (f" {word}  ", "dim")]
        return [row]

    def on_click(self, event: events.Click) -> None:
        x = 1
        for hint in self._fitting(self.size.width):
            if x <= event.x < x + self._width(hint) - 1:
                self.post_message(self.Pressed(hint[2]))
            x += self._width(hint)
