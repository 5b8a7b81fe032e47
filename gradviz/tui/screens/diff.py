"""The Diff screen: two moments of a walk side by side, aligned by blob and version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from gradviz.debug.compare_states import ABSENT, Change, Moment, OpSeen, Section, compare_states
from gradviz.tui import words
from gradviz.tui.lines import LinePane
from gradviz.tui.panes.happened import gradient_text
from gradviz.tui.panes.header import Hints
from gradviz.tui.panes.tabs import generator_row
from gradviz.tui.rows import Names, Row, arrow, fit, pad, width_of
from gradviz.tui.screens.dialog import Hinted, Lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.debug.compare_states import Difference, Kind
    from gradviz.tui.desk import Desk

_TITLES = {
    "gradient ops": "Gradient net",
    "frontier": "Versions",
    "gradient frontier": "Gradient frontier",
    "generators": "Generators",
    "gradient map": "Map",
}
_GLYPHS = {"added": ("+ ", "good"), "removed": ("− ", "bad"), "changed": ("~ ", "warn")}
_KEYS = (
    ("enter", "to the event", "open"),
    ("n N", "section", "section(1)"),
    ("s", "other moment", "switch"),
    ("g", "any event", "goto"),
    ("x", "swap", "swap"),
)


class Line(NamedTuple):
    """One line of the list: the title of a section, or a row of it."""

    section: Section
    change: Change | None


def moments(desk: Desk) -> tuple[Moment, Moment, str]:
    """What is compared at first: what was marked, else the last stop, with now; and which of both it is."""
    now = Moment(desk.trace, desk.position)
    if desk.mark is not None:
        return desk.mark, now, "marked"
    return Moment(desk.trace, desk.before), now, "last stop"


class Compared(Message):
    """Two moments are compared."""

    def __init__(self, found: Difference, one: Moment, other: Moment) -> None:
        super().__init__()
        self.found, self.one, self.other = found, one, other


class Sides(LinePane):
    """Which two moments are compared: number, and what happened there."""

    one: Moment | None = None
    other: Moment | None = None
    labels = ("", "")

    def draw(self, one: Moment, other: Moment, labels: tuple[str, str]) -> None:
        """Show these two, each with what it is."""
        self.one, self.other, self.labels = one, other, labels
        self.repaint()

    def rows(self, width: int) -> list[Row]:
        if self.one is None or self.other is None:
            return []
        key, side = _widths(width - 1)  # the list below keeps a column for its bar
        heads = [self._head(moment, name) for moment, name in zip((self.one, self.other), self.labels, strict=True)]
        tells = [
            [(words.prose(moment.trace.events[moment.position].sentence()), "")] for moment in (self.one, self.other)
        ]
        blank: Row = [(" " * key, "")]
        return [_beside(blank, left, right, side) for left, right in (heads, tells)]

    def _head(self, moment: Moment, name: str) -> Row:
        assert self.one is not None
        assert self.other is not None
        net = "" if self.one.trace is self.other.trace else f" {words.shown(moment.trace.model.name)}"
        return [(f"event {moment.position}", "strong"), (f" {name}{net}", "dim")]


def _widths(width: int) -> tuple[int, int]:
    """Columns of the name of a row, and of each of both sides."""
    key = min(max(width // 5, 12), 28)
    return key, max((width - key - 3) // 2, 4)


def _beside(key: Row, left: Row, right: Row, side: int) -> Row:
    left = fit(left, side)
    return [*key, *left, (" " * (side - width_of(left)), ""), (" │ ", "dim"), *fit(right, side)]


class DiffScreen(Hinted, Screen["int | None"]):
    """What differs between two moments; gives the event that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,d", "back", "Back", id="diff.back", tooltip="Back to the debug screen"),
        Binding("enter", "open", "To the event", id="diff.open", tooltip="Travel to the event that made it differ"),
        Binding("n", "section(1)", "Next section", id="diff.next", tooltip="To the next part that differs"),
        Binding("N", "section(-1)", "Section before", id="diff.previous", tooltip="To the part before that differs"),
        Binding("s", "switch", "Other moment", id="diff.switch", tooltip="Compare with the last stop, or the mark"),
        Binding("g", "goto", "Any event", id="diff.goto", tooltip="Compare with any event by its number"),
        Binding("x", "swap", "Swap", id="diff.swap", tooltip="Swap both sides"),
        Binding("question_mark,h,f1", "help", "Help", id="diff.help", tooltip="What is shown here, and the keys"),
    ]
    SHOWN = (
        "Two moments of the walk side by side: gradient ops and rows of the state that differ, and only these.",
        "+ only at the right   − only at the left   ~ in both and not alike.",
        "m on the debug screen marks a moment. Without one the last stop is compared with where the cursor stands.",
        "A mark outlives another choice of ys and a mended net: then two walks are compared, by blob and version.",
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.one, self.other, label = moments(desk)
        self.labels = (label, "now")
        self.found: Difference | None = None

    def compose(self) -> ComposeResult:
        yield Static("", markup=False, id="status")
        yield Sides(id="sides")
        with Vertical(id="table"):
            yield Lines(self._describe, id="changes")
        yield Static("", markup=False, id="told")
        yield Hints(id="hints")

    def on_mount(self) -> None:
        self.compare()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def compare(self) -> None:
        """Compare beside the screen: long walks hold much."""
        one, other = self.one, self.other
        self._tell("comparing …")

        def work() -> None:
            self.post_message(Compared(compare_states(one, other), one, other))

        self.run_worker(work, thread=True, exclusive=True, group="diff")

    def on_compared(self, message: Compared) -> None:
        if message.one is not self.one or message.other is not self.other:
            return  # another comparison was asked for since
        self.found = found = message.found
        lines = []
        for section in found.sections:
            if section.changes:
                lines.append(Line(section, None))
                lines += [Line(section, change) for change in section.changes]
        self.query_one(Lines).fill(lines, 1 if lines else 0)
        self.query_one(Lines).focus()
        self._draw()
        self._tell(self._said())

    def _said(self) -> str:
        """What differs in a sentence."""
        assert self.found is not None
        if self.found.empty:
            same = self.one == self.other
            hint = ": move on, or m marks a moment to compare with" if same else ""
            return f"{'it is the same event' if same else 'nothing differs'}{hint}"
        return "; ".join(f"{_TITLES[each.part]}: {_counts(each)}" for each in self.found.sections if each.changes)

    def _draw(self) -> None:
        name = words.shown(self.desk.trace.model.name)
        count = sum(len(each.changes) for each in self.found.sections) if self.found is not None else 0
        self.query_one("#status", Static).update(f" gradviz  {name}  diff · {words.counted(count, 'difference')}")
        self.query_one(Sides).draw(self.one, self.other, self.labels)
        self.query_one(Lines).repaint()
        self.query_one(Hints).draw(_KEYS, (("?", "help", "help"), ("esc", "back", "back")))

    def _tell(self, text: str) -> None:
        self.query_one("#told", Static).update(words.prose(text, 80))

    # Rows.

    def _describe(self, line: Any, width: int) -> Row:
        section, change = line
        if change is None:
            alike = f" · {section.alike:,} alike" if section.alike else ""
            return [(_TITLES[section.part], "title"), (f" · {_counts(section)}{alike}", "dim")]
        key, side = _widths(width)
        seen = change.before if change.after is ABSENT else change.after
        if isinstance(seen, OpSeen) and change.kind != "changed":  # the sign says on which side; names need the room
            return [*self._key(change, key), *_op_row(seen, change, width - key)]
        before, after = (self._value(change, value, side) for value in (change.before, change.after))
        return _beside(self._key(change, key), before, after, side)

    def _key(self, change: Change, width: int) -> Row:
        """What the row is about, behind a sign of what became of it."""
        if change.part == "gradient ops":
            seen = change.before if change.after is ABSENT else change.after
            number = f"{seen.index} "
            kind = words.shorten(words.shown(seen.op.type), width - 3 - len(number))
            return [_GLYPHS[change.kind], (number, "dim"), (pad(kind, width - 2 - len(number)), "kind")]
        name = words.blob(change.blob, change.version, width - 3)
        return [_GLYPHS[change.kind], (pad(name, width - 2), "strong")]

    def _value(self, change: Change, value: Any, width: int) -> Row:
        if value is ABSENT:
            return [("–", "dim")]
        if isinstance(value, OpSeen):
            return _op_row(value, change, width)
        if change.part == "generators":
            return self._generators(value, change)
        if change.part == "gradient map":
            return [(gradient_text(value, width), "strong")] if value is not None else [("none", "dim")]
        return [(f"version {value}", "strong")]

    def _generators(self, found: tuple[Any, ...], change: Change) -> Row:
        """The generators of a version: how many, and the newest in full."""
        moment = self.one if found is change.before else self.other
        newest = generator_row(moment.trace, found[-1])
        return [(f"{len(found)}: … " if len(found) > 1 else "", "dim"), *newest]

    # Keys.

    def on_line_view_chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        line = self.query_one(Lines).thing
        if line is None or line.change is None:
            return
        if line.change.event is None:
            self._tell("the two moments are of different walks: no event leads from one to the other")
            return
        self.dismiss(line.change.event)

    def action_section(self, by: int) -> None:
        """To the first row of the next section, or of the one before."""
        lines = self.query_one(Lines)
        starts = [i + 1 for i, line in enumerate(lines.things) if line.change is None]
        if by > 0:
            found = next((i for i in starts if i > lines.selected), None)
        else:
            found = next((i for i in reversed(starts) if i < lines.selected), None)
        if found is not None:
            lines.select(found)

    def action_switch(self) -> None:
        """Between the mark and the last stop."""
        if self.desk.mark is None:
            self._tell("no moment is marked: m on the debug screen marks one")
            return
        marked = "marked" in self.labels
        self.labels = ("last stop" if marked else "marked", "now")
        self.one = Moment(self.desk.trace, self.desk.before) if marked else self.desk.mark
        self.other = Moment(self.desk.trace, self.desk.position)
        self.compare()

    def action_swap(self) -> None:
        self.one, self.other, self.labels = self.other, self.one, self.labels[::-1]
        self.compare()

    def action_goto(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        hint = f"an event from 0 to {len(self.desk.trace.events) - 1}"
        self.app.push_screen(Prompt("compare with event", hint=hint, check=self._check), self._go)

    def _check(self, text: str) -> str:
        last = len(self.desk.trace.events) - 1
        number = text.strip().removeprefix("e")
        return "" if number.isdecimal() and int(number) <= last else f"an event by its number, from 0 to {last}"

    def _go(self, text: str | None) -> None:
        if text:
            self.one = Moment(self.desk.trace, int(text.strip().removeprefix("e")))
            self.other = Moment(self.desk.trace, self.desk.position)
            self.labels = ("chosen", "now")
            self.compare()

    def action_back(self) -> None:
        self.dismiss(None)


def _op_row(seen: OpSeen, change: Change, width: int) -> Row:
    """A gradient operator; where it was renamed only its outputs, for these are what differs."""
    outputs = Names(
        [(new, None, "accent" if new != old else "") for old, new in zip(seen.op.outputs, seen.outputs, strict=True)]
    )
    if change.kind == "changed":
        return [("→ ", "dim"), *outputs.spans(max(width - 2, 1), max(width - 2, 6))]
    return arrow(Names([(name, None, "") for name in seen.op.inputs]), outputs, width, share=0.6)


def _counts(section: Section) -> str:
    kinds: tuple[Kind, ...] = ("added", "removed", "changed")
    parts = [(section.count(kind), kind) for kind in kinds]
    word = "renamed" if section.part == "gradient ops" else "changed"
    return ", ".join(f"{count:,} {word if kind == 'changed' else kind}" for count, kind in parts if count)
