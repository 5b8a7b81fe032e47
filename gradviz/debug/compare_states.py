"""Two moments of a walk, or of two walks, side by side: what the algorithm holds in one and not in the other.

Rows are aligned by blob and version, gradient operators by which they are, never by where they stand in a list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gradviz.autodiff.recording import Column
    from gradviz.autodiff.state import Generators, State
    from gradviz.autodiff.trace import Trace
    from gradviz.ops.records import GradientOp

Kind: TypeAlias = Literal["added", "removed", "changed"]

PARTS = ("gradient ops", "frontier", "gradient frontier", "generators", "gradient map")
"""What is compared, in this order."""


class _Absent:
    """Stands for what a moment does not have; None is a value: a blob that was looked at and got no gradient."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class OpSeen:
    """A gradient operator as it is at one moment.

    Attributes:
        index: among the gradient operators.
        op: the operator as it was made.
        outputs: the names of its outputs after the renames so far.
    """

    index: int
    op: GradientOp
    outputs: tuple[str, ...]

    @property
    def renamed(self) -> bool:
        """Whether an output has another name than it was made with."""
        return self.outputs != tuple(self.op.outputs)


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs.

    Attributes:
        part: one of `PARTS`.
        kind: whether only the second moment has it, only the first, or both and not alike.
        blob: the blob; empty for gradient operators.
        version: its version, for generators.
        before: what the first moment has: an `OpSeen`, a version, a tuple of generators, a gradient, or `ABSENT`.
        after: what the second has.
        event: the last event between both that touched it; None where they are of different walks.
    """

    part: str
    kind: Kind
    blob: str
    version: int | None
    before: Any
    after: Any
    event: int | None


@dataclass(frozen=True, slots=True)
class Section:
    """What differs in one part.

    Attributes:
        part: one of `PARTS`.
        changes: the rows, those of the second moment in its order, then those that it lacks.
        alike: how many rows both have and agree in.
    """

    part: str
    changes: tuple[Change, ...]
    alike: int

    def count(self, kind: Kind) -> int:
        """How many rows are of a kind."""
        return sum(change.kind == kind for change in self.changes)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two moments compared.

    Attributes:
        same_walk: whether both are of one walk.
        sections: one for each part.
    """

    same_walk: bool
    sections: tuple[Section, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing differs."""
        return not any(section.changes for section in self.sections)

    def section(self, part: str) -> Section:
        """The section of a part."""
        return self.sections[PARTS.index(part)]


@dataclass(frozen=True, slots=True)
class Moment:
    """A walk after one of its events.

    Attributes:
        trace: the walk.
        position: index of the event.
    """

    trace: Trace
    position: int

    @property
    def state(self) -> State:
        """The state there, made anew: nobody else steps it."""
        return self.trace.state_at(self.position)


def compare_states(one: Moment, other: Moment) -> Difference:
    """Compare what the algorithm holds at two moments.

    Args:
        one: the first, `before` in the rows.
        other: the second; it may be an earlier one, or of another walk.
    """
    before, after = one.state, other.state
    recording = other.trace.recording
    span = (one.position, other.position) if one.trace is other.trace else None
    sections = (
        _ops(one, before, other, after),
        _dicts("frontier", before.frontier, after.frontier, _touched(recording.versions, span)),
        _dicts(
            "gradient frontier",
            before.gradient_frontier,
            after.gradient_frontier,
            _touched(recording.gradient_frontier, span),
        ),
        _generators(before, after, _touched(recording.generators, span)),
        _dicts("gradient map", before.gradient_map, after.gradient_map, _touched(recording.gradients, span)),
    )
    return Difference(span is not None, sections)


Touched: TypeAlias = "dict[Any, int] | None"


def _touched(column: Column[Any], span: tuple[int, int] | None) -> Touched:
    """The last event between two moments that wrote each key."""
    if span is None:
        return None
    low, high = (column.count(position) for position in sorted(span))
    return dict(zip(column.keys[low:high], column.marks[low:high], strict=True))


def _dicts(part: str, before: Mapping[Any, Any], after: Mapping[Any, Any], touched: Touched) -> Section:
    """Two dictionaries by blob, or by blob and version."""
    changes = []
    alike = 0
    for key in _keys(before, after):
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if old == new:
            alike += 1
            continue
        blob, version = key if isinstance(key, tuple) else (key, None)
        event = None if touched is None else touched.get(key)
        changes.append(Change(part, _kind(old, new), blob, version, old, new, event))
    return Section(part, tuple(changes), alike)


def _keys(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[Any]:
    yield from after
    yield from (key for key in before if key not in after)


def _kind(old: Any, new: Any) -> Kind:
    return "added" if old is ABSENT else "removed" if new is ABSENT else "changed"


def _generators(before: State, after: State, touched: Touched) -> Section:
    one, other = (_flat(state.gradient_generators) for state in (before, after))
    return _dicts("generators", one, other, touched)


def _flat(generators: Generators) -> dict[tuple[str, int], tuple[Any, ...]]:
    return {(blob, version): tuple(found) for blob, by in generators.items() for version, found in by.items()}


# Gradient operators.


def _ops(one: Moment, before: State, other: Moment, after: State) -> Section:
    """Operators of one walk are the same if they stand at the same place; those of two if they read and write alike."""
    if one.trace is other.trace:
        return _ops_of_one_walk(before, after, other.trace)
    old, new = (_by_content(moment, state) for moment, state in ((one, before), (other, after)))
    return _dicts_of_ops(old, new)


def _seen(trace: Trace, state: State, index: int) -> OpSeen:
    return OpSeen(index, trace.recording.gradient_ops[index], tuple(state.outputs_of(index)))


def _ops_of_one_walk(before: State, after: State, trace: Trace) -> Section:
    counts = before.gradient_op_count, after.gradient_op_count
    shared = min(counts)
    renames = trace.recording.renames
    touched = _touched(renames, (before.position, after.position)) or {}
    last: dict[int, int] = {}
    for (index, _), mark in touched.items():
        last[index] = max(mark, last.get(index, -1))
    changes = list(_renamed(before, after, trace, {index: mark for index, mark in last.items() if index < shared}))
    kind: Kind = "added" if counts[1] > shared else "removed"
    for index in range(shared, max(counts)):
        seen = _seen(trace, after if kind == "added" else before, index)
        old, new = (ABSENT, seen) if kind == "added" else (seen, ABSENT)
        changes.append(Change("gradient ops", kind, "", None, old, new, _maker(trace, index)))
    return Section("gradient ops", tuple(changes), shared - sum(change.kind == "changed" for change in changes))


def _renamed(before: State, after: State, trace: Trace, last: Mapping[int, int]) -> Iterator[Change]:
    for index in sorted(last):
        old, new = _seen(trace, before, index), _seen(trace, after, index)
        if old.outputs != new.outputs:
            yield Change("gradient ops", "changed", "", None, old, new, last[index])


def _maker(trace: Trace, index: int) -> int:
    """The event that added a gradient operator."""
    counts = trace.recording.op_counts
    return counts.marks[bisect_right(counts.values, index)]


def _by_content(moment: Moment, state: State) -> dict[tuple[Any, ...], OpSeen]:
    """Operators by what they read and write; those that are alike in that are numbered."""
    found: dict[tuple[Any, ...], OpSeen] = {}
    met: Counter[tuple[Any, ...]] = Counter()
    for index in range(state.gradient_op_count):
        seen = _seen(moment.trace, state, index)
        content = (seen.op.type, tuple(seen.op.inputs), tuple(seen.op.outputs))
        found[content, met[content]] = seen
        met[content] += 1
    return found


def _dicts_of_ops(old: Mapping[Any, OpSeen], new: Mapping[Any, OpSeen]) -> Section:
    changes = []
    keys: Iterable[Any] = _keys(old, new)
    alike = 0
    for key in keys:
        one, other = old.get(key), new.get(key)
        if one is not None and other is not None and one.outputs == other.outputs:
            alike += 1
            continue
        before: Any = ABSENT if one is None else one
        after: Any = ABSENT if other is None else other
        changes.append(Change("gradient ops", _kind(before, after), "", None, before, after, None))
    return Section("gradient ops", tuple(changes), alike)
