"""The registry of operators: what a family file says, and how it is asked.

A family file states an operator by `operator(...)` and its kernels by `@kernel(...)`. `lookup` finds a type, loading
the families at first use; `make_gradient` asks for a gradient exactly as Caffe2 does, refusals and their order
included.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from gradviz.errors import GradientError, GradvizError
from gradviz.ops.records import GradientOp, GradientSlice, Op
from gradviz.ops.rules import Maker, Rule
from gradviz.ops.schema import MANY, PairRule, Schema

if TYPE_CHECKING:
    from gradviz.ops.control import Nest
    from gradviz.ops.records import Gradient

Kernel = Callable[..., Any]
PythonRule = Callable[..., "tuple[list[GradientOp], Sequence[Gradient]]"]


class NoRule(Enum):
    """Why a type has no gradient rule. Each is said on purpose where the operator is stated."""

    NONE = "none"
    """Differentiable in name only: the answer is no operators and no gradients."""
    SHOULD_NOT = "should_not"
    """Asking is an error: the operator must not be differentiated."""
    NOT_IMPLEMENTED = "not_implemented"
    """Asking is an error: a gradient ought to exist, but upstream has none."""
    UNREGISTERED = "unregistered"
    """Asking is an error: the gradient registry does not know the type."""


NONE = NoRule.NONE
SHOULD_NOT = NoRule.SHOULD_NOT
NOT_IMPLEMENTED = NoRule.NOT_IMPLEMENTED
UNREGISTERED = NoRule.UNREGISTERED


@dataclass(slots=True)
class Operator:
    """What gradviz knows of one operator type.

    Attributes:
        type: its name.
        family: the file that states it.
        schema: what a definition must fulfil.
        gradient: the rule (Caffe2's C++ kind), or why there is none.
        python_rule: a rule of Caffe2's Python kind, tried only after the registry has refused the type.
        kernel: computes it; see `kernel`.
        runs: False where upstream has only a schema or a gradient under this name, no operator.
        why_no_kernel: why there is no kernel, where that is meant to stay so.
    """

    type: str
    family: str
    schema: Schema
    gradient: Rule | NoRule
    python_rule: PythonRule | None = None
    kernel: Kernel | None = None
    runs: bool = True
    why_no_kernel: str = ""


_operators: dict[str, Operator] = {}
_early_kernels: dict[str, Kernel] = {}
_current_family = "custom"
_loaded = False


def operator(
    type: str,
    *,
    inputs: int | tuple[int, int] = (0, MANY),
    outputs: int | tuple[int, int] = (0, MANY),
    gradient: Rule | NoRule = UNREGISTERED,
    python_rule: PythonRule | None = None,
    arities: Iterable[tuple[int, int]] | Callable[[int, int], bool] | None = None,
    inplace: Iterable[tuple[int, int]] | Callable[[int, int], bool] | str = (),
    enforced: Iterable[tuple[int, int]] | Callable[[int, int], bool] = (),
    args: str = "",
    required: str = "",
    checked: bool = True,
    runs: bool = True,
) -> Operator:
    """State an operator type.

    Args:
        type: its name; a type stated twice is an error.
        inputs: number of inputs, or least and largest (`MANY` for no limit).
        outputs: number of outputs, likewise.
        gradient: a rule, or `NONE`, `SHOULD_NOT`, `NOT_IMPLEMENTED`, `UNREGISTERED`.
        python_rule: a rule of the Python kind, asked when the registry has refused the type; it takes the operator, the
            gradients of its outputs, and what the walk offers for nested nets (`control.Nest`).
        arities: the allowed (inputs, outputs), where not every combination is; or a rule, where counts are open.
        inplace: (input, output) pairs that may be one blob, or a rule, or `any`, or `one_to_one`.
        enforced: (input, output) pairs that must be one blob; or a rule, where counts are open.
        args: argument names that the schema knows, separated by spaces.
        required: argument names that must be there, separated by spaces.
        checked: False for a type without a schema.
        runs: False where upstream has no operator of this name.
    """
    if type in _operators:
        raise GradvizError(f"operator {type} is stated twice: in {_operators[type].family} and in {_current_family}")
    schema = Schema(
        inputs=_span(inputs),
        outputs=_span(outputs),
        arities=None if arities is None else _pairs(arities),
        inplace=inplace if isinstance(inplace, str) else _pairs(inplace),
        enforced=_pairs(enforced),
        args=tuple(args.split()),
        required=tuple(required.split()),
        checked=checked,
    )
    stated = Operator(type, _current_family, schema, gradient, python_rule, _early_kernels.pop(type, None), runs)
    _operators[type] = stated
    return stated


def _pairs(given: Iterable[tuple[int, int]] | Callable[[int, int], bool]) -> PairRule:
    return given if callable(given) else frozenset(given)


def _span(count: int | tuple[int, int]) -> tuple[int, int]:
    return (count, count) if isinstance(count, int) else count


def kernel(*types: str) -> Callable[[Kernel], Kernel]:
    """Register a function as the kernel of one or several types.

    The function takes the array namespace, then the input arrays by position; its keyword-only parameters are the
    operator's arguments by name, with the defaults that the operator has, and, where it asks for it, `ctx`: a
    `gradviz.ops.context.Context` with the definition, the number of outputs, random numbers and nested nets. It returns
    one array, or a tuple with one entry for each output.
    """

    def register(function: Kernel) -> Kernel:
        for type in types:
            if type in _operators:
                _operators[type].kernel = function
            else:
                _early_kernels[type] = function
        return function

    return register


def no_kernel(reason: str, *types: str) -> None:
    """Say on purpose why some types have no kernel."""
    for type in types:
        _operators[type].why_no_kernel = reason


@contextmanager
def family(name: str) -> Iterator[None]:
    """Operators stated inside belong to the family `name`."""
    global _current_family
    before, _current_family = _current_family, name
    try:
        yield
    finally:
        _current_family = before


def load_families() -> None:
    """Import every family file, then what other packages offer under the entry point group `gradviz.operators`."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    from importlib.metadata import entry_points

    from gradviz.ops import FAMILIES

    for name in FAMILIES:
        with family(name):
            importlib.import_module(f"gradviz.ops.{name}")
    for point in entry_points(group="gradviz.operators"):
        with family(point.name):
            offered = point.load()
            if callable(offered):
                offered()


def lookup(type: str) -> Operator | None:
    """What is known of `type`, or None."""
    if not _loaded:
        load_families()
    return _operators.get(type)


def operators() -> dict[str, Operator]:
    """Every known type by name."""
    load_families()
    return dict(_operators)


def register(
    type: str,
    *,
    gradient: Rule | NoRule = UNREGISTERED,
    python_gradient: Callable[..., Any] | None = None,
    kernel: Kernel | None = None,
    replace: bool = False,
    **schema: Any,
) -> Operator:
    """Register an operator type from outside the package (`gradviz.register`).

    Args:
        type: its name.
        gradient: a rule in the language of `gradviz.ops.rules`, or why there is none.
        python_gradient: in place of a rule, a function of an OperatorDef and the gradients of its outputs (None, a
            name, or a `GradientSlice`) that returns OperatorDefs and the gradients of the inputs.
        kernel: computes it; see `kernel` in this module.
        replace: take the place of a type that is known already.
        **schema: as `operator` takes it; with none of it, definitions are not checked.

    Raises:
        GradvizError: the type is known, and `replace` is not set.
    """
    load_families()
    if replace:
        unregister(type)
    with family("custom"):
        made = operator(
            type,
            gradient=gradient,
            python_rule=None if python_gradient is None else _from_outside(python_gradient),
            **(schema or {"checked": False}),
        )
    if kernel is not None:
        made.kernel = kernel
    return made


def _from_outside(rule: Callable[..., Any]) -> PythonRule:
    from gradviz.ops.foreign import as_answer

    return lambda op, g_output, nest: as_answer(rule(op.proto, list(g_output)))


def unregister(type: str) -> None:
    """Forget a type that was registered from outside (tests, notebooks)."""
    _operators.pop(type, None)


def make_gradient(
    op: Op, g_output: Sequence[Gradient], nest: Nest | None = None
) -> tuple[list[GradientOp], Sequence[Gradient]]:
    """The gradient operators of `op` and the gradients of its inputs.

    Args:
        op: the forward operator.
        g_output: for each output None, a name, or a slice.
        nest: what the walk offers for nested nets.

    Raises:
        GradientError: kinds `no_gradient_maker`, `should_not_do_gradient`, `gradient_not_implemented_yet`, `schema`,
            `expected_dense`, `make_gradient_other`, or `<Type>@make_gradient` from rules of the Python kind.
    """
    known = lookup(op.type)
    if known is not None and known.python_rule is not None:
        if known.gradient is UNREGISTERED:
            return known.python_rule(op, g_output, nest)
        try:
            return _ask_registry(known, op, g_output)
        except GradientError:
            return known.python_rule(op, g_output, nest)
    return _ask_registry(known, op, g_output)


def _ask_registry(
    known: Operator | None, op: Op, g_output: Sequence[Gradient]
) -> tuple[list[GradientOp], Sequence[Gradient]]:
    maker = Maker(op, _as_registry_sees(op, g_output))
    rule = UNREGISTERED if known is None else known.gradient
    if isinstance(rule, NoRule) and rule is not NONE:
        raise _no_rule(rule, op, is_known=known is not None)
    assert known is not None
    broken = known.schema.violation(op)
    if broken is not None:
        raise _refused(op, "schema", f"{op.type} does not fit its schema: {broken}", reason=broken)
    if rule is NONE:
        return [], maker.g_input
    made = rule(maker)  # type: ignore[operator]
    return made, maker.g_input


def _as_registry_sees(op: Op, g_output: Sequence[Gradient]) -> Sequence[Gradient]:
    """Upstream hands gradients over through a wrapper that takes a text of two characters apart, and no empty one."""
    for gradient in g_output:
        if type(gradient) is str and len(gradient) <= 2:
            return [_wrapped(op, each) for each in g_output]
    return g_output


def _wrapped(op: Op, gradient: Gradient) -> Gradient:
    if gradient == "":
        raise _refused(op, "make_gradient_other", f"{op.type} was handed a gradient with an empty name")
    if type(gradient) is str and len(gradient) == 2:
        return GradientSlice(gradient[0], gradient[1])
    return gradient


def _no_rule(rule: NoRule, op: Op, is_known: bool) -> GradientError:
    if rule is SHOULD_NOT:
        return _refused(op, "should_not_do_gradient", f"{op.type} must not be differentiated: it says so itself")
    if rule is NOT_IMPLEMENTED:
        return _refused(
            op, "gradient_not_implemented_yet", f"{op.type} ought to have a gradient, but none is implemented upstream"
        )
    if is_known:
        return _refused(op, "no_gradient_maker", f"{op.type} has no gradient: none is registered for it")
    near = nearest_types(op.type)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return _refused(
        op, "no_gradient_maker", f"{op.type} is an operator type that gradviz does not know{hint}", near=near
    )


def _refused(op: Op, kind: str, message: str, **facts: object) -> GradientError:
    return GradientError(message, kind=kind, facts={"op_type": op.type, **facts})


def nearest_types(type: str) -> list[str]:
    """Known types that are spelt much like `type`, best first; at most three."""
    from difflib import get_close_matches

    load_families()
    found = get_close_matches(type, _operators, n=3, cutoff=0.75)
    class_name = type.removesuffix("Op")
    if class_name != type and class_name in _operators and class_name not in found:
        found.insert(0, class_name)
    return found[:3]
