"""What upstream lets pass in silence and a user should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.events import Seed
from gradviz.autodiff.targets import known_blobs, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.autodiff.remedies import Remedy
    from gradviz.autodiff.trace import Trace


class TraceWarning(str):
    """A warning: one line of text, with what it is about.

    Attributes:
        kind: what it warns of, one of the names in `docs/errors.md`.
        op_index: the operator concerned, if there is one.
        blob: the blob concerned, if there is one.
        remedies: what mends it.
    """

    kind: str
    op_index: int | None
    blob: str | None
    remedies: tuple[Remedy, ...]

    def __new__(
        cls,
        text: str,
        kind: str,
        op_index: int | None = None,
        blob: str | None = None,
        remedies: Sequence[Remedy] = (),
    ) -> TraceWarning:
        made = super().__new__(cls, text)
        made.kind = kind
        made.op_index = op_index
        made.blob = blob
        made.remedies = tuple(remedies)
        return made


def warnings_about(trace: Trace) -> list[TraceWarning]:
    """What a user should know of a walk, gravest first."""
    return _unknown_ys(trace)


def _unknown_ys(trace: Trace) -> list[TraceWarning]:
    warnings = []
    known: set[str] | None = None
    for y in trace.ys:
        if y in trace.recording.frontier and not _added_by_seed(trace, y):
            continue
        known = known_blobs(trace.net) if known is None else known
        near = nearest(y, known - {y})
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        text = f"y {y!r} is not a blob of this net: nothing gets a gradient through it{hint}"
        warnings.append(TraceWarning(text, "unknown_y", blob=y))
    return warnings


def _added_by_seed(trace: Trace, y: str) -> bool:
    start = len(trace.ops)
    seeds = trace.events[start : start + len(trace.ys)]
    return any(isinstance(event, Seed) and event.blob == y and event.added for event in seeds)
