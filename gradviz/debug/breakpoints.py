"""Breakpoints and watches: where running stops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Enter, Skip
from gradviz.debug.expressions import FIELDS, Condition, condition
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.autodiff.events import Event
    from gradviz.ops.records import Op

KINDS = ("op", "type", "blob", "phase", "event", "error", "when")
"""What a breakpoint may stand on: an op index, an op type, a blob, a phase, a kind of event, a failure, a condition."""


@dataclass(slots=True)
class Breakpoint:
    """A place where running stops, forwards and backwards.

    Attributes:
        kind: one of `KINDS`.
        value: the op index, operator type, blob name, phase, event kind or condition; empty for `error`.
        enabled: whether it stops at all.
        ignore: how many hits it lets pass before it stops.
        hits: how often it was hit.
        condition: what must hold at the event besides; empty: nothing.

    Raises:
        GradvizError: the kind is unknown, or a condition cannot be read.
    """

    kind: str
    value: Any = ""
    enabled: bool = True
    ignore: int = 0
    hits: int = field(default=0, compare=False)
    condition: str = ""
    _asked: Condition | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise GradvizError(f"a breakpoint stands on one of {', '.join(KINDS)}, not on {self.kind!r}")
        asked = self.value if self.kind == "when" else self.condition
        if self.kind == "when" and self.condition:
            raise GradvizError("a breakpoint on a condition takes no second one; join them by `and`")
        self._asked = condition(asked) if asked or self.kind == "when" else None

    @property
    def key(self) -> tuple[str, Any]:
        """What tells breakpoints apart."""
        return self.kind, self.value

    def matches(self, event: Event, op: Op | None = None) -> bool:
        """Whether `event` is one that it stands on.

        A breakpoint on an op or a type matches the event that opens the visit, so that it stops once a visit.

        Args:
            event: the event.
            op: the forward operator that the event belongs to, of which a condition may ask the type.
        """
        return self._stands_on(event) and (self._asked is None or self._asked.holds(event, op))

    def _stands_on(self, event: Event) -> bool:
        if self.kind in ("op", "type"):
            if not isinstance(event, Enter | Skip):
                return False
            return bool(self.value == (event.op_index if self.kind == "op" else event.op.type))
        if self.kind == "blob":
            return event.phase != "play" and self.value in event.blobs
        if self.kind == "error":
            return event.kind == "fail"
        if self.kind == "when":
            return True
        return bool(self.value == (event.phase if self.kind == "phase" else event.kind))

    def hit(self) -> bool:
        """Count a hit; whether it stops this time."""
        self.hits += 1
        return self.hits > self.ignore

    @property
    def written(self) -> str:
        """As it is typed: `parse` makes the same breakpoint of it."""
        text = self.kind if self.kind == "error" else f"{self.kind}:{self.value}"
        return text + (f" if {self.condition}" if self.condition else "")

    def __str__(self) -> str:
        what = self.kind if self.kind == "error" else f"{self.kind} {self.value}"
        what += f" if {self.condition}" if self.condition else ""
        return what + ("" if self.enabled else " (off)") + (f" after {self.ignore} hits" if self.ignore else "")


_SIGNS = re.compile(r"""[<>"'=]|!=| (?:and|or|in|not) |^\s*(?:not |\()""")
_FIELD = re.compile(rf"\s*(?:{'|'.join(FIELDS)})(?:\s|\.|$)")


def _is_condition(text: str) -> bool:
    """Whether a text is meant as a condition and not as a blob; `when:` and `blob:` say it where this guesses wrong."""
    return bool(_SIGNS.search(text) or (_FIELD.match(text) and text.strip() not in FIELDS))


def parse(text: str) -> Breakpoint:
    """A breakpoint as it is typed.

    `7` is an op, `type:FC`, `blob:w`, `phase:merge`, `event:rename` and `error` are what they say; `kind == "rename"`
    (or `when:` before it) is a condition over the event. All but the last may have one too: `blob:w if version > 0`. A
    bare word that is no number is a blob.

    Raises:
        GradvizError: an op is no number, a condition cannot be read (the message names the column), or all is empty.
    """
    text = text.strip()
    if not text:
        raise GradvizError("a breakpoint stands on something: 7, type:FC, blob:w, phase:merge, event:rename, error")
    kind, colon, value = text.partition(":")
    if colon and kind == "when":
        return Breakpoint("when", value.strip())
    place, also, asked = text.partition(" if ")
    if not also or not _is_condition(asked):
        place, asked = text, ""
    return _placed(place.strip(), asked.strip())


def _placed(text: str, asked: str) -> Breakpoint:
    """A breakpoint from its place and what must hold there besides."""
    if text == "error":
        return Breakpoint("error", condition=asked)
    kind, colon, value = text.partition(":")
    if not colon or kind not in KINDS or kind == "error":
        if _is_condition(text):
            return Breakpoint("when", text, condition=asked)
        number = text.isdecimal() and text.isascii() and len(text) < _DIGITS
        return Breakpoint("op", int(text), condition=asked) if number else Breakpoint("blob", text, condition=asked)
    if kind != "op":
        return Breakpoint(kind, value, condition=asked)
    if not (value.isdecimal() and value.isascii() and len(value) < _DIGITS):
        raise GradvizError(f"a breakpoint on an op takes its index, not {value[:40]!r}")
    return Breakpoint("op", int(value), condition=asked)


_DIGITS = 20
"""No index has so many."""


@dataclass(slots=True)
class Watch:
    """A blob that is watched: running stops when its version, generators, frontier or gradient change.

    Attributes:
        blob: its name.
        enabled: whether it stops at all.
    """

    blob: str
    enabled: bool = True

    def value(self, state: Any) -> tuple[Any, ...]:
        """What is compared, from a `State`: version, gradient frontier, generators by version, gradient."""
        generators = state.gradient_generators.get(self.blob, {})
        return (
            state.frontier.get(self.blob),
            state.gradient_frontier.get(self.blob),
            tuple((version, len(found)) for version, found in generators.items()),
            state.gradient_map.get(self.blob),
        )

    def may_change(self, event: Event) -> bool:
        """Whether an event can change it at all."""
        return self.blob in event.blobs
