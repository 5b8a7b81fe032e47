"""What an operator's schema demands: how many blobs, which may coincide, which arguments must be there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.ops.records import Op

MANY = 2**31 - 1
"""No upper limit on a count."""

Pairs = frozenset[tuple[int, int]]
PairRule: TypeAlias = "Pairs | Callable[[int, int], bool]"
"""Pairs that are allowed or enforced: listed, or as a rule where counts are open."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Facts of one operator type, as Caffe2 1.8.1's schema states them.

    Attributes:
        inputs: least and largest number of inputs.
        outputs: least and largest number of outputs.
        arities: where not every combination of those counts is allowed: the allowed (inputs, outputs), or a rule.
        inplace: (input, output) pairs that may be one blob, or a rule; `any` (every pair) or `one_to_one` (equal
            indices).
        enforced: (input, output) pairs that must be one blob, or a rule.
        args: argument names that the schema knows.
        required: argument names that must be there.
        checked: False where the type has no schema, so that nothing is checked.
    """

    inputs: tuple[int, int] = (0, MANY)
    outputs: tuple[int, int] = (0, MANY)
    arities: PairRule | None = None
    inplace: PairRule | str = frozenset()
    enforced: PairRule = frozenset()
    args: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    checked: bool = field(default=True)

    def violation(self, op: Op) -> str | None:
        """Say in one clause what `op` has that the schema forbids, or None where it fits."""
        if not self.checked:
            return None
        if len(op.outputs) == 1 and op.outputs[0] not in op.inputs and not self.enforced:
            return self._wrong_counts(op) or self._missing_argument(op)  # the common case, without a set
        return self._wrong_counts(op) or self._wrong_inplace(op) or self._missing_argument(op)

    def _wrong_counts(self, op: Op) -> str | None:
        n_in, n_out = len(op.inputs), len(op.outputs)
        if not self.inputs[0] <= n_in <= self.inputs[1]:
            return f"it has {n_in} inputs where {_span(self.inputs)} are allowed"
        if not self.outputs[0] <= n_out <= self.outputs[1]:
            return f"it has {n_out} outputs where {_span(self.outputs)} are allowed"
        if self.arities is not None and not _holds(self.arities, n_in, n_out):
            return f"it has {n_in} inputs with {n_out} outputs, a combination that is not allowed"
        return None

    def _wrong_inplace(self, op: Op) -> str | None:
        if not self.enforced and set(op.inputs).isdisjoint(op.outputs):
            return None
        for i, source in enumerate(op.inputs):
            for j, target in enumerate(op.outputs):
                if source == target and not self.may_be_inplace(i, j):
                    return f"output {j} overwrites input {i} ({source}) in place, which is not allowed"
                if source != target and _holds(self.enforced, i, j):
                    return f"output {j} must be the same blob as input {i} ({source})"
        return None

    def may_be_inplace(self, i: int, j: int) -> bool:
        """Whether output `j` may be the same blob as input `i`."""
        if isinstance(self.inplace, str):
            return self.inplace == "any" or i == j or _holds(self.enforced, i, j)
        return _holds(self.inplace, i, j) or _holds(self.enforced, i, j)

    def _missing_argument(self, op: Op) -> str | None:
        if not self.required:
            return None
        given = {arg.name for arg in op.proto.arg}
        missing = [name for name in self.required if name not in given]
        return f"it lacks the argument {missing[0]}, which is required" if missing else None


def same(i: int, j: int) -> bool:
    """Rule of pairs: equal indices, or equal counts."""
    return i == j


def one_ahead(i: int, j: int) -> bool:
    """Rule of pairs: the inputs have one blob in front that the outputs lack."""
    return i == j + 1


def _holds(rule: PairRule, i: int, j: int) -> bool:
    return rule(i, j) if callable(rule) else (i, j) in rule


def _span(limits: tuple[int, int]) -> str:
    low, high = limits
    if low == high:
        return f"exactly {low}"
    return f"at least {low}" if high == MANY else f"{low} to {high}"
