"""Names and the values they stand for: slots, and frames of slots one inside the other.

Values are never changed in place: a write puts another value into the slot. So a value that was kept stays what it was,
whatever runs later, and two names may share a slot (the operators of control flow bind names so).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()
"""What a slot holds that was never written, or was freed."""


class Slot:
    """A place for one value."""

    __slots__ = ("value",)

    def __init__(self, value: Any = MISSING) -> None:
        self.value = value


class SliceSlot:
    """A slot that is a slice, along the first axis, of the array in another slot.

    Writing goes through to that array. `own` says that nobody else holds the array yet, so that it may be changed;
    otherwise a copy takes its place.
    """

    __slots__ = ("of", "own", "rows")

    def __init__(self, of: Slot, rows: slice, own: bool = False) -> None:
        self.of = of
        self.rows = rows
        self.own = own

    @property
    def value(self) -> Any:
        whole = self.of.value
        return MISSING if whole is MISSING else whole[self.rows]

    @value.setter
    def value(self, value: Any) -> None:
        if value is MISSING:
            return
        if not self.own:
            self.of.value = self.of.value.copy()
        self.of.value[self.rows] = value


AnySlot = Slot | SliceSlot


class Frame:
    """The names that a net sees.

    Attributes:
        slots: the frame's own names.
        parent: the frame around it, whose names are seen through; None where nothing is.
    """

    __slots__ = ("parent", "slots")

    def __init__(self, parent: Frame | None = None, slots: dict[str, AnySlot] | None = None) -> None:
        self.parent = parent
        self.slots: dict[str, AnySlot] = {} if slots is None else slots

    def find(self, name: str) -> AnySlot | None:
        """The slot that `name` stands for, here or further out, or None."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.slots.get(name)
            if found is not None:
                return found
            frame = frame.parent
        return None

    def reach(self, name: str) -> AnySlot:
        """The slot that `name` stands for; a new one of this frame where there is none yet."""
        found = self.find(name)
        if found is None:
            found = self.slots[name] = Slot()
        return found

    def get(self, name: str) -> Any:
        """The value of `name`, or `MISSING`."""
        found = self.find(name)
        return MISSING if found is None else found.value

    def fill(self, values: Iterable[tuple[str, Any]]) -> None:
        """Give names of this frame values, each in a slot of its own."""
        for name, value in values:
            self.slots[name] = Slot(value)

    def values(self) -> Iterator[tuple[str, Any]]:
        """The frame's own names that hold something."""
        for name, slot in self.slots.items():
            if slot.value is not MISSING:
                yield name, slot.value
