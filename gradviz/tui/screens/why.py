"""Why: has a blob a gradient, why not, why this Sum, why this name. The story is told in short lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from gradviz.tui import words
from gradviz.tui.screens.dialog import Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.autodiff.explain.story import Story
    from gradviz.tui.rows import Row

_OP = re.compile(r"(?<!radient )\bop (\d+)\b", re.IGNORECASE)
"""A forward operator as a story names it."""


class WhyScreen(ModalScreen["int | None"]):
    """A story; gives the operator of the line that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,W", "close", "Close", id="why.close", tooltip="Back to the debug screen")
    ]

    def __init__(self, story: Story) -> None:
        super().__init__()
        self.story = story

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall") as dialog:
            dialog.border_title = f"Why · {words.shorten(words.shown(self.story.subject), 40)}".replace("[", r"\[")
            dialog.border_subtitle = "↑ ↓ · enter: to the op of a line · esc: back"
            yield Lines(_describe)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(Lines).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        lines = self.query_one(Lines)
        width = max(lines.size.width - 1, 20)
        lines.fill([each for i, line in enumerate(self.story.lines) for each in wrapped(line, width, i == 0)])

    def on_line_view_chosen(self) -> None:
        found = _OP.search(self.query_one(Lines).thing[0])
        if found:
            self.dismiss(int(found.group(1)))

    def action_close(self) -> None:
        self.dismiss(None)


def wrapped(line: str, width: int, strong: bool = False, hang: str = "  ") -> list[tuple[str, str]]:
    """A line broken to a width, indented as it was, what follows a break by `hang` more; with its role."""
    from textwrap import wrap

    text = words.prose(line)
    indent = " " * (len(text) - len(text.lstrip(" ")))
    parts = wrap(text, width, initial_indent="", subsequent_indent=indent + hang, drop_whitespace=False) or [""]
    return [(part, "strong" if strong else "") for part in parts]


def _describe(line: Any, width: int) -> Row:
    text, role = line
    row: Row = []
    last = 0
    for found in _OP.finditer(text):
        row += [(text[last : found.start()], role), (found.group(), "kind")]
        last = found.end()
    return [*row, (text[last:], role)]
