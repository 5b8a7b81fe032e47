"""What to do about an operator that failed: the sizes that would fit, the cast that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.execute.sizes import first_misfit, least_size
from gradviz.ops.arguments import values, whole
from gradviz.ops.dtypes import DtypeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradviz.execute.plan import OpError
    from gradviz.ops.records import Op


def advice(error: OpError, ops: Sequence[Op], fed: Mapping[str, Any], read: Mapping[str, Any]) -> str:
    """A clause that helps, or an empty text.

    Args:
        error: what happened; of an operator of the outermost net.
        ops: the operators of the run.
        fed: the arrays that were fed, by blob.
        read: the values that the operator read, by blob.
    """
    op = error.op
    if isinstance(error.__cause__, DtypeError):
        return _cast(error.__cause__, op, fed, read)
    if op.type in {"Conv", "MaxPool", "AveragePool", "LpPool"}:
        return _larger_picture(ops, fed, read)
    if op.type in {"FC", "FCTransposed"}:
        return _weight_shape(op, read)
    return ""


def _cast(error: DtypeError, op: Op, fed: Mapping[str, Any], read: Mapping[str, Any]) -> str:
    name = next((name for name, value in read.items() if value is error.array), None)
    wanted = error.wanted.split()[0]
    if name is None or wanted == "string" or error.found == "string" or "object" in error.found:
        return ""
    in_net = f"put a Cast to {wanted} before the operator"
    return f"cast it when feeding, {name}.astype('{wanted}'), or {in_net}" if name in fed else in_net


def _larger_picture(ops: Sequence[Op], fed: Mapping[str, Any], read: Mapping[str, Any]) -> str:
    known = {name: value.shape for name, value in (*fed.items(), *read.items()) if hasattr(value, "shape")}
    for name, value in fed.items():
        shape: tuple[int, ...] = getattr(value, "shape", ())
        if len(shape) == 4 and first_misfit(ops, name, shape, known) is not None:
            least = least_size(ops, name, shape[1], known)
            if least is not None:
                return f"the smallest {name} with which the net runs is {least}x{least}, not {shape[2]}x{shape[3]}"
    return ""


def _weight_shape(op: Op, read: Mapping[str, Any]) -> str:
    x, w = (getattr(read.get(name), "shape", None) for name in op.inputs[:2])
    bias = getattr(read.get(op.inputs[2]), "shape", None) if len(op.inputs) > 2 else None
    if x is None or w is None:
        return ""
    args = values(op.proto)
    columns = _product(x[whole(args, "axis", 1) :])
    axis = whole(args, "axis_w", 1)
    rows = bias[0] if bias else w[0]
    wanted = [rows, columns] if op.type == "FC" else [columns, rows]
    text = (
        f"{op.inputs[0]} is flattened to [{_product(x[: whole(args, 'axis', 1)])}, {columns}] and {op.inputs[1]} to "
        f"[{_product(w[:axis])}, {_product(w[axis:])}], where {wanted} is wanted"
    )
    if _product(w) != rows * columns:
        return text
    fitting = [i for i in range(1, len(w)) if [_product(w[:i]), _product(w[i:])] == wanted]
    return f"{text}: reshape {op.inputs[1]} to {wanted}" + (f", or say axis_w={fitting[0]}" if fitting else "")


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
