"""The part of the Values screen that looks into the selected value: its histogram, and its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Horizontal
from textual.screen import Screen

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.panes.look import HistogramPane, Sample, SlicePane
from gradviz.tui.screens.dialog import Lines
from gradviz.tui.tensor import parse_index, remarkable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.tui.screens.figures import Figure

_WIDE, _HIGH = 100, 28
"""In a terminal of this size histogram and elements are shown from the start, beside each other."""

SLICE_KEYS = (
    ("← → ↑ ↓", "walk", "app.focus_next"),
    (", .", "along ◂▸", "app.focus_next"),
    ("t", "turn", "app.focus_next"),
    ("i", "index", "index"),
    ("w", "worst", "remarkable"),
    ("d", "value/∂", "side"),
    ("+ -", "digits", "app.focus_next"),
    ("tab", "table", "app.focus_next"),
)


class Looking(Screen["int | None"]):
    """Shows the selected figure's tensors below the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "look", "Look into it", id="values.look", tooltip="Show or hide histogram and elements"),
        Binding("d", "side", "Value or gradient", id="values.side", tooltip="Walk the gradient instead of the value"),
        Binding("i", "index", "To an index", id="values.index", tooltip="Go to an element by its index"),
        Binding("w", "remarkable", "Worst element", id="values.worst", tooltip="To the worst or largest element"),
    ]

    values: Any
    look: str | None = None
    """What is shown below the table: `both`, `histogram`, `slice` or nothing; None before the first look."""
    side = 0
    """Which of both is walked: 0 the value, 1 its gradient."""

    def tell(self, text: str) -> None:
        """Say something in the line below the table."""
        raise NotImplementedError

    _looked: tuple[Any, ...] = ()
    _samples: list[Sample]

    def compose_look(self) -> ComposeResult:
        """The panes below the table."""
        with Horizontal(id="look"):
            yield HistogramPane(id="histogram")
            yield SlicePane(id="slice")

    @property
    def figure(self) -> Figure | None:
        """The selected line of the table."""
        found: Figure | None = self.query_one("#figures", Lines).thing
        return found

    def draw_look(self) -> None:
        """Show the selected figure's tensors, where anything of them is to be seen."""
        wide = self.size.width >= _WIDE
        if self.look is None:
            self.look = "both" if wide and self.size.height >= _HIGH else ""
        elif self.look and (self.look == "both") != wide:
            self.look = "both" if wide else "histogram"
        table = self.query_one("#table").display
        self.query_one("#look").display = bool(self.look) and table
        histogram, window = self.query_one(HistogramPane), self.query_one(SlicePane)
        histogram.display = self.look in ("both", "histogram")
        window.display = self.look in ("both", "slice")
        if self.look and table:
            samples = self._sampled()
            histogram.draw(samples, self.side)
            window.draw(samples[min(self.side, len(samples) - 1)] if samples else None)

    def _sampled(self) -> list[Sample]:
        """The selected value, and its gradient if it has one."""
        figure = self.figure
        key = (id(self.values), id(figure))
        if key != self._looked:
            self._looked, self._samples = key, []
            if figure is not None and self.values is not None:
                self._samples = self._read(figure)
        return self._samples

    def _read(self, figure: Figure) -> list[Sample]:
        workspace = self.values.workspace
        title = words.blob(figure.blob, figure.version, 40)
        try:
            found = [Sample(title, workspace.value(figure.blob, figure.written), figure.health)]
            if figure.gradient:
                name = words.blob(figure.gradient, None, 40)
                found.append(Sample(f"∂ {name}", workspace.value(figure.gradient), figure.gradient_health))
        except GradvizError:
            return []
        return found

    def on_line_view_selected(self, message: Lines.Selected) -> None:
        if message.view.id == "figures":
            self.draw_look()

    # Keys.

    def action_look(self) -> None:
        """Both or nothing where there is room for both; else one after the other, then nothing."""
        turns = ("both", "") if self.size.width >= _WIDE else ("histogram", "slice", "")
        here = turns.index(self.look) if self.look in turns else -1
        self.look = turns[(here + 1) % len(turns)]
        self.draw_look()
        window = self.query_one(SlicePane)
        if self.look == "slice":
            window.focus()
        elif not self.look or self.look == "histogram":
            self.query_one("#figures").focus()
        self.call_after_refresh(self.draw_look)

    def action_side(self) -> None:
        if len(self._sampled()) < 2:
            self.tell("no gradient belongs to this value")
            return
        self.side = 1 - self.side
        self.draw_look()

    def _open_slice(self) -> SlicePane | None:
        """The window on the elements, brought into sight; None where there is no tensor."""
        if self.look not in ("both", "slice"):
            self.look = "both" if self.size.width >= _WIDE else "slice"
        self.draw_look()
        window = self.query_one(SlicePane)
        if window.array is None or window.window.empty:
            self.tell("there are no elements here")
            return None
        window.focus()
        return window

    def action_index(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        window = self._open_slice()
        if window is None:
            return
        shape = window.array.shape

        def wrong(text: str) -> str:
            try:
                parse_index(text, shape)
            except ValueError as error:
                return str(error)
            return ""

        value = ",".join(map(str, window.window.index))
        prompt = Prompt(
            "element", value=value, hint=f"an index into {list(shape)}, such as {value or '()'}", check=wrong
        )
        self.app.push_screen(prompt, lambda text: window.goto(parse_index(text, shape)) if text else None)

    def action_remarkable(self) -> None:
        """To where a check or comparison found the most difference; else to what is not finite, or largest."""
        window = self._open_slice()
        if window is None:
            return
        judged = self._judged(window)
        found = judged or remarkable(window.array)
        if found is None:
            self.tell("text has no largest element")
            return
        window.goto(found[0])
        self.tell(f"{found[1]}: [{', '.join(map(str, found[0]))}]")

    def _judged(self, window: SlicePane) -> tuple[tuple[int, ...], str] | None:
        """The element that a verdict names, with the tensor that it is about brought into the window."""
        figure = self.figure
        verdict = figure.verdict if figure is not None else None
        if verdict is None or verdict.worst is None:
            return None
        side = int(verdict.gradient)
        samples = self._sampled()
        if side >= len(samples) or samples[side].array.shape != samples[0].array.shape:
            return None  # the values of a sparse gradient: its rows are not the blob's
        self.side = side
        self.draw_look()
        return verdict.worst, verdict.text
