"""Stories: answers to a "why", in short true lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.autodiff.explain.paths import Path
    from gradviz.ops.records import Gradient


@dataclass(frozen=True, slots=True)
class Story:
    """An answer; as text, its lines.

    Attributes:
        subject: what it is about: a blob, `op 3`, or `the net`.
        blob: the forward blob, empty where there is none.
        has_gradient: whether that blob has a gradient.
        gradient: the gradient: a name, a slice, or None.
        lines: what there is to say, the answer first.
        known: whether the net, or its gradients, know the subject.
        paths: ways on which the gradient comes from the ys, shortest first; at most five.
    """

    subject: str
    blob: str
    has_gradient: bool
    gradient: Gradient
    lines: tuple[str, ...]
    paths: tuple[Path, ...] = ()
    known: bool = True

    def __str__(self) -> str:
        return "\n".join(self.lines)
