"""The application around the screens, and `run`, which the command line calls."""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand

from gradviz.debug import Session
from gradviz.debug.breakpoints import Breakpoint, parse
from gradviz.errors import GradvizError
from gradviz.tui import keys, words
from gradviz.tui.debug import DebugScreen
from gradviz.tui.rebinding import rebind
from gradviz.tui.screens.dialog import Hinted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from textual.screen import Screen

    from gradviz.autodiff.trace import Trace

_THEME_ONLY = {"Theme", "Keys", "Quit"}
"""Of Textual's own commands the palette offers these beside ours."""


LAZY = 3000
"""Nets of more operators are shown before the walk over them has ended."""


class GradvizApp(App[int]):
    """The debugger.

    Attributes:
        session: what is debugged at the start.
        feeds: values for the net's inputs, for the Values screen.
        notices: what to tell at the start.
        alone: whether the process is there for the app only, so that its memory may be laid aside.
    """

    TITLE = "gradviz"
    CSS_PATH = "gradviz.tcss"
    ENABLE_COMMAND_PALETTE = True

    BINDINGS: ClassVar[list[Any]] = []

    def __init__(self, session: Session, *, feeds: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.session = session
        self.feeds = feeds
        self.notices: list[str] = []
        self.alone = False
        self.debug_screen = DebugScreen(session)

    def on_mount(self) -> None:
        self.push_screen(self.debug_screen)
        for notice in self.notices:
            self.notify(words.prose(notice, 80), severity="warning", timeout=10, markup=False)

    def walk_finished(self) -> None:
        """Spare the collector its searches through the events, a third of a second each where they are many."""
        if self.alone:
            gc.freeze()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action of the screen, then Textual's own."""
        if isinstance(screen, DebugScreen):
            for key in keys.KEYS:
                run = partial(screen.run_action, key.action)
                yield SystemCommand(f"{key.title}  {key.written}", key.tooltip, run)
        elif isinstance(screen, Hinted):
            yield from (SystemCommand(*command) for command in screen.commands())
        for command in super().get_system_commands(screen):
            if command.title in _THEME_ONLY:
                yield command


def run(
    model: Any,
    ys: Any = None,
    *,
    at: int | str | None = None,
    breakpoints: Sequence[str | Breakpoint] = (),
    watches: Sequence[str] = (),
    feeds: Mapping[str, Any] | None = None,
) -> int:
    """Open the debugger on a net, and stay until the user leaves.

    Args:
        model: a Model, a NetDef, or a NetDef of another generated module.
        ys: what the gradient is asked of, as for `gradviz.trace`. None: as the last session on this net had them,
            else as gradviz chooses.
        at: where the cursor stands at first: an event, `last` or `error`. None: where the last session left it, else
            the first y.
        breakpoints: set beside the saved ones, as they are typed (`7`, `type:FC`, `blob:w`) or made.
        watches: blobs to watch, beside the saved ones.
        feeds: values for the net's inputs, for the Values screen.

    Returns:
        The exit code, 0.

    Raises:
        GradvizError: there is no terminal, no such event, or a breakpoint makes no sense.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise GradvizError("the debugger needs a terminal; `gradviz trace FILE` prints the events instead")
    session = opened(model, ys, at=at, breakpoints=breakpoints, watches=watches)
    app = GradvizApp(session, feeds=feeds)
    app.alone = True
    if session.trace.finished:
        app.walk_finished()
    app.notices = [*session.trace.model.notices, *session.trace.warnings][:5]
    rebind(app)
    code = app.run()
    keep(app.debug_screen.session)
    return code or 0


def opened(
    model: Any,
    ys: Any = None,
    *,
    at: int | str | None = None,
    breakpoints: Sequence[str | Breakpoint] = (),
    watches: Sequence[str] = (),
) -> Session:
    """A session on a net, with what the last one on the same net left; see `run`."""
    from gradviz.autodiff import trace
    from gradviz.debug import saved
    from gradviz.nets import as_model

    known = as_model(model)
    last = saved.load(known)
    if ys is None and last is not None and last.chosen == "given":
        ys = last.ys
    walked = trace(known, ys, lazy=len(known.net.op) > LAZY)
    session = Session(walked)
    session.goto(walked.recording.plays)
    if last is not None:
        saved.restore(session, last)
    if at is not None:
        walked.advance()
        session.goto(_event(walked, at))
    for each in breakpoints:
        made = parse(each) if isinstance(each, str) else each
        if all(made.key != other.key for other in session.breakpoints):
            session.breakpoints.append(made)
    for blob in watches:
        if all(blob != other.blob for other in session.watches):
            session.watch(blob)
    return session


def _event(trace: Trace, at: int | str) -> int:
    last = len(trace.events) - 1
    if at == "last":
        return last
    if at == "error":
        if trace.error is None:
            raise GradvizError("--at error: the walk did not fail; --at last is its end")
        return last
    try:
        event = int(at)
    except ValueError:
        raise GradvizError(f"--at takes an event's number, `last` or `error`, not {at!r}") from None
    if not -last - 1 <= event <= last:
        raise GradvizError(f"there is no event {event}: events go from 0 to {last}")
    return event % (last + 1)


def keep(session: Session) -> Path | None:
    """Save where a session stands, for the next time the same net is opened; None where that cannot be written."""
    from gradviz.debug import saved

    while session.parent is not None:
        session = session.parent
    return saved.save(session)
