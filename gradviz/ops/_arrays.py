"""Array functions that several families need and array namespaces lack."""

from __future__ import annotations

from math import prod
from typing import Any

from gradviz.ops._checks import axis_of

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: absolute error below 1.5e-7.
_ERF_P = 0.3275911
_ERF_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
# The Maclaurin series of erf(x) / x; seven terms are exact to 1e-9 below one half.
_ERF_SERIES = tuple(
    2 / 3.141592653589793**0.5 * sign / (fact * odd)
    for sign, fact, odd in zip((1, -1) * 4, (1, 1, 2, 6, 24, 120, 720, 5040), range(1, 17, 2), strict=True)
)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule; `coefficients` from the constant upwards."""
    value: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def erf(xp: Any, x: Any) -> Any:
    """The error function, exact to about 1e-7; same shape and dtype as `x`."""
    size = xp.abs(x)
    t = 1 / (1 + _ERF_P * size)
    far = xp.copysign(1 - polynomial(t, (0.0, *_ERF_A)) * xp.exp(-size * size), x)
    return xp.where(size < 0.5, x * polynomial(x * x, _ERF_SERIES), far)


def sigmoid(xp: Any, x: Any) -> Any:
    """1 / (1 + exp(-x)), element by element."""
    return 1 / (1 + xp.exp(-x))


def as_matrix(x: Any, axis: int) -> Any:
    """`x` as a matrix: the dimensions before `axis`, which may be negative, and those from it on.

    Raises:
        ValueError: there is no such axis.
    """
    axis = axis_of(axis, x.ndim)
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def on_host(x: Any) -> Any:
    """`x` as a NumPy array: text lies on the host, and what meets it must, whatever the backend."""
    return x.get() if hasattr(x, "get") else x
