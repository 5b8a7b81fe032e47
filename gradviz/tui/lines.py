"""Widgets made of lines: only what is seen is described, and only what is described is drawn.

A net of a hundred thousand operators is as cheap to show as one of ten: a `LineView` asks for a row when that row
comes into sight, and for no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from gradviz.tui import words
from gradviz.tui.rows import ROLES, Row, fit

if TYPE_CHECKING:
    from rich.style import Style
    from textual import events
    from textual.binding import BindingType


_COMPONENTS = {f"role--{role}" for role in (*ROLES, "selected", "here")}


class Painted(Widget):
    """A widget that paints rows; the style sheet gives every role its style."""

    COMPONENT_CLASSES: ClassVar[set[str]] = _COMPONENTS

    def strip(self, row: Row, width: int, ground: str = "") -> Strip:
        """Paint a row: `width` columns, on the ground of a role (`selected` or `here`) where one is given."""
        segments = [Segment(words.escaped(text), self._style(role, ground)) for text, role in fit(row, width)]
        return Strip(segments).adjust_cell_length(width, self._style("", ground))

    def _style(self, role: str, ground: str) -> Style:
        """The style of a role on a ground, mixed with what lies below."""
        names = [f"role--{each}" for each in (ground, role) if each]
        return self.get_visual_style(*names).rich_style


class LinePane(Painted):
    """A few lines that are described anew whenever they are drawn; they cannot be scrolled."""

    def rows(self, width: int) -> list[Row]:
        """The lines, from the top."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        rows = self.rows(width) if width else []
        return self.strip(rows[y] if y < len(rows) else [], width)


class LineView(Painted, ScrollView, can_focus=True):
    """A list of lines of any length, with one line selected.

    What is in it, a subclass says: `count` lines, each described by `row`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = _COMPONENTS
    DEFAULT_CSS = """
    LineView { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Line up", show=False, id="list.up", tooltip="Select the line above"),
        Binding("down", "move(1)", "Line down", show=False, id="list.down", tooltip="Select the line below"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page_up", tooltip="Select a page further up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page_down", tooltip="A page further down"),
        Binding("home", "select(0)", "First line", show=False, id="list.first", tooltip="Select the first line"),
        Binding("end", "select(-1)", "Last line", show=False, id="list.last", tooltip="Select the last line"),
        Binding("enter", "choose", "Open", show=False, id="list.open", tooltip="Open or travel to the selected line"),
    ]

    class Selected(Message):
        """Another line was selected by the user."""

        def __init__(self, view: LineView, line: int) -> None:
            super().__init__()
            self.view = view
            self.line = line

        @property
        def control(self) -> LineView:
            return self.view

    class Chosen(Selected):
        """A line was opened: with enter or a second click."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.selected = 0
        self.count = 0

    # What a subclass says.

    def row(self, line: int, width: int) -> Row:
        """What a line says; asked for lines in sight only."""
        raise NotImplementedError

    def ground(self, line: int) -> str:
        """The role of a line's ground, beside that of the selected line."""
        return ""

    # What others call.

    def show(self, count: int, selected: int, *, follow: int | None = None) -> None:
        """Draw anew: so many lines, that one selected, and in sight the line `follow` (the selected one).

        Where to the view scrolls depends on nothing that was there before: the line is put in the middle.
        """
        self.count = count
        self.selected = min(max(selected, 0), max(count - 1, 0))
        if self.virtual_size.height != count:
            self.virtual_size = Size(0, count)
        height = self.scrollable_content_region.height
        line = self.selected if follow is None else follow
        self.scroll_to(y=min(max(line - height // 2, 0), max(count - height, 0)), animate=False)
        self.refresh()

    # Drawing.

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = round(self.scroll_y) + y
        if line >= self.count:
            return self.strip([], width)
        ground = "selected" if line == self.selected and self.marks_selection else self.ground(line)
        return self.strip(self.row(line, width), width, ground)

    @property
    def marks_selection(self) -> bool:
        """Whether the selected line is drawn as such."""
        return self.has_focus

    # Keys and the mouse.

    def action_move(self, lines: int) -> None:
        self.select(self.selected + lines)

    def action_page(self, pages: int) -> None:
        self.select(self.selected + pages * max(self.scrollable_content_region.height - 1, 1))

    def action_select(self, line: int) -> None:
        self.select(line if line >= 0 else self.count + line)

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self, self.selected))

    def select(self, line: int) -> None:
        """Select a line, as the user does, and bring it into sight."""
        line = min(max(line, 0), max(self.count - 1, 0))
        if not self.count:
            return
        self.selected = line
        height = max(self.scrollable_content_region.height, 1)
        top = round(self.scroll_y)
        if line < top or line >= top + height:
            self.scroll_to(y=line if line < top else line - height + 1, animate=False)
        self.refresh()
        self.post_message(self.Selected(self, line))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = round(self.scroll_y) + offset.y
        if line >= self.count:
            return
        if not self.clicked(line, offset.x):
            self.select(line)
            if event.chain > 1:
                self.action_choose()

    def clicked(self, line: int, column: int) -> bool:
        """A click on a line; whether the subclass has dealt with it."""
        return False

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_resize(self) -> None:
        self.refresh()
