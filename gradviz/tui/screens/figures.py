"""The table of values: a line per blob and version, with its figures and those of its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.ops.records import GradientSlice
from gradviz.tui import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.execute import Workspace
    from gradviz.execute.health import Health
    from gradviz.tui.desk import Desk


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gradient check or a comparison says of one line.

    Attributes:
        ok: whether it agrees.
        text: why not, or how well.
        max_abs: largest absolute difference.
        max_rel: largest relative difference.
        ulp: largest difference in units in the last place, where that was measured.
        worst: index of the element that differs most.
        gradient: whether it is the line's gradient that was looked at.
    """

    ok: bool
    text: str
    max_abs: float = 0.0
    max_rel: float = 0.0
    ulp: int | None = None
    worst: tuple[int, ...] | None = None
    gradient: bool = False


@dataclass(slots=True)
class Figure:
    """One line of the table.

    Attributes:
        order: where it comes in the order of execution.
        blob: its name.
        version: as the backward walk counts; None for blobs of the gradient net.
        written: the version as the workspace counts.
        op: index of the operator in the run that wrote it; None for feeds and parameters.
        health: its figures, once they are known.
        gradient: name of its gradient, where this version has one.
        gradient_health: the gradient's figures.
        verdict: what the last check or comparison says of it.
    """

    order: int
    blob: str
    version: int | None
    written: int
    op: int | None
    health: Health | None = None
    gradient: str = ""
    gradient_health: Health | None = None
    verdict: Verdict | None = None

    @property
    def bad(self) -> bool:
        """Whether the value or its gradient has NaN or Inf."""
        return any(each is not None and not each.ok for each in (self.health, self.gradient_health))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, its width, and what it shows of a figure."""

    title: str
    width: int
    text: Callable[[Figure], str]
    key: Callable[[Figure], Any]
    left: bool = False


def number(value: float | None) -> str:
    """A number in at most nine columns."""
    if value is None:
        return "–"
    text = f"{value:.4g}"
    return text if len(text) <= 9 else f"{value:.2e}"


def _of(name: str, gradient: bool = False) -> tuple[Callable[[Figure], str], Callable[[Figure], Any]]:
    def value(figure: Figure) -> Any:
        health = figure.gradient_health if gradient else figure.health
        return None if health is None else getattr(health, name)

    def text(figure: Figure) -> str:
        found = value(figure)
        return f"{found:,}" if isinstance(found, int) else number(found)

    return text, lambda figure: (value(figure) is not None, value(figure) or 0)


def _shape(figure: Figure) -> str:
    return "×".join(map(str, figure.health.shape)) or "scalar" if figure.health else "…"


def _size(figure: Figure) -> tuple[int, ...]:
    return figure.health.shape if figure.health else ()


def _dtype(figure: Figure) -> str:
    return figure.health.dtype if figure.health else ""


def _said(show: Callable[[Verdict], str]) -> Callable[[Figure], str]:
    return lambda figure: "–" if figure.verdict is None else show(figure.verdict)


def _measured(name: str) -> Callable[[Figure], Any]:
    """What a column of errors is sorted by: lines without a verdict come last."""

    def key(figure: Figure) -> Any:
        value = None if figure.verdict is None else getattr(figure.verdict, name)
        return value is not None, value if value is not None else ()

    return key


def _verdict_key(figure: Figure) -> tuple[int, float]:
    """What differs most comes first, what was not looked at last."""
    verdict = figure.verdict
    return (0, 0.0) if verdict is None else (1 if verdict.ok else 2, verdict.max_rel)


def _index(verdict: Verdict) -> str:
    return "–" if verdict.worst is None else f"[{','.join(map(str, verdict.worst))}]"


ERRORS: tuple[Column, ...] = (
    Column("verdict", 8, _said(lambda verdict: "✓ same" if verdict.ok else "✗ off"), _verdict_key, left=True),
    Column("abs err", 9, _said(lambda verdict: number(verdict.max_abs)), _measured("max_abs")),
    Column("rel err", 9, _said(lambda verdict: number(verdict.max_rel)), _measured("max_rel")),
    Column("ULP", 7, _said(lambda verdict: ulps(verdict.ulp)), _measured("ulp")),
    Column("worst at", 11, _said(_index), _measured("worst")),
)
"""What a check or a comparison adds to the table."""


def ulps(count: int | None) -> str:
    """A number of units in the last place, in at most seven columns."""
    return "–" if count is None else f"{count}" if count < 1e6 else f"{count:.0e}"


COLUMNS: tuple[Column, ...] = (
    Column("shape", 11, _shape, _size, left=True),
    Column("dtype", 7, _dtype, _dtype, left=True),
    Column("min", 9, *_of("min")),
    Column("max", 9, *_of("max")),
    Column("mean", 9, *_of("mean")),
    Column("std", 9, *_of("std")),
    Column("L2", 9, *_of("l2")),
    Column("zeros", 7, *_of("zeros")),
    Column("NaN", 4, *_of("nan")),
    Column("Inf", 4, *_of("inf")),
    Column("∂ L2", 9, *_of("l2", True)),
    Column("∂ min", 9, *_of("min", True)),
    Column("∂ max", 9, *_of("max", True)),
    Column("∂ mean", 9, *_of("mean", True)),
    Column("∂ std", 9, *_of("std", True)),
    Column("∂ zeros", 7, *_of("zeros", True)),
    Column("∂ NaN", 6, *_of("nan", True)),
    Column("∂ Inf", 6, *_of("inf", True)),
    *ERRORS,
)
"""What the table shows; `∂` stands before the figures of a gradient."""


_FIRST = ("shape", "min", "max", "L2", "NaN", "∂ L2")


VERDICT = len(COLUMNS) - len(ERRORS)
"""The first of the columns that a check adds."""


def order(width: int, judged: bool = False) -> list[int]:
    """The columns from left to right; where few fit, those that matter most come first.

    Args:
        width: columns of the terminal.
        judged: whether there are verdicts; they come first.
    """
    everything = list(range(VERDICT))
    first = [] if width >= 100 else [next(i for i in everything if COLUMNS[i].title == title) for title in _FIRST]
    verdicts = list(range(VERDICT, len(COLUMNS))) if judged else []
    return verdicts + first + [i for i in everything if i not in first]


def figures(desk: Desk, workspace: Workspace) -> list[Figure]:
    """The lines of a run, without their figures yet: what was there before, then every write in order."""
    forward = workspace.forward
    made = [*_initial(workspace)]
    offset = desk.recording.offset
    for op, record in enumerate(workspace.ops):
        play = desk.index.play(op) if op < forward and op >= offset else None
        for i, name in enumerate(record.outputs):
            written = workspace.written_version(op, i)
            if written in workspace.versions(name):
                version = play.out_versions[i] if play is not None else None
                made.append(Figure(len(made), name, version, written, op))
    _give_gradients(desk, workspace, made)
    return made


def _initial(workspace: Workspace) -> Iterator[Figure]:
    for i, name in enumerate(name for name in workspace.blobs() if 0 in workspace.versions(name)):
        yield Figure(i, name, 0, 0, None)


def _give_gradients(desk: Desk, workspace: Workspace, made: list[Figure]) -> None:
    """Gradients belong to the version that the gradient frontier names at the end of the walk."""
    frontier = desk.trace.state_at(-1).gradient_frontier
    for figure in made:
        gradient = workspace.input_to_grad.get(figure.blob)
        if gradient is not None and figure.version is not None and frontier.get(figure.blob) == figure.version:
            figure.gradient = gradient.values if isinstance(gradient, GradientSlice) else gradient


def fill(workspace: Workspace, figure: Figure) -> None:
    """Work out the figures of one line."""
    from gradviz.errors import ExecutionError

    try:
        figure.health = workspace.health(figure.blob, figure.written)
        if figure.gradient:
            figure.gradient_health = workspace.health(figure.gradient)
    except ExecutionError:
        figure.gradient = ""


def name_of(figure: Figure, width: int) -> str:
    """Blob and version."""
    return words.blob(figure.blob, figure.version, width)
