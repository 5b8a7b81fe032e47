"""One operator, run alone: arrays in, arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.execute import backend as backends
from gradviz.execute.plan import bind, failure
from gradviz.execute.program import Link, Runtime
from gradviz.execute.scope import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ops.records import Op
    from gradviz.proto import OperatorDef


def run_op(
    op: OperatorDef | Op | Any, inputs: Sequence[Any], backend: str = "numpy", seed: int | None = None
) -> list[Any]:
    """Compute what one operator computes.

    Args:
        op: an OperatorDef; one of another protobuf module is taken too.
        inputs: one array for each input. Text is an object array of bytes; what is no tensor is an opaque object.
        backend: `numpy` or `cupy`.
        seed: of random operators; a seed in the operator's device option goes before it.

    Returns:
        One array for each output, on the host or the device as the backend has it. They share no memory with `inputs`.

    Raises:
        ExecutionError: the type is not known or has no kernel, its schema or inputs do not fit, or the backend is
            missing.
    """
    chosen = backends.get(backend)
    bound = bind(op)
    if len(inputs) != len(bound.op.inputs):
        raise failure(bound.op, f"it has {len(bound.op.inputs)} inputs but was given {len(inputs)} values")
    values = [chosen.to_device(value) for value in inputs]
    frame = Frame()
    frame.fill(zip(bound.op.inputs, values, strict=True))
    runtime = Runtime.on(chosen, seed)
    with np.errstate(all="ignore"):
        Link(bound, frame, runtime).run(runtime)
    made = [frame.get(name) for name in bound.op.outputs]
    return [_own(chosen, value, values) for value in made]


def _own(chosen: backends.Backend, value: Any, inputs: Sequence[Any]) -> Any:
    """A kernel may hand on an input or a view of it; the caller's arrays must not change with the answer."""
    if not chosen.is_array(value):
        return value
    for each in inputs:
        if value is each or (chosen.is_array(each) and type(each) is type(value) and _overlap(chosen, value, each)):
            return value.copy()
    return value


def _overlap(chosen: backends.Backend, a: Any, b: Any) -> bool:
    space: Any = np if isinstance(a, np.ndarray) else chosen.xp
    return bool(space.may_share_memory(a, b))
