"""A workspace of arrays on NumPy or CuPy: run, compare, check gradients."""

from gradviz.execute import control, recurrent  # their kernels register themselves

__all__ = ["control", "recurrent"]
