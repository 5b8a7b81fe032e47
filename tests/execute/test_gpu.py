"""The same tests on a real device; they need CuPy and a GPU, and take no five minutes together."""

import json
from pathlib import Path

import numpy as np
import pytest

from gradviz.conformance import check_file, check_run
from gradviz.errors import ExecutionError
from gradviz.execute import Plan, backend, compare, run, run_op
from gradviz.ops.arguments import arg
from gradviz.proto import OperatorDef
from tests.execute.nets import mlp, mlp_feeds
from tests.ops.test_kernel_vectors import ALL, SAMPLE

pytestmark = [pytest.mark.gpu]
try:
    CUPY = backend.get("cupy")
except ExecutionError as error:
    pytest.skip(str(error), allow_module_level=True)

RUNS = sorted((Path(__file__).parents[3] / "shared" / "vectors" / "runs").glob("*.npz"))


def test_every_kernel_computes_as_recorded_on_the_device():
    outcomes = list(check_file(SAMPLE, kinds=("kernels",), backend="cupy"))
    assert {(each.type, each.place): each.differences for each in outcomes if each.differences} == {}
    assert sum(not each.skipped for each in outcomes) > 1000


@pytest.mark.shared
@pytest.mark.parametrize("type", sorted(file.stem for file in ALL.glob("*.npz")))
def test_every_case_on_the_device(type):
    outcomes = check_file(ALL / f"{type}.npz", kinds=("kernels",), backend="cupy")
    assert {each.place: each.differences for each in outcomes if each.differences} == {}


@pytest.mark.shared
@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.stem)
def test_whole_runs_on_the_device(file):
    with np.load(file, allow_pickle=False) as arrays:
        assert check_run(json.loads(bytes(arrays["manifest"])), arrays, "cupy") == []


def test_both_backends_agree_and_values_come_back_as_numpy():
    feeds = mlp_feeds(64)
    device, host = (run(mlp(), feeds, ys=["loss"], backend=name) for name in ("cupy", "numpy"))
    assert compare(host, device).ok
    assert isinstance(device["loss"], np.ndarray)
    assert isinstance(device.gradient("w1"), np.ndarray)
    assert device.health("loss").ok


def test_outputs_of_one_operator_stay_on_the_device():
    (y,) = run_op(OperatorDef(type="Relu", input=["x"], output=["y"]), [np.ones(3, np.float32)], "cupy")
    assert isinstance(y, CUPY.xp.ndarray)
    assert isinstance(run_op(OperatorDef(type="Relu", input=["y"], output=["z"]), [y], "cupy")[0], CUPY.xp.ndarray)


def test_a_seed_repeats_random_numbers():
    op = OperatorDef(type="GaussianFill", output=["x"], arg=[arg("shape", [1000])])
    first, again, other = (run_op(op, [], "cupy", seed=seed)[0].get() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_step_does_not_wait_for_the_device():
    """No operator of a training step copies to the host or waits for results."""
    from cupyx import DeviceSynchronized, allow_synchronize

    plan = Plan(mlp(), ["loss"])
    feeds = {name: CUPY.to_device(value) for name, value in mlp_feeds(64).items()}
    plan.run(feeds, backend="cupy", keep=["loss"])
    try:
        with allow_synchronize(False):
            plan.run(feeds, backend="cupy", keep=["loss"])
    except DeviceSynchronized as error:
        pytest.fail(f"a step waits for the device: {error}")
