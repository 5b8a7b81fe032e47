"""Where gradients meet: why there is a Sum or a Concat, who makes its parts, and why they were renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.events import Accumulate, Rename, spoken, versioned
from gradviz.autodiff.explain.scene import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.generators import Generator

_MOST_PARTS = 8


def about_sum(scene: Scene, blob: str, version: int) -> list[str]:
    """Why the gradients of one version of a blob are added up, or why not; empty where there is one reader."""
    readers = scene.readers(blob, version)
    asked = scene.is_y(blob, version)
    makers = scene.generators(blob, version)
    event = accumulation(scene, blob, version)
    if event is None:
        uses = len(readers) + asked
        if uses < 2 or len(makers) > 1:
            return list(_waiting(scene, blob, version, readers, makers))
        if not makers:
            return []
        one = f" from {scene.named(makers[0][0])}" if makers[0][0] is not None else ""
        return [f"{_uses(scene, blob, version)}, but only one gradient{one} comes of it, so nothing is added up."]
    return [*_parts(scene, blob, version, makers), *_made(scene, event, readers, asked)]


def accumulation(scene: Scene, blob: str, version: int) -> Accumulate | None:
    """The event that added the gradients of a version up, if they were."""
    readers = scene.readers(blob, version)
    for event in scene.visit_events(readers[0]) if readers else ():
        if isinstance(event, Accumulate) and (event.blob, event.version) == (blob, version):
            return event
    return None


def _uses(scene: Scene, blob: str, version: int) -> str:
    readers = scene.readers(blob, version)
    also = " and is itself a y" if scene.is_y(blob, version) else ""
    read = f"is read by {scene.all_named(readers)}" if readers else "is read by no op"
    return f"{versioned(blob, version)} {read}{also}"


def _parts(scene: Scene, blob: str, version: int, makers: list[tuple[int | None, Generator]]) -> Iterator[str]:
    yield f"{_uses(scene, blob, version)}, so {len(makers)} gradients meet:"
    for index, generator in makers[:_MOST_PARTS]:
        yield f"  {_part(scene, index, generator)}"
    if len(makers) > _MOST_PARTS:
        yield f"  and {len(makers) - _MOST_PARTS} more"


def _part(scene: Scene, index: int | None, generator: Generator) -> str:
    forward = "because it is a y" if index is None else f"for {scene.named(index)}"
    if generator.kind == "dense":
        if generator.op is None or generator.idx is None:
            return f"{generator.gradient} passes straight through, {forward}"
        kind = scene.walk.recording.gradient_ops[generator.op].type
        return f"gradient op {generator.op} ({kind}) makes {_called(scene, generator.op, generator.idx)}, {forward}"
    halves = []
    for half, op, idx in (
        ("indices", generator.op_indices, generator.idx_indices),
        ("values", generator.op_values, generator.idx_values),
    ):
        name = getattr(generator.gradient, half)
        called = name if op is None or idx is None else _called(scene, op, idx)
        made = "passed through" if op is None else f"by gradient op {op}"
        halves.append(f"{half} {called} {made}")
    return f"a slice, {forward}: {', '.join(halves)}"


def _called(scene: Scene, op: int, output: int) -> str:
    first = scene.walk.recording.gradient_ops[op].outputs[output]
    now = scene.walk.output_of(op, output)
    return now if now == first else f"{now} (made as {first})"


def _made(scene: Scene, event: Accumulate, readers: list[int], asked: bool) -> Iterator[str]:
    ops = [f"gradient op {number} ({op.type})" for number, op in enumerate(event.ops, event.first)]
    if len(event.ops) > 1:
        how = "Slices are put one behind the other, indices not made unique:"
        yield f"{how} {joined(ops)} make {spoken(event.gradient)}."
    else:
        in_place = ", in place on the first part" if spoken(event.gradient) in event.ops[0].inputs[:1] else ""
        yield (
            f"{ops[0]} adds them into {spoken(event.gradient)}{in_place}."[:1].upper()
            + (f"{ops[0]} adds them into {spoken(event.gradient)}{in_place}."[1:])
        )
    when = f"{scene.named(event.op_index)} reads {versioned(event.blob, event.version)} first"
    if len(readers) + asked > 1:
        yield (
            f"It happens at op {event.op_index} and not earlier: {when}, so the walk, which goes backwards, comes to "
            "it last, and only then is every part there."
        )
    yield from about_renames(scene, event)


def about_renames(scene: Scene, event: Accumulate) -> Iterator[str]:
    """Why outputs were renamed for a sum."""
    renames = [
        each for each in scene.visit_events(event.op_index) if isinstance(each, Rename) and each.blob == event.blob
    ]
    if renames:
        told = joined([f"{each.old} of gradient op {each.gradient_op} became {each.new}" for each in renames[:4]])
        more = f" and {len(renames) - 4} more" if len(renames) > 4 else ""
        yield f"Rules call every part by the same name, so all but one are renamed: {told}{more}."


def _waiting(
    scene: Scene, blob: str, version: int, readers: list[int], makers: list[tuple[int | None, Generator]]
) -> Iterator[str]:
    """Gradients that ought to be added up when the walk stopped, or later."""
    if len(makers) < 2:
        return
    yield f"{_uses(scene, blob, version)}; {len(makers)} gradients of it are made:"
    for index, generator in makers[:_MOST_PARTS]:
        yield f"  {_part(scene, index, generator)}"
    if readers and scene.error is not None:
        yield f"They were not added up: the walk stopped ({scene.error.kind})."
