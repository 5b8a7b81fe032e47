"""The sentence: what the last event did, in one plain line, and why the cursor stopped there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from gradviz.tui import words

if TYPE_CHECKING:
    from gradviz.tui.desk import Desk


def reason(desk: Desk) -> str:
    """Why the cursor stopped where it is, where there is something to say."""
    stop = desk.stop
    if stop.position != desk.position:
        return ""
    if stop.breakpoint is not None:
        return f"● breakpoint {words.prose(str(stop.breakpoint))}"
    if stop.watch is not None:
        return f"◉ {words.blob(stop.watch.blob)} changed"
    return {"start": "at the start", "end": "at the end"}.get(stop.reason, "")


class Sentence(Static):
    """What the last event did."""

    def __init__(self) -> None:
        super().__init__(markup=False, id="sentence")
        self._lines = 0

    def draw(self, desk: Desk) -> None:
        """Say the event at the cursor."""
        failed = desk.event.kind == "fail"
        self.set_class(failed, "-failed")
        why = reason(desk)
        parts: list[Content | tuple[str, str] | str] = []
        if why:
            parts.append((f"{why} · ", "$text-warning"))
        if failed:
            parts.append(("✗ ", "bold $text-error"))
        parts.append(Content(words.prose(desk.event.sentence())))
        if failed:
            parts.append((" · enter: why", "$text-muted"))
        content = Content.assemble(*parts)
        lines = -(-(content.cell_length + 12) // max(self.size.width, 1))
        self.update(content, layout=lines != self._lines)
        self._lines = lines
