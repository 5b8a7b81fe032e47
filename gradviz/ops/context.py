"""What a kernel may ask for beside its arrays and arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz.errors import ExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from gradviz.proto import NetDef, OperatorDef


@dataclass(slots=True)
class Context:
    """The surroundings of one call of a kernel.

    Attributes:
        op: the definition that is run.
        outputs: how many outputs it has; a kernel may leave out work for those that are not asked for.
        random: a random generator with NumPy's `Generator` interface, of the backend in use.
        state: a place that lasts as long as the workspace, for kernels that carry something along.
        run_net: runs a nested net over named arrays and returns them with its results; None where no executor is there.
        backend: `numpy` or `cupy`.
        wanted: the outputs that somebody reads or keeps; None where all are wanted.
    """

    op: OperatorDef
    outputs: int
    random: Any = None
    state: MutableMapping[str, Any] = field(default_factory=dict)
    run_net: Callable[[NetDef, dict[str, Any]], dict[str, Any]] | None = None
    backend: str = "numpy"
    wanted: frozenset[int] | None = None

    def wants(self, output: int) -> bool:
        """Whether output `output` is there and wanted; a kernel may return None in place of one that is not."""
        return output < self.outputs and (self.wanted is None or output in self.wanted)

    def fail(self, reason: str) -> ExecutionError:
        """An error that names the operator; raise what this returns."""
        return ExecutionError(f"{self.op.type} ({', '.join(self.op.output)}): {reason}")
