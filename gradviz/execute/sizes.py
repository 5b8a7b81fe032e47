"""How the size of a picture travels through convolutions and poolings: the smallest one, and the one that fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.ops.arguments import values, whole, wholes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradviz.ops.records import Op

Shape = tuple[int, ...]

_WINDOWED = {"Conv", "MaxPool", "AveragePool", "LpPool"}
_SAME_SIZE = {
    *("Relu", "Sigmoid", "Tanh", "Dropout", "LRN", "SpatialBN", "Copy", "Alias", "Softmax", "Elu", "Selu", "Softplus"),
    *("LeakyRelu", "PRelu", "InstanceNorm", "GroupNorm", "ChannelShuffle", "StopGradient", "Clip", "AffineChannel"),
}
_LARGEST = 512


@dataclass(frozen=True, slots=True)
class Window:
    """Extent, step, padding (both ends together) and rounding of a window along one axis."""

    extent: int
    stride: int = 1
    pad: int = 0
    ceil: bool = False

    def over(self, size: int) -> int | None:
        """How many places it takes over `size` elements; None where it does not fit."""
        room = size + self.pad - self.extent
        if room < 0:
            return None
        return (-(-room // self.stride) if self.ceil else room // self.stride) + 1


def windows(op: Op, weight: Shape | None = None) -> tuple[Window, Window] | None:
    """The windows of a two-dimensional convolution or pooling; None where it looks at the whole picture.

    Args:
        op: the operator.
        weight: shape of its filter, which says the extent where no argument does.
    """
    args = values(op.proto)
    if args.get("global_pooling"):
        return None
    extents = _pair(args, "kernel", weight[2:4] if weight is not None and len(weight) == 4 else (1, 1))
    strides, dilations = _pair(args, "stride", (1, 1)), _pair(args, "dilation", (1, 1))
    pads = _pads(args)
    ceil = args.get("legacy_pad") == 3
    first, second = (Window(dilations[i] * (extents[i] - 1) + 1, max(strides[i], 1), pads[i], ceil) for i in range(2))
    return first, second


def _pair(args: Mapping[str, Any], name: str, default: Sequence[int]) -> tuple[int, int]:
    whole_one = [whole(args, f"{name}_{axis}", 0) or whole(args, name, 0) or default[i] for i, axis in _AXES]
    both = wholes(args, f"{name}s") or whole_one
    return both[0], both[-1]


_AXES = ((0, "h"), (1, "w"))


def _pads(args: Mapping[str, Any]) -> tuple[int, int]:
    pads = wholes(args, "pads")
    if len(pads) != 4:
        pads = [whole(args, f"pad_{side}", 0) or whole(args, "pad", 0) for side in "tlbr"]
    top, left, bottom, right = pads
    return top + bottom, left + right


def first_misfit(ops: Sequence[Op], blob: str, shape: Shape, known: Mapping[str, Shape]) -> int | None:
    """The first operator that does not fit if `blob` has `shape`; None where all fit, as far as can be told.

    Args:
        ops: the operators in order.
        blob: a picture, (N, C, H, W).
        shape: its shape.
        known: shapes of parameters.
    """
    shapes = {blob: shape}
    for index, op in enumerate(ops):
        source = shapes.get(op.inputs[0]) if op.inputs else None
        if source is None:
            continue
        made = _after(op, source, known)
        if made == ():
            return index
        if made is None:
            for name in op.outputs:
                shapes.pop(name, None)
        else:
            shapes[op.outputs[0]] = made
    return None


def _after(op: Op, source: Shape, known: Mapping[str, Shape]) -> Shape | None:
    """Shape of the first output; None where it cannot be told, () where the operator does not fit."""
    if op.type in _SAME_SIZE:
        return source
    weight = known.get(op.inputs[1]) if len(op.inputs) > 1 else None
    if op.type == "FC" and weight is not None and "axis" not in values(op.proto):
        wanted = _product(weight[1:])
        return (source[0], weight[0]) if _product(source[1:]) == wanted else ()
    if op.type not in _WINDOWED or len(source) != 4 or values(op.proto).get("order", "NCHW") != "NCHW":
        return None
    channels = source[1] if op.type != "Conv" else weight[0] if weight else None
    found = windows(op, weight)
    if channels is None:
        return None
    if found is None:
        return (source[0], channels, 1, 1)
    height, width = found[0].over(source[2]), found[1].over(source[3])
    return () if height is None or width is None else (source[0], channels, height, width)


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def least_size(ops: Sequence[Op], blob: str, channels: int, known: Mapping[str, Shape]) -> int | None:
    """The smallest height, equal to the width, with which all operators fit, or None where no picture does."""
    sizes = range(1, _LARGEST + 1)
    return next((s for s in sizes if first_misfit(ops, blob, (1, channels, s, s), known) is None), None)
