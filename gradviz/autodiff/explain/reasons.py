"""Why a blob has no gradient: one clause for each way on which it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.explain.parameters import INTEGER_INPUTS
from gradviz.autodiff.explain.paths import downstream
from gradviz.autodiff.explain.scene import shortened
from gradviz.autodiff.explain.type_names import FLAT
from gradviz.ops.arguments import arg
from gradviz.ops.records import Op
from gradviz.ops.registry import NONE, lookup, make_gradient
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from gradviz.autodiff.explain.paths import Cut, Downstream
    from gradviz.autodiff.explain.scene import Scene

_MOST_CUTS = 6


def why_none(scene: Scene, blob: str, version: int) -> list[str]:
    """Why one version of a blob has no gradient, one clause for each reason, with the operators' indices.

    Args:
        scene: the walk.
        blob: a blob that an operator reads or writes.
        version: one of its versions, without a gradient.
    """
    if not scene.readers(blob, version) and not scene.is_y(blob, version):
        later = [each for each in scene.history(blob) if each.version > version]
        if later and later[0].writer is not None:
            return [f"no op reads it: {scene.named(later[0].writer)} overwrites it unread"]
        return ["no op reads it, and it is no y"]
    found = downstream(scene, blob, version)
    reasons = [_of_cut(scene, cut) for cut in found.cuts[:_MOST_CUTS]]
    if len(found.cuts) > _MOST_CUTS:
        reasons.append(f"and {len(found.cuts) - _MOST_CUTS:,} more ops like these pass nothing on")
    if found.unvisited and scene.error is not None:
        reasons.append(_not_reached(scene, found))
    if reasons:
        return reasons
    return [_off_path(scene, found)]


def _of_cut(scene: Scene, cut: Cut) -> str:
    op, named = scene.op(cut.op_index), scene.named(cut.op_index)
    if op.type == "StopGradient":
        return f"{named} stops the gradient on purpose: nothing below it gets one through it"
    known = lookup(op.type)
    what = INTEGER_INPUTS.get(op.type, {}).get(cut.slot)
    if known is not None and known.gradient is NONE:
        flat = " (it is a function in steps, flat almost everywhere)" if op.type in FLAT else ""
        return f"{named} passes no gradient to any input: its type is declared to have none{flat}"
    if what is not None:
        return f"{named} reads {cut.blob} as {what} (input {cut.slot}), which get no gradient"
    argument = argument_that_gives(scene, cut)
    if argument:
        return f"{named} gives input {cut.slot} ({cut.blob}) a gradient only with the argument {argument}=1"
    if any(each.name == "grad_input_indices" for each in op.proto.arg):
        return f"the argument grad_input_indices of {named} leaves input {cut.slot} ({cut.blob}) out"
    if known is not None and known.python_rule is None and known.family != "custom":
        return f"the gradient rule of {named} gives input {cut.slot} ({cut.blob}) none"
    return f"the gradient rule of {named} answered without a gradient for input {cut.slot} ({cut.blob})"


_ASKING = ("grad_on_weights", "grad_on_w", "is_learnable", "elementwise_affine")
"""Arguments that ask a rule for more gradients than it gives by itself."""


def argument_that_gives(scene: Scene, cut: Cut) -> str:
    """The argument with which the operator's rule would give the input a gradient; empty where there is none."""
    op = scene.op(cut.op_index)
    known = lookup(op.type)
    if known is None or known.python_rule is not None or not callable(known.gradient):
        return ""
    for name in _ASKING:
        if any(argument.name == name for argument in op.proto.arg):
            continue
        definition = OperatorDef()
        definition.CopyFrom(op.proto)
        definition.arg.append(arg(name, 1))
        try:
            _, g_input = make_gradient(Op(definition), scene.g_output(cut.op_index))
        except Exception:  # noqa: BLE001 - a rule from outside may raise anything
            continue
        if cut.slot < len(g_input) and g_input[cut.slot] is not None:
            return name
    return ""


def _not_reached(scene: Scene, found: Downstream) -> str:
    assert scene.error is not None
    at = scene.error.op_index
    where = "before it began" if at is None or not scene.walk.recording.visits else f"at {scene.named(at)}"
    ops = sorted(set(found.unvisited) - {at}, reverse=True) or [at or 0]
    return f"the walk stopped {where} ({scene.error.kind}) and did not get through {scene.all_named(ops, 3)}"


def _off_path(scene: Scene, found: Downstream) -> str:
    asked = shortened(list(scene.walk.ys), 4)
    if not scene.walk.ys:
        return "no gradient was asked for: there are no ys"
    if not any(scene.knows(y) for y in scene.walk.ys):
        return f"no op of this net reads or writes a y ({asked})"
    if found.ys:
        return f"no gradient arrived from {shortened(list(found.ys), 4)}, which depends on it"
    ends = [f"{blob} of {scene.named(index)}" for blob, index in list(found.ends.items())[:3]]
    leads = f": what depends on it ends in {shortened(ends)}" if ends else ""
    return f"it is not on a way to the ys ({asked}){leads}"
