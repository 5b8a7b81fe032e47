"""Copies: the same elements; rules that look at whether a gradient is dense, sparse or missing."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.arguments import values
from gradviz.ops.records import GradientSlice, Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

x = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize("type", ["Copy", "Alias", "StopGradient", "NegateGradient", "EnsureCPUOutput", "CopyGPUToCPU"])
def test_copies_are_equal_and_apart(type):
    y = run(type, x)
    assert np.array_equal(y, x) and not np.may_share_memory(y, x)


def test_copy_takes_text_and_a_model_for_the_device():
    assert run("Copy", np.array([b"a", b"bc"], object)).tolist() == [b"a", b"bc"]
    assert np.array_equal(run("CopyOnDeviceLike", x, np.zeros(1, np.float32)), x)


def test_ensure_dense_refuses_a_scalar():
    with pytest.raises(ExecutionError, match="at least a vector"):
        run("EnsureDense", np.float32(1))


def test_zero_gradient_has_no_output():
    assert run("ZeroGradient", x, outputs=0) == []


def gradient(type, g, outputs=1):
    ops, g_input = make_gradient(Op(definition(type, 1, outputs)), g)
    return [made.to_proto() for made in ops], g_input[0]


def test_alias_hands_the_name_on():
    assert gradient("Alias", ["g"]) == ([], "g")


def test_ensure_dense_makes_a_sparse_gradient_dense():
    assert gradient("EnsureDense", ["g"]) == ([], "g")
    (made,), g_input = gradient("EnsureDense", [GradientSlice("idx", "val")])
    assert (made.type, list(made.input), g_input) == ("SparseToDense", ["idx", "val", "x0"], "x0_grad")
    with pytest.raises(GradientError, match="no gradient"):
        gradient("EnsureDense", [None])


def test_copies_between_devices_copy_both_halves_of_a_slice():
    made, g_input = gradient("CopyGPUToCPU", [GradientSlice("idx", "val")])
    assert [(op.type, list(op.input)) for op in made] == [("CopyCPUToGPU", ["idx"]), ("CopyCPUToGPU", ["val"])]
    assert g_input == GradientSlice("x0_grad_indices", "x0_grad_values")
    with pytest.raises(GradientError) as refused:
        gradient("CopyGPUToCPU", [None])
    assert refused.value.kind == "make_gradient_other"


def test_zero_gradient_fills_with_zeros():
    (made,), g_input = gradient("ZeroGradient", [], outputs=0)
    assert (made.type, values(made), g_input) == ("ConstantFill", {"value": 0.0}, "x0_grad")
