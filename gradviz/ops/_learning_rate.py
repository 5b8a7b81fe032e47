"""Learning rate policies: for each iteration a factor to the base rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from gradviz.ops._checks import require, text_of

Policy: TypeAlias = Callable[[int], float]


class _Reader:
    """The arguments of one policy; those of a composite's parts have a prefix in front of their names."""

    def __init__(self, args: Mapping[str, Any], prefix: str = "") -> None:
        self.args = args
        self.prefix = prefix

    def __call__(self, name: str, default: Any) -> Any:
        return self.args.get(self.prefix + name, default)

    def positive(self, name: str, default: Any) -> Any:
        found = self(name, default)
        require(found > 0, f"the argument {self.prefix}{name} must be positive, not {found}")
        return found


def policy_of(args: Mapping[str, Any], prefix: str = "") -> Policy:
    """The policy that the arguments describe.

    Raises:
        ValueError: no policy of that name, or arguments that it cannot use.
    """
    name = text_of(args.get(f"{prefix}policy", ""))
    require(name != "", f"the argument {prefix}policy must name a learning rate policy")
    maker = _POLICIES.get(name)
    if maker is None:
        raise ValueError(f"there is no learning rate policy {name!r}; there are {', '.join(sorted(_POLICIES))}")
    return maker(_Reader(args, prefix))


def _power(base: float, exponent: float) -> float:
    """A power as floating-point hardware answers it: infinite or NaN where Python raises."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _fixed(_: _Reader) -> Policy:
    return lambda iteration: 1.0


def _alter(get: _Reader) -> Policy:
    first, active, inactive = get("active_first", 1), get("active_period", -1), get("inactive_period", -1)
    require(active >= 0 and inactive >= 0 and active + inactive > 0, "active_period and inactive_period are wanted")
    head = active if first else inactive
    return lambda iteration: float((iteration % (active + inactive) < head) == bool(first))


def _step(get: _Reader) -> Policy:
    size, gamma = get.positive("stepsize", 0), get.positive("gamma", 0.0)
    return lambda iteration: _power(gamma, iteration // size)


def _exp(get: _Reader) -> Policy:
    gamma = get.positive("gamma", 0.0)
    return lambda iteration: _power(gamma, iteration)


def _gate(get: _Reader) -> Policy:
    before, after, count = get("multiplier_1", 1.0), get("multiplier_2", 1.0), get("num_iter", 0)
    return lambda iteration: before if iteration < count else after


def _inv(get: _Reader) -> Policy:
    gamma, power = get("gamma", 0.0), get("power", 0.0)
    return lambda iteration: _power(1 + gamma * iteration, -power)


def _poly(get: _Reader) -> Policy:
    last, power = get("max_iter", -1), get.positive("power", 0.0)
    require(last != 0, "the argument max_iter must not be 0")
    return lambda iteration: _power(1 - iteration / last, power)


def _linear(start: float, count: int) -> Policy:
    return lambda iteration: 1.0 if iteration >= count else start + (1 - start) * iteration / count


def _linear_warmup(get: _Reader) -> Policy:
    return _linear(get("start_multiplier", 0.0), get("num_iter", 0))


def _constant_warmup(get: _Reader) -> Policy:
    factor, count = get("multiplier", 0.5), get("num_iter", 0)
    return lambda iteration: factor if iteration < count else 1.0


def _piece_warmup(get: _Reader) -> Policy:
    first, until, second, until_second, third = (
        get("m1", 0.5),
        get("n1", 0),
        get("m2", 0.5),
        get("n2", 0),
        get("m3", 0.5),
    )
    return lambda iteration: first if iteration < until else second if iteration < until_second else third


def _hill(get: _Reader) -> Policy:
    up, down, count, least = _linear_warmup(get), _inv(get), get("num_iter", 0), get("end_multiplier", 0.0)
    return lambda iteration: up(iteration) if iteration < count else max(least, down(iteration - count))


def _slope(get: _Reader) -> Policy:
    """Constant, then a straight way down to a lower factor, which it keeps."""
    start, high, end, low = (
        get("num_iter_1", 0),
        get("multiplier_1", 0.0),
        get("num_iter_2", 0),
        get("multiplier_2", 0.0),
    )
    require(end > start, "the argument num_iter_2 must be larger than num_iter_1")

    def factor(iteration: int) -> float:
        if iteration < start:
            return float(high)
        return float(max(low, high + (iteration - start) * (low - high) / (end - start)))

    return factor


def _warmup(get: _Reader) -> tuple[Policy, int]:
    """A constant, then a straight way up to 1; and how many iterations that takes."""
    start = get("start_warmup_multiplier", 0.1)
    constant, linear = get("constant_warmup_num_iter", 10_000_000), get("linear_warmup_num_iter", 10_000_000)
    up = _linear(start, linear)
    return lambda iteration: start if iteration < constant else up(iteration - constant), constant + linear


def _constant_then_linear_warmup(get: _Reader) -> Policy:
    return _warmup(get)[0]


def _cyclic(low: float, high: float, size: int, decay: float) -> Policy:
    """Up to the highest rate and down again, see Smith, Cyclical Learning Rates for Training Neural Networks."""
    require(size > 0, "the step size must be positive")

    def factor(iteration: int) -> float:
        cycle = iteration // (2 * size)
        from_top = abs(iteration / size - 2 * cycle - 1)
        return 1 + (abs(high) / abs(low) - 1) * max(0.0, 1 - from_top) * _power(decay, cycle)

    return factor


def _cyclical(get: _Reader) -> Policy:
    return _cyclic(get.args["base_lr"], get("max_lr", 0.005), get("stepsize", 0), get("decay", 1.0))


def _cosine_of(low: float, high: float, period: int, stretch: float, shrink: float) -> Policy:
    """Half a cosine down in each period, see Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Restarts."""
    require(period > 0 and stretch >= 1, "the period must be positive, and t_mult at least 1")

    def factor(iteration: int) -> float:
        if stretch == 1:
            index = iteration // period
            length, start = float(period), float(index * period)
        else:
            index = math.floor(math.log(1 - iteration / period * (1 - stretch)) / math.log(stretch))
            length = stretch**index * period
            start = (1 - stretch**index) / (1 - stretch) * period
        swing = (1 + math.cos(math.pi * (iteration - start) / length)) / 2
        return (low + (high - low) * swing) * _power(shrink, index)

    return factor


def _cosine(get: _Reader) -> Policy:
    return _cosine_of(
        get("min_lr", 0.1), get("max_lr", 0.5), get("period", 50), get("t_mult", 1.0), get("lr_shrink", 0.99)
    )


def _after_warmup(get: _Reader, then: Policy) -> Policy:
    warmup, count = _warmup(get)
    return lambda iteration: warmup(iteration) if iteration < count else then(iteration - count)


def _composite_cosine(get: _Reader) -> Policy:
    low, high, period = get("cosine_min_lr", 0.1), get("cosine_max_lr", 0.5), get("cosine_period", 50)
    then = _cosine_of(low, high, period, get("cosine_t_mult", 1.0), get("cosine_lr_shrink", 0.99))
    return _after_warmup(get, then)


def _composite_cyclical(get: _Reader) -> Policy:
    high, size = get("cyclical_max_lr", 0.05), get("cyclical_step_size", 1_000_000)
    return _after_warmup(get, _cyclic(get.args["base_lr"], high, size, get("cyclical_decay", 1.0)))


def _composite(get: _Reader) -> Policy:
    """Policies one after another; iterations are counted from 1 here, and each policy sees the whole count."""
    parts: list[tuple[int, float, Policy]] = []
    start = 1
    for i, count in enumerate(get("sub_policy_num_iters", [])):
        prefix = f"sub_policy_{i}_"
        require(count > 0, f"the argument sub_policy_num_iters must hold positive numbers, not {count}")
        parts.append((start, get.args.get(f"{prefix}lr_scale", 1.0), policy_of(get.args, prefix)))
        start += count
    require(bool(parts), "the argument sub_policy_num_iters must say how long each policy lasts")

    def factor(iteration: int) -> float:
        _, scale, policy = next((part for part in reversed(parts) if part[0] <= iteration), parts[0])
        return policy(iteration) * float(scale)

    return factor


_POLICIES: dict[str, Callable[[_Reader], Policy]] = {
    "alter": _alter,
    "composite": _composite,
    "compositeCosine": _composite_cosine,
    "compositeCyclical": _composite_cyclical,
    "constantThenLinearWarmup": _constant_then_linear_warmup,
    "constantWarmup": _constant_warmup,
    "cosine": _cosine,
    "cyclical": _cyclical,
    "exp": _exp,
    "fixed": _fixed,
    "gate": _gate,
    "hill": _hill,
    "inv": _inv,
    "linearWarmup": _linear_warmup,
    "pieceWarmup": _piece_warmup,
    "poly": _poly,
    "slope": _slope,
    "step": _step,
}
