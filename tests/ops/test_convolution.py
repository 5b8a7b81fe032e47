"""Convolutions: against a loop over every window, by hand, and what they refuse."""

import itertools

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.arguments import values
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4 = np.float32


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(f4)


def slowly(x, filters, stride=1, pad=0, dilation=1, group=1):
    """A convolution, one window after the other."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    m, channels, *kernel = filters.shape
    out = [(n - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    y = np.zeros((x.shape[0], m, *out))
    for i, row, column in itertools.product(range(m), *map(range, out)):
        first = i // (m // group) * channels
        rows, columns = (
            slice(at * stride, at * stride + (k - 1) * dilation + 1, dilation)
            for at, k in zip((row, column), kernel, strict=True)
        )
        y[:, i, row, column] = (x[:, first : first + channels, rows, columns] * filters[i]).sum(axis=(1, 2, 3))
    return y


CASES = [
    {},
    {"stride": 2},
    {"pad": 1},
    {"dilation": 2},
    {"stride": 2, "pad": 2, "dilation": 2},
    {"group": 2},
    {"group": 2, "pad": 1, "stride": 3},
]


@pytest.mark.parametrize("size", [7, 40], ids=["small", "large"])
@pytest.mark.parametrize("args", CASES)
def test_conv_and_its_gradients(args, size):
    x, filters, bias = normal(3, 4, size, size), normal(6, 4 // args.get("group", 1), 3, 3), normal(6)
    y = run("Conv", x, filters, bias, kernel=3, **args)
    np.testing.assert_allclose(y, slowly(x, filters, **args) + bias[:, None, None], rtol=1e-3, atol=1e-4)
    dy = normal(*y.shape, seed=1)
    d_filters, d_bias, dx = run("ConvGradient", x, filters, dy, outputs=3, kernel=3, **args)
    np.testing.assert_allclose(d_bias, dy.sum(axis=(0, 2, 3)), rtol=1e-3, atol=1e-3)
    # The convolution is linear in each of X and the filters: what goes in and what comes out have the same product.
    for direction, gradient, other in (
        (normal(*x.shape, seed=2), dx, filters),
        (normal(*filters.shape, seed=3), d_filters, x),
    ):
        pair = (direction, other) if gradient is dx else (other, direction)
        assert (slowly(*pair, **args) * dy).sum() == pytest.approx((direction * gradient).sum(), rel=1e-3, abs=1e-1)


def test_pointwise_convolutions_are_products():
    x, filters = normal(2, 4, 5, 5), normal(6, 4, 1, 1)
    np.testing.assert_allclose(run("Conv", x, filters, kernel=1), slowly(x, filters), rtol=1e-4, atol=1e-5)
    dy = normal(2, 6, 5, 5)
    d_filters, dx = run("ConvGradient", x, filters, dy, outputs=2, kernel=1, no_bias=1)
    np.testing.assert_allclose(dx, np.einsum("mc,nmij->ncij", filters[:, :, 0, 0], dy), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(d_filters[:, :, 0, 0], np.einsum("ncij,nmij->mc", x, dy), rtol=1e-4, atol=1e-4)


def test_channels_last_is_the_same_convolution():
    x, filters = normal(2, 4, 6, 7), normal(3, 4, 3, 2)
    turn = (0, 2, 3, 1)
    y = run("Conv", x.transpose(turn).copy(), filters.transpose(turn).copy(), kernels=[3, 2], order="NHWC")
    np.testing.assert_allclose(y.transpose(0, 3, 1, 2), run("Conv", x, filters, kernels=[3, 2]), rtol=1e-4, atol=1e-5)


def test_kernel_and_pads_may_differ_by_side():
    x, filters = normal(1, 1, 5, 6), normal(1, 1, 2, 3)
    y = run("Conv", x, filters, kernel_h=2, kernel_w=3, pad_t=1, pad_l=0, pad_b=0, pad_r=2, stride_h=1, stride_w=2)
    assert y.shape == (1, 1, 5, 3)
    assert y[0, 0, 0, 0] == pytest.approx((x[0, 0, 0, :3] * filters[0, 0, 1]).sum(), rel=1e-4)


@pytest.mark.parametrize(("legacy_pad", "out"), [(1, 2), (2, 3), (3, 3)])
def test_legacy_pad_chooses_the_number_of_windows(legacy_pad, out):
    assert (
        run("Conv", normal(1, 1, 6, 6), normal(1, 1, 3, 3), kernel=3, stride=2, legacy_pad=legacy_pad).shape[2] == out
    )


def test_transposed_convolution_is_the_gradient_of_a_convolution():
    x, filters = normal(2, 4, 5, 5), normal(4, 3, 3, 3)
    args = {"kernel": 3, "stride": 2, "pad": 1}
    y = run("ConvTranspose", x, filters, **args)
    assert y.shape == (2, 3, 9, 9)
    dx = run("ConvGradient", np.zeros_like(y), filters, x, outputs=2, no_bias=1, **args)[1]
    np.testing.assert_allclose(y, dx, rtol=1e-4, atol=1e-5)
    assert run("ConvTranspose", x, filters, adj=1, **args).shape == (2, 3, 10, 10)
    dy = normal(*y.shape, seed=1)
    d_filters, d_bias, dx = run("ConvTransposeGradient", x, filters, dy, outputs=3, **args)
    np.testing.assert_allclose(dx, run("Conv", dy, filters, **args), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(d_bias, dy.sum(axis=(0, 2, 3)), rtol=1e-3, atol=1e-3)
    assert (run("ConvTranspose", x, filters, **args) * dy).sum() == pytest.approx((d_filters * filters).sum(), rel=1e-3)


def test_locally_connected_with_equal_filters_is_a_convolution():
    x, filters = normal(2, 3, 5, 6), normal(4, 3, 2, 2)
    own = np.broadcast_to(filters, (4, 5, *filters.shape)).copy()
    np.testing.assert_allclose(run("LC", x, own, kernel=2), run("Conv", x, filters, kernel=2), rtol=1e-4, atol=1e-5)
    dy = normal(2, 4, 4, 5, seed=1)
    d_own, d_bias, dx = run("LCGradient", x, own, dy, outputs=3, kernel=2)
    want = run("ConvGradient", x, filters, dy, outputs=3, kernel=2)
    np.testing.assert_allclose(d_own.sum(axis=(0, 1)), want[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(d_bias, dy.sum(axis=0).transpose(1, 2, 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dx, want[2], rtol=1e-4, atol=1e-4)


def test_im2col_and_back_counts_how_often_an_element_is_seen():
    x = np.arange(9, dtype=f4).reshape(1, 1, 3, 3)
    columns = run("Im2Col", x, kernel=2)
    assert columns[0, :, 0, 1].tolist() == [1, 2, 4, 5]
    seen = run("Col2Im", np.ones_like(columns), x, kernel=2)
    assert seen[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    assert run("Im2Col", x.reshape(1, 3, 3, 1), kernel=2, order="NHWC")[0, 0, 1].tolist() == [1, 2, 4, 5]


def test_films_with_channels_last_are_laid_as_upstream_lays_them():
    filters = np.ones((1, 1, 1, 1, 1), f4)
    dy = np.arange(6, dtype=f4).reshape(1, 2, 3, 1, 1)
    args = {"kernels": [1, 1, 1], "order": "NHWC", "no_bias": 1, "outputs": 2}
    assert run("ConvGradient", np.ones_like(dy), filters, dy, **args)[1].ravel().tolist() == [0, 1, 5, 4, 5, 0]
    square = dy[:, :, :2].copy()
    assert run("ConvGradient", np.ones_like(square), filters, square, **args)[1].tolist() == square.tolist()


@pytest.mark.parametrize(
    ("x", "filters", "args", "said"),
    [
        ((1, 2, 4, 4), (3, 2, 3, 3), {"kernel": 2}, "kernel"),
        ((1, 3, 4, 4), (3, 2, 3, 3), {"kernel": 3}, "channels"),
        ((1, 2, 2, 2), (3, 2, 3, 3), {"kernel": 3}, "reaches over 3"),
        ((1, 2, 4, 4), (3, 2, 3, 3), {"kernel": 3, "legacy_pad": 1, "pad": 1}, "legacy_pad"),
        ((1, 2, 4), (3, 2, 3), {"kernel": 3}, "spatial dimensions"),
        ((1, 2, 4, 4), (3, 2, 3, 3), {"kernel": 3, "order": "NCWH"}, "NCHW or NHWC"),
        ((1, 2, 4, 4), (3, 2, 3, 3), {"kernel": 3, "pads": [1, 1]}, "pads"),
        ((1, 2, 4, 4), (3, 2, 3, 3), {"kernel": 3, "stride": 1.5}, "integer"),
    ],
)
def test_what_conv_refuses(x, filters, args, said):
    with pytest.raises(ExecutionError, match=said):
        run("Conv", normal(*x), normal(*filters), **args)


def rule(type, count, **args):
    names = ["x", "w", "b"][:count] if type != "DeformConv" else ["x", "offset", "w", "b"][:count]
    made, g_input = make_gradient(Op(definition(type, count, names=names, **args)), ["y_grad"])
    return repr(made[0]), values(made[0].to_proto()), list(g_input)


def test_rules_name_the_filters_first_and_the_data_last():
    assert rule("Conv3D", 3) == (
        "Conv3DGradient(x, w, y_grad) -> (w_grad, b_grad, x_grad)",
        {},
        ["x_grad", "w_grad", "b_grad"],
    )
    assert rule("LC", 2, no_gradient_to_input=1) == (
        "LCGradient(x, w, y_grad) -> (w_grad)",
        {"no_bias": 1, "no_gradient_to_input": 1},
        [None, "w_grad"],
    )
    assert rule("DeformConv", 4)[0] == (
        "DeformConvGradient(x, offset, w, y_grad) -> (offset_grad, w_grad, b_grad, x_grad)"
    )
    with pytest.raises(GradientError, match="no_gradient_to_input"):
        rule("Conv", 2, no_gradient_to_input="yes")
