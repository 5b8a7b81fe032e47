"""Walks over nested nets, for the gradient rules of control operators.

A nested net gets a walk of its own, with versions and generators of its own; what it shares with the walk around it are
the scopes in force and the names of nets made so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradviz.autodiff.walk import Walk
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradviz.autodiff.walk import Answer
    from gradviz.ops.records import Gradient
    from gradviz.proto import DeviceOption, NetDef, OperatorDef


class NestedWalk(NamedTuple):
    """A walk over a nested net.

    Attributes:
        label: name of the argument that holds the net.
        net: the nested net.
        ys: gradients that it started from.
        walk: the walk.
    """

    label: str
    net: NetDef
    ys: dict[str, str]
    walk: Walk


class Nest:
    """The registry as a walk asks it, with walks for nested nets (see `gradviz.ops.control.Nest`).

    Attributes:
        made: nested walks since they were last taken, in order.
    """

    def __init__(self, name_scope: str = "", device_scope: DeviceOption | None = None) -> None:
        self.name_scope = name_scope
        self.device_scope = device_scope
        self.net_names: set[str] = set()
        self.made: list[NestedWalk] = []

    def ask(self, op: Op, g_output: Sequence[Gradient]) -> Answer:
        """The gradient of one operator."""
        return make_gradient(op, g_output, self)

    def walk(self, label: str, net: NetDef, ys: Mapping[str, str]) -> tuple[list[OperatorDef], dict[str, str]]:
        """Walk a nested net backwards; see `gradviz.ops.control.Nest`.

        Raises:
            GradientError: the nested walk failed; its phase is `make_gradient`, where it failed inside is in `facts`.
        """
        from gradviz.autodiff.diagnosis import nested_failure
        from gradviz.autodiff.trace import gradient_protos

        names: dict[str, str] = {}
        inner = Nest(self.name_scope, self.device_scope)
        inner.net_names = self.net_names
        walk = Walk([Op(proto, names) for proto in net.op], dict(ys), inner.ask, self.name_scope, self.device_scope)
        walk.nest = inner
        walk.run()
        self.made.append(NestedWalk(label, net, dict(ys), walk))
        if walk.error is not None:
            raise nested_failure(label, walk.error)
        # Upstream spells a slice out as text here; a name that no blob has, so it meets an error later if it is used.
        gradients = {blob: _text(gradient) for blob, gradient in walk.gradient_map.items() if gradient is not None}
        return gradient_protos(walk.recording), gradients

    def take(self) -> list[NestedWalk]:
        """The nested walks since this was last called."""
        made, self.made = self.made, []
        return made


def _text(gradient: Gradient) -> str:
    if isinstance(gradient, str):
        return gradient
    assert gradient is not None
    return f'GradientSlice(indices=BlobReference("{gradient.indices}"), values=BlobReference("{gradient.values}"))'
