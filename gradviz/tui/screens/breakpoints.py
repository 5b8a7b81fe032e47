"""All breakpoints and watches: add, switch on and off, let hits pass, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from gradviz.debug.breakpoints import Breakpoint, parse
from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.debug import Session
    from gradviz.tui.rows import Row

ADD_HINT = "7 an op · w a blob · type:FC · phase:merge · event:rename · error"


def check(text: str) -> str:
    """What is wrong with a breakpoint as it is typed."""
    try:
        parse(text)
    except GradvizError as error:
        return str(error)
    return ""


def _describe(each: Any, width: int) -> Row:
    state = ("● on ", "bad") if each.enabled else ("○ off", "dim")
    if not isinstance(each, Breakpoint):
        return [state, ("  watch   ", "dim"), (words.blob(each.blob, None, width - 18), "strong")]
    value = "" if each.value == "" else words.blob(str(each.value), None, max(width - 40, 8))
    counts = f"{words.counted(each.hits, 'hit')}" + (f", lets {each.ignore} pass" if each.ignore else "")
    return [
        state,
        (f"  {each.kind:<8}", "dim"),
        (pad(value, max(min(width - 40, 30), 8)), "strong"),
        (" " + counts, "dim"),
    ]


class BreakpointsScreen(ModalScreen[None]):
    """The breakpoints and watches of a session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,B", "close", "Close", id="breakpoints.close", tooltip="Back to the debug screen"),
        Binding("space", "switch", "On or off", id="breakpoints.switch", tooltip="Switch the selected one on or off"),
        Binding("a", "add", "Add", id="breakpoints.add", tooltip="Add a breakpoint"),
        Binding("d,delete", "remove", "Remove", id="breakpoints.remove", tooltip="Remove the selected one"),
        Binding("plus", "ignore(1)", "One more", id="breakpoints.more", tooltip="Let one more hit pass"),
        Binding("minus", "ignore(-1)", "One less", id="breakpoints.less", tooltip="Let one hit less pass"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Breakpoints and watches"
            yield Lines(_describe)
            yield Static("", markup=False, classes="note")
            yield Static("a add · space on/off · d remove · + - hits to let pass · esc back", classes="note", id="keys")

    def on_mount(self) -> None:
        self._fill()
        self.query_one(Lines).focus()

    def _fill(self, selected: int | None = None) -> None:
        lines = self.query_one(Lines)
        things: list[Any] = [*self.session.breakpoints, *self.session.watches]
        lines.styles.height = min(max(len(things), 1), 14)
        lines.fill(things, lines.selected if selected is None else selected)
        note = "" if things else f"none yet: b on an op, or a here ({ADD_HINT})"
        self.query_one(".note", Static).update(note)

    def action_switch(self) -> None:
        each = self.query_one(Lines).thing
        if each is not None:
            each.enabled = not each.enabled
            self._fill()

    def action_remove(self) -> None:
        each = self.query_one(Lines).thing
        if isinstance(each, Breakpoint):
            self.session.breakpoints.remove(each)
        elif each is not None:
            self.session.watches.remove(each)
        self._fill()

    def action_ignore(self, by: int) -> None:
        each = self.query_one(Lines).thing
        if isinstance(each, Breakpoint):
            each.ignore = max(each.ignore + by, 0)
            self._fill()

    def action_add(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        self.app.push_screen(Prompt("break on", hint=ADD_HINT, check=check), self._added)

    def _added(self, text: str | None) -> None:
        if not text:
            return
        new = parse(text)
        if all(each.key != new.key for each in self.session.breakpoints):
            self.session.breakpoints.append(new)
        self._fill(len(self.session.breakpoints) - 1)

    def action_close(self) -> None:
        self.dismiss(None)
