"""What training would change and what it would not: parameters with a gradient, without one, and idle gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.parameters import roles
from gradviz.autodiff.explain.reasons import why_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.generators import Generator
    from gradviz.ops.records import Gradient

_MOST_REASONS = 12


@dataclass(frozen=True, slots=True)
class Idle:
    """A gradient that is made and reaches no parameter.

    Attributes:
        blob: whose gradient it is.
        gradient: its name or slice.
        gradient_op: index of the gradient operator that makes it; None where it passes straight through.
        type: that operator's type, empty where there is none.
        op_index: the forward operator whose visit made it.
        alone: whether that gradient operator makes nothing else, so that it runs in vain.
    """

    blob: str
    gradient: Gradient
    gradient_op: int | None
    type: str
    op_index: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which parameters a walk gave a gradient.

    Attributes:
        trained: parameters with a gradient.
        frozen: parameters without, and why; the reasons of a few, the rest with an empty text.
        idle: gradients that reach no parameter, in the order of the net.
        statistics: running statistics, which get no gradient and need none.
    """

    trained: Mapping[str, Gradient]
    frozen: Mapping[str, str]
    idle: tuple[Idle, ...]
    statistics: tuple[str, ...]


def coverage(scene: Scene, *, idle: bool = True) -> Coverage:
    """Sort the parameters of a walk, and find the gradients that serve none.

    Args:
        scene: the walk.
        idle: whether to look for idle gradients.
    """
    found = roles(scene.model, [(op.type, op.inputs, op.outputs) for op in scene.ops])
    parameters = [name for name, role in found.items() if role == "parameter" and scene.readers(name, 0)]
    known = scene.walk.gradient_map
    trained = {name: known[name] for name in parameters if known.get(name) is not None}
    without = [name for name in parameters if known.get(name) is None]
    frozen = dict.fromkeys(without, "")
    for name in without[:_MOST_REASONS]:
        frozen[name] = "; ".join(why_none(scene, name, 0)[:3])
    statistics = tuple(name for name, role in found.items() if role == "statistic")
    in_vain = tuple(_idle(scene, set(parameters))) if idle else ()
    return Coverage(trained, frozen, in_vain, statistics)


def _idle(scene: Scene, parameters: set[str]) -> list[Idle]:
    if not parameters:
        return []
    serving = _serving(scene, parameters)
    column = scene.walk.recording.generators
    events, gradient_ops = scene.walk.recording.events, scene.walk.recording.gradient_ops
    useful: set[int] = set()
    found: list[tuple[str, int, Generator, int | None]] = []
    for mark, key, generator in zip(column.marks, column.keys, column.values, strict=True):
        index = events[mark].op_index
        maker = generator.op if generator.op is not None else generator.op_values
        if key in serving:
            if maker is not None:
                useful.add(maker)
        elif index is not None:
            found.append((key[0], index, generator, maker))
    made = []
    for blob, index, generator, maker in found:
        kind = "" if maker is None else gradient_ops[maker].type
        made.append(Idle(blob, generator.gradient, maker, kind, index, maker is not None and maker not in useful))
    return sorted(made, key=lambda idle: idle.op_index)


def _serving(scene: Scene, parameters: set[str]) -> set[tuple[str, int]]:
    """Versions of blobs that are parameters or depend on one."""
    found: set[tuple[str, int]] = {(name, 0) for name in parameters}
    for index in range(scene.offset, scene.last):
        if any(key in found for key in scene.reads(index).items()):
            found.update(scene.writes(index).items())
    return found
