"""The diagnosis of a failure: what was asked, what was found, the blob's versions in time, and who is involved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from gradviz.ops.records import GradientSlice
from gradviz.tui import words
from gradviz.tui.panes.tabs import generator_row
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Lines
from gradviz.tui.screens.why import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.errors import GradientError
    from gradviz.tui.desk import Desk
    from gradviz.tui.rows import Row

PHASES = {
    "sanity_check": "before the walk",
    "init": "seeding the ys",
    "check_inputs": "phase 1, check",
    "make_gradient": "asking the gradient rule",
    "build_generators": "phase 2, collect",
    "merge_sparse": "phase 3, merge",
    "verify": "accumulation",
    "sum_conflict": "accumulation",
}


class Part(NamedTuple):
    """One line of the diagnosis.

    Attributes:
        row: what it says.
        op: the forward operator that it is about; enter selects it.
        remedy: what may mend the net; enter tries it.
    """

    row: Row
    op: int | None = None
    remedy: Any = None


def parts(desk: Desk, error: GradientError, width: int = 90) -> list[Part]:
    """The diagnosis, line by line."""
    made = [*_where(desk, error), *_asked_and_found(error, width)]
    blob = error.facts.get("blob")
    nested = error.diagnosis is not None and bool(error.diagnosis.site)
    if isinstance(blob, str) and blob in desk.recording.frontier and not nested:
        made += [_blank(), Part([("versions of ", "title"), (words.blob(blob, None, 40), "title")])]
        made += _history(desk, error, blob)
    if not nested:
        made += _generators(desk, error)
        made += _involved(desk, error)
    made += _remedies(error)
    return made


def _blank() -> Part:
    return Part([("", "")])


def _where(desk: Desk, error: GradientError) -> Iterator[Part]:
    yield Part([("where   ", "dim"), (PHASES.get(error.phase, error.phase), ""), *_of(desk, error.op_index)])
    yield Part([("kind    ", "dim"), (words.shown(error.kind), "strong")])


def _asked_and_found(error: GradientError, width: int) -> Iterator[Part]:
    """The explanation; without one what the facts say. The blob's versions are drawn instead of told."""
    if not error.explanation:
        yield from _facts(error)
        return
    telling = True
    for line in error.explanation:
        telling = (telling or not line.startswith(" ")) and not line.endswith(" versions:")
        label, colon, rest = line.partition(": ")
        if not telling:
            continue
        if colon and label in ("Asked", "Found"):
            role = "dim" if label == "Asked" else "bad"
            for i, (part, _) in enumerate(wrapped(rest, width - 8, hang="")):
                yield Part([(f"{label.lower() if i == 0 else '':<8}", role), (part, "")])
        else:
            yield from (Part([("        ", ""), (part, "")]) for part, _ in wrapped(line, width - 8))


def _facts(error: GradientError) -> Iterator[Part]:
    facts = error.facts
    if "expected" in facts:
        blob = str(facts.get("blob", ""))
        what = words.blob(str(facts["gradient"]), None, 30) if "gradient" in facts else ""
        as_gradient: Row = [("the gradient ", ""), (what, "strong"), (" of ", "")] if what else []
        kind = words.shown(str(facts.get("gradient_op_type", "")))
        asked: Row = [("asked   ", "dim"), (f"{kind} ", "kind"), ("needs ", "")]
        yield Part([*asked, *as_gradient, _at(blob, facts["expected"])])
        yield Part([("found   ", "dim"), _at(blob, facts["current"]), (" ✗", "bad")])
    elif "blob" in facts:
        yield Part([("blob    ", "dim"), (words.blob(str(facts["blob"]), facts.get("version"), 60), "strong")])


def _at(blob: str, version: Any) -> tuple[str, str]:
    return words.blob(blob, int(version), 40), "strong"


def _of(desk: Desk, op: int | None) -> Row:
    if op is None:
        return []
    return [(f" of op {op} ", ""), (words.shown(desk.op_record(op).type), "kind")]


def _history(desk: Desk, error: GradientError, blob: str) -> Iterator[Part]:
    """The versions of a blob in time: who wrote and read each, the writer that broke it marked."""
    wanted = error.facts.get("expected")
    uses = desk.index.history(blob)
    if uses and not uses[0].writes:
        yield Part([("  ○ ", "dim"), (words.blob(blob, 0, 30), "strong"), ("  from outside", "dim")])
    for use in uses:
        broke = use.writes and wanted is not None and use.version > wanted and error.kind != "grad_version_mismatch"
        mark = ("  ✗ ", "bad") if broke else ("  ● ", "good") if use.writes else ("  │ ", "dim")
        here = use.op == error.op_index
        does = "written by" if use.writes else "read by   "
        row: Row = [mark, (words.blob(blob, use.version, 30), "strong" if use.writes else "dim"), (f"  {does} ", "dim")]
        row += [(f"op {use.op} ", "accent" if here else ""), (words.shown(desk.op_record(use.op).type), "kind")]
        row += [("  ← its gradient is built here", "accent")] if here and not use.writes else []
        row += [("  ← overwrites what is needed", "bad")] if broke else []
        yield Part(row, use.op)


def _generators(desk: Desk, error: GradientError) -> Iterator[Part]:
    found = error.facts.get("generators")
    if not isinstance(found, list | tuple) or not found:
        return
    yield from (_blank(), Part([("generators", "title")]))
    for each in found:
        gradient = each.gradient
        name = f"({gradient.indices} {gradient.values})" if isinstance(gradient, GradientSlice) else gradient
        mark = ("  ∷ sparse ", "warn") if each.kind == "sparse" else ("  ─ dense  ", "good")
        number = next((n for n in (each.op, each.op_indices, each.op_values) if n is not None), None)
        op = desk.recording.events[desk.index.maker(number)].op_index if number is not None else None
        yield Part([mark, (pad(words.blob(name, None, 36), 30), "strong"), (" ", ""), *generator_row(desk, each)], op)


def _involved(desk: Desk, error: GradientError) -> Iterator[Part]:
    ops = [error.op_index] if error.op_index is not None else []
    ops += [each["op_index"] for each in error.facts.get("overwritten_by", ())]
    if not ops:
        return
    yield from (_blank(), Part([("ops involved", "title")]))
    for op in dict.fromkeys(ops):
        record = desk.op_record(op)
        reads = " ".join(words.blob(name, None, 16) for name in record.inputs[:5])
        writes = " ".join(words.blob(name, None, 16) for name in record.outputs[:5])
        role = "  its gradient was asked for" if op == error.op_index else "  overwrites"
        row: Row = [(f"  op {op} ", "strong"), (words.shown(record.type), "kind"), (f"  {reads} → {writes}", "")]
        yield Part([*row, (role, "dim")], op)


def _remedies(error: GradientError) -> Iterator[Part]:
    if not error.remedies:
        return
    yield from (_blank(), Part([("what usually mends it", "title"), ("  enter tries it: nothing is written", "dim")]))
    for remedy in error.remedies:
        yield Part([("  + ", "good"), (words.prose(str(remedy)), "")], remedy=remedy)


class DiagnosisScreen(ModalScreen["Part | None"]):
    """Why the walk failed; gives the line that was chosen: one with an operator or a remedy."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="diagnosis.close", tooltip="Back to the debug screen")
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        assert desk.trace.error is not None
        self.desk = desk
        self.error: GradientError = desk.trace.error

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall") as dialog:
            dialog.border_title = "✗ Diagnosis"
            dialog.border_subtitle = "↑ ↓ · enter: to the op, or try · esc: back"
            yield Static(words.prose(str(self.error)), markup=False, classes="message")
            yield Lines(lambda part, width: part.row)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(Lines).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        lines = self.query_one(Lines)
        lines.fill(parts(self.desk, self.error, max(lines.size.width - 1, 30)), lines.selected)

    def on_line_view_chosen(self) -> None:
        part = self.query_one(Lines).thing
        if part.op is not None or part.remedy is not None:
            self.dismiss(part)

    def action_close(self) -> None:
        self.dismiss(None)
