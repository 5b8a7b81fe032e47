"""The debug screen: panes around a session, and the keys that move it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Container
from textual.screen import Screen

from gradviz.debug.breakpoints import Breakpoint
from gradviz.errors import GradvizError
from gradviz.tui import keys, words
from gradviz.tui.desk import Desk
from gradviz.tui.lines import LineView
from gradviz.tui.panes.algorithm import VISIT_PHASES, AlgorithmPane
from gradviz.tui.panes.forward import ForwardPane
from gradviz.tui.panes.gradient import GradientPane
from gradviz.tui.panes.graph import MOST_HOPS, GraphPane
from gradviz.tui.panes.header import Header, Hints
from gradviz.tui.panes.sentence import Sentence
from gradviz.tui.panes.state import StatePane
from gradviz.tui.panes.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from gradviz.debug import Session, Stop

PANES = ("forward", "algorithm", "state", "gradient", "graph", "timeline")
"""Ids of the panes, in the order in which tab goes through them."""

_MOST = 9_999_999
"""No count is larger."""


class DebugScreen(Screen[None]):
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
        super().__init__()
        self.desk = Desk(session)
        self.count = 0
        self.pattern = ""
        self._one = "algorithm"

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

    def on_resize(self) -> None:
        self.call_after_refresh(self.redraw)

    def open(self, session: Session) -> None:
        """Debug another session in place of the present one."""
        hops, folded = self.desk.hops, self.desk.folded
        self.desk = Desk(session)
        self.desk.hops, self.desk.folded = hops, folded
        self.redraw()

    @property
    def session(self) -> Session:
        """What is debugged."""
        return self.desk.session

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
            hints = (("tab", "next pane (small terminal)", "turn(1)"), *hints)
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
        self.query_one(Hints).draw(hints, keys.TAIL)

    # Counts, as in vi.

    def on_key(self, event: events.Key) -> None:
        digit = event.character if event.character and event.character in "0123456789" else ""
        if digit and (self.count or digit != "0"):
            self.count = min(self.count * 10 + int(digit), _MOST)
            event.stop()
            self.query_one(Header).draw(self.desk, str(self.count))

    def take_count(self) -> int:
        """The count that was typed, 1 without one; it is used up."""
        count, self.count = self.count, 0
        return count or 1

    # Moving.

    def travel(self, move: Callable[[], Stop]) -> None:
        """Let the session move, then show where it is."""
        before = self.session.position
        try:
            stop = move()
        except GradvizError as error:
            self.complain(str(error))
            return
        self.desk.arrived(stop, before)
        self.redraw()

    def complain(self, text: str) -> None:
        """Say what is wrong, in one line."""
        self.notify(words.prose(text, 80), severity="error", markup=False)
        self.query_one(Header).draw(self.desk)

    def say(self, text: str) -> None:
        """Say what was done, in one line."""
        self.notify(words.prose(text, 80), timeout=3, markup=False)

    def action_step(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step(count))

    def action_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back(count))

    def action_phase(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step_phase(count))

    def action_phase_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back_phase(count))

    def action_op(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.step_op(count))

    def action_op_back(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.back_op(count))

    def action_out(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.out(count))

    def action_start(self) -> None:
        count = self.take_count()
        self.travel(lambda: self.session.to_start_of_op(count))

    def action_run(self) -> None:
        self._repeat(self.take_count(), self.session.run)

    def action_run_back(self) -> None:
        self._repeat(self.take_count(), self.session.run_back)

    def _repeat(self, count: int, move: Callable[[], Stop]) -> None:
        def moves() -> Stop:
            stop = move()
            for _ in range(count - 1):
                if stop.reason not in ("breakpoint", "watch"):
                    break
                stop = move()
            return stop

        self.travel(moves)

    def action_first(self) -> None:
        self.take_count()
        self.travel(self.session.to_start)

    def action_last(self) -> None:
        self.take_count()
        self.travel(self.session.to_end)

    def action_run_to(self) -> None:
        self.take_count()
        self.travel(lambda: self.session.run_to_op(self.desk.op))

    # Breakpoints and watches.

    def action_breakpoint(self) -> None:
        self.take_count()
        blob = self._selected_blob()
        self.toggle(Breakpoint("op", self.desk.op) if blob is None else Breakpoint("blob", blob))

    def toggle(self, breakpoint: Breakpoint) -> None:
        """Set or remove a breakpoint, and show it."""
        there = self.session.toggle(breakpoint)
        if breakpoint.kind != "op":
            self.say(f"breakpoint on {breakpoint} {'set' if there else 'removed'}")
        self._redraw_panes("forward", "timeline")

    def _redraw_panes(self, *names: str) -> None:
        """Draw panes anew where they stand: nothing scrolls."""
        for name in names:
            self.query_one(f"#{name}").refresh()

    def action_breakpoints(self) -> None:
        from gradviz.tui.screens.breakpoints import BreakpointsScreen

        self.take_count()
        self.app.push_screen(BreakpointsScreen(self.session), lambda _: self.redraw())

    def action_watch(self) -> None:
        self.take_count()
        blob = self._selected_blob()
        if blob is not None:
            self._watch(blob)
            return
        from gradviz.tui.screens.prompt import Prompt

        own = [name for name in self.desk.event.blobs if name in self.desk.recording.frontier]
        names = list(dict.fromkeys([*own, *self.desk.recording.frontier]))
        prompt = Prompt("watch blob", value=own[0] if own else "", check=self._check_blob, names=names)
        self.app.push_screen(prompt, lambda text: self._watch(text) if text else None)

    def _check_blob(self, text: str) -> str:
        from gradviz.autodiff.targets import nearest

        known = self.desk.recording.frontier
        if text in known:
            return ""
        near = nearest(text, set(known)) if len(known) < 20_000 else []
        hint = f"; did you mean {' or '.join(map(words.shown, near))}?" if near else ""
        return f"the net has no blob {words.shown(text)}{hint}"

    def _watch(self, blob: str) -> None:
        there = self.session.watch(blob)
        self.say(f"{blob} is {'watched' if there else 'not watched any more'}")
        self.query_one(StatePane).draw(self.desk, keep=True)

    def _selected_blob(self) -> str | None:
        focused = self.focused
        if isinstance(focused, StatePane):
            return focused.blob
        if isinstance(focused, GraphPane) and focused.node is not None and focused.node.ref[:1] == ("blob",):
            return str(focused.node.ref[1])
        return None

    # Finding.

    def action_goto(self) -> None:
        if self.count:
            op = self.take_count()
            self.travel(lambda: self.session.goto_op(op))
            return
        from gradviz.tui.screens.prompt import Prompt

        prompt = Prompt("go to", hint="7 an op · e143 an event · 50% a part of the way", check=self._check_goto)
        self.app.push_screen(prompt, self._go)

    def _check_goto(self, text: str) -> str:
        try:
            self._goal(text)
        except ValueError:
            return "an op by its number (7), an event (e143) or a part of the way (50%)"
        except GradvizError as error:
            return str(error)
        return ""

    def _goal(self, text: str) -> int:
        """The event that a text names."""
        text = text.strip().lower()
        last = self.session.last
        if text.endswith("%"):
            return last * min(max(int(text[:-1]), 0), 100) // 100
        if text.startswith("e"):
            event = int(text[1:])
            if not 0 <= event <= last:
                raise GradvizError(f"there is no event {event}: events go from 0 to {last}")
            return event
        return type(self.session)(self.desk.trace, self.session.position).goto_op(int(text)).position

    def _go(self, text: str | None) -> None:
        if text:
            event = self._goal(text)
            self.travel(lambda: self.session.goto(event))

    def action_find(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        self.take_count()
        hint = "a regular expression over type, name, blobs and debug info"
        self.app.push_screen(Prompt("find op", value=self.pattern, hint=hint, check=self._check_find), self._found)

    def _check_find(self, text: str) -> str:
        try:
            found = self.session.find_op(text, self.desk.op)
        except GradvizError as error:
            return str(error)
        return "" if found is not None else f"no op matches {words.shown(text)}"

    def _found(self, text: str | None) -> None:
        if text:
            self.pattern = text
            self.action_find_next()

    def action_find_next(self) -> None:
        self._find(forward=True)

    def action_find_previous(self) -> None:
        self._find(forward=False)

    def _find(self, *, forward: bool) -> None:
        count = self.take_count()
        if not self.pattern:
            self.action_find()
            return
        found: int | None = self.desk.op
        for _ in range(min(count, 1000)):
            if found is not None:
                found = self.session.find_op(self.pattern, found, forward=forward)
        if found is None:
            self.complain(f"no op matches {self.pattern}")
        else:
            self.look_at(found)

    def look_at(self, op: int) -> None:
        """Select a forward operator; the cursor stays where it is."""
        self.desk.op = op
        for name in ("forward", "graph"):
            pane: Any = self.query_one(f"#{name}")
            if pane.display:
                pane.draw(self.desk)

    def action_look(self, by: int) -> None:
        by *= self.take_count()
        self.show_pane("forward")
        self.query_one(ForwardPane).action_move(by)

    # Other screens.

    def action_open(self) -> None:
        self.take_count()
        if self.desk.trace.error is None:
            self.say("nothing has failed here; x runs the net, y chooses other ys")
            return
        from gradviz.tui.screens.diagnosis import DiagnosisScreen

        self.app.push_screen(DiagnosisScreen(self.desk), self._jump)

    def _jump(self, op: int | None) -> None:
        if op is not None:
            self.look_at(op)

    def action_values(self) -> None:
        from gradviz.tui.screens.values import ValuesScreen

        self.take_count()
        feeds = getattr(self.app, "feeds", None)
        self.app.push_screen(ValuesScreen(self.desk, feeds), self._jump)

    def action_ys(self) -> None:
        from gradviz.tui.screens.ys import YsScreen

        self.take_count()
        self.app.push_screen(YsScreen(self.desk), self._chosen)

    def _chosen(self, ys: dict[str, Any] | None) -> None:
        if ys is not None:
            self.run_worker(lambda: self._rebuild(ys), thread=True, exclusive=True, group="walk", exit_on_error=False)

    def _rebuild(self, ys: dict[str, Any]) -> None:
        """Walk again, beside the screen; the breakpoints and watches stay."""
        from gradviz.autodiff import trace
        from gradviz.debug import Session

        old = self.session
        try:
            made = Session(trace(old.trace.model, ys, skip=old.trace.skip))
        except (GradvizError, TypeError) as error:
            self.app.call_from_thread(self.complain, str(error))
            return
        made.breakpoints, made.watches = old.breakpoints, old.watches
        self.app.call_from_thread(self._rebuilt, made)

    def _rebuilt(self, session: Session) -> None:
        session.goto(session.trace.recording.plays)
        self.open(session)
        for warning in session.trace.warnings:
            self.complain(warning)

    def action_export(self) -> None:
        from gradviz.tui.screens.export import ExportScreen

        self.take_count()
        self.app.push_screen(ExportScreen(self.desk), lambda path: self.say(f"wrote {path}") if path else None)

    def action_copy(self) -> None:
        from gradviz.tui.copying import selection

        self.take_count()
        what, text = selection(self)
        self.app.copy_to_clipboard(text)
        self.say(f"copied {what}")

    def action_help(self) -> None:
        from gradviz.tui.screens.help import HelpScreen

        self.take_count()
        self.app.push_screen(HelpScreen(self.focused.id if self.focused else None))

    def action_drawing(self) -> None:
        from gradviz.tui.screens.drawing import DrawingScreen

        self.take_count()
        self.app.push_screen(DrawingScreen(self.desk), self._jump)

    def action_leave(self) -> None:
        self.app.exit()

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
        self.call_after_refresh(pane.draw, self.desk)
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
            op = view.op
            self.travel(lambda: self.session.goto_op(op))
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
            self.travel(lambda: self.session.goto_op(ref[1]))
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
