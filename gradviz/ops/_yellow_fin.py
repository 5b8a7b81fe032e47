"""YellowFin: momentum SGD that tunes its own rate and momentum.

After Zhang and Mitliagkas, YellowFin and the Art of Momentum Tuning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Average:
    """How averages move: `new = beta * old + (1 - beta) * value`, read with its bias at the start taken out or not."""

    beta: float
    correction: float

    def move(self, old: Any, value: Any) -> tuple[Any, Any]:
        """The new average, and how it is read."""
        new = self.beta * old + (1 - self.beta) * value
        return new, new / self.correction


def measure(
    xp: Any, average: Average, step: int, g: Any, state: tuple[Any, Any, Any, Any], epsilon: float
) -> tuple[tuple[Any, Any, Any, Any], Any, Any, Any, Any]:
    """Measure curvature, variance and distance.

    Args:
        xp: the array namespace.
        average: how averages move.
        step: number of this step, from 1.
        g: the gradient.
        state: window of logarithms of squared norms; averages of the gradient, of its square, and of five scalars.
        epsilon: least value of what divides.

    Returns:
        The new state, then smallest and largest curvature, variance and distance to the optimum.
    """
    window, g_average, square_average, memory = state
    g_average, g_read = average.move(g_average, g)
    square_average, _ = average.move(square_average, g * g)
    norm2 = xp.maximum((g * g).sum(), epsilon)
    norm2_average, norm2_read = average.move(memory[1], norm2)
    norm_average, _ = average.move(memory[0], xp.sqrt(norm2))
    window = window.copy()
    window[(step - 1) % window.size] = xp.log(norm2)
    seen = window[: min(window.size, step)]
    low_average, low = average.move(memory[2], seen.min())
    high_average, high = average.move(memory[3], seen.max())
    low, high = (xp.maximum(xp.exp(each), epsilon) for each in (low, high))
    variance = xp.maximum(norm2_read - (g_read * g_read).sum(), epsilon)
    distance_average, distance = average.move(memory[4], norm_average / norm2_average)
    memory = xp.stack([norm_average, norm2_average, low_average, high_average, distance_average])
    return (window, g_average, square_average, memory), low, high, variance, distance


def tune(xp: Any, low: Any, high: Any, variance: Any, distance: Any) -> tuple[Any, Any]:
    """Rate and momentum for the measured curvature, variance and distance."""
    ratio = xp.sqrt(high / low)
    least = (ratio - 1) / (ratio + 1)
    p = (distance * low) ** 2 / (2 * variance)
    # The root of a cubic by Vieta's substitution.
    w3 = -(xp.sqrt(p * p + 4 / 27 * p**3) + p) / 2
    w = xp.sign(w3) * xp.abs(w3) ** (1 / 3)
    root = xp.minimum(w - p / 3 / w + 1, 1 - 1e-6)
    momentum = xp.maximum(root * root, least * least)
    return (1 - xp.sqrt(momentum)) ** 2 / low, momentum
