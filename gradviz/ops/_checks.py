"""What kernels demand of their inputs, said in one place.

Upstream's kernels are compiled for certain element types and refuse all others; NumPy would go on and answer in another
type. These helpers raise ValueError, to which whoever runs the kernel adds the operator and its inputs.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.ops.registry import Kernel

# Kind and size tell a dtype apart everywhere; `dtype.name` would too, but is slow.
_DTYPES = {
    "bool": ("b", 1),
    "uint8": ("u", 1),
    "int8": ("i", 1),
    "uint16": ("u", 2),
    "int16": ("i", 2),
    "int32": ("i", 4),
    "int64": ("i", 8),
    "float16": ("f", 2),
    "float32": ("f", 4),
    "float64": ("f", 8),
    "string": ("O", 8),
}

NUMBERS = ("float32", "float64", "int32", "int64")
"""The element types of upstream's arithmetic."""


def only(*dtypes: str, at: Sequence[int] | None = None) -> Callable[[Kernel], Kernel]:
    """Make a kernel refuse inputs of other dtypes.

    Args:
        dtypes: names of the dtypes that it takes (`string` for text). With several of them the inputs must agree.
        at: positions of the inputs that this concerns; all of them if left out.
    """

    def guard(kernel: Kernel) -> Kernel:
        @wraps(kernel)
        def guarded(xp: Any, *inputs: Any, **keywords: Any) -> Any:
            require_dtype(inputs if at is None else [inputs[i] for i in at if i < len(inputs)], *dtypes)
            return kernel(xp, *inputs, **keywords)

        return guarded

    return guard


def require_dtype(arrays: Sequence[Any], *dtypes: str) -> None:
    """Refuse arrays that are not of one of these dtypes, or not all of the same.

    Raises:
        ValueError: an array has another dtype, or is no tensor.
    """
    allowed = [_DTYPES[name] for name in dtypes]
    for array in arrays:
        dtype = getattr(array, "dtype", None)
        if dtype is None:
            raise ValueError(f"a tensor is wanted, not {type(array).__name__}")
        if (dtype.kind, dtype.itemsize) not in allowed:
            raise ValueError(f"elements must be {_either(dtypes)}, not {_name(dtype)}")
        allowed = [(dtype.kind, dtype.itemsize)]
        dtypes = (_name(dtype),)


def require_same_shape(*arrays: Any) -> None:
    """Refuse arrays of different shapes, which NumPy might broadcast.

    Raises:
        ValueError: the shapes differ.
    """
    first = arrays[0].shape
    for array in arrays[1:]:
        if array.shape != first:
            raise ValueError(f"shapes must be equal, but are {first} and {array.shape}")


def require(condition: bool, reason: str) -> None:
    """Refuse with `reason` unless `condition` holds.

    Raises:
        ValueError: it does not.
    """
    if not condition:
        raise ValueError(reason)


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


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _name(dtype: Any) -> str:
    return "string" if dtype.kind == "O" else str(dtype.name)
