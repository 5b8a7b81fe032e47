"""A slow, explaining reader of protobuf's wire format, for bytes that the fast reader refuses or misreads.

protobuf says only that bytes do not parse. Here each field is walked with its expected form, so that a message can say
where a file breaks, inside which operator, and whether it was cut short, damaged, or never was a net.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from gradviz.nets import strict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor, FieldDescriptor

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT = 10

Kind = Literal["cut", "broken", "unknown", "mistyped", "not utf-8", "given up"]


@dataclass(slots=True)
class Shape:
    """The fields a message may have; `kind` is the message itself where it is one of ours."""

    name: str
    fields: dict[int, Part] = field(default_factory=dict)
    kind: Descriptor | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One field: its name, the wire types it may come in, and what a delimited one holds."""

    name: str
    wires: frozenset[int]
    text: bool = False
    message: Shape | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One step of the way to a finding: the `index`-th field `name`, its key at `start`, its content in `body:end`.

    The key is the field's number times eight plus its wire type.
    """

    name: str
    index: int
    key: int
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit.

    Attributes:
        kind: `cut` (the data end too soon) and `broken` (no such wire format) end the walk; `unknown` (a field number
            that the message lacks), `mistyped` (a field in another form than its type has) and `not utf-8` do not.
            `given up` ends a walk over more fields than it was allowed.
        offset: of the byte that does not fit; for `cut` the length of the data.
        way: from the outermost message inwards; the last place is the field itself, where it has one.
        missing: for `cut`, how many bytes are missing at least.
    """

    kind: Kind
    offset: int
    way: tuple[Place, ...]
    missing: int = 0


@cache
def shape_of(descriptor: Descriptor) -> Shape:
    """The shape of one of our own messages; nested messages included, recursive ones too."""
    return _shape_of(descriptor, {})


def _shape_of(descriptor: Descriptor, known: dict[str, Shape]) -> Shape:
    """Recursion is over the message types of a schema, not over the data."""
    if descriptor.full_name in known:
        return known[descriptor.full_name]
    shape = known[descriptor.full_name] = Shape(descriptor.name, kind=descriptor)
    for each in descriptor.fields:
        shape.fields[each.number] = _part_of(each, known)
    return shape


def _part_of(each: FieldDescriptor, known: dict[str, Shape]) -> Part:
    if each.message_type is not None:
        return Part(each.name, frozenset({DELIMITED}), message=_shape_of(each.message_type, known))
    if each.type in (each.TYPE_STRING, each.TYPE_BYTES):
        return Part(each.name, frozenset({DELIMITED}), text=each.type == each.TYPE_STRING)
    if each.type in (each.TYPE_DOUBLE, each.TYPE_FIXED64, each.TYPE_SFIXED64):
        own = FIXED64
    elif each.type in (each.TYPE_FLOAT, each.TYPE_FIXED32, each.TYPE_SFIXED32):
        own = FIXED32
    else:
        own = VARINT
    repeated = isinstance(each.default_value, list)
    return Part(each.name, frozenset({own, DELIMITED} if repeated else {own}))  # repeated numbers may come packed


@dataclass(slots=True)
class _Frame:
    shape: Shape
    end: int
    place: Place | None
    seen: dict[int, int] = field(default_factory=dict)


def findings(data: bytes, shape: Shape, most: int = 300_000) -> Iterator[Finding]:
    """Walk `data` as a message of `shape` and yield what does not fit, in order of the bytes.

    Args:
        data: the bytes.
        shape: what they shall be.
        most: how many fields to walk; an outermost message that is whole counts as one.
    """
    return _Walk(data, shape).findings(most)


class _Walk:
    """The stack of messages that the walk is inside, and where it stands."""

    def __init__(self, data: bytes, shape: Shape) -> None:
        self.data = data
        self.at = 0
        self.stack = [_Frame(shape, len(data), None)]

    def findings(self, most: int) -> Iterator[Finding]:
        for _ in range(most):
            while self.stack and self.at == self.stack[-1].end:
                self.stack.pop()
            if not self.stack:
                return
            if self.at == len(self.data):
                yield self._finding("cut", self.at)
                return
            for finding in self._field():
                yield finding
                if finding.kind in ("cut", "broken"):
                    return
        yield self._finding("given up", self.at)

    def _field(self) -> Iterator[Finding]:
        """Read one field, and enter it where it is a message."""
        frame, start = self.stack[-1], self.at
        tag = self._varint(frame.end)
        if isinstance(tag, Finding):
            yield tag
            return
        number, wire = tag >> 3, tag & 7
        part = frame.shape.fields.get(number)
        index = frame.seen.get(number, 0)
        frame.seen[number] = index + 1
        name = part.name if part else f"field {number}"
        if number == 0 or wire not in (VARINT, FIXED64, DELIMITED, FIXED32):
            yield self._finding("broken", start, Place(name, index, tag, start, self.at, self.at))
            return
        size = self._size(wire, frame.end)
        if isinstance(size, Finding):
            place = Place(name, index, tag, start, self.at, self.at)
            yield self._finding(size.kind, size.offset, place)
            return
        place = Place(name, index, tag, start, self.at, self.at + size)
        yield from self._content(frame, part, wire, place)

    def _content(self, frame: _Frame, part: Part | None, wire: int, place: Place) -> Iterator[Finding]:
        outermost = frame.place is None  # only there may a field reach past the end: that is what a cut is
        if place.end > frame.end and not outermost:
            yield self._finding("broken", place.start, place)
            return
        if part is None or wire not in part.wires:
            yield self._finding("mistyped" if part else "unknown", place.start, place)
        elif part.message is not None:
            if not (outermost and self._fits(part.message, place)):
                self.stack.append(_Frame(part.message, place.end, place))
                return
        elif part.text and place.end <= len(self.data) and not _is_utf8(self.data[place.body : place.end]):
            yield self._finding("not utf-8", place.body, place)
        if place.end > len(self.data):
            yield self._finding("cut", len(self.data), place)
            return
        self.at = place.end

    def _fits(self, shape: Shape, place: Place) -> bool:
        """Whether protobuf's own reader takes the whole content, which spares the walk through it."""
        if shape.kind is None or place.end > len(self.data):
            return False
        return strict.fits(shape.kind, self.data[place.body : place.end])

    def _size(self, wire: int, end: int) -> int | Finding:
        """How many bytes the content has; stands at its first byte afterwards."""
        if wire in _FIXED:
            return _FIXED[wire]
        before = self.at
        value = self._varint(end)
        if isinstance(value, Finding) or wire == DELIMITED:
            return value
        size, self.at = self.at - before, before
        return size

    def _varint(self, end: int) -> int | Finding:
        value = 0
        for count in range(_LONGEST_VARINT):
            if self.at >= end or self.at >= len(self.data):
                cut = self.at >= len(self.data)
                return self._finding("cut" if cut else "broken", min(self.at, len(self.data)))
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                return value
        return self._finding("broken", self.at - _LONGEST_VARINT)

    def _finding(self, kind: Kind, offset: int, place: Place | None = None) -> Finding:
        way = tuple(frame.place for frame in self.stack if frame.place) + ((place,) if place else ())
        missing = max([1, *(each.end - len(self.data) for each in way)]) if kind == "cut" else 0
        return Finding(kind, offset, way, missing)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def fields(data: bytes, most: int = 300_000) -> Iterator[tuple[int, bytes]]:
    """Key and content of each field of the outermost message, as far as the data can be walked; the last may be cut."""
    for finding in findings(data, Shape("any"), most):
        if finding.kind == "unknown":
            place = finding.way[-1]
            yield place.key, data[place.body : place.end]
