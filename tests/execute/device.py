"""Arrays that behave as if they lived on another device: an array namespace without a GPU, as strict as CuPy's.

Its arrays refuse what CuPy's refuse (becoming a NumPy array, meeting one in an operation, serving as a Python index),
its namespace has the functions that CuPy 14 has and no others, and reductions give arrays of rank 0. So a
machine without a GPU still proves that kernels do not mix host and device.
"""

import operator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gradviz.execute.backend import Backend

# What CuPy 14.2 has under NumPy's names.
NAMES = frozenset((Path(__file__).parents[1] / "data" / "cupy_names.txt").read_text().split())
# Beside plain calls, CuPy's universal functions have these methods for these functions only.
METHODS = {
    "at": {"add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"},
    "reduce": {"add", "multiply"},
    "accumulate": {"add", "multiply"},
    "reduceat": {"add"},
}
UPLOADS = {"asarray", "array", "ascontiguousarray", "asanyarray"}
GENERATOR = {
    *("beta", "binomial", "chisquare", "dirichlet", "exponential", "f", "gamma", "geometric", "hypergeometric"),
    *("integers", "logseries", "poisson", "power", "random", "standard_exponential", "standard_gamma"),
    *("standard_normal", "uniform"),
}


def lower(value, upload=False):
    """The NumPy value behind one of ours; a NumPy array is refused unless this is an upload."""
    if isinstance(value, DeviceArray):
        return value._held
    if isinstance(value, np.ndarray) and not upload:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>: a host array met a device array")
    if isinstance(value, tuple):
        return tuple(lower(each, upload) for each in value)
    if isinstance(value, list):
        return [lower(each, upload) for each in value]
    if isinstance(value, slice):
        return slice(*(each.item() if isinstance(each, DeviceArray) else each for each in _parts(value)))
    return value


def _parts(value):
    return value.start, value.stop, value.step


def lift(value):
    """NumPy results as device arrays."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "OSU":
            raise TypeError(f"a device holds no {value.dtype}")
        return DeviceArray(np.asarray(value))
    if type(value) in {tuple, list}:
        return type(value)(lift(each) for each in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(lift(each) for each in value))
    return value


class DeviceArray:
    """An array on a device that does not exist."""

    __hash__ = None
    __array_priority__ = 1000

    def __init__(self, held):
        self._held = held

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use `.get()`")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or ufunc.__name__ not in NAMES:
            raise TypeError(f"{ufunc.__name__}.{method} is not there on the device")
        return lift(getattr(ufunc, method)(*lower(inputs), **{key: lower(each) for key, each in kwargs.items()}))

    def __array_function__(self, function, types, args, kwargs):
        if function.__name__ not in NAMES:
            raise TypeError(f"{function.__name__} is not there on the device")
        return lift(function(*lower(args), **{key: lower(each) for key, each in kwargs.items()}))

    def get(self):
        return self._held.copy()

    @property
    def base(self):
        return self._held.base

    @property
    def T(self):
        return lift(self._held.T)

    def __getattr__(self, name):
        if name.startswith("_") or name in {"ctypes", "getfield", "resize", "setfield", "setflags", "to_device"}:
            raise AttributeError(name)
        found = getattr(self._held, name)
        if not callable(found):
            return found
        if name == "repeat":
            return lambda *args, **kwargs: namespace.repeat(self, *args, **kwargs)
        return lambda *args, **kwargs: lift(found(*lower(args), **{key: lower(each) for key, each in kwargs.items()}))

    def item(self, *args):
        return self._held.item(*args)

    def tolist(self):
        return self._held.tolist()

    def tobytes(self):
        return self._held.tobytes()

    def __getitem__(self, index):
        return lift(self._held[lower(index)])

    def __setitem__(self, index, value):
        self._held[lower(index)] = lower(value)

    def __iter__(self):
        if not self._held.ndim:
            raise TypeError("iteration over a 0-d array")
        return (lift(each) for each in self._held)

    def __len__(self):
        return len(self._held)

    def __bool__(self):
        return bool(self._held)

    def __int__(self):
        return int(self._held)

    def __float__(self):
        return float(self._held)

    def __repr__(self):
        return f"DeviceArray({self._held.dtype}{list(self._held.shape)})"


def _binary(name):
    def method(self, other):
        if isinstance(other, list | tuple):
            raise TypeError(f"Unsupported type {type(other)}")
        made = getattr(operator, name)(self._held, lower(other))
        return self if name.startswith("i") and made is self._held else lift(made)

    return method


def _unary(name):
    return lambda self: lift(getattr(operator, name)(self._held))


def _reflected(name):
    def method(self, other):
        return lift(getattr(operator, name)(lower(other), self._held))

    return method


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
):
    _bare = _name.rstrip("_")
    setattr(DeviceArray, f"__{_bare}__", _binary(_name))
    setattr(DeviceArray, f"__r{_bare}__", _reflected(_name))
    if _bare != "matmul":
        setattr(DeviceArray, f"__i{_bare}__", _binary(f"i{_bare}"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(DeviceArray, f"__{_name}__", _binary(_name))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(DeviceArray, f"__{_name}__", _unary(_name))


class Function:
    """A function of the namespace."""

    def __init__(self, function):
        self._function = function
        self.__name__ = function.__name__

    def __call__(self, *args, **kwargs):
        name = self.__name__
        if name == "repeat" and any(isinstance(each, DeviceArray) for each in (*args[1:2], kwargs.get("repeats"))):
            raise ValueError("a device array cannot be specified as `repeats` argument")
        upload = name in UPLOADS
        args = tuple(lower(each, upload) for each in args)
        return lift(self._function(*args, **{key: lower(each, upload) for key, each in kwargs.items()}))

    def __getattr__(self, name):
        if name not in METHODS and name != "outer":
            raise AttributeError(name)
        if name != "outer" and self.__name__ not in METHODS[name]:
            raise NotImplementedError(f"{self.__name__}.{name} is not there on the device")
        method = getattr(self._function, name)
        return lambda *args, **kwargs: lift(method(*lower(args), **{k: lower(each) for k, each in kwargs.items()}))


class Namespace:
    """Functions as CuPy has them."""

    ndarray = DeviceArray
    __name__ = "cupy"

    def __init__(self, of, names):
        self._of = of
        self._names = names

    def __getattr__(self, name):
        if name not in self._names:
            raise AttributeError(f"the device's namespace has no {name}")
        found = getattr(self._of, name)
        if isinstance(found, type) or not callable(found):
            return found
        return Function(found)


class Generator:
    """Random numbers as CuPy has them."""

    def __init__(self, seed):
        self._held = np.random.default_rng(seed)

    def __getattr__(self, name):
        if name not in GENERATOR:
            raise AttributeError(f"the device's random generator has no {name}")
        method = getattr(self._held, name)
        return lambda *args, **kwargs: lift(method(*lower(args), **{k: lower(each) for k, each in kwargs.items()}))


namespace = Namespace(np, NAMES - {"random", "linalg", "lib", "fft"})
namespace.random = SimpleNamespace(default_rng=Generator)
namespace.linalg = Namespace(np.linalg, frozenset(dir(np.linalg)))
namespace.lib = SimpleNamespace(
    stride_tricks=Namespace(np.lib.stride_tricks, frozenset({"as_strided", "sliding_window_view"}))
)
DEVICE = Backend("cupy", namespace)
