"""Copies between devices and names, and what stops or turns a gradient."""

from gradviz.ops.registry import NONE, TODO, operator

operator("Copy", inputs=1, outputs=1, gradient=TODO)
operator("CopyCPUToGPU", inputs=1, outputs=1, gradient=TODO)
operator("CopyGPUToCPU", inputs=1, outputs=1, gradient=TODO)
operator("CopyCPUToIDEEP", inputs=1, outputs=1)
operator("CopyIDEEPToCPU", inputs=1, outputs=1)
operator("CopyFromCPUInput", inputs=1, outputs=1)
operator("CopyOnDeviceLike", inputs=2, outputs=1)
operator("Alias", inputs=1, outputs=1, gradient=TODO)
operator("AliasWithName", inputs=1, outputs=1, inplace=[(0, 0)], args="name is_backward")
operator("EnsureCPUOutput", inputs=1, outputs=1, gradient=NONE)
operator("EnsureDense", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("NegateGradient", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("StopGradient", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NONE)
operator("ZeroGradient", inputs=1, outputs=0, gradient=TODO)
