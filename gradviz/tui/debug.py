"""The debug screen: panes around a session, and the keys that move it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Container

from gradviz.debug.breakpoints import Breakpoint
from gradviz.tui import keys
from gradviz.tui.desk import Desk
from gradviz.tui.lines import LineView
from gradviz.tui.opening import Opening
from gradviz.tui.panes.algorithm import VISIT_PHASES, AlgorithmPane
from gradviz.tui.panes.forward import ForwardPane
from gradviz.tui.panes.gradient import GradientPane
from gradviz.tui.panes.graph import MOST_HOPS, GraphPane
from gradviz.tui.panes.header import Header, Hints
from gradviz.tui.panes.sentence import Sentence
from gradviz.tui.panes.state import StatePane
from gradviz.tui.panes.timeline import Timeline

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from gradviz.debug import Session

PANES = ("forward", "algorithm", "state", "gradient", "graph", "timeline")
"""Ids of the panes, in the order in which tab goes through them."""

_MOMENT = 0.015
"""Seconds for which a walk goes on before keys are looked at again."""


class DebugScreen(Opening):
    """Where am I, what just happened, and why."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.BINDINGS]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  (Textual's declaration is no ClassVar)
        (0, "-tiny"),
        (60, "-narrow"),
        (100, "-normal"),
        (160, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]  # noqa: RUF012
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._one = "algorithm"
        self._stride = 200
        self._told = 0.0

    # What is on it.

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        with Container(id="panes"):
            yield ForwardPane(id="forward", classes="pane")
            yield AlgorithmPane(id="algorithm", classes="pane")
            yield StatePane(id="state", classes="pane")
            yield GradientPane(id="gradient", classes="pane")
            yield GraphPane(id="graph", classes="pane")
        yield Timeline(id="timeline")
        yield Sentence()
        yield Hints(id="hints")

    def on_mount(self) -> None:
        self._show_pane()
        self.redraw()
        self.call_after_refresh(self.walk_on)

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw)

    def open(self, session: Session) -> None:
        """Debug another session in place of the present one."""
        hops, folded, mark = self.desk.hops, self.desk.folded, self.desk.mark
        self.desk = Desk(session)
        self.desk.hops, self.desk.folded, self.desk.mark = hops, folded, mark
        self.redraw()
        self.call_after_refresh(self.walk_on)

    # A walk that goes on behind the screen.

    def walk_on(self) -> None:
        """Let the walk go on for a moment, then again; keys are answered in between."""
        trace = self.desk.trace
        if trace.finished:
            return
        start = time.perf_counter()
        finished = trace.advance(self._stride)
        took = time.perf_counter() - start
        self._stride = max(int(self._stride * min(max(_MOMENT / max(took, 1e-6), 0.5), 2)), 10)
        if finished:
            tell = getattr(self.app, "walk_finished", None)
            if tell is not None:
                tell()
        if self.onward is not None:
            self.travel(self.onward)
        elif finished or start - self._told > 0.25:
            self._told = start
            self.redraw()
        self.set_timer(0.005, self.walk_on)

    @property
    def small(self) -> bool:
        """Whether there is room for one pane only."""
        return self.has_class("-tiny") or self.has_class("-low")

    def redraw(self) -> None:
        """Draw every pane that is seen."""
        if not self.is_mounted:
            return
        desk = self.desk
        self.query_one(Header).draw(desk, str(self.count) if self.count else "")
        for name in PANES:
            pane: Any = self.query_one(f"#{name}")
            if pane.display:
                pane.draw(desk)
        self.query_one(Sentence).draw(desk)
        self._draw_hints()

    def _draw_hints(self) -> None:
        hints: keys.Hints = keys.HINTS
        if self.small:
            hints = (("tab", "next (small)", "turn(1)"), *hints)
        elif isinstance(self.focused, GraphPane):
            hints = (("+ -", "hops", "hops(1)"), ("enter", "go there", "choose"), *hints)
        elif isinstance(self.focused, StatePane):
            hints = (("← →", "tabs", "pane('state')"), *hints)
        elif isinstance(self.focused, GradientPane):
            hints = (("enter", "who made this", "choose"), *hints)
        elif isinstance(self.focused, AlgorithmPane):
            hints = (("z", "fold", "fold"), ("enter", "go there", "choose"), *hints)
        elif isinstance(self.focused, ForwardPane):
            hints = (("t", "run to here", "run_to"), ("enter", "go there", "choose"), *hints)
        by_key = {hint[0]: hint for hint in reversed(hints)}
        hints = tuple(dict.fromkeys(by_key[hint[0]] for hint in hints))
        self.query_one(Hints).draw(hints, keys.TAIL if self.size.width >= 44 else keys.TAIL[:1])

    def look_at(self, op: int) -> None:
        """Select a forward operator; the cursor stays where it is."""
        self.desk.op = op
        for name in ("forward", "graph"):
            pane: Any = self.query_one(f"#{name}")
            if pane.display:
                pane.draw(self.desk)

    def action_look(self, by: int) -> None:
        by *= self.take_count()
        recording = self.desk.recording
        if recording.ops:
            last = recording.offset + len(recording.ops) - 1
            self.show_pane("forward")
            self.look_at(min(max(self.desk.op + by, recording.offset), last))

    # Panes.

    def action_fold(self) -> None:
        self.take_count()
        pane = self.query_one(AlgorithmPane)
        phase = pane.phase if pane.has_focus else self.desk.event.phase
        if phase in VISIT_PHASES or phase == "seed":
            self.desk.folded ^= {phase}
            pane.draw(self.desk)

    def action_hops(self, by: int) -> None:
        self.take_count()
        self.desk.hops = min(max(self.desk.hops + by, 0), MOST_HOPS)
        self.show_pane("graph", focus=False)
        self.query_one(GraphPane).draw(self.desk)

    def action_pane(self, name: str) -> None:
        self.take_count()
        state = self.query_one(StatePane)
        if name == "state" and state.has_focus:
            state.action_turn(1)
        self.show_pane(name)

    def action_turn(self, by: int) -> None:
        self.take_count()
        focused = self.focused.id if self.focused is not None else None
        here = PANES.index(focused) if focused in PANES else -1 if by > 0 else 0
        names = PANES[:-1] if self.small else PANES
        self.show_pane(names[(here + by) % len(names)])

    def action_escape(self) -> None:
        if self.take_count() == 1 and self.focused is not None:
            self.set_focus(None)
        self.desk.blob = None
        if self.desk.current_op is not None:
            self.desk.op = self.desk.current_op
        self.redraw()

    def show_pane(self, name: str, *, focus: bool = True) -> None:
        """Bring a pane into sight, where not all have room, and into focus."""
        if self.small and name != "timeline":
            self._one = name
        if name in ("gradient", "graph"):
            self.query_one("#panes").set_class(name == "graph", "-graph")
        self._show_pane()
        pane: Any = self.query_one(f"#{name}")
        if not pane.size:
            self.call_after_refresh(lambda: pane.draw(self.desk))
        if focus:
            self.set_focus(pane)

    def _show_pane(self) -> None:
        for name in PANES[:-1]:
            self.query_one(f"#{name}").set_class(name == self._one, "-shown")

    def on_descendant_focus(self) -> None:
        self._draw_hints()

    def on_descendant_blur(self) -> None:
        self._draw_hints()

    # What the panes tell.

    def on_line_view_selected(self, message: LineView.Selected) -> None:
        view = message.view
        if isinstance(view, ForwardPane):
            self.desk.op = view.op
            graph = self.query_one(GraphPane)
            if graph.display:
                graph.draw(self.desk)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        view = message.view
        if isinstance(view, ForwardPane):
            self.travel_to_op(view.op)
        elif isinstance(view, GraphPane):
            self._choose_node(view)
        elif isinstance(view, AlgorithmPane | StatePane | GradientPane):
            self._choose_event(view)

    def _choose_event(self, view: AlgorithmPane | StatePane | GradientPane) -> None:
        event = view.event
        if event is not None:
            self.travel(lambda: self.session.goto(event))
        elif isinstance(view, StatePane) and view.blob is not None:
            self.show_versions(view.blob)
        elif self.desk.event.kind == "fail":
            self.action_open()

    def _choose_node(self, view: GraphPane) -> None:
        ref: tuple[Any, ...] = view.node.ref if view.node is not None else ()
        if ref[:1] == ("op",):
            self.travel_to_op(ref[1])
        elif ref[:1] == ("gradient",):
            event = self.desk.index.maker(ref[1])
            self.travel(lambda: self.session.goto(event))
        elif ref[:1] == ("blob",):
            self.show_versions(ref[1])

    def show_versions(self, blob: str) -> None:
        """Show a blob's history."""
        self.desk.blob = blob
        state = self.query_one(StatePane)
        state.draw(self.desk)
        state.turn_to("versions")

    def on_forward_pane_gutter(self, message: ForwardPane.Gutter) -> None:
        self.toggle(Breakpoint("op", message.op))

    def on_timeline_travel(self, message: Timeline.Travel) -> None:
        if message.event != self.session.position:
            self.travel(lambda: self.session.goto(message.event))

    async def on_hints_pressed(self, message: Hints.Pressed) -> None:
        focused: Widget | None = self.focused
        if message.action == "choose":
            if isinstance(focused, LineView):
                focused.action_choose()
            return
        await self.run_action(message.action)
