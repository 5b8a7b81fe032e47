"""Losses over the pairs of a list: which of two items should stand before the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require

if TYPE_CHECKING:
    from collections.abc import Iterator

_EPSILON = 2.0**-23
"""The least relative step of float32: labels that differ by less are equal; smaller terms vanish beside 1."""


def segments(lengths: Any, size: int) -> Iterator[slice]:
    """Where each list lies in an array of `size` items; without lengths all are one list.

    Raises:
        ValueError: the lengths do not add up.
    """
    if lengths is None:
        yield slice(0, size)
        return
    given = lengths.ravel().tolist()
    require(sum(given) == size and min(given, default=0) >= 0, f"lengths {given} do not cut {size} items into lists")
    first = 0
    for length in given:
        yield slice(first, first + length)
        first += length


def _signs(xp: Any, labels: Any) -> Any:
    """For each pair i, j with j < i: 1 where i should stand before j, -1 where after, 0 where they are equal."""
    difference = labels[:, None] - labels
    return xp.tril(xp.where(abs(difference) < _EPSILON, 0, xp.sign(difference)), -1)


def pair_loss(xp: Any, scores: Any, labels: Any) -> Any:
    """The mean of log(1 + exp(-margin)) over the pairs of a list whose labels differ; 0 without such pairs."""
    signs = _signs(xp, labels)
    margins = signs * (scores - scores[:, None])
    far = -math.log(_EPSILON)
    costs = xp.where(margins > far, margins, xp.log(1 + xp.exp(xp.minimum(margins, far))))
    costs = xp.where((signs == 0) | (margins < -far), 0, costs)
    return costs.sum() / xp.maximum((signs != 0).sum(), 1)


def pair_loss_gradient(xp: Any, scores: Any, labels: Any) -> Any:
    """The gradient of `pair_loss` with respect to the scores."""
    signs = _signs(xp, labels)
    pulls = signs / (1 + xp.exp(signs * (scores[:, None] - scores))) / xp.maximum((signs != 0).sum(), 1)
    return pulls.sum(axis=0) - pulls.sum(axis=1)


def lambda_rank(xp: Any, y: Any, relevance: Any, *, as_ndcg: int, normalized: int, exponential: int) -> tuple[Any, Any]:
    """LambdaRank of one list: the loss and its gradient with respect to the scores `y`.

    After Wu et al., Adapting boosting for information retrieval measures (2010). Each pair weighs as much as exchanging
    the two would change the discounted cumulative gain (DCG).

    Args:
        xp: array namespace.
        y: scores (n,).
        relevance: how good each item is (n,).
        as_ndcg: the loss is the ideal DCG less the actual one, not the weighted sum over pairs.
        normalized: divide both by the ideal DCG.
        exponential: an item's gain is 2 to its relevance, not the relevance itself (which only counts with `as_ndcg`).
    """
    zero = xp.zeros_like(y)
    if not y.size or abs(relevance).sum() < 1e-6:
        return zero.sum(), zero
    gain = relevance if as_ndcg and not exponential else xp.exp(relevance * math.log(2))
    discount = _discounts(xp, y)
    ideal = (gain * _discounts(xp, relevance)).sum()
    weights = abs((discount[:, None] - discount) * (gain[:, None] - gain))
    signs = xp.where(relevance[:, None] - relevance > 0, 1, -1).astype(y.dtype)
    margins = signs * (y[:, None] - y)
    chances = 1 / (1 + xp.exp(-margins))
    gradient = -(weights * signs * (1 - chances)).sum(axis=1)
    if as_ndcg:
        loss = ideal - (gain * discount).sum()
    else:
        logs = xp.where(margins > 100, 0, xp.where(margins < -100, margins, xp.log(chances)))
        loss = -(weights * logs).sum()
    scale = xp.maximum(ideal, 1e-5) if normalized else 1
    return (loss / scale).astype(y.dtype), (gradient / scale).astype(y.dtype)


def _discounts(xp: Any, scores: Any) -> Any:
    """One over log2(1 + place) for each item, in the order of falling scores."""
    order = xp.argsort(-scores, kind="stable")
    discounts = xp.empty_like(scores)
    discounts[order] = math.log(2) / xp.log(xp.arange(2, scores.size + 2, dtype=scores.dtype))
    return discounts
