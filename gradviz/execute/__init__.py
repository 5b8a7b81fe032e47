"""A workspace of arrays on NumPy or CuPy: run, compare, check gradients."""

from gradviz.execute import control, recurrent  # noqa: F401  (their kernels register themselves)
from gradviz.execute.compare import compare
from gradviz.execute.gradcheck import check_gradients
from gradviz.execute.operator import run_op
from gradviz.execute.run import Plan, run
from gradviz.execute.workspace import Workspace

__all__ = ["Plan", "Workspace", "check_gradients", "compare", "run", "run_op"]
