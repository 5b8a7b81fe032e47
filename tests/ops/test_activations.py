"""Activations: values by hand, both sides of every kink, NaN, slopes against differences, and what is refused."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run
from tests.ops.slopes import check_slopes

NAN, INF = math.nan, math.inf


def f32(*values):
    return np.array(values, "float32")


def same(found, *wanted):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.array(wanted, "float32"), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("type", "args", "x", "y"),
    [
        ("Relu", {}, [-2, 0, 3, NAN], [0, 0, 3, NAN]),
        ("ReluN", {}, [-2, 3, 7], [0, 3, 6]),
        ("ReluN", {"n": 2.0}, [-2, 1, 7], [0, 1, 2]),
        ("LeakyRelu", {}, [-2, 0, 3], [-0.02, 0, 3]),
        ("LeakyRelu", {"alpha": 0.5}, [-2, 0, 3], [-1, 0, 3]),
        ("ThresholdedRelu", {}, [0.5, 1, 1.5], [0, 0, 1.5]),
        ("HardSigmoid", {}, [-9, 0, 1, 9], [0, 0.5, 0.7, 1]),
        ("Elu", {"alpha": 2.0}, [-1, 2], [2 * (math.exp(-1) - 1), 2]),
        ("Selu", {}, [1, 0], [1.050701, 0]),
        ("Sigmoid", {}, [0, 100, -100], [0.5, 1, 0]),
        ("Tanh", {}, [0, 1], [0, math.tanh(1)]),
        ("Softplus", {}, [0, 100], [math.log(2), INF]),
        ("Softsign", {}, [1, -3], [0.5, -0.75]),
        ("Swish", {}, [0, 1], [0, 1 / (1 + math.exp(-1))]),
        ("Mish", {}, [0, 1], [0, math.tanh(math.log(1 + math.e))]),
        ("Gelu", {}, [0, 1, -1], [0, 0.841345, -0.158655]),
        ("Gelu", {"fast_gelu": 1}, [0, 1, -1], [0, 0.841192, -0.158808]),
        ("Logit", {}, [0.5, 0.0], [0, math.log(1e-6 / (1 - 1e-6))]),
    ],
)
def test_values(type, args, x, y):
    same(run(type, f32(*x), **args), *y)


@pytest.mark.parametrize(
    ("type", "args", "y", "passes"),
    [
        ("ReluGradient", {}, [-1, 0, 1, NAN], [0, 0, 1, 0]),
        ("ReluNGradient", {"n": 2.0}, [0, 1, 2], [0, 1, 0]),
        ("LeakyReluGradient", {"alpha": 0.25}, [-1, 0, 1, NAN], [0.25, 1, 1, 0.25]),
        ("ThresholdedReluGradient", {}, [0.5, 1, 2], [0, 0, 1]),
        ("HardSigmoidGradient", {}, [0, 0.5, 1], [0, 0.2, 0]),
        ("EluGradient", {"alpha": 0.5}, [-0.25, 0, 1], [0.25, 1, 1]),
        ("LogitGradient", {"eps": 0.1}, [0.05, 0.5, 0.95], [0, 4, 0]),
    ],
)
def test_gradients_at_the_kinks(type, args, y, passes):
    same(run(type, f32(*y), f32(*[1] * len(y)), **args), *passes)


SMOOTH = np.array([[-1.7, -0.4, 0.3], [0.8, 1.9, 2.6]])


@pytest.mark.parametrize(
    ("type", "args"),
    [
        ("Relu", {}),
        ("ReluN", {"n": 1.5}),
        ("LeakyRelu", {"alpha": 0.3}),
        ("ThresholdedRelu", {}),
        ("HardSigmoid", {}),
        ("Elu", {"alpha": 0.7}),
        ("Selu", {}),
        ("Sigmoid", {}),
        ("Tanh", {}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("Swish", {}),
        ("Mish", {}),
        ("Gelu", {}),
        ("Gelu", {"fast_gelu": 1}),
        ("Softmax", {}),
        ("Softmax", {"axis": 0}),
    ],
)
def test_slopes(type, args):
    check_slopes(type, SMOOTH, **args)


def test_slopes_of_those_with_another_domain_or_shape():
    check_slopes("Logit", np.array([0.2, 0.5, 0.9]))
    check_slopes("MakeTwoClass", np.array([0.2, 0.9]))
    x = np.linspace(-1, 1.2, 24).reshape(2, 3, 2, 2)
    check_slopes("PRelu", x, np.array([0.25]))
    check_slopes("PRelu", x, np.array([0.1, 0.2, 0.3]))
    check_slopes("PRelu", x.reshape(2, 2, 2, 3), np.array([0.1, 0.2, 0.3]), order="NHWC")


def test_prelu_takes_a_slope_for_each_channel():
    x = f32(-1, -1, 2, -2).reshape(1, 2, 2)
    same(run("PRelu", x, f32(0.5, 0.25)).reshape(-1), -0.5, -0.5, 2, -0.5)
    with pytest.raises(ExecutionError, match="3 slopes"):
        run("PRelu", x, f32(1, 2, 3))


def test_softmax_takes_everything_from_the_axis_on_together():
    x = np.zeros((2, 3, 4), "float32")
    assert run("Softmax", x)[0, 0, 0] == pytest.approx(1 / 12)
    assert run("Softmax", x, axis=2)[0, 0, 0] == pytest.approx(1 / 4)
    assert run("Softmax", x, axis=-1)[0, 0, 0] == pytest.approx(1 / 4)
    assert run("Softmax", np.zeros((0, 4), "float32")).shape == (0, 4)
    with pytest.raises(ExecutionError, match="axis 3"):
        run("Softmax", x, axis=3)


def test_softmax_of_large_numbers_does_not_overflow():
    same(run("Softmax", f32(1000, 1000).reshape(1, 2))[0], 0.5, 0.5)


def test_glu_gates_the_first_half_with_the_second():
    same(run("Glu", f32(1, 2, 0, 100).reshape(1, 4))[0], 0.5, 2)
    same(run("Glu", f32(1, 0).reshape(2, 1), dim=0)[0], 0.5)
    with pytest.raises(ExecutionError, match="even"):
        run("Glu", f32(1, 2, 3).reshape(1, 3))


@pytest.mark.parametrize("type", ["Relu", "Sigmoid", "Tanh", "Elu", "Gelu", "Softmax", "Logit"])
def test_only_single_precision(type):
    with pytest.raises(ExecutionError, match="float64"):
        run(type, np.ones((2, 2)))


def test_mish_takes_double_precision():
    assert run("Mish", np.ones(2)).dtype == np.float64


def test_shapes_must_agree():
    with pytest.raises(ExecutionError, match="shapes"):
        run("ReluGradient", f32(1, 2), f32(1, 2, 3))
    with pytest.raises(ExecutionError, match="numbers of elements"):
        run("SeluGradient", f32(1, 2), f32(1, 2, 3))
    assert run("SeluGradient", f32(1, 2).reshape(1, 2), f32(1, 1)).shape == (1, 2)


def test_selu_wants_a_scale_above_one():
    with pytest.raises(ExecutionError, match="larger than 1"):
        run("Selu", f32(1), scale=0.5)


def test_softsign_in_place_has_no_gradient():
    op = definition("Softsign", 1, ["x0"])
    with pytest.raises(GradientError, match="in place"):
        make_gradient(Op(op), ["g"])


def test_rank_zero_stays_rank_zero():
    for type in ("Relu", "Sigmoid", "Gelu"):
        assert run(type, np.array(0.5, "float32")).shape == ()
