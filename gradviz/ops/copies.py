"""Copies between devices and names, and what stops or turns a gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops.arguments import arg
from gradviz.ops.registry import NONE, kernel, operator
from gradviz.ops.rules import GI, GO, I, each_part, emit, pass_through

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _ensure_dense_gradient(m: Maker) -> list[GradientOp]:
    if m.is_sparse(0):
        return [m.make("SparseToDense", [m.GO_I(0), m.GO_V(0), m.I(0)], [m.GI(0)])]
    if not m.has_GO(0):
        m.refuse(f"its output {m.O(0)} has no gradient, dense or sparse")
    m.g_input[0] = m.GO(0)
    return []


operator("Copy", inputs=1, outputs=1, gradient=emit("CopyOnDeviceLike", [GO(0), I(0)], [GI(0)]))
operator("CopyCPUToGPU", inputs=1, outputs=1, gradient=each_part("CopyGPUToCPU"))
operator("CopyGPUToCPU", inputs=1, outputs=1, gradient=each_part("CopyCPUToGPU"))
operator("CopyCPUToIDEEP", inputs=1, outputs=1)
operator("CopyIDEEPToCPU", inputs=1, outputs=1)
operator("CopyFromCPUInput", inputs=1, outputs=1)
operator("CopyOnDeviceLike", inputs=2, outputs=1)
operator("Alias", inputs=1, outputs=1, gradient=pass_through())
operator("AliasWithName", inputs=1, outputs=1, inplace=[(0, 0)], args="name is_backward")
operator("EnsureCPUOutput", inputs=1, outputs=1, gradient=NONE)
operator("EnsureDense", inputs=1, outputs=1, inplace=[(0, 0)], gradient=_ensure_dense_gradient)
operator("NegateGradient", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Negative", [GO(0)], [GI(0)]))
operator("StopGradient", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NONE)
operator("ZeroGradient", inputs=1, outputs=0, gradient=emit("ConstantFill", [I(0)], [GI(0)], arg("value", 0.0)))


@kernel(
    "Copy",
    "CopyCPUToGPU",
    "CopyGPUToCPU",
    "CopyCPUToIDEEP",
    "CopyIDEEPToCPU",
    "CopyFromCPUInput",
    "Alias",
    "EnsureCPUOutput",
    "NegateGradient",
    "StopGradient",
)
def copy(xp: Any, x: Array) -> Array:
    """The same elements: one backend holds all arrays of a run, whatever device the net says."""
    return x


@kernel("CopyOnDeviceLike")
def copy_on_device_like(xp: Any, x: Array, like: Array) -> Array:
    return x


@kernel("AliasWithName")
def alias_with_name(xp: Any, x: Array, *, name: str = "") -> Array:
    return x


@kernel("EnsureDense")
def ensure_dense(xp: Any, x: Array) -> Array:
    require(x.ndim > 0, "the input has to be at least a vector")
    return x


@kernel("ZeroGradient")
def zero_gradient(xp: Any, x: Array) -> tuple[()]:
    """It has no output: it only stops a gradient from being missing."""
    return ()
