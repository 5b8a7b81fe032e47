"""A forgiving scan of net text: what stands where, and what of it is an old or a Python way of writing.

protobuf's own reader stops at the first thing it dislikes. This scan goes through the whole text with the schema at
hand, so that all places of one habit are found at once, and a text that breaks off can be told from one that is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz.nets.words import plain
from gradviz.proto import DeviceOption, DeviceTypeProto, MetaNetDef, NetDef, OperatorDef, PlanDef

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_TOKEN = re.compile(
    r"""(?P<space>\s++|\#[^\n]*+)
      | (?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)
      | (?P<word>[A-Za-z_]\w*+)
      | (?P<number>[-+]?[0-9.][\w.+-]*+)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_DEEPEST = 300  # blocks; protobuf reads no deeper
_BOOLEANS = {"True": "1", "true": "1", "False": "0", "false": "0"}
_OLD_FIELDS = {("DeviceOption", "cuda_gpu_id"): "device_id", ("DeviceOption", "hip_gpu_id"): "device_id"}
_DEVICE_TYPE = DeviceOption.DESCRIPTOR.fields_by_name["device_type"].full_name
_DEVICES = {
    **{key: str(value) for key, value in DeviceTypeProto.items()},
    **{key.removeprefix("PROTO_"): str(value) for key, value in DeviceTypeProto.items()},
}


@dataclass(slots=True)
class Block:
    """A message in the text: the field it fills, which one of these it is, and what is known of it.

    `labels` holds its `name` and `type`, `blobs` its inputs and outputs, as written.
    """

    field_name: str
    index: int
    message: Descriptor | None
    start: int
    end: int = -1
    labels: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, list[str]] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    pending: str = ""  # the field of its parent that goes on after it, inside a list of messages

    @property
    def closed(self) -> bool:
        """Whether its final brace was met."""
        return self.end >= 0

    def title(self) -> str:
        """The block in words: `operator #1 (Add)`, `argument broadcast`."""
        if self.field_name == "op":
            kind = self.labels.get("type")
            return f"operator #{self.index}" + (f" ({plain(kind)})" if kind else "")
        if self.field_name == "arg":
            return f"argument {plain(self.labels.get('name', f'#{self.index}'))}"
        return self.field_name


@dataclass(frozen=True, slots=True)
class Mend:
    """A piece of text that is read as another one; both have the same length, so that places stay where they are."""

    start: int
    was: str
    now: str
    habit: str
    way: tuple[Block, ...]


@dataclass(slots=True)
class Outline:
    """What the scan found.

    Attributes:
        names: how often each field name stands on the outermost level.
        operators: the outermost operators, or those of a plan's nets.
        types: what the outermost blocks say in their field `type`, in order.
        mends: old and Python ways of writing.
        open: blocks that the end of the text leaves open, outermost first.
        dangling: whether the text ends between a field's name and the end of its value.
        anything: whether there is more than blanks and comments.
    """

    names: Counter[str] = field(default_factory=Counter)
    operators: list[Block] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    mends: list[Mend] = field(default_factory=list)
    open: tuple[Block, ...] = ()
    dangling: bool = False
    anything: bool = False

    @property
    def knows_all(self) -> bool:
        """Whether every outermost name belongs to a net, a plan, an export or an operator."""
        return bool(self.names) and all(name in _OUTERMOST for name in self.names)


def outline(text: str) -> Outline:
    """Scan `text`, whatever it is; never raises."""
    return _Scan(text).run()


def mended(text: str, mends: list[Mend]) -> str:
    """The text with its mends, every character in the column where it stood."""
    pieces, at = [], 0
    for mend in sorted(mends, key=lambda each: each.start):
        pieces += [text[at : mend.start], mend.now.ljust(len(mend.was))]
        at = mend.start + len(mend.was)
    return "".join([*pieces, text[at:]])


class Lines:
    """Where the lines of a text begin."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def of(self, offset: int) -> int:
        """The number of the line that holds a character, counted from 1."""
        return bisect_right(self._starts, offset)


_OUTERMOST: dict[str, Any] = {}  # a text may turn out to be any of these; no name means two things
for _message in (OperatorDef, MetaNetDef, PlanDef, NetDef):
    _OUTERMOST.update((_field.name, _field) for _field in _message.DESCRIPTOR.fields)


class _Scan:
    """The blocks that the scan is inside, and the field whose value it waits for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Outline()
        self.stack: list[Block] = []
        self.root = Counter[str]()
        self.pending = ""
        self.colon = False
        self.list = False
        self.unclosed = False

    def run(self) -> Outline:
        for token in _TOKEN.finditer(self.text):
            kind = token.lastgroup
            if kind == "space":
                continue
            self.found.anything = True
            if kind == "word":
                self._word(token.group(), token.start())
            elif kind == "string":
                self._string(token.group())
                self.unclosed = token.end() == len(self.text) and not _is_closed(token.group())
            elif kind == "number":
                self._value_read()
            else:
                self._mark(token.group(), token.start())
            if len(self.stack) > _DEEPEST:
                break
        self.found.open = tuple(self.stack)
        self.found.dangling = bool(self.pending) or self.unclosed
        if self.pending and not self.colon and not self.stack:
            self._forget_last_name()
        return self.found

    def _forget_last_name(self) -> None:
        """A name at the very end of the text may itself be cut: it says nothing of what the text wants to be."""
        self.found.names[self.pending] -= 1
        self.found.names += Counter()  # drops what is counted no more

    def _word(self, word: str, start: int) -> None:
        if self.pending and self.colon:
            self._check_value(word, start)
            self._value_read()
            return
        self.pending, self.colon, self.list = word, False, False
        self._names()[word] += 1
        if not self.stack:
            self.found.names[word] += 1
        elif self.stack[-1].message is not None:
            new = _OLD_FIELDS.get((self.stack[-1].message.name, word))
            if new:
                self._mend(start, word, new, "old field")

    def _check_value(self, word: str, start: int) -> None:
        """Python's truth values where a number belongs, and device names of the time when they were an enum."""
        expected = self._expected()
        if expected is None:
            return
        if word in _BOOLEANS and _is_number(expected):
            self._mend(start, word, _BOOLEANS[word], "truth value")
        elif word in _DEVICES and expected.full_name == _DEVICE_TYPE:
            self._mend(start, word, _DEVICES[word], "device name")

    def _string(self, token: str) -> None:
        text = token[1:].removesuffix(token[0])
        if self.stack and self.pending in ("name", "type"):
            self.stack[-1].labels.setdefault(self.pending, text)
        if self.stack and self.pending in ("input", "output"):
            self.stack[-1].blobs.setdefault(self.pending, []).append(text)
        if self.pending == "type" and len(self.stack) == 1:
            self.found.types.append(text)
        self._value_read()

    def _mark(self, mark: str, start: int) -> None:
        if mark == ":":
            self.colon = True
        elif mark == "[" and self.colon:
            self.list = True
        elif mark == "]":
            self.pending, self.list = "", False
        elif mark in "{<":
            self._enter(start)
        elif mark in "}>" and self.stack:
            block = self.stack.pop()
            block.end = start
            self.pending, self.colon, self.list = block.pending, bool(block.pending), bool(block.pending)

    def _enter(self, start: int) -> None:
        expected = self._expected()
        message = expected.message_type if expected is not None else None
        index = max(0, self._names()[self.pending] - 1)
        block = Block(self.pending, index, message, start, pending=self.pending if self.list else "")
        if self.list:
            self._names()[self.pending] += 1
        if self.pending == "op" and (
            not self.stack or (len(self.stack) == 1 and self.stack[0].field_name == "network")
        ):
            self.found.operators.append(block)
        self.stack.append(block)
        self.pending, self.colon, self.list = "", False, False

    def _value_read(self) -> None:
        if not self.list:
            self.pending, self.colon = "", False

    def _names(self) -> Counter[str]:
        return self.stack[-1].seen if self.stack else self.root

    def _expected(self) -> FieldDescriptor | None:
        if not self.stack:
            return _OUTERMOST.get(self.pending)
        message = self.stack[-1].message
        return message.fields_by_name.get(self.pending) if message is not None else None

    def _mend(self, start: int, was: str, now: str, habit: str) -> None:
        self.found.mends.append(Mend(start, was, now, habit, tuple(self.stack)))


def _is_closed(string: str) -> bool:
    return len(string) > 1 and string.endswith(string[0])


def _is_number(expected: FieldDescriptor) -> bool:
    numbers = (
        expected.CPPTYPE_INT32,
        expected.CPPTYPE_INT64,
        expected.CPPTYPE_UINT32,
        expected.CPPTYPE_UINT64,
        expected.CPPTYPE_FLOAT,
        expected.CPPTYPE_DOUBLE,
    )
    return expected.cpp_type in numbers
