"""The part of the Values screen that holds a run against something else: central differences, or another run."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.screens.figures import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.binding import BindingType

    from gradviz.execute.compare import Comparison
    from gradviz.execute.gradcheck import GradientReport
    from gradviz.tui.screens.figures import Figure


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a gradient check or a comparison said.

    Attributes:
        verdicts: line of the table and its verdict.
        tally: how many differ, in a few words.
        summary: all of it in a sentence.
    """

    verdicts: tuple[tuple[Figure, Verdict], ...]
    tally: str
    summary: str


class Judged(Message):
    """A check or comparison is over."""

    def __init__(self, judgement: Judgement | None, error: str = "") -> None:
        super().__init__()
        self.judgement, self.error = judgement, error


def of_report(report: GradientReport, lines: Sequence[Figure]) -> Judgement:
    """A gradient check, put to the lines whose gradients it looked at."""
    by_key = {(each.blob, each.written): each for each in lines}
    verdicts = []
    for row in report.rows:
        figure = by_key.get((row.blob, row.version))
        if figure is None:
            continue
        text = row.reason or f"{row.checked} derivatives agree ({row.method}, {row.dtype})"
        verdicts.append((figure, Verdict(row.ok, text, row.max_abs, row.max_rel, None, row.worst_index, True)))
    bad = sum(not row.ok for row in report.rows)
    said = f"gradient check: {_tally(bad, len(report.rows), 'gradient')}"
    return Judgement(tuple(verdicts), said, "; ".join([said, *report.notices]))


def of_comparison(comparison: Comparison, lines: Sequence[Figure], name: str) -> Judgement:
    """A comparison, put to the lines that were compared; a row counted by last values belongs to the last write."""
    written = {(each.blob, each.op): each for each in lines}
    last = {each.blob: each for each in lines}
    found: dict[int, tuple[Figure, Verdict]] = {}
    for row in comparison.rows:
        figure = written.get((row.blob, row.op_index)) or last.get(row.blob)
        if figure is None:
            continue
        elements = f": {row.a} here, {row.b} there" if row.worst_index is not None else ""
        text = (row.reason or ("within tolerance" if row.max_abs else "equal")) + elements
        verdict = Verdict(row.ok, text, row.max_abs, row.max_rel, row.max_ulp, row.worst_index)
        found[id(figure)] = (figure, verdict)
    bad = sum(not row.ok for row in comparison.rows)
    said = [f"against {name}: {_tally(bad, len(comparison.rows), 'value')}"]
    for names, where in ((comparison.only_a, "here only"), (comparison.only_b, "there only")):
        if names:
            said.append(f"{words.counted(len(names), 'blob')} {where}")
    return Judgement(tuple(found.values()), said[0], "; ".join(said))


def _tally(bad: int, total: int, what: str) -> str:
    if not total:
        return f"no {what} in common" if what == "value" else f"no {what} to check"
    counted = words.counted(total, what)
    return f"{bad} of {counted} {'differs' if bad == 1 else 'differ'}" if bad else f"all of {counted} agree"


class Judging(Screen["int | None"]):
    """Starts checks and comparisons beside the screen, and puts what they say into the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "check", "Check gradients", id="values.check", tooltip="Check gradients by central differences"),
        Binding("c", "compare", "Compare", id="values.compare", tooltip="Compare with a saved run, .npz or .pb file"),
    ]

    desk: Any
    values: Any
    busy: bool
    judgement: Judgement | None = None
    _cancel: threading.Event

    def all_feeds(self) -> dict[str, Any]:
        raise NotImplementedError

    def _progress(self, done: int, total: int, op: Any) -> None:
        raise NotImplementedError

    def tell(self, text: str) -> None:
        """Say something in the line below the table."""
        raise NotImplementedError

    def show_judgement(self) -> None:
        """Draw the table anew, what differs first."""
        raise NotImplementedError

    def action_check(self) -> None:
        if self.values is None or self.busy:
            return
        if self.desk.trace.error is not None:
            self.tell("the walk failed: there are no gradients to check")
            return
        self._judge("checking gradients …", self._checked)

    def _checked(self) -> Judgement:
        from gradviz.execute import check_gradients

        trace = self.desk.trace
        report = check_gradients(trace.model, self.all_feeds(), trace.ys, progress=self._progress, cancel=self._cancel)
        return of_report(report, self.values.figures)

    def action_compare(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        if self.values is None or self.busy:
            return
        prompt = Prompt(
            "compare with", hint="an .npz or .pb file with values by blob, or a saved run", check=_check_file
        )
        self.app.push_screen(prompt, self._compare)

    def _compare(self, text: str | None) -> None:
        if text:
            path = _path(text)
            self._judge(f"comparing with {path.name} …", lambda: self._compared(path))

    def _compared(self, path: Path) -> Judgement:
        from gradviz.execute import compare

        return of_comparison(compare(self.values.workspace, path), self.values.figures, path.name)

    def _judge(self, told: str, work: Callable[[], Judgement]) -> None:
        self.busy = True
        self._cancel = cancel = threading.Event()
        self.tell(f"{told} esc cancels")

        def run() -> None:
            try:
                made = Judged(work())
            except GradvizError as error:
                made = Judged(None, str(error))
            except Exception as error:  # noqa: BLE001  (whatever goes wrong in there belongs on the screen)
                made = Judged(None, f"{type(error).__name__}: {error}")
            self.post_message(Judged(None, "cancelled") if cancel.is_set() and made.judgement is None else made)

        self.run_worker(run, thread=True, exclusive=True, group="run", exit_on_error=False)

    def on_judged(self, message: Judged) -> None:
        self.busy = False
        if message.judgement is None:
            self.tell(message.error)
            return
        for figure in self.values.figures:
            figure.verdict = None
        for figure, verdict in message.judgement.verdicts:
            figure.verdict = verdict
        self.judgement = message.judgement
        self.show_judgement()


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text.strip()).expanduser()


def _check_file(text: str) -> str:
    path = _path(text)
    if not path.is_file():
        return f"there is no file {words.shown(text)}"
    return "" if path.suffix in (".npz", ".pb") else "an .npz file, or a .pb file with tensors, is wanted"
