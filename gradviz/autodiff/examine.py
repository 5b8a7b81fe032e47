"""Diagnoses: what was asked, what was found, and what usually mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.autodiff.mending import remedies_for
from gradviz.autodiff.scene import Scene

if TYPE_CHECKING:
    from gradviz.autodiff.remedies import Remedy
    from gradviz.autodiff.trace import Trace


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known of an error."""

    lines: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()


def examine(trace: Trace) -> Diagnosis:
    """The diagnosis of the error that stopped a walk."""
    return Diagnosis((), remedies_for(Scene.of(trace).innermost()))
