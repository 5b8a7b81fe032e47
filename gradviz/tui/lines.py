"""Widgets made of lines: only what is seen is described, and only what is described is drawn.

A net of a hundred thousand operators is as cheap to show as one of ten: a `LineView` asks for a row when that row
comes into sight, and for no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region, Size
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

    _seen: list[Row] | None = None
    _seen_width = -1

    def repaint(self) -> None:
        """Describe the lines anew, and paint them if they say something else now."""
        before = self._seen
        self._see()
        if before != self._seen:
            self.refresh()

    def _see(self) -> None:
        self._seen_width = self.content_size.width
        self._seen = self.rows(self._seen_width) if self._seen_width else []

    def render_line(self, y: int) -> Strip:
        if self._seen is None or self._seen_width != self.content_size.width:
            self._see()
        rows = self._seen or []
        return self.strip(rows[y] if y < len(rows) else [], self._seen_width)


class LineView(Painted, ScrollView, can_focus=True):
    """A list of lines of any length, with one line selected.

    What is in it, a subclass says: `count` lines, each described by `row`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = _COMPONENTS
    DEFAULT_CSS = """
    LineView { width: 1fr; height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
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
        self._seen: list[tuple[Row, str]] = []
        self._seen_at = (-1, -1, -1)
        self._title = ""

    # What a subclass says.

    def row(self, line: int, width: int) -> Row:
        """What a line says; asked for lines in sight only."""
        raise NotImplementedError

    def ground(self, line: int) -> str:
        """The role of a line's ground, beside that of the selected line."""
        return ""

    # What others call.

    def entitle(self, title: str) -> None:
        """Set the title in the border, if it is another one."""
        if title != self._title:
            self.border_title = self._title = title

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
        self.scroll_to(y=min(max(line - height // 2, 0), max(count - height, 0)), animate=False, force=True)
        self.repaint()

    def repaint(self) -> None:
        """Describe the lines in sight anew, and paint those that say something else now."""
        if not self.is_mounted or not self.size:
            self._seen_at = (-1, -1, -1)
            return
        before, place = self._seen, self._seen_at
        self._see()
        if place != self._seen_at or len(before) != len(self._seen):
            self.refresh()
            return
        changed = [y for y, (old, new) in enumerate(zip(before, self._seen, strict=True)) if old != new]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    # Drawing.

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """A bar that comes up learns where the view stands already."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def _see(self) -> None:
        """Describe the lines in sight."""
        region, top = self.scrollable_content_region, round(self.scroll_y)
        self._seen_at = (top, region.width, region.height)
        lines = range(top, min(top + region.height, self.count))
        self._seen = [(self.row(line, region.width), self._ground(line)) for line in lines]

    def _ground(self, line: int) -> str:
        return "selected" if line == self.selected and self.marks_selection else self.ground(line)

    def render_line(self, y: int) -> Strip:
        region = self.scrollable_content_region
        if self._seen_at != (round(self.scroll_y), region.width, region.height):
            self._see()
        row, ground = self._seen[y] if y < len(self._seen) else ([], "")
        return self.strip(row, region.width, ground)

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
            self.scroll_to(y=line if line < top else line - height + 1, animate=False, force=True)
        self.repaint()
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
        self.repaint()

    def on_blur(self) -> None:
        self.repaint()

    def on_resize(self) -> None:
        self.repaint()
