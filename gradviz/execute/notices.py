"""What a run does although the net asks for something else: devices, engines, undeclared inputs, idle feeds."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from gradviz.ops.records import GradientSlice
from gradviz.proto import DeviceTypeProto

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradviz.ops.records import Op
    from gradviz.proto import NetDef

# Preferences that upstream's CPU build and ours answer in the same way: with the default.
_NO_ENGINES = {"", "DEFAULT"}


def notices_about(
    net: NetDef,
    ops: Sequence[Op],
    lasting: Mapping[str, tuple[int, Op, int]],
    backend: str,
) -> list[str]:
    """What a user should know before believing a run, one sentence each.

    Args:
        net: the forward net.
        ops: the operators of the run, gradients included.
        lasting: the blobs that are read before they are written, with their first readers.
        backend: where the run computes.
    """
    forward = len(net.op)
    found = [
        _undeclared(net, {name: at for name, at in lasting.items() if at[0] < forward}),
        _devices(ops, backend),
        *_engines(ops, forward),
    ]
    return [notice for notice in found if notice]


def _undeclared(net: NetDef, readers: Mapping[str, tuple[int, Op, int]]) -> str:
    """A net that declares inputs at all must declare every one."""
    declared = set(net.external_input)
    lost = {name: at for name, at in readers.items() if name not in declared}
    if not declared or not lost:
        return ""
    named = ", ".join(f"{name} (read by op {index} {op.type})" for name, (index, op, _) in lost.items())
    return (
        f"external_input lacks {named}: a net that declares inputs must declare every blob that it reads and does not "
        "make; Caffe2 refuses to create this net, even where the blob exists; add the name to external_input"
    )


def _devices(ops: Sequence[Op], backend: str) -> str:
    kinds = Counter(DeviceTypeProto.Name(kind) for op in ops if (kind := op.proto.device_option.device_type))
    if not kinds or backend != "numpy":
        return ""
    said = ", ".join(f"{_ops(count)} {name.removeprefix('PROTO_')}" for name, count in kinds.items())
    return (
        f"devices are left out of account: the net asks for {said}, and everything runs on the CPU; neither the graph "
        "nor its gradients depend on them, so the device options may be dropped to run the net without that device"
    )


def _engines(ops: Sequence[Op], forward: int) -> list[str]:
    kinds = Counter(op.proto.engine for op in ops if op.proto.engine.upper() not in _NO_ENGINES)
    own = Counter(op.proto.engine for op in ops[:forward])
    return [
        f"engine {name}: none here, the default is used for {_ops(own[name])}"
        + (f" and {_ops(count - own[name], 'gradient op')}" if count > own[name] else "")
        + "; an engine is a preference, the results are the same"
        for name, count in kinds.items()
    ]


def _ops(count: int, word: str = "op") -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def idle_feeds(feeds: Iterable[str], read: Iterable[str], given: Iterable[Any]) -> list[str]:
    """The feeds that nobody wants, one sentence each.

    Args:
        feeds: the blobs that were fed.
        read: the blobs that are read before they are written.
        given: gradients that were given for ys: None, names, or slices.
    """
    wanted = dict.fromkeys(read)
    if wanted.keys() >= set(feeds):
        return []
    for each in given:
        wanted.update(dict.fromkeys(each if isinstance(each, GradientSlice) else [each]))
    return [_idle(name, [str(each) for each in wanted]) for name in feeds if name not in wanted]


def _idle(name: str, wanted: list[str]) -> str:
    near = get_close_matches(name, wanted, n=1)
    return f"the feed {name} is read by no operator" + (f"; did you mean {near[0]}?" if near else "")
