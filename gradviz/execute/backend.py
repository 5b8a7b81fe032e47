"""Where arrays live: NumPy always, CuPy when asked for. Nothing else in gradviz imports CuPy."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError

if TYPE_CHECKING:
    from types import ModuleType

NAMES = ("numpy", "cupy")
"""The backends, the default one first."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An array namespace and the way in and out of it.

    Attributes:
        name: `numpy` or `cupy`.
        xp: the namespace that kernels are handed.
    """

    name: str
    xp: ModuleType

    def to_device(self, value: Any) -> Any:
        """Bring a value to where this backend computes; what is no tensor is handed through.

        Python and NumPy scalars become arrays of rank 0. Text becomes an object array of bytes, which stays on the host
        with every backend: devices hold no text.
        """
        if isinstance(value, self.xp.ndarray) and value.dtype.kind not in "SU":
            return value
        if isinstance(value, np.generic | bool | int | float):
            value = np.asarray(value)
        elif self.name == "numpy" and _is_foreign_device_array(value):
            value = value.get()
        if not isinstance(value, np.ndarray):
            return value
        value = _as_text(value)
        return value if self.name == "numpy" or value.dtype.kind == "O" else self.xp.asarray(value)

    def to_host(self, value: Any) -> Any:
        """Bring a value to the host, as a NumPy array; what is no tensor is handed through."""
        if isinstance(value, np.generic):
            return np.asarray(value)
        if self.name != "numpy" and isinstance(value, self.xp.ndarray):
            return value.get()
        return value

    def is_array(self, value: Any) -> bool:
        """Whether a value is a tensor, here or on the host."""
        return isinstance(value, np.ndarray) or isinstance(value, self.xp.ndarray)  # noqa: SIM101 (no union each time)

    def generator(self, seed: int | None = None) -> Any:
        """A random generator with NumPy's `Generator` interface; the same seed gives the same numbers again."""
        return self.xp.random.default_rng(seed)

    def synchronize(self) -> None:
        """Wait until everything handed to the device is done."""
        if self.name != "numpy":
            self.xp.cuda.get_current_stream().synchronize()


def _as_text(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if value.dtype.kind == "U":
        value = np.char.encode(value, "utf-8")
    return value.astype(object) if value.dtype.kind == "S" else value


def _is_foreign_device_array(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "cupy" and hasattr(value, "get")


_NUMPY = Backend("numpy", np)


def get(name: str = "numpy") -> Backend:
    """The backend of that name.

    Args:
        name: `numpy` or `cupy`.

    Raises:
        ExecutionError: no such backend; or CuPy is not installed, finds no driver, or finds no device.
    """
    if name == "numpy":
        return _NUMPY
    if name != "cupy":
        raise ExecutionError(f"there is no backend {name!r}; there are {' and '.join(NAMES)}")
    return _cupy()


def _cupy() -> Backend:
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise ExecutionError(
            "backend cupy: CuPy is not installed; "
            "pip install 'gradviz[cuda12]' (or 'gradviz[cuda13]', as the driver's CUDA is)"
        ) from error
    runtime = cupy.cuda.runtime
    try:
        driver, count = runtime.driverGetVersion(), runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        driver, count = _version_or_zero(runtime), 0
        cause: Exception | None = error
    else:
        cause = None
    if driver == 0:
        raise ExecutionError(
            "backend cupy: CuPy is installed, but this machine has no NVIDIA driver; install one, or use backend numpy"
        ) from cause
    if count == 0:
        said = f" ({cause})" if cause else ""
        raise ExecutionError(
            f"backend cupy: CuPy and a driver for CUDA {driver // 1000}.{driver % 1000 // 10} are there, but no device "
            f"is to be seen{said}; look at CUDA_VISIBLE_DEVICES, take the extra that fits the driver "
            f"(gradviz[cuda12] or gradviz[cuda13]), or use backend numpy"
        ) from cause
    return Backend("cupy", cupy)


def _version_or_zero(runtime: Any) -> int:
    try:
        return int(runtime.driverGetVersion())
    except runtime.CUDARuntimeError:
        return 0
