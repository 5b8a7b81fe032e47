"""Losses: of probabilities, of scores, of the order of a list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops import _hierarchy, _ranking
from gradviz.ops._checks import axis_of, require, require_same_shape
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import same

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Emit, Maker

LEAST = 1e-20
"""The least probability that is taken a logarithm of."""


def _of_first(type: str) -> Emit:
    """The gradient of the first of two inputs."""
    return emit(type, [I(0), I(1), GO(0)], [GI(0)])


def _softmax_with_loss_gradient(maker: Maker) -> list[GradientOp]:
    """The loss's gradient alone counts; a gradient of the softmax is ignored."""
    inputs = [*maker.op.inputs, maker.O(0), maker.GO(1)]
    return [maker.make(maker.op.type + "Gradient", inputs, [maker.GI(0)])]


def _pair_wise_loss_gradient(maker: Maker) -> list[GradientOp]:
    """The lengths, where given, come last."""
    inputs = [maker.I(0), maker.I(1), maker.GO(0), *maker.op.inputs[2:]]
    return [maker.make("PairWiseLossGradient", inputs, [maker.GI(0)])]


# Cross entropies of probabilities, given as labels or as probabilities themselves.

operator("CrossEntropy", inputs=2, outputs=1, gradient=_of_first("CrossEntropyGradient"))
operator("CrossEntropyGradient", inputs=3, outputs=1)
operator("LabelCrossEntropy", inputs=2, outputs=1, gradient=_of_first("LabelCrossEntropyGradient"))
operator("LabelCrossEntropyGradient", inputs=3, outputs=1)


def _rows(x: Any) -> Any:
    """`x` as (rows, size); a vector is one row."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:])) if x.ndim > 1 else x.reshape(1, x.size)


@kernel("CrossEntropy")
def cross_entropy(xp: Any, x: Any, label: Any) -> Any:
    """-sum(label · log x) over each row; probabilities count as at least 1e-20."""
    expect("float32", x, label)
    require_same_shape(x, label)
    return -_rows(label * xp.log(xp.maximum(x, x.dtype.type(LEAST)))).sum(axis=1)


@kernel("CrossEntropyGradient")
def cross_entropy_gradient(xp: Any, x: Any, label: Any, dy: Any) -> Any:
    expect("float32", x, label, dy)
    require_same_shape(x, label)
    dx = -dy.reshape(-1, 1) * _rows(label / xp.maximum(x, x.dtype.type(LEAST)))
    return dx.reshape(x.shape)


def _labels(label: Any, rows: Any) -> Any:
    """Labels as one index for each row."""
    expect("int32", label)
    n, classes = rows.shape
    require(label.size == n, f"{label.size} labels do not fit {n} rows")
    label = label.ravel()
    # A negative number is a very large one without its sign.
    require(not n or int(label.view("uint32").max()) < classes, f"a label is not between 0 and {classes - 1}")
    return label


@kernel("LabelCrossEntropy")
def label_cross_entropy(xp: Any, x: Any, label: Any) -> Any:
    """-log of the label's probability, which counts as at least 1e-20."""
    expect("float32", x)
    rows = _rows(x)
    picked = rows[xp.arange(rows.shape[0]), _labels(label, rows)]
    return -xp.log(xp.maximum(picked, x.dtype.type(LEAST)))


@kernel("LabelCrossEntropyGradient")
def label_cross_entropy_gradient(xp: Any, x: Any, label: Any, dy: Any) -> Any:
    expect("float32", x, dy)
    rows = _rows(x)
    at = (xp.arange(rows.shape[0]), _labels(label, rows))
    dx = xp.zeros(rows.shape, rows.dtype)
    dx[at] = -dy.ravel() / xp.maximum(rows[at], x.dtype.type(LEAST))
    return dx.reshape(x.shape)


# Softmax and cross entropy in one.

operator(
    "SoftmaxWithLoss",
    inputs=(2, 3),
    arities=[(2, 2), (2, 3), (3, 2), (3, 3)],
    args="label_prob axis scale order",
    gradient=_softmax_with_loss_gradient,
)
operator("SoftmaxWithLossGradient", outputs=1)
operator("SpatialSoftmaxWithLoss", inputs=(2, 3), outputs=2, gradient=_softmax_with_loss_gradient)
operator("SpatialSoftmaxWithLossGradient", outputs=1)


def _folded(x: Any, axis: int) -> Any:
    """`x` as (rows, classes), folded at `axis`."""
    at = axis_of(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:at]), math.prod(x.shape[at:]))


def _row_weights(xp: Any, weights: Any, rows: Any) -> Any:
    if weights is None:
        return xp.ones(rows.shape[0], rows.dtype)
    expect("float32", weights)
    require(weights.size == rows.shape[0], f"{weights.size} weights do not fit {rows.shape[0]} rows")
    return weights.ravel()


def _distributions(label: Any, rows: Any) -> Any:
    """Labels given as probabilities, refused where they are none."""
    expect("float32", label)
    require(label.size == rows.size, f"{label.size} label probabilities do not fit {rows.size} scores")
    label = label.reshape(rows.shape)
    if label.size:
        require(float(label.min()) >= 0, "a label probability is negative")
        require(float(abs(label.sum(axis=1) - 1).max()) < 1e-5, "label probabilities do not sum to 1")
    return label


def _total(weights: Any, average_by_batch_size: int) -> Any:
    """What the loss is divided by; where it is 0 the loss is 0."""
    return weights.dtype.type(weights.size) if average_by_batch_size else weights.sum()


@kernel("SoftmaxWithLoss")
def softmax_with_loss(
    xp: Any,
    x: Any,
    label: Any,
    weights: Any = None,
    *,
    label_prob: int = 0,
    axis: int = 1,
    scale: float = 1.0,
    average_by_batch_size: int = 0,
) -> Any:
    """Softmax over the dimensions from `axis` on, and the weighted mean of its cross entropy with the labels."""
    expect("float32", x)
    rows, real = _folded(x, axis), x.dtype.type
    weights = _row_weights(xp, weights, rows)
    if not rows.size:
        return x.copy(), xp.zeros((), x.dtype)
    shifted = rows - rows.max(axis=1, keepdims=True)
    e = xp.exp(shifted)
    sums = e.sum(axis=1, keepdims=True)
    y = e / sums
    if label_prob:
        losses = -(_distributions(label, rows) * xp.log(xp.maximum(y, real(LEAST)))).sum(axis=1)
    else:
        losses = xp.log(sums[:, 0]) - shifted[xp.arange(rows.shape[0]), _labels(label, rows)]
    total = _total(weights, average_by_batch_size)
    loss = (losses * weights).sum() * real(scale) / xp.where(total == 0, 1, total)
    return y.reshape(x.shape), xp.where(total == 0, 0, loss).astype(x.dtype)


@kernel("SoftmaxWithLossGradient")
def softmax_with_loss_gradient(
    xp: Any,
    x: Any,
    label: Any,
    *others: Any,
    label_prob: int = 0,
    axis: int = 1,
    scale: float = 1.0,
    average_by_batch_size: int = 0,
) -> Any:
    """Reads the weights, if any, then the softmax and the gradient of the loss."""
    *given, y, dloss = others
    expect("float32", x, y, dloss)
    require_same_shape(x, y)
    rows = _folded(y, axis)
    weights = _row_weights(xp, given[0] if given else None, rows)
    if label_prob:
        dx = rows - _distributions(label, rows)
    else:
        dx = rows.copy()
        dx[xp.arange(rows.shape[0]), _labels(label, rows)] -= 1
    total = _total(weights, average_by_batch_size)
    share = dloss.ravel() * (y.dtype.type(scale) / xp.where(total > 0, total, 1))
    dx *= weights[:, None] * share
    return dx.reshape(x.shape)


def _pixels(x: Any, label: Any, order: str) -> tuple[Any, Any]:
    """Pictures (N, classes, H, W) and labels (N, H, W), checked."""
    expect("float32", x)
    expect("int32", label)
    require(order == "NCHW", "only order NCHW is computed")
    require(x.ndim == 4, f"X has {x.ndim} dimensions where 4 are wanted")
    require(label.size == x.size // max(1, x.shape[1]), f"{label.size} labels do not fit pictures {x.shape}")
    label = label.reshape(x.shape[0], *x.shape[2:])
    require(not label.size or int(label.max()) < x.shape[1], f"a label is greater than {x.shape[1] - 1}")
    return x, label


def _pixel_weights(xp: Any, x: Any, label: Any, weights: Any) -> Any:
    """Weights (N, H, W), which are 0 where a label says that it does not care."""
    if weights is not None:
        expect("float32", weights)
        require(weights.size == label.size, f"{weights.size} weights do not fit {label.size} labels")
        weights = weights.reshape(label.shape)
    return xp.where(label < 0, x.dtype.type(0), x.dtype.type(1) if weights is None else weights)


@kernel("SpatialSoftmaxWithLoss")
def spatial_softmax_with_loss(xp: Any, x: Any, label: Any, weights: Any = None, *, order: str = "NCHW") -> Any:
    """Softmax over the channels, and the weighted mean cross entropy over pixels whose label is not negative.

    Upstream's CPU kernel leaves `scale` to the gradient.
    """
    x, label = _pixels(x, label, order)
    weights = _pixel_weights(xp, x, label, weights)
    y = xp.exp(x - x.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    chances = xp.take_along_axis(y, xp.maximum(label, 0)[:, None].astype("int64"), axis=1)[:, 0]
    loss = -(xp.log(xp.maximum(chances, x.dtype.type(LEAST))) * weights).sum()
    total = weights.sum()
    return y, xp.where(total == 0, 0, loss / xp.where(total == 0, 1, total)).astype(x.dtype)


@kernel("SpatialSoftmaxWithLossGradient")
def spatial_softmax_with_loss_gradient(
    xp: Any, x: Any, label: Any, *others: Any, scale: float = 1.0, order: str = "NCHW"
) -> Any:
    """Reads the weights, if any, then the softmax and the gradient of the loss."""
    *given, y, dloss = others
    expect("float32", y, dloss)
    require_same_shape(x, y)
    x, label = _pixels(x, label, order)
    weights = _pixel_weights(xp, x, label, given[0] if given else None)
    total = weights.sum()
    is_label = xp.arange(x.shape[1]).reshape(-1, 1, 1) == label[:, None]
    share = dloss.ravel() * (x.dtype.type(scale) / xp.where(total > 0, total, 1))
    return (y - is_label) * (weights[:, None] * share)


# Sigmoid and cross entropy in one, averaged over the last dimension.

operator(
    "SigmoidCrossEntropyWithLogits",
    inputs=2,
    outputs=1,
    args="log_D_trick unjoined_lr_loss",
    gradient=emit("SigmoidCrossEntropyWithLogitsGradient", [GO(0), I(0), I(1)], [GI(0)]),
)
operator("SigmoidCrossEntropyWithLogitsGradient", inputs=3, outputs=1)
operator(
    "WeightedSigmoidCrossEntropyWithLogits",
    inputs=3,
    outputs=1,
    gradient=emit("WeightedSigmoidCrossEntropyWithLogitsGradient", [GO(0), I(0), I(1), I(2)], [GI(0)]),
)
operator("WeightedSigmoidCrossEntropyWithLogitsGradient", inputs=4, outputs=1)


def _soft_sign_loss(xp: Any, x: Any) -> Any:
    """log(1 + exp(-|x|)): what is left of a sigmoid's cross entropy beside its straight parts."""
    return xp.log(1 + xp.exp(-abs(x)))


def _log_chance(xp: Any, x: Any, target: Any, log_d_trick: int, unjoined: int) -> Any:
    """The log of the chance that sigmoid(x) gives to the target."""
    rest, positive = _soft_sign_loss(xp, x), x >= 0
    if log_d_trick:
        return (2 * target - 1) * (x - (x * positive + rest))
    if unjoined:
        return x * target + (target - 1) * x * positive - (1 - target) * rest
    return x * (target - positive) - rest


def _log_chance_slope(xp: Any, x: Any, target: Any, log_d_trick: int, unjoined: int) -> Any:
    """The derivative of `_log_chance` with respect to x."""
    if log_d_trick:
        return (2 * target - 1) / (1 + xp.exp(x))
    chance = 1 / (1 + xp.exp(-x))
    return target - (1 - target) * chance if unjoined else target - chance


def _same(*arrays: Any) -> None:
    expect("float32", *arrays)
    require_same_shape(*arrays)
    require(arrays[0].ndim > 0, "logits must have at least one dimension")


@kernel("SigmoidCrossEntropyWithLogits")
def sigmoid_cross_entropy(
    xp: Any,
    x: Any,
    target: Any,
    *,
    log_D_trick: int = 0,  # noqa: N803
    unjoined_lr_loss: int = 0,
) -> Any:
    """The mean over the last dimension of the cross entropy of sigmoid(x) with the targets."""
    _same(x, target)
    return -_log_chance(xp, x, target, log_D_trick, unjoined_lr_loss).mean(axis=-1)


@kernel("SigmoidCrossEntropyWithLogitsGradient")
def sigmoid_cross_entropy_gradient(
    xp: Any,
    dy: Any,
    x: Any,
    target: Any,
    *,
    log_D_trick: int = 0,  # noqa: N803
    unjoined_lr_loss: int = 0,
) -> Any:
    _same(x, target)
    expect("float32", dy)
    shares = -dy.reshape(*x.shape[:-1], 1) / x.dtype.type(max(1, x.shape[-1]))
    return shares * _log_chance_slope(xp, x, target, log_D_trick, unjoined_lr_loss)


@kernel("WeightedSigmoidCrossEntropyWithLogits")
def weighted_sigmoid_cross_entropy(xp: Any, x: Any, target: Any, weights: Any) -> Any:
    """As SigmoidCrossEntropyWithLogits, each element times its weight."""
    _same(x, target, weights)
    return -(_log_chance(xp, x, target, 0, 0) * weights).mean(axis=-1)


@kernel("WeightedSigmoidCrossEntropyWithLogitsGradient")
def weighted_sigmoid_cross_entropy_gradient(xp: Any, dy: Any, x: Any, target: Any, weights: Any) -> Any:
    _same(x, target, weights)
    return sigmoid_cross_entropy_gradient(xp, dy, x, target) * weights


# Criteria over scores.

operator("CosineEmbeddingCriterion", inputs=2, outputs=1, gradient=_of_first("CosineEmbeddingCriterionGradient"))
operator("CosineEmbeddingCriterionGradient", inputs=3, outputs=1)
operator(
    "MarginRankingCriterion",
    inputs=3,
    outputs=1,
    args="margin",
    gradient=emit("MarginRankingCriterionGradient", [I(0), I(1), I(2), GO(0)], [GI(0), GI(1)]),
)
operator("MarginRankingCriterionGradient", inputs=4, outputs=2)


@kernel("CosineEmbeddingCriterion")
def cosine_embedding_criterion(xp: Any, s: Any, y: Any, *, margin: float = 0.0) -> Any:
    """1 - S where Y is 1, else what S exceeds the margin by."""
    expect("float32", s)
    expect("int32", y)
    require_same_shape(s, y)
    real = s.dtype.type
    return xp.where(y == 1, real(1) - s, xp.maximum(s - real(margin), 0))


@kernel("CosineEmbeddingCriterionGradient")
def cosine_embedding_criterion_gradient(xp: Any, s: Any, y: Any, dout: Any, *, margin: float = 0.0) -> Any:
    expect("float32", s, dout)
    expect("int32", y)
    require_same_shape(s, y, dout)
    return xp.where(y == 1, -dout, xp.where(s >= s.dtype.type(margin), dout, 0))


@kernel("MarginRankingCriterion")
def margin_ranking_criterion(xp: Any, x1: Any, x2: Any, y: Any, *, margin: float = 1.0) -> Any:
    """What -Y · (X1 - X2) + margin exceeds 0 by."""
    expect("float32", x1, x2)
    expect("int32", y)
    require_same_shape(x1, x2, y)
    return xp.maximum(-y.astype(x1.dtype) * (x1 - x2) + x1.dtype.type(margin), 0)


@kernel("MarginRankingCriterionGradient")
def margin_ranking_criterion_gradient(xp: Any, x1: Any, x2: Any, y: Any, dout: Any, *, margin: float = 1.0) -> Any:
    expect("float32", x1, x2, dout)
    expect("int32", y)
    require_same_shape(x1, x2, y, dout)
    sign = y.astype(x1.dtype)
    dx2 = xp.where(-sign * (x1 - x2) + x1.dtype.type(margin) < 0, 0, sign * dout)
    return -dx2, dx2


operator("BernoulliJSD", inputs=2, outputs=1, gradient=emit("BernoulliJSDGradient", [GO(0), I(0), I(1)], [GI(0)]))
operator("BernoulliJSDGradient", inputs=3, outputs=1)


def _entropy(xp: Any, p: Any) -> Any:
    """The entropy of a coin that falls on one side with chance p; 0 at both ends."""
    inside = (p >= LEAST) & (1 - p >= LEAST)
    p = xp.where(inside, p, p.dtype.type(0.5))
    return xp.where(inside, -p * xp.log(p) - (1 - p) * xp.log(1 - p), 0)


def _log_odds(xp: Any, p: Any) -> Any:
    return -xp.log(1 / xp.clip(p, p.dtype.type(LEAST), p.dtype.type(1 - LEAST)) - 1)


@kernel("BernoulliJSD")
def bernoulli_jsd(xp: Any, x: Any, target: Any) -> Any:
    """The Jensen-Shannon divergence of two coins."""
    expect("float32", x, target)
    require_same_shape(x, target)
    return _entropy(xp, (x + target) / 2) - (_entropy(xp, x) + _entropy(xp, target)) / 2


@kernel("BernoulliJSDGradient")
def bernoulli_jsd_gradient(xp: Any, dy: Any, x: Any, target: Any) -> Any:
    expect("float32", dy, x, target)
    require_same_shape(dy, x, target)
    return dy * (_log_odds(xp, x) - _log_odds(xp, (x + target) / 2)) / 2


# Losses over the order of a list.

operator("PairWiseLoss", inputs=(2, 3), outputs=1, gradient=_pair_wise_loss_gradient)
operator("PairWiseLossGradient", inputs=(3, 4), outputs=1)
operator(
    "LambdaRankNdcg", inputs=3, outputs=2, gradient=emit("LambdaRankNdcgGradient", [I(0), I(2), O(1), GO(0)], [GI(0)])
)
operator("LambdaRankNdcgGradient", inputs=4, outputs=1)


def _scored(scores: Any, labels: Any, lengths: Any) -> tuple[Any, Any]:
    expect("float32", scores, labels)
    if lengths is not None:
        expect("int32", lengths)
    require(scores.size == labels.size, f"{scores.size} scores do not fit {labels.size} labels")
    return scores.ravel(), labels.ravel()


@kernel("PairWiseLoss")
def pair_wise_loss(xp: Any, x: Any, label: Any, lengths: Any = None) -> Any:
    """For each list the mean logistic loss over pairs of items with different labels."""
    scores, labels = _scored(x, label, lengths)
    lists = list(_ranking.segments(lengths, scores.size))
    y = xp.zeros(len(lists), x.dtype)
    for i, items in enumerate(lists):
        y[i] = _ranking.pair_loss(xp, scores[items], labels[items])
    return y


@kernel("PairWiseLossGradient")
def pair_wise_loss_gradient(xp: Any, x: Any, label: Any, dy: Any, lengths: Any = None) -> Any:
    scores, labels = _scored(x, label, lengths)
    expect("float32", dy)
    dx = xp.zeros_like(scores)
    for i, items in enumerate(_ranking.segments(lengths, scores.size)):
        dx[items] = _ranking.pair_loss_gradient(xp, scores[items], labels[items]) * dy.ravel()[i]
    return dx.reshape(x.shape)


@kernel("LambdaRankNdcg")
def lambda_rank_ndcg(
    xp: Any,
    y: Any,
    relevance: Any,
    lengths: Any,
    *,
    use_ndcg_as_loss: int = 0,
    use_idcg_normalization: int = 1,
    use_exp_gain: int = 1,
) -> Any:
    """For each list its loss, and for each item the gradient of its list's loss."""
    expect("float32", y, relevance)
    expect("int32", lengths)
    require(y.ndim == 1 and y.size == relevance.size, f"scores {y.shape} do not fit {relevance.size} relevances")
    losses, dy = xp.zeros(lengths.size, y.dtype), xp.zeros_like(y)
    for i, items in enumerate(_ranking.segments(lengths, y.size)):
        losses[i], dy[items] = _ranking.lambda_rank(
            xp,
            y[items],
            relevance.ravel()[items],
            as_ndcg=use_ndcg_as_loss,
            normalized=use_idcg_normalization,
            exponential=use_exp_gain,
        )
    return losses, dy


@kernel("LambdaRankNdcgGradient")
def lambda_rank_ndcg_gradient(xp: Any, y: Any, lengths: Any, dy: Any, dloss: Any) -> Any:
    """The items' gradients from the forward operator, times those of their lists' losses."""
    expect("float32", y, dy, dloss)
    expect("int32", lengths)
    require(dloss.size == lengths.size, f"{dloss.size} gradients do not fit {lengths.size} lists")
    require_same_shape(y, dy)
    dx = xp.zeros_like(dy)
    for i, items in enumerate(_ranking.segments(lengths, y.size)):
        dx[items] = dy[items] * dloss.ravel()[i]
    return dx


# Hierarchical softmax.

operator(
    "HSoftmax",
    inputs=4,
    outputs=2,
    args="hierarchy",
    gradient=emit("HSoftmaxGradient", [I(0), I(1), I(2), I(3), O(1), GO(0)], [GI(0), GI(1), GI(2), GO(1)]),
)
operator("HSoftmaxGradient", inputs=6, outputs=4)
operator("HSoftmaxSearch", inputs=3, outputs=2, args="tree beam topN", gradient=SHOULD_NOT)
operator("HuffmanTreeHierarchy", inputs=1, outputs=1, args="num_classes")
operator("HuffmanTreeHierarchyOp", checked=False, runs=False, gradient=SHOULD_NOT)


def _stacked(x: Any, w: Any, b: Any) -> Any:
    """X as (rows, size), checked against stacked weights and biases."""
    expect("float32", x, w, b)
    rows = _rows(x)
    require(
        w.ndim >= 2 and w.size == w.shape[0] * rows.shape[1] and b.shape == w.shape[:1],
        f"X {x.shape}, W {w.shape} and b {b.shape} do not fit",
    )
    return rows


@kernel("HSoftmax")
def h_softmax(xp: Any, x: Any, w: Any, b: Any, label: Any, *, hierarchy: str) -> Any:
    """-log of each label's probability, and the scores and probabilities of every turn, one after another."""
    rows = _stacked(x, w, b)
    expect("int32", label)
    y = xp.zeros(rows.shape[0], x.dtype)
    kept = []
    for i, way in enumerate(_hierarchy.ways(hierarchy, label)):
        for turn in way:
            z = w[turn.rows] @ rows[i] + b[turn.rows]
            chances = _hierarchy.softmax(xp, z)
            kept += [z, chances]
            y[i] -= xp.log(xp.maximum(chances[turn.target], LEAST))
    return y, xp.concatenate(kept) if kept else xp.zeros(0, x.dtype)


@kernel("HSoftmaxGradient")
def h_softmax_gradient(xp: Any, x: Any, w: Any, b: Any, label: Any, kept: Any, dy: Any, *, hierarchy: str) -> Any:
    """Gradients of X, W and b, and those of what the forward operator kept."""
    rows = _stacked(x, w, b)
    expect("float32", kept, dy)
    expect("int32", label)
    dx, dw, db, dkept = xp.zeros_like(rows), xp.zeros_like(w), xp.zeros_like(b), xp.zeros_like(kept)
    used = 0
    for i, way in enumerate(_hierarchy.ways(hierarchy, label)):
        for turn in way:
            first, middle, used = used, used + turn.size, used + 2 * turn.size
            chances, slope = kept[middle:used], dkept[middle:used]
            slope[turn.target] = -dy[i] / xp.maximum(chances[turn.target], LEAST)
            dz = dkept[first:middle]
            dz[:] = (slope - (chances * slope).sum()) * chances
            dx[i] += dz @ w[turn.rows]
            dw[turn.rows] += dz[:, None] * rows[i]
            db[turn.rows] += dz
    return dx.reshape(x.shape), dw, db, dkept


@kernel("HSoftmaxSearch")
def h_softmax_search(
    xp: Any,
    x: Any,
    w: Any,
    b: Any,
    *,
    tree: str,
    beam: float = 0.01,
    topN: int = 5,  # noqa: N803
) -> Any:
    """Names and scores (-log of the probability) of the likeliest nodes and words within the beam."""
    import numpy as np

    names, scores = _hierarchy.search(xp, _stacked(x, w, b), w, b, tree, beam, topN)
    texts = np.array([[name.encode() for name in row] for row in names], dtype=object).reshape(len(names), topN)
    return texts, xp.asarray(scores, x.dtype).reshape(len(names), topN)


@kernel("HuffmanTreeHierarchy")
def huffman_tree_hierarchy(xp: Any, labels: Any, *, num_classes: int) -> Any:
    """The Huffman tree of the labels, as a serialized TreeProto."""
    import numpy as np

    expect("int64", labels)
    require(labels.ndim == 1, f"labels have {labels.ndim} dimensions where one is wanted")
    found = labels.tolist()
    require(all(0 <= label < num_classes for label in found), f"a label is not between 0 and {num_classes - 1}")
    counts = [0] * num_classes
    for label in found:
        counts[label] += 1
    made = np.empty(1, dtype=object)
    made[0] = _hierarchy.huffman_tree(counts)
    return made


# What else is lost.

operator("Perplexity", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("SparseLpRegularizer", inputs=(2, 3), outputs=1, enforced=same, args="p reg_lambda")
operator("SparseLpNorm", checked=False, runs=False, gradient=SHOULD_NOT)


@kernel("Perplexity")
def perplexity(xp: Any, chances: Any) -> Any:
    """The inverse geometric mean of probabilities."""
    expect("float32", chances)
    require(chances.ndim == 1, f"probabilities have {chances.ndim} dimensions where one is wanted")
    return xp.exp(-xp.log(chances).mean())


@kernel("SparseLpRegularizer")
def sparse_lp_regularizer(
    xp: Any, param: Any, indices: Any, gradient: Any = None, *, p: float = 2.0, reg_lambda: float = 1e-5
) -> Any:
    """Draw the rows at `indices` towards 0: by a share of them for p = 2, by a fixed step for p = 1."""
    expect("float32", param)
    expect("int32 int64", indices)
    require(p in {1.0, 2.0}, f"p must be 1 or 2, not {p}")
    y, at, step = param.copy(), indices.ravel(), param.dtype.type(reg_lambda)
    rows = y[at]
    y[at] = rows * (1 - step) if p == 2.0 else xp.sign(rows) * xp.maximum(abs(rows) - step, 0)
    return y
