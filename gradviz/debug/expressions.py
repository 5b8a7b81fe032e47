"""Conditions over an event, such as `kind == "rename" and blob.startswith("conv")`: parsed by hand, never evaluated.

    condition   = all { "or" all }
    all         = not { "and" not }
    not         = { "not" } comparison
    comparison  = value [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in" ) value ]
    value       = "(" condition ")" | list | text | number | "none" | field [ "." method "(" text ")" ]
    list        = "(" value "," ... ")" | "[" value "," ... "]"
    method      = "startswith" | "endswith" | "contains"

Kinds of values are checked when the condition is read, so that a mistake shows there and not in the middle of a run. An
event that has no such field has `none` there, which is equal to none only, and neither less nor greater than anything.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from gradviz.errors import GradvizError
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.autodiff.events import Event
    from gradviz.ops.records import Op

    Ask: TypeAlias = Callable[[Event, Op | None], Any]

LONGEST = 2000
"""No condition is longer, in characters."""

_DEEPEST = 40
"""Parentheses within parentheses."""


class Condition(NamedTuple):
    """A condition that was read.

    Attributes:
        text: as it was written.
        ask: whether it holds at an event, given the forward operator that the event belongs to (or None).
    """

    text: str
    ask: Ask

    def holds(self, event: Event, op: Op | None = None) -> bool:
        """Whether it holds at an event.

        Args:
            event: the event.
            op: the forward operator that it belongs to, for `op_type`; unless given, the one that the event names.
        """
        return bool(self.ask(event, op))


def condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        GradvizError: it is none; the message names the column.
    """
    if len(text) > LONGEST:
        raise GradvizError(f"a condition has at most {LONGEST} characters, this one {len(text)}; make it shorter")
    return Condition(text, _Reader(text).whole())


# The fields.


def _blob(event: Any, op: Op | None) -> str | None:
    found = getattr(event, "blob", None)
    if event.kind == "check":
        return found or str(event.name)
    if event.kind == "fail":
        return event.blobs[0] if event.blobs else None
    return found


def _name(event: Any, op: Op | None) -> str | None:
    return event.new if event.kind == "rename" else getattr(event, "name", None)


def _version(event: Any, op: Op | None) -> int | None:
    found: int | None = event.wanted if event.kind == "check" else getattr(event, "version", None)
    return found


def _gradient(event: Any, op: Op | None) -> str | None:
    generator = getattr(event, "generator", None)
    found = getattr(event, "gradient", generator.gradient if generator is not None else None)
    if isinstance(found, GradientSlice):
        return f"{found.indices or ''},{found.values or ''}"
    return found


def _op_type(event: Any, op: Op | None) -> str | None:
    found = getattr(event, "op", None) if op is None and event.kind != "seed" else op
    return None if found is None else found.type


class Field(NamedTuple):
    """Something that can be asked of an event.

    Attributes:
        kind: `text`, `number` or `texts`.
        ask: gives it.
        meaning: what it is, for the documentation.
    """

    kind: str
    ask: Ask
    meaning: str


FIELDS: dict[str, Field] = {
    "kind": Field("text", lambda event, _: event.kind, "what happened: `play`, `check`, `rename`, `fail`, …"),
    "phase": Field("text", lambda event, _: event.phase, "the phase: `play`, `make`, `collect`, `accumulate`, …"),
    "op_index": Field("number", lambda event, _: event.op_index, "the forward op being played or visited"),
    "op_type": Field("text", _op_type, "its type"),
    "blob": Field("text", _blob, "the blob that the event is about; none where it is about several or none"),
    "blobs": Field("texts", lambda event, _: event.blobs, "every blob that the event touches"),
    "name": Field("text", _name, "of a check the input that was checked, of a rename the new name"),
    "version": Field("number", _version, "the version of the blob; of a check the one that the forward op saw"),
    "gradient": Field("text", _gradient, "the gradient's name; of a sparse one `indices,values`"),
}
"""What can be asked of an event, by name."""

METHODS = ("startswith", "endswith", "contains")
"""What can be asked of a text, and of any text of several."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# Words, as they are read.

_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>-?[0-9]+)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<sign>==|!=|<=|>=|[<>().,\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b"}
_HINTS = {
    "=": "write == to compare",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`, or != to compare",
    '"': 'the text has no closing "',
    "'": "the text has no closing '",
}


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Value(NamedTuple):
    """A part that was read: what kind of value it gives, how, and where it stands."""

    kind: str
    ask: Ask
    column: int
    items: str = ""


def _wrong(column: int, what: str) -> NoReturn:
    raise GradvizError(f"condition, column {column}: {what}")


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            hint = _HINTS.get(text[at], "texts stand in quotes, and there are no such signs outside of them")
            _wrong(at + 1, f"{text[at]!a} is not understood; {hint}")
        found.append(_Token(str(match.lastgroup), match.group(), at + 1))
        at = match.end()
    found.append(_Token("end", "", len(text) + 1))
    return found


def _unquoted(token: _Token) -> str:
    def meant(match: re.Match[str]) -> str:
        found = match.group(1)
        return chr(int(found[1:], 16)) if len(found) > 1 else _ESCAPES.get(found, found)

    return _ESCAPE.sub(meant, token.text[1:-1])


_KIND_NAMES = {"text": "a text", "number": "a number", "texts": "several texts", "truth": "a yes or no", "none": "none"}


class _Reader:
    """Reads a condition from left to right; each part becomes a function of an event and its operator."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Ask:
        made = self._truth(self._any())
        if self._next.kind != "end":
            hint = "two conditions are joined by `and` or `or`"
            _wrong(self._next.column, f"{self._seen} is more than one condition; {hint}")
        return made.ask

    # Tokens.

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    @property
    def _seen(self) -> str:
        """What comes next, for messages."""
        return "the end" if self._next.kind == "end" else ascii(self._next.text)

    def _take(self) -> _Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("word", "sign") and self._next.text in texts

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            _wrong(self._next.column, f"`{sign}` is missing before {self._seen}")
        self._take()

    # The grammar.

    def _any(self) -> _Value:
        return self._joined("or", self._all)

    def _all(self) -> _Value:
        return self._joined("and", self._not)

    def _joined(self, word: str, part: Callable[[], _Value]) -> _Value:
        first = part()
        if not self._is(word):
            return first
        asks = [self._truth(first).ask]
        while self._is(word):
            self._take()
            asks.append(self._truth(part()).ask)
        together = any if word == "or" else all
        return _Value("truth", lambda event, op: together(ask(event, op) for ask in asks), first.column)

    def _not(self) -> _Value:
        column, turns = self._next.column, 0
        while self._is("not"):
            self._take()
            turns += 1
        value = self._comparison()
        if not turns:
            return value
        ask, wanted = self._truth(value).ask, turns % 2 == 0
        return _Value("truth", lambda event, op: bool(ask(event, op)) is wanted, column)

    def _comparison(self) -> _Value:
        left = self._value()
        if self._is(*_COMPARE):
            sign = self._take()
            return _compared(left, sign, self._value())
        if self._is("in", "not"):
            wanted = not self._is("not")
            if not wanted:
                self._take()
                if not self._is("in"):
                    _wrong(self._next.column, f"`in` is missing after `not`, before {self._seen}")
            sign = self._take()
            return _contained(left, sign, self._value(), wanted)
        return left

    def _value(self) -> _Value:
        token = self._take()
        if token.kind == "text":
            text = _unquoted(token)
            return self._asked(_Value("text", lambda event, op: text, token.column))
        if token.kind == "number":
            number = int(token.text)
            return _Value("number", lambda event, op: number, token.column)
        if token.text == "(":
            return self._parenthesis(token)
        if token.text == "[":
            self._deeper(token)
            return self._list(token, [], "]")
        return self._word(token)

    def _word(self, token: _Token) -> _Value:
        if token.text == "none":
            return _Value("none", lambda event, op: None, token.column)
        field = FIELDS.get(token.text)
        if field is not None:
            return self._asked(_Value(field.kind, field.ask, token.column))
        if token.kind != "word" or token.text in ("and", "or", "in", "not"):
            seen = ascii(token.text) if token.text else "the end"
            _wrong(token.column, f"a field, text or number is missing before {seen}")
        fields = ", ".join(FIELDS)
        _wrong(token.column, f"there is no field {token.text}; there are {fields}, and texts stand in quotes")

    def _asked(self, value: _Value) -> _Value:
        """A value with a method called on it, where there is one."""
        if not self._is("."):
            return value
        self._take()
        method = self._take()
        if method.text not in METHODS:
            _wrong(method.column, f"there is no method {method.text!a}; there are {', '.join(METHODS)}")
        if value.kind not in ("text", "texts"):
            _wrong(method.column, f"{method.text} is asked of a text, not of {_KIND_NAMES[value.kind]}")
        self._expect("(")
        part = self._value()
        if part.kind != "text":
            _wrong(part.column, f"{method.text} takes a text, not {_KIND_NAMES[part.kind]}")
        self._expect(")")
        return _called(value, method.text, part)

    def _parenthesis(self, opening: _Token) -> _Value:
        self._deeper(opening)
        if self._is(")"):
            _wrong(self._next.column, "there is nothing between the parentheses")
        inner = self._any()
        if self._is(","):
            return self._list(opening, [inner], ")")
        self._expect(")")
        self._depth -= 1
        return inner

    def _list(self, opening: _Token, items: list[_Value], closing: str) -> _Value:
        """The rest of a list; its opening sign, and where it is a parenthesis its first item, are read already."""
        while not self._is(closing):
            if items:
                self._expect(",")
            if not self._is(closing):
                items.append(self._value())
        self._expect(closing)
        self._depth -= 1
        kinds = {item.kind for item in items} - {"none"}
        if kinds - {"text", "number"} or len(kinds) > 1:
            _wrong(opening.column, "a list holds texts, or numbers")
        asks = [item.ask for item in items]
        kind = kinds.pop() if kinds else "none"
        return _Value("list", lambda event, op: [ask(event, op) for ask in asks], opening.column, kind)

    def _deeper(self, token: _Token) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            _wrong(token.column, f"more than {_DEEPEST} parentheses stand within each other; write it flatter")

    def _truth(self, value: _Value) -> _Value:
        if value.kind != "truth":
            what = "a list" if value.kind == "list" else _KIND_NAMES[value.kind]
            _wrong(value.column, f'{what} is no yes or no; compare it, as in kind == "rename"')
        return value


# What the parts mean.


def _called(value: _Value, method: str, part: _Value) -> _Value:
    def asked(text: str | None, wanted: str | None) -> bool:
        if text is None or wanted is None:
            return False
        if method == "contains":
            return wanted in text
        return text.startswith(wanted) if method == "startswith" else text.endswith(wanted)

    if value.kind == "text":
        return _Value("truth", lambda event, op: asked(value.ask(event, op), part.ask(event, op)), value.column)

    def of_any(event: Event, op: Op | None) -> bool:
        wanted = part.ask(event, op)
        return any(asked(each, wanted) for each in value.ask(event, op))

    return _Value("truth", of_any, value.column)


def _compared(left: _Value, sign: _Token, right: _Value) -> _Value:
    kinds = {left.kind, right.kind} - {"none"}
    if kinds & {"texts", "list"}:
        side = left if left.kind in ("texts", "list") else right
        _wrong(side.column, 'several values are not compared with one; write "w" in blobs')
    if len(kinds) > 1:
        _wrong(sign.column, f"{_KIND_NAMES[left.kind]} is not compared with {_KIND_NAMES[right.kind]}")
    compare, first, second = _COMPARE[sign.text], left.ask, right.ask
    if sign.text in ("==", "!="):
        return _Value("truth", lambda event, op: compare(first(event, op), second(event, op)), left.column)
    if kinds & {"truth"}:
        _wrong(sign.column, "a yes or no is neither less nor greater than another")

    def ordered(event: Event, op: Op | None) -> bool:
        a, b = first(event, op), second(event, op)
        return a is not None and b is not None and compare(a, b)

    return _Value("truth", ordered, left.column)


def _contained(left: _Value, sign: _Token, right: _Value, wanted: bool) -> _Value:
    if right.kind not in ("text", "texts", "list"):
        _wrong(right.column, f"`in` looks into a text, blobs or a list, not into {_KIND_NAMES[right.kind]}")
    held = right.items if right.kind == "list" else "text"
    if left.kind not in ("text", "number", "none") or (held not in (left.kind, "none") and left.kind != "none"):
        kind = "a list" if left.kind == "list" else _KIND_NAMES[left.kind]
        _wrong(sign.column, f"{kind} cannot be in there")
    first, second, substring = left.ask, right.ask, right.kind == "text"

    def inside(event: Event, op: Op | None) -> bool:
        a, b = first(event, op), second(event, op)
        if substring and (a is None or b is None):
            return not wanted
        return (a in b) is wanted

    return _Value("truth", inside, left.column)
