"""The neighbourhood of one operator as a picture: the forward net above, its gradient operators below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.geometry import Size

from gradviz.autodiff.events import Accumulate, Make
from gradviz.ops.records import GradientSlice
from gradviz.tui import words
from gradviz.tui.lines import LineView
from gradviz.tui.panes.canvas import Canvas, Node, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.binding import BindingType

    from gradviz.ops.records import GradientOp
    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row

MOST_HOPS = 6
_NAME = 18
_KIDS = 8
"""A node shows at most so many neighbours; the others are counted."""
_NODES = 120
"""A picture holds at most so many nodes."""


class _Painter:
    """Draws one picture; counts its nodes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.index = desk.index
        self.canvas = Canvas()
        self.left = _NODES
        self.gradient_count = desk.state.gradient_op_count

    def paint(self) -> Canvas:
        """Forward above, gradients below, both operators in the same column."""
        op = self.desk.op
        y = self._hub(0, _op_text(self.desk, op), ("op", op), self._sources(op), self._sinks(op))
        for number in gradient_ops_of(self.desk, op):
            y = self._gradient(y + 1, number)
        return self.canvas

    def _hub(self, y: int, text: str, ref: tuple[object, ...], left: list[Node], right: list[Node]) -> int:
        """One operator with its trees to both sides, all on one axis; returns the line below."""
        west, east = Node(text, kids=left), Node(text, kids=right)
        start = -(words.cells(text) // 2)
        end = start + words.cells(text)
        lines = lay_out(west), lay_out(east)
        axis = max(west.y, east.y)
        tops = axis - west.y, axis - east.y
        self.canvas.tree(west, start - 1, y + tops[0], -1)
        self.canvas.tree(east, end, y + tops[1], 1)
        current = self.desk.current_op
        here = ref == ("op", current) or (ref[0] == "gradient" and self.desk.op == current)
        hub = Node(text, "accent" if here else "strong", ref, x=start, y=y + axis)
        self.canvas.put(start, hub.y, text, hub.role)
        self.canvas.nodes.append(hub)
        self.canvas.hub = self.canvas.hub or hub
        return y + max(tops[0] + lines[0], tops[1] + lines[1])

    # Forward.

    def _sources(self, op: int) -> list[Node]:
        play = self.index.play(op)
        record = self.desk.op_record(op)
        versions = play.in_versions if play else (0,) * len(record.inputs)
        return self._walk(dict.fromkeys(zip(record.inputs, versions, strict=True)), self.desk.hops, back=True)

    def _sinks(self, op: int) -> list[Node]:
        play = self.index.play(op)
        record = self.desk.op_record(op)
        versions = play.out_versions if play else (0,) * len(record.outputs)
        return self._walk(dict.fromkeys(zip(record.outputs, versions, strict=True)), self.desk.hops, back=False)

    def _walk(self, blobs: Iterable[tuple[str, int]], hops: int, *, back: bool) -> list[Node]:
        """Blobs with the operators behind them, `hops` operators deep."""
        nodes = []
        for name, version in self._some(blobs):
            node = self._node(words.blob(name, version, _NAME), ("blob", name, version), inwards=back)
            if hops > 0:
                node.kids = [self._operator(op, hops, back=back) for op in self._some(self._ops(name, version, back))]
                self._more(node, len(self._ops(name, version, back)), inwards=back)
            nodes.append(node)
        return nodes

    def _ops(self, name: str, version: int, back: bool) -> list[int]:
        if not back:
            return self.index.readers(name, version)
        writer = self.index.writer(name, version)
        return [] if writer is None else [writer]

    def _operator(self, op: int, hops: int, *, back: bool) -> Node:
        node = self._node(_op_text(self.desk, op), ("op", op), "kind", inwards=back)
        if hops > 1 and self.left > 0:
            play = self.index.play(op)
            assert play is not None
            names, versions = (play.op.inputs, play.in_versions) if back else (play.op.outputs, play.out_versions)
            blobs = dict.fromkeys(zip(names, versions, strict=True))
            node.kids = self._walk(blobs, hops - 1, back=back)
            self._more(node, len(blobs), inwards=back)
        return node

    # Gradients.

    def _gradient(self, y: int, number: int) -> int:
        op = self.desk.recording.gradient_ops[number]
        event = self.desk.recording.events[self.index.maker(number)]
        kind = "sum" if isinstance(event, Accumulate) else "gradient"
        sparse = _halves(event)
        sources = [self._read(number, name, kind, sparse) for name in self._some(dict.fromkeys(_read_first(op, event)))]
        outputs = self.desk.state.outputs_of(number)
        sinks = [self._written(number, name, kind, sparse) for name in self._some(dict.fromkeys(outputs))]
        glyph = "╂" if kind == "sum" else "∂"
        text = f"({glyph} {number} {words.shorten(words.shown(op.type), _NAME + 6)})"
        return self._hub(y, text, ("gradient", number), sinks, sources)

    def _read(self, number: int, name: str, kind: str, sparse: set[str]) -> Node:
        """An input of a gradient operator, with what wrote it."""
        edge = "sparse" if name in sparse else kind
        writer = self.index.gradient_writer(name, number)
        known = name in self.desk.recording.frontier
        if writer is None and known:
            return self._node(words.blob(name, None, _NAME), ("blob", name, None), "dim", "forward", inwards=True)
        node = self._node(words.blob(name, None, _NAME), ("name", name), "", edge, inwards=True)
        if writer is not None and self.desk.hops > 0:
            node.kids = [self._gradient_op(writer, edge, inwards=True)]
        return node

    def _written(self, number: int, name: str, kind: str, sparse: set[str]) -> Node:
        """An output of a gradient operator, with what reads it by now."""
        edge = "sparse" if name in sparse else kind
        node = self._node(words.blob(name, None, _NAME), ("name", name), "", edge)
        readers = self.index.gradient_readers(name, number, self.gradient_count)
        if self.desk.hops > 0:
            node.kids = [self._gradient_op(op, edge) for op in self._some(readers)]
            self._more(node, len(readers))
        return node

    def _gradient_op(self, number: int, edge: str, *, inwards: bool = False) -> Node:
        op = self.desk.recording.gradient_ops[number]
        text = f"(∂ {number} {words.shorten(words.shown(op.type), _NAME)})"
        return self._node(text, ("gradient", number), "kind", edge, inwards=inwards)

    # Nodes.

    def _node(
        self, text: str, ref: tuple[object, ...], role: str = "", edge: str = "forward", *, inwards: bool = False
    ) -> Node:
        self.left -= 1
        return Node(text, role, ref, edge, inwards)

    def _some(self, things: Iterable[Any]) -> list[Any]:
        return [thing for thing, _ in zip(things, range(max(min(_KIDS, self.left), 0)), strict=False)]

    def _more(self, node: Node, count: int, *, inwards: bool = False) -> None:
        if count > len(node.kids):
            edge = node.kids[0].edge if node.kids else "forward"
            node.kids.append(self._node(f"+{count - len(node.kids)}", (), "dim", edge, inwards=inwards))


def _op_text(desk: Desk, op: int) -> str:
    return f"({op} {words.shorten(words.shown(desk.op_record(op).type), _NAME)})"


def _read_first(op: GradientOp, event: Any) -> list[str]:
    """A gradient operator's inputs, gradients before forward blobs."""
    forward = set(event.op.inputs) | set(event.op.outputs) if isinstance(event, Make) else set()
    return sorted(op.inputs, key=lambda name: name in forward)


def _halves(event: Any) -> set[str]:
    """Names that are halves of sparse gradients."""
    if isinstance(event, Accumulate):
        sparse = isinstance(event.gradient, GradientSlice)
        return {name for op in event.ops for name in (*op.inputs, *op.outputs)} if sparse else set()
    gradients = event.g_input if isinstance(event, Make) else ()
    return {half for gradient in gradients if isinstance(gradient, GradientSlice) for half in gradient}


def gradient_ops_of(desk: Desk, op: int) -> list[int]:
    """The gradient operators that exist because of a forward operator, at the cursor."""
    recording = desk.recording
    visit = len(recording.ops) - 1 - (op - recording.offset)
    if visit >= len(recording.visits) or recording.visits[visit] > desk.position:
        return []
    first, last = recording.visit_span(visit)
    found: list[int] = []
    for event in recording.events[first : min(last, desk.position) + 1]:
        if isinstance(event, Make):
            found += range(event.first, event.first + len(event.gradient_ops))
        elif isinstance(event, Accumulate):
            found += range(event.first, event.first + len(event.ops))
    return found[:_KIDS]


class GraphPane(LineView):
    """The picture, with a cursor on its nodes: arrows move it, and the view pans with it."""

    BORDER_TITLE = "Graph"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "go(-1, 0)", "Left", show=False, id="graph.left", tooltip="To the node on the left"),
        Binding("right", "go(1, 0)", "Right", show=False, id="graph.right", tooltip="To the node on the right"),
        Binding("up", "go(0, -1)", "Up", show=False, id="graph.up", tooltip="To the node above"),
        Binding("down", "go(0, 1)", "Down", show=False, id="graph.down", tooltip="To the node below"),
    ]

    desk: Desk
    canvas: Canvas
    node: Node | None = None
    pan = 0

    def draw(self, desk: Desk) -> None:
        """Draw the neighbourhood of the selected operator, which stands in the middle."""
        self.desk = desk
        self.entitle(f"Graph · op {desk.op} · {words.counted(desk.hops, 'hop')}")
        if not self.display or not desk.recording.ops:
            return
        self.canvas = _Painter(desk).paint()
        self.node = self.canvas.hub
        if isinstance(desk.event, Accumulate) and desk.op == desk.current_op:
            added = ("gradient", desk.event.first)
            hubs = [node for node in self.canvas.nodes if node.ref == added and node.role == "accent"]
            self.node = hubs[0] if hubs else self.node
        self._center()

    def _center(self) -> None:
        """The whole picture in the middle if it fits, else the operator."""
        width, canvas = self.scrollable_content_region.width, self.canvas
        whole = canvas.right - canvas.left
        self.pan = canvas.left - (width - whole) // 2 if whole <= width else -(width // 2)
        self.virtual_size = Size(0, canvas.height)
        self.show(canvas.height, self.node.y if self.node else 0)

    def on_resize(self) -> None:
        if hasattr(self, "desk"):
            self.draw(self.desk)

    @property
    def marks_selection(self) -> bool:
        return False

    def row(self, line: int, width: int) -> Row:
        row = self.canvas.row(line, self.pan, width)
        node = self.node
        if node is None or node.y != line or not self.has_focus:
            return row
        left = self.canvas.row(line, self.pan, max(node.x - self.pan, 0))
        right = node.x + node.width
        return [*left, (node.text, "selected"), *self.canvas.row(line, right, self.pan + width - right)]

    def action_go(self, across: int, down: int) -> None:
        """To the nearest node in a direction."""
        here = self.node
        if here is None:
            return
        ahead = [each for each in self.canvas.nodes if each.ref and self._ahead(here, each, across, down)]
        if ahead:
            self.node = min(ahead, key=lambda each: self._distance(here, each, across))
            self._bring_into_sight(self.node)

    @staticmethod
    def _ahead(here: Node, node: Node, across: int, down: int) -> bool:
        return (node.y - here.y) * down > 0 if down else (node.x - here.x) * across > 0 and node is not here

    @staticmethod
    def _distance(here: Node, node: Node, across: int) -> tuple[int, int]:
        dx, dy = abs(node.x - here.x), abs(node.y - here.y)
        return (dx + 6 * dy, dy) if across else (8 * dy + dx, dx)

    def _bring_into_sight(self, node: Node) -> None:
        width = self.scrollable_content_region.width
        if node.x < self.pan:
            self.pan = node.x
        elif node.x + node.width > self.pan + width:
            self.pan = node.x + node.width - width
        self.select(node.y)

    def clicked(self, line: int, column: int) -> bool:
        x = column + self.pan
        found = [each for each in self.canvas.nodes if each.y == line and each.x <= x < each.x + each.width]
        if found:
            again = self.node is found[0]
            self.node = found[0]
            self.repaint()
            if again:
                self.action_choose()
        return True

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self.pan -= 4
        self.repaint()

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self.pan += 4
        self.repaint()
