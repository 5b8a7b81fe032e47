"""Packed pictures, there and back."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run

MEAN = np.float32([10, 20, 30])


def test_there_and_back_without_noise():
    packed = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 4)).astype("uint8")
    planes = run("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", packed, MEAN, noise_std=0.0)
    assert planes.shape == (2, 3, 3, 4) and planes.dtype == np.float32
    assert (planes[:, 1] == packed[..., 1].astype("f4") - 20).all()
    back = run("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", planes, MEAN)
    assert (back[..., :3] == packed[..., :3]).all() and (back[..., 3] == 255).all()


def test_noise_comes_from_the_seed():
    packed = np.zeros((1, 2, 2, 4), "uint8")
    first, again, other = (
        run("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", packed, MEAN, seed=seed) for seed in (1, 1, 2)
    )
    assert (first == again).all() and (first != other).any()


def test_colours_beyond_a_byte_are_clipped():
    planes = np.float32([-50, 300, 1]).reshape(1, 3, 1, 1)
    packed = run("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", planes, MEAN)
    assert packed.ravel().tolist() == [0, 255, 31, 255]
    with pytest.raises(ExecutionError, match="do not fit"):
        run("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", planes[:, :2], MEAN)
