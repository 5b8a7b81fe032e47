"""Nets as bytes: told from their relatives by what fits, and explained where nothing does.

Almost any bytes parse as some protobuf message: a plan parses as a net whose operators have no type. So a reading
counts only if it knows every byte in its right form, and if what it says makes sense.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.errors import LoadError
from gradviz.nets import foreign, minidb, strict, wire
from gradviz.nets.contents import Contents
from gradviz.nets.words import count, listed, plain, quoted
from gradviz.proto import BlobProto, MetaNetDef, NetDef, OperatorDef, PlanDef, TensorProto, TensorProtos

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

_CALLED = {"op": "operator", "arg": "argument"}
_FEW_FIELDS = 20_000
_WIRES = {
    wire.VARINT: "a number",
    wire.FIXED64: "8 bytes",
    wire.FIXED32: "4 bytes",
    wire.DELIMITED: "text or a message",
}


def read(data: bytes, name: str) -> Contents:
    """Read bytes as a net, a plan, a predictor export or a single operator.

    Args:
        data: the whole file.
        name: how messages call the file.

    Raises:
        LoadError: they are none of these; the message says what they are, or where they break.
    """
    contents = recognise(data, name)
    if contents is None:
        raise LoadError(f"{name} {_explained(data)}")
    return contents


def recognise(data: bytes, name: str) -> Contents | None:
    """As `read`, but None where the bytes are not in every byte something that is known.

    Raises:
        LoadError: they are known, and no net.
    """
    database = minidb.read(data, name)
    if database is not None:
        return database
    for reading in _READINGS:
        message, knows_all = strict.parse(reading.message, data)
        if message is None or not reading.makes_sense(message):
            continue
        notices = [] if knows_all else _unknown(data, message)
        if notices is None:
            continue
        if reading.refusal is not None:
            raise LoadError(f"{name} {reading.refusal(message)}")
        return Contents(message, f"{reading.format}binary", notices)
    return None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to take bytes: as which message, when it makes sense, and the sentence if it is no net after all."""

    message: Any
    makes_sense: Callable[[Any], bool]
    format: str = ""
    refusal: Callable[[Any], str] | None = None


def _is_net(net: NetDef) -> bool:
    """Every operator has a type; a net without operators at least says its name or its blobs."""
    if net.op:
        return all(op.type and op.type.isprintable() for op in net.op)
    named = [net.name, *net.external_input, *net.external_output]
    return any(named) and all(text.isprintable() for text in (*named, net.type))


def _is_mostly_net(net: NetDef) -> bool:
    """Some operators lack a type: damaged, but a net, and the trace will say which ones."""
    return any(op.type and op.type.isprintable() and (op.input or op.output) for op in net.op)


def _is_plan(plan: PlanDef) -> bool:
    return any(net.op for net in plan.network) and all(_is_net(net) for net in plan.network)


def _is_export(meta: MetaNetDef) -> bool:
    return bool(meta.nets) and all(entry.key.isprintable() for entry in meta.nets)


def _is_operator(op: OperatorDef) -> bool:
    return bool(op.type and (op.input or op.output)) and all(
        text.isprintable() for text in (op.type, *op.input, *op.output)
    )


def _are_tensors(tensors: TensorProtos) -> bool:
    return bool(tensors.protos) and all(_is_tensor(tensor) for tensor in tensors.protos)


def _is_tensor(tensor: TensorProto) -> bool:
    """Its values fill its shape; where they stand as bytes or elsewhere, they are there."""
    if not tensor.name.isprintable() or not (tensor.dims or tensor.HasField("data_type")):
        return False
    fields = ("float_data", "int32_data", "int64_data", "double_data", "string_data")
    elsewhere = tensor.raw_data or tensor.byte_data or tensor.HasField("external_data") or tensor.HasField("segment")
    return bool(elsewhere) or sum(len(getattr(tensor, field)) for field in fields) == prod(tensor.dims)


def _is_blob(blob: BlobProto) -> bool:
    holds = _is_tensor(blob.tensor) if blob.HasField("tensor") else blob.HasField("content") and bool(blob.type)
    return holds and blob.name.isprintable() and blob.type.isprintable()


def _tensors_sentence(tensors: TensorProtos) -> str:
    names = listed(tensor.name for tensor in tensors.protos if tensor.name)
    return f"holds {count(len(tensors.protos), 'tensor')}{f' ({names})' if names else ''}, not a net"


def _tensor_sentence(tensor: TensorProto) -> str:
    return f"is a single tensor of shape {list(tensor.dims)[:8]}, not a net"


def _blob_sentence(blob: BlobProto) -> str:
    return f"is a saved blob ({quoted(blob.name)}, {plain(blob.type) or 'Tensor'}), not a net"


_READINGS = (
    _Reading(NetDef, _is_net),
    _Reading(PlanDef, _is_plan, "plan "),
    _Reading(MetaNetDef, _is_export, "metanet "),
    _Reading(OperatorDef, _is_operator, "operator "),
    _Reading(TensorProtos, _are_tensors, refusal=_tensors_sentence),
    _Reading(TensorProto, _is_tensor, refusal=_tensor_sentence),
    _Reading(BlobProto, _is_blob, refusal=_blob_sentence),
    _Reading(NetDef, _is_mostly_net),
)


def _unknown(data: bytes, message: Message) -> list[str] | None:
    """A notice about fields of a newer or older format; None where it is rather a misreading.

    It is one where known fields come in a wrong form, or where no operators speak for the reading.
    """
    if not _has_operators(message):
        return None
    found: list[wire.Finding] = []
    for finding in wire.findings(data, wire.shape_of(message.DESCRIPTOR)):
        if finding.kind == "given up":
            break
        if finding.kind != "unknown":
            return None
        found.append(finding)
    where = listed(dict.fromkeys(_where(finding) for finding in found), most=3)
    return [f"{count(len(found), 'field')} of another version of the format: {where}; kept, but not shown"]


def _has_operators(message: Message) -> bool:
    if isinstance(message, MetaNetDef):
        return any(entry.value.op for entry in message.nets)
    nets = message.network if isinstance(message, PlanDef) else [message] if isinstance(message, NetDef) else []
    return any(net.op for net in nets)


def _explained(data: bytes) -> str:
    """Why the bytes are no net, as the end of a sentence."""
    as_net = _findings(data, NetDef)
    cut = _cut_short(data, NetDef, as_net)
    for message in (MetaNetDef, PlanDef, TensorProtos):
        cut = cut or _cut_short(data, message, _findings(data, message, 2, _FEW_FIELDS))
    return cut or foreign.sentence(data) or _damaged(data, as_net)


def _findings(data: bytes, kind: Any, most: int = 10_000, fields: int = 500_000) -> list[wire.Finding]:
    """The first findings, within a number of fields that is walked in a few seconds."""
    return list(islice(wire.findings(data, wire.shape_of(kind.DESCRIPTOR), fields), most))


def _cut_short(data: bytes, kind: Any, found: list[wire.Finding]) -> str | None:
    """The sentence for a file that fits `kind` perfectly, except that its end is missing."""
    if [finding.kind for finding in found] != ["cut"]:
        return None
    cut = found[0]
    begun = cut.way[0].start if cut.way else len(data)
    whole, _ = strict.parse(kind, data[:begun])
    if whole is None or not (_is_begun(whole) or _part(data, cut)):
        return None
    what = "" if kind is NetDef else f" a {kind.DESCRIPTOR.name}, and"
    missing = f"at least {count(cut.missing, 'byte')} missing"
    return (
        f"is{what} cut short: it ends at byte {cut.offset:,} {_inside(data, cut)}, {missing}; "
        f"{_read_whole(whole)}: get the file again"
    )


def _is_begun(message: Any) -> bool:
    """Whether what was read before the cut speaks for its kind."""
    if isinstance(message, NetDef):
        return _is_net(message)
    if isinstance(message, MetaNetDef):
        return bool(message.blobs or message.nets) and all(entry.key.isprintable() for entry in message.blobs)
    return _is_plan(message) if isinstance(message, PlanDef) else _are_tensors(message)


def _part(data: bytes, cut: wire.Finding) -> OperatorDef | None:
    """What can be read of the operator that the cut goes through."""
    if not cut.way or cut.way[0].name != "op":
        return None
    end = cut.way[1].start if len(cut.way) > 1 else len(data)
    part, _ = strict.parse(OperatorDef, data[cut.way[0].body : end])
    sayings = [*part.input, *part.output, part.name, part.type] if part is not None else []
    return part if any(sayings) and all(text.isprintable() for text in sayings) else None


def _inside(data: bytes, cut: wire.Finding) -> str:
    if not cut.way:
        return "between two fields"
    part = _part(data, cut)
    said = []
    if part is not None:
        said = [f"{verb} {listed(blobs)}" for verb, blobs in (("reads", part.input), ("writes", part.output)) if blobs]
    begun = f" (which begins at byte {cut.way[0].start:,}{''.join(', ' + each for each in said)})"
    inner = f", in its {_way(cut.way[1:])}{_got(data, cut)}" if len(cut.way) > 1 else ""
    return f"inside {_way(cut.way[:1])}{begun}{inner}"


def _got(data: bytes, cut: wire.Finding) -> str:
    """The beginning of a text that the cut goes through."""
    rest = data[cut.way[-1].body :]
    readable = rest.isascii() and rest.decode("latin-1").isprintable()
    return f" after {quoted(rest)}" if rest and readable else ""


def _read_whole(message: Any) -> str:
    if message is None or isinstance(message, NetDef):
        ops = [f"#{index} {op.type}" for index, op in enumerate(message.op if message else ())]
        return f"read whole: {count(len(ops), 'operator')} ({listed(ops)})" if ops else "no operator was read whole"
    found = [(each.name, value) for each, value in message.ListFields()]
    counts = [f"{len(value):,} {key}" for key, value in found if hasattr(value, "add")]
    return f"read whole: {listed(counts)}" if counts else "nothing was read whole"


def _damaged(data: bytes, found: list[wire.Finding]) -> str:
    """The sentence for bytes that break in their midst: a damaged net, or nothing that is known."""
    first = next((finding for finding in found if finding.kind != "unknown"), None)
    if first is None:
        return "is no net: its messages say nothing that a net says, or are nested too deeply"
    whole, _ = strict.parse(NetDef, data[: first.way[0].start]) if first.way else (None, False)
    only_text = all(finding.kind == "not utf-8" for finding in found) and first.way[0].name == "op"
    if not only_text and (whole is None or not _is_net(whole)):
        return f"is no net: {count(len(data), 'byte')} that are neither net text nor a protobuf of Caffe2"
    return f"is a damaged net: byte {first.offset:,} {_where(first)} {_wrong(data, first)}; {_read_whole(whole)}"


def _wrong(data: bytes, finding: wire.Finding) -> str:
    if finding.kind == "mistyped":
        return f"holds {_WIRES[data[finding.offset] & 7]} where that field has another form"
    if finding.kind == "not utf-8":
        return "is no UTF-8, as the text there must be"
    return "does not fit the format"


def _where(finding: wire.Finding) -> str:
    return f"in {_way(finding.way)}" if finding.way else "between two fields"


def _way(way: tuple[wire.Place, ...]) -> str:
    """`operator #3, argument #0, i`: from the outside in."""
    return ", ".join(f"{_CALLED.get(place.name, place.name)} #{place.index}" for place in way[:6])
