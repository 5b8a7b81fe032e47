"""Rows: what one line of a pane says, as pieces of text that each play a role.

A pane describes its lines with these and knows no colour; the widgets turn roles into styles of the theme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from gradviz.tui import words

if TYPE_CHECKING:
    from collections.abc import Iterable

Span: TypeAlias = tuple[str, str]
"""A piece of text and its role: one of `ROLES`, or empty for plain text."""

Row: TypeAlias = list[Span]
"""The pieces of one line, from left to right."""

ROLES = ("dim", "accent", "good", "bad", "warn", "kind", "strong", "title")
"""What is secondary, current, good, failed, remarkable, an operator type, stressed, a heading."""

_LEAST = 6
"""No name is shortened below so many columns; rather some are left out."""


def width_of(row: Row) -> int:
    """How many columns a row takes."""
    return sum(words.cells(text) for text, _ in row)


def fit(row: Row, width: int) -> Row:
    """The row, cut at `width` columns with an ellipsis."""
    left = width
    for i, (text, role) in enumerate(row):
        need = words.cells(text)
        if need > left:
            return [*row[:i], (words.cut(text, left), role)]
        left -= need
    return row


def pad(text: str, width: int) -> str:
    """The text with blanks up to `width` columns."""
    return text + " " * (width - words.cells(text))


def joined(left: Row, right: Row, width: int) -> Row:
    """Two rows on one line, the second at the right edge; it goes where both do not fit."""
    gap = width - width_of(left) - width_of(right)
    return [*left, (" " * gap, ""), *right] if gap > 0 else fit(left, width)


class Names:
    """A list of blobs on its way into a row: names, versions and roles, shortened together.

    Attributes:
        items: name, version or None, role.
    """

    __slots__ = ("_widths", "items")

    def __init__(self, items: Iterable[tuple[str, int | None, str]]) -> None:
        self.items = list(items)
        self._widths: list[int] | None = None

    def natural(self, most: int) -> int:
        """Columns of all names in full with a blank behind each, every name counted up to `most`."""
        if self._widths is None:
            self._widths = [self._width(name, version) for name, version, _ in self.items]
        return sum(min(width, most) + 1 for width in self._widths)

    @staticmethod
    def _width(name: str, version: int | None) -> int:
        return words.cells(words.shown(name)) + (len(str(version)) if version is not None else 0)

    def spans(self, width: int, longest: int) -> Row:
        """Names of at most `longest` columns each, as many as fit `width`; the others are counted."""
        row: Row = []
        left = width
        for i, (name, version, role) in enumerate(self.items):
            text = words.blob(name, version, longest)
            rest = len(self.items) - i - 1
            reserve = len(f" +{rest}") if rest else 0
            need = words.cells(text) + (1 if row else 0)
            if need + reserve > left:
                row.append((f"{' ' if row else ''}+{rest + 1}", "dim"))
                return row
            if row:
                row.append((" ", ""))
            row.append((text, role))
            left -= need
        return row


def arrow(inputs: Names, outputs: Names, width: int, *, share: float = 0.5) -> Row:
    """`a₀ b₀ → c₀` in at most `width` columns: names are shortened alike, then left out.

    Args:
        inputs: what stands before the arrow.
        outputs: what stands behind it.
        width: columns that there are.
        share: how much of them the outputs get at least, if both sides have much to say.
    """
    room = max(width - 3, 0)
    most = room - min(inputs.natural(room), int(room * (1 - share)))
    right = outputs.spans(most, _longest(outputs, most))
    rest = room - width_of(right)
    left = inputs.spans(rest, _longest(inputs, rest))
    return fit([*left, (" → " if left else "→ ", "dim"), *right], width)


def _longest(names: Names, room: int) -> int:
    """The most columns that a name may take so that all fit, if that can be."""
    if len(names.items) * _LEAST > room:
        return _LEAST
    low, high = _LEAST, max(room, _LEAST)
    while low < high:
        middle = (low + high + 1) // 2
        if names.natural(middle) - 1 <= room:
            low = middle
        else:
            high = middle - 1
    return low
