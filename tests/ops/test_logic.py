"""Comparisons, logic and choices: values by hand, NaN, text, and what is refused."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run

T, F = True, False


@pytest.mark.parametrize(
    ("type", "wanted"),
    [
        ("EQ", [F, T, F, F]),
        ("NE", [T, F, T, T]),
        ("LT", [T, F, F, F]),
        ("LE", [T, T, F, F]),
        ("GT", [F, F, T, F]),
        ("GE", [F, T, T, F]),
    ],
)
def test_comparisons(type, wanted):
    found = run(type, np.array([1, 2, 3, math.nan], "float32"), np.array([2, 2, 2, 2], "float32"))
    assert found.dtype == bool and found.tolist() == wanted


def test_comparisons_broadcast_and_refuse_text():
    assert run("EQ", np.array([[1, 2], [1, 3]]), np.array([1, 2]), broadcast=1).tolist() == [[T, T], [T, F]]
    with pytest.raises(ExecutionError, match="string"):
        run("EQ", np.array([b"a"], object), np.array([b"a"], object))


@pytest.mark.parametrize(("type", "wanted"), [("And", [T, F, F]), ("Or", [T, T, F]), ("Xor", [F, T, F])])
def test_logic(type, wanted):
    assert run(type, np.array([T, T, F]), np.array([T, F, F])).tolist() == wanted
    with pytest.raises(ExecutionError, match="int64"):
        run(type, np.array([1]), np.array([1]))


@pytest.mark.parametrize(("type", "wanted"), [("BitwiseAnd", 4), ("BitwiseOr", 7), ("BitwiseXor", 3)])
def test_bits(type, wanted):
    assert run(type, np.array([6], "int32"), np.array([5], "int32")).tolist() == [wanted]


def test_not_and_is_nan():
    assert run("Not", np.array([T, F])).tolist() == [F, T]
    found = run("IsNaN", np.array([math.nan, 1.0]))
    assert found.dtype == np.uint8 and found.tolist() == [1, 0]


def test_where():
    left, right = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])
    assert run("Where", np.array([[T, F], [F, T]]), left, right).tolist() == [[1, 6], [7, 4]]
    assert run("Where", np.array([T, F]), left, right, broadcast_on_rows=1).tolist() == [[1, 2], [7, 8]]
    texts = np.array([b"a", b"b"], object), np.array([b"c", b"d"], object)
    assert run("Where", np.array([F, T]), *texts).tolist() == [b"c", b"b"]
    with pytest.raises(ExecutionError, match="shapes"):
        run("Where", np.array([T, F]), left, right)
    with pytest.raises(ExecutionError, match="one condition a row"):
        run("Where", np.array([T]), left, right, broadcast_on_rows=1)


def test_is_member_of():
    assert run("IsMemberOf", np.array([1, 2, 3]), value=[3, 1]).tolist() == [T, F, T]
    assert run("IsMemberOf", np.array([b"a", b"b"], object), value=["b", "c"]).tolist() == [F, T]
    with pytest.raises(ExecutionError, match="integers"):
        run("IsMemberOf", np.array([1]), value=["a"])


def test_stumps():
    x = np.array([0.2, 0.5, 0.9], "float32")
    found = run("StumpFunc", x, threshold=0.5, low_value=1.0, high_value=2.0)
    assert found.dtype == np.float32 and found.tolist() == [1, 1, 2]
    low, high = run("StumpFuncIndex", x, threshold=0.5, outputs=2)
    assert (low.tolist(), high.tolist(), low.dtype) == ([0, 1], [2], np.int64)


def test_assert_says_which_element_and_why():
    assert run("Assert", np.array([T, T]), outputs=0) == []
    with pytest.raises(ExecutionError, match=r"element 1: what we feared"):
        run("Assert", np.array([1, 0], "int32"), outputs=0, error_msg="what we feared")
