"""`gradient_of(op, g_output)`: the gradient rule of one operator, asked alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops.foreign import as_answer, as_gradient, as_operator
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.autodiff.walk import Answer
    from gradviz.ops.records import Gradient
    from gradviz.proto import OperatorDef


def ask_registry(op: Op, g_output: Sequence[Gradient]) -> Answer:
    """Ask the registry; rules of control operators get the walk that they need for their nested nets."""
    return make_gradient(op, g_output)


def gradient_of(op: Any, g_output: Sequence[Any]) -> tuple[list[OperatorDef], list[Gradient]]:
    """The gradient operators of one operator and the gradients of its inputs.

    Args:
        op: an OperatorDef, of gradviz or of another generated module.
        g_output: for each output None, a name, or a `GradientSlice`.

    Returns:
        The gradient operators in order, and for each input None, a name, or a `GradientSlice`.

    Raises:
        GradientError: the registry refuses; `kind` says how.
    """
    made, g_input = as_answer(ask_registry(Op(as_operator(op)), [as_gradient(each) for each in g_output]))
    return [each.to_proto() for each in made], list(g_input)
