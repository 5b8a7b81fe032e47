"""What is said on stderr, and how tables look on stdout."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from gradviz.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OFTEN, _LONG = 0.1, 0.4


def say(text: str) -> None:
    """One line on stderr, with the program's name before it."""
    clear_progress()
    print(f"gradviz: {one_line(text)}", file=sys.stderr)


class _Progress:
    """The line that is being overwritten on the terminal, if there is one."""

    shown = 0
    started = 0.0
    last = 0.0


def progress(text: str) -> None:
    """Say how far it is, on a line of the terminal that is overwritten; nothing where stderr is no terminal.

    What is done at once says nothing either.
    """
    now = time.monotonic()
    _Progress.started = _Progress.started or now
    if not sys.stderr.isatty() or now - _Progress.started < _LONG or now - _Progress.last < _OFTEN:
        return
    _Progress.last = now
    text = one_line(text)[:78]
    print(f"\r{text:<{_Progress.shown}}", end="", file=sys.stderr, flush=True)
    _Progress.shown = len(text)


def clear_progress() -> None:
    """Wipe the line of `progress` away; what comes next starts anew."""
    _Progress.started = 0.0
    if _Progress.shown:
        print(f"\r{'':<{_Progress.shown}}\r", end="", file=sys.stderr, flush=True)
        _Progress.shown = 0


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Lines of a table: columns as wide as what is in them, two spaces between.

    Args:
        heads: the column heads.
        rows: cells, as many as there are heads.
        right: the columns that are aligned to the right.
    """
    from gradviz.render.escape import columns, visible

    cells = [list(heads), *([visible(cell) for cell in row] for row in rows)]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            " " * (width - columns(cell)) + cell if at in right else cell + " " * (width - columns(cell))
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()
