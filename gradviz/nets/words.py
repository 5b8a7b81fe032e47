"""How messages about files speak: text from a file is data, so it is quoted, shortened and freed of control codes."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


def quoted(text: str | bytes, most: int = 48) -> str:
    """Text from a file in double quotes, on one line and not too long."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    short = text if len(text) <= most else text[: most - 1] + "…"
    return '"' + plain(short) + '"'


def plain(text: str) -> str:
    """The text with control codes and lone surrogates escaped, so that it stays on its line."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def listed(items: Iterable[str], most: int = 6) -> str:
    """`a, b, c`; of a long list the beginning and how many more there are."""
    everything = list(items)
    shown = ", ".join(plain(item) for item in everything[:most])
    return shown + (f" and {len(everything) - most:,} more" if len(everything) > most else "")


def count(number: int, noun: str) -> str:
    """`1 operator`, `2,000 operators`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nearest(word: str, among: Collection[str], most: int = 3) -> Sequence[str]:
    """The names most like `word`, case left aside."""
    folded: dict[str, list[str]] = {}
    for each in among:
        folded.setdefault(each.lower(), []).append(each)
    return [each for key in difflib.get_close_matches(word.lower(), folded, most) for each in folded[key]][:most]
