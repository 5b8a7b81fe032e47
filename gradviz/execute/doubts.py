"""Why a gradient may differ from the derivative on purpose, or by the framework's ways, and not by a mistake here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import values
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.execute.run import Plan
    from gradviz.ops.records import Op

_ON_PURPOSE = {
    "StopGradient": "lets no gradient through, on purpose",
    "ZeroGradient": "makes the gradient zero, on purpose",
    "NegateGradient": "turns the gradient's sign, on purpose",
}
_ROUNDING = {"Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin", "GT", "LT", "GE", "LE", "EQ", "NE"}


def doubts_about(plan: Plan, blob: str) -> list[str]:
    """What speaks for a difference between a blob's gradient and its derivative, one clause each.

    Args:
        plan: the net and its gradient operators.
        blob: whose gradient it is.
    """
    return list(dict.fromkeys([*_of_gradient_ops(plan, blob), *_of_forward_ops(plan, blob), *_of_ys(plan)]))


def _of_forward_ops(plan: Plan, blob: str) -> Iterator[str]:
    for index, op in _readers_below(plan, blob):
        if op.type in _ON_PURPOSE:
            yield f"op {index} {op.type} {_ON_PURPOSE[op.type]}"
        elif op.type == "SpatialBN" and values(op.proto).get("is_test"):
            yield f"op {index} SpatialBN runs in test mode, where the framework's gradient is not the derivative"
        elif op.type == "CrossEntropy" and len(op.inputs) > 1 and op.inputs[1] == blob:
            yield f"op {index} CrossEntropy gives its labels no gradient"
        elif op.type in {"While", "Do", "RecurrentNetwork"}:
            yield f"op {index} {op.type} runs nets inside, whose gradient does not add up what every round only reads"
        elif op.type in _ROUNDING:
            yield f"op {index} {op.type} is flat almost everywhere, and has no gradient"
        elif op.type == "Python":
            yield f"op {index} Python has a gradient of its own making"


def _readers_below(plan: Plan, blob: str) -> Iterator[tuple[int, Op]]:
    """The forward operators that depend on a blob."""
    touched = {blob}
    for index, op in enumerate(plan.ops[: plan.forward]):
        if touched.intersection(op.inputs):
            yield index, op
            touched.update(op.outputs)


def _of_gradient_ops(plan: Plan, blob: str) -> Iterator[str]:
    """A gradient's blob that operators overwrite in place while others share it."""
    chain = _gradients_above(plan, blob)
    owners: dict[str, list[str]] = {}
    for name, gradient in plan.input_to_grad.items():
        owners.setdefault(gradient.values if isinstance(gradient, GradientSlice) else gradient, []).append(name)
    for index, op in enumerate(plan.ops[plan.forward :], start=plan.forward):
        for name in set(op.outputs).intersection(op.inputs, chain):
            if len(owners.get(name, ())) > 1:
                shared = " and ".join(owners[name])
                yield f"op {index} {op.type} overwrites {name} in place, which is the gradient of {shared}"
        if op.type == "While":
            yield f"op {index} While overwrites the gradients that come into it"


def _gradients_above(plan: Plan, blob: str) -> set[str]:
    """The gradient blobs that a blob's gradient was computed from, itself included."""
    gradient = plan.input_to_grad.get(blob)
    if gradient is None:
        return set()
    wanted = {*gradient} if isinstance(gradient, GradientSlice) else {gradient}
    for op in reversed(plan.ops[plan.forward :]):
        if wanted.intersection(op.outputs):
            wanted.update(op.inputs)
    return wanted


def _of_ys(plan: Plan) -> Iterator[str]:
    """A given gradient is lost where one comes from above as well."""
    assert plan.trace is not None
    made = {name for op in plan.ops[plan.forward :] for name in op.outputs}
    for y, given in plan.trace.ys.items():
        name = plan.input_to_grad.get(y)
        if given is not None and name is not None and name != given and made.intersection(_names(name)):
            yield f"the gradient given for {y} is lost: the one that comes from above takes its place"


def _names(gradient: str | GradientSlice) -> tuple[str, ...]:
    return tuple(gradient) if isinstance(gradient, GradientSlice) else (gradient,)
