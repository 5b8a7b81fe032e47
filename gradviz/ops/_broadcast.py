"""Bringing two arrays to one shape, as upstream's binary operators do, and the way back for gradients.

There are two ways. With the argument `broadcast` (the legacy one) the second array matches a contiguous part of the
first one's shape: its end, or from `axis` on; ones at either end of it are stretched. Without it NumPy's rules hold,
but a dimension of 0 goes with any other.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import like, only, require
from gradviz.ops.registry import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

Array = Any
Shape = tuple[int, ...]


class Broadcast:
    """Two arrays to be brought to one shape.

    Attributes:
        shape: that shape.

    Raises:
        ValueError: the shapes do not go together, or the arguments do not.
    """

    def __init__(
        self,
        a: Array,
        b: Array,
        legacy: bool = False,
        axis: int = -1,
        axis_str: str = "",
        order: str = "NCHW",
    ) -> None:
        self.a, self.b, self.legacy = a, b, legacy
        if legacy:
            self.shape = a.shape
            self._b_shape = _legacy_shape(a.shape, b.shape, _legacy_axis(axis, axis_str, order))
        else:
            require(axis == -1 and not axis_str, "axis and axis_str mean nothing without broadcast")
            self.shape = _common_shape(a.shape, b.shape)
            self._b_shape = b.shape

    def arrays(self, xp: Any) -> tuple[Array, Array]:
        """Both arrays, such that arithmetic between them yields `shape`."""
        if 0 in self.shape:
            return xp.empty(self.shape, self.a.dtype), xp.empty(self.shape, self.b.dtype)
        return self.a, self.b if self.b.shape == self._b_shape else self.b.reshape(self._b_shape)

    def gradient(self, dc: Array) -> Array:
        """The gradient of the result, or another array that goes with it, in `shape`."""
        return dc if dc.shape == self.shape else like(self, dc)

    @property
    def trivial(self) -> bool:
        """Whether both shapes are equal from the start; with the legacy way only single numbers are."""
        return bool(self.a.size == self.b.size == 1 if self.legacy else self.a.shape == self.b.shape)

    @property
    def size(self) -> int:
        """Number of elements of `shape`."""
        return prod(self.shape)

    def sums(self, xp: Any, da: Array, db: Array) -> tuple[Array, Array]:
        """Gradients of both arrays: each summed over the dimensions along which its array was stretched."""
        return sum_to(xp, da, self.a.shape), sum_to(xp, db, self._b_shape).reshape(self.b.shape)


def sum_to(xp: Any, x: Array, shape: Shape) -> Array:
    """Sum `x` over the dimensions that `shape` lacks or has as 1."""
    if x.shape == shape:
        return x
    if x.size == 0:
        return xp.zeros(shape, x.dtype)
    lacking = x.ndim - len(shape)
    stretched = tuple(i for i in range(x.ndim) if i < lacking or (shape[i - lacking] == 1 and x.shape[i] != 1))
    return xp.sum(x, axis=stretched, dtype=x.dtype).reshape(shape)


def _common_shape(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    padded = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    shape = []
    for m, n in padded:
        require(m == n or m <= 1 or n <= 1, f"shapes {a} and {b} cannot be broadcast together")
        shape.append(0 if 0 in {m, n} else max(m, n))
    return tuple(shape)


def _legacy_axis(axis: int, axis_str: str, order: str) -> int:
    """The dimension of the first array that the second one starts at; -1 for: that they end together."""
    if not axis_str:
        return axis
    require(axis == -1, "axis and axis_str cannot be used together")
    require(len(axis_str) == 1 and axis_str in order, f"axis_str {axis_str} is no letter of the order {order}")
    return order.index(axis_str)


def _legacy_shape(a: Shape, b: Shape, axis: int) -> Shape:
    """The shape of the second array with ones around it, of the first one's rank."""
    if all(size == 1 for size in b):
        return (1,) * len(a)
    spare = len(a) - len(b)
    require(spare >= 0, f"the second array has more dimensions than the first: {b} and {a}")
    axis = spare if axis == -1 else axis
    require(0 <= axis <= spare, f"axis must lie between 0 and {spare}, but is {axis}")
    first, last = (next(i for i in indices if b[i] != 1) for indices in (range(len(b)), range(len(b) - 1, -1, -1)))
    for i in range(first, last + 1):
        require(a[axis + i] == b[i], f"from axis {axis} on, {b} does not match {a}")
    return (1,) * axis + b + (1,) * (spare - axis)


def binary(*types: str, dtypes: tuple[str, ...]) -> Callable[[Callable[[Any, Array, Array], Array]], Any]:
    """Register a function of two arrays as a kernel that brings them to one shape first."""

    def register(function: Callable[[Any, Array, Array], Array]) -> Callable[..., Array]:
        @kernel(*types)
        @only(*dtypes)
        def run(
            xp: Any,
            a: Array,
            b: Array,
            *,
            broadcast: bool = False,
            axis: int = -1,
            axis_str: str = "",
            order: str = "NCHW",
        ) -> Array:
            if a.shape == b.shape and axis == -1 and not axis_str:
                return function(xp, a, b)
            return function(xp, *Broadcast(a, b, broadcast, axis, axis_str, order).arrays(xp))

        return run

    return register
