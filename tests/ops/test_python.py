"""Python functions inside nets: gradients are made, nothing is ever run."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run


def gradient(op, *g_output):
    (made,), g_input = make_gradient(Op(op), g_output)
    return list(made.inputs), list(made.outputs), list(g_input)


def test_everything_is_read_and_all_gradients_are_made():
    inputs, outputs, _ = gradient(definition("Python", 2, outputs=1, token="f"), "g")
    assert inputs == ["x0", "x1", "y0", "g"] and outputs == ["x0_grad", "x1_grad"]


def test_indices_choose_and_order():
    op = definition("PythonDLPack", 3, outputs=2, grad_output_indices=[1, 0], grad_input_indices=[2])
    inputs, outputs, g_input = gradient(op, "g", "h")
    assert inputs[-2:] == ["h", "g"] and outputs == ["x2_grad"] and g_input == [None, None, "x2_grad"]


def test_unasked_output_gradients_may_be_missing():
    assert gradient(definition("Python", 1, outputs=2, grad_output_indices=[1]), None, "h")[0][-1] == "h"
    with pytest.raises(GradientError):
        gradient(definition("Python", 1, outputs=2), None, "h")


@pytest.mark.parametrize("args", [{"grad_output_indices": [2]}, {"grad_input_indices": [-1]}])
def test_indices_out_of_range_are_refused(args):
    with pytest.raises(GradientError, match="names number"):
        gradient(definition("Python", 1, outputs=1, **args), "g")


def test_a_python_operator_is_not_run():
    with pytest.raises(ExecutionError, match="never executed"):
        run("Python", np.float32([1]), token="f:1")
