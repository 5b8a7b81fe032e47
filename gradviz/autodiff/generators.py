"""Generators: who makes the gradient of one version of a blob.

A blob that is read by several operators has several generators; accumulation adds up what they make. A dense generator
is one output of one gradient operator; a sparse one has two halves, indices and values, which may come from different
operators or from none (a gradient that passes straight through).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.proto import DeviceOption

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp, GradientSlice, Op


class Generator:
    """One maker of a gradient. Operators are indices into the list of gradient operators.

    Attributes:
        kind: `dense` or `sparse`.
        gradient: the name or slice that the gradient rule gave; it does not follow renames.
        op: dense: the gradient operator, None where the gradient passes through.
        idx: dense: which of its outputs.
        op_indices: sparse: the operator that makes the indices, None where they pass through.
        idx_indices: sparse: which of its outputs.
        op_values: sparse: the operator that makes the values, None where they pass through.
        idx_values: sparse: which of its outputs.
    """

    __slots__ = ("source",)

    kind: str
    gradient: Any
    op: int | None = None
    idx: int | None = None
    op_indices: int | None = None
    idx_indices: int | None = None
    op_values: int | None = None
    idx_values: int | None = None

    source: GradientOp | Op

    @property
    def device_option(self) -> DeviceOption:
        """The device of the gradient operator; of the forward operator where the gradient passes through."""
        return self.source.device or DeviceOption()

    @property
    def has_op(self) -> bool:
        """Whether any operator makes it, in whole or in part."""
        return self.op is not None or self.op_indices is not None or self.op_values is not None

    def key(self) -> tuple[Any, ...]:
        """What makes two generators equal."""
        device = self.device_option.SerializeToString(deterministic=True)
        return (
            self.kind,
            self.gradient,
            self.op,
            self.idx,
            self.op_indices,
            self.idx_indices,
            self.op_values,
            self.idx_values,
            device,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generator) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((self.kind, self.gradient, self.op, self.op_indices, self.op_values))


class DenseGenerator(Generator):
    """A dense gradient: one output of one gradient operator, or a gradient that passes through."""

    __slots__ = ("gradient", "idx", "op")

    kind = "dense"

    def __init__(self, gradient: str, op: int | None, idx: int, source: GradientOp | Op) -> None:
        self.gradient: str = gradient
        self.op: int | None = op
        self.idx: int | None = idx
        self.source = source

    def __repr__(self) -> str:
        return f"dense {self.gradient} " + ("passed through" if self.op is None else f"from op {self.op}:{self.idx}")


class SparseGenerator(Generator):
    """A sparse gradient, or one half of it while the other is not merged yet."""

    __slots__ = ("gradient", "idx_indices", "idx_values", "op_indices", "op_values")

    kind = "sparse"

    def __init__(
        self,
        gradient: GradientSlice,
        indices: tuple[int | None, int],
        values: tuple[int | None, int],
        source: GradientOp | Op,
    ) -> None:
        self.gradient: GradientSlice = gradient
        self.op_indices: int | None
        self.idx_indices: int | None
        self.op_values: int | None
        self.idx_values: int | None
        self.op_indices, self.idx_indices = indices
        self.op_values, self.idx_values = values
        self.source = source

    def __repr__(self) -> str:
        def half(name: str, op: int | None, idx: int | None) -> str:
            return f"{name} " + ("passed through" if op is None else f"from op {op}:{idx}")

        indices = half(self.gradient.indices, self.op_indices, self.idx_indices)
        return f"sparse {indices}, {half(self.gradient.values, self.op_values, self.idx_values)}"
