"""The state of the algorithm at the cursor, on six tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from gradviz.tui.lines import LineView
from gradviz.tui.panes import tabs

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType

    from gradviz.tui.desk import Desk
    from gradviz.tui.panes.tabs import Tab
    from gradviz.tui.rows import Row

TABS: dict[str, tuple[str, Callable[[Desk], Tab]]] = {
    "locals": ("Locals", tabs.locals_tab),
    "frontier": ("Frontier", tabs.frontier_tab),
    "generators": ("Generators", tabs.generators_tab),
    "map": ("Map", tabs.map_tab),
    "versions": ("Versions", tabs.versions_tab),
    "watches": ("Watches", tabs.watches_tab),
}
"""Tabs: name to title, and to what stands on it."""


class StatePane(LineView):
    """One tab of the state; the others are named in the title."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Tab left", show=False, id="state.left", tooltip="Show the tab to the left"),
        Binding("right", "turn(1)", "Tab right", show=False, id="state.right", tooltip="Show the tab to the right"),
    ]

    desk: Desk
    tab: Tab
    name_of_tab = "locals"

    def draw(self, desk: Desk, *, keep: bool = False) -> None:
        """Draw the tab in front; `keep` leaves the selected line where it is."""
        self.desk = desk
        self.tab = TABS[self.name_of_tab][1](desk)
        self.entitle(self._titles())
        self.show(len(self.tab), self.selected if keep else 0)

    def turn_to(self, name: str) -> None:
        """Bring a tab to the front."""
        self.name_of_tab = name
        self.draw(self.desk)

    def action_turn(self, by: int) -> None:
        names = list(TABS)
        self.turn_to(names[(names.index(self.name_of_tab) + by) % len(names)])

    def action_show(self, name: str) -> None:
        self.focus()
        self.turn_to(name)

    def _titles(self) -> str:
        """All tabs in the title, the one in front marked; shortened to four letters where room is scarce."""
        room = self.outer_size.width - 6
        front_width = len(TABS[self.name_of_tab][0]) + 2
        others = [len(title) for name, (title, _) in TABS.items() if name != self.name_of_tab]
        most = next((n for n in range(10, 2, -1) if front_width + sum(min(n, m) + 1 for m in others) <= room), 3)
        parts = []
        for name, (title, _) in TABS.items():
            front = name == self.name_of_tab
            text = f"‹{title}›" if front else title[:most]
            style = "bold" if front else ""
            parts.append(f"[{style} @click=show('{name}')]{text}[/]")
        return " ".join(parts)

    def on_resize(self) -> None:
        if hasattr(self, "desk"):
            self.entitle(self._titles())
        super().on_resize()

    @property
    def blob(self) -> str | None:
        """The blob of the selected line."""
        return self.tab[self.selected].blob if self.has_focus and len(self.tab) else None

    @property
    def event(self) -> int | None:
        """The event to which the selected line leads."""
        return self.tab[self.selected].event if len(self.tab) else None

    def row(self, line: int, width: int) -> Row:
        return self.tab[line].row(width)
