"""Fillers: shapes, dtypes, distributions, and what is refused."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.proto import TensorProto
from tests.ops.running import run


@pytest.mark.parametrize(
    ("args", "dtype", "value"),
    [
        ({}, "float32", 0),
        ({"value": 1.5}, "float32", 1.5),
        ({"value": 3}, "int64", 3),
        ({"value": 3, "dtype": TensorProto.INT16}, "int16", 3),
        ({"value": 1, "dtype": TensorProto.BOOL}, "bool", True),
        ({"value": 0.5, "dtype": TensorProto.DOUBLE}, "float64", 0.5),
        ({"dtype": TensorProto.UINT8}, "uint8", 0),
    ],
)
def test_constant_takes_its_dtype_from_dtype_or_value(args, dtype, value):
    made = run("ConstantFill", shape=[2, 3], **args)
    assert made.dtype == dtype and made.shape == (2, 3) and (made == value).all()


def test_constant_text():
    made = run("ConstantFill", shape=[2], value="ab", dtype=TensorProto.STRING)
    assert made.tolist() == [b"ab", b"ab"]


def test_shape_comes_from_an_input_or_from_what_it_says():
    x = np.array([2, 3], "int64")
    assert run("ConstantFill", x, value=1.0).shape == (2,)
    assert run("ConstantFill", x, value=1.0, extra_shape=[5]).shape == (2, 5)
    assert run("ConstantFill", x, value=1.0, input_as_shape=1).shape == (2, 3)
    assert run("ConstantFill", x, value=1.0, input_as_shape=1, extra_shape=[5]).shape == (2, 3, 5)


@pytest.mark.parametrize(
    ("inputs", "args", "said"),
    [
        ([np.zeros(2, "float32")], {"shape": [2]}, "given twice"),
        ([], {"shape": 3}, "list of integers"),
        ([], {"extra_shape": [3]}, "needs an input"),
        ([np.zeros(2, "float32")], {"input_as_shape": 1}, "int64"),
        ([], {"shape": [2], "value": 1, "dtype": TensorProto.FLOAT}, "no float32"),
        ([], {"shape": [2], "value": 300, "dtype": TensorProto.UINT8}, "too large"),
        ([], {"shape": [2], "value": "x"}, "must be a number"),
        ([], {"shape": [2], "dtype": TensorProto.FLOAT16}, "no type that can be filled"),
        ([np.zeros(2, "float32"), np.zeros(2, "float32")], {}, "one element"),
    ],
)
def test_constant_refuses(inputs, args, said):
    with pytest.raises(ExecutionError, match=said):
        run("ConstantFill", *inputs, **args)


def test_given_values_are_read_from_the_list_of_their_dtype():
    assert run("GivenTensorFill", values=[1.0, 2.0], shape=[2]).dtype == np.float32
    assert run("GivenTensorFill", values=[1, 2], shape=[1, 2], dtype=TensorProto.INT64).tolist() == [[1, 2]]
    assert run("GivenTensorFill", values=[1, 2], shape=[2], dtype="int32").dtype == np.int32
    assert run("GivenTensorStringFill", values=["a", b"\xff"], shape=[2]).tolist() == [b"a", b"\xff"]
    assert run("GivenTensorByteStringToUInt8Fill", values=[b"\x00\xff"], shape=[2]).tolist() == [0, 255]
    with pytest.raises(ExecutionError, match="0 values of float32"):
        run("GivenTensorFill", values=[1, 2], shape=[2])


def test_diagonal_of_matrices_and_cubes():
    assert run("DiagonalFill", shape=[2, 3], value=2.0).tolist() == [[2, 0, 0], [0, 2, 0]]
    cube = run("DiagonalFill", shape=[3, 3, 3], value=1.0)
    assert cube.sum() == 3 and cube[0, 0, 0] == cube[1, 1, 1] == cube[2, 2, 2] == 1
    with pytest.raises(ExecutionError, match="all must be equal"):
        run("DiagonalFill", shape=[2, 3, 2])


def test_ranges():
    assert run("RangeFill", shape=[2, 2]).tolist() == [[0, 1], [2, 3]]
    assert run("LengthsRangeFill", np.array([2, 0, 3], "int32")).tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("type", "args", "mean", "deviation"),
    [
        ("GaussianFill", {"mean": 1.0, "std": 2.0}, 1.0, 2.0),
        ("UniformFill", {"min": -1.0, "max": 3.0}, 1.0, 4 / 12**0.5),
        ("XavierFill", {}, 0.0, 100**-0.5),
        ("MSRAFill", {}, 0.0, (2 / 200) ** 0.5),
    ],
)
def test_distribution_and_seed(type, args, mean, deviation):
    made = run(type, shape=[200, 100], seed=3, **args)
    assert made.dtype == np.float32 and made.shape == (200, 100)
    assert made.mean() == pytest.approx(mean, abs=0.05 * deviation)
    assert made.std() == pytest.approx(deviation, rel=0.02)
    assert (made == run(type, shape=[200, 100], seed=3, **args)).all()
    assert (made != run(type, shape=[200, 100], seed=4, **args)).any()


def test_uniform_limits_may_be_inputs():
    size = np.array([50], "int64")
    low, high = np.array([2.0], "float32"), np.array([2.5], "float32")
    made = run("UniformFill", size, low, high, input_as_shape=1)
    assert made.shape == (50,) and (made >= 2).all() and (made <= 2.5).all()
    assert run("UniformFill", size, high, low, input_as_shape=1).shape == (0,)
    with pytest.raises(ExecutionError, match="larger than min"):
        run("UniformFill", shape=[2], min=1.0, max=1.0)


def test_integers_include_both_ends():
    made = run("UniformIntFill", shape=[1000], min=-1, max=2, seed=0)
    assert made.dtype == np.int32 and set(made.tolist()) == {-1, 0, 1, 2}


@pytest.mark.parametrize("high", [9, 10_000_000])
def test_unique_values_leave_out_what_is_to_be_avoided(high):
    size, avoid = np.array([8], "int64"), np.array([0, 5], "int32")
    made = run("UniqueUniformFill", size, avoid, input_as_shape=1, min=0, max=high, seed=0)
    assert made.dtype == np.int32 and len(set(made.tolist()) - {0, 5}) == 8
    with pytest.raises(ExecutionError, match="do not fit"):
        run("UniqueUniformFill", size, avoid, input_as_shape=1, min=0, max=8)
