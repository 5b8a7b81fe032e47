"""Distances: by hand, and their gradients against differences."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.arguments import arg
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4 = np.float32


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(f4)


def test_distances_by_hand():
    x, y = f4([[1, 2], [3, 4]]), f4([[1, 0], [0, 0]])
    assert run("SquaredL2Distance", x, y).tolist() == [2, 12.5]
    assert run("L1Distance", x, y).tolist() == [2, 7]
    assert run("DotProduct", x, y).tolist() == [1, 0]
    np.testing.assert_allclose(run("CosineSimilarity", x, y), [1 / np.sqrt(5), 0], rtol=1e-5)


def test_a_vector_is_one_number_for_each_item_and_a_scalar_one_item():
    assert run("SquaredL2Distance", f4([1, 2]), f4([3, 2])).tolist() == [2, 0]
    assert run("SquaredL2Distance", f4(1), f4(3)).tolist() == [2]
    assert run("DotProduct", normal(2, 3, 4), normal(2, 3, 4)).shape == (2,)


@pytest.mark.parametrize("type", ["SquaredL2Distance", "L1Distance", "DotProduct", "CosineSimilarity"])
def test_gradients(type):
    x, y, dz = normal(3, 2, 4), normal(3, 2, 4, seed=1), normal(3, seed=2)
    dx, dy = run(type + "Gradient", x, y, dz, outputs=2)
    for i, gradient in enumerate((dx, dy)):
        direction = normal(*x.shape, seed=3)
        pairs = [[x, y], [x, y]]
        pairs[0][i], pairs[1][i] = pairs[0][i] + f4(0.01) * direction, pairs[1][i] - f4(0.01) * direction
        change = (run(type, *pairs[0]).astype("f8") - run(type, *pairs[1])) / 0.02
        assert (change * dz).sum() == pytest.approx((gradient * direction).sum(), rel=1e-2, abs=1e-2)


def test_shapes_must_be_equal():
    with pytest.raises(ExecutionError, match="shapes"):
        run("DotProduct", normal(2, 3), normal(2, 4))


@pytest.mark.parametrize(("args", "padded"), [({"pad_value": 2.0}, [5, 7, 2, 2]), ({"replicate": 1}, [5, 7, 5, 7])])
def test_the_shorter_side_is_padded_or_repeated(args, padded):
    x, y, dz = f4([[1, 2, 3, 4]]), f4([[5, 7]]), f4([10])
    assert run("DotProductWithPadding", x, y, **args).tolist() == [np.dot(x[0], padded)]
    assert run("DotProductWithPadding", y, x, **args).tolist() == [np.dot(x[0], padded)]
    dx, dy = run("DotProductWithPaddingGradient", x, y, dz, outputs=2, **args)
    assert dx.tolist() == [[10 * each for each in padded]]
    assert dy.tolist() == ([[40, 60]] if "replicate" in args else [[10, 20]])
    with pytest.raises(ExecutionError, match="repeated"):
        run("DotProductWithPadding", f4([[1, 2, 3]]), y, replicate=1)


def test_the_rule_of_padding_states_its_arguments_first():
    op = definition("DotProductWithPadding", 2, names=["x", "y"], outputs=["z"])
    op.arg.extend([arg("replicate", 5), arg("pad_value", 1)])
    made, g_input = make_gradient(Op(op), ["z_grad"])
    stated = [(a.name, a.f if a.HasField("f") else a.i) for a in made[0].to_proto().arg]
    assert stated == [("pad_value", 0.0), ("replicate", 1), ("replicate", 5), ("pad_value", 1)]
    assert list(g_input) == ["x_grad", "y_grad"]
