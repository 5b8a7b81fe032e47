"""The Values screen: runs the net beside the screen, and shows the figures of every blob and version."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.lines import LinePane
from gradviz.tui.panes.header import Hints
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Hinted, Lines
from gradviz.tui.screens.figures import COLUMNS, Figure, figures, fill, name_of, order

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
_SEED = 0
_KEYS = (
    ("enter", "to the op", "open"),
    ("s", "sort", "sort"),
    ("← →", "column", "column(1)"),
    ("/", "filter", "filter"),
    ("b", "first bad", "bad"),
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


class ValuesScreen(Hinted, Screen["int | None"]):
    """The values of a run; gives the forward operator that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="values.back", tooltip="Cancel the run, or back to the debug screen"),
        Binding("r", "run", "Run", id="values.run", tooltip="Run the net again"),
        Binding("s", "sort", "Sort", id="values.sort", tooltip="Sort by the marked column; again: the other way"),
        Binding("S", "unsort", "Order of execution", id="values.unsort", tooltip="Back to the order of execution"),
        Binding("left", "column(-1)", "Column left", id="values.left", tooltip="Mark the column to the left"),
        Binding("right", "column(1)", "Column right", id="values.right", tooltip="Mark the column to the right"),
        Binding("slash", "filter", "Filter", id="values.filter", tooltip="Show blobs with this in their names"),
        Binding("b", "bad", "First bad", id="values.bad", tooltip="To the first op that makes NaN or Inf"),
        Binding("f", "fill", "Fill feeds", id="values.fill", tooltip="Fill the missing feeds from a seed, and run"),
        Binding("l", "load", "Load feeds", id="values.load", tooltip="Read feeds from a .npz or .pb file, and run"),
    ]

    def __init__(self, desk: Desk, feeds: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.desk = desk
        self.feeds: dict[str, Any] = dict(feeds or {})
        self.values: Values | None = desk.values
        self.missing: tuple[Missing, ...] = ()
        self.asked: tuple[Missing, ...] = ()
        self.texts: dict[str, str] = {}
        self.column = 0
        self.sorted_by = -1
        self.reverse = False
        self.filter = ""
        self._cancel = threading.Event()
        self.busy = False

    # What is on it.

    def compose(self) -> ComposeResult:
        yield Static("", markup=False, id="status")
        with Vertical(id="table"):
            yield Head(id="head")
            yield Lines(self._describe, id="figures")
        yield Lines(self._describe_missing, id="missing")
        yield Static("", markup=False, id="told")
        yield Hints(id="hints")

    def on_mount(self) -> None:
        if self.values is None:
            self.action_run()
        else:
            self._show()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def seen(self, width: int) -> list[tuple[int, Any]]:
        """The columns that fit, from the first that keeps the marked one in sight."""
        room = width - _NAMES - 2
        columns = order(width)
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
        mark = ("✗ ", "bad") if figure.bad else ("  ", "")
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
        gradient = title.startswith("∂") and figure.gradient_health is not None and not figure.gradient_health.ok
        return "bad" if counts or gradient else "accent" if i == self.sorted_by else "dim" if text == "–" else ""

    def _describe_missing(self, each: Any, width: int) -> Row:
        given = self.texts.get(each.blob)
        known: Row = [("✓ ", "good")] if given else [("? ", "warn")]
        text = given or (each.feed.partition("=")[2] if each.example is not None else "shape?")
        return [
            *known,
            (pad(words.blob(each.blob, None, 24), 24), "strong"),
            (f" {pad(words.shown(text), 22)}", "" if given else "dim"),
            (f" {each.dtype}, read by op {each.op_index} ", "dim"),
            (words.shown(each.op.type), "kind"),
        ]

    def _show(self) -> None:
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
        self.query_one("#status", Static).update(f" gradviz  {name}  values · {status}")
        if not self.busy:
            self.query_one("#told", Static).update(words.prose(told, 80))
        self.query_one(Hints).draw(tuple(keys), (("esc", "back", "back"),))

    # Running.

    def action_run(self) -> None:
        if self.busy:
            return
        self.busy = True
        self._cancel = threading.Event()
        self.query_one("#told", Static).update("running … esc cancels")
        self.run_worker(self._work, thread=True, exclusive=True, group="run", exit_on_error=False)
        self._show()

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
                trace.model, self._all_feeds(), ys, seed=_SEED, progress=self._progress, cancel=self._cancel
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

    def _all_feeds(self) -> dict[str, Any]:
        from gradviz.execute.feeds import parse_feeds

        made = parse_feeds([f"{name}={text}" for name, text in self.texts.items()], _SEED)
        return {**self.feeds, **made}

    _told = 0.0

    def _progress(self, done: int, total: int, op: Any) -> None:
        now = time.monotonic()
        if now - self._told > 0.05:
            self._told = now
            self.post_message(Progress(done, total, words.shown(op.type) if op is not None else "figures"))

    def on_progress(self, message: Progress) -> None:
        if not self.busy:
            return
        width = 24
        part = message.done * width // max(message.total, 1)
        bar = "█" * part + "░" * (width - part)
        text = f"{bar} {message.done:,}/{message.total:,} {message.what} · esc cancels"
        self.query_one("#told", Static).update(text)

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
        self._show()
        if message.error:
            self.query_one("#told", Static).update(words.prose(message.error, 80))

    # Feeds.

    def action_fill(self) -> None:
        if not self.missing:
            self.missing = self.asked
            self._show()
            return
        unknown = [each for each in self.missing if each.example is None and each.blob not in self.texts]
        if unknown:
            names = ", ".join(words.blob(each.blob, None, 24) for each in unknown[:4])
            self.query_one("#told", Static).update(f"no shape is known for {names}: enter on the line sets one")
            return
        for each in self.missing:
            self.texts.setdefault(each.blob, each.feed.partition("=")[2])
        self.action_run()

    def action_load(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        self.app.push_screen(
            Prompt("feeds from", hint="a .npz file, or .pb with tensors", check=self._check), self._load
        )

    def _check(self, text: str) -> str:
        from gradviz.execute.feeds import parse_feeds

        try:
            parse_feeds([text], _SEED)
        except GradvizError as error:
            return str(error)
        return ""

    def _load(self, text: str | None) -> None:
        from gradviz.execute.feeds import parse_feeds

        if text:
            self.feeds.update(parse_feeds([text], _SEED))
            self.action_run()

    def _set_shape(self, each: Missing) -> None:
        from gradviz.tui.screens.prompt import Prompt

        hint = "a shape such as 8x1x28x28, with :int32 or another dtype behind it · or a .npy file"
        value = self.texts.get(each.blob) or (each.feed.partition("=")[2] if each.example is not None else "")
        prompt = Prompt(
            f"feed {words.shown(each.blob)}",
            value=value,
            hint=hint,
            check=lambda text: self._check(f"{each.blob}={text}"),
        )
        self.app.push_screen(prompt, lambda text: self._shaped(each.blob, text))

    def _shaped(self, blob: str, text: str | None) -> None:
        if text:
            self.texts[blob] = text
            self._show()

    # The table.

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
        self._show()

    def action_sort(self) -> None:
        self.sort_by(self.column)

    def action_unsort(self) -> None:
        self.sorted_by = -1
        self._show()

    def action_column(self, by: int) -> None:
        columns = order(self.size.width)
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
        self._show()

    def action_bad(self) -> None:
        lines = self._lines()
        if self.values is None:
            return
        if self.values.bad is None:
            self.query_one("#told", Static).update("no op makes NaN or Inf out of finite inputs")
            return
        op = self.values.bad[0]
        found = next((i for i, each in enumerate(lines) if each.op == op and each.bad), None)
        if found is not None:
            self.query_one("#figures", Lines).select(found)

    def action_open(self) -> None:
        focused = self.focused
        if isinstance(focused, Lines):
            focused.action_choose()

    def action_back(self) -> None:
        if self.busy:
            self._cancel.set()
        else:
            self.dismiss(None)
