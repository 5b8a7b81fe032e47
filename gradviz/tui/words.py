"""Text from models, made fit for a screen: harmless, and no wider than its place.

Names in a net are data: they may hold markup, control characters or five thousand letters. Everything that is drawn
goes through `shown`, and through `shorten` where the place is small.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e"}
_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_WORD = re.compile(r"\S+")


def shown(text: str) -> str:
    """The text with what a terminal would obey, hide or choke on written as an escape; `""` where it is empty."""
    if not text:
        return '""'
    return text if text.isprintable() else escaped(text)


def escaped(text: str) -> str:
    """Each character that is not printable as an escape; a blank stays a blank."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cells(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, width: int) -> str:
    """At most `width` columns: what is too long loses its middle, since names differ at their ends."""
    if len(text) <= width and cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return _head(text, width - 1 - tail) + "…" + _head(text[-4 * width :][::-1], tail)[::-1]


def cut(text: str, width: int) -> str:
    """At most `width` columns: what is too long loses its end."""
    if len(text) <= width and cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def _head(text: str, width: int) -> str:
    """As much of the start as fits `width` columns."""
    if text.isascii():
        return text[: max(width, 0)]
    for end, character in enumerate(text):
        width -= get_character_cell_size(character)
        if width < 0:
            return text[:end]
    return text


def subscript(version: int) -> str:
    """A version as it stands behind a blob's name."""
    return str(version).translate(_SUBSCRIPTS)


def blob(name: str, version: int | None = None, width: int = 40) -> str:
    """A blob's name with its version as a subscript, which stays readable where the name is shortened."""
    mark = "" if version is None else subscript(version)
    room = max(width - len(mark), 3) if mark else width
    text = shown(name)
    if len(text) <= room and cells(text) <= room:
        return text + mark
    return _without_scope(text, room) + mark


def _without_scope(text: str, room: int) -> str:
    """A name that is too long: outer scopes go first, then the middle of what is left."""
    inner = text.find("/", max(len(text) - room + 1, 0))
    if 0 <= inner < len(text) - 1 and cells(text) - cells(text[:inner]) < room:
        return "…" + text[inner:]
    last = text.rfind("/", 0, -1)
    return shorten(text[last + 1 :], room)


def prose(text: str, longest: int = 60) -> str:
    """A sentence with names of the model in it: harmless, and no word longer than `longest` columns."""
    return _WORD.sub(lambda found: shorten(found.group(), longest), escaped(text))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 op`, `2 ops`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def widest(texts: Iterable[str], most: int) -> int:
    """Columns of the widest text, at most `most`."""
    widest = 0
    for text in texts:
        widest = max(widest, min(len(text), most))
        if widest >= most:
            break
    return widest
