import numpy as np
import pytest

from gradviz.execute.health import Health, health_of, is_bad


def test_figures_of_finite_floats():
    health = health_of(np.array([[3, -4], [0, 0]], np.float32))
    assert health == Health((2, 2), "float32", -4, 3, -0.25, pytest.approx(2.48747), 5, zeros=2)
    assert health.ok


def test_ills_are_counted_and_left_out_of_the_figures():
    health = health_of(np.array([np.nan, np.inf, -np.inf, -np.inf, 1e-40, 2], np.float32))
    assert (health.nan, health.inf, health.minus_inf, health.denormals) == (1, 3, 2, 1)
    assert (health.min, health.max) == (pytest.approx(1e-40, rel=1e-3), 2)
    assert not health.ok
    assert "1 NaN, 3 Inf, 1 denormal" in str(health)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([], np.float32), "float32"),
        (np.array([np.nan], np.float32), "float32"),
        (np.array([b"a"], object), "string"),
        (object(), "object object"),
    ],
)
def test_what_has_no_figures(value, dtype):
    health = health_of(value)
    assert health.dtype == dtype
    assert health.min is None


def test_integers_and_bools():
    assert health_of(np.array([1, 5], np.int64)).max == 5
    assert health_of(np.array([True, False])).mean == 0.5


def test_a_norm_does_not_overflow():
    assert health_of(np.array([3e30, 4e30], np.float32)).l2 == pytest.approx(5e30)
    assert health_of(np.array([6e4, 6e4], np.float16)).max == pytest.approx(6e4, rel=1e-3)


def test_only_floats_can_be_bad():
    assert is_bad(np, np.array([np.inf], np.float16))
    assert not is_bad(np, np.array([1], np.int32))
    assert not is_bad(np, object())
