"""Batches of images: pads, resizes and shuffles by hand; each gradient is the transpose of its forward."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run

f4 = np.float32


def image(*shape):
    return np.arange(np.prod(shape), dtype=f4).reshape(shape) + 1


row = image(1, 1, 1, 4)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("constant", [9, 9, 1, 2, 3, 4, 9]), ("edge", [1, 1, 1, 2, 3, 4, 4]), ("reflect", [3, 2, 1, 2, 3, 4, 3])],
)
def test_pad_by_hand(mode, wanted):
    assert run("PadImage", row, mode=mode, value=9.0, pads=[0, 2, 0, 1]).ravel().tolist() == wanted


def test_negative_pads_crop():
    assert run("PadImage", row, pad_t=0, pad_l=-1, pad_b=0, pad_r=-2).ravel().tolist() == [2]


@pytest.mark.parametrize(
    "args", [{"mode": "wrap"}, {"mode": "reflect", "pad": 1}, {"pad_t": -1, "pad_l": 0, "pad_b": 0, "pad_r": 0}]
)
def test_pads_that_cannot_be(args):
    with pytest.raises(ExecutionError, match="PadImage"):
        run("PadImage", row, **args)


def test_nearest_by_hand():
    assert run("ResizeNearest", row, width_scale=2.0).ravel().tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert run("ResizeNearest", row, f4([1, 0.5])).ravel().tolist() == [1, 3]


def test_a_scale_just_below_one_loses_a_column():
    assert run("ResizeNearest", row, width_scale=0.99999).shape == (1, 1, 1, 3)


def test_bilinear_puts_corners_on_corners():
    y = run("UpsampleBilinear", f4([[[[0, 3]]]]), width_scale=2.0)
    assert np.allclose(y.ravel(), [0, 1, 2, 3])


@pytest.mark.parametrize("bad", [f4([2]), f4([0, 1]), np.float64([1, 1])])
def test_scales_that_cannot_be(bad):
    with pytest.raises(ExecutionError):
        run("ResizeNearest", row, bad)


def test_channel_shuffle_by_hand_and_back():
    x = image(1, 6, 1, 1)
    y = run("ChannelShuffle", x, group=2)
    assert y.ravel().tolist() == [1, 4, 2, 5, 3, 6]
    assert np.array_equal(run("ChannelShuffleGradient", y, group=2), x)
    with pytest.raises(ExecutionError, match="groups"):
        run("ChannelShuffle", x, group=4)


def test_space_to_batch_by_hand_and_back():
    x = image(1, 1, 2, 2)
    y = run("SpaceToBatch", x)
    assert y.shape == (4, 1, 1, 1) and y.ravel().tolist() == [1, 2, 3, 4]
    padded = run("SpaceToBatch", image(2, 3, 4, 6), pad=1)
    assert np.array_equal(run("BatchToSpace", padded, pad=1), image(2, 3, 4, 6))
    with pytest.raises(ExecutionError, match="divide"):
        run("SpaceToBatch", image(1, 1, 3, 2))


TRANSPOSED = [
    ("PadImage", False, {"pads": [1, 2, 0, 1]}),
    ("PadImage", False, {"pads": [1, 2, 0, 1], "mode": "reflect"}),
    ("PadImage", False, {"pads": [1, 2, 0, -1], "mode": "edge", "order": "NHWC"}),
    ("ResizeNearest", True, {"width_scale": 1.7, "height_scale": 0.6}),
    ("ResizeNearest", True, {"width_scale": 0.4, "height_scale": 2.5, "order": "NHWC"}),
    ("UpsampleBilinear", True, {"width_scale": 1.7, "height_scale": 2.0}),
]


@pytest.mark.parametrize(("type", "reads_input", "args"), TRANSPOSED)
def test_gradient_is_the_transpose(type, reads_input, args):
    """<dy, forward(x)> = <gradient(dy), x> holds for linear operators and their gradients, and for no others."""
    random = np.random.default_rng(7)
    x = random.standard_normal((2, 4, 5, 3)).astype(f4)
    y = run(type, x, **args)
    dy = random.standard_normal(y.shape).astype(f4)
    dx = run(type + "Gradient", dy, *([x] if reads_input else []), **args)
    assert dx.shape == x.shape and np.isclose((dy * y).sum(), (dx * x).sum(), rtol=1e-4)
