"""Optimizers: learning rates, dense and sparse updates."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import definition, run

W = np.array([[1, 2], [3, 4], [5, 6]], "float32")
G = np.array([[1, -1], [0.5, 2], [-3, 1]], "float32")
ZERO = np.zeros_like(W)
LR = np.array([-0.1], "float32")


def rate(iteration, **args):
    return float(run("LearningRate", np.array([iteration], "int64"), base_lr=1.0, **args))


@pytest.mark.parametrize(
    ("args", "rates"),
    [
        ({"policy": "fixed"}, {0: 1, 99: 1}),
        ({"policy": "step", "stepsize": 2, "gamma": 0.5}, {1: 1, 2: 0.5, 5: 0.25}),
        ({"policy": "poly", "max_iter": 10, "power": 2.0}, {5: 0.25}),
        ({"policy": "linearWarmup", "start_multiplier": 0.5, "num_iter": 4}, {0: 0.5, 2: 0.75, 4: 1, 9: 1}),
        ({"policy": "alter", "active_first": 0, "active_period": 1, "inactive_period": 2}, {0: 0, 1: 0, 2: 1, 3: 0}),
        ({"policy": "cosine", "min_lr": 0.0, "max_lr": 1.0, "period": 4, "lr_shrink": 0.5}, {0: 1, 2: 0.5, 4: 0.5}),
        (
            {"policy": "slope", "num_iter_1": 2, "multiplier_1": 1.0, "num_iter_2": 6, "multiplier_2": 0.2},
            {1: 1, 4: 0.6, 6: 0.2, 9: 0.2},
        ),
        (
            {
                "policy": "compositeCyclical",
                "start_warmup_multiplier": 0.1,
                "constant_warmup_num_iter": 1,
                "linear_warmup_num_iter": 1,
                "cyclical_max_lr": 3.0,
                "cyclical_step_size": 2,
            },
            {0: 0.1, 1: 0.1, 2: 1, 4: 3, 6: 1},
        ),
        (
            {
                "policy": "composite",
                "sub_policy_num_iters": [2, 3],
                "sub_policy_0_policy": "fixed",
                "sub_policy_1_policy": "exp",
                "sub_policy_1_gamma": 0.5,
                "sub_policy_1_lr_scale": 4.0,
            },
            {0: 1, 2: 1, 3: 0.5, 100: 0},
        ),
    ],
)
def test_policies(args, rates):
    assert {i: rate(i, **args) for i in rates} == pytest.approx(rates, abs=1e-6)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"policy": "nope"}, "no learning rate policy 'nope'"),
        ({}, "must name a learning rate policy"),
        ({"policy": "step", "gamma": 0.5}, "stepsize must be positive"),
        ({"policy": "composite"}, "sub_policy_num_iters"),
    ],
)
def test_policies_refuse(args, said):
    with pytest.raises(ExecutionError, match=said):
        rate(0, **args)


def test_learning_rate_has_rank_zero():
    made = run("LearningRate", np.array([0], "int64"), base_lr=0.5, policy="fixed")
    assert made.shape == () and made.dtype == np.float32


def test_adagrad_adds():
    w, h = run("Adagrad", W, ZERO, G, LR, outputs=2, epsilon=0.0)
    assert w == pytest.approx(W - 0.1 * np.sign(G)) and h == pytest.approx(G * G)


def test_first_step_of_adam_has_the_size_of_the_rate():
    w, m, v, step = run("Adam", W, ZERO, ZERO, G, LR, np.array([0], "int64"), outputs=4, epsilon=1e-12)
    assert w == pytest.approx(W - 0.1 * np.sign(G), abs=1e-5) and step == pytest.approx(np.sign(G), abs=1e-4)
    assert m == pytest.approx(0.1 * G) and v == pytest.approx(0.001 * G * G)


@pytest.mark.parametrize("nesterov", [0, 1])
def test_momentum_update_subtracts_the_adjusted_gradient(nesterov):
    lr = np.array([0.5], "float32")
    adjusted, m, w = run("MomentumSGDUpdate", G, G, lr, W, outputs=3, momentum=0.5, nesterov=nesterov)
    assert m == pytest.approx(G) and w == pytest.approx(W - adjusted)
    assert adjusted == pytest.approx(G * 1.5 - G * 0.5 if nesterov else G)


@pytest.mark.parametrize(
    ("sparse", "dense", "states"),
    [("SparseAdagrad", "Adagrad", 1), ("SparseAdadelta", "Adadelta", 2)],
)
def test_a_row_named_twice_is_updated_twice(sparse, dense, states):
    indices, g = np.array([2, 0, 2], "int64"), G
    tables = [W, *[ZERO] * states]
    names = [f"t{i}" for i in range(len(tables))]
    made = run_in_place(sparse, tables, names, [indices, g, LR])
    wanted = [table.copy() for table in tables]
    for i, row in zip(indices, g, strict=True):
        new = run(dense, *[each[i : i + 1] for each in wanted], row[None], LR, outputs=len(tables))
        for table, each in zip(wanted, new, strict=True):
            table[i] = each
    assert [each == pytest.approx(want) for each, want in zip(made, wanted, strict=True)] == [True] * len(tables)


def run_in_place(type, tables, names, rest, **args):
    from gradviz.execute.operator import run_op

    inputs = names + [f"x{i}" for i in range(len(rest))]
    return run_op(definition(type, 0, names, names=inputs, **args), [*tables, *rest])


def test_sparse_updates_refuse_rows_that_do_not_exist():
    with pytest.raises(ExecutionError, match="outside of the 3 rows"):
        run_in_place("SparseAdagrad", [W, ZERO], ["w", "h"], [np.array([3], "int64"), G[:1], LR])
    with pytest.raises(ExecutionError, match="do not fit"):
        run_in_place("SparseAdagrad", [W, ZERO], ["w", "h"], [np.array([1], "int64"), G, LR])


def test_row_wise_adagrad_keeps_one_number_a_row():
    made = run_in_place("RowWiseSparseAdagrad", [W, np.zeros(3, "float32")], ["w", "h"], [np.array([1]), G[:1], LR])
    assert made[1] == pytest.approx([0, 1, 0]) and made[0][1] == pytest.approx(W[1] - 0.1 * G[0], abs=1e-5)


def test_shapes_are_not_broadcast():
    with pytest.raises(ExecutionError, match="shapes"):
        run("MomentumSGD", G, G[:1], LR, outputs=2)


def test_gftrl_shrinks_whole_groups_to_zero():
    g = np.array([[1.0, 0.01], [1.0, 0.01]], "float32")
    w, _ = run("GFtrl", np.zeros((2, 2), "float32"), np.zeros((2, 2, 2), "float32"), g, outputs=2, lambda1=0.5)
    assert (w[:, 0] != 0).all() and (w[:, 1] == 0).all()
