"""What dialogs share: a list of lines made beforehand, and a frame with a title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.tui.lines import LineView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.tui.panes.header import Hints
    from gradviz.tui.rows import Row


class Hinted:
    """A screen whose last line offers keys."""

    async def on_hints_pressed(self, message: Hints.Pressed) -> None:
        """Do what a hint offers, when it is clicked."""
        screen: Any = self
        await screen.run_action(message.action)


class Lines(LineView):
    """A list of things, each described by a function when it comes into sight."""

    def __init__(self, describe: Callable[[Any, int], Row], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._describe = describe
        self.things: Sequence[Any] = ()

    def fill(self, things: Sequence[Any], selected: int = 0) -> None:
        """Show these things."""
        self.things = things
        self.show(len(things), selected)

    @property
    def thing(self) -> Any:
        """The selected thing, None where the list is empty."""
        return self.things[self.selected] if self.count else None

    @property
    def marks_selection(self) -> bool:
        return True

    def row(self, line: int, width: int) -> Row:
        return self._describe(self.things[line], width)
