"""Below the table of values: a histogram of the selected one, and a window which walks it element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding
from textual.message import Message

from gradviz.tui import words
from gradviz.tui.lines import LinePane
from gradviz.tui.rows import Row, fit, width_of
from gradviz.tui.tensor import Histogram, Window, bars, element, histogram

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType

    from gradviz.execute.health import Health

_TWO = 40
"""From so many columns on, value and gradient have a histogram each."""


class Sample(NamedTuple):
    """A tensor that is looked at.

    Attributes:
        title: its name.
        array: its elements; anything else than an array is shown as what it is.
        health: its figures.
    """

    title: str
    array: Any
    health: Health | None


class HistogramPane(LinePane):
    """How the elements of a value, and of its gradient beside it, are spread."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.samples: list[Sample] = []
        self.chosen = 0
        self._made: dict[tuple[int, int], Histogram] = {}

    def draw(self, samples: list[Sample], chosen: int) -> None:
        """Show these tensors; where one has room only, the chosen one."""
        if samples is not self.samples:
            self._made = {}
        self.samples, self.chosen = samples, chosen
        self.repaint()

    def rows(self, width: int) -> list[Row]:
        samples = self.samples
        if not samples:
            return [[("no value is selected", "dim")]]
        if width < _TWO or len(samples) == 1:
            return self._one(min(self.chosen, len(samples) - 1), width)
        half = (width - 2) // 2
        left, right = (self._one(i, half) for i in (0, 1))
        return [
            [*fit(one, half), (" " * (half + 2 - width_of(fit(one, half))), ""), *other]
            for one, other in zip(left, right, strict=True)
        ]

    def _one(self, which: int, width: int) -> list[Row]:
        """The histogram of one tensor: title, bars, edges, figures."""
        sample = self.samples[which]
        found = self._histogram(which, width)
        height = max(self.content_size.height - 3, 1)
        title: Row = [(words.shorten(words.shown(sample.title), width), "accent" if which == self.chosen else "title")]
        if found.why:
            body: list[Row] = [[(found.why, "dim")], *([] for _ in range(height))]
        else:
            low, high = element(found.low, 4), element(found.high, 4)
            edges = f"{low}{high:>{max(width - len(low), len(high) + 1)}}"
            body = [*([(line, "kind")] for line in bars(found.counts, height)), [(edges, "dim")]]
        return [title, *body, _figures(sample.health, found)]

    def _histogram(self, which: int, width: int) -> Histogram:
        key = (which, width)
        if key not in self._made:
            self._made[key] = histogram(self.samples[which].array, width)
        return self._made[key]


def _figures(health: Health | None, found: Histogram) -> Row:
    row: Row = []
    if health is not None and health.mean is not None and health.std is not None:
        row.append((f"mean {health.mean:.3g} std {health.std:.3g}", "dim"))
    if found.left_out:
        row.append((f" {found.left_out:,} not finite", "bad"))
    if found.stride > 1:
        row.append((f" 1 in {found.stride} counted", "dim"))
    return row


class SlicePane(LinePane, can_focus=True):
    """A window on a tensor; keys walk it along all of its axes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1,0)", "Row up", id="slice.up", tooltip="One element up"),
        Binding("down", "move(1,0)", "Row down", id="slice.down", tooltip="One element down"),
        Binding("left", "move(0,-1)", "Element left", id="slice.left", tooltip="One element to the left"),
        Binding("right", "move(0,1)", "Element right", id="slice.right", tooltip="One element to the right"),
        Binding("pageup", "page(-1)", "Page up", id="slice.page_up", tooltip="A page of rows up"),
        Binding("pagedown", "page(1)", "Page down", id="slice.page_down", tooltip="A page of rows down"),
        Binding("home", "edge(-1)", "Row's start", id="slice.home", tooltip="To the first element of the row"),
        Binding("end", "edge(1)", "Row's end", id="slice.end", tooltip="To the last element of the row"),
        Binding("comma", "step(-1)", "Slice before", id="slice.before", tooltip="Back along the axis with the ◂▸"),
        Binding("full_stop", "step(1)", "Slice behind", id="slice.behind", tooltip="On along the axis with the ◂▸"),
        Binding("a", "axis", "Next axis", id="slice.axis", tooltip="Step along the next axis that is not shown"),
        Binding("t", "turn", "Turn", id="slice.turn", tooltip="Lay two other axes on the screen, then the same turned"),
        Binding("plus", "sharpen(1)", "More digits", id="slice.more", tooltip="Show one digit more"),
        Binding("minus", "sharpen(-1)", "Fewer digits", id="slice.fewer", tooltip="Show one digit less"),
    ]

    class Moved(Message):
        """The cursor stands on another element."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sample: Sample | None = None
        self.window = Window(())
        self._width = 0

    def draw(self, sample: Sample | None) -> None:
        """Show a tensor; the window stays where it was if the shape is the same."""
        self.sample = sample
        array = self.array
        if array is not None and array.shape != self.window.shape:
            digits = self.window.digits
            self.window = Window(array.shape)
            self.window.digits = digits
        self._width = _widest(array)
        self.repaint()

    @property
    def array(self) -> Any:
        """The array that is shown, None where there is none."""
        array = self.sample.array if self.sample is not None else None
        return array if hasattr(array, "shape") else None

    # Drawing.

    def rows(self, width: int) -> list[Row]:
        if self.sample is None:
            return [[("no value is selected", "dim")]]
        array, window = self.array, self.window
        title = words.shorten(words.shown(self.sample.title), max(width // 3, 8))
        if array is None:
            return [[(title, "title")], [(f"a {type(self.sample.array).__name__}, no tensor", "dim")]]
        size = "×".join(map(str, array.shape)) or "scalar"
        head: Row = [(title, "accent" if self.has_focus else "title"), (f" {size} ", "dim")]
        if window.empty:
            return [head, [("no elements", "dim")]]
        text = element(array[tuple(window.index)], 9)
        return [[*head, *self._axes(), (f" = {words.shown(text)}", "strong")], *self._cells(width)]

    def _axes(self) -> Row:
        """Where the window stands on each axis: `↓` and `→` run over the screen, `◂▸` is stepped along."""
        window = self.window
        row: Row = [("[", "dim")]
        for axis, i in enumerate(window.index):
            mark = "↓" if axis == window.down else "→" if axis == window.across else ""
            steps = axis == window.fixed
            row += [(", " if axis else "", "dim"), (f"◂{i}▸" if steps else f"{mark}{i}", "accent" if steps else "")]
        return [*row, ("]", "dim")]

    def _cells(self, width: int) -> list[Row]:
        window = self.window
        cell = self._cell + 2
        labels = len(str(max(self._extent(window.down) - 1, 0))) + 1
        columns = _seen(window.across, window, max((width - labels) // cell, 1))
        lines = _seen(window.down, window, max(self.content_size.height - 2, 1))
        head = "".join(f"{i:>{cell}}" for i in columns) if window.across is not None else ""
        made: list[Row] = [[(" " * labels + head, "dim")]]
        for line in lines:
            row: Row = [(f"{line if window.down is not None else '':>{labels}}", "dim")]
            made.append(row + [span for column in columns for span in self._at(line, column)])
        return made

    def _extent(self, axis: int | None) -> int:
        return 1 if axis is None else self.window.shape[axis]

    def _at(self, line: int, column: int) -> Row:
        window = self.window
        index = list(window.index)
        for axis, i in ((window.down, line), (window.across, column)):
            if axis is not None:
                index[axis] = i
        value = self.array[tuple(index)]
        here = index == window.index
        text = words.shorten(words.shown(element(value, window.digits)), self._cell)
        bad = text.lstrip("-") in ("nan", "inf") and self.array.dtype.kind == "f"
        role = "bad" if bad else "accent" if here else "dim" if text == "0" else ""
        return [(" ▸" if here else "  ", "accent"), (" " * (self._cell - words.cells(text)) + text, role)]

    @property
    def _cell(self) -> int:
        """Columns of an element."""
        return self._width or self.window.digits + 6

    # Keys and the mouse.

    def _walked(self) -> None:
        self.repaint()
        self.post_message(self.Moved())

    def action_move(self, down: int, across: int) -> None:
        self.window.move(down, across)
        self._walked()

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(self.content_size.height - 3, 1), 0)

    def action_edge(self, side: int) -> None:
        self.action_move(0, side * self._extent(self.window.across))

    def action_step(self, by: int) -> None:
        self.window.step(by)
        self._walked()

    def action_axis(self) -> None:
        self.window.choose()
        self._walked()

    def action_turn(self) -> None:
        self.window.turn()
        self._walked()

    def action_sharpen(self, by: int) -> None:
        self.window.sharpen(by)
        self._walked()

    def goto(self, index: tuple[int, ...]) -> None:
        """Put the cursor on an element."""
        self.window.goto(index)
        self._walked()

    def on_focus(self) -> None:
        self.repaint()

    def on_blur(self) -> None:
        self.repaint()

    def on_resize(self) -> None:
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on the element below it."""
        window = self.window
        offset = event.get_content_offset(self)
        if self.array is None or window.empty or offset is None or offset.y < 2:
            return
        labels = len(str(max(self._extent(window.down) - 1, 0))) + 1
        cell = self._cell + 2
        columns = _seen(window.across, window, max((self.content_size.width - labels) // cell, 1))
        lines = _seen(window.down, window, max(self.content_size.height - 2, 1))
        line, column = offset.y - 2, max(offset.x - labels, 0) // cell
        if line < len(lines) and column < len(columns):
            here = [window.index[axis] if axis is not None else 0 for axis in (window.down, window.across)]
            self.action_move(lines[line] - here[0], columns[column] - here[1])


def _seen(axis: int | None, window: Window, room: int) -> range:
    """The indices of an axis that are on the screen: the cursor in the middle, but at the edges."""
    if axis is None:
        return range(1)
    size = window.shape[axis]
    first = min(max(window.index[axis] - room // 2, 0), max(size - room, 0))
    return range(first, min(first + room, size))


def _widest(array: Any) -> int:
    """Columns of the widest element where digits do not decide; 0 where they do."""
    if array is None or array.dtype.kind == "f" or not array.size:
        return 0
    if array.dtype.kind in "iu":
        return max(len(str(array.min())), len(str(array.max())), 3)
    return 5 if array.dtype.kind == "b" else 12
