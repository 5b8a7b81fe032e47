"""What an operator definition has that its schema forbids: every fault at once, in a form that can be mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.ops.records import Op
    from gradviz.ops.schema import PairRule, Schema


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a definition.

    Attributes:
        kind: `argument` (a required one is missing), `in_place` (not allowed), `bound` (must be in place and is not),
            `few_inputs`, `many_inputs`, `few_outputs`, `many_outputs` or `combination` (of counts).
        text: what is wrong, one clause.
        name: the argument that is missing.
        i: the input concerned.
        j: the output concerned.
        count: how many inputs or outputs there should be.
    """

    kind: str
    text: str
    name: str = ""
    i: int = 0
    j: int = 0
    count: int = 0


def faults(op: Op) -> list[Fault]:
    """All faults of a definition; empty for types that are unknown or have no schema."""
    known = lookup(op.type)
    if known is None or not known.schema.checked:
        return []
    schema = known.schema
    return [*_counts(op, schema), *_in_place(op, schema), *_arguments(op, schema)]


def _counts(op: Op, schema: Schema) -> Iterator[Fault]:
    for what, count, (low, high) in (
        ("input", len(op.inputs), schema.inputs),
        ("output", len(op.outputs), schema.outputs),
    ):
        if count < low:
            yield Fault(f"few_{what}s", f"it has {_of(count, what)} where at least {low} are needed", count=low)
        elif count > high:
            yield Fault(f"many_{what}s", f"it has {_of(count, what)} where at most {high} are allowed", count=high)
    n_in, n_out = len(op.inputs), len(op.outputs)
    if schema.arities is not None and not _holds(schema.arities, n_in, n_out):
        outputs = _allowed_outputs(schema, n_in)
        text = f"it has {_of(n_in, 'input')} with {_of(n_out, 'output')}, a combination that is not allowed"
        nearest = min(outputs, key=lambda count: abs(count - n_out), default=0)
        yield Fault("combination", text, count=nearest)


def _allowed_outputs(schema: Schema, n_in: int) -> list[int]:
    low, high = schema.outputs
    counts = range(low, min(high, low + 16) + 1)
    return [count for count in counts if schema.arities is not None and _holds(schema.arities, n_in, count)]


def _in_place(op: Op, schema: Schema) -> Iterator[Fault]:
    for i, source in enumerate(op.inputs):
        for j, target in enumerate(op.outputs):
            if source == target and not schema.may_be_inplace(i, j):
                yield Fault("in_place", f"it may not run in place, but output {j} is input {i} ({source})", i=i, j=j)
            elif source != target and _holds(schema.enforced, i, j):
                yield Fault("bound", f"output {j} ({target}) must be input {i} ({source})", i=i, j=j)


def _arguments(op: Op, schema: Schema) -> Iterator[Fault]:
    given = {argument.name for argument in op.proto.arg} if schema.required else set()
    for name in schema.required:
        if name not in given:
            yield Fault("argument", f"it lacks the argument {name}, which is required", name=name)


def _holds(rule: PairRule, i: int, j: int) -> bool:
    return rule(i, j) if callable(rule) else (i, j) in rule


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
