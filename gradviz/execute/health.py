"""What can be told of an array at a glance: range, moments, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Health:
    """Figures of one value. Range and moments are those of its finite elements; None where it has none, or is text.

    Attributes:
        shape: its shape.
        dtype: name of its dtype, `string` for text.
        min: least element.
        max: largest element.
        mean: mean.
        std: standard deviation (of the whole, not of a sample).
        l2: square root of the sum of squares.
        zeros: how many elements are zero.
        nan: how many are NaN.
        inf: how many are infinite, of either sign.
        minus_inf: how many of these are negative.
        denormals: how many are so small that they lose precision, and are not zero.
    """

    shape: tuple[int, ...]
    dtype: str
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    l2: float | None = None
    zeros: int = 0
    nan: int = 0
    inf: int = 0
    minus_inf: int = 0
    denormals: int = 0

    @property
    def ok(self) -> bool:
        """Whether every element is finite."""
        return not (self.nan or self.inf)

    def __str__(self) -> str:
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        if self.min is not None and self.max is not None:
            text += f" {self.min:.4g} to {self.max:.4g}"
        ills = [(self.nan, "NaN"), (self.inf, "Inf"), (self.denormals, "denormal")]
        return text + "".join(f", {count} {name}" for count, name in ills if count)


def health_of(value: Any) -> Health:
    """The figures of a NumPy array; of anything else only what kind of object it is."""
    if not isinstance(value, np.ndarray):
        return Health((), f"{type(value).__name__} object")
    if value.dtype.kind in "OSU":
        return Health(value.shape, "string")
    numbers = value.astype(np.float64) if value.dtype.kind != "f" or value.dtype.itemsize < 8 else value
    with np.errstate(all="ignore"):
        finite = np.isfinite(numbers)
        good = numbers if finite.all() else numbers[finite]
        return Health(
            value.shape,
            str(value.dtype),
            **_moments(good),
            zeros=int(value.size - np.count_nonzero(value)),
            **(_ills(value, numbers, finite) if value.dtype.kind == "f" else {}),
        )


def _moments(good: Any) -> dict[str, Any]:
    if not good.size:
        return {}
    scale = float(np.abs(good).max())
    # The sum of squares may overflow where the norm does not.
    l2 = scale * float(np.sqrt(np.square(good / scale).sum())) if scale else 0.0
    moments = {"min": good.min(), "max": good.max(), "mean": good.mean(), "std": good.std()}
    return {name: float(each) for name, each in moments.items()} | {"l2": l2}


def _ills(value: Any, numbers: Any, finite: Any) -> dict[str, int]:
    smallest = np.finfo(value.dtype).tiny
    nan = int(np.isnan(numbers).sum())
    return {
        "nan": nan,
        "inf": int(value.size - np.count_nonzero(finite)) - nan,
        "minus_inf": int(np.isneginf(numbers).sum()),
        "denormals": int(((numbers != 0) & (np.abs(numbers) < smallest)).sum()),
    }


def is_bad(xp: Any, value: Any) -> bool:
    """Whether a value is a float array with an element that is not finite."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.kind == "f" and not bool(xp.isfinite(value).all())
