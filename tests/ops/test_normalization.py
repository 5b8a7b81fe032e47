"""Normalisations: by definition, their statistics, and gradients against differences."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4 = np.float32


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(f4)


X, SCALE, BIAS = normal(3, 4, 2, 5), normal(4, seed=1), normal(4, seed=2)
MEAN, VAR = normal(4, seed=3), abs(normal(4, seed=4)) + 1


def by_channel(vector):
    return vector[:, None, None]


def train(x, scale=SCALE, bias=BIAS, **args):
    names = ["x", "scale", "bias", "mean", "var"]
    op = definition("SpatialBN", 5, names=names, outputs=["y", "mean", "var", "m", "s"], is_test=0, **args)
    from gradviz.execute.operator import run_op

    return run_op(op, [x, scale, bias, MEAN, VAR])


def test_spatial_bn_in_test_uses_the_running_statistics():
    y = run("SpatialBN", X, SCALE, BIAS, MEAN, VAR, is_test=1, epsilon=0.5)
    want = (X - by_channel(MEAN)) / np.sqrt(by_channel(VAR) + 0.5) * by_channel(SCALE) + by_channel(BIAS)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_spatial_bn_in_training_gives_out_statistics():
    y, mean, var, batch_mean, inverse = train(X, momentum=0.75, epsilon=1e-3)
    own_mean, own_var = X.mean(axis=(0, 2, 3)), X.var(axis=(0, 2, 3))
    np.testing.assert_allclose(batch_mean, own_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(inverse, 1 / np.sqrt(own_var + 1e-3), rtol=1e-4)
    np.testing.assert_allclose(mean, 0.75 * MEAN + 0.25 * own_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(var, 0.75 * VAR + 0.25 * own_var * 30 / 29, rtol=1e-4)
    np.testing.assert_allclose(y.std(axis=(0, 2, 3)), abs(SCALE), rtol=1e-2)
    np.testing.assert_allclose(y.mean(axis=(0, 2, 3)), BIAS, rtol=1e-4, atol=1e-5)


def test_spatial_bn_of_no_pictures_leaves_the_statistics_alone():
    y, mean, var, batch_mean, inverse = train(X[:0])
    assert y.shape == (0, 4, 2, 5) and (mean == MEAN).all() and (var == VAR).all()
    assert not batch_mean.any() and not inverse.any()


def test_spatial_bn_wants_is_test_and_its_statistics_in_place():
    with pytest.raises(ExecutionError, match="is_test"):
        run("SpatialBN", X, SCALE, BIAS, MEAN, VAR)
    with pytest.raises(ExecutionError, match="schema"):
        run("SpatialBN", X, SCALE, BIAS, MEAN, VAR, outputs=5, is_test=0)
    with pytest.raises(ExecutionError, match="4 channels"):
        run("SpatialBN", X, SCALE[:3], BIAS, MEAN, VAR, is_test=1)


def slope(function, x, dy, direction, step=1e-2):
    """The change of <function, dy> along a direction, from differences."""
    ahead, behind = (function((x + sign * step * direction).astype(f4)).astype("f8") for sign in (1, -1))
    return ((ahead - behind) * dy).sum() / (2 * step)


def agrees(function, x, dy, gradient):
    direction = normal(*x.shape, seed=9)
    assert slope(function, x, dy, direction) == pytest.approx((gradient * direction).sum(), rel=2e-2, abs=2e-2)


def in_order(order):
    x = X if order == "NCHW" else X.transpose(0, 2, 3, 1).copy()
    return x, normal(*x.shape, seed=5)


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_spatial_bn_gradient(order):
    x, dy = in_order(order)
    _, _, _, mean, inverse = train(x, order=order)
    dx, dscale, dbias = run("SpatialBNGradient", x, SCALE, dy, mean, inverse, outputs=3, is_test=0, order=order)
    agrees(lambda x: train(x, order=order)[0], x, dy, dx)
    agrees(lambda scale: train(x, scale=scale, order=order)[0], SCALE, dy, dscale)
    agrees(lambda bias: train(x, bias=bias, order=order)[0], BIAS, dy, dbias)


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("type", "args"), [("InstanceNorm", {}), ("GroupNorm", {"group": 2})])
def test_instance_and_group_norm_gradients(type, args, order):
    x, dy = in_order(order)
    args = {"order": order, **args}
    _, mean, inverse = run(type, x, SCALE, BIAS, outputs=3, **args)
    if type == "InstanceNorm":
        made = run("InstanceNormGradient", x, SCALE, BIAS, dy, mean, inverse, outputs=3, **args)
        again = run("InstanceNormGradient", x, SCALE, BIAS, dy, outputs=3, **args)
        np.testing.assert_allclose(made[0], again[0], rtol=1e-3, atol=1e-4)
    else:
        made = run("GroupNormGradient", dy, x, SCALE, BIAS, mean, inverse, outputs=3, **args)
    agrees(lambda x: run(type, x, SCALE, BIAS, outputs=3, **args)[0], x, dy, made[0])
    agrees(lambda scale: run(type, x, scale, BIAS, outputs=3, **args)[0], SCALE, dy, made[1])
    agrees(lambda bias: run(type, x, SCALE, bias, outputs=3, **args)[0], BIAS, dy, made[2])


def test_layer_norm_and_its_gradient():
    gamma, beta = normal(4, 2, 5, seed=6), normal(4, 2, 5, seed=7)
    y, mean, deviation = run("LayerNorm", X, outputs=3)
    assert mean.shape == deviation.shape == (3, 1)
    np.testing.assert_allclose(deviation[:, 0], np.sqrt(X.reshape(3, -1).var(axis=1) + 1e-5), rtol=1e-4)
    np.testing.assert_allclose(y.reshape(3, -1).std(axis=1), 1, rtol=1e-3)
    args = {"elementwise_affine": 1}
    dy = normal(*X.shape, seed=5)
    dx, dgamma, dbeta = run("LayerNormGradient", dy, y, mean, deviation, X, gamma, outputs=3, **args)
    agrees(lambda x: run("LayerNorm", x, gamma, beta, outputs=3, **args)[0], X, dy, dx)
    agrees(lambda gamma: run("LayerNorm", X, gamma, beta, outputs=3, **args)[0], gamma, dy, dgamma)
    agrees(lambda beta: run("LayerNorm", X, gamma, beta, outputs=3, **args)[0], beta, dy, dbeta)
    plain = run("LayerNormGradient", dy, y, mean, deviation, X)
    agrees(lambda x: run("LayerNorm", x, outputs=3)[0], X, dy, plain)
    assert run("LayerNorm", X, outputs=3, axis=3)[1].shape == (3, 4, 2, 1)
    with pytest.raises(ExecutionError, match="gamma"):
        run("LayerNorm", X, outputs=3, **args)


def test_rms_norm_takes_double_precision_too():
    x, gamma, beta = (each.astype("f8") for each in (normal(3, 5), normal(5, seed=1), normal(5, seed=2)))
    y, inverse = run("RMSNorm", x, gamma, beta, outputs=2, eps=0.1)
    np.testing.assert_allclose(inverse, 1 / np.sqrt((x**2).mean(axis=1) + 0.1), rtol=1e-6)
    np.testing.assert_allclose(y, x * inverse[:, None] * gamma + beta, rtol=1e-9)
    dx = run("RMSNormGradient", np.ones_like(x), x, gamma, inverse, outputs=3)[0]
    bump = np.zeros_like(x)
    bump[1, 2] = 1e-5
    ahead = run("RMSNorm", x + bump, gamma, beta, outputs=2, eps=0.1)[0]
    assert (ahead - y).sum() / 1e-5 == pytest.approx(dx[1, 2], rel=1e-3)


def test_lrn_by_hand():
    x = f4([1, 2, 3, 4]).reshape(1, 4, 1, 1)
    y, scale = run("LRN", x, outputs=2, size=3, alpha=3.0, beta=0.5, bias=1.0)
    assert scale.ravel().tolist() == [1 + 5, 1 + 14, 1 + 29, 1 + 25]
    np.testing.assert_allclose(y.ravel(), x.ravel() / np.sqrt(scale.ravel()), rtol=1e-5)
    last = run("LRN", x.reshape(1, 1, 1, 4), size=3, alpha=3.0, beta=0.5, order="NHWC")
    np.testing.assert_allclose(last.ravel(), y.ravel(), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 4, 5])
def test_lrn_gradient(size):
    args = {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 1.5}
    dy = normal(*X.shape, seed=5)
    dx = run("LRNGradient", X, run("LRN", X, **args), dy, **args)
    agrees(lambda x: run("LRN", x, **args), X, dy, dx)


def test_normalize_and_its_gradient():
    x = f4([[3, 4], [0, 0]])
    assert run("Normalize", x).tolist() == [[f4(0.6), f4(0.8)], [0, 0]]
    assert run("NormalizeL1", x).tolist() == [[f4(3 / 7), f4(4 / 7)], [0, 0]]
    x, dy = normal(3, 4), normal(3, 4, seed=1)
    agrees(lambda x: run("Normalize", x, axis=0), x, dy, run("NormalizeGradient", x, dy, axis=0))
    with pytest.raises(ExecutionError, match="axis 2"):
        run("Normalize", x, axis=2)


def test_affine_channel_and_statistics():
    y = run("AffineChannel", X, SCALE, BIAS)
    np.testing.assert_allclose(y, X * by_channel(SCALE) + by_channel(BIAS), rtol=1e-5)
    assert run("AffineChannelGradient", y, SCALE).shape == X.shape
    dx, dscale, dbias = run("AffineChannelGradient", X, X, SCALE, outputs=3, is_learnable=1)
    sums, squares = run("ChannelStats", X, outputs=2)
    np.testing.assert_allclose(dscale, squares, rtol=1e-4)
    np.testing.assert_allclose(dbias, sums, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dx, X * by_channel(SCALE), rtol=1e-5)


def test_sparse_normalize_touches_only_its_rows():
    param = f4([[3, 4], [0.3, 0.4], [6, 8]])

    def normalized(**args):
        op = definition("SparseNormalize", 2, names=["p", "i"], outputs=["p"], **args)
        from gradviz.execute.operator import run_op

        return run_op(op, [param, np.array([0, 1])])[0]

    np.testing.assert_allclose(normalized(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)
    np.testing.assert_allclose(normalized(use_max_norm=0, norm=5.0), [[3, 4], [3, 4], [6, 8]], rtol=1e-6)


def test_weight_scale_acts_every_so_often():
    def scaled(iteration):
        w = run("WeightScale", f4([2]), np.array([iteration]), stepsize=3, upper_bound_iter=9, scale=0.5)
        return w.item()

    assert [scaled(i) for i in range(10)] == [2, 2, 1, 2, 2, 1, 2, 2, 2, 2]


def asked(type, inputs, outputs, **args):
    made, g_input = make_gradient(
        Op(definition(type, len(inputs), names=inputs, outputs=outputs, **args)), [f"{name}_g" for name in outputs]
    )
    return repr(made[0]), list(g_input)


def test_rules_read_the_statistics_where_they_are():
    five = ["x", "s", "b", "m", "v"]
    trained = ["y", "m", "v", "sm", "sv"]
    assert (
        asked("SpatialBN", five, ["y"], is_test=1)[0]
        == "SpatialBNGradient(x, s, y_g, m, v) -> (x_grad, s_grad, b_grad)"
    )
    assert asked("SpatialBN", five, trained, is_test=0)[0].startswith("SpatialBNGradient(x, s, y_g, sm, sv)")
    several = asked("SpatialBN", [*five, "t", "q"], trained, is_test=0, num_batches=2)
    assert several[0].startswith("SpatialBNGradient(x, s, y_g, sm, sv, s_grad, b_grad)")
    assert several[1] == ["x_grad", "s_grad", "b_grad", None, None, None, None]
    assert asked("InstanceNorm", five[:3], ["y", "m"])[0].startswith("InstanceNormGradient(x, s, b, y_g, m) ->")
    assert asked("AffineChannel", five[:3], ["y"]) == (
        "AffineChannelGradient(y_g, s) -> (x_grad)",
        ["x_grad", None, None],
    )
    with pytest.raises(GradientError, match="7 inputs"):
        asked("SpatialBN", five, trained, is_test=0, num_batches=2)
    with pytest.raises(GradientError):
        asked("LayerNorm", ["x"], ["y", "m", "s"], elementwise_affine=1)


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_lrn_over_more_channels_than_there_are_is_over_all_of_them(order):
    x, dy = normal(2, 3, 2, 4), normal(2, 3, 2, 4, seed=1)
    args = {"alpha": 1.5, "beta": 0.75, "order": order}
    for size, same_reach in ((2_000_000_001, 2_000_000_001 / 21), (21, 1)):
        made = run("LRN", x, size=size, **{**args, "alpha": 1.5 * same_reach})
        np.testing.assert_allclose(made, run("LRN", x, size=21, **args), rtol=1e-5)
        gradient = run("LRNGradient", x, made, dy, size=size, **{**args, "alpha": 1.5 * same_reach})
        np.testing.assert_allclose(gradient, run("LRNGradient", x, made, dy, size=21, **args), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [0, -1, -5])
def test_lrn_over_no_channels_is_refused(size):
    with pytest.raises(ExecutionError, match="size"):
        run("LRN", normal(2, 1, 2, 4), size=size, alpha=1.0, beta=0.5)
