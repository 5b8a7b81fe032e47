"""What an external input is: a parameter that training would change, or data that is fed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.nets import Model
    from gradviz.proto import NetDef, OperatorDef

_WEIGHT_AND_BIAS = (1, 2)
_TABLE = (0,)

PARAMETER_INPUTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "FC", "FCTransposed", "Conv1D", "Conv2D", "Conv3D"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("LayerNorm", "InstanceNorm", "GroupNorm"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("Int8Conv", "Int8FC", "Int8ConvRelu"), _WEIGHT_AND_BIAS),
    **dict.fromkeys(("Gather", "BatchGather", "SparseLengthsSum", "SparseLengthsMean", "SparseLengthsMax"), _TABLE),
    **dict.fromkeys(("SparseLengthsWeightedSum", "SparseSortedSegmentSum", "SparseUnsortedSegmentSum"), _TABLE),
    "PRelu": (1,),
    "SpatialBN": (1, 2, 3, 4),
    "AffineChannel": (1, 2),
}
"""Which inputs of an operator are its parameters, by habit."""


def roles_of_inputs(model: Model) -> dict[str, str]:
    """Blob -> `parameter` or `input`, for the blobs that something tells about.

    What an init net or a predictor export fills is a parameter; where nothing is known, the place at which operators
    read a blob tells. Data that an init net fills as a placeholder stays data.
    """
    by_place = _by_place(model.net)
    filled = set(model.parameters)
    if model.init is not None:
        filled.update(name for op in model.init.op for name in op.output)
    roles = {**by_place, **{name: "parameter" for name in filled if by_place.get(name) != "input"}}
    roles.update(dict.fromkeys(model.inputs, "input"))
    return roles


def _by_place(net: NetDef) -> dict[str, str]:
    roles: dict[str, str] = {}
    for op in net.op:
        places = PARAMETER_INPUTS.get(op.type)
        if places is None:
            continue
        for slot, name in enumerate(op.input):
            roles.setdefault(name, "parameter" if slot in places else "input")
    return roles


def shapes_of(model: Model) -> dict[str, str]:
    """Blob -> shape as a label says it, for what an init net or a predictor export fills."""
    found = {name: _times(tensor.dims) for name, tensor in model.parameters.items()}
    for op in model.init.op if model.init is not None else ():
        dims = _filled_shape(op)
        found.update({name: _times(dims) for name in op.output if dims})
    return found


def _filled_shape(op: OperatorDef) -> list[int]:
    if op.input or len(op.output) != 1:
        return []
    return next((list(each.ints) for each in op.arg if each.name == "shape"), [])


def _times(dims: object) -> str:
    return "×".join(str(dim) for dim in dims)  # type: ignore[attr-defined]
