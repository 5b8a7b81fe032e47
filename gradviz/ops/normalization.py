"""Normalisation over batches, channels, layers and neighbourhoods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import axis_of, require, require_same_shape
from gradviz.ops._planes import affine, as_pictures, as_planes, dot, moments, of_channels, through_moments, totals
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import same

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _spatial_bn_gradient(maker: Maker) -> list[GradientOp]:
    """In test mode the statistics are inputs; in training the saved ones.

    Over several batches the sums of the scale's and the bias's gradients come in under the names they go out.
    """
    if maker.args.flag("is_test"):
        _expect_counts(maker, 5, 1)
        statistics = [maker.I(3), maker.I(4)]
    elif maker.args.integer("num_batches", 1) > 1:
        _expect_counts(maker, 7, 5)
        statistics = [maker.O(3), maker.O(4), maker.GI(1), maker.GI(2)]
    else:
        _expect_counts(maker, 5, 5)
        statistics = [maker.O(3), maker.O(4)]
    inputs = [maker.I(0), maker.I(1), maker.GO(0), *statistics]
    return [maker.make("SpatialBNGradient", inputs, [maker.GI(0), maker.GI(1), maker.GI(2)])]


def _expect_counts(maker: Maker, inputs: int, outputs: int) -> None:
    found = len(maker.op.inputs), len(maker.op.outputs)
    if found != (inputs, outputs):
        maker.refuse(
            f"with these values of is_test and num_batches it needs {inputs} inputs and {outputs} outputs, "
            f"but has {found[0]} and {found[1]}"
        )


def _instance_norm_gradient(maker: Maker) -> list[GradientOp]:
    """The saved statistics are read where the forward operator gives them out."""
    inputs = [maker.I(0), maker.I(1), maker.I(2), maker.GO(0), *maker.op.outputs[1:3]]
    return [maker.make("InstanceNormGradient", inputs, [maker.GI(0), maker.GI(1), maker.GI(2)])]


def _layer_norm_gradient(maker: Maker) -> list[GradientOp]:
    inputs = [maker.GO(0), maker.O(0), maker.O(1), maker.O(2), maker.I(0)]
    outputs = [maker.GI(0)]
    if maker.args.flag("elementwise_affine"):
        inputs.append(maker.I(1))
        outputs += [maker.GI(1), maker.GI(2)]
    return [maker.make("LayerNormGradient", inputs, outputs)]


def _affine_channel_gradient(maker: Maker) -> list[GradientOp]:
    """Scale and bias get gradients only where `is_learnable` is given; only then is the data read."""
    if maker.args.flag("is_learnable"):
        inputs, outputs = [maker.GO(0), maker.I(0), maker.I(1)], [maker.GI(0), maker.GI(1), maker.GI(2)]
    else:
        inputs, outputs = [maker.GO(0), maker.I(1)], [maker.GI(0)]
    return [maker.make("AffineChannelGradient", inputs, outputs)]


operator(
    "SpatialBN",
    arities=[(5, 1), (5, 5), (7, 1), (7, 5)],
    inplace=[(0, 0), (5, 3), (6, 4)],
    enforced=[(3, 1), (4, 2)],
    args="is_test epsilon order momentum num_batches",
    required="is_test",
    gradient=_spatial_bn_gradient,
)
operator("SpatialBNGradient", outputs=3, arities=[(5, 3), (7, 3)], inplace=[(5, 1), (6, 2)])


@kernel("SpatialBN")
def spatial_bn(
    xp: Any,
    x: Any,
    scale: Any,
    bias: Any,
    mean: Any,
    var: Any,
    batch_sum: Any = None,
    batch_square_sum: Any = None,
    *,
    is_test: int,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    num_batches: int = 1,
    order: str = "NCHW",
) -> Any:
    """Normalise each channel, in test by the running mean and variance, in training by the batch's own.

    Training also gives the new running mean and (unbiased) variance, and the batch's mean and inverse deviation. Over
    several batches these come from the sums of X and X² that the last two inputs hold.
    """
    require(x.ndim >= 2, f"X has {x.ndim} dimensions where at least 2 are wanted")
    planes, real = as_planes(x, order), x.dtype.type
    of_channels(planes, scale, bias, mean, var)
    if is_test:
        factor = scale / xp.sqrt(var + real(epsilon))
        return as_pictures(xp, affine(planes, factor, bias - mean * factor), x, order)
    count = num_batches * planes.shape[0] * planes.shape[2]
    if planes.size == 0:
        return x.copy(), mean, var, xp.zeros_like(mean), xp.zeros_like(var)
    if num_batches > 1:
        batch_mean = batch_sum / real(count)
        y = planes - batch_mean[:, None]
        batch_var = batch_square_sum / real(count) - batch_mean * batch_mean
    else:
        batch_mean = totals(xp, planes).sum(axis=0) / real(count)
        y = planes - batch_mean[:, None]
        batch_var = dot(y, y).sum(axis=0) / real(count)
    inverse = 1 / xp.sqrt(batch_var + real(epsilon))
    y *= (scale * inverse)[:, None]
    y += bias[:, None]
    keep, take = real(momentum), real(1) - real(momentum)
    # One element has no unbiased variance: 0 · 1/0, as upstream has it.
    unbiased = take * real(count) / real(count - 1)
    return (
        as_pictures(xp, y, x, order),
        keep * mean + take * batch_mean,
        keep * var + unbiased * batch_var,
        batch_mean,
        inverse,
    )


@kernel("SpatialBNGradient")
def spatial_bn_gradient(
    xp: Any,
    x: Any,
    scale: Any,
    dy: Any,
    mean: Any,
    inverse: Any,
    dscale_sum: Any = None,
    dbias_sum: Any = None,
    *,
    num_batches: int = 1,
    order: str = "NCHW",
) -> Any:
    """The gradient in training, of X, scale and bias.

    Over several batches the last two inputs hold the sums of the gradients of scale and bias over all of them. In test
    mode the rule hands the variance in for the inverse deviation; upstream's CPU kernel does not mind, nor does this.
    """
    require(x.ndim >= 3, f"X has {x.ndim} dimensions where at least 3 are wanted")
    require_same_shape(x, dy)
    planes, slopes, real = as_planes(x, order), as_planes(dy, order), x.dtype.type
    of_channels(planes, scale, mean, inverse)
    if planes.size == 0:
        return xp.zeros_like(x), xp.zeros_like(scale), xp.zeros_like(scale)
    centred = planes - mean[:, None]
    if num_batches > 1:
        dscale, dbias = dscale_sum / real(num_batches), dbias_sum / real(num_batches)
    else:
        dscale, dbias = dot(centred, slopes).sum(axis=0) * inverse, totals(xp, slopes).sum(axis=0)
    share = real(1 / (planes.shape[0] * planes.shape[2]))
    # One pass is spared by leaving `centred` undivided by the deviation.
    dx = through_moments(centred, slopes, scale * inverse, dscale * inverse * share, dbias * share)
    return as_pictures(xp, dx, x, order), dscale, dbias


operator(
    "LRN",
    inputs=1,
    outputs=(1, 2),
    args="size alpha beta bias order",
    gradient=emit("LRNGradient", [I(0), O(0), GO(0)], [GI(0)]),
)
operator("LRNGradient", inputs=3, outputs=1)


def _neighbours(xp: Any, x: Any, size: int, order: str, ahead: int) -> Any:
    """The sum over `size` neighbouring channels, of which `ahead` lie before the channel itself."""
    x = xp.moveaxis(x, 1 if order == "NCHW" else -1, 0)
    channels = x.shape[0]
    ahead, behind = min(ahead, channels), min(size - 1 - ahead, channels)  # beyond the first and last is nothing
    size = ahead + 1 + behind
    wide = xp.zeros((channels + size - 1, *x.shape[1:]), x.dtype)
    wide[ahead : ahead + channels] = x
    total = wide[:channels].copy()
    for i in range(1, size):
        total += wide[i : i + channels]
    return xp.moveaxis(total, 0, 1 if order == "NCHW" else -1)


def _lrn_scale(xp: Any, x: Any, size: int, alpha: float, bias: float, order: str) -> Any:
    require(x.ndim == 4, f"X has {x.ndim} dimensions where 4 are wanted")
    require(size >= 1, f"size must be at least 1, not {size}")
    real = x.dtype.type
    scale = _neighbours(xp, x * x, size, order, (size - 1) // 2) * real(alpha / size)
    scale += real(bias)
    return scale


@kernel("LRN")
def lrn(xp: Any, x: Any, *, size: int, alpha: float, beta: float, bias: float = 1.0, order: str = "NCHW") -> Any:
    """Divide by a power of bias + alpha times the mean square over neighbouring channels; that sum is given out too."""
    expect("float32", x)
    scale = _lrn_scale(xp, x, size, alpha, bias, order)
    return x * scale ** x.dtype.type(-beta), xp.ascontiguousarray(scale)


@kernel("LRNGradient")
def lrn_gradient(
    xp: Any,
    x: Any,
    y: Any,
    dy: Any,
    *,
    size: int,
    alpha: float,
    beta: float,
    bias: float = 1.0,
    order: str = "NCHW",
) -> Any:
    expect("float32", x, y, dy)
    require_same_shape(x, y, dy)
    real = x.dtype.type
    scale = _lrn_scale(xp, x, size, alpha, bias, order)
    shared = _neighbours(xp, dy * y / scale, size, order, size - 1 - (size - 1) // 2)
    return dy * scale ** real(-beta) - real(2 * alpha * beta / size) * x * shared


operator(
    "InstanceNorm", inputs=3, outputs=(1, 3), inplace=[(0, 0)], args="epsilon order", gradient=_instance_norm_gradient
)
operator("InstanceNormGradient", inputs=(4, 6), outputs=3)


@kernel("InstanceNorm")
def instance_norm(xp: Any, x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, order: str = "NCHW") -> Any:
    """Normalise each channel of each picture; their means and inverse deviations (N, C) are given out too."""
    planes = as_planes(x, order)
    of_channels(planes, scale, bias)
    mean, inverse = moments(xp, planes, epsilon)
    factor = scale * inverse
    return as_pictures(xp, affine(planes, factor, bias - mean * factor), x, order), mean, inverse


@kernel("InstanceNormGradient")
def instance_norm_gradient(
    xp: Any,
    x: Any,
    scale: Any,
    bias: Any,
    dy: Any,
    mean: Any = None,
    inverse: Any = None,
    *,
    epsilon: float = 1e-5,
    order: str = "NCHW",
) -> Any:
    """What of the moments is not given is computed again."""
    require_same_shape(x, dy)
    planes, slopes = as_planes(x, order), as_planes(dy, order)
    of_channels(planes, scale, bias)
    own_mean, own_inverse = moments(xp, planes, epsilon) if inverse is None else (None, None)
    mean, inverse = own_mean if mean is None else mean, own_inverse if inverse is None else inverse
    normal = affine(planes, inverse, -mean * inverse)
    dscale, dbias = dot(normal, slopes), totals(xp, slopes)
    share = x.dtype.type(1 / max(1, planes.shape[2]))
    dx = through_moments(normal, slopes, scale * inverse, dscale * share, dbias * share)
    return as_pictures(xp, dx, x, order), dscale.sum(axis=0), dbias.sum(axis=0)


operator(
    "LayerNorm",
    outputs=3,
    arities=[(1, 3), (3, 3)],
    args="axis epsilon elementwise_affine",
    gradient=_layer_norm_gradient,
)
operator("LayerNormGradient", arities=[(5, 1), (5, 3), (6, 1), (6, 3)])
operator("C10LayerNorm_DontUseThisOpYet", checked=False)


def _layers(x: Any, axis: int) -> tuple[Any, tuple[int, ...]]:
    """`x` as (rows, size), folded at `axis`, and the dimensions before it."""
    before = x.shape[: axis_of(axis, x.ndim)]
    return x.reshape(math.prod(before), math.prod(x.shape[len(before) :])), before


@kernel("LayerNorm", "C10LayerNorm_DontUseThisOpYet")
def layer_norm(
    xp: Any,
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    *,
    axis: int = 1,
    epsilon: float = 1e-5,
    elementwise_affine: int = 0,
) -> Any:
    """Normalise over the dimensions from `axis` on; means and deviations (..., 1) are given out too."""
    expect("float32", x)
    rows, before = _layers(x, axis)
    mean, inverse = moments(xp, rows, epsilon)
    y = affine(rows, inverse, -mean * inverse)
    if elementwise_affine:
        require(gamma is not None and beta is not None, "elementwise_affine needs gamma and beta as inputs")
        expect("float32", gamma, beta)
        require(gamma.size == beta.size == rows.shape[1], f"gamma and beta do not have {rows.shape[1]} elements")
        y = y * gamma.ravel() + beta.ravel()
    return y.reshape(x.shape), mean.reshape(*before, 1), (1 / inverse).reshape(*before, 1)


@kernel("LayerNormGradient")
def layer_norm_gradient(
    xp: Any,
    dy: Any,
    y: Any,
    mean: Any,
    deviation: Any,
    x: Any,
    gamma: Any = None,
    *,
    axis: int = 1,
    elementwise_affine: int = 0,
) -> Any:
    expect("float32", dy, x, mean, deviation)
    require_same_shape(x, dy)
    (rows, _), (slopes, _) = _layers(x, axis), _layers(dy, axis)
    mean, inverse = mean.ravel(), 1 / deviation.ravel()
    normal = affine(rows, inverse, -mean * inverse)
    outer = slopes
    answer: tuple[Any, ...] = ()
    if elementwise_affine:
        require(gamma is not None, "elementwise_affine needs gamma as an input")
        outer = slopes * gamma.ravel()
        answer = ((slopes * normal).sum(axis=0).reshape(gamma.shape), slopes.sum(axis=0).reshape(gamma.shape))
    share = x.dtype.type(1 / max(1, rows.shape[1]))
    along, sums = dot(normal, outer) * share, outer.sum(axis=1) * share
    return through_moments(normal, outer, inverse, along, sums).reshape(x.shape), *answer


operator(
    "GroupNorm",
    inputs=3,
    arities=[(3, 1), (3, 3)],
    args="num_groups epsilon",
    gradient=emit("GroupNormGradient", [GO(0), I(0), I(1), I(2), O(1), O(2)], [GI(0), GI(1), GI(2)]),
)
operator("GroupNormGradient", inputs=6, outputs=3)


def _groups(planes: Any, group: int) -> Any:
    """Planes (N, C, size) as (N, groups, C/groups · size)."""
    n, channels, size = planes.shape
    require(group > 0 and channels % group == 0, f"{channels} channels do not fall into {group} groups")
    return planes.reshape(n, group, channels // group * size)


def _each_channel(values: Any, channels: int) -> Any:
    """One value for each group, (N, groups), repeated for its channels."""
    return values.repeat(channels // values.shape[1], axis=1)


@kernel("GroupNorm")
def group_norm(
    xp: Any,
    x: Any,
    gamma: Any,
    beta: Any,
    *,
    group: int = 32,
    epsilon: float = 1e-5,
    order: str = "NCHW",
) -> Any:
    """Normalise over groups of channels; their means and inverse deviations (N, groups) are given out too."""
    planes = as_planes(x, order)
    of_channels(planes, gamma, beta)
    mean, inverse = moments(xp, _groups(planes, group), epsilon)
    factor = gamma * _each_channel(inverse, gamma.size)
    y = affine(planes, factor, beta - _each_channel(mean, gamma.size) * factor)
    return as_pictures(xp, y, x, order), mean, inverse


@kernel("GroupNormGradient")
def group_norm_gradient(
    xp: Any,
    dy: Any,
    x: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    inverse: Any,
    *,
    group: int = 32,
    order: str = "NCHW",
) -> Any:
    require_same_shape(x, dy)
    planes, slopes = as_planes(x, order), as_planes(dy, order)
    of_channels(planes, gamma, beta)
    normal = affine(_groups(planes, group), inverse, -mean * inverse)
    dgamma, dbeta = dot(normal.reshape(planes.shape), slopes), totals(xp, slopes)
    share = x.dtype.type(1 / max(1, normal.shape[2]))
    shape = (x.shape[0], group, gamma.size // group)
    along, sums = ((gamma * each).reshape(shape).sum(axis=2) * share for each in (dgamma, dbeta))
    dx = through_moments(normal, _groups(slopes * gamma[:, None], group), inverse, along, sums)
    return as_pictures(xp, dx, x, order), dgamma.sum(axis=0), dbeta.sum(axis=0)


operator(
    "RMSNorm",
    inputs=3,
    outputs=2,
    args="axis epsilon",
    gradient=emit("RMSNormGradient", [GO(0), I(0), I(1), O(1)], [GI(0), GI(1), GI(2)]),
)
operator("RMSNormGradient", inputs=4, outputs=3)


@kernel("RMSNorm")
def rms_norm(xp: Any, x: Any, gamma: Any, beta: Any, *, axis: int = 1, eps: float = 0.0) -> Any:
    """Divide by the root of the mean square over the dimensions from `axis` on; its inverse is given out too."""
    expect("float32 float64", x)
    expect(str(x.dtype), gamma, beta)
    rows, before = _layers(x, axis)
    real = x.dtype.type
    inverse = 1 / xp.sqrt(dot(rows, rows) / real(max(1, rows.shape[1])) + real(eps))
    y = rows * inverse[:, None] * gamma.ravel() + beta.ravel()
    return y.reshape(x.shape), inverse.reshape(before)


@kernel("RMSNormGradient")
def rms_norm_gradient(xp: Any, dy: Any, x: Any, gamma: Any, inverse: Any, *, axis: int = 1) -> Any:
    expect("float32 float64", x)
    expect(str(x.dtype), dy, gamma, inverse)
    (rows, _), (slopes, _) = _layers(x, axis), _layers(dy, axis)
    inverse, real = inverse.ravel()[:, None], x.dtype.type
    outer = slopes * gamma.ravel()
    along = dot(outer, rows)[:, None] / real(max(1, rows.shape[1]))
    dx = (outer - rows * along * inverse**2) * inverse
    return (
        dx.reshape(x.shape),
        (slopes * rows * inverse).sum(axis=0).reshape(gamma.shape),
        slopes.sum(axis=0).reshape(gamma.shape),
    )


operator("Normalize", inputs=1, outputs=1, args="axis", gradient=emit("NormalizeGradient", [I(0), GO(0)], [GI(0)]))
operator("NormalizeGradient", inputs=2, outputs=1, args="axis")
operator("NormalizeL1", inputs=1, outputs=1, args="axis")

_LEAST_NORM = 1e-12


def _norm(xp: Any, x: Any, axis: int) -> Any:
    """The 2-norm along `axis`, which is kept, and at least `_LEAST_NORM`."""
    norm = xp.sqrt((x * x).sum(axis=axis_of(axis, x.ndim), keepdims=True))
    return xp.maximum(norm, x.dtype.type(_LEAST_NORM))


@kernel("Normalize")
def normalize(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Divide by the 2-norm along `axis`."""
    expect("float32", x)
    return x / _norm(xp, x, axis)


@kernel("NormalizeGradient")
def normalize_gradient(xp: Any, x: Any, dy: Any, *, axis: int = -1) -> Any:
    expect("float32", x, dy)
    require_same_shape(x, dy)
    norm = _norm(xp, x, axis)
    return dy / norm - x * ((x * dy).sum(axis=axis_of(axis, x.ndim), keepdims=True) / norm**3)


@kernel("NormalizeL1")
def normalize_l1(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """Divide by the sum of the magnitudes along `axis`, where it is not 0."""
    expect("float32", x)
    norm = abs(x).sum(axis=axis_of(axis, x.ndim), keepdims=True)
    return x / xp.where(norm == 0, 1, norm)


operator("NormalizePlanarYUV", inputs=3, outputs=1, inplace=[(0, 0)])


@kernel("NormalizePlanarYUV")
def normalize_planar_yuv(xp: Any, x: Any, mean: Any, deviation: Any) -> Any:
    """(X - M) / S, with one row of means and deviations for the channels of all pictures."""
    expect("float32", x, mean, deviation)
    require(x.ndim == 4, f"X has {x.ndim} dimensions where 4 are wanted")
    require(mean.size == deviation.size == x.shape[1], f"means and deviations do not fit {x.shape[1]} channels")
    return (x - mean.reshape(-1, 1, 1)) / deviation.reshape(-1, 1, 1)


operator("AffineChannel", inputs=3, outputs=1, inplace=[(0, 0)], gradient=_affine_channel_gradient)
operator("AffineChannelGradient", arities=[(2, 1), (2, 3), (3, 1), (3, 3)], inplace=[(0, 0)])
operator("ChannelStats", inputs=1, outputs=2, gradient=SHOULD_NOT)
operator("ChannelBackpropStats", inputs=4, outputs=2, gradient=SHOULD_NOT)


@kernel("AffineChannel")
def affine_channel(xp: Any, x: Any, scale: Any, bias: Any, *, order: str = "NCHW") -> Any:
    """One factor and one offset for each channel."""
    planes = as_planes(x, order)
    of_channels(planes, scale, bias)
    return as_pictures(xp, affine(planes, scale, bias), x, order)


@kernel("AffineChannelGradient")
def affine_channel_gradient(xp: Any, dy: Any, *inputs: Any, order: str = "NCHW", is_learnable: int = 0) -> Any:
    """Reads dY, the scale and, where it is learnable, X between them."""
    scale = inputs[-1]
    slopes = as_planes(dy, order)
    of_channels(slopes, scale)
    dx = as_pictures(xp, slopes * scale[:, None], dy, order)
    if not is_learnable:
        return dx
    require(len(inputs) == 2, "is_learnable needs X as an input")
    require_same_shape(inputs[0], dy)
    return dx, dot(as_planes(inputs[0], order), slopes).sum(axis=0), totals(xp, slopes).sum(axis=0)


@kernel("ChannelStats")
def channel_stats(xp: Any, x: Any, *, order: str = "NCHW") -> Any:
    """Sums of each channel's elements and of their squares."""
    expect("float32", x)
    planes = as_planes(x, order)
    return totals(xp, planes).sum(axis=0), dot(planes, planes).sum(axis=0)


@kernel("ChannelBackpropStats")
def channel_backprop_stats(xp: Any, x: Any, mean: Any, inverse: Any, dy: Any) -> Any:
    """One batch's part in the gradients of scale and bias of a SpatialBN over several batches."""
    require_same_shape(x, dy)
    planes, slopes = as_planes(x, "NCHW"), as_planes(dy, "NCHW")
    of_channels(planes, mean, inverse)
    dbias = totals(xp, slopes).sum(axis=0)
    return (dot(planes, slopes).sum(axis=0) - mean * dbias) * inverse, dbias


operator(
    "SparseNormalize",
    inputs=(2, 3),
    outputs=1,
    enforced=same,
    args="use_max_norm norm",
    gradient=SHOULD_NOT,
)
operator(
    "Float16SparseNormalize",
    inputs=(2, 3),
    outputs=1,
    enforced=same,
    args="use_max_norm norm",
    gradient=SHOULD_NOT,
)


@kernel("SparseNormalize", "Float16SparseNormalize")
def sparse_normalize(
    xp: Any,
    param: Any,
    indices: Any,
    gradient: Any = None,
    *,
    ctx: Context,
    use_max_norm: int = 1,
    norm: float = 1.0,
) -> Any:
    """Give the rows at `indices` the 2-norm `norm`; with `use_max_norm` only those that are longer."""
    expect("float32" if ctx.op.type == "SparseNormalize" else "float16", param)
    expect("int32 int64", indices)
    rows = param[indices].reshape(indices.size, -1)
    wide = rows.astype("float32") if rows.dtype.itemsize == 2 else rows
    lengths = xp.sqrt((wide * wide).sum(axis=1, keepdims=True))
    # The factor is rounded to the parameter's dtype before it is applied.
    factor = (norm / (lengths + 1e-12)).astype(param.dtype)
    if use_max_norm:
        factor = xp.where(lengths <= norm, param.dtype.type(1), factor)
    y = param.copy()
    y[indices.ravel()] = (rows * factor).reshape(indices.size, *param.shape[1:])
    return y


operator(
    "WeightScale", inputs=2, outputs=1, inplace=[(0, 0)], args="stepsize upper_bound_iter scale", gradient=SHOULD_NOT
)


@kernel("WeightScale")
def weight_scale(
    xp: Any,
    w: Any,
    iteration: Any,
    *,
    stepsize: int = 2**63 - 1,
    upper_bound_iter: int = 2**63 - 1,
    scale: float = 1.0,
) -> Any:
    """Multiply W by `scale` in every `stepsize`-th iteration before `upper_bound_iter`."""
    expect("float32", w)
    expect("int64", iteration)
    now = int(iteration.ravel()[0]) + 1
    return w * w.dtype.type(scale) if now % stepsize == 0 and now < upper_bound_iter else w.copy()
