"""A net that holds gradient operators already: taking them out is the first thing to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.explain.repeats import first_gradient_op
from gradviz.autodiff.explain.type_names import LOSSES
from gradviz.autodiff.mending import edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy, Ys
    from gradviz.errors import GradientError


def gradients_present(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """Take the gradient operators, and what comes after them, out of the net."""
    scene = shop.scene
    first = first_gradient_op(scene)
    if first is None or shop.nested or not _concerned(scene, error, first):
        return
    while first > scene.offset and _starts_gradients(scene, first - 1):
        first -= 1
    outputs = {name for index in range(scene.offset, first) for name in scene.op(index).outputs}
    kept = [y for y in scene.walk.ys if y in outputs]
    losses = [scene.op(index).outputs[-1] for index in range(scene.offset, first) if scene.op(index).type in LOSSES]
    if not kept and not losses:
        return

    def ask(ys: Ys) -> Ys:
        return {y: gradient for y, gradient in ys.items() if y in kept} or {losses[-1]: None}

    last = scene.last - 1
    yield shop.remedy(
        f"Take ops {first} to {last} out of the net: gradient ops and updates of an earlier run",
        "The net was saved with its gradients. They are built anew from what is left, and updates belong behind them.",
        lambda net: edits.drop(net, range(first, last + 1)),
        ask if kept != list(scene.walk.ys) else None,
    )


def _starts_gradients(scene: Scene, index: int) -> bool:
    """Whether an operator fills the gradient of a y; such operators are not marked."""
    op = scene.op(index)
    return op.type == "ConstantFill" and all(name.endswith("_autogen_grad") for name in op.outputs)


def _concerned(scene: Scene, error: GradientError, first: int) -> bool:
    """Whether the gradient operators, or what comes after them, have to do with the error."""
    writers = [each["op_index"] for each in error.facts.get("overwritten_by", ())]
    return (error.op_index is not None and error.op_index >= first) or any(writer >= first for writer in writers)
