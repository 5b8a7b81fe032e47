"""What differs between two nets, and between the gradients they get.

Forward operators are aligned as sequences; gradient operators by the forward operator at which they were made, so that
an operator added early does not make all that follows look new.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import spoken, versioned
from gradviz.autodiff.trace import Trace, trace
from gradviz.debug.compare_states import ABSENT, Moment, compare_states
from gradviz.render.align import aligned, differences, interleaved, only_names_differ
from gradviz.render.moment import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gradviz.autodiff.generators import Generator
    from gradviz.proto import OperatorDef
    from gradviz.render.align import Pair
    from gradviz.render.files import Exported
    from gradviz.render.graph import Graph

CHANGES = ("added", "removed", "changed", "renamed")
"""Kinds of changes; renamed: nothing but names of blobs differs."""


@dataclass(frozen=True, slots=True)
class OpChange:
    """An operator of one side or of both.

    Attributes:
        change: one of `CHANGES`; empty where both sides agree.
        a: its index in the first, None where it is not there.
        b: its index in the second.
        before: the operator in the first.
        after: the operator in the second.
        details: what differs, a clause each.
    """

    change: str
    a: int | None
    b: int | None
    before: OperatorDef | None
    after: OperatorDef | None
    details: tuple[str, ...] = ()

    @property
    def op(self) -> OperatorDef:
        """The operator of the second, else of the first."""
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row of the state, or of what was asked, that differs.

    Attributes:
        part: `ys`, `frontier`, `gradient frontier`, `generators`, `gradient map`, `warnings` or `end`.
        change: `added`, `removed` or `changed`.
        key: the blob, for generators with its version; empty for the end.
        before: what the first has, in words; None where it has nothing.
        after: what the second has.
    """

    part: str
    change: str
    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Diff:
    """Two walks compared, each after one of its events.

    Attributes:
        a: the first walk.
        b: the second.
        at_a: the event of the first.
        at_b: the event of the second.
        ops: every forward operator of both, in order.
        gradient_ops: every gradient operator of both that there is by then, in order.
        rows: what else differs.
    """

    a: Trace
    b: Trace
    at_a: int
    at_b: int
    ops: tuple[OpChange, ...]
    gradient_ops: tuple[OpChange, ...]
    rows: tuple[RowChange, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.rows or any(each.change for each in (*self.ops, *self.gradient_ops)))

    @cached_property
    def names(self) -> tuple[str, str]:
        """What the two are called: the nets' names, or their files where the names are the same."""
        found = self.a.model.name, self.b.model.name
        if found[0] == found[1] and self.a.model is not self.b.model:
            paths = self.a.model.path, self.b.model.path
            found = str(paths[0] or f"{found[0]} (first)"), str(paths[1] or f"{found[1]} (second)")
        return found

    def text(self, most: int | None = 40) -> str:
        """The differences as text, `+`, `-` and `~` before each.

        Args:
            most: so many lines of one part at the most; None is all.
        """
        from gradviz.render.difftext import lines_of

        return "\n".join(lines_of(self, most)) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The differences as plain values; the schema stands in `docs/json-schema.md`."""
        from gradviz.render.difftext import as_json

        return as_json(self)

    def graph(self) -> Graph:
        """Both nets as one graph; its nodes and edges have a `change` too."""
        from gradviz.render.diffgraph import graph_of

        return graph_of(self)

    def dot(self, **looks: Any) -> str:
        """DOT text of both nets as one; `looks` as in `gradviz.render.dotform.dot_of`."""
        from gradviz.render.dotform import dot_of

        return dot_of(self.graph(), **looks)

    def svg(self, **looks: Any) -> str:
        """The picture that `dot` describes, as SVG text.

        Raises:
            GradvizError: nothing on this machine can draw it.
        """
        from gradviz.render.image import draw

        return draw(self.dot(**looks), "svg").decode("utf-8")

    def _repr_html_(self) -> str:
        from gradviz.render.escape import markup
        from gradviz.render.notebook import picture

        lines = "\n".join(map(markup, self.text().splitlines()))
        drawn = picture(self)
        shown = f'<div style="max-height: 40em; overflow: auto; background: #fff">{drawn}</div>' if drawn else ""
        return f'<div class="gradviz"><pre>{lines}</pre>{shown}</div>'

    def _repr_svg_(self) -> str | None:
        from gradviz.render.notebook import picture

        return picture(self)

    def save(self, path: str | Path, **options: Any) -> Exported:
        """Write the differences to a file; its suffix says which format. See `gradviz.render.difftext.save`.

        Raises:
            GradvizError: the suffix is unknown, the picture cannot be drawn, or the file cannot be written.
        """
        from gradviz.render.difftext import save

        return save(self, path, **options)


def diff(a: Any, b: Any, *, at_a: int | str | None = None, at_b: int | str | None = None, ys: Any = None) -> Diff:
    """Compare two walks; nets are walked first.

    Args:
        a: a Trace, or a Model or NetDef.
        b: likewise; it may be the same walk at another event.
        at_a: the event of the first: its number (negative: from the end), `last` or `error`; None is the last.
        at_b: the event of the second.
        ys: what gradients are asked of where nets are given, as for `gradviz.trace`.

    Raises:
        GradvizError: there is no such event.
    """
    one, other = (each if isinstance(each, Trace) else trace(each, ys) for each in (a, b))
    places = moment(one, at_a), moment(other, at_b)
    forward = aligned([op.proto for op in one.ops], [op.proto for op in other.ops])
    ops = _changes(
        forward, [op.proto for op in one.ops], [op.proto for op in other.ops], offsets=(one.skip, other.skip)
    )
    gradients = one.gradient_ops_at(places[0]), other.gradient_ops_at(places[1])
    pairs = _paired_gradients(one, other, forward, (len(gradients[0]), len(gradients[1])))
    return Diff(one, other, *places, ops, _changes(pairs, *gradients), tuple(_rows(one, other, places)))


def _changes(
    pairs: Sequence[Pair], a: Sequence[OperatorDef], b: Sequence[OperatorDef], offsets: tuple[int, int] = (0, 0)
) -> tuple[OpChange, ...]:
    return tuple(_change(i, j, a, b, offsets) for i, j in pairs)


def _change(
    i: int | None, j: int | None, a: Sequence[OperatorDef], b: Sequence[OperatorDef], offsets: tuple[int, int]
) -> OpChange:
    before, after = None if i is None else a[i], None if j is None else b[j]
    places = None if i is None else i + offsets[0], None if j is None else j + offsets[1]
    if before is None or after is None:
        return OpChange("added" if before is None else "removed", *places, before, after)
    details = tuple(differences(before, after))
    change = "" if not details else "renamed" if only_names_differ(before, after) else "changed"
    return OpChange(change, *places, before, after, details)


# Gradient operators.


Origin = tuple[str, Any, str]
"""Whether a rule, accumulation or a y made it; at which forward operator, or for which y; its type."""


def origins(trace: Trace) -> list[Origin]:
    """Where each gradient operator of a walk comes from; operators are counted from the first that was played."""
    found: list[Origin] = []
    recording = trace.recording
    for mark in recording.op_marks:
        event: Any = recording.events[mark]
        if event.kind == "seed":
            found.append(("y", event.blob, event.op.type))
        elif event.kind == "make":
            found += [("rule", event.op_index - recording.offset, op.type) for op in event.gradient_ops]
        else:
            found += [("sum", event.op_index - recording.offset, op.type) for op in event.ops]
    return found


def _paired_gradients(a: Trace, b: Trace, forward: Sequence[Pair], counts: tuple[int, int]) -> list[Pair]:
    """Gradient operators made at the same operator are the same if type and turn are, or else the turn alone."""
    partner = {i: j for i, j in forward if i is not None and j is not None}
    of_a = [_seen_from(origin, partner) for origin in origins(a)[: counts[0]]]
    of_b = origins(b)[: counts[1]]
    pairs = _matched(dict(enumerate(of_a)), dict(enumerate(of_b)))
    left_a = {i: (*origin[:2], "") for i, origin in enumerate(of_a) if i not in pairs}
    taken = set(pairs.values())
    left_b = {j: (*origin[:2], "") for j, origin in enumerate(of_b) if j not in taken}
    pairs |= _matched(left_a, left_b)
    return interleaved(pairs.items(), *counts)


def _seen_from(origin: Origin, partner: dict[int, int]) -> Origin:
    """An origin in the first walk, with the operator that it has in the second; one that has none matches nothing."""
    kind, owner, type = origin
    return origin if kind == "y" else (kind, partner.get(owner, f"only in the first: {owner}"), type)


def _matched(a: dict[int, Origin], b: dict[int, Origin]) -> dict[int, int]:
    places: dict[tuple[Origin, int], int] = {}
    met: Counter[Origin] = Counter()
    for j, origin in b.items():
        places[origin, met[origin]] = j
        met[origin] += 1
    met.clear()
    found = {}
    for i, origin in a.items():
        if (origin, met[origin]) in places:
            found[i] = places[origin, met[origin]]
        met[origin] += 1
    return found


# Everything else.


def _rows(a: Trace, b: Trace, places: tuple[int, int]) -> Iterator[RowChange]:
    yield from _of_dicts("ys", *({y: _asked(gradient) for y, gradient in each.ys.items()} for each in (a, b)))
    found = compare_states(Moment(a, places[0]), Moment(b, places[1]))
    for section in found.sections:
        if section.part == "gradient ops":  # aligned in a better way here
            continue
        for change in section.changes:
            before, after = _told(section.part, change.before, a), _told(section.part, change.after, b)
            if before != after:
                key = change.blob if change.version is None else versioned(change.blob, change.version)
                yield RowChange(section.part, change.kind, key, before, after)
    if places == (len(a.events) - 1, len(b.events) - 1):
        yield from _of_dicts("warnings", *({str(each): str(each) for each in side.warnings} for side in (a, b)))
    ends = [each.events[-1].sentence() if each.error is not None else "" for each in (a, b)]
    if ends[0] != ends[1]:
        yield RowChange("end", "changed", "", ends[0] or "the walk goes through", ends[1] or "the walk goes through")


def _asked(gradient: Any) -> str:
    return "starts from ones" if gradient is None else f"given: {spoken(gradient)}"


def _of_dicts(part: str, before: dict[str, str], after: dict[str, str]) -> Iterator[RowChange]:
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old != new:
            change = "added" if old is None else "removed" if new is None else "changed"
            yield RowChange(part, change, key, old, new)


def _told(part: str, value: Any, walk: Trace) -> str | None:
    """What one side has, in words that do not depend on how many operators came before."""
    if value is ABSENT:
        return None
    if part == "generators":
        return "; ".join(_made_by(each, walk) for each in value)
    return spoken(value) if part == "gradient map" else f"version {value}"


def _made_by(generator: Generator, walk: Trace) -> str:
    def maker(op: int | None, idx: int | None) -> str:
        return "passes through" if op is None else f"{walk.recording.gradient_ops[op].type}:{idx}"

    if generator.kind == "dense":
        return f"{generator.gradient} from {maker(generator.op, generator.idx)}"
    indices, values = generator.gradient
    made = maker(generator.op_indices, generator.idx_indices), maker(generator.op_values, generator.idx_values)
    return f"{indices} ({made[0]}), {values} ({made[1]})"
