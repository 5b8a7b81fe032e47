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
    """

    order: int
    blob: str
    version: int | None
    written: int
    op: int | None
    health: Health | None = None
    gradient: str = ""
    gradient_health: Health | None = None

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
)
"""What the table shows; `∂` stands before the figures of a gradient."""


_FIRST = ("shape", "min", "max", "L2", "NaN", "∂ L2")


def order(width: int) -> list[int]:
    """The columns from left to right; where few fit, those that matter most come first."""
    everything = list(range(len(COLUMNS)))
    if width >= 100:
        return everything
    first = [next(i for i in everything if COLUMNS[i].title == title) for title in _FIRST]
    return first + [i for i in everything if i not in first]


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
