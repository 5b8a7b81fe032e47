"""What every rule that finds remedies needs: names that are free, uses of a blob, and edits at the right place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.explain.scene import has_nested_nets, must_stay_in_place
from gradviz.autodiff.mending import edits
from gradviz.autodiff.remedies import Remedy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.remedies import Ys
    from gradviz.proto import NetDef

Edit = "Callable[[NetDef], None]"


class Workshop:
    """Makes remedies for one scene.

    Attributes:
        scene: the walk that failed.
        nested: whether it is that of a nested net, whose ys nobody can choose.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.nested = bool(scene.site)
        self._taken: set[str] = set()
        self._known: set[str] | None = None

    def remedy(
        self,
        title: str,
        explanation: str,
        edit: Callable[[NetDef], None],
        ask: Callable[[Ys], Ys] | None = None,
    ) -> Remedy:
        """A remedy whose edit works on the net of the scene, wherever it stands."""
        site = self.scene.site
        for op_index, label in reversed(site):
            title += f", in {label} of op {op_index}"
        return Remedy(title, explanation, lambda net: edit(edits.net_at(net, site)), ask)

    def fresh(self, wanted: str) -> str:
        """A name that the whole net does not use; never the same one twice."""
        if self._known is None:
            self._known = edits.names_in(self.scene.model.net)
        name, number = wanted, 1
        while name in self._known or f"{name}_grad" in self._known or name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def renameable(self, blob: str, writes: Collection[int], reads: Collection[int]) -> bool:
        """Whether some uses of a blob can get another name and others not.

        An operator that keeps one side and changes the other must not be bound to work in place, and must not hold a
        net that speaks of both.
        """
        for index in {*writes, *reads}:
            op = self.scene.op(index)
            one_sided = (blob in op.inputs and index not in reads) or (blob in op.outputs and index not in writes)
            if one_sided and (must_stay_in_place(op, blob) or (has_nested_nets(op) and op.type != "Do")):
                return False
        return True

    def fed_to(self, source: str, target: str, readers: Sequence[int]) -> Callable[[NetDef], None]:
        """An edit: some readers read `target` in place of `source`."""
        return lambda net: edits.rename(net, source, target, (), readers)


def asks_for(old: str, new: str) -> Callable[[Ys], Ys]:
    """Ask for another blob in place of a y; the order stays."""
    return lambda ys: {new if y == old else y: gradient for y, gradient in ys.items()}


def asks_without(*left_out: str) -> Callable[[Ys], Ys]:
    """Ask for fewer ys."""
    return lambda ys: {y: gradient for y, gradient in ys.items() if y not in left_out}
