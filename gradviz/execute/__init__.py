"""A workspace of arrays on NumPy or CuPy: run, compare, check gradients."""

from gradviz.execute import control, recurrent  # noqa: F401  (their kernels register themselves)
from gradviz.execute.operator import run_op
from gradviz.execute.run import Plan, run
from gradviz.execute.workspace import Workspace

__all__ = ["Plan", "Workspace", "run", "run_op"]
