"""What dialogs share: a list of lines made beforehand, and a frame with a title."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding

from gradviz.tui.lines import LineView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradviz.tui.panes.header import Hints
    from gradviz.tui.rows import Row


def bindings_of(cls: type) -> list[Binding]:
    """The bindings that a class of ours and its bases declare, those of bases last."""
    own = [each for each in cls.__mro__ if each.__module__.startswith("gradviz.") and "BINDINGS" in vars(each)]
    found = [binding for each in own for binding in vars(each)["BINDINGS"] if isinstance(binding, Binding)]
    return list({binding.action: binding for binding in reversed(found)}.values())[::-1]


class Hinted:
    """A screen whose last line offers keys."""

    SHOWN: ClassVar[tuple[str, ...]] = ()
    """What the screen shows, for its help."""

    def offered(self) -> list[tuple[str, Any, list[Binding]]]:
        """Its keys for help and palette: heading, the widget that they belong to, and the keys."""
        return [("Keys", self, bindings_of(type(self)))]

    def action_help(self) -> None:
        """Open the help of this screen."""
        from gradviz.tui.screens.help import HelpScreen, of_screen

        screen: Any = self
        groups = [(heading, bindings) for heading, _, bindings in self.offered()]
        screen.app.push_screen(HelpScreen(None, of_screen(self.SHOWN, groups)))

    def commands(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        """Its keys for the command palette: title, what it does, and how to do it."""
        from gradviz.tui.screens.help import written

        screen: Any = self
        for _, widget, bindings in self.offered():
            for each in bindings:
                run = partial(screen.app.run_action, each.action, default_namespace=widget)
                yield f"{each.description}  {written(each.key)}", each.tooltip, run

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
