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

    @property
    def holds(self) -> Any:
        """The value itself."""
        return self.value


class SliceSlot:
    """A slot that can be a slice, along the first axis, of the array in another slot; a write goes through to it.

    Detached it is a slot like any other, and so it starts. Attached it reads and writes rows of `of`'s array; a value
    with another number of elements detaches it. `own` says that nobody else holds that array, so that it is changed in
    place and what is read is copied; otherwise a changed copy takes the array's place.
    """

    __slots__ = ("_held", "_shape", "of", "own", "rows")

    def __init__(self, held: Any = MISSING) -> None:
        self.of: AnySlot | None = None
        self.rows = slice(None)
        self.own = False
        self._held = held
        self._shape: tuple[int, ...] | None = None

    def attach(self, of: AnySlot, rows: slice, own: bool = False) -> SliceSlot:
        """Become rows of the array in `of`."""
        self.of, self.rows, self.own, self._held, self._shape = of, rows, own, MISSING, None
        return self

    @property
    def value(self) -> Any:
        if self.of is None:
            return self._held
        whole = self.of.value
        if whole is MISSING:
            return MISSING
        part = whole[self.rows]
        if self._shape is not None:
            part = part.reshape(self._shape)
        return part.copy() if self.own else part

    @value.setter
    def value(self, value: Any) -> None:
        if self.of is not None and value is not MISSING:
            whole = self.of.value
            rows = whole[self.rows]
            if rows.size == value.size:
                self._shape = value.shape
                if not self.own:
                    self.of.value = whole = whole.copy()
                whole[self.rows] = value.reshape(rows.shape)
                return
        self.of, self._held = None, value

    @property
    def holds(self) -> Any:
        """The array behind the value: another object when the value is another."""
        return self._held if self.of is None else self.of.value


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
