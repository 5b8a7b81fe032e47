"""What a walk leaves behind: its events, and columns that find the ones which touch a part of the state."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.nested import NestedWalk
    from gradviz.ops.records import Gradient, GradientOp, Op

T = TypeVar("T")


class Column(Generic[T]):
    """The writes to one part of the state, in order: at which event, to which key, which value.

    A dictionary as it was after any event is the first so many writes, and the last write to a key counts.
    """

    __slots__ = ("keys", "marks", "values")

    def __init__(self) -> None:
        self.marks = array("Q")
        self.keys: list[Any] = []
        self.values: list[T] = []

    def add(self, mark: int, key: Any, value: T) -> None:
        """Event `mark` writes `value` to `key`."""
        self.marks.append(mark)
        self.keys.append(key)
        self.values.append(value)

    def count(self, position: int) -> int:
        """How many writes there are up to event `position`."""
        return bisect_right(self.marks, position)

    def upto(self, position: int) -> Iterator[tuple[Any, T]]:
        """Keys and values written up to event `position`."""
        return islice(zip(self.keys, self.values, strict=True), self.count(position))


class Recording:
    """The event stream of one walk, with indices into it.

    A part of the state at any event is the fold of the events that touch it, up to there; columns list those writes, so
    that a jump costs what the part holds and not what the walk did.

    Attributes:
        ops: the forward operators that were played.
        offset: index in the net of the first of them; operators before it were left out.
        events: the events so far.
        visits: index of the event that opened each visit of a forward operator, last operator first.
        frontier: last version of each blob after the forward pass and the ys.
        gradient_ops: every gradient operator, as made, before renames.
        versions: writes to the frontier while the operators are played, and by unknown ys.
        gradient_frontier: writes to the gradient frontier.
        generators: generators by (blob, version).
        gradients: writes to the gradient map.
        renames: present names by (gradient operator, output).
        op_counts: how many gradient operators there are, by the event that added some.
        nested: walks over nested nets, by the event that tells what came of them.
    """

    __slots__ = (
        "events",
        "frontier",
        "generators",
        "gradient_frontier",
        "gradient_ops",
        "gradients",
        "nested",
        "offset",
        "op_counts",
        "ops",
        "plays",
        "renames",
        "versions",
        "visits",
    )

    def __init__(self, ops: list[Op], offset: int = 0) -> None:
        self.ops = ops
        self.offset = offset
        self.events: list[Event] = []
        self.frontier: dict[str, int] = {}
        self.gradient_ops: list[GradientOp] = []
        self.plays = 0
        self.nested: dict[int, list[NestedWalk]] = {}
        self.visits = array("Q")
        self.versions: Column[int] = Column()
        self.gradient_frontier: Column[int] = Column()
        self.generators: Column[Generator] = Column()
        self.gradients: Column[Gradient] = Column()
        self.renames: Column[str] = Column()
        self.op_counts: Column[int] = Column()

    @property
    def generator_marks(self) -> array[int]:
        """Events that record a generator."""
        return self.generators.marks

    @property
    def rename_marks(self) -> array[int]:
        """Events that rename an output."""
        return self.renames.marks

    @property
    def op_marks(self) -> array[int]:
        """Events that add gradient operators."""
        return self.op_counts.marks

    def visit_of(self, event: int) -> int | None:
        """Which visit (0 is the last forward operator) holds `event`; None before the first visit."""
        found = bisect_right(self.visits, event) - 1
        return found if found >= 0 else None

    def visit_span(self, visit: int) -> tuple[int, int]:
        """First and last event of a visit. A failure belongs to the visit that failed, the end to none."""
        first = self.visits[visit]
        if visit + 1 < len(self.visits):
            return first, self.visits[visit + 1] - 1
        last = len(self.events) - 1
        return first, last - 1 if self.events[last].kind == "finish" else last
