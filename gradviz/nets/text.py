"""Nets as text: told by their content, read with the leniency that old and hand-written files need."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from gradviz.errors import LoadError
from gradviz.nets.contents import Contents
from gradviz.nets.outline import Block, Lines, Mend, Outline, mended, outline
from gradviz.nets.words import count, listed, nearest, plain, quoted
from gradviz.proto import MetaNetDef, NetDef, OperatorDef, PlanDef, caffe2, metanet

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is, in characters of text."""

M = TypeVar("M", bound=Message)

_NO_FIELD = re.compile(r'Message type "caffe2\.([\w.]+)" has no field named "(.*?)"', re.DOTALL)
_PLACE = re.compile(r"^\d+:\d+ : (?:'.*': )?(.*)$", re.DOTALL)
_BLOCK_START = re.compile(r"^op \{$", re.MULTILINE)
_PIECE = 200  # operators between two reports of progress
_VERBS = {"input": "reads", "output": "writes"}
_HABITS = {
    "truth value": "a truth value stands where a number belongs, True is read as 1 and False as 0",
    "old field": "the old field {was} is read as {now}",
    "device name": "device_type {was} is read as its number {now}",
}
_FIELDS = {
    message.full_name.removeprefix("caffe2."): tuple(message.fields_by_name)
    for file in (caffe2.DESCRIPTOR, metanet.DESCRIPTOR)
    for message in file.message_types_by_name.values()
}
_CAFFE_ADVICE = "translate it first (caffe_translator.py of Caffe2)"


def read(text: str, name: str, progress: Progress | None = None) -> Contents:
    r"""Read text as a net, a plan, a predictor export or a single operator.

    Args:
        text: the whole file, its line ends as `\n`.
        name: how messages call the file.
        progress: told how far the reading is.

    Raises:
        LoadError: it is none of these; the message says what it is, or names line and column of the mistake.
    """
    found = _parse_net(text, progress) if text.strip() else None
    if isinstance(found, NetDef) and (found.op or found.ListFields()):
        return Contents(found, "text")
    scan = outline(text)
    refusal = _foreign(scan, name)
    if refusal:
        raise LoadError(refusal)
    kind, prefix = _kind(scan)
    repaired = mended(text, scan.mends) if scan.mends else text
    message = _parse(repaired, kind)
    if isinstance(message, text_format.ParseError):
        raise LoadError(_mistake(message, text, scan, name))
    return Contents(message, f"{prefix}text", _notices(text, scan.mends))


def _parse(text: str, kind: type[M]) -> M | text_format.ParseError:
    """Parse text, or say why not; whatever the text, only a ParseError comes out."""
    try:
        message = text_format.Parse(text, kind())
        kind.FromString(message.SerializeToString())  # deeper than this reads, nothing could be copied
        return message
    except text_format.ParseError as error:
        return error
    except (RecursionError, DecodeError):
        return text_format.ParseError("nets are nested too deeply: protobuf, and so Caffe2, reads 100 levels", 1, 1)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        return text_format.ParseError(str(error).splitlines()[0] if str(error) else "cannot be read", 1, 1)


def _parse_net(text: str, progress: Progress | None) -> NetDef | text_format.ParseError:
    if progress is None:
        return _parse(text, NetDef)
    found = _parse_in_pieces(text, progress)
    return found if found is not None else _parse(text, NetDef)


def _parse_in_pieces(text: str, progress: Progress) -> NetDef | None:
    """Parse a few operators at a time, where the text is written so that they can be told apart; else None."""
    starts = [found.start() for found in _BLOCK_START.finditer(text)][::_PIECE]
    net = NetDef()
    for start, end in zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True):
        progress(start, len(text))
        piece = _parse(text[start:end], NetDef)
        if isinstance(piece, Exception) or _says_twice(net, piece):
            return None
        net.MergeFrom(piece)
    progress(len(text), len(text))
    return net


def _says_twice(net: NetDef, piece: NetDef) -> bool:
    """Whether a field that may stand once stands in both, which the parse of the whole text refuses."""
    singular = ("name", "type", "num_workers", "device_option")
    return any(net.HasField(each) and piece.HasField(each) for each in singular)


def _kind(scan: Outline) -> tuple[type[NetDef | PlanDef | MetaNetDef | OperatorDef], str]:
    """What the text wants to be, by the names on its outermost level; with the word for its format."""
    names = scan.names
    if names["network"] or names["execution_step"]:
        return PlanDef, "plan "
    if names["nets"] or names["plans"] or names["modelInfo"]:
        return MetaNetDef, "metanet "
    if not names["op"] and names["type"] and (names["input"] or names["output"]):
        return OperatorDef, "operator "
    return NetDef, ""


def _foreign(scan: Outline, name: str) -> str | None:
    """What the text is where it is no net, as far as its outermost names tell."""
    names = scan.names
    layers = names["layer"] + names["layers"]
    if layers:
        kinds = f": {listed(scan.types)}" if scan.types else ""
        listing = f"{count(layers, 'layer')}{kinds}"
        return f"{name} is a net of Caffe 1 ({listing}), not of Caffe2: {_CAFFE_ADVICE}"
    if names["lr_policy"] or names["base_lr"] or names["solver_mode"]:
        return f"{name} is a solver of Caffe 1 (training settings), not a net"
    if names["ir_version"] or names["opset_import"]:
        return f"{name} is an ONNX model as text, not a Caffe2 net: convert it first (caffe2.python.onnx.backend)"
    if names["node"] and not names["op"]:
        return f"{name} is a TensorFlow graph as text ({count(names['node'], 'node')}), not a Caffe2 net"
    if names["protos"]:
        return (
            f"{name} holds {count(names['protos'], 'tensor')} (TensorProtos), not a net: give it where weights belong"
        )
    if names["dims"] or names["float_data"] or names["int32_data"]:
        return f"{name} is a single tensor (TensorProto), not a net"
    return None if scan.anything else f"{name} holds no net: there is nothing but blanks and comments in it"


def _mistake(error: text_format.ParseError, text: str, scan: Outline, name: str) -> str:
    """Where and why the text is refused."""
    line, column = error.GetLine() or 1, error.GetColumn() or 1
    last = text.rstrip().count("\n") + 1
    if (scan.open or scan.dangling) and line >= last and scan.knows_all:
        return _cut_short(scan, name, last)
    reason = _PLACE.sub(r"\1", str(error))
    unknown = _NO_FIELD.search(reason)
    if unknown:
        reason = _no_field(unknown[1], unknown[2])
    return f"{name} is text, but no net: line {line}, column {column}{_inside(scan, text, line)}: {plain(reason[:300])}"


def _no_field(message: str, name: str) -> str:
    near = nearest(name, _FIELDS.get(message, ()))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{message} has no field {quoted(name)}{hint}"


def _inside(scan: Outline, text: str, line: int) -> str:
    """The operator that holds a line, in words."""
    lines = Lines(text)
    before = [block for block in scan.operators if lines.of(block.start) <= line]
    inside = before and (not before[-1].closed or lines.of(before[-1].end) >= line)
    return f", {before[-1].title()}" if inside else ""


def _cut_short(scan: Outline, name: str, last: int) -> str:
    whole = [f"{block.title()}" for block in scan.operators if block.closed]
    part = next((block for block in scan.operators if not block.closed), None)
    place = _partial(part) if part else scan.open[0].field_name if scan.open else "a field without its value"
    read_whole = f"read whole: {listed(whole)}" if whole else "no operator was read whole"
    return f"{name} is cut short, or a brace is missing: its text ends on line {last} inside {place}; {read_whole}"


def _partial(block: Block) -> str:
    """An operator that is there in part, with the blobs it got as far as naming."""
    said = [f"{verb} {listed(block.blobs[key])}" for key, verb in _VERBS.items() if key in block.blobs]
    return block.title() + (f", which {' and '.join(said)}" if said else "")


def _notices(text: str, mends: list[Mend]) -> list[str]:
    """One notice for each way of writing that was read as another, with all of its places."""
    lines = Lines(text)
    groups: dict[str, list[str]] = {}
    for mend in mends:
        words = _HABITS[mend.habit].format(was=mend.was, now=mend.now)
        groups.setdefault(words, []).append(f"line {lines.of(mend.start)}{_of(mend)}")
    return [f"{words}: {listed(places)}" for words, places in groups.items()]


def _of(mend: Mend) -> str:
    owners = [block.title() for block in reversed(mend.way) if block.field_name in ("op", "arg")]
    said = f" ({' of '.join(owners)})" if owners else ""
    return f"{said} {mend.was}" if mend.habit == "truth value" else said
