"""Python functions inside nets. They are named here and never executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import no_kernel, operator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _python_gradient(m: Maker) -> list[GradientOp]:
    """Everything is read, all or the chosen output gradients, and all or the chosen input gradients are made."""
    asked = m.args.integers("grad_output_indices") or range(len(m.op.outputs))
    given = m.args.integers("grad_input_indices") or range(len(m.op.inputs))
    _within(m, "grad_output_indices", asked, len(m.op.outputs))
    _within(m, "grad_input_indices", given, len(m.op.inputs))
    reads = [*m.op.inputs, *m.op.outputs, *(m.GO(i) for i in asked)]
    return [m.make(m.op.type + "Gradient", reads, [m.GI(i) for i in given])]


def _within(m: Maker, name: str, indices: Iterable[int], count: int) -> None:
    for i in indices:
        if not 0 <= i < count:
            m.refuse(f"{name} names number {i} of {count}", argument=name)


operator("Python", inplace="any", gradient=_python_gradient)
operator("PythonGradient", inplace="any")
operator("PythonDLPack", inplace="any", gradient=_python_gradient)
operator("PythonDLPackGradient", inplace="any")
operator("ATen")

no_kernel(
    "Python functions of a net are named by a token and never executed here",
    "Python",
    "PythonGradient",
    "PythonDLPack",
    "PythonDLPackGradient",
)
no_kernel("it stands for any operator of PyTorch's tensor library", "ATen")
