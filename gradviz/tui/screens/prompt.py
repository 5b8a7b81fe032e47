"""One line to type: a number, a pattern, a blob. What is wrong with it is said below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Input, Static

from gradviz.tui import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType


class Beginning(Suggester):
    """Suggests the first name that begins with what is typed."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        return next((name for name in self._names if name.startswith(value) and name.isprintable()), None)


class Prompt(ModalScreen["str | None"]):
    """Asks for one line; gives None where it is left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Back", id="prompt.cancel", tooltip="Leave without an answer")
    ]

    def __init__(
        self,
        label: str,
        *,
        value: str = "",
        hint: str = "",
        check: Callable[[str], str] = lambda _: "",
        names: Sequence[str] = (),
    ) -> None:
        """Make the prompt.

        Args:
            label: what is asked for.
            value: what stands there at first.
            hint: what may be typed.
            check: gives what is wrong with an answer, empty if nothing is.
            names: completions.
        """
        super().__init__()
        self._label = label
        self._value = value
        self._hint = hint
        self._check = check
        self._names = names

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = self._label
            yield Input(self._value, suggester=Beginning(self._names) if self._names else None, compact=True)
            yield Static(self._hint or "enter: go · esc: back", markup=False, classes="note", id="hint")

    def on_input_changed(self) -> None:
        hint = self.query_one("#hint", Static)
        hint.remove_class("error")
        hint.update(self._hint or "enter: go · esc: back")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        wrong = self._check(event.value) if event.value else ""
        if not wrong:
            self.dismiss(event.value or None)
            return
        hint = self.query_one("#hint", Static)
        hint.add_class("error")
        hint.update(words.prose(wrong, 80))

    def action_cancel(self) -> None:
        self.dismiss(None)
