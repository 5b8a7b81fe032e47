"""The ys: what the gradient is asked of, and what they might have been meant to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradviz.ops.foreign import as_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    return get_close_matches(name, sorted(names), n=most, cutoff=0.6)
