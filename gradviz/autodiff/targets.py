"""The ys: what the gradient is asked of, and what a user should hear about the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradviz.ops.foreign import as_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.autodiff.trace import Trace
    from gradviz.ops.records import Gradient
    from gradviz.proto import NetDef


def choose(net: NetDef, ys: Any, skip: int = 0) -> tuple[dict[str, Gradient], str]:
    """The ys as a dict, and how they came about: `given`, `external outputs` or `unread outputs`.

    Raises:
        TypeError: ys is neither list nor dict, or a key is not text.
    """
    if ys is None:
        outputs = [name for name in net.external_output if name]
        if outputs:
            return dict.fromkeys(outputs), "external outputs"
        return dict.fromkeys(unread_outputs(net, skip)), "unread outputs"
    if isinstance(ys, list):
        ys = dict.fromkeys(ys)
    elif not isinstance(ys, Mapping):
        raise TypeError(f"ys should be a list or a dict of blob names, not {type(ys).__name__}")
    for key in ys:
        if not isinstance(key, str):
            raise TypeError(f"ys should name blobs, but {key!r} is {type(key).__name__}")
    return {key: as_gradient(value) for key, value in ys.items()}, "given"


def unread_outputs(net: NetDef, skip: int = 0) -> list[str]:
    """Blobs that are written and that no later operator reads, in the order of writing."""
    pending: dict[str, None] = {}
    for op in net.op[skip:]:
        for name in op.input:
            pending.pop(name, None)
        for name in op.output:
            if name:
                pending[name] = None
    return list(pending)


def known_blobs(net: NetDef) -> set[str]:
    """Every blob that a net mentions."""
    found = set(net.external_input) | set(net.external_output)
    for op in net.op:
        found.update(op.input)
        found.update(op.output)
    return found


def nearest(name: str, names: Sequence[str] | set[str], most: int = 3) -> list[str]:
    """The names that are spelt most like `name`, best first."""
    from difflib import get_close_matches

    return get_close_matches(name, sorted(names), n=most, cutoff=0.5)


def warnings_about(trace: Trace) -> list[str]:
    """What upstream lets pass in silence and a user should know."""
    warnings = []
    unknown = _unknown_ys(trace)
    known = known_blobs(trace.net) if unknown else set()
    for y in unknown:
        near = nearest(y, known - {y})
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        warnings.append(f"y {y!r} is not a blob of this net: nothing gets a gradient through it{hint}")
    return warnings


def _unknown_ys(trace: Trace) -> list[str]:
    from gradviz.autodiff.events import Seed

    start = len(trace.ops)
    seeds = trace.events[start : start + len(trace.ys)]
    known = {event.blob for event in seeds if isinstance(event, Seed) and not event.added}
    return [y for y in trace.ys if y not in known]
