"""Operators that do nothing for the net: repeated ones, dead ones, and those that no y depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.autodiff.explain.scene import Scene


def repeated(scene: Scene) -> dict[int, int]:
    """Operators that a later one repeats, and that are dead because of it: earlier index -> later index."""
    latest: dict[bytes, int] = {}
    found: dict[int, int] = {}
    for index in range(scene.last - 1, scene.offset - 1, -1):
        op = scene.op(index)
        if not op.outputs:
            continue
        key = op.proto.SerializeToString(deterministic=True)
        if key in latest:
            found[index] = latest[key]
        else:
            latest[key] = index
    return dict(sorted(_dead_among(scene, found).items()))


def _dead_among(scene: Scene, found: dict[int, int]) -> dict[int, int]:
    """Those of which nothing is read but by others of them."""
    left = {index: later for index, later in found.items() if not _asked(scene, index)}
    changed = True
    while changed:
        alive = [index for index in left if any(reader not in left for reader in _readers(scene, index))]
        changed = bool(alive)
        for index in alive:
            del left[index]
    return left


def doubled_in_a_row(scene: Scene) -> list[tuple[int, int]]:
    """Pairs of equal operators that work in place, the second on what the first made."""
    found = []
    for index in range(scene.offset, scene.last):
        op = scene.op(index)
        if set(op.inputs).isdisjoint(op.outputs):
            continue
        for blob, version in scene.writes(index).items():
            for reader in scene.readers(blob, version):
                other = scene.op(reader)
                if reader != index and other.proto == op.proto:
                    found.append((index, reader))
    return found


def dead(scene: Scene, index: int) -> bool:
    """Whether nothing that an operator writes is read, or a y."""
    return bool(scene.op(index).outputs) and not _readers(scene, index) and not _asked(scene, index)


def needless(scene: Scene, index: int) -> bool:
    """Whether no y depends on an operator."""
    waiting, seen = [index], {index}
    while waiting:
        current = waiting.pop()
        if _asked(scene, current):
            return False
        fresh = [reader for reader in _readers(scene, current) if reader not in seen]
        seen.update(fresh)
        waiting += fresh
    return True


def first_gradient_op(scene: Scene) -> int | None:
    """The first operator that is marked as a gradient operator; a net that holds some was saved with its gradients."""
    marked = (index for index in range(scene.offset, scene.last) if scene.op(index).proto.is_gradient_op)
    return next(marked, None)


def _readers(scene: Scene, index: int) -> list[int]:
    return [reader for blob, version in scene.writes(index).items() for reader in scene.readers(blob, version)]


def _asked(scene: Scene, index: int) -> bool:
    return any(scene.is_y(blob, version) for blob, version in scene.writes(index).items())
