"""The errors that gradviz raises on purpose. Each message is one line: what, why, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class GradvizError(Exception):
    """Base of every error that gradviz raises about its input."""


class LoadError(GradvizError):
    """A file is not a net that gradviz can open."""


class ExecutionError(GradvizError):
    """A net or an operator cannot be run, or failed while it ran."""


class GradientError(GradvizError):
    """The construction of gradients stopped.

    Attributes:
        kind: what went wrong, one of the names in `docs/errors.md`, such as `output_overwritten`.
        phase: where: `sanity_check`, `init`, `check_inputs`, `make_gradient`, `build_generators`, `merge_sparse`,
            `verify` or `sum_conflict`.
        op_index: index of the forward operator being visited; None where no operator is concerned.
        facts: the evidence: blob names, versions, operator types; which keys depends on the kind.
        remedies: what usually mends it; filled by the walk, empty where an operator was asked alone.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        phase: str = "make_gradient",
        op_index: int | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.phase = phase
        self.op_index = op_index
        self.facts = facts or {}
        self.remedies: Sequence[Any] = ()
