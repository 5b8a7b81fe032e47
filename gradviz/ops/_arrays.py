"""Array functions that several families need and array namespaces lack."""

from __future__ import annotations

from math import prod
from typing import Any

from gradviz.ops._checks import axis_of

# W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969): erf(x) / x as a
# quotient of polynomials in x * x near 0, and erfc(x) * exp(x * x) as one in x elsewhere. Constants first.
_NEAR = (
    (3209.37758913846947, 377.485237685302021, 113.864154151050156, 3.1611237438705656, 0.185777706184603153),
    (2844.23683343917062, 1282.61652607737228, 244.024637934444173, 23.6012909523441209, 1.0),
)
_FAR = (
    (
        1230.33935479799725,
        2051.07837782607147,
        1712.04761263407058,
        881.95222124176909,
        298.635138197400131,
        66.1191906371416295,
        8.88314979438837594,
        0.564188496988670089,
        2.15311535474403846e-8,
    ),
    (
        1230.33935480374942,
        3439.36767414372164,
        4362.61909014324716,
        3290.79923573345963,
        1621.38957456669019,
        537.181101862009858,
        117.693950891312499,
        15.7449261107098347,
        1.0,
    ),
)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule; `coefficients` from the constant upwards."""
    value: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def erf(xp: Any, x: Any) -> Any:
    """The error function, exact to the precision of `x`; same shape and dtype."""
    size = xp.minimum(xp.abs(x), 6)  # where erf is 1, and the quotients are still far from overflow
    square = size * size
    near = x * (polynomial(square, _NEAR[0]) / polynomial(square, _NEAR[1]))
    far = 1 - xp.exp(-square) * (polynomial(size, _FAR[0]) / polynomial(size, _FAR[1]))
    return xp.where(size < 0.46875, near, xp.copysign(far, x))


def sigmoid(xp: Any, x: Any) -> Any:
    """1 / (1 + exp(-x)), element by element."""
    return 1 / (1 + xp.exp(-x))


def keep_where(condition: Any, x: Any) -> Any:
    """`x` (of floats) where `condition` holds, else 0, whatever `x` is there.

    Masking the bits is several times as fast as `where` on the host: it takes no branches. The mask itself is of bytes,
    and widened as it goes.
    """
    return (x.view(f"i{x.dtype.itemsize}") & -condition.view("i1")).view(x.dtype)


def as_matrix(x: Any, axis: int) -> Any:
    """`x` as a matrix: the dimensions before `axis`, which may be negative, and those from it on.

    Raises:
        ValueError: there is no such axis.
    """
    if x.ndim == 2 and axis == 1:
        return x
    axis = axis_of(axis, x.ndim)
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def on_host(x: Any) -> Any:
    """`x` as a NumPy array: text lies on the host, and what meets it must, whatever the backend."""
    return x.get() if hasattr(x, "get") else x
