"""Choosing the ys: what the gradient is asked of, sensible losses first, each with a given gradient if one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from gradviz.ops.records import GradientSlice
from gradviz.tui import words
from gradviz.tui.panes.happened import gradient_text
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Lines
from gradviz.tui.screens.prompt import Prompt

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.ops.records import Gradient
    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row

LOSSES = ("Loss", "CrossEntropy", "Distance", "Perplexity")
"""Parts of the names of operator types whose outputs are losses, or may be."""


def candidates(desk: Desk) -> list[str]:
    """Every blob that an operator writes, and the present ys: sensible choices first."""
    net, ops = desk.trace.net, desk.recording.ops
    unread = _unread(desk)
    written = [name for op in reversed(ops) for name in op.outputs]
    losses = [n for op in reversed(ops) if _is_loss(op.type) for n in op.outputs]
    means = [n for op in reversed(ops) if op.type == "AveragedLoss" for n in op.outputs]
    ranked = [*desk.trace.ys, *means, *losses, *net.external_output, *unread, *written]
    return list(dict.fromkeys(name for name in ranked if name))


def _unread(desk: Desk) -> list[str]:
    """Blobs that are written and not read afterwards, in the order of writing."""
    pending: dict[str, None] = {}
    for op in desk.recording.ops:
        for name in op.inputs:
            pending.pop(name, None)
        pending.update(dict.fromkeys(op.outputs))
    return list(pending)


def _is_loss(type: str) -> bool:
    return any(part in type for part in LOSSES) and not type.endswith("Gradient")


def parse_gradient(text: str) -> Gradient:
    """A given gradient as it is typed: a name, or `indices,values`; empty for ones."""
    text = text.strip()
    if not text:
        return None
    indices, comma, values = text.partition(",")
    return GradientSlice(indices.strip(), values.strip()) if comma else text


def check_gradient(text: str) -> str:
    """What is wrong with a given gradient."""
    gradient = parse_gradient(text)
    if isinstance(gradient, GradientSlice) and not (gradient.indices and gradient.values):
        return "a sparse gradient is two blobs: indices,values"
    return ""


class YsScreen(ModalScreen["dict[str, Any] | None"]):
    """Gives the chosen ys, with their gradients."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "Choose", id="ys.toggle", tooltip="Choose the blob, or leave it out"),
        Binding("enter", "accept", "Walk again", priority=True, id="ys.accept", tooltip="Walk again with these ys"),
        Binding("g", "gradient", "Gradient", id="ys.gradient", tooltip="Give the selected y a gradient"),
        Binding("slash", "filter", "Filter", id="ys.filter", tooltip="Show blobs with this in their names"),
        Binding("escape,q", "close", "Close", id="ys.close", tooltip="Leave the ys as they are"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.ys: dict[str, Gradient] = dict(desk.trace.ys)
        self._all = candidates(desk)
        self._outside = set(desk.trace.net.external_output)
        self._unread = set(_unread(desk))

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall") as dialog:
            dialog.border_title = "ys: the gradient of what?"
            dialog.border_subtitle = "space choose · enter walk again · g given gradient · / filter · esc back"
            yield Static("", markup=False, classes="note")
            yield Lines(self._describe)

    def on_mount(self) -> None:
        self._fill(self._all)
        self.query_one(Lines).focus()

    def _fill(self, names: list[str], selected: int = 0) -> None:
        self.query_one(Lines).fill(names, selected)
        self._note()

    def _note(self) -> None:
        chosen = ", ".join(words.blob(name, None, 24) for name in list(self.ys)[:4])
        more = f" and {len(self.ys) - 4} more" if len(self.ys) > 4 else ""
        text = f"chosen: {chosen}{more}" if self.ys else "nothing is chosen yet: space on a blob"
        self.query_one(".note", Static).update(text)

    def _describe(self, name: Any, width: int) -> Row:
        chosen = name in self.ys
        names = max(min(width // 3, 32), 10)
        row: Row = [
            ("[x] " if chosen else "[ ] ", "accent" if chosen else "dim"),
            (pad(words.blob(name, None, names), names), "strong" if chosen else ""),
            ("  ", ""),
        ]
        if chosen and self.ys[name] is not None:
            row += [("gradient ", "dim"), (gradient_text(self.ys[name], 30), "strong"), ("  ", "")]
        return [*row, *self._why(name)]

    def _why(self, name: str) -> Row:
        """What speaks for a blob."""
        writes = [use for use in self.desk.index.history(name) if use.writes]
        notes = ["external output"] if name in self._outside else ["nothing reads it"] if name in self._unread else []
        if not writes:
            return [(" · ".join(["no op writes it", *notes]), "dim")]
        op = writes[-1].op
        type = self.desk.op_record(op).type
        loss: Row = [("loss ", "good")] if _is_loss(type) else []
        tail = "".join(f" · {note}" for note in notes)
        return [*loss, (f"op {op} ", "dim"), (words.shorten(words.shown(type), 24), "kind"), (tail, "dim")]

    def action_choose(self) -> None:
        name = self.query_one(Lines).thing
        if name is None:
            return
        if name in self.ys:
            del self.ys[name]
        else:
            self.ys[name] = None
        self._note()
        self.query_one(Lines).repaint()

    def on_line_view_chosen(self) -> None:
        self.action_choose()

    def action_gradient(self) -> None:
        name = self.query_one(Lines).thing
        if name is None:
            return
        hint = "a blob, or indices,values for a sparse gradient · nothing for ones"
        present = self.ys.get(name)
        value = ",".join(present) if isinstance(present, GradientSlice) else present or ""
        label = f"gradient of {words.shown(name)}"
        self.app.push_screen(Prompt(label, value=value, hint=hint, check=check_gradient), self._give(name))

    def _give(self, name: str) -> Any:
        def given(text: str | None) -> None:
            self.ys[name] = parse_gradient(text or "")
            self._note()
            self.query_one(Lines).repaint()

        return given

    def action_filter(self) -> None:
        self.app.push_screen(Prompt("blobs with", hint="part of a name · nothing for all"), self._filtered)

    def _filtered(self, text: str | None) -> None:
        names = [name for name in self._all if not text or text.lower() in name.lower()]
        self._fill(names)

    def action_accept(self) -> None:
        if not self.ys:
            self.query_one(".note", Static).update("choose at least one blob: space on a line")
            return
        self.dismiss(self.ys)

    def action_close(self) -> None:
        self.dismiss(None)
