"""Breakpoints, watches, and the screens that the debug screen opens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradviz.autodiff import trace as walk_again
from gradviz.autodiff.remedies import proves
from gradviz.debug.breakpoints import Breakpoint
from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.moving import Moving
from gradviz.tui.panes.forward import ForwardPane
from gradviz.tui.panes.graph import GraphPane
from gradviz.tui.panes.state import StatePane

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.autodiff import Trace
    from gradviz.debug import Session
    from gradviz.tui.screens.diagnosis import Part


class Opening(Moving):
    """The part of the debug screen that opens other screens and takes their answers."""

    def open(self, session: Session) -> None:
        """Debug another session in place of the present one."""
        raise NotImplementedError

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
            pane: Any = self.query_one(f"#{name}")
            pane.repaint()

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

    # Other screens.

    def action_open(self) -> None:
        self.take_count()
        if self.desk.trace.error is None:
            self.say("nothing has failed here; x runs the net, y chooses other ys")
            return
        from gradviz.tui.screens.diagnosis import DiagnosisScreen

        self.app.push_screen(DiagnosisScreen(self.desk), self._diagnosed)

    def _diagnosed(self, part: Part | None) -> None:
        if part is None:
            return
        if part.remedy is None:
            self._jump(part.op)
        else:
            self._walk(lambda trace: proves(part.remedy, trace.model, trace.ys, **trace.options).trace)

    def _jump(self, op: int | None) -> None:
        if op is not None:
            self.look_at(op)

    def action_why(self) -> None:
        """Of the selected blob or operator; else it is asked of what."""
        self.take_count()
        blob = self._selected_blob()
        if blob is not None:
            self._tell_why(blob)
            return
        from gradviz.tui.screens.prompt import Prompt

        focused = self.focused
        own = [name for name in self.desk.event.blobs if name in self.desk.recording.frontier]
        value = f"op {self.desk.op}" if isinstance(focused, ForwardPane) else own[0] if own else ""
        hint = "a blob, a gradient, or `op 3` · `*` the whole net: what is trained, what is not"
        names = list(dict.fromkeys([*own, *self.desk.recording.frontier]))
        self.app.push_screen(Prompt("why", value=value, hint=hint, names=names), self._tell_why)

    def _tell_why(self, text: str | None) -> None:
        if not text:
            return
        from gradviz.autodiff.why import why
        from gradviz.tui.screens.why import WhyScreen

        trace = self.desk.trace
        op = re.fullmatch(r"op (\d+)", text.strip())
        try:
            if op is not None and text not in self.desk.recording.frontier:
                story = why(trace, op=int(op.group(1)))
            else:
                story = why(trace, None if text == "*" else text)
        except (IndexError, GradvizError) as error:
            self.complain(str(error))
            return
        self.app.push_screen(WhyScreen(story), self._jump)

    def action_values(self) -> None:
        from gradviz.tui.screens.values import ValuesScreen

        self.take_count()
        feeds = getattr(self.app, "feeds", None)
        self.app.push_screen(ValuesScreen(self.desk, feeds), self._jump)

    def action_mark(self) -> None:
        """Mark this event for the Diff screen; a second time on the same event takes the mark away."""
        from gradviz.debug.compare_states import Moment

        self.take_count()
        here = Moment(self.desk.trace, self.session.position)
        there = self.desk.mark == here
        self.desk.mark = None if there else here
        self.say("no event is marked any more" if there else f"event {here.position} is marked; d compares with it")

    def action_diff(self) -> None:
        from gradviz.tui.screens.diff import DiffScreen

        self.take_count()
        self.app.push_screen(DiffScreen(self.desk), self._travel_to)

    def _travel_to(self, event: int | None) -> None:
        if event is not None:
            self.travel(lambda: self.session.goto(event))

    def action_ys(self) -> None:
        from gradviz.tui.screens.ys import YsScreen

        self.take_count()
        self.app.push_screen(YsScreen(self.desk), self._chosen)

    def _chosen(self, ys: dict[str, Any] | None) -> None:
        if ys is not None:
            self._walk(lambda trace: walk_again(trace.model, ys, **trace.options))

    def _walk(self, again: Callable[[Trace], Trace]) -> None:
        """Walk again, beside the screen; the breakpoints and watches stay."""
        old = self.session

        def work() -> None:
            try:
                made = type(old)(again(old.trace))
            except (GradvizError, TypeError) as error:
                self.app.call_from_thread(self.complain, str(error))
                return
            made.breakpoints, made.watches = old.breakpoints, old.watches
            self.app.call_from_thread(self._rebuilt, made)

        self.run_worker(work, thread=True, exclusive=True, group="walk", exit_on_error=False)

    def _rebuilt(self, session: Session) -> None:
        session.goto(session.trace.recording.plays)
        self.open(session)
        for warning in session.trace.warnings:
            self.complain(warning)

    def action_into(self) -> None:
        door = self.take_count() - 1
        try:
            self.open(self.session.into(door))
        except GradvizError as error:
            self.complain(str(error))

    def action_up(self) -> None:
        self.take_count()
        if self.session.parent is not None:
            self.open(self.session.parent)
        else:
            self.say("this is the outermost net")

    def action_export(self) -> None:
        from gradviz.tui.screens.export import ExportScreen

        self.take_count()
        self.app.push_screen(ExportScreen(self.desk), lambda said: self.say(said) if said else None)

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
