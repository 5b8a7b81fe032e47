"""All breakpoints and watches: add, edit, switch on and off, let hits pass, forget hits, remove."""

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
from gradviz.tui.screens.prompt import Prompt

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.debug import Session
    from gradviz.tui.lines import LineView
    from gradviz.tui.rows import Row

ADD_HINT = (
    "7 an op · w a blob · type:FC · phase:merge · event:rename · error · a condition: "
    'kind == "rename" and blob.startswith("conv") · both: w if version > 0'
)


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
    value = "" if each.value == "" else str(each.value)
    value += f" if {each.condition}" if each.condition else ""
    counts = f" {words.counted(each.hits, 'hit')}" + (f", lets {each.ignore} pass" if each.ignore else "")
    room = max(width - 15 - len(counts), 8)
    shown = words.shorten(words.escaped(value), room) if each.kind == "when" or each.condition else ""
    shown = shown or (words.blob(value, None, room) if value else "")
    return [state, (f"  {each.kind:<8}", "dim"), (pad(shown, min(room, 30)), "strong"), (counts, "dim")]


def _number(text: str) -> str:
    """What is wrong with a number of hits as it is typed."""
    right = text.isascii() and text.isdecimal() and len(text) < 10
    return "" if right else f"a number of hits, such as 3, not {words.shown(text)}"


class BreakpointsScreen(ModalScreen[None]):
    """The breakpoints and watches of a session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,B", "close", "Close", id="breakpoints.close", tooltip="Back to the debug screen"),
        Binding("space", "switch", "On or off", id="breakpoints.switch", tooltip="Switch the selected one on or off"),
        Binding("a", "add", "Add", id="breakpoints.add", tooltip="Add a breakpoint"),
        Binding(
            "e", "edit", "Edit", id="breakpoints.edit", tooltip="Edit where the selected one stands, and its condition"
        ),
        Binding("d,delete", "remove", "Remove", id="breakpoints.remove", tooltip="Remove the selected one"),
        Binding("plus", "ignore(1)", "One more", id="breakpoints.more", tooltip="Let one more hit pass"),
        Binding("minus", "ignore(-1)", "One less", id="breakpoints.less", tooltip="Let one hit less pass"),
        Binding(
            "i",
            "ignored",
            "Hits to let pass",
            id="breakpoints.ignore",
            tooltip="Say how many hits pass before it stops",
        ),
        Binding(
            "r", "forget", "Forget hits", id="breakpoints.forget", tooltip="Count the selected one's hits from 0 again"
        ),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Breakpoints and watches"
            yield Lines(_describe)
            yield Static("", markup=False, classes="note")
            keys = "a add · e edit · space on/off · d remove · i + - hits to let pass · r forget hits · esc back"
            yield Static(keys, classes="note", id="keys")

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

    def action_ignored(self) -> None:
        each = self.query_one(Lines).thing
        if isinstance(each, Breakpoint):
            prompt = Prompt("hits to let pass", value=str(each.ignore), hint="it stops at the hit after", check=_number)
            self.app.push_screen(prompt, lambda text: self._ignored(each, text))

    def _ignored(self, each: Breakpoint, text: str | None) -> None:
        if text:
            each.ignore = int(text)
            self._fill()

    def action_forget(self) -> None:
        each = self.query_one(Lines).thing
        if isinstance(each, Breakpoint):
            each.hits = 0
            self._fill()

    def action_edit(self) -> None:
        each = self.query_one(Lines).thing
        if isinstance(each, Breakpoint):
            prompt = Prompt("break on", value=each.written, hint=ADD_HINT, check=check)
            self.app.push_screen(prompt, lambda text: self._edited(each, text))

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        message.stop()
        self.action_edit()

    def _edited(self, old: Breakpoint, text: str | None) -> None:
        if not text or text == old.written:
            return
        new = parse(text)
        new.enabled, new.ignore = old.enabled, old.ignore
        present = self.session.breakpoints
        at = present.index(old)
        present[:] = [new if each is old else each for each in present if each is old or each.key != new.key]
        self._fill(min(at, len(present) - 1))

    def action_add(self) -> None:
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
