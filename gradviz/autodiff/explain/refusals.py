"""Refusals of gradient rules explained: unknown types, missing rules, schemas, gradients of the wrong form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.events import spoken
from gradviz.autodiff.explain.faults import faults
from gradviz.autodiff.explain.parameters import parameters
from gradviz.autodiff.explain.paths import upstream
from gradviz.autodiff.explain.scene import capital, joined, shortened
from gradviz.autodiff.explain.type_names import ADD_ONS, FLAT, METRICS, gives_floats, similar_types
from gradviz.autodiff.mending.repairs import later_refusals
from gradviz.autodiff.mending.workshop import Workshop
from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.explain.causes import Told
    from gradviz.autodiff.explain.scene import Scene
    from gradviz.errors import GradientError


def explain_rule(scene: Scene, error: GradientError, told: Told) -> None:
    """Explain why an operator's gradient rule gave no answer."""
    index = error.op_index
    assert index is not None
    op = scene.op(index)
    arrived = [f"{name} has {spoken(g)}" for name, g in zip(op.outputs, scene.g_output(index), strict=True) if g]
    told.asked = f"the gradient of {scene.named(index)}, as gradients arrive at what it writes: {joined(arrived)}."
    told.lines.append(f"Asked: {told.asked}")
    found = list(_found(scene, error, index))
    told.found = found[0] if found else str(error)
    told.lines += [f"Found: {told.found}", *found[1:]]
    told.lines += _blocked(scene, index)


def _found(scene: Scene, error: GradientError, index: int) -> Iterator[str]:
    op = scene.op(index)
    if error.kind == "no_gradient_maker":
        yield from _unknown(scene, index) if lookup(op.type) is None else _unregistered(scene, index)
    elif error.kind == "should_not_do_gradient":
        yield f"{op.type} declares itself that it must never be differentiated."
        yield "That is said on purpose; it is neither a forgotten gradient nor one that is still to be written."
        yield from _character(scene, index)
    elif error.kind == "gradient_not_implemented_yet":
        yield f"{op.type} declares that it ought to have a gradient, but upstream never implemented it."
        yield "That differs from a type that must not be differentiated, and from one that nobody registered."
        yield from _character(scene, index)
    elif error.kind == "schema":
        yield from _schema(scene, index)
    elif error.kind == "expected_dense":
        yield from _wrong_form(scene, error, index)
    else:
        yield _plain(error)
        yield from _after_that(scene, index)


def _plain(error: GradientError) -> str:
    text = str(error)
    return text.removeprefix(f"op {error.op_index}: ")


def _unknown(scene: Scene, index: int) -> Iterator[str]:
    type = scene.op(index).type
    yield f"{type} is an unknown operator here, not one with a missing gradient: no schema, no rule and no kernel."
    if type in ADD_ONS:
        yield f"{type} belongs to {ADD_ONS[type]}, which is not part of a plain build."
    if type.endswith("Op"):
        yield "Names that end in Op are those of C++ classes; an operator is registered under a name of its own."
    near = similar_types(type)
    if near:
        yield f"Nearest registered types: {joined(near)}."
    types = dict.fromkeys(op.type for op in scene.ops)
    known = [each for each in types if lookup(each) is not None]
    others = [each for each in types if lookup(each) is None and each != type]
    if known:
        yield f"The net's other types are known: {shortened(known, 12)}."
    if others:
        yield f"Unknown as well: {shortened(others, 12)}."
    yield "Types of your own become known through gradviz.register, or the entry point group gradviz.operators."


def _unregistered(scene: Scene, index: int) -> Iterator[str]:
    type = scene.op(index).type
    yield f"{type} has no entry in the gradient registry: nobody wrote a gradient for it."
    yield (
        "That differs from a type that says it must not be differentiated, and from one whose gradient is not "
        "implemented yet."
    )
    yield from _character(scene, index)


def _character(scene: Scene, index: int) -> Iterator[str]:
    type = scene.op(index).type
    if type in FLAT:
        yield f"{type} is a function in steps: its derivative is zero almost everywhere, so stopping loses nothing."
    if type in METRICS:
        yield f"{type} only measures: ask for the gradient of the loss alone, not of what {type} writes."


def _schema(scene: Scene, index: int) -> Iterator[str]:
    op = scene.op(index)
    found = faults(op)
    if not found:
        yield f"its definition does not fit the schema of {op.type}."
        return
    yield f"its definition does not fit the schema of {op.type}: {joined([each.text for each in found])}."
    for each in found:
        if each.kind == "argument" and each.name == "is_test":
            yield "Nets saved by older versions lack is_test: there it could be left out, and meant 0 (training)."
    yield from _after_that(scene, index)
    yield from _floats_already(scene, index)


def _after_that(scene: Scene, index: int) -> Iterator[str]:
    """What the rule would refuse next, once the first reason is mended."""
    for reason in later_refusals(Workshop(scene), index):
        yield f"Even with that mended: {reason}."


def _floats_already(scene: Scene, index: int) -> Iterator[str]:
    op = scene.op(index)
    if op.type != "Cast" or not op.inputs:
        return
    blob = op.inputs[0]
    writer = scene.writer(blob, scene.reads(index)[blob])
    if writer is not None and gives_floats(scene.op(writer).type):
        yield f"{blob} of {scene.named(writer)} is float already, so a Cast to float is not needed at all."


def _wrong_form(scene: Scene, error: GradientError, index: int) -> Iterator[str]:
    op, blob = scene.op(index), error.facts["blob"]
    if error.facts.get("was") == "sparse":
        yield f"the gradient of its output {blob} is sparse (indices and values), and {op.type} takes dense ones only."
        version = scene.writes(index).get(blob)
        makers = scene.generators(blob, version) if version is not None else []
        sparse = [reader for reader, maker in makers if maker.kind == "sparse" and reader is not None]
        if sparse:
            yield f"It comes from {scene.all_named(sparse)}, which picks rows of {blob}."
        elif scene.walk.ys.get(blob) is not None:
            yield f"It was given so: the gradient given for {blob} is {spoken(scene.walk.ys[blob])}."
        return
    yield f"its output {blob} has no gradient, and {op.type} needs one for it."
    version = scene.writes(index).get(blob)
    readers = scene.readers(blob, version) if version is not None else []
    with_gradient = [name for name, g in zip(op.outputs, scene.g_output(index), strict=True) if g is not None]
    read = f"is read by {scene.all_named(readers)}, where no gradient comes from" if readers else "is read by no op"
    yield f"{blob} {read}; {joined(with_gradient)} is on the way to a y, so the rule was asked."
    yield "Zero is the right gradient for an output that no y depends on; ZeroGradient makes it."


def _blocked(scene: Scene, index: int) -> Iterator[str]:
    """The parameters that lie behind the operator."""
    if scene.site:
        return
    sources = upstream(scene, index)
    trained = set(parameters(scene.model))
    blocked = [name for name in sources if name in trained]
    if blocked:
        verb = "it" if len(blocked) == 1 else "them"
        between = f"{capital(scene.named(index))} stands between the ys and {shortened(blocked)}"
        yield f"{between}: no gradient gets to {verb}."
