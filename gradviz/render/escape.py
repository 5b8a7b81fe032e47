"""Text from a net is data: here it is made harmless and short enough for a label.

Blob names may hold quotes, markup, newlines, emoji, or five thousand characters.
"""

from __future__ import annotations

from html import escape
from unicodedata import combining, east_asian_width


def visible(text: str) -> str:
    """The text on one line: control codes, line breaks and lone surrogates become escapes that can be seen."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def shortened(text: str, most: int = 40) -> str:
    """The text with its middle left out if it is longer than `most`; both ends tell names apart."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"


def label(text: str, most: int = 40) -> str:
    """A name as a label shows it: visible and short; an empty name as two quotes."""
    return shortened(visible(text), most) or '""'


def markup(text: str) -> str:
    """Text for HTML, SVG and the HTML-like labels of DOT."""
    return escape(visible(text))


def plain_xml(text: str) -> str:
    """Text for an XML writer that escapes markup itself, but lets control codes through."""
    return visible(text)


def columns(text: str) -> int:
    """How wide the text is in a typewriter's columns: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in text)
