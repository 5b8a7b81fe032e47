"""Diagnoses: what was asked, what was found, the blob's history, who is involved, and what usually mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.causes import explain
from gradviz.autodiff.explain.scene import Scene
from gradviz.autodiff.mending import remedies_for

if TYPE_CHECKING:
    from gradviz.autodiff.explain.scene import Site, Version
    from gradviz.autodiff.remedies import Remedy
    from gradviz.autodiff.trace import Trace


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known of an error. Operators and versions are those of the net in which it arose.

    Attributes:
        kind: what went wrong, as in `docs/errors.md`.
        phase: where.
        op_index: the operator being visited; None where none is concerned.
        site: where the nested net stands in which it arose; empty for the net itself.
        summary: the error's own line.
        asked: what was asked for, one line; empty where the kind asks for nothing.
        found: what was found in its place, one line.
        history: every version of the blob concerned, oldest first.
        ops: the operators involved, the visited one first.
        lines: the explanation, one short line each, `asked` and `found` among them.
        remedies: what usually mends it, likeliest first.
    """

    kind: str
    phase: str
    op_index: int | None
    site: Site
    summary: str
    asked: str
    found: str
    history: tuple[Version, ...]
    ops: tuple[int, ...]
    lines: tuple[str, ...]
    remedies: tuple[Remedy, ...]


def examine(trace: Trace) -> Diagnosis:
    """The diagnosis of the error that stopped a walk.

    Raises:
        ValueError: nothing stopped it.
    """
    return examine_scene(Scene.of(trace).innermost())


def examine_scene(scene: Scene) -> Diagnosis:
    """The diagnosis of the error of a scene, which may be that of a nested net."""
    error = scene.error
    if error is None:
        raise ValueError("nothing stopped this walk")
    blob = error.facts.get("blob")
    told = explain(scene, error)
    return Diagnosis(
        kind=error.kind,
        phase=error.phase,
        op_index=error.op_index,
        site=scene.site,
        summary=str(error),
        asked=told.asked,
        found=told.found,
        history=tuple(scene.history(blob)) if isinstance(blob, str) else (),
        ops=tuple(dict.fromkeys(told.ops)),
        lines=tuple(told.lines),
        remedies=remedies_for(scene),
    )
