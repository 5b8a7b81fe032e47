"""Every kernel on arrays that refuse to become NumPy's: no silent copies between host and device."""

import json
from pathlib import Path

import numpy as np
import pytest

from gradviz.conformance import check_file, check_run, compare_arrays
from gradviz.execute import backend
from gradviz.execute.operator import run_op
from gradviz.ops import registry
from tests.execute.device import DEVICE, DeviceArray, namespace
from tests.ops.test_kernel_vectors import ALL, sample


@pytest.fixture
def device(monkeypatch):
    """A backend named `device`."""
    monkeypatch.setattr(backend, "get", lambda name="numpy": DEVICE if name == "device" else backend._NUMPY)


def has_kernel(type):
    known = registry.lookup(type)
    return known is not None and known.kernel is not None


def cases(type):
    arrays, by_type = sample()
    for op, row in by_type[type]:
        if row["error"] is None:
            yield op, row, arrays


def inputs_of(row, arrays):
    for i, each in enumerate(row["inputs"]):
        array = arrays[f"{row['case']}/in/{i}"]
        yield array.astype(object) if each["string"] else array


@pytest.mark.parametrize("type", [type for type in sorted(sample()[1]) if has_kernel(type)])
def test_kernel_stays_on_the_device(device, type):
    for op, row, arrays in cases(type):
        outputs = run_op(op, list(inputs_of(row, arrays)), "device", seed=1)
        loose = {*row.get("random_outputs", ()), *row.get("uninitialized_outputs", ())}
        for j, each in enumerate(row["outputs"]):
            if not each.get("tensor", True):
                continue
            if not each["string"]:
                assert isinstance(outputs[j], DeviceArray), f"output {j} is on the host"
            wanted = arrays[f"{row['case']}/out/{j}"]
            wanted = wanted.astype(object) if each["string"] else wanted
            assert compare_arrays(DEVICE.to_host(outputs[j]), wanted, only_shape=j in loose) is None


def test_the_guard_refuses_what_a_device_refuses():
    x = namespace.asarray(np.ones(3))
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(x)
    with pytest.raises(TypeError, match="host array met"):
        x + np.ones(3)
    with pytest.raises(TypeError, match="host array met"):
        np.ones(3) * x
    with pytest.raises(TypeError, match="host array met"):
        namespace.maximum(x, np.ones(3))
    with pytest.raises(AttributeError):
        namespace.frompyfunc  # noqa: B018
    with pytest.raises(TypeError):
        range(namespace.asarray(3))
    with pytest.raises(ValueError, match="repeats"):
        namespace.repeat(x, namespace.asarray([1, 2, 3]))
    with pytest.raises(NotImplementedError):
        namespace.maximum.reduce(x)


def test_the_guard_computes_like_numpy():
    x = namespace.asarray(np.array([1.0, 4.0]))
    y = 2 * x + x[::-1] - namespace.sqrt(x)
    assert isinstance(y.sum(), DeviceArray)
    np.testing.assert_array_equal(y.get(), [5, 7])
    y += 1
    y[0] = 9
    assert y.tolist() == [9, 8]
    assert np.exp(x).get() == pytest.approx(np.exp([1, 4]))


RUNS = sorted((Path(__file__).parents[3] / "shared" / "vectors" / "runs").glob("*.npz"))


@pytest.mark.shared
@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.stem)
def test_whole_runs_stay_on_the_device(device, file):
    with np.load(file, allow_pickle=False) as arrays:
        assert check_run(json.loads(bytes(arrays["manifest"])), arrays, "device") == []


@pytest.mark.shared
@pytest.mark.parametrize("type", sorted(file.stem for file in ALL.glob("*.npz")))
def test_kernel_stays_on_the_device_in_every_case(device, type):
    outcomes = check_file(ALL / f"{type}.npz", kinds=("kernels",), backend="device")
    assert {outcome.place: outcome.differences for outcome in outcomes if outcome.differences} == {}
