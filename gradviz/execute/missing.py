"""What a run lacks: blobs that are read and that nobody makes, with the shapes that their readers want."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.errors import ExecutionError
from gradviz.execute.sizes import least_size, windows
from gradviz.ops.arguments import values, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradviz.execute.sizes import Shape
    from gradviz.ops.records import Op

Dims = tuple["int | str", ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A blob that must be fed.

    Attributes:
        blob: its name.
        op_index: the first operator that reads it.
        op: that operator.
        input: as which input.
        shape: the shape that the operator wants, letters where any size will do; None where it cannot be told.
        dtype: the dtype that it wants.
        example: a shape that fits, with numbers in place of the letters; None where `shape` is.
        least: the least height and width that fit, where it is a picture.
    """

    blob: str
    op_index: int
    op: Op
    input: int
    shape: Dims | None
    dtype: str
    example: Shape | None
    least: int | None = None

    @property
    def feed(self) -> str:
        """How to feed it on the command line: `name=shape`, with the dtype unless it is float32."""
        shape = "x".join(map(str, self.example or ())) if self.example is not None else "SHAPE"
        return f"{self.blob}={shape}" + (f":{self.dtype}" if self.dtype != "float32" else "")

    def __str__(self) -> str:
        shape = f" [{', '.join(map(str, self.shape))}]" if self.shape is not None else ""
        least = f" with H and W at least {self.least}" if self.least and self.least > 1 else ""
        reader = f"read by op {self.op_index} {self.op.type} as input {self.input}"
        return f"{self.blob} ({self.dtype}{shape}{least}, {reader})"


class MissingFeedsError(ExecutionError):
    """A run needs blobs that nobody makes and that were not fed.

    Attributes:
        missing: all of them, in the order in which they are read.
    """

    def __init__(self, missing: Sequence[Missing], filled: Sequence[str]) -> None:
        self.missing = list(missing)
        word = "feed is" if len(self.missing) == 1 else "feeds are"
        made = f" The init net fills {_shortened(filled)}." if filled else ""
        told = [str(each) for each in self.missing]
        feeds = [each.feed for each in self.missing]
        super().__init__(
            f"{len(told)} {word} missing: {_shortened(told, between='; ')}.{made} Feed {_shortened(feeds, between=' ')}"
        )


def _shortened(names: Sequence[str], most: int = 8, between: str = ", ") -> str:
    more = len(names) - most
    return between.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def read_before_written(ops: Iterable[Op]) -> dict[str, tuple[int, Op, int]]:
    """The blobs that operators read before any wrote them, each with its first reader and which input it is there."""
    written: set[str] = set()
    found: dict[str, tuple[int, Op, int]] = {}
    for index, op in enumerate(ops):
        for i, name in enumerate(op.inputs):
            if name not in written and name not in found:
                found[name] = (index, op, i)
        written.update(op.outputs)
    return found


def describe_missing(ops: Sequence[Op], names: Iterable[str], known: Mapping[str, Shape]) -> list[Missing]:
    """Say of blobs what their readers want.

    Args:
        ops: the operators of the run.
        names: the blobs; each must be read.
        known: shapes of the blobs that have a value.
    """
    readers = read_before_written(ops)
    return [_describe(name, *readers[name], ops, known) for name in names]


def _describe(name: str, op_index: int, op: Op, i: int, ops: Sequence[Op], known: Mapping[str, Shape]) -> Missing:
    shape, dtype = _wanted(op, i, known)
    if shape is None:
        return Missing(name, op_index, op, i, None, dtype, None)
    least = None
    if "H" in shape and isinstance(shape[1], int):
        least = least_size(ops[op_index:], name, shape[1], known)
    side = least or 1
    if least is not None and least < 8 and least_size(ops[op_index:], name, int(shape[1]), known) == least:
        side = max(least, 8) if _fits(ops[op_index:], name, int(shape[1]), known) else least
    sizes = {"N": 1, "C": 3, "H": side, "W": side}
    example = tuple(each if isinstance(each, int) else sizes.get(each, 1) for each in shape)
    return Missing(name, op_index, op, i, shape, dtype, example, least)


def _fits(ops: Sequence[Op], name: str, channels: int, known: Mapping[str, Shape]) -> bool:
    from gradviz.execute.sizes import first_misfit

    return first_misfit(ops, name, (1, channels, 8, 8), known) is None


_LABELS = {
    "LabelCrossEntropy": 1,
    "LabelCrossEntropyGradient": 1,
    "SoftmaxWithLoss": 1,
    "SpatialSoftmaxWithLoss": 1,
    "Accuracy": 1,
    "MultiClassAccuracy": 1,
}
_PICTURES = {"MaxPool", "AveragePool", "LRN", "InstanceNorm", "GroupNorm", "ResizeNearest", "PadImage"}
_EQUAL_SHAPES = {
    *("Add", "Sub", "Mul", "Div", "Sum", "SquaredL2Distance", "L1Distance", "SigmoidCrossEntropyWithLogits", "Max"),
    *("Min", "Mean", "DotProduct", "CosineSimilarity", "CrossEntropy", "EQ", "MakeTwoClass"),
}


def _wanted(op: Op, i: int, known: Mapping[str, Shape]) -> tuple[Dims | None, str]:
    if _LABELS.get(op.type) == i:
        return ("N",), "int32"
    if op.type.startswith(("SparseLengths", "Lengths")) or op.type in {"Gather", "BatchGather"}:
        return _wanted_of_lookup(op, i)
    if op.type in {"Conv", "ConvTranspose"}:
        return _wanted_of_convolution(op, i, known), "float32"
    if op.type == "FC":
        return _wanted_of_fc(op, i, known), "float32"
    if op.type == "SpatialBN":
        size = next((known[name][0] for name in op.inputs[1:5] if name in known), "C")
        return (("N", size, "H", "W") if i == 0 else (size,)), "float32"
    if op.type in _PICTURES and i == 0:
        return ("N", "C", "H", "W"), "float32"
    if op.type in _EQUAL_SHAPES and not values(op.proto).get("broadcast"):
        other = next((known[name] for name in op.inputs if name in known), None)
        return other, "float32"
    return None, "float32"


def _wanted_of_lookup(op: Op, i: int) -> tuple[Dims | None, str]:
    weighted = "Weighted" in op.type
    what = op.inputs[i]
    if op.type in {"Gather", "BatchGather"}:
        return (None, "float32") if i == 0 else (("N",), "int64")
    if not op.type.startswith("Sparse"):
        return (None, "float32") if i == 0 else (("N",), "int32")
    kinds = ["float32", *(["float32"] if weighted else []), "int64", "int32"]
    shapes: list[Dims | None] = [("R", "D"), *([("K",)] if weighted else []), ("K",), ("N",)]
    return (shapes[i], kinds[i]) if i < len(kinds) and what else (None, "float32")


def _wanted_of_convolution(op: Op, i: int, known: Mapping[str, Shape]) -> Dims | None:
    args = values(op.proto)
    if args.get("order", "NCHW") != "NCHW":
        return None
    weight = known.get(op.inputs[1]) if len(op.inputs) > 1 else None
    forward = op.type == "Conv"
    if i == 0:
        if weight is None or len(weight) != 4:
            return ("N", "C", "H", "W") if weight is None else None
        return "N", weight[1] * (whole(args, "group", 1) or 1) if forward else weight[0], "H", "W"
    filters = known[op.inputs[2]][0] if len(op.inputs) > 2 and op.inputs[2] in known else "M"
    if i == 2:
        return (weight[0 if forward else 1],) if weight else ("M",)
    found = windows(op)
    extents = ("KH", "KW") if found is None else (found[0].extent, found[1].extent)
    return (filters, "C", *extents) if forward else ("C", filters, *extents)


def _wanted_of_fc(op: Op, i: int, known: Mapping[str, Shape]) -> Dims | None:
    weight = known.get(op.inputs[1])
    bias = known.get(op.inputs[2]) if len(op.inputs) > 2 else None
    source = known.get(op.inputs[0])
    if i == 0:
        if weight is None:
            return "N", "K"
        total = 1
        for size in weight[1:]:
            total *= size
        return "N", total
    filters = weight[0] if weight else bias[0] if bias else "M"
    if i == 2:
        return (filters,)
    total = 1
    for size in (source or ())[1:]:
        total *= size
    return filters, total if source else "K"
