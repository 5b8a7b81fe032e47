"""Init nets: told by what they do, found beside a net by the names that Caffe2's users give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradviz.proto import NetDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_FOLLOWERS = frozenset({"Cast", "Copy", "CopyCPUToGPU", "CopyFromCPUInput", "EnsureCPUOutput", "Load"})
"""What an init net may do to a blob that it has just filled."""
_LOADERS = frozenset({"Load"})
_SUFFIXES = (".pb", ".pbtxt", ".prototxt", ".txt", "")
_PREDICT = re.compile(
    r"(?P<head>.*?)(?P<kind>predict|pred|exec|run|deploy|main)(?P<net>_?net)?(?P<tail>[^a-z]*)$", re.I
)
_PHASE = re.compile(r"(?P<head>.*?)(?P<kind>train|test|val)(?P<net>_?net)?(?P<tail>[^a-z]*)$", re.I)
_INIT = re.compile(r"(?P<head>.*?)_?init(?P<net>_?net)?(?P<tail>[^a-z]*)$", re.I)


def is_init(net: NetDef) -> bool:
    """Whether the net only fills blobs: it reads nothing from outside, and computes nothing with what it filled.

    A net without operators is none.
    """
    made: set[str] = set()
    for op in net.op:
        if any(blob not in made for blob in op.input if op.type not in _LOADERS):
            return False
        if op.input and not op.type.endswith("Fill") and op.type not in _FOLLOWERS:
            return False
        made.update(op.output)
    return bool(net.op)


def serves(init: NetDef, net: NetDef) -> bool:
    """Whether the init net makes at least one blob that the net reads before making it, nested nets left aside."""
    filled = {blob for op in init.op for blob in op.output}
    made: set[str] = set()
    for op in net.op:
        if any(blob in filled and blob not in made for blob in op.input):
            return True
        made.update(op.output)
    return any(blob in filled for blob in net.external_input)


def merge(nets: Iterable[NetDef], filled: Iterable[str] = ()) -> NetDef | None:
    """One init net that does what several do in turn; None where nothing is left to do.

    Args:
        nets: the init nets; they are not changed.
        filled: blobs whose values are at hand already: a Load that would read only these is left out.
    """
    known = set(filled)
    whole = NetDef()
    for net in nets:
        kept = [op for op in net.op if op.type not in _LOADERS or not known.issuperset(op.output)]
        if kept and not whole.op:
            whole.CopyFrom(net)
            whole.ClearField("op")
        elif kept:
            whole.external_input.extend(net.external_input)
            whole.external_output.extend(net.external_output)
        whole.op.extend(kept)
    return whole if whole.op else None


def candidates(path: Path) -> Iterator[Path]:
    """The files that exist beside `path` under a name which an init net of it would have, likeliest first."""
    suffixes = sorted(_SUFFIXES, key=lambda suffix: suffix != path.suffix)
    for stem in init_stems(path.stem if path.suffix in _SUFFIXES else path.name):
        for suffix in suffixes:
            candidate = path.with_name(stem + suffix)
            if candidate != path and candidate.is_file():
                yield candidate


def init_stems(stem: str) -> list[str]:
    """Names, without suffix, that the init net of a net called `stem` may have."""
    found: list[str] = []
    if match := _PREDICT.fullmatch(stem):
        head, tail = match["head"].rstrip("_-"), match["tail"]
        joint = stem[len(head) : len(match["head"])] or ("_" if head else "")
        found += [f"{head}{joint}{init}{tail}" for init in ("init_net", "init")]
    if match := _PHASE.fullmatch(stem):
        found += [f"{match['head']}{match['kind']}_{init}{match['tail']}" for init in ("init_net", "init")]
    base = stem.removesuffix("_net")
    found += [f"{each}_{init}" for each in dict.fromkeys((stem, base)) if each for init in ("init_net", "init")]
    if stem.lower() in ("model", "net", "train_net", "test_net"):
        found.append("init_net")
    return [each for each in dict.fromkeys(found) if each != stem]


def predict_stems(stem: str) -> list[str]:
    """Names, without suffix, that the net filled by an init net called `stem` may have."""
    match = _INIT.fullmatch(stem)
    if match is None:
        return []
    head, tail = match["head"], match["tail"]
    joint = "_" if head else ""
    ends = ("predict_net", "pred_net", "predict", "exec_net", "net")
    return [*(f"{head}{joint}{end}{tail}" for end in ends), *([head + tail] if head else [])]
