"""What kernels demand of their inputs, said in one place.

Upstream's kernels are compiled for certain element types and refuse all others; NumPy would go on and answer in another
type. These helpers raise ValueError, to which whoever runs the kernel adds the operator and its inputs.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from gradviz.ops.dtypes import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.ops.registry import Kernel

NUMBERS = ("float32", "float64", "int32", "int64")
"""The element types of upstream's arithmetic."""


def only(*dtypes: str, at: Sequence[int] | None = None) -> Callable[[Kernel], Kernel]:
    """Make a kernel refuse inputs of other dtypes.

    Args:
        dtypes: names of the dtypes that it takes (`string` for text). With several of them the inputs must agree.
        at: positions of the inputs that this concerns; all of them if left out.
    """
    names = " ".join(dtypes)

    def guard(kernel: Kernel) -> Kernel:
        @wraps(kernel)
        def guarded(xp: Any, *inputs: Any, **keywords: Any) -> Any:
            concerned = inputs if at is None else [inputs[i] for i in at if i < len(inputs)]
            expect(names, *concerned)
            if len(dtypes) > 1:
                for other in concerned[1:]:
                    require_same_dtype(concerned[0], other)
            return kernel(xp, *inputs, **keywords)

        return guarded

    return guard


def require_same_dtype(a: Any, b: Any) -> None:
    """Refuse two arrays of different dtypes, which NumPy would promote.

    Raises:
        ValueError: the dtypes differ.
    """
    if a.dtype != b.dtype:
        raise ValueError(f"dtypes must be equal, but are {a.dtype} and {b.dtype}")


def require_same_shape(*arrays: Any) -> None:
    """Refuse arrays of different shapes, which NumPy might broadcast.

    Raises:
        ValueError: the shapes differ.
    """
    first = arrays[0].shape
    for array in arrays[1:]:
        if array.shape != first:
            raise ValueError(f"shapes must be equal, but are {first} and {array.shape}")


def like(a: Any, b: Any) -> Any:
    """`b` in the shape of `a`, for kernels that look at the number of elements only.

    Raises:
        ValueError: the numbers of elements differ.
    """
    if a.size != b.size:
        raise ValueError(f"shapes {a.shape} and {b.shape} hold different numbers of elements")
    return b if a.shape == b.shape else b.reshape(a.shape)


def require(condition: Any, reason: str) -> None:
    """Refuse with `reason` unless `condition` holds.

    Raises:
        ValueError: it does not.
    """
    if not condition:
        raise ValueError(reason)


def require_indices(indices: Any, size: int) -> None:
    """Refuse indices outside of a dimension, which NumPy would count from its end and CuPy would wrap around.

    Raises:
        ValueError: an index is negative, or not below `size`.
    """
    if indices.size and not bool(((indices >= 0) & (indices < size)).all()):
        raise ValueError(f"indices must lie between 0 and {size - 1}")


def axis_of(axis: int, rank: int) -> int:
    """The index from the front of a dimension, given from the front or (negative) from the back.

    Raises:
        ValueError: there is no such dimension.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} does not exist in an array of rank {rank}")
    return axis % rank


def text_of(value: str | bytes) -> str:
    """An argument that is a text, as text."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
