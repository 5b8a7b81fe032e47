"""Pooling: by hand, its odd corners, and the regions of interest."""

import itertools

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4 = np.float32
PICTURE = np.arange(16, dtype=f4).reshape(1, 1, 4, 4)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(f4)


def test_pools_by_hand():
    assert run("MaxPool", PICTURE, kernel=2, stride=2)[0, 0].tolist() == [[5, 7], [13, 15]]
    assert run("AveragePool", PICTURE, kernel=2, stride=2)[0, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert run("LpPool", PICTURE, kernel=2, stride=4)[0, 0, 0, 0] == pytest.approx(42**0.5)
    assert run("LpPool", PICTURE, kernel=2, stride=4, p=3.0)[0, 0, 0, 0] == pytest.approx((1 + 64 + 125) ** (1 / 3))


def test_one_and_three_dimensions_and_channels_last():
    assert run("MaxPool1D", PICTURE.reshape(1, 1, 16), kernels=[3], strides=[5]).ravel().tolist() == [2, 7, 12]
    assert run("AveragePool3D", PICTURE.reshape(1, 1, 4, 2, 2), kernels=[2, 2, 2]).ravel().tolist() == [3.5, 7.5, 11.5]
    assert run("MaxPool", PICTURE.reshape(1, 4, 4, 1), kernel=3, order="NHWC").ravel().tolist() == [10, 11, 14, 15]
    assert run("AveragePool", normal(2, 3, 5, 4), global_pooling=1).shape == (2, 3, 1, 1)
    assert run("MaxPool", normal(2, 5, 3), global_pooling=1, order="NHWC").shape == (2, 1, 3)


def test_padding_counts_in_the_mean_only_where_asked_for():
    ones = np.ones((1, 1, 2, 2), f4)
    assert run("AveragePool", ones, kernel=2, pad=1, stride=2).ravel().tolist() == [1] * 4
    assert run("AveragePool", ones, kernel=2, pad=1, stride=2, count_include_pad=1).ravel().tolist() == [0.25] * 4


def test_caffe_sizing_rounds_up():
    assert run("MaxPool", PICTURE, kernel=3, stride=2).shape == (1, 1, 1, 1)
    y = run("MaxPool", PICTURE, kernel=3, stride=2, legacy_pad=3)
    assert y[0, 0].tolist() == [[10, 11], [14, 15]]
    mean = run("AveragePool", PICTURE, kernel=3, stride=2, legacy_pad=3)
    assert mean[0, 0, 1, 1] == pytest.approx((10 + 11 + 14 + 15) / 4)


def test_maximum_skips_nan_and_is_the_least_number_over_nothing_else():
    x = np.full((1, 1, 2, 2), np.nan, f4)
    assert run("MaxPool", x, kernel=2).item() == np.finfo(f4).min
    x[0, 0, 1, 0] = -3
    assert run("MaxPool", x, kernel=2).item() == -3


def test_every_tied_maximum_gets_the_whole_gradient():
    x = f4([[[[1, 1], [0, 1]]]])
    y = run("MaxPool", x, kernel=2)
    assert run("MaxPoolGradient", x, y, f4([[[[5]]]]), kernel=2)[0, 0].tolist() == [[5, 5], [0, 5]]


ARGS = [
    {"kernel": 2, "stride": 2},
    {"kernel": 3, "stride": 1, "pad": 1},
    {"kernel": 3, "stride": 2, "legacy_pad": 3},
    {"kernels": [3, 2], "strides": [1, 2], "pads": [1, 0, 2, 1]},
    {"global_pooling": 1},
]


@pytest.mark.parametrize("type", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("args", ARGS, ids=map(str, range(len(ARGS))))
@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_gradients_agree_with_differences(type, args, order):
    x = np.random.default_rng(0).permutation(2 * 2 * 6 * 6).reshape(2, 2, 6, 6).astype(f4) / 7 + 1
    y = (
        run(type, x, order=order, **args)
        if order == "NCHW"
        else run(type, x.transpose(0, 2, 3, 1), order=order, **args)
    )
    x = x if order == "NCHW" else x.transpose(0, 2, 3, 1).copy()
    dy = normal(*y.shape)
    dx = run(type + "Gradient", x, y, dy, order=order, **args)
    direction = normal(*x.shape, seed=1)
    ahead, behind = (run(type, x + step * direction, order=order, **args) for step in (f4(0.01), f4(-0.01)))
    assert ((ahead - behind).astype("f8") * dy).sum() / 0.02 == pytest.approx(
        (dx * direction).sum(), rel=1e-2, abs=1e-2
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"kernel": 2, "dilation": 2}, "dilation"),
        ({"kernel": 2, "pad": 2}, "less than the kernel"),
        ({"kernel": 9}, "reaches over 9"),
        ({"global_pooling": 1, "stride": 2}, "global_pooling"),
        ({}, "positive"),
    ],
)
def test_what_pools_refuse(args, said):
    with pytest.raises(ExecutionError, match=said):
        run("MaxPool", PICTURE, **args)


def test_roi_pool_takes_the_greatest_and_tells_where():
    y, places = run("RoIPool", PICTURE, f4([[0, 0, 0, 3, 1]]), outputs=2, pooled_h=1, pooled_w=2)
    assert y.ravel().tolist() == [5, 7] and places.ravel().tolist() == [5, 7]
    outside, places = run("RoIPool", PICTURE, f4([[0, 10, 10, 12, 12]]), outputs=2)
    assert outside.item() == 0 and places.item() == -1
    with pytest.raises(ExecutionError, match="is_test"):
        run("RoIPool", PICTURE, f4([[0, 0, 0, 3, 1]]))


def slow_roi_align(x, roi, bins, samples, aligned):
    left, top, right, bottom = roi - (0.5 if aligned else 0)
    height, width = (bottom - top) / bins, (right - left) / bins
    y = np.zeros((x.shape[0], bins, bins))
    for r, c, i, j in itertools.product(range(bins), range(bins), range(samples), range(samples)):
        at_y, at_x = top + (r + (i + 0.5) / samples) * height, left + (c + (j + 0.5) / samples) * width
        at_y, at_x = np.clip(at_y, 0, x.shape[1] - 1), np.clip(at_x, 0, x.shape[2] - 1)
        low_y, low_x = int(at_y), int(at_x)
        for row, column in itertools.product((low_y, low_y + 1), (low_x, low_x + 1)):
            weight = max(0, 1 - abs(at_y - row)) * max(0, 1 - abs(at_x - column))
            if weight:
                y[:, r, c] += x[:, row, column] * weight / samples**2
    return y


@pytest.mark.parametrize("aligned", [0, 1])
def test_roi_align_and_its_gradient(aligned):
    x, roi = normal(2, 3, 8, 9), f4([1, 0.7, 1.4, 6.1, 8.3])
    args = {"pooled_h": 3, "pooled_w": 3, "sampling_ratio": 2, "aligned": aligned}
    y = run("RoIAlign", x, roi[None], **args)
    np.testing.assert_allclose(y[0], slow_roi_align(x[1], roi[1:], 3, 2, aligned), rtol=1e-4, atol=1e-5)
    dy = normal(*y.shape, seed=1)
    dx = run("RoIAlignGradient", x, roi[None], dy, **args)
    assert (dx * x).sum() == pytest.approx((y * dy).sum(), rel=1e-3)
    last = run("RoIAlign", x.transpose(0, 2, 3, 1), roi[None], order="NHWC", **args)
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), y, rtol=1e-4, atol=1e-5)


def test_a_rotated_box_at_no_angle_is_an_upright_one_and_a_full_turn_changes_nothing():
    x = normal(1, 2, 8, 8)
    args = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2}
    upright = run("RoIAlign", x, f4([[0, 1, 2, 5, 6]]), **args)
    for angle in (0, 360):
        rotated = run("RoIAlignRotated", x, f4([[0, 3, 4, 4, 4, angle]]), **args)
        np.testing.assert_allclose(rotated, upright, rtol=1e-3, atol=1e-3)
    turned = run("RoIAlignRotated", x, f4([[0, 3.5, 3.5, 4, 4, 180]]), pooled_h=2, pooled_w=2, sampling_ratio=2)
    straight = run("RoIAlignRotated", x, f4([[0, 3.5, 3.5, 4, 4, 0]]), pooled_h=2, pooled_w=2, sampling_ratio=2)
    np.testing.assert_allclose(turned, straight[:, :, ::-1, ::-1], rtol=1e-3, atol=1e-3)


def test_a_region_must_lie_in_a_picture_of_the_batch():
    with pytest.raises(ExecutionError, match="picture 1 of 1"):
        run("RoIAlign", PICTURE, f4([[1, 0, 0, 2, 2]]), pooled_h=1, pooled_w=1)


def test_rmac_regions_cover_the_longer_side():
    regions = run("RMACRegions", normal(1, 2, 4, 5), scales=1)
    assert regions.tolist() == [[0, 0, 0, 3, 3], [0, 1, 0, 4, 3]]
    assert run("RMACRegions", normal(2, 1, 4, 4), scales=2).shape == (2 * (1 + 4), 5)


def test_rules_read_what_they_need():
    def rule(type, inputs, outputs):
        op = definition(type, len(inputs), names=inputs, outputs=outputs)
        made, g_input = make_gradient(Op(op), [f"{name}_grad" for name in outputs])
        return repr(made[0]), list(g_input)

    assert rule("MaxPool2D", ["x"], ["y"]) == ("MaxPool2DGradient(x, y, y_grad) -> (x_grad)", ["x_grad"])
    assert rule("RoIPool", ["x", "r"], ["y", "a"]) == ("RoIPoolGradient(x, r, a, y_grad) -> (x_grad)", ["x_grad", None])


@pytest.mark.parametrize("type", ["AveragePool", "MaxPool", "LpPool"])
def test_a_window_far_larger_than_the_picture_is_refused_at_once(type):
    with pytest.raises(ExecutionError, match="does not fit"):
        run(type, PICTURE, kernel=2**40, stride=2, legacy_pad=3)
