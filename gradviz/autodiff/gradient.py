"""`gradient_of(op, g_output)`: the gradient rule of one operator, asked alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.diagnosis import rule_raised, upstream_type
from gradviz.autodiff.nested import Nest
from gradviz.errors import GradientError
from gradviz.ops.foreign import as_answer, as_gradient, as_operator
from gradviz.ops.records import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.ops.records import Gradient
    from gradviz.proto import OperatorDef


def gradient_of(op: Any, g_output: Sequence[Any]) -> tuple[list[OperatorDef], list[Gradient]]:
    """The gradient operators of one operator and the gradients of its inputs.

    Args:
        op: an OperatorDef, of gradviz or of another generated module.
        g_output: for each output None, a name, or a `GradientSlice`.

    Returns:
        The gradient operators in order, and for each input None, a name, or a `GradientSlice`.

    Raises:
        TypeError: `op` is no OperatorDef.
        GradientError: the registry refuses; `kind` says how.
    """
    asked = Op(as_operator(op))
    try:
        made, g_input = as_answer(Nest().ask(asked, [as_gradient(each) for each in g_output]))
        return [each.to_proto() for each in made], list(g_input)
    except GradientError as error:
        if "nested" in error.facts:
            error.kind = f"{upstream_type(error.kind)}@make_gradient"
        raise
    except Exception as error:
        raise rule_raised(asked, error) from error
