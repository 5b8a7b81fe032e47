"""`lint(model)`: what will bite later, all of it at once, before anyone runs the net or reads an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.explain.repeats import first_gradient_op
from gradviz.autodiff.explain.scene import Scene
from gradviz.autodiff.walk import collector_paused
from gradviz.nets import as_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradviz.autodiff.remedies import Remedy
    from gradviz.autodiff.trace import Trace

SEVERITIES = ("error", "warning", "note")
"""From what stops a net to what is only worth a word."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        severity: `error` (it will fail), `warning` (it is probably not meant) or `note`.
        kind: what it is, one of the names in `docs/errors.md`.
        message: one line: what, why, what to do.
        op_index: the operator concerned; None where it is about the net.
        blob: the blob concerned, empty where it is about none.
        remedy: what mends it, if that can be done by an edit of the net.
    """

    severity: str
    kind: str
    message: str
    op_index: int | None = None
    blob: str = ""
    remedy: Remedy | None = None

    def as_json(self) -> dict[str, Any]:
        """The finding as plain values, the remedy by its title."""
        return {
            "severity": self.severity,
            "kind": self.kind,
            "op_index": self.op_index,
            "blob": self.blob or None,
            "message": self.message,
            "remedy": None if self.remedy is None else self.remedy.title,
        }

    def __str__(self) -> str:
        named = self.op_index is None or self.message.startswith(f"op {self.op_index} ")
        where = "" if named else f"op {self.op_index}: "
        return f"{self.severity}: {where}{self.message}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What checks look at.

    Attributes:
        trace: the walk of the model.
        scene: the same, with its versions.
        meant: whether gradients are meant: ys were given, or the net has a loss and no gradients yet. If not, what only
            gradients would trip over is a note.
    """

    trace: Trace
    scene: Scene
    meant: bool

    def graded(self, severity: str) -> str:
        """The severity of something that only gradients trip over."""
        return severity if self.meant else "note"


def lint(model: Any, ys: Sequence[str] | Mapping[str, Any] | None = None, **options: Any) -> list[Finding]:
    """Look a net over.

    Args:
        model: a Model or a NetDef; with its init net, what nobody feeds is told apart.
        ys: what the gradient is to be asked of; None as for `trace`.
        **options: what else `trace` takes.

    Returns:
        The findings, errors first, then in the order of the net.

    Raises:
        TypeError: ys is neither list nor dict, or a key is not text.
    """
    from gradviz.autodiff.explain.type_names import LOSSES
    from gradviz.autodiff.trace import trace

    walked = trace(as_model(model), ys, **options)
    with collector_paused():
        scene = Scene.of(walked)
        trains = any(op.type in LOSSES for op in scene.ops) and first_gradient_op(scene) is None
        subject = Subject(walked, scene, ys is not None or trains)
        found = _found(subject)
    unique = {(each.severity, each.kind, each.op_index, each.blob, each.message): each for each in reversed(found)}
    return sorted(unique.values(), key=_order)


def _found(subject: Subject) -> list[Finding]:
    from gradviz.autodiff.linting import gradients, net

    found = [finding for check in (*net.CHECKS, *gradients.CHECKS) for finding in check(subject)]
    return [*found, *gradients.walk_error(subject, found)]


def _order(finding: Finding) -> tuple[int, int, str, str]:
    at = -1 if finding.op_index is None else finding.op_index
    return SEVERITIES.index(finding.severity), at, finding.kind, finding.blob
