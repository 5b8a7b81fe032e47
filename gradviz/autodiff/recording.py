"""What a walk leaves behind: its events, and marks that find the ones that touch a part of the state."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.autodiff.events import Event
    from gradviz.autodiff.nested import NestedWalk
    from gradviz.ops.records import GradientOp, Op


class Recording:
    """The event stream of one walk, with indices into it.

    A part of the state at any event is the fold of the events that touch it, up to there; the marks list those events,
    so that a jump costs what the part holds and not what the walk did.

    Attributes:
        ops: the forward operators that were played.
        offset: index in the net of the first of them; operators before it were left out.
        events: the events so far.
        visits: index of the event that opened each visit of a forward operator, last operator first.
        frontier: last version of each blob after the forward pass and the ys.
        gradient_ops: every gradient operator, as made, before renames.
        gradient_frontier_marks: events that set the gradient frontier.
        generator_marks: events that record a generator.
        map_marks: events that set an entry of the gradient map.
        rename_marks: events that rename an output.
        op_marks: events that add gradient operators.
        nested: walks over nested nets, by the event that tells what came of them.
    """

    __slots__ = (
        "events",
        "frontier",
        "generator_marks",
        "gradient_frontier_marks",
        "gradient_ops",
        "map_marks",
        "nested",
        "offset",
        "op_marks",
        "ops",
        "plays",
        "rename_marks",
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
        self.gradient_frontier_marks = array("Q")
        self.generator_marks = array("Q")
        self.map_marks = array("Q")
        self.rename_marks = array("Q")
        self.op_marks = array("Q")

    def visit_of(self, event: int) -> int | None:
        """Which visit (0 is the last forward operator) holds `event`; None before the first visit."""
        from bisect import bisect_right

        found = bisect_right(self.visits, event) - 1
        return found if found >= 0 else None

    def visit_span(self, visit: int) -> tuple[int, int]:
        """First and last event of a visit. A failure belongs to the visit that failed, the end to none."""
        first = self.visits[visit]
        if visit + 1 < len(self.visits):
            return first, self.visits[visit + 1] - 1
        last = len(self.events) - 1
        return first, last - 1 if self.events[last].kind == "finish" else last
