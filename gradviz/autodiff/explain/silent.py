"""Gradients that are wrong and nobody says so: blobs overwritten before they are read, gradients lost on the way.

The checks of the walk compare versions of forward blobs only. What they cannot see is found here by following the
values of gradients through the finished list of gradient operators.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Accumulate, Check, Dense, Enter, Frontier, Make, Merge, PassThrough, Seed
from gradviz.autodiff.explain.faults import faults
from gradviz.autodiff.explain.scene import joined
from gradviz.ops.records import GradientSlice, Op
from gradviz.ops.registry import NONE, lookup, make_gradient
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.ops.records import Gradient

SHAPE_ONLY = frozenset({"Add", "Sub"})
"""Types whose gradient reads its inputs for their shapes alone."""

Value = tuple[int, int] | str
"""What makes a gradient: gradient operator and output; or the name under which it was given."""


@dataclass(frozen=True, slots=True)
class Silent:
    """One gradient that is wrong.

    Attributes:
        kind: `in_place_input`, `gradient_overwritten`, `gradient_of_another_version`, `gradient_ignored` or
            `gradient_op_unfit`.
        text: what is wrong, one line.
        op_index: the forward operator concerned.
        blob: the blob whose gradient is wrong.
        culprit: the forward operator that has to work otherwise, where there is one.
    """

    kind: str
    text: str
    op_index: int
    blob: str
    culprit: int | None = None


def silent_errors(scene: Scene) -> list[Silent]:
    """Everything that makes a gradient wrong without an error, in the order of the net."""
    found = [*_in_place_inputs(scene), *_ignored(scene), *_unfit(scene), *Values(scene).errors()]
    unique = {(each.kind, each.op_index, each.blob): each for each in reversed(found)}
    return sorted(unique.values(), key=lambda each: each.op_index)


# An operator in place whose gradient reads what it overwrote.


def _in_place_inputs(scene: Scene) -> Iterator[Silent]:
    for index, op in enumerate(scene.ops, scene.offset):
        if not op.outputs or op.type in SHAPE_ONLY or set(op.inputs).isdisjoint(op.outputs):
            continue
        both = set(op.inputs).intersection(op.outputs)
        made = scene.made(index)
        if made is None:
            continue
        apart = _answer_apart(scene, index, both)
        if apart is None or [each.type for each in apart] != [each.type for each in made.gradient_ops]:
            continue
        for blob in both:
            types = [each.type for each in apart if blob in each.inputs]
            if types:
                yield Silent(
                    "in_place_input",
                    f"{scene.named(index)} runs in place on {blob}, and its gradient {joined(types)} reads {blob} as "
                    f"it was before: by then it holds what op {index} wrote, so the gradient is wrong",
                    index,
                    blob,
                    index,
                )


def _answer_apart(scene: Scene, index: int, both: set[str]) -> list[Op] | None:
    """What the rule answers for the same operator with outputs of their own; only input names mean inputs then."""
    op = scene.op(index)
    known = lookup(op.type)
    if known is None or known.python_rule is not None or not callable(known.gradient):
        return None
    definition = OperatorDef()
    definition.CopyFrom(op.proto)
    definition.output[:] = [f"{name}/apart" if name in both else name for name in op.outputs]
    try:
        made, _ = make_gradient(Op(definition), scene.g_output(index))
    except Exception:  # noqa: BLE001 - a rule from outside may raise anything
        return None
    return [Op(each.to_proto()) for each in made]


def _entered(scene: Scene) -> Iterator[int]:
    for index in range(scene.last - 1, scene.offset - 1, -1):
        if scene.entered(index):
            yield index


# A gradient that arrives and is not used.


def _ignored(scene: Scene) -> Iterator[Silent]:
    for index in _entered(scene):
        op, made = scene.op(index), scene.made(index)
        if made is None or _reads_it(op, made, scene.g_output(index)):
            continue
        known = lookup(op.type)
        if made is None or not made.gradient_ops or (known is not None and known.gradient is NONE):
            continue
        used = {name for each in made.gradient_ops for name in each.inputs}
        used.update(name for gradient in made.g_input for name in _names(gradient))
        for blob, gradient in zip(op.outputs, scene.g_output(index), strict=True):
            names = _names(gradient)
            if names and used.isdisjoint(names):
                types = joined([each.type for each in made.gradient_ops])
                yield Silent(
                    "gradient_ignored",
                    f"a gradient arrives at {blob} of {scene.named(index)} ({joined(names)}), but {types} does not "
                    "read it: it is lost",
                    index,
                    blob,
                )


def _reads_it(op: Op, made: Make, g_output: tuple[Gradient, ...]) -> bool:
    """The common case, told at a glance: one output, whose gradient the first gradient operator reads."""
    return len(op.outputs) == 1 and bool(made.gradient_ops) and g_output[0] in made.gradient_ops[0].inputs


# A gradient operator that cannot run.


def _unfit(scene: Scene) -> Iterator[Silent]:
    """Gradient operators that work in place where their own schema forbids it, because their forward operator does."""
    walk = scene.walk
    for number, op in enumerate(walk.recording.gradient_ops):
        if set(op.inputs).isdisjoint(op.outputs):
            continue
        outputs = [walk.output_of(number, output) for output in range(len(op.outputs))]
        shared = set(op.inputs).intersection(outputs)
        if not shared:
            continue
        wrong = [each for each in faults(Op(op.to_proto(outputs))) if each.kind == "in_place"]
        forward = scene.forward_of(number)
        if wrong and forward is not None:
            yield Silent(
                "gradient_op_unfit",
                f"gradient op {number} ({op.type}) of {scene.named(forward)} cannot be run: {wrong[0].text}",
                forward,
                next(iter(shared)),
                forward,
            )


def _names(gradient: Gradient) -> tuple[str, ...]:
    return tuple(gradient) if isinstance(gradient, GradientSlice) else (gradient,) if gradient else ()


# Gradients whose blob is overwritten, or whose version is another one.


class Values:
    """Follows which gradient operator makes the gradient of each version of a blob, and who overwrites it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.makers: dict[tuple[str, int], Value] = {}
        self.parts: dict[tuple[str, int], list[Value]] = {}
        self.frontier: dict[str, int] = {}
        self.first = 0
        self.arriving: dict[str, Value] = {}
        self.writers: dict[str, list[tuple[int, int]]] = {}
        self.found: list[Silent] = []
        self.made = {name for op in scene.ops for name in op.outputs if name not in op.inputs}
        walk = scene.walk
        renamed = walk.renamed
        for number, op in enumerate(walk.recording.gradient_ops):
            for output, made in enumerate(op.outputs):
                name = renamed.get((number, output), made) if renamed else made
                self.writers.setdefault(name, []).append((number, output))

    def errors(self) -> list[Silent]:
        """Go through the events once, unless nothing can be wrong."""
        if self._all_apart():
            return []
        take: dict[type, Callable[[Any], None]] = {
            Accumulate: self._added_up,
            Check: self._read,
            Dense: self._generated,
            Enter: self._enter,
            Frontier: self._moved,
            Make: self._unread,
            Merge: self._generated,
            PassThrough: self._generated,
            Seed: self._seed,
        }
        for event in self.scene.walk.recording.events[len(self.scene.ops) :]:
            handle = take.get(event.__class__)
            if handle is not None:
                handle(event)
        if self.scene.error is None:
            self._result()
        return self.found

    def _all_apart(self) -> bool:
        """Whether every name is written once, forwards and backwards, so that nothing can be overwritten."""
        frontier = self.scene.walk.recording.frontier
        once = all(len(numbers) == 1 for numbers in self.writers.values())
        given = {name for gradient in self.scene.walk.ys.values() for name in _names(gradient)}
        return (
            once
            and given.isdisjoint(self.writers)
            and not any(version > 1 for version in frontier.values())
            and (len(self.made) == sum(len(op.outputs) for op in self.scene.ops))
        )

    def _moved(self, event: Frontier) -> None:
        self.frontier[event.blob] = event.version

    def _seed(self, event: Seed) -> None:
        self.frontier[event.blob] = event.version
        if event.gradient_op is not None:
            self._part(event.blob, event.version, (event.gradient_op, 0))
        elif event.gradient:
            self.makers[event.blob, event.version] = _names(event.gradient)[-1]

    def _enter(self, event: Enter) -> None:
        self.arriving = {}
        written = self.scene.writes(event.op_index)
        for blob, gradient in zip(event.op.outputs, event.g_output, strict=True):
            maker = self.makers.get((blob, written[blob]))
            for name in _names(gradient)[-1:]:
                if maker is not None:
                    self.arriving.setdefault(name, maker)

    def _unread(self, event: Make) -> None:
        """A gradient that passes through unread is not checked for its version."""
        self.first = event.first
        written = self.scene.writes(event.op_index)
        passed = {name for gradient in event.g_input for name in _names(gradient)}
        for blob, gradient in zip(event.op.outputs, self.scene.g_output(event.op_index), strict=True):
            at = self.frontier.get(blob)
            if at is not None and at != written[blob] and passed.intersection(_names(gradient)):
                self._tell(
                    "gradient_of_another_version",
                    f"{self.scene.named(event.op_index)} wrote {blob} at version {written[blob]}, but the gradient "
                    f"that passes through it, {joined(_names(gradient))}, belongs to version {at}",
                    event.op_index,
                    blob,
                    self.scene.writer(blob, at),
                )

    def _generated(self, event: Dense | Merge | PassThrough) -> None:
        generator = event.generator
        for op, idx in ((generator.op, generator.idx), (generator.op_values, generator.idx_values)):
            if op is not None and idx is not None:
                self._part(event.blob, event.version, (op, idx))
                return
        name = _names(generator.gradient)[-1]
        self._part(event.blob, event.version, self.arriving.get(name, name))

    def _part(self, blob: str, version: int, value: Value) -> None:
        self.makers[blob, version] = value
        self.parts.setdefault((blob, version), []).append(value)

    def _added_up(self, event: Accumulate) -> None:
        """Each part must still be what it was when it was made."""
        key = event.blob, event.version
        for part in self.parts.get(key, ()):
            name = self._name(part)
            there = self._last_writer(name, event.first)
            if there is not None and there != part and name in event.ops[-1].inputs:
                self._overwritten(name, event.blob, event.op_index, there, f"gradient op {event.first} adds it up")
        self.makers[key] = (event.first + len(event.ops) - 1, 0)

    def _read(self, event: Check) -> None:
        """A gradient operator reads the gradient of an output: is it still the one that was made for it?"""
        if event.role != "gradient":
            return
        wanted = self.makers.get((event.blob, event.wanted))
        if wanted is None or event.name != self._name(wanted):
            return
        there = self._last_writer(event.name, event.gradient_op)
        if there is None or there == wanted or there[0] >= self.first:  # what the same step wrote is meant to be read
            return
        self._overwritten(event.name, event.blob, event.op_index, there, f"gradient op {event.gradient_op} reads it")

    def _result(self) -> None:
        """The gradients of external inputs, as the map names them at the end."""
        for blob, gradient in self.scene.walk.gradient_map.items():
            names = _names(gradient) if self.frontier.get(blob) == 0 and blob not in self.made else ()
            wanted = self.makers.get((blob, self.frontier.get(blob, -1)))
            if not names or wanted is None or names[-1] != self._name(wanted):
                continue
            there = self._last_writer(names[-1], len(self.scene.walk.recording.gradient_ops))
            if there is not None and there != wanted:
                self._overwritten(names[-1], blob, None, there, "the net has run")

    def _name(self, value: Value) -> str:
        return value if isinstance(value, str) else self.scene.walk.output_of(*value)

    def _last_writer(self, name: str, before: int) -> tuple[int, int] | None:
        writers = self.writers.get(name, [])
        position = bisect_left(writers, (before, -1))
        return writers[position - 1] if position else None

    def _overwritten(self, name: str, blob: str, reader: int | None, there: tuple[int, int], when: str) -> None:
        number = there[0]
        forward = self.scene.forward_of(number)
        op = self.scene.walk.recording.gradient_ops[number]
        of = "" if forward is None else f", the gradient of {self.scene.named(forward)},"
        self._tell(
            "gradient_overwritten",
            f"{name} is the gradient of {blob}, but gradient op {number} ({op.type}){of} overwrites it before {when}",
            forward if forward is not None else reader if reader is not None else 0,
            blob,
            forward,
        )

    def _tell(self, kind: str, text: str, op_index: int, blob: str, culprit: int | None) -> None:
        self.found.append(Silent(kind, text, op_index, blob, culprit))
