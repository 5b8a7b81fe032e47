"""The values of a run as rows: each with its figures, and the figures of its gradient beside it.

As JSON a row has `blob`, `version` (as the backward walk counts), `op` (the index in the run of the operator that wrote
it, null for feeds and parameters), `type` (that operator's), `shape`, `dtype`, `min`, `max`, `mean`, `std`, `l2`,
`zeros`, `nan`, `inf`; `gradient` (the gradient's name, or the name of its values where it is sparse; null without one)
and `gradient_figures` (shape, dtype and so on of it, or null). Figures of what has no finite elements are null.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from gradviz.ops.records import GradientSlice
from gradviz.render.versions import played

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff import Trace
    from gradviz.execute import Workspace
    from gradviz.execute.health import Health

FIGURES = ("dtype", "min", "max", "mean", "std", "l2", "zeros", "nan", "inf")


def rows_of(workspace: Workspace, trace: Trace | None) -> Iterator[dict[str, Any]]:
    """Rows in order of execution: what was there before, then every write that was kept.

    Args:
        workspace: what the run left.
        trace: the walk that made its gradient operators; None where there was none.
    """
    owners = {} if trace is None else trace.state_at(-1).gradient_frontier
    for blob, version, written, op in _places(workspace):
        row = {"blob": blob, "version": version, "op": op, "type": None if op is None else workspace.ops[op].type}
        row.update(figures_of(workspace.health(blob, written)))
        forward = op is None or op < workspace.forward
        gradient = workspace.input_to_grad.get(blob) if forward and owners.get(blob) == version else None
        name = gradient.values if isinstance(gradient, GradientSlice) else gradient
        row["gradient"] = name
        row["gradient_figures"] = figures_of(workspace.health(name)) if name is not None and name in workspace else None
        yield row


def figures_of(health: Health) -> dict[str, Any]:
    """Shape, dtype and figures of one value."""
    found = {name: getattr(health, name) for name in FIGURES}
    finite = {
        name: None if isinstance(value, float) and not isfinite(value) else value for name, value in found.items()
    }
    return {"shape": list(health.shape), **finite}


def _places(workspace: Workspace) -> Iterator[tuple[str, int, int, int | None]]:
    """Blob, version in the walk, version in the workspace, operator."""
    plays = list(played(workspace.ops))
    made_here = _written_first(workspace)
    for blob in workspace:
        if 0 in workspace.versions(blob) and blob not in made_here:
            yield blob, 0, 0, None
    for index, (op, _, versions) in enumerate(plays):
        for output, blob in enumerate(op.outputs):
            written = workspace.written_version(index, output)
            if written in workspace.versions(blob):
                yield blob, versions[output], written, index


def _written_first(workspace: Workspace) -> set[str]:
    """Blobs that the run writes before it reads them: what was there before belongs to the iteration before."""
    read: set[str] = set()
    made: set[str] = set()
    for op in workspace.ops:
        read.update(op.inputs)
        made.update(name for name in op.outputs if name not in read)
    return made
