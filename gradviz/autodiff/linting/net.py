"""Checks of a net as it stands: types, schemas, inputs and outputs, dead operators, engines and devices."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.faults import faults
from gradviz.autodiff.explain.parameters import roles
from gradviz.autodiff.explain.repeats import doubled_in_a_row, repeated
from gradviz.autodiff.explain.scene import joined, shortened
from gradviz.autodiff.explain.surprises import unknown_type
from gradviz.autodiff.explain.type_names import CUDA_ONLY, similar_types
from gradviz.autodiff.lint import Finding, Subject
from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.repairs import schema_remedies
from gradviz.autodiff.mending.sums import device_name, no_devices
from gradviz.autodiff.mending.workshop import Workshop
from gradviz.autodiff.targets import nearest, unread_outputs
from gradviz.ops.records import Op
from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.remedies import Remedy
    from gradviz.proto import NetDef

_MOST_NESTED = 1000


# Operators.


def _types(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    by_type: dict[str, list[int]] = {}
    for index, op in enumerate(scene.ops, scene.offset):
        if lookup(op.type) is None:
            by_type.setdefault(op.type, []).append(index)
    for type, indices in by_type.items():
        first = indices[0]
        if not type:
            yield Finding("error", "unknown_type", f"{len(indices)} ops have no type at all", first)
            continue
        text = unknown_type(scene, first)
        text += f"; {len(indices)} ops have it" if len(indices) > 1 else ""
        yield Finding("error", "unknown_type", text, first, remedy=_retype(scene, type, indices))


def _retype(scene: Scene, type: str, indices: list[int]) -> Remedy | None:
    near = similar_types(type)
    if not near:
        return None

    def edit(net: NetDef) -> None:
        for index in indices:
            net.op[index].type = near[0]

    return Workshop(scene).remedy(f"Write {near[0]} in place of {type}", f"{near[0]} is the nearest known type.", edit)


def _schemas(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    for index, op in enumerate(scene.ops, scene.offset):
        for fault in faults(op):
            text = f"{scene.named(index)} does not fit its schema: {fault.text}"
            remedy = next(schema_remedies(Workshop(scene), index), None)
            yield Finding("error", "schema", text, index, _blob_of(op, fault.kind, fault.j), remedy)
        if len(set(op.outputs)) < len(op.outputs):
            doubled = [name for name, count in Counter(op.outputs).items() if count > 1]
            text = f"{scene.named(index)} writes {joined(doubled)} twice; each output needs a name of its own"
            yield Finding("error", "duplicate_output", text, index, doubled[0])
        if "" in op.inputs or "" in op.outputs:
            yield Finding("error", "empty_name", f"{scene.named(index)} has a blob without a name", index)
        yield from _arguments(scene, index, op)


def _blob_of(op: Op, kind: str, j: int) -> str:
    return op.outputs[j] if kind in ("in_place", "bound") else ""


def _arguments(scene: Scene, index: int, op: Op) -> Iterator[Finding]:
    if len(op.proto.arg) < 2:
        return
    counts = Counter(argument.name for argument in op.proto.arg)
    doubled = [name for name, count in counts.items() if count > 1]
    if doubled:
        text = f"{scene.named(index)} has the argument {joined(doubled)} more than once"
        yield Finding("warning", "duplicate_argument", text, index)


def _nested(subject: Subject) -> Iterator[Finding]:
    """Unknown types and schemas inside of nested nets."""
    scene = subject.scene
    for index, op in enumerate(scene.ops, scene.offset):
        waiting = [(argument.name, argument.n) for argument in op.proto.arg if argument.HasField("n")]
        seen = 0
        while waiting and seen < _MOST_NESTED:
            label, net = waiting.pop()
            for number, proto in enumerate(net.op):
                seen += 1
                inner = Op(proto)
                where = f"{scene.named(index)}, {label}, op {number} ({inner.type})"
                if lookup(inner.type) is None:
                    near = similar_types(inner.type)
                    hint = f"; did you mean {joined(near, 'or')}?" if near else ""
                    yield Finding("error", "unknown_type", f"{where}: there is no such operator type{hint}", index)
                for fault in faults(inner):
                    yield Finding("error", "schema", f"{where} does not fit its schema: {fault.text}", index)
                waiting += [(f"{label}, {each.name}", each.n) for each in proto.arg if each.HasField("n")]


# Inputs and outputs of the net.


def _undeclared(subject: Subject) -> Iterator[Finding]:
    scene, net = subject.scene, subject.trace.net
    declared = set(net.external_input)
    if not declared:
        return
    lost = {name: index for name, index in _read_from_outside(scene).items() if name not in declared}
    if lost:
        named = [f"{name} (read by {scene.named(index)})" for name, index in lost.items()]
        yield Finding(
            "error",
            "undeclared_input",
            f"external_input lacks {shortened(named)}: a net that declares inputs at all must declare every blob that "
            "it reads and does not make, or Caffe2 refuses to create it, even where the blob is in the workspace",
            next(iter(lost.values())),
            next(iter(lost)),
            Workshop(scene).remedy(
                f"Declare {shortened(list(lost))} as external input{'' if len(lost) == 1 else 's'}",
                "What is declared must still be filled or fed.",
                lambda made: made.external_input.extend(lost),
            ),
        )


def _read_from_outside(scene: Scene) -> dict[str, int]:
    """Blobs that are read before any operator writes them, each with its first reader."""
    written: set[str] = set()
    found: dict[str, int] = {}
    for index, op in enumerate(scene.ops, scene.offset):
        for name in op.inputs:
            if name not in written and name not in found:
                found[name] = index
        written.update(op.outputs)
    return found


def _feeds(subject: Subject) -> Iterator[Finding]:
    """External inputs by who fills them."""
    scene, model = subject.scene, subject.trace.model
    read = _read_from_outside(scene)
    filled = set(model.parameters)
    if model.init is not None:
        filled.update(name for op in model.init.op for name in op.output)
    role = roles(model)
    unfed = [name for name in read if name not in filled]
    data = [name for name in unfed if role.get(name) == "data"]
    parameters = [name for name in unfed if role.get(name) != "data"]
    if data:
        known = f"; the init net fills {shortened([name for name in read if name in filled])}" if filled else ""
        yield Finding(
            "note", "must_be_fed", f"to be fed before a run: {shortened(data)}{known}", read[data[0]], data[0]
        )
    if parameters and filled:
        text = f"neither the init net nor an op fills {shortened(parameters)}: the net cannot run without"
        yield Finding("warning", "unfilled_parameter", text, read[parameters[0]], parameters[0])
    elif parameters:
        text = f"no init net is given, so {shortened(parameters)} must be filled or fed, too"
        yield Finding("note", "must_be_fed", text, read[parameters[0]], parameters[0])
    idle = [name for name in dict.fromkeys(subject.trace.net.external_input) if name and not _used(scene, name)]
    if idle:
        near = nearest(idle[0], set(read))
        hint = f"; is {joined(near, 'or')} meant?" if near else ""
        yield Finding(
            "note", "unread_input", f"external inputs that no op reads: {shortened(idle)}{hint}", blob=idle[0]
        )


def _used(scene: Scene, name: str) -> bool:
    return (name, 0) in scene.walk.usages or name in scene.walk.frontier


def _outputs(subject: Subject) -> Iterator[Finding]:
    scene, net = subject.scene, subject.trace.net
    declared = [name for name in net.external_output if name]
    if not declared and net.op:
        natural = unread_outputs(net)
        yield Finding(
            "warning",
            "no_external_output",
            f"the net declares no external_output, so a predictor returns nothing; the blobs that nobody reads are its "
            f"natural outputs: {shortened(natural)}",
            blob=natural[0] if natural else "",
            remedy=Workshop(scene).remedy(
                f"Declare {shortened(natural)} as external output{'' if len(natural) == 1 else 's'}",
                "A predictor then returns what is declared.",
                lambda made: made.external_output.extend(natural),
            ),
        )
    known = set(scene.walk.recording.frontier) | set(net.external_input)
    for name in dict.fromkeys(declared):
        if name not in known or (name in scene.walk.ys and not scene.knows(name)):
            near = nearest(name, {each for op in scene.ops for each in op.outputs})
            hint = f"; did you mean {joined(near, 'or')}?" if near else ""
            yield Finding("error", "missing_output", f"no op writes the external output {name}{hint}", blob=name)


# Operators that do nothing.


def _repeats(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    for first, again in repeated(scene).items():
        yield _repeat(scene, first, again, first)
    for first, again in doubled_in_a_row(scene):
        yield _repeat(scene, first, again, again)


def _repeat(scene: Scene, first: int, again: int, dropped: int) -> Finding:
    text = (
        f"{scene.named(first)} and op {again} are the same: most likely code, such as a notebook cell, that ran twice"
    )
    remedy = Workshop(scene).remedy(
        f"Drop op {dropped}", "The other one does the same.", partial(edits.drop, indices=[dropped])
    )
    return Finding("warning", "repeated_op", text, first, scene.op(first).outputs[0], remedy)


def _overwritten_unread(subject: Subject) -> Iterator[Finding]:
    """A version that the next write replaces before anyone reads it."""
    scene = subject.scene
    twins = repeated(scene)
    for index in range(scene.offset, scene.last):
        if index in twins:
            continue
        for blob, version in scene.writes(index).items():
            if version < scene.last_version(blob) and not scene.readers(blob, version):
                writer = scene.writer(blob, version + 1)
                if writer is None:
                    continue
                then = f"and {scene.named(writer)} overwrites it before anyone reads it"
                text = f"{scene.named(index)} writes {blob}, {then}"
                yield Finding("warning", "overwritten_unread", text, index, blob)


def _dead(subject: Subject) -> Iterator[Finding]:
    """Operators on which neither an output of the net nor a y depends."""
    scene, net = subject.scene, subject.trace.net
    outputs = [name for name in net.external_output if name]
    if not outputs:
        return
    wanted = {(name, scene.last_version(name)) for name in (*outputs, *scene.walk.ys)}
    needed: set[int] = set()
    for index in range(scene.last - 1, scene.offset - 1, -1):
        op = scene.op(index)
        if not op.outputs or any(key in wanted for key in scene.writes(index).items()):
            needed.add(index)
            wanted.update(scene.reads(index).items())
    dead = [index for index in range(scene.offset, scene.last) if index not in needed]
    if dead:
        named = scene.all_named(dead)
        drop = partial(edits.drop, indices=dead)
        remedy = Workshop(scene).remedy(f"Drop {named}", "Nothing that leaves the net changes.", drop)
        text = f"neither an output of the net nor a y depends on {named}"
        yield Finding("note", "dead_op", text, dead[0], remedy=remedy)


# Engines and devices.


def _engines(subject: Subject) -> Iterator[Finding]:
    counts = Counter(engine for op in subject.scene.ops if (engine := op.proto.engine) not in ("", "DEFAULT"))
    for engine, count in counts.items():
        yield Finding(
            "note",
            "engine",
            f"engine {engine}: none here, the default is used for {_ops(count)}; an engine is a preference, no error, "
            "and gradient ops inherit it",
        )


def _devices(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    elsewhere = [
        index
        for index, op in enumerate(scene.ops, scene.offset)
        if op.proto.HasField("device_option") and op.proto.device_option.device_type
    ]
    if not elsewhere:
        return
    places = Counter(device_name(scene.op(index).device) for index in elsewhere)
    bound = [index for index in elsewhere if scene.op(index).type in CUDA_ONLY]
    every = "every op is" if len(elsewhere) == len(scene.ops) else f"{_ops(len(elsewhere))} {_are(len(elsewhere))}"
    only = f"{scene.all_named(bound)} exist only there" if bound else "none of them exists for one device only"
    yield Finding(
        "note",
        "device",
        f"{every} placed on {joined([f'{name} ({_ops(count)})' for name, count in places.items()])}: without such a "
        f"device the net cannot be created; graph and gradients do not depend on it, gradient ops inherit it; {only}",
        elsewhere[0],
        remedy=None if bound else no_devices(Workshop(scene), elsewhere),
    )


def _ops(count: int) -> str:
    return f"{count:,} op{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


CHECKS: list[Callable[[Subject], Iterator[Finding]]] = [
    _types,
    _schemas,
    _nested,
    _undeclared,
    _feeds,
    _outputs,
    _repeats,
    _overwritten_unread,
    _dead,
    _engines,
    _devices,
]
"""Every check of this file."""
