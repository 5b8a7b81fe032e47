"""Python functions inside nets. They are named here and never executed."""

from gradviz.ops.registry import TODO, operator

operator("Python", inplace="any", gradient=TODO)
operator("PythonGradient", inplace="any")
operator("PythonDLPack", inplace="any", gradient=TODO)
operator("PythonDLPackGradient", inplace="any")
operator("ATen")
