"""What the external inputs of a net are: parameters that training changes, statistics that it does not, or data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradviz.ops.registry import SHOULD_NOT, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradviz.nets import Model

    Blobs = tuple[str, Sequence[str], Sequence[str]]

_WEIGHT_AND_BIAS = (1, 2)
_TABLE = (0,)

PARAMETER_INPUTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "Conv1D", "Conv2D", "Conv3D", "DeformConv"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("FC", "FCTransposed", "LayerNorm", "InstanceNorm", "GroupNorm", "SpatialBN"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("AffineChannel", "LC", "LC1D", "LC2D", "LC3D", "ElementwiseLinear"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("SparseLengthsSum", "SparseLengthsMean", "SparseLengthsWeightedSum"), _TABLE),
    **dict.fromkeys(("SparseSortedSegmentSum", "SparseUnsortedSegmentSum", "Gather"), _TABLE),
    "PRelu": (1,),
    "RMSNorm": (1, 2),
    "HSoftmax": _WEIGHT_AND_BIAS,
}
"""Which inputs of an operator are parameters, by habit."""

STATISTICS = {"SpatialBN": (3, 4)}
"""Inputs that hold running statistics."""

_NO_GRADIENT = (
    ("Gather BatchGather", {1: "indices"}),
    ("SparseLengthsSum SparseLengthsMean", {1: "indices", 2: "lengths"}),
    ("SparseLengthsWeightedSum", {2: "indices", 3: "lengths"}),
    ("LengthsSum LengthsMean LengthsMax LengthsTile", {1: "lengths"}),
    ("LengthsWeightedSum", {2: "lengths"}),
    ("SortedSegmentSum SortedSegmentMean UnsortedSegmentSum", {1: "segment ids"}),
    ("SparseSortedSegmentSum SparseUnsortedSegmentSum", {1: "indices", 2: "segment ids"}),
    ("LabelCrossEntropy SoftmaxWithLoss SpatialSoftmaxWithLoss CrossEntropy CosineEmbeddingCriterion", {1: "labels"}),
    ("SigmoidCrossEntropyWithLogits", {1: "targets"}),
    ("WeightedSigmoidCrossEntropyWithLogits", {1: "targets", 2: "weights of the examples"}),
    ("PackSegments UnpackSegments", {0: "lengths"}),
    ("Reshape", {1: "a shape"}),
    ("SparseToDense", {0: "indices", 2: "a shape"}),
    ("BooleanMask", {1: "a mask"}),
    ("OneHot", {0: "indices", 1: "a size"}),
    ("RoIAlign RoIPool", {1: "regions"}),
    ("LSTMUnit", {3: "lengths", 4: "a time step"}),
    ("MarginRankingCriterion", {2: "labels"}),
    ("SpatialBN", {3: "running means", 4: "running variances"}),
    ("If While", {0: "a condition"}),
)

INTEGER_INPUTS: dict[str, dict[int, str]] = {type: slots for types, slots in _NO_GRADIENT for type in types.split()}
"""Inputs that get no gradient because of what they hold."""

_LIKE_A_PARAMETER = re.compile(r"(^|[_./])(w|b|weight|weights|bias|biases|gamma|beta|scale|W|B)(_?\d+)?$")


def roles(model: Model, ops: Iterable[Blobs] | None = None) -> dict[str, str]:
    """External input -> `parameter`, `statistic` or `data`.

    What an init net or a predictor export fills is a parameter, unless operators read it where data goes. Where nothing
    is known, the place at which operators read a blob tells, then its name.

    Args:
        model: the model.
        ops: type, inputs and outputs of its operators, where they are at hand.
    """
    places = _by_place(((op.type, op.input, op.output) for op in model.net.op) if ops is None else ops)
    filled = set(model.parameters)
    if model.init is not None:
        filled.update(name for op in model.init.op for name in op.output)
    found = {}
    for name, place in places.items():
        if place in ("parameter", "statistic") or name in model.inputs:
            found[name] = "data" if name in model.inputs else place
        elif name in filled or (place == "unknown" and not filled and _LIKE_A_PARAMETER.search(name)):
            found[name] = "data" if place == "data" else "parameter"
        else:
            found[name] = "data"
    return found


def _by_place(ops: Iterable[Blobs]) -> dict[str, str]:
    """External input -> `parameter`, `statistic`, `data` (read where data goes) or `unknown`, in order of reading."""
    written: set[str] = set()
    found: dict[str, str] = {}
    for type, inputs, outputs in ops:
        for slot, name in enumerate(inputs):
            if name not in written:
                place = _place(type, slot)
                if place in ("parameter", "statistic") or found.get(name, "unknown") == "unknown":
                    found[name] = place
        written.update(outputs)
    return found


def _place(type: str, slot: int) -> str:
    """What an operator takes an input for."""
    parameters = PARAMETER_INPUTS.get(type)
    if slot in STATISTICS.get(type, ()):
        return "statistic"
    if parameters is not None:
        return "parameter" if slot in parameters else "data"
    known = lookup(type)
    never_trained = known is not None and known.gradient is SHOULD_NOT  # a comparison, say, of a threshold
    return "data" if never_trained or slot in INTEGER_INPUTS.get(type, ()) else "unknown"


def parameters(model: Model) -> list[str]:
    """The external inputs that training changes, in the order in which they are read."""
    return [name for name, role in roles(model).items() if role == "parameter"]
