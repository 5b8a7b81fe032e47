"""Breakpoints and watches: where running stops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Enter, Skip
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.autodiff.events import Event

KINDS = ("op", "type", "blob", "phase", "event", "error")
"""What a breakpoint may stand on: an op index, an op type, a blob, a phase, a kind of event, or any failure."""


@dataclass(slots=True)
class Breakpoint:
    """A place where running stops, forwards and backwards.

    Attributes:
        kind: one of `KINDS`.
        value: the op index, operator type, blob name, phase or event kind; empty for `error`.
        enabled: whether it stops at all.
        ignore: how many hits it lets pass before it stops.
        hits: how often it was hit.
    """

    kind: str
    value: Any = ""
    enabled: bool = True
    ignore: int = 0
    hits: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise GradvizError(f"a breakpoint stands on one of {', '.join(KINDS)}, not on {self.kind!r}")

    @property
    def key(self) -> tuple[str, Any]:
        """What tells breakpoints apart."""
        return self.kind, self.value

    def matches(self, event: Event) -> bool:
        """Whether `event` is one that it stands on.

        A breakpoint on an op or a type matches the event that opens the visit, so that it stops once a visit.
        """
        if self.kind in ("op", "type"):
            if not isinstance(event, Enter | Skip):
                return False
            return bool(self.value == (event.op_index if self.kind == "op" else event.op.type))
        if self.kind == "blob":
            return event.phase != "play" and self.value in event.blobs
        if self.kind == "error":
            return event.kind == "fail"
        return bool(self.value == (event.phase if self.kind == "phase" else event.kind))

    def hit(self) -> bool:
        """Count a hit; whether it stops this time."""
        self.hits += 1
        return self.hits > self.ignore

    def __str__(self) -> str:
        what = self.kind if self.kind == "error" else f"{self.kind} {self.value}"
        return what + ("" if self.enabled else " (off)") + (f" after {self.ignore} hits" if self.ignore else "")


def parse(text: str) -> Breakpoint:
    """A breakpoint as it is typed: `7` an op, `type:FC`, `blob:w`, `phase:merge`, `event:rename`, `error`.

    A bare word that is no number is a blob.

    Raises:
        GradvizError: the kind is unknown, or an op is no number.
    """
    text = text.strip()
    if text == "error":
        return Breakpoint("error")
    kind, colon, value = text.partition(":")
    if not colon or kind not in KINDS:
        return Breakpoint("op", int(text)) if text.isdecimal() else Breakpoint("blob", text)
    if kind != "op":
        return Breakpoint(kind, value)
    if not value.isdecimal():
        raise GradvizError(f"a breakpoint on an op takes its index, not {value!r}")
    return Breakpoint("op", int(value))


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
