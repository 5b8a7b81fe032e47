"""The tutorial: ten steps on the real debug screen. A card says what to press and why, and waits until it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from gradviz.autodiff import trace
from gradviz.debug import Session
from gradviz.nets import load, samples
from gradviz.tui.debug import DebugScreen
from gradviz.tui.screens.opening import OpeningApp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.screen import Screen

    from gradviz.autodiff.events import Event


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the tutorial.

    Attributes:
        title: what it is about.
        press: the keys, as the card writes them.
        why: what they do, and what there is to see.
        event: whether the cursor stands where the step leads to; None where it leads elsewhere.
        screen: the screen that must have been looked at.
        mended: whether a net must have been mended.
        net: the sample that is debugged from this step on.
    """

    title: str
    press: str
    why: str
    event: Callable[[Event], bool] | None = None
    screen: str = ""
    mended: bool = False
    net: str = ""


STEPS: tuple[Step, ...] = (
    Step(
        "Events",
        "n",
        "This net uses one weight, w, in two FC ops. gradviz has played it forwards (subscripts are versions of "
        "blobs), and the loss just got its gradient, ones. n goes one event on; the line below the panes says what "
        "happened.",
        lambda event: event.op_index == 3 and event.phase == "enter",
        net="shared_weights",
    ),
    Step(
        "Ops, last one first",
        "o  o",
        "o goes to the next op. The walk visits the net backwards: press o until op 1, the second FC, is reached (O "
        "goes back if you went too far). Its output has a gradient by now, so it has something to hand on.",
        lambda event: event.op_index == 1 and event.phase == "enter",
    ),
    Step(
        "The gradient rule",
        "s",
        "s goes to the next phase, make: the rule of FC answers with the op FCGradient and says which of its outputs "
        "is the gradient of which input: w gets w_grad.",
        lambda event: event.op_index == 1 and event.kind == "make",
    ),
    Step(
        "One use of two",
        "f",
        "f goes to the end of this op. w is read by op 0 too, so w_grad is a part of its gradient only: it waits for "
        "op 0, the first reader, where all parts are there.",
        lambda event: event.op_index == 1 and event.kind == "verify",
    ),
    Step(
        "Stop where it matters",
        'B a kind == "rename" enter esc c',
        "B lists breakpoints and a adds one; this one is a condition over the event. esc comes back, and c runs to it. "
        "Both FCGradients write w_grad: the first one is renamed, so that neither is lost.",
        lambda event: event.kind == "rename",
    ),
    Step(
        "The sum",
        "n",
        "One more event: a Sum of the two parts makes the gradient of w, under the name that everybody expects.",
        lambda event: event.kind == "accumulate",
    ),
    Step(
        "Why?",
        "W enter",
        "W asks why: of the blob that stands there, or of any that you type. It tells who made the gradient, and why "
        "there is a Sum. esc comes back here.",
        screen="WhyScreen",
    ),
    Step(
        "A net that fails",
        "end",
        "Another net: its second FC was added twice by mistake, and both write h. end goes to the last event, where "
        "the walk stops: h_grad belongs to the second h by then, and the first op needs that of the first.",
        lambda event: event.kind == "fail",
        net="version_mismatch",
    ),
    Step(
        "The diagnosis",
        "enter esc",
        "enter opens the diagnosis: what was asked, what was found, who wrote which version of h. Look at it, then "
        "come back with esc. (If a pane has the focus, esc gives it back first.)",
        screen="DiagnosisScreen",
    ),
    Step(
        "The mend",
        "enter end enter",
        "Open the diagnosis again; below stands what usually mends it. end goes to the last mend, enter tries it: the "
        "mended net is walked anew on the spot. The file stays as it is.",
        mended=True,
    ),
)
DONE = Step(
    "That is all",
    "esc",
    "The walk went through. Every key that goes forward has a twin that goes back (n N, o O, s S, c C), ? lists all of "
    "them. Try `gradviz open` on a net of your own. esc leaves the tutorial.",
)


def session_on(name: str) -> Session:
    """A session on a sample, at the seed of the loss; it is never saved."""
    sample = samples.get(name)
    ys: Any = list(sample.ys) if sample is not None and sample.ys is not None else None
    made = Session(trace(load(name), ys))
    made.goto(made.trace.recording.plays)
    return made


class Card(Static):
    """What to press now, and why."""

    DEFAULT_CSS = """
    Card { height: auto; min-height: 3; max-height: 8; padding: 0 1; background: $boost; border-top: solid $accent; }
    """

    def tell(self, number: int, step: Step) -> None:
        """Show a step."""
        count = f"{number + 1}/{len(STEPS)}  " if number < len(STEPS) else ""
        self.update(
            Content.assemble(
                (f"{count}{step.title}", "bold $text-accent"),
                ("   press ", "$text-muted"),
                (step.press, "bold"),
                ("   (ctrl+n shows it, esc leaves)\n", "$text-muted"),
                step.why,
            )
        )


class TutorialScreen(DebugScreen):
    """The debug screen with a card that leads through it.

    Attributes:
        number: the step, from 0; all are done at the end.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+n", "show_me", "Show this step", id="tutorial.show", tooltip="Let gradviz do this step", show=False
        ),
    ]

    DEFAULT_CSS = """
    TutorialScreen.-low Card { max-height: 3; min-height: 2; border: none; }
    """

    def __init__(self) -> None:
        super().__init__(session_on(STEPS[0].net))
        self.number = 0
        self._looked_at: set[str] = set()

    @property
    def step(self) -> Step:
        """The step that is to be done."""
        return STEPS[self.number] if self.number < len(STEPS) else DONE

    def compose(self) -> ComposeResult:
        for each in super().compose():  # one by one: containers are open while their widgets are told
            if each.id == "hints":
                yield Card(markup=False)
            yield each

    def on_mount(self) -> None:
        self.query_one(Card).tell(self.number, self.step)

    def redraw(self) -> None:
        """Draw every pane that is seen; a step that is done gives way to the next one."""
        super().redraw()
        if self.is_mounted:
            self._look()

    def on_screen_suspend(self) -> None:
        self._looked_at.add(type(self.app.screen).__name__)

    def on_screen_resume(self) -> None:
        self._look()

    def _look(self) -> None:
        if self.number < len(STEPS) and self._is_done(self.step):
            self._advance()

    def _is_done(self, step: Step) -> bool:
        if step.mended:
            walked = self.desk.trace
            return walked.finished and walked.error is None
        if step.screen:
            return step.screen in self._looked_at
        return step.event is not None and step.event(self.desk.event)

    def _advance(self) -> None:
        self.number += 1
        self._looked_at.clear()
        self.query_one(Card).tell(self.number, self.step)
        if self.step.net:
            self.open(session_on(self.step.net))

    def action_show_me(self) -> None:
        """Do the step: travel to where it leads; what is another screen's is passed over."""
        self.take_count()
        wanted = self.step.event
        if wanted is None:
            if self.number < len(STEPS):
                self._advance()
            return
        found = next((at for at, event in enumerate(self.desk.trace.events) if wanted(event)), None)
        if found is not None:
            self.travel(lambda: self.session.goto(found))

    def action_escape(self) -> None:
        if self.count or self.focused is not None:
            super().action_escape()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        if isinstance(self.app, TutorialApp):
            self.app.exit(0)
        else:
            self.app.pop_screen()


class TutorialApp(OpeningApp):
    """The tutorial on its own."""

    def first_screen(self) -> Screen[Any]:
        return TutorialScreen()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the debug screen offers, and the tutorial's own key."""
        if isinstance(screen, TutorialScreen):
            yield SystemCommand("Show this step  ctrl+n", "Let gradviz do this step", screen.action_show_me)
        yield from super().get_system_commands(screen)


def run() -> int:
    """Show the tutorial until the user leaves; nothing of it is saved.

    Returns:
        The exit code, 0.
    """
    return TutorialApp().run() or 0
