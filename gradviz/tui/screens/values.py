"""The Values screen: runs the net beside the screen, and shows the figures of every blob and version."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.lines import LinePane
from gradviz.tui.panes.header import Hints
from gradviz.tui.panes.look import SlicePane
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Hinted, Lines, bindings_of
from gradviz.tui.screens.feeding import SEED, Feeding
from gradviz.tui.screens.figures import COLUMNS, VERDICT, Figure, figures, fill, name_of, order
from gradviz.tui.screens.judging import Judging
from gradviz.tui.screens.looking import SLICE_KEYS, Looking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.execute import Workspace
    from gradviz.execute.missing import Missing
    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row

_NAMES = 17
_KEYS = (
    ("enter", "to the op", "open"),
    ("s", "sort", "sort"),
    ("← →", "column", "column(1)"),
    ("/", "filter", "filter"),
    ("b", "first bad", "bad"),
    ("v", "look into it", "look"),
    ("g", "check ∂", "check"),
    ("c", "compare", "compare"),
    ("d", "value/∂", "side"),
    ("r", "run again", "run"),
    ("f", "feeds", "fill"),
    ("S", "unsorted", "unsort"),
)
_FEED_KEYS = (
    ("f", "fill all from a seed", "fill"),
    ("enter", "set a shape", "open"),
    ("l", "load .npz or .pb", "load"),
    ("r", "run", "run"),
)


class Progress(Message):
    """How far the run is."""

    def __init__(self, done: int, total: int, what: str) -> None:
        super().__init__()
        self.done, self.total, self.what = done, total, what


class Done(Message):
    """The run is over: what came of it."""

    def __init__(self, values: Values | None, error: str = "", missing: tuple[Missing, ...] = ()) -> None:
        super().__init__()
        self.values, self.error, self.missing = values, error, missing


class Values:
    """What a run left: the workspace, and the lines of the table.

    Attributes:
        workspace: the values.
        figures: a line per blob and version, in the order of execution.
        bad: what the first operator that makes NaN or Inf says, and its index; None where there is none.
        error: why the run stopped before its end.
    """

    def __init__(self, workspace: Workspace, lines: list[Figure], error: str = "") -> None:
        self.workspace = workspace
        self.figures = lines
        self.error = error or workspace.stopped or ""
        found = workspace.first_bad
        self.bad: tuple[int, str] | None = None if found is None else (found.op_index, str(found))


def _mark(figure: Figure) -> tuple[str, str]:
    """The sign before a line: what a check says of it, else whether it has NaN or Inf."""
    if figure.bad or (figure.verdict is not None and not figure.verdict.ok):
        return "✗ ", "bad"
    return ("✓ ", "good") if figure.verdict is not None else ("  ", "")


class Head(LinePane):
    """The titles of the columns, above the table."""

    def rows(self, width: int) -> list[Row]:
        screen: Any = self.screen
        row: Row = [(pad("  blob", _NAMES + 2), "title")]
        for i, column in screen.seen(width - 1):
            mark = ("▾" if screen.reverse else "▴") if i == screen.sorted_by else ""
            title = f"{column.title}{mark}"
            text = pad(title, column.width) if column.left else f"{title:>{column.width}}"
            row.append((" " + text, "accent" if i == screen.column else "title"))
        return [row]

    def on_click(self, event: events.Click) -> None:
        screen: Any = self.screen
        x = _NAMES + 2
        for i, column in screen.seen(self.content_size.width - 1):
            if x <= event.x < x + column.width + 1:
                screen.sort_by(i)
                return
            x += column.width + 1


class ValuesScreen(Hinted, Feeding, Looking, Judging):
    """The values of a run; gives the forward operator that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="values.back", tooltip="Cancel the run, or back to the debug screen"),
        Binding("r", "run", "Run", id="values.run", tooltip="Run the net again"),
        Binding("s", "sort", "Sort", id="values.sort", tooltip="Sort by the marked column; again: the other way"),
        Binding("S", "unsort", "Order of execution", id="values.unsort", tooltip="Back to the order of execution"),
        Binding("left", "column(-1)", "Column left", id="values.left", tooltip="Mark the column to the left"),
        Binding("right", "column(1)", "Column right", id="values.right", tooltip="Mark the column to the right"),
        Binding("slash", "filter", "Filter", id="values.filter", tooltip="Show blobs with this in their names"),
        Binding("question_mark,h,f1", "help", "Help", id="values.help", tooltip="What is shown here, and the keys"),
        Binding("b", "bad", "First bad", id="values.bad", tooltip="To the first op that makes NaN or Inf"),
    ]

    SHOWN = (
        "A line for each blob and version, as they were executed: figures of the value, and behind ∂ of its gradient.",
        "✗ NaN or Inf, or off in a check   ✓ agrees with the check   – nothing to say.",
        "Below (v): how the elements are spread, and the elements themselves. tab goes there and back, esc back.",
        "On the axes ↓ and → run over the screen, ◂▸ is the one that , and . step along; a takes the next one.",
    )

    def __init__(self, desk: Desk, feeds: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.desk = desk
        self.feeds: dict[str, Any] = dict(feeds or {})
        self.values: Values | None = desk.values
        self.texts: dict[str, str] = {}
        self.column = 0
        self.sorted_by = -1
        self.reverse = False
        self.filter = ""
        self._cancel = threading.Event()
        self.busy = False
        self._keys: tuple[tuple[str, str, str], ...] = ()

    # What is on it.

    def compose(self) -> ComposeResult:
        yield Static("", markup=False, id="status")
        with Vertical(id="table"):
            yield Head(id="head")
            yield Lines(self._describe, id="figures")
        yield from self.compose_look()
        yield Lines(self.describe_missing, id="missing")
        yield Static("", markup=False, id="told")
        yield Hints(id="hints")

    def on_mount(self) -> None:
        if self.values is None:
            self.action_run()
        else:
            self.show_all()

    def offered(self) -> list[tuple[str, Any, list[Binding]]]:
        """Its keys, and those of the window on the elements."""
        return [*super().offered(), ("In the elements", self.query_one(SlicePane), bindings_of(SlicePane))]

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_all)

    def seen(self, width: int) -> list[tuple[int, Any]]:
        """The columns that fit, from the first that keeps the marked one in sight."""
        room = width - _NAMES - 2
        columns = order(width, self.judgement is not None)
        first, marked = 0, columns.index(self.column)
        while first < marked and sum(COLUMNS[i].width + 1 for i in columns[first : marked + 1]) > room:
            first += 1
        found = []
        for i in columns[first:]:
            room -= COLUMNS[i].width + 1
            if room < 0:
                break
            found.append((i, COLUMNS[i]))
        return found

    def _describe(self, figure: Any, width: int) -> Row:
        mark = _mark(figure)
        role = "bad" if figure.bad else "strong" if figure.version is not None else ""
        row: Row = [mark, (pad(name_of(figure, _NAMES), _NAMES), role)]
        for i, column in self.seen(width):
            text = words.shorten(column.text(figure), column.width)
            text = pad(text, column.width) if column.left else f"{text:>{column.width}}"
            row.append((" " + text, self._role(figure, i, text.strip())))
        return row

    def _role(self, figure: Figure, i: int, text: str) -> str:
        title = COLUMNS[i].title
        counts = title.endswith(("NaN", "Inf")) and text not in ("0", "–")
        off = title == "verdict" and text.startswith("✗")
        gradient = title.startswith("∂") and figure.gradient_health is not None and not figure.gradient_health.ok
        return "bad" if counts or gradient or off else "accent" if i == self.sorted_by else "dim" if text == "–" else ""

    def show_all(self) -> None:
        """Draw what there is: the table, or what is missing."""
        asked = bool(self.missing) and not self.busy
        self.query_one("#table").display = not asked
        missing, table = self.query_one("#missing", Lines), self.query_one("#figures", Lines)
        missing.display = asked
        if asked:
            missing.fill(self.missing, missing.selected)
            missing.focus()
        else:
            table.fill(self._lines(), table.selected)
            table.focus()
        self.query_one(Head).repaint()
        self.draw_look()
        self._say()

    def _lines(self) -> list[Figure]:
        if self.values is None:
            return []
        lines = self.values.figures
        if self.filter:
            lines = [each for each in lines if self.filter.lower() in each.blob.lower()]
        if self.sorted_by >= 0:
            lines = sorted(lines, key=COLUMNS[self.sorted_by].key, reverse=self.reverse)
        return lines

    def _say(self) -> None:
        """The lines around the table: what was run, what is wrong, which keys help."""
        model = self.desk.trace.model
        name = words.shown(model.path.name if model.path else model.name)
        keys: Sequence[tuple[str, str, str]] = _KEYS
        status = told = ""
        if self.missing and not self.busy:
            status = f"{words.counted(len(self.missing), 'feed')} missing before the net can run"
            keys = _FEED_KEYS
        elif self.values is not None:
            shown = self.query_one("#figures", Lines).count
            status = f"{words.counted(shown, 'value')}" + (f" with “{words.shown(self.filter)}”" if self.filter else "")
            bad = self.values.bad
            told = self.values.error or (f"first bad: {bad[1]}" if bad else "no value has NaN or Inf")
            if self.judgement is not None:
                told = self.judgement.summary
                status += f" · {self.judgement.tally}"
        self.query_one("#status", Static).update(f" gradviz  {name}  values · {status}")
        if not self.busy:
            self.tell(told)
        self._keys = tuple(keys)
        self._draw_hints()

    def _draw_hints(self) -> None:
        keys = SLICE_KEYS if isinstance(self.focused, SlicePane) else self._keys
        self.query_one(Hints).draw(keys, (("?", "help", "help"), ("esc", "back", "back")))

    def on_descendant_focus(self) -> None:
        self._draw_hints()

    # Running.

    def action_run(self) -> None:
        if self.busy:
            return
        self.busy = True
        self._cancel = threading.Event()
        self.tell("running … esc cancels")
        self.run_worker(self._work, thread=True, exclusive=True, group="run", exit_on_error=False)
        self.show_all()

    def _work(self) -> None:
        """In a thread of its own: run, then work out the figures."""
        try:
            self.post_message(self._ran())
        except Exception as error:  # noqa: BLE001  (whatever goes wrong in there belongs on the screen)
            self.post_message(Done(None, f"{type(error).__name__}: {error}"))

    def _ran(self) -> Done:
        from gradviz.execute import run
        from gradviz.execute.missing import MissingFeedsError

        error = ""
        trace = self.desk.trace
        ys: Any = () if trace.error is not None else trace.ys
        try:
            workspace: Any = run(
                trace.model, self.all_feeds(), ys, seed=SEED, progress=self._progress, cancel=self._cancel
            )
        except MissingFeedsError as missing:
            return Done(None, "", tuple(missing.missing))
        except GradvizError as failure:
            workspace, error = getattr(failure, "workspace", None), str(failure)
            if workspace is None:
                return Done(None, error)
        return Done(self._figured(workspace, error))

    def _figured(self, workspace: Workspace, error: str) -> Values:
        lines = figures(self.desk, workspace)
        for i, figure in enumerate(lines):
            if self._cancel.is_set():
                break
            fill(workspace, figure)
            self._progress(i + 1, len(lines), None)
        return Values(workspace, lines, error)

    _told = 0.0

    def _progress(self, done: int, total: int, op: Any) -> None:
        now = time.monotonic()
        if now - self._told > 0.05:
            self._told = now
            what = op if isinstance(op, str) else "figures" if op is None else op.type
            self.post_message(Progress(done, total, words.shown(what)))

    def on_progress(self, message: Progress) -> None:
        if not self.busy:
            return
        width = 24
        part = message.done * width // max(message.total, 1)
        bar = "█" * part + "░" * (width - part)
        text = f"{bar} {message.done:,}/{message.total:,} {message.what} · esc cancels"
        self.tell(text)

    def on_done(self, message: Done) -> None:
        self.busy = False
        self.missing = message.missing
        if message.missing:
            known = {each.blob for each in message.missing}
            self.asked = (*message.missing, *(each for each in self.asked if each.blob not in known))
        elif message.values is None:
            self.missing = self.asked
        if message.values is not None:
            self.values = self.desk.values = message.values
            self._forget_judgement()
        self.show_all()
        if message.error:
            self.tell(message.error)

    # Checks and comparisons.

    def show_judgement(self) -> None:
        """The table with its verdicts, what differs most first and selected."""
        self.sorted_by = self.column = VERDICT
        self.reverse = True
        self.query_one("#figures", Lines).selected = 0
        self.show_all()

    def _forget_judgement(self) -> None:
        self.judgement = None
        self.column = min(self.column, VERDICT - 1)
        if self.sorted_by >= VERDICT:
            self.sorted_by = -1

    # The table.

    def on_line_view_selected(self, message: Lines.Selected) -> None:
        """A line with a verdict says it in full."""
        figure = self.figure
        if message.view.id == "figures" and figure is not None and figure.verdict is not None:
            self.tell(f"{name_of(figure, 40)}: {figure.verdict.text}")

    def on_line_view_chosen(self, message: Lines.Chosen) -> None:
        view: Any = message.view
        if view.id == "missing":
            self._set_shape(view.thing)
        elif view.thing is not None:
            self._to_op(view.thing.op)

    def _to_op(self, op: int | None) -> None:
        """Back to the debug screen, with the forward operator behind an operator of the run selected."""
        assert self.values is not None
        forward = self.values.workspace.forward
        if op is not None and op >= forward:
            maker = self.desk.index.maker(op - forward)
            op = self.desk.recording.events[maker].op_index
        if op is not None:
            self.dismiss(op)

    def sort_by(self, column: int) -> None:
        """Sort by a column; by the same one again: the other way round."""
        self.reverse = not self.reverse if column == self.sorted_by else True
        self.column = self.sorted_by = column
        self.show_all()

    def action_sort(self) -> None:
        self.sort_by(self.column)

    def action_unsort(self) -> None:
        self.sorted_by = -1
        self.show_all()

    def action_column(self, by: int) -> None:
        columns = order(self.size.width, self.judgement is not None)
        here = columns.index(self.column) + by
        self.column = columns[min(max(here, 0), len(columns) - 1)]
        self.query_one(Head).repaint()
        self.query_one("#figures", Lines).repaint()

    def action_filter(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        hint = "part of a name · nothing for all"
        self.app.push_screen(Prompt("blobs with", value=self.filter, hint=hint), self._filtered)

    def _filtered(self, text: str | None) -> None:
        self.filter = text or ""
        self.show_all()

    def action_bad(self) -> None:
        lines = self._lines()
        if self.values is None:
            return
        if self.values.bad is None:
            self.tell("no op makes NaN or Inf out of finite inputs")
            return
        op = self.values.bad[0]
        found = next((i for i, each in enumerate(lines) if each.op == op and each.bad), None)
        if found is not None:
            self.query_one("#figures", Lines).select(found)

    def action_open(self) -> None:
        focused = self.focused
        if isinstance(focused, Lines):
            focused.action_choose()

    def tell(self, text: str) -> None:
        """Say something in the line below the table."""
        self.query_one("#told", Static).update(words.prose(text, 80))

    def action_back(self) -> None:
        if self.busy:
            self._cancel.set()
        elif isinstance(self.focused, SlicePane):
            self.query_one("#figures").focus()
        else:
            self.dismiss(None)
