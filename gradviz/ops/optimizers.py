"""Optimizers: parameter updates, learning rates, counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require, require_same_shape
from gradviz.ops._learning_rate import policy_of
from gradviz.ops._segments import by_lengths, column
from gradviz.ops._updates import (
    adadelta_step,
    adam_scale,
    check_ftrl,
    ftrl_step,
    mean_square_of_rows,
    momentum_step,
    rectified_scale,
    scalar,
    segment_gradients,
    storm_rates,
    turns,
    update_rows,
)
from gradviz.ops._yellow_fin import Average, measure, tune
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.schema import same

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator("Adadelta", inputs=5, outputs=3, inplace="one_to_one", args="epsilon decay", gradient=SHOULD_NOT)
operator("Adagrad", inputs=4, outputs=(2, 4), inplace=[(0, 0), (1, 1)], args="epsilon decay", gradient=SHOULD_NOT)
operator(
    "Adam", inputs=6, outputs=(3, 4), inplace=[(0, 0), (1, 1), (2, 2)], args="beta1 beta2 epsilon", gradient=SHOULD_NOT
)
operator("Ftrl", inputs=(3, 4), outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("GFtrl", inputs=(3, 4), outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("Iter", inputs=(0, 1), outputs=1, enforced=[(0, 0)], gradient=NONE)
operator("AtomicIter", inputs=2, outputs=1, enforced=[(1, 0)], gradient=NONE)
operator("Lars", inputs=5, outputs=1, args="offset lr_min", gradient=SHOULD_NOT)
operator(
    "LearningRate",
    inputs=1,
    outputs=1,
    args=(
        "base_lr policy power gamma stepsize max_lr active_first active_period inactive_period max_iter "
        "num_iter start_multiplier end_multiplier multiplier multiplier_1 multiplier_2 sub_policy_num_iters "
        "m1 n1 m2 n2 m3 start_warmup_multiplier constant_warmup_num_iter linear_warmup_num_iter "
        "cyclical_max_lr cyclical_step_size cyclical_decay cosine_min_lr cosine_max_lr cosine_period "
        "cosine_t_mult cosine_lr_shrink"
    ),
    gradient=NONE,
)
operator(
    "LearningRateAdaption", inputs=3, outputs=1, inplace=[(0, 0)], args="lr_alpha normalized_lr_adaption", gradient=NONE
)
operator("MomentumSGD", inputs=3, outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)], gradient=SHOULD_NOT)
operator("FP16MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)])
operator("FP32MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)])
operator("RmsProp", inputs=4, outputs=3, inplace="one_to_one", gradient=SHOULD_NOT)
operator("RowWiseSparseAdagrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator(
    "RowWiseSparseAdam",
    inputs=7,
    outputs=(3, 4),
    enforced=[(0, 0), (1, 1), (2, 2)],
    args="beta1 beta2 epsilon",
    gradient=SHOULD_NOT,
)
operator("RowWiseCounter", inputs=4, outputs=2, enforced=same, args="counter_halflife", gradient=SHOULD_NOT)
operator("SparseAdadelta", inputs=6, outputs=3, enforced=same, args="epsilon decay", gradient=SHOULD_NOT)
operator("SparseAdagrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator(
    "SparseAdam",
    inputs=7,
    outputs=(3, 4),
    enforced=[(0, 0), (1, 1), (2, 2)],
    args="beta1 beta2 epsilon enableRAdam",
    gradient=SHOULD_NOT,
)
operator("SparseFtrl", inputs=(4, 5), outputs=2, inplace="one_to_one", enforced=[(0, 0), (1, 1)], gradient=SHOULD_NOT)
operator(
    "SparseMomentumSGDUpdate",
    inputs=5,
    outputs=3,
    inplace=[(0, 0)],
    enforced=[(1, 1), (3, 2)],
    args="momentum nesterov",
    gradient=SHOULD_NOT,
)
operator("SparseStorm", inputs=6, outputs=3, enforced=same, args="momentum beta", gradient=SHOULD_NOT)
operator("SparseWngrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator("Storm", inputs=5, outputs=3, inplace="one_to_one", args="momentum beta", gradient=SHOULD_NOT)
operator("Wngrad", inputs=4, outputs=(2, 4), inplace=[(0, 0), (1, 1)], args="epsilon", gradient=SHOULD_NOT)
operator(
    "YellowFin",
    inputs=10,
    outputs=8,
    inplace="one_to_one",
    args="beta curv_win_width epsilon nesterov zero_debias",
    gradient=SHOULD_NOT,
)
operator("Accumulate", inputs=1, outputs=1, args="gamma", gradient=SHOULD_NOT)
operator("RowWiseSparseAdagradFusedWithSparseLengthsMeanGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsMeanGradientApprox",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsSumGradient",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsSumGradientApprox",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradient",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator("SparseAdagradFusedWithSparseLengthsMeanGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsMeanGradientApprox", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsSumGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsSumGradientApprox", inputs=6, outputs=2, enforced=same, args="epsilon")
operator(
    "SparseAdagradFusedWithSparseLengthsWeightedSumGradient",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator(
    "SparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)

no_kernel("upstream runs it on CUDA only", "FP16MomentumSGDUpdate", "FP32MomentumSGDUpdate")
no_kernel(
    "upstream rounds its state to half floats at random",
    "RowWiseSparseAdagradFusedWithSparseLengthsMeanGradientApprox",
    "RowWiseSparseAdagradFusedWithSparseLengthsSumGradientApprox",
    "RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
    "SparseAdagradFusedWithSparseLengthsMeanGradientApprox",
    "SparseAdagradFusedWithSparseLengthsSumGradientApprox",
    "SparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
)


@kernel("Iter")
def iter_(xp: Any, count: Any = None, *, ctx: Context) -> Any:
    """Counts iterations, as int64; without an input it starts at 0 and remembers."""
    if count is None:
        count = ctx.state.get("count", xp.zeros(1, dtype="int64"))
        ctx.state["count"] = count + 1
    expect("int64", count)
    return count + 1


@kernel("AtomicIter")
def atomic_iter(xp: Any, mutex: Any, count: Any) -> Any:
    expect("int64", count)
    return count + 1


@kernel("LearningRate")
def learning_rate(xp: Any, iteration: Any, *, base_lr: float, **args: Any) -> Any:
    """The base rate times what the policy says for this iteration, as float32 of rank 0."""
    expect("int64", iteration)
    factor = policy_of({"base_lr": base_lr, **args})(int(iteration.reshape(-1)[0]))
    return xp.asarray(base_lr * factor, dtype="float32")


@kernel("LearningRateAdaption")
def learning_rate_adaption(
    xp: Any, lr: Any, g: Any, effective: Any, *, lr_alpha: float = 0.01, normalized_lr_adaption: int = 1
) -> Any:
    """The rate less a share of how far gradient and effective gradient point the same way."""
    expect("float32", lr, g, effective)
    require_same_shape(g, effective)
    along = (g * effective).sum()
    if not normalized_lr_adaption:
        return lr - lr_alpha * along
    lengths = [xp.maximum(xp.sqrt((each * each).sum()), 1e-12) for each in (g, effective)]
    return lr * (1 - lr_alpha * along / (lengths[0] * lengths[1]))


@kernel("Lars")
def lars(
    xp: Any, x: Any, dx: Any, decay: Any, trust: Any, lr_max: Any, *, offset: float = 0.5, lr_min: float = 0.02
) -> Any:
    """Rate of a layer, see You et al., Large Batch Training of Convolutional Networks."""
    expect("float32", x, dx)
    size, slope = (xp.sqrt((each * each).sum()) for each in (x, dx))
    wanted = scalar(trust) / (slope / size + scalar(decay) + offset)
    return xp.maximum(xp.minimum(xp.where(size > 0, wanted, 1), lr_max), lr_min).astype(x.dtype).reshape(1)


@kernel("Accumulate")
def accumulate(xp: Any, x: Any, *, ctx: Context, gamma: float = 1.0) -> Any:
    """What was accumulated before, times `gamma`, plus the input; 0 before the first."""
    expect("float32", x)
    before = ctx.state.get("sum")
    ctx.state["sum"] = x.copy() if before is None else before * gamma + x
    return ctx.state["sum"].copy()


@kernel("Adadelta")
def adadelta(
    xp: Any, w: Any, h: Any, d: Any, g: Any, lr: Any, *, epsilon: float = 1e-5, decay: float = 0.95
) -> tuple[Any, ...]:
    """See Zeiler, ADADELTA: An Adaptive Learning Rate Method. The step is added: the rate is negative."""
    expect("float32", w, h, d, g)
    require_same_shape(w, h, d, g)
    return adadelta_step(xp, w, h, d, g, scalar(lr), decay, epsilon)


@kernel("Adagrad")
def adagrad(
    xp: Any, w: Any, h: Any, g: Any, lr: Any, *, epsilon: float = 1e-5, decay: float = 1.0, weight_decay: float = 0.0
) -> tuple[Any, ...]:
    """See Duchi et al., Adaptive Subgradient Methods. The step is added: the rate is negative.

    Gives the parameter, the sum of squares, the rate of each element, and the step.
    """
    expect("float32", w, h, g)
    require_same_shape(w, h, g)
    g = g + weight_decay * w
    h = decay * h + g * g
    rate = scalar(lr) / (xp.sqrt(h) + epsilon)
    return w + rate * g, h, rate, rate * g


@kernel("Adam")
def adam(
    xp: Any,
    w: Any,
    m: Any,
    v: Any,
    g: Any,
    lr: Any,
    iteration: Any,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-5,
) -> tuple[Any, ...]:
    """See Kingma and Ba, Adam: A Method for Stochastic Optimization. The step is added: the rate is negative.

    Gives the parameter, the moments, and the step before it was multiplied by the rate.
    """
    expect("float32", w, m, v, g)
    require_same_shape(w, m, v, g)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    step = adam_scale(xp, iteration, beta1, beta2).astype(g.dtype) * m / (xp.sqrt(v) + epsilon)
    return w + scalar(lr) * step, m, v, step


@kernel("Ftrl")
def ftrl(
    xp: Any,
    w: Any,
    nz: Any,
    g: Any,
    rate: Any = None,
    *,
    alpha: float = 0.005,
    beta: float = 1.0,
    lambda1: float = 0.001,
    lambda2: float = 0.001,
) -> tuple[Any, Any]:
    """See McMahan et al., Ad Click Prediction: a View from the Trenches. The state holds (n, z) of each element."""
    check_ftrl(w, nz)
    expect("float32", g)
    require_same_shape(w, g)
    return ftrl_step(xp, w, nz, g, alpha if rate is None else scalar(rate), beta, lambda1, lambda2)


@kernel("GFtrl")
def gftrl(
    xp: Any,
    w: Any,
    nz: Any,
    g: Any,
    *,
    alpha: float = 0.005,
    beta: float = 1.0,
    lambda1: float = 0.001,
    lambda2: float = 0.001,
) -> tuple[Any, Any]:
    """FTRL that shrinks whole groups to zero: the elements with the same place in every row are one group."""
    check_ftrl(w, nz)
    expect("float32", g)
    require_same_shape(w, g)
    n, z = nz[..., 0], nz[..., 1]
    new_n = n + g * g
    new_z = z + g - (xp.sqrt(new_n) - xp.sqrt(n)) / alpha * w
    length = xp.sqrt((new_z * new_z).sum(axis=0, keepdims=True))
    bound = lambda1 * w.shape[0] ** 0.5
    pulled = new_z * (bound / length - 1) / ((beta + xp.sqrt(new_n)) / alpha + lambda2)
    return xp.where(length > bound, pulled, 0).astype(w.dtype), xp.stack([new_n, new_z], axis=-1)


@kernel("MomentumSGD")
def momentum_sgd(xp: Any, g: Any, m: Any, lr: Any, *, momentum: float = 0.0, nesterov: int = 0) -> tuple[Any, Any]:
    """The adjusted gradient and the new momentum; the parameter is left to another operator."""
    expect("float32", g, m)
    require_same_shape(g, m)
    return momentum_step(g, m, scalar(lr), momentum, nesterov)


@kernel("MomentumSGDUpdate")
def momentum_sgd_update(
    xp: Any, g: Any, m: Any, lr: Any, w: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> tuple[Any, Any, Any]:
    """As MomentumSGD, and the parameter less the adjusted gradient."""
    expect("float32", g, m, w)
    require_same_shape(g, m, w)
    adjusted, new = momentum_step(g, m, scalar(lr), momentum, nesterov)
    return adjusted, new, w - adjusted


@kernel("RmsProp")
def rms_prop(
    xp: Any,
    g: Any,
    ms: Any,
    m: Any,
    lr: Any,
    *,
    decay: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """The adjusted gradient, the mean of squares and the momentum."""
    expect("float32", g, ms, m)
    require_same_shape(g, ms, m)
    ms = ms + (1 - decay) * (g * g - ms)
    m = momentum * m + scalar(lr) * g / xp.sqrt(epsilon + ms)
    return m, ms, m


@kernel("Storm")
def storm(
    xp: Any, w: Any, m: Any, total: Any, g: Any, lr: Any, *, momentum: float = 10.0, beta: float = 0.1
) -> tuple[Any, Any, Any]:
    """See Cutkosky and Orabona, Momentum-Based Variance Reduction in Non-Convex SGD; the step is added."""
    expect("float32", w, m, g, total)
    require_same_shape(w, m, g)
    total, rate, alpha = storm_rates(g, total, lr, momentum, beta)
    m = g + (1 - alpha) * (m - g)
    return w + rate * m, m, total


@kernel("Wngrad")
def wngrad(xp: Any, w: Any, b: Any, g: Any, lr: Any, *, epsilon: float = 1e-5) -> tuple[Any, ...]:
    """See Wu et al., WNGrad: Learn the Learning Rate in Gradient Descent; the step is added.

    Gives the parameter, the state of one element, the effective rate of one element, and the step.
    """
    expect("float32", w, g)
    require_same_shape(w, g)
    rate = scalar(lr) / (scalar(b) + epsilon)
    return w + rate * g, b + (g * g).sum() / (b + epsilon), rate.reshape(1), rate * g


@kernel("SparseAdadelta")
def sparse_adadelta(
    xp: Any, w: Any, h: Any, d: Any, indices: Any, g: Any, lr: Any, *, epsilon: float = 1e-5, decay: float = 0.95
) -> tuple[Any, ...]:
    """Adadelta of some rows."""
    require_same_shape(w, h, d)
    rate = scalar(lr)
    return update_rows(
        xp, (w, h, d), indices, g, lambda w, h, d, g: adadelta_step(xp, w, h, d, g, rate, decay, epsilon)
    )


@kernel("SparseAdagrad")
def sparse_adagrad(
    xp: Any,
    w: Any,
    h: Any,
    indices: Any,
    g: Any,
    lr: Any,
    *,
    epsilon: float = 1e-5,
    decay: float = 1.0,
    weight_decay: float = 0.0,
) -> tuple[Any, ...]:
    """Adagrad of some rows."""
    require_same_shape(w, h)
    require(decay == 1, "the sparse form has no decay")
    rate = scalar(lr)

    def update(w: Any, h: Any, g: Any) -> tuple[Any, Any]:
        g = g + weight_decay * w
        h = h + g * g
        return w + rate * g / (xp.sqrt(h) + epsilon), h

    return update_rows(xp, (w, h), indices, g, update)


@kernel("RowWiseSparseAdagrad")
def row_wise_sparse_adagrad(
    xp: Any, w: Any, h: Any, indices: Any, g: Any, lr: Any, *, epsilon: float = 1e-5, weight_decay: float = 0.0
) -> tuple[Any, ...]:
    """Adagrad of some rows, with one sum of mean squares for each row."""
    rate = scalar(lr)

    def update(w: Any, h: Any, g: Any) -> tuple[Any, Any]:
        g = g + weight_decay * w
        h = h + mean_square_of_rows(g)
        return w + column(rate / (xp.sqrt(h) + epsilon), g) * g, h

    w, new, *_ = update_rows(xp, (w, h.reshape(-1)), indices, g, update)
    return w, new.reshape(h.shape)


@kernel("SparseAdam")
def sparse_adam(
    xp: Any,
    w: Any,
    m: Any,
    v: Any,
    indices: Any,
    g: Any,
    lr: Any,
    iteration: Any,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-5,
    enableRAdam: int = 0,  # noqa: N803
) -> tuple[Any, ...]:
    """Adam of some rows, or rectified Adam. Gives parameter, moments, and each step before the rate."""
    require_same_shape(w, m, v)
    rate = scalar(lr)
    scale, adapts = (
        rectified_scale(xp, iteration, beta1, beta2) if enableRAdam else (adam_scale(xp, iteration, beta1, beta2), True)
    )

    def update(w: Any, m: Any, v: Any, g: Any) -> tuple[Any, ...]:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        step = (scale * m / (xp.sqrt(v) + epsilon) if adapts else scale * m).astype(g.dtype)
        return w + rate * step, m, v, step

    return update_rows(xp, (w, m, v), indices, g, update)


@kernel("RowWiseSparseAdam")
def row_wise_sparse_adam(
    xp: Any,
    w: Any,
    m: Any,
    v: Any,
    indices: Any,
    g: Any,
    lr: Any,
    iteration: Any,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-5,
) -> tuple[Any, ...]:
    """Adam of some rows, with one second moment for each row."""
    require_same_shape(w, m)
    rate, scale = scalar(lr), adam_scale(xp, iteration, beta1, beta2).astype(g.dtype)

    def update(w: Any, m: Any, v: Any, g: Any) -> tuple[Any, ...]:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * mean_square_of_rows(g)
        step = column(scale / (xp.sqrt(v) + epsilon), g) * m
        return w + rate * step, m, v, step

    w, m, new, step = update_rows(xp, (w, m, v.reshape(-1)), indices, g, update)
    return w, m, new.reshape(v.shape), step


@kernel("SparseFtrl")
def sparse_ftrl(
    xp: Any,
    w: Any,
    nz: Any,
    indices: Any,
    g: Any,
    rate: Any = None,
    *,
    alpha: float = 0.005,
    beta: float = 1.0,
    lambda1: float = 0.001,
    lambda2: float = 0.001,
) -> tuple[Any, ...]:
    """FTRL of some rows."""
    check_ftrl(w, nz)
    chosen = alpha if rate is None else scalar(rate)
    return update_rows(
        xp, (w, nz), indices, g, lambda w, nz, g: ftrl_step(xp, w, nz, g, chosen, beta, lambda1, lambda2)
    )


@kernel("SparseMomentumSGDUpdate")
def sparse_momentum_sgd_update(
    xp: Any, g: Any, m: Any, lr: Any, w: Any, indices: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> tuple[Any, Any, Any]:
    """MomentumSGDUpdate of some rows; gives the adjusted gradients, the momentum and the parameter."""
    require_same_shape(w, m)
    rate = scalar(lr)

    def update(m: Any, w: Any, g: Any) -> tuple[Any, Any, Any]:
        adjusted, new = momentum_step(g, m, rate, momentum, nesterov)
        return new, w - adjusted, adjusted

    new, w, adjusted = update_rows(xp, (m, w), indices, g, update)
    return adjusted, new, w


@kernel("SparseStorm")
def sparse_storm(
    xp: Any, w: Any, m: Any, total: Any, g: Any, indices: Any, lr: Any, *, momentum: float = 10.0, beta: float = 0.1
) -> tuple[Any, Any, Any]:
    """Storm of some rows; the sum of squares is over all of their gradients."""
    require_same_shape(w, m)
    expect("float32", g, total)
    total, rate, alpha = storm_rates(g, total, lr, momentum, beta)

    def update(w: Any, m: Any, g: Any) -> tuple[Any, Any]:
        m = g + (1 - alpha) * (m - g)
        return w + rate * m, m

    w, m, *_ = update_rows(xp, (w, m), indices, g, update)
    return w, m, total


@kernel("SparseWngrad")
def sparse_wngrad(xp: Any, w: Any, b: Any, indices: Any, g: Any, lr: Any, *, epsilon: float = 1e-5) -> tuple[Any, Any]:
    """Wngrad of some rows; here upstream leaves `epsilon` out of the state."""
    rate = scalar(lr) / (scalar(b) + epsilon)
    w, *_ = update_rows(xp, (w,), indices, g, lambda w, g: (w + rate * g,))
    return w, b + (g * g).sum() / b


@kernel("RowWiseCounter")
def row_wise_counter(
    xp: Any, last: Any, counter: Any, indices: Any, iteration: Any, *, counter_halflife: int = -1
) -> tuple[Any, Any]:
    """How often rows were used of late: a count that halves every so many iterations, and when it was last changed."""
    expect("int64", last, iteration)
    expect("float64", counter)
    decay = 0.6931471805599453 / counter_halflife
    now, last, counter = iteration.reshape(-1)[0], last.copy(), counter.copy()
    if counter_halflife > 0:
        for turn in turns(xp, indices, last.shape[0]):
            rows = indices[turn]
            passed = xp.maximum(now - last[rows], 1).reshape(-1)
            counter[rows] = 1 + xp.exp(-decay * passed) * counter[rows]
            last[rows] = now
    return last, counter


@kernel("SparseAdagradFusedWithSparseLengthsSumGradient")
def sparse_adagrad_of_sum(
    xp: Any, w: Any, h: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> Any:
    """SparseAdagrad with the gradient of SparseLengthsSum."""
    return sparse_adagrad(xp, w, h, indices, segment_gradients(xp, g, lengths, indices), lr, epsilon=epsilon)


@kernel("SparseAdagradFusedWithSparseLengthsMeanGradient")
def sparse_adagrad_of_mean(
    xp: Any, w: Any, h: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> Any:
    """SparseAdagrad with the gradient of SparseLengthsMean."""
    return sparse_adagrad(xp, w, h, indices, segment_gradients(xp, g, lengths, indices, mean=True), lr, epsilon=epsilon)


@kernel("RowWiseSparseAdagradFusedWithSparseLengthsSumGradient")
def row_wise_sparse_adagrad_of_sum(
    xp: Any, w: Any, h: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> Any:
    """RowWiseSparseAdagrad with the gradient of SparseLengthsSum."""
    rows = segment_gradients(xp, g, lengths, indices)
    return row_wise_sparse_adagrad(xp, w, h, indices, rows, lr, epsilon=epsilon)


@kernel("RowWiseSparseAdagradFusedWithSparseLengthsMeanGradient")
def row_wise_sparse_adagrad_of_mean(
    xp: Any, w: Any, h: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> Any:
    """RowWiseSparseAdagrad with the gradient of SparseLengthsMean."""
    rows = segment_gradients(xp, g, lengths, indices, mean=True)
    return row_wise_sparse_adagrad(xp, w, h, indices, rows, lr, epsilon=epsilon)


def _weighted_adagrad(
    xp: Any, w: Any, h: Any, weights: Any, indices: Any, g: Any, lr: Any, lengths: Any, epsilon: float, row_wise: bool
) -> tuple[Any, Any, Any]:
    rows = segment_gradients(xp, g, lengths, indices)
    expect("float32", w, weights)
    require(weights.size == indices.size, f"there are {weights.size} weights for {indices.size} indices")
    # Upstream takes the gradient of the weights from the parameter as it was, but in the updates it reads the weights
    # anew from the first one in every segment.
    d_weights = (rows * w[indices]).sum(axis=tuple(range(1, rows.ndim)))
    place = xp.arange(indices.size) - (xp.cumsum(lengths) - lengths)[by_lengths(xp, lengths)[0]]
    update = row_wise_sparse_adagrad if row_wise else sparse_adagrad
    w, h, *_ = update(xp, w, h, indices, rows * column(weights[place], rows), lr, epsilon=epsilon)
    return w, h, d_weights


@kernel("SparseAdagradFusedWithSparseLengthsWeightedSumGradient")
def sparse_adagrad_of_weighted_sum(
    xp: Any, w: Any, h: Any, weights: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> tuple[Any, ...]:
    """SparseAdagrad with the gradient of SparseLengthsWeightedSum, and the gradient of its weights."""
    return _weighted_adagrad(xp, w, h, weights, indices, g, lr, lengths, epsilon, row_wise=False)


@kernel("RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradient")
def row_wise_sparse_adagrad_of_weighted_sum(
    xp: Any, w: Any, h: Any, weights: Any, indices: Any, g: Any, lr: Any, lengths: Any, *, epsilon: float = 1e-5
) -> tuple[Any, ...]:
    """RowWiseSparseAdagrad with the gradient of SparseLengthsWeightedSum, and the gradient of its weights."""
    return _weighted_adagrad(xp, w, h, weights, indices, g, lr, lengths, epsilon, row_wise=True)


@kernel("YellowFin")
def yellow_fin(
    xp: Any,
    w: Any,
    m: Any,
    lr: Any,
    mu: Any,
    window: Any,
    g_average: Any,
    square_average: Any,
    memory: Any,
    g: Any,
    iteration: Any,
    *,
    beta: float = 0.999,
    curv_win_width: int = 20,
    epsilon: float = 1e-6,
    nesterov: int = 0,
    zero_debias: int = 1,
) -> tuple[Any, ...]:
    """A step with the averaged rate and momentum, then both are tuned anew; the first step only measures."""
    expect("float32", w, m, window, g_average, square_average, memory, g)
    expect("int64", iteration)
    require_same_shape(w, m, g, g_average, square_average)
    require(window.size == curv_win_width and memory.size == 5, "the window or the memory of scalars has a wrong size")
    step = int(iteration.reshape(-1)[0])
    require(step > 0, "iterations are counted from 1 here")
    average = Average(beta, 1 - beta**step if zero_debias else 1.0)
    adjusted, m = momentum_step(g, m, scalar(lr), scalar(mu), nesterov)
    state = window, g_average, square_average, memory
    state, low, high, variance, distance = measure(xp, average, step, g, state, epsilon)
    if step > 1:
        new_lr, new_mu = tune(xp, low, high, variance, distance)
        lr, mu = average.move(lr, new_lr)[0], average.move(mu, new_mu)[0]
    return (w - adjusted, m, lr, mu, *state)
