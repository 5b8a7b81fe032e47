"""The net as a drawing on a screen of its own: operators in layers, the selected one marked.

netext lays the drawing out, which takes a second for some hundred operators; so it is made in a thread, and of long
nets the part around the selected operator is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from gradviz.tui import words
from gradviz.tui.lines import LineView
from gradviz.tui.panes.header import Hints
from gradviz.tui.screens.dialog import Hinted

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.tui.desk import Desk

SIZES = (10, 20, 40, 80, 160)
"""How many operators a drawing may show."""


class Drawn(Message):
    """A drawing is ready."""

    def __init__(self, lines: list[list[Segment]]) -> None:
        super().__init__()
        self.lines = lines


def draw(desk: Desk, size: int) -> list[list[Segment]]:
    """Lay out at most `size` operators around the selected one, and render them."""
    import io
    import sys

    from rich.console import Console

    hook = sys.excepthook
    from netext import ConsoleGraph
    from netext.layout_engines import LayoutDirection, SugiyamaLayout

    sys.excepthook = hook  # netext puts one of its own in place when it is imported
    nodes, edges = _graph(desk, size)
    graph: Any = ConsoleGraph(nodes, edges, layout_engine=SugiyamaLayout(LayoutDirection.TOP_DOWN))
    viewport = graph.full_viewport
    console = Console(file=io.StringIO(), width=max(viewport.width, 1), color_system="truecolor", legacy_windows=False)
    options = console.options.update(width=max(viewport.width, 1), height=max(viewport.height, 1))
    return console.render_lines(graph, options, pad=False)


def shown_ops(desk: Desk, size: int) -> range:
    """The operators that are drawn."""
    first, count = desk.recording.offset, len(desk.recording.ops)
    start = min(max(desk.op - size // 2, first), max(first + count - size, first))
    return range(start, min(start + size, first + count))


def _graph(desk: Desk, size: int) -> tuple[dict[Any, Any], list[Any]]:
    from netext import ArrowTip, EdgeRoutingMode, EdgeSegmentDrawingMode

    ops = shown_ops(desk, size)
    nodes = {str(op): _node(desk, op) for op in ops}
    look = {
        "$edge-routing-mode": EdgeRoutingMode.ORTHOGONAL,
        "$edge-segment-drawing-mode": EdgeSegmentDrawingMode.BOX_ROUNDED,
        "$end-arrow-tip": ArrowTip.ARROW,
        "$style": Style(dim=True),
    }
    pairs: dict[tuple[str, str], None] = {}
    for op in ops:
        play = desk.index.play(op)
        for name, version in zip(play.op.inputs, play.in_versions, strict=True) if play else ():
            writer = desk.index.writer(name, version)
            if writer is not None and writer in ops and writer != op:
                pairs[str(writer), str(op)] = None
    return nodes, [(*pair, dict(look)) for pair in pairs]


def _node(desk: Desk, op: int) -> dict[str, Any]:
    record = desk.op_record(op)
    outputs = " ".join(words.blob(name, None, 14) for name in record.outputs[:2])
    label = f"{op} {words.shorten(words.shown(record.type), 20)}" + (f"\n{outputs}" if outputs else "")
    style = Style(bold=op == desk.op, reverse=op == desk.op, meta={"op": op})
    return {
        "$content-renderer": lambda _, __, content: Text(label, style=content),
        "$content-style": style,
        "$style": style,
    }


def _is_of(segment: Segment, op: int) -> bool:
    """Whether a piece of the drawing belongs to an operator."""
    return segment.style is not None and segment.style.meta.get("op") == op


class DrawingView(LineView):
    """The drawing; arrows pan, a click chooses an operator."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "shift(-8, 0)", "Left", show=False, id="drawing.left", tooltip="Pan to the left"),
        Binding("right", "shift(8, 0)", "Right", show=False, id="drawing.right", tooltip="Pan to the right"),
        Binding("up", "shift(0, -3)", "Up", show=False, id="drawing.up", tooltip="Pan up"),
        Binding("down", "shift(0, 3)", "Down", show=False, id="drawing.down", tooltip="Pan down"),
    ]

    lines: list[Strip] = []  # noqa: RUF012  (replaced as a whole, never changed)
    pan = 0

    def place(self, lines: list[list[Segment]], op: int) -> None:
        """Show a drawing, the operator `op` in the middle."""
        self.lines = [Strip(line) for line in lines]
        marked = [i for i, line in enumerate(lines) if any(_is_of(each, op) for each in line)]
        widest = max((strip.cell_length for strip in self.lines), default=0)
        self.pan = (widest - self.size.width) // 2
        if marked and widest > self.size.width:
            before = 0
            for each in lines[marked[0]]:
                if _is_of(each, op):
                    break
                before += each.cell_length
            self.pan = before - self.size.width // 2
        self.virtual_size = Size(0, len(lines))
        self.show(len(lines), marked[len(marked) // 2] if marked else 0)

    def render_line(self, y: int) -> Strip:
        line, width, base = round(self.scroll_y) + y, self.size.width, self.rich_style
        if line >= len(self.lines):
            return Strip.blank(width, base)
        strip = self.lines[line]
        if self.pan < 0:
            strip = Strip([Segment(" " * -self.pan), *strip])
        return strip.crop(max(self.pan, 0), max(self.pan, 0) + width).adjust_cell_length(width).apply_style(base)

    def repaint(self) -> None:
        self.refresh()

    def action_shift(self, across: int, down: int) -> None:
        self.pan += across
        self.scroll_to(y=self.scroll_y + down, animate=False, force=True)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        op = event.style.meta.get("op")
        if op is not None:
            self.screen.dismiss(op)


class DrawingScreen(Hinted, Screen["int | None"]):
    """A drawing of the net, or of its part around the selected operator; gives the operator that was clicked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,G", "close", "Back", id="drawing.close", tooltip="Back to the debug screen"),
        Binding("plus", "grow(1)", "More ops", id="drawing.more", tooltip="Draw more ops"),
        Binding("minus", "grow(-1)", "Fewer ops", id="drawing.fewer", tooltip="Draw fewer ops"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.step = 2

    def compose(self) -> ComposeResult:
        yield Static("", markup=False, id="status")
        yield DrawingView(id="drawing")
        yield Hints(id="hints")

    def on_mount(self) -> None:
        self.query_one(DrawingView).focus()
        hints = (("+", "more ops", "grow(1)"), ("-", "fewer ops", "grow(-1)"), ("click", "selects an op", "focus"))
        self.query_one(Hints).draw(hints, (("esc", "back", "close"),))
        self._start()

    def _start(self) -> None:
        ops = shown_ops(self.desk, SIZES[self.step])
        total = len(self.desk.recording.ops)
        part = "the whole net" if len(ops) == total else f"ops {ops.start} to {ops.stop - 1} of {total}"
        self.query_one("#status", Static).update(f" gradviz  drawing · {part} · op {self.desk.op} marked")
        self.run_worker(self._draw, thread=True, exclusive=True, exit_on_error=False)

    def _draw(self) -> None:
        self.post_message(Drawn(draw(self.desk, SIZES[self.step])))

    def on_drawn(self, message: Drawn) -> None:
        self.query_one(DrawingView).place(message.lines, self.desk.op)

    def action_grow(self, by: int) -> None:
        self.step = min(max(self.step + by, 0), len(SIZES) - 1)
        self._start()

    def action_close(self) -> None:
        self.dismiss(None)
