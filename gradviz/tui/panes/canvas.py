"""Trees of operators and blobs drawn with lines: sources to one side of an operator, sinks to the other.

A tree has its root at the operator in the middle; every depth has a column of its own, so names stand below each other.
Kinds of edges are told apart by their lines, not by colour: forward `─`, gradient `═`, sparse `┄`, accumulated `━`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import get_character_cell_size

from gradviz.tui import words

if TYPE_CHECKING:
    from gradviz.tui.rows import Row

_LINES = {
    "forward": "─│╭╮╰╯├┤┬┴┼",
    "gradient": "═║╔╗╚╝╠╣╦╩╬",
    "sparse": "┄┊╭╮╰╯├┤┬┴┼",
    "sum": "━┃┏┓┗┛┣┫┳┻╋",
}
_GAP = 5
"""Columns between two depths: line, trunk, line, arrow head, blank."""


@dataclass(slots=True)
class Node:
    """A node of a tree.

    Attributes:
        text: what it is called.
        role: how it is painted.
        ref: what it stands for: `("op", index)`, `("gradient", index)` or `("blob", name, version)`.
        edge: kind of the edge to its parent.
        inwards: whether that edge points from the node to its parent.
        kids: the nodes behind it.
        x: leftmost column, once it is placed.
        y: line, once it is placed.
    """

    text: str
    role: str = ""
    ref: tuple[object, ...] = ()
    edge: str = "forward"
    inwards: bool = False
    kids: list[Node] = field(default_factory=list)
    x: int = 0
    y: int = 0

    @property
    def is_op(self) -> bool:
        """Whether it is an operator, in its brackets."""
        return self.text.startswith("(")

    @property
    def width(self) -> int:
        """Columns of its text."""
        return words.cells(self.text)


class Canvas:
    """A sheet of cells which grows as it is drawn on.

    Attributes:
        nodes: what can be pointed at.
        hub: the operator in the middle.
        left: the leftmost column.
        right: the column behind the rightmost.
        height: how many lines there are.
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], tuple[str, str]] = {}
        self.nodes: list[Node] = []
        self.hub: Node | None = None
        self.left = self.right = self.height = 0

    def put(self, x: int, y: int, text: str, role: str) -> None:
        """Write text from a cell to the right."""
        self.left = min(self.left, x)
        for character in text:
            width = get_character_cell_size(character)
            if width == 0:
                continue
            self._cells[x, y] = (character, role)
            if width == 2:
                self._cells[x + 1, y] = ("", role)
            x += width
        self.right, self.height = max(self.right, x), max(self.height, y + 1)

    def row(self, y: int, start: int, width: int) -> Row:
        """The cells of a line from column `start` on."""
        row: Row = []
        for x in range(start, start + width):
            cell = self._cells.get((x, y), (" ", ""))
            if cell[0] == "" and x == start:
                cell = (" ", cell[1])
            if row and row[-1][1] == cell[1]:
                row[-1] = (row[-1][0] + cell[0], cell[1])
            else:
                row.append(cell)
        return row

    def tree(self, root: Node, x: int, y: int, side: int) -> None:
        """Draw what hangs on `root` from line `y` on: from column `x` to the right (1) or to the left (-1)."""
        widths: list[int] = []
        _place(root, y, 0, widths)
        starts = [0]
        for width in widths[1:]:
            starts.append(starts[-1] + width + _GAP)
        self._draw(root, x, starts, 0, side)

    def _draw(self, node: Node, x: int, starts: list[int], depth: int, side: int) -> None:
        """Draw the edges to a node's kids and the kids; the depth of the tree is bounded by the hops."""
        if not node.kids:
            return
        column = x + side * (starts[depth] + _GAP)
        end = node.x + (node.width if side > 0 else -1) if depth else x
        for kid in node.kids:
            kid.x = column if side > 0 else column - kid.width + 1
        self._edges(node, end, column, side)
        for kid in node.kids:
            self.put(kid.x, kid.y, kid.text, kid.role)
            self.nodes.append(kid)
            self._draw(kid, x, starts, depth + 1, side)

    def _edges(self, node: Node, end: int, column: int, side: int) -> None:
        """Lines from column `end`, beside the node, over a trunk to `column`, where the kids begin.

        A blank stands beside a blob, none beside an operator; the head is where the edge points to.
        """
        first, last, trunk = node.kids[0].y, node.kids[-1].y, column - side * 3
        lines = _LINES[node.kids[0].edge]
        start = end if node.is_op else end + side
        self._across(start, trunk, node.y, lines[0], side)
        for y in range(first, last + 1) if first != last else ():
            self.put(trunk, y, lines[1], "dim")
        joints = {kid.y for kid in node.kids}
        for y in sorted({*joints, node.y}):
            self.put(trunk, y, _joint(lines, y, node.y, first, last, y in joints, side), "dim")
        for kid in node.kids:
            stop = column if kid.is_op else column - side
            self._across(trunk + side, stop, kid.y, _LINES[kid.edge][0], side)
            if not kid.inwards:
                self.put(stop - side, kid.y, "▶" if side > 0 else "◀", "dim")
        if node.kids[0].inwards:
            self.put(start, node.y, "◀" if side > 0 else "▶", "dim")

    def _across(self, start: int, stop: int, y: int, line: str, side: int) -> None:
        for x in range(start, stop, side):
            self.put(x, y, line, "dim")


def _joint(lines: str, y: int, root: int, first: int, last: int, kid: bool, side: int) -> str:
    """The character where the trunk meets a line: which of its four arms are there."""
    up, down, here = y > first, y < last, y == root
    to_kid, to_root = kid, here
    right, left = (to_kid, to_root) if side > 0 else (to_root, to_kid)
    arms = (up, down, left, right)
    table = {
        (False, False, True, True): 0,
        (True, True, False, False): 1,
        (False, True, False, True): 2,
        (False, True, True, False): 3,
        (True, False, False, True): 4,
        (True, False, True, False): 5,
        (True, True, False, True): 6,
        (True, True, True, False): 7,
        (False, True, True, True): 8,
        (True, False, True, True): 9,
        (True, True, True, True): 10,
    }
    return lines[table.get(arms, 0)]


def lay_out(root: Node) -> int:
    """Place a tree from line 0 on, which tells on which line its root is; returns how many lines it takes."""
    return _place(root, 0, 0, [])


def _place(node: Node, y: int, depth: int, widths: list[int]) -> int:
    """Give every node below `node` its line, and each depth its width; returns how many lines it takes."""
    if depth == len(widths):
        widths.append(0)
    widths[depth] = max(widths[depth], node.width)
    used = 0
    for kid in node.kids:
        used += _place(kid, y + used, depth + 1, widths)
    node.y = (node.kids[0].y + node.kids[-1].y) // 2 if node.kids else y
    return max(used, 1)
