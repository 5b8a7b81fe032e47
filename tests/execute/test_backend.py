import sys
import types

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.execute import backend


def test_numpy_is_the_default():
    assert backend.get().name == "numpy"
    assert backend.get("numpy").xp is np


def test_unknown_backends_are_refused():
    with pytest.raises(ExecutionError, match="no backend 'torch'"):
        backend.get("torch")


@pytest.mark.parametrize("value", [1.5, 3, True, np.float32(2)])
def test_numbers_become_arrays_of_rank_0(value):
    made = backend.get().to_device(value)
    assert isinstance(made, np.ndarray)
    assert made.shape == ()


def fake_cupy(driver=12040, devices=1):
    class CUDARuntimeError(RuntimeError):
        pass

    def device_count():
        if not devices:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return devices

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, driverGetVersion=lambda: driver, getDeviceCount=device_count
    )
    module = types.ModuleType("cupy")
    module.cuda = types.SimpleNamespace(runtime=runtime)
    module.ndarray = type("ndarray", (), {})
    return module


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (None, r"CuPy is not installed; pip install 'gradviz\[cuda12\]'"),
        (fake_cupy(driver=0, devices=0), "no NVIDIA driver"),
        (fake_cupy(devices=0), r"a driver for CUDA 12\.4 are there, but no device .*gradviz\[cuda12\]"),
    ],
)
def test_a_missing_gpu_is_told_in_one_line(monkeypatch, module, says):
    monkeypatch.setitem(sys.modules, "cupy", module)
    with pytest.raises(ExecutionError, match=says) as caught:
        backend.get("cupy")
    assert "\n" not in str(caught.value)


def test_cupy_is_taken_where_it_works(monkeypatch):
    module = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert backend.get("cupy").xp is module


def test_cupy_is_not_imported_unless_asked_for():
    assert "cupy" not in sys.modules
