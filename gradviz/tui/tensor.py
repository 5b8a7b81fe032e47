"""Tensors in few letters: histograms made of blocks, and a window that walks a tensor of any rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_BLOCKS = " ▁▂▃▄▅▆▇█"
_SAMPLE = 1_000_000
"""Of more elements than these every so many-th is counted: a picture needs no more, and keys are answered."""

LEAST, MOST = 1, 9
"""Fewest and most significant digits."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How the finite elements of a tensor are spread.

    Attributes:
        counts: elements in each of the bins, which are of equal width.
        low: lower edge of the first bin.
        high: upper edge of the last.
        stride: every so many-th element was counted.
        left_out: counted elements that are NaN or infinite.
        why: why there is nothing to count; empty where there is.
    """

    counts: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 0.0
    stride: int = 1
    left_out: int = 0
    why: str = ""


def histogram(array: Any, bins: int) -> Histogram:
    """Count the elements of an array in `bins` bins between its least and its largest finite element."""
    import numpy as np

    if not isinstance(array, np.ndarray):
        return Histogram(why="no tensor")
    if array.dtype.kind not in "fiub":
        return Histogram(why="text has no histogram")
    stride = -(-max(array.size, 1) // _SAMPLE)
    numbers = array.reshape(-1)[::stride].astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    left_out = int(numbers.size - finite.size)
    if not finite.size:
        return Histogram(stride=stride, left_out=left_out, why="no finite element" if array.size else "no elements")
    low, high = float(finite.min()), float(finite.max())
    return Histogram(_counted(finite, low, high, bins), low, high, stride, left_out)


def _counted(finite: Any, low: float, high: float, bins: int) -> tuple[int, ...]:
    """Counts by bin; both ends are halved, since their difference may be beyond the largest float."""
    import numpy as np

    width = high / 2 - low / 2
    if not width > 0:
        counts = [0] * bins
        counts[bins // 2] = int(finite.size)
        return tuple(counts)
    place = np.clip((finite / 2 - low / 2) / width * bins, 0, bins - 1).astype(np.int64)
    return tuple(int(each) for each in np.bincount(place, minlength=bins))


def bars(counts: tuple[int, ...], height: int) -> list[str]:
    """The bars of a histogram, from the top line down; a bin that holds anything is never empty."""
    most = max(counts, default=0)
    if not most:
        return [" " * len(counts)] * height
    levels = [max(round(each * height * 8 / most), 1) if each else 0 for each in counts]
    return [
        "".join(_BLOCKS[min(max(level - 8 * line, 0), 8)] for level in levels) for line in range(height - 1, -1, -1)
    ]


class Window:
    """A window on a tensor: two of its axes lie on the screen, the others stand at an index.

    Attributes:
        shape: of the tensor.
        index: the element under the cursor.
        down: the axis that runs down the screen, None for scalars and vectors.
        across: the axis that runs across it, None for scalars.
        fixed: the axis among the others that is stepped through, None where there are none.
        digits: significant digits that are shown.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.index = [0] * len(shape)
        rank = len(shape)
        self.across: int | None = rank - 1 if rank else None
        self.down: int | None = rank - 2 if rank > 1 else None
        self.fixed: int | None = rank - 3 if rank > 2 else None
        self.digits = 4

    @property
    def others(self) -> list[int]:
        """The axes that do not lie on the screen."""
        return [axis for axis in range(len(self.shape)) if axis not in (self.down, self.across)]

    @property
    def empty(self) -> bool:
        """Whether the tensor has no elements."""
        return 0 in self.shape

    def move(self, down: int, across: int) -> None:
        """Move the cursor; it stops at the edges."""
        for axis, by in ((self.down, down), (self.across, across)):
            self._step(axis, by)

    def step(self, by: int) -> None:
        """Step along the chosen axis that does not lie on the screen."""
        self._step(self.fixed, by)

    def _step(self, axis: int | None, by: int) -> None:
        if axis is not None:
            self.index[axis] = min(max(self.index[axis] + by, 0), max(self.shape[axis] - 1, 0))

    def choose(self) -> None:
        """Choose the next axis to step along."""
        others = self.others
        if self.fixed is not None:
            self.fixed = others[(others.index(self.fixed) + 1) % len(others)]

    def turn(self) -> None:
        """Lay the next two axes on the screen: first every pair in order, then the same pairs transposed."""
        if self.down is None or self.across is None:
            return
        rank = len(self.shape)
        pairs = [(a, b) for a in range(rank) for b in range(rank) if a != b]
        pairs.sort(key=lambda pair: (pair[0] > pair[1], -pair[0], -pair[1]))
        self.down, self.across = pairs[(pairs.index((self.down, self.across)) + 1) % len(pairs)]
        others = self.others
        self.fixed = others[-1] if others else None

    def sharpen(self, by: int) -> None:
        """Show more or fewer digits."""
        self.digits = min(max(self.digits + by, LEAST), MOST)

    def goto(self, index: tuple[int, ...]) -> None:
        """Put the cursor on an element; the caller has checked that there is one."""
        self.index = [int(each) for each in index]

    def where(self) -> str:
        """The axes as a reader writes them: `[3, :, :]`, with the cursor's place where they lie on the screen."""
        shown = {self.down: "↓", self.across: "→"}
        parts = [f"{shown.get(axis, '')}{i}" for axis, i in enumerate(self.index)]
        return f"[{', '.join(parts)}]"


def parse_index(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An index as it is typed, `3, 0, -1`; negative ones count from the end.

    Raises:
        ValueError: with what is wrong with it.
    """
    try:
        index = tuple(int(each) for each in text.replace("[", "").replace("]", "").replace(",", " ").split())
    except ValueError:
        raise ValueError("an index is numbers with commas between, such as 3,0,-1") from None
    if len(index) != len(shape):
        raise ValueError(f"the tensor has {len(shape)} axes, the index {len(index)}")
    for axis, (i, size) in enumerate(zip(index, shape, strict=True)):
        if not -size <= i < size:
            raise ValueError(f"axis {axis} has {size} elements: {i} is beyond")
    return tuple(i % size for i, size in zip(index, shape, strict=True))


def element(value: Any, digits: int) -> str:
    """An element with so many significant digits."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "item"):
        value = value.item()
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def remarkable(array: Any) -> tuple[tuple[int, ...], str] | None:
    """The element to look at first, and why: the first that is not finite, else the largest in magnitude."""
    import numpy as np

    if not array.size or array.dtype.kind not in "fiub":
        return None
    numbers = array if array.dtype.kind == "f" else array.astype(np.float64)
    bad = ~np.isfinite(numbers)
    found, why = (bad, "first that is not finite") if bad.any() else (np.abs(numbers), "largest in magnitude")
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(found)), array.shape)), why
