"""Checks of what gradients will trip over: overwritten blobs, refusals of rules, parameters that no y reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.events import versioned
from gradviz.autodiff.explain.parameters import INTEGER_INPUTS, roles
from gradviz.autodiff.explain.paths import passes
from gradviz.autodiff.explain.scene import shortened
from gradviz.autodiff.lint import Finding, Subject
from gradviz.autodiff.mending.rules import around
from gradviz.autodiff.mending.stops import orphan
from gradviz.autodiff.mending.versions import version_remedies
from gradviz.autodiff.mending.workshop import Workshop
from gradviz.errors import GradientError
from gradviz.ops.registry import NoRule, lookup, make_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.explain.scene import Scene

_NESTING = ("If", "While", "Do")
_TOLD_ELSEWHERE = {"unknown_type"}


def _still_to_come(scene: Scene) -> list[int]:
    """Operators that gradients would reach and that the walk did not get through, because it failed before.

    Where the walk was, it knows better than any check; from there on rules are asked one by one.
    """
    if scene.error is None:
        return []
    wanted = {(name, scene.last_version(name)) for name in scene.walk.ys}
    found = []
    for index in range(scene.last - 1, scene.offset - 1, -1):
        if not any(key in wanted for key in scene.writes(index).items()):
            continue
        if scene.visited(index) and index != scene.error.op_index:
            passing = {name for name in scene.op(index).inputs if passes(scene, index, name)}
        else:
            found.append(index)
            passing = _would_pass(scene, index)
        wanted.update((name, version) for name, version in scene.reads(index).items() if name in passing)
    return found


def _would_pass(scene: Scene, index: int) -> set[str]:
    """Inputs to which the rule of an operator would give a gradient; all that it may, where it does not say."""
    op = scene.op(index)
    if op.type in _NESTING:
        writers = [(name, scene.writer(name, version)) for name, version in scene.reads(index).items()]
        scopes = {name for name, writer in writers if writer is not None and scene.op(writer).type == "CreateScope"}
        return set(op.inputs[1:] if op.type != "Do" else op.inputs) - scopes
    try:
        _, g_input = make_gradient(op, [f"{name}/grad" for name in op.outputs])
    except Exception:  # noqa: BLE001 - a rule from outside may raise anything
        return {name for i, name in enumerate(op.inputs) if i not in INTEGER_INPUTS.get(op.type, {})}
    return {name for name, gradient in zip(op.inputs, g_input, strict=False) if gradient is not None}


def _overwritten(subject: Subject) -> Iterator[Finding]:
    """Blobs that a gradient will need as they were, and that a later operator overwrites: all of them at once."""
    found = list(_all_overwritten(subject))
    if subject.meant or len(found) < 4:
        yield from found
        return
    text = (
        f"should it be trained, {len(found)} blobs that gradients need are overwritten; the first: {found[0].message}"
    )
    yield Finding("note", found[0].kind, text, found[0].op_index, found[0].blob)


def _all_overwritten(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    for index in _still_to_come(scene):
        for blob, version, side in _needs(scene, index):
            if scene.last_version(blob) == version:
                continue
            writer = scene.writer(blob, version + 1)
            if writer is None:
                continue
            needs = f"which the gradient of {scene.named(index)} needs as its {side}"
            text = f"{scene.named(writer)} overwrites {versioned(blob, version)}, {needs}; give it an output of its own"
            remedy = next(version_remedies(Workshop(scene), blob, version), None)
            yield Finding(subject.graded("error"), f"{side}_overwritten", text, index, blob, remedy)


def _needs(scene: Scene, index: int) -> Iterator[tuple[str, int, str]]:
    """Inputs and outputs that the gradient of an operator reads: blob, version, side."""
    op = scene.op(index)
    known = lookup(op.type)
    if known is None or isinstance(known.gradient, NoRule) or known.python_rule is not None:
        return
    names = [f"{name}/grad" for name in op.outputs]
    try:
        made, _ = make_gradient(op, names)
    except Exception:  # noqa: BLE001 - a rule from outside may raise anything
        return
    reads = dict.fromkeys(name for each in made for name in each.inputs)
    written, read = scene.writes(index), scene.reads(index)
    local = {name for each in made for name in each.outputs}
    for name in reads:
        if name in written:
            yield name, written[name], "output"
        elif name in read and name not in local:
            yield name, read[name], "input"


def _refusals(subject: Subject) -> Iterator[Finding]:
    """Operators on the way whose gradient rule would refuse; schemas are told elsewhere."""
    scene, stopped = subject.scene, subject.trace.error
    for index in _still_to_come(scene):
        op = scene.op(index)
        known = lookup(op.type)
        if known is None or known.python_rule is not None or not isinstance(known.gradient, NoRule):
            continue
        try:
            make_gradient(op, [f"{name}/grad" for name in op.outputs])
        except GradientError as error:
            asked = [y for y in scene.walk.ys if y in op.outputs]
            severity = "note" if asked and subject.trace.chosen != "given" else subject.graded("error")
            at_hand = stopped.remedies if stopped is not None and stopped.op_index == index else ()
            remedy = at_hand[0] if at_hand else next(around(Workshop(scene), index), None)
            yield Finding(severity, error.kind, f"op {index} stands before a y: {error}", index, remedy=remedy)


def _orphans(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    for index, op in enumerate(scene.ops, scene.offset):
        if op.type != "StopGradient" or not op.outputs or any(scene.history_readers(name) for name in op.outputs[:1]):
            continue
        text = f"{scene.named(index)} writes {op.outputs[0]}, which no op reads: it stops nothing, and is refused"
        error = GradientError("", kind="stop_gradient_orphan", op_index=index, facts={"blob": op.outputs[0]})
        remedy = next(orphan(Workshop(scene), error), None)
        yield Finding(subject.graded("error"), "stop_gradient_orphan", text, index, op.outputs[0], remedy)


def _unreached(subject: Subject) -> Iterator[Finding]:
    """Parameters on which no y depends; where the walk went through, it warns of them itself."""
    scene = subject.scene
    if scene.error is None or not any(scene.knows(y) for y in scene.walk.ys):
        return
    wanted = {(name, scene.last_version(name)) for name in scene.walk.ys}
    for index in range(scene.last - 1, scene.offset - 1, -1):
        if any(key in wanted for key in scene.writes(index).items()) and scene.op(index).type != "StopGradient":
            wanted.update(scene.reads(index).items())
    parameters = [name for name, role in roles(scene.model).items() if role == "parameter"]
    lost = [name for name in parameters if (name, 0) in scene.walk.usages and (name, 0) not in wanted]
    if lost:
        text = f"no y depends on the parameters {shortened(lost)}: they would get no gradient"
        yield Finding(subject.graded("warning"), "unreached_parameter", text, blob=lost[0])


def _after_the_loss(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    if not subject.meant or not scene.walk.ys:
        return
    writers = [scene.writer(y, scene.last_version(y)) for y in scene.walk.ys]
    last = max((writer for writer in writers if writer is not None), default=None)
    if last is None or last + 1 >= scene.last:
        return
    later = [index for index in range(last + 1, scene.last) if scene.op(index).outputs]
    if later:
        verb = "comes" if len(later) == 1 else "come"
        after = f"{scene.all_named(later)} {verb} after the last y"
        text = f"{after}: no gradient goes through, but what is overwritten there counts"
        yield Finding("note", "after_the_loss", text, later[0])


def _already(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    ops = [index for index, op in enumerate(scene.ops, scene.offset) if op.proto.is_gradient_op]
    if ops:
        text = (
            f"the net holds {len(ops):,} gradient ops already, from {scene.named(ops[0])} on: gradients added again "
            "are built over them; take the net as it was before, or skip them"
        )
        yield Finding("warning", "gradient_ops_present", text, ops[0])


def _test_mode(subject: Subject) -> Iterator[Finding]:
    scene = subject.scene
    if not subject.meant:
        return
    dropped = [
        index
        for index, op in enumerate(scene.ops, scene.offset)
        if op.type == "Dropout" and any(each.name == "is_test" and each.i for each in op.proto.arg)
    ]
    if dropped:
        text = f"{scene.all_named(dropped)} run in test mode (is_test=1) and drop nothing; training wants is_test=0"
        yield Finding("note", "test_mode", text, dropped[0])


def _warnings(subject: Subject) -> Iterator[Finding]:
    """What the walk warns of."""
    for warning in subject.trace.warnings:
        if warning.kind in _TOLD_ELSEWHERE:
            continue
        remedy = warning.remedies[0] if warning.remedies else None
        severity = subject.graded("warning")
        yield Finding(severity, warning.kind, str(warning), warning.op_index, warning.blob or "", remedy)


def walk_error(subject: Subject, found: list[Finding]) -> Iterator[Finding]:
    """What stops the walk, unless a check said it already."""
    error = subject.trace.error
    if error is None:
        return
    unknown = error.kind == "no_gradient_maker" and lookup(str(error.facts.get("op_type"))) is None
    kind = "unknown_type" if unknown else error.kind
    if any(each.kind == kind and (unknown or each.op_index == error.op_index) for each in found):
        return
    remedy = error.remedies[0] if error.remedies else None
    blob = error.facts.get("blob", "")
    yield Finding(subject.graded("error"), error.kind, str(error), error.op_index, str(blob), remedy)


CHECKS: list[Callable[[Subject], Iterator[Finding]]] = [
    _overwritten,
    _refusals,
    _orphans,
    _unreached,
    _after_the_loss,
    _already,
    _test_mode,
    _warnings,
]
"""Every check of this file."""
