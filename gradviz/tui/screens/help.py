"""Help: every key, and what the pane that is asked about shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from gradviz.tui import keys
from gradviz.tui.panes.algorithm import LABELS
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.tui.rows import Row

_PANES: dict[str | None, tuple[str, ...]] = {
    None: (
        "gradviz plays the forward net to count versions, seeds the ys, and visits the ops last one first.",
        "The cursor stands on the last event that has happened; every key that goes forward has a twin that goes back.",
        "alt+1 to alt+6 focus a pane; there the arrows, home, end and enter are the pane's. esc gives them back.",
    ),
    "forward": (
        "The forward net. Subscripts are versions: each write to a blob raises its version.",
        "· waiting   ▶ current   ✓ done   – skipped: no gradient arrives   ✗ failed   ● breakpoint (click the gutter)",
        "enter travels to the op's visit, t runs there, b sets a breakpoint on it.",
    ),
    "algorithm": (
        "The walk as a program, at the visit of one op. ▶ marks the last event, dim lines are yet to come.",
        "enter travels to the event of a line; z folds a phase.",
    ),
    "state": (
        "What the algorithm holds. ← and → (or alt+3 again) turn the tabs; + marks what changed since the last stop.",
        "Locals: this visit. Frontier: last version of each blob, and the version whose gradient is newest.",
        "Generators: who makes the gradient of each version. Map: blob → gradient. Versions: a blob's history.",
        "b and w work on the blob of the selected line.",
    ),
    "gradient": (
        "The gradient ops made so far. old → new is a rename, so that a ╂ Sum can tell gradients apart.",
        "enter travels to the event that made the op.",
    ),
    "graph": (
        "The selected op with what it reads and writes: forward above, gradients below.",
        "─ forward   ═ gradient   ┄ sparse   ━ ╂ added up.  + and - change how far it reaches, arrows move the cursor.",
    ),
    "timeline": (
        "One tick an op, the last op of the net at the left. ● the cursor   ╂ a sum   ✗ the failure   ◆ a breakpoint.",
        "Click or drag to travel.",
    ),
}

_PHASES = (
    ("play", "Every op is played forwards: a blob's version is raised by each write."),
    ("seed", "Each y gets its gradient: one that is given, or ones made by a ConstantFill."),
    ("enter", "The gradients that the map holds for the op's outputs; without any the op is skipped."),
    ("make", "The op's gradient rule answers: gradient ops, and a gradient for each input."),
    ("check", "Each input of each gradient op must still be the version that the op saw: else its values are gone."),
    ("collect", "Outputs of gradient ops that are gradients of inputs are recorded as generators."),
    ("merge", "Indices and values of one sparse gradient become one generator."),
    ("pass_through", "A gradient that no gradient op wrote is recorded as it is."),
    ("frontier", "The newest gradient of each input now belongs to the version that the op read."),
    ("map", "Blob → gradient, for the ops that are visited next."),
    ("accumulate", "Where an input has several readers and this is the first: rename, and add the gradients up."),
)


def lines(pane: str | None) -> list[tuple[str, str, str]]:
    """What the help says: role, left column, text."""
    made = [("title", "", "Here"), *(("", "", text) for text in _PANES.get(pane, _PANES[None]))]
    for group in keys.GROUPS:
        made += [("", "", ""), ("title", "", group)]
        made += [("key", key.written, key.tooltip) for key in keys.KEYS if key.group == group]
    made += [("", "", ""), ("title", "", "Counts"), ("", "", "As in vi: 5n five events, 20o twenty ops, 7g op 7.")]
    made += [("", "", ""), ("title", "", "Phases")]
    made += [("key", LABELS[phase], text) for phase, text in _PHASES]
    if pane is not None:
        made += [("", "", ""), ("title", "", "gradviz"), *(("", "", text) for text in _PANES[None])]
    return made


_SIGNS = {"left": "←", "right": "→", "up": "↑", "down": "↓", "comma": ",", "full_stop": ".", "slash": "/"}
_SIGNS |= {
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "escape": "esc",
    "pageup": "page up",
    "pagedown": "page down",
}


def written(keys: str) -> str:
    """Keys as Textual names them, for readers."""
    return " ".join(_SIGNS.get(each, each) for each in keys.split(","))


def of_screen(texts: Iterable[str], groups: Iterable[tuple[str, Iterable[Binding]]]) -> list[tuple[str, str, str]]:
    """What the help of a screen says: what it shows, then its keys under their headings."""
    made = [("title", "", "Here"), *(("", "", text) for text in texts)]
    for heading, bindings in groups:
        made += [("", "", ""), ("title", "", heading)]
        made += [("key", written(each.key), each.tooltip) for each in bindings]
    return made


def _describe(line: Any, width: int) -> Row:
    role, left, text = line
    if role == "title":
        return [(text, "title")]
    return [(pad(left, 14), "strong"), (text, "")] if role == "key" else [(text, "")]


class HelpScreen(ModalScreen[None]):
    """The keys, and what the panes show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,h,f1", "close", "Close", id="help.close", tooltip="Close the help")
    ]

    def __init__(self, pane: str | None, made: list[tuple[str, str, str]] | None = None) -> None:
        """Help on a pane of the debug screen, or the lines `made` for another screen."""
        super().__init__()
        self._made = lines(pane) if made is None else made

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall") as dialog:
            dialog.border_title = "Help"
            dialog.border_subtitle = "↑ ↓ scroll · esc closes"
            yield Lines(_describe)

    def on_mount(self) -> None:
        view = self.query_one(Lines)
        self.call_after_refresh(view.fill, _wrapped(self._made, view.size.width or 96))
        view.focus()

    def on_resize(self) -> None:
        view = self.query_one(Lines)
        self.call_after_refresh(lambda: view.fill(_wrapped(self._made, max(view.size.width - 1, 20))))

    def action_close(self) -> None:
        self.dismiss(None)


def _wrapped(lines: list[tuple[str, str, str]], width: int) -> list[tuple[str, str, str]]:
    """Lines broken where they are too long, the text staying in its column."""
    from textwrap import wrap

    made: list[tuple[str, str, str]] = []
    for role, left, text in lines:
        room = width - 14 if role == "key" else width
        parts = wrap(text, max(room, 12)) or [""]
        made.append((role, left, parts[0]))
        made += [(role, "", part) for part in parts[1:]]
    return made
