"""Arguments that hold another kind of value than a kernel reads are refused by name, before anything is computed."""

import time

import numpy as np
import pytest

import gradviz
from gradviz import ExecutionError, run_op
from gradviz.ops.arguments import arg
from gradviz.ops.registry import unregister
from gradviz.proto import NetDef, OperatorDef
from tests.ops.running import definition, run

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("type", "name", "value", "wanted"),
    [
        ("Softmax", "axis", "x", "an integer"),
        ("Softmax", "axis", 1.5, "an integer"),
        ("Softmax", "axis", [1, 2], "an integer"),
        ("Softmax", "axis", [], "an integer"),
        ("Softmax", "axis", NetDef(), "an integer"),
        ("LeakyRelu", "alpha", "x", "a number"),
        ("LeakyRelu", "alpha", [0.5], "a number"),
        ("Reshape", "shape", 3, "a list of integers"),
        ("Reshape", "shape", [1.5], "a list of integers"),
        ("Reshape", "shape", ["a", "b"], "a list of integers"),
    ],
)
def test_refusal_names_the_argument(type, name, value, wanted) -> None:
    outputs = 2 if type == "Reshape" else 1
    with pytest.raises(ExecutionError, match=f"its argument {name} must be {wanted}, not "):
        run(type, X, outputs=outputs, **{name: value})


def test_integers_pass_where_numbers_are_wanted() -> None:
    np.testing.assert_array_equal(run("LeakyRelu", -X, alpha=2), -2 * X)


def test_arguments_that_no_kernel_reads_may_hold_anything() -> None:
    np.testing.assert_array_equal(run("Relu", X, note=[1.5], axis="none"), X)


def test_a_text_for_a_factor_does_not_take_minutes() -> None:
    op = definition("IndexHash", 1, modulo=100)
    op.arg.append(arg("seed", "x"))
    began = time.monotonic()
    with pytest.raises(ExecutionError, match="seed"):
        run_op(op, [np.ones(4, np.int32)])
    assert time.monotonic() - began < 1


def test_long_messages_name_the_first_inputs_only() -> None:
    op = OperatorDef(type="Sum", input=[f"x{i}" for i in range(500)], output=["y"], arg=[arg("a", 1)])
    with pytest.raises(ExecutionError, match="and 492 more") as refused:
        run_op(op, [X] * 499 + [X.astype(np.int32)])
    assert len(str(refused.value)) < 500


class OddError(Exception):
    """What no library raises."""


def test_whatever_a_kernel_raises_comes_as_an_execution_error() -> None:
    def fails(xp, x):
        raise OddError("for\nno reason")

    gradviz.register("FailsOddly", kernel=fails)
    try:
        with pytest.raises(ExecutionError, match="OddError: for no reason") as refused:
            run_op(definition("FailsOddly", 1), [X])
    finally:
        unregister("FailsOddly")
    assert isinstance(refused.value.__cause__, OddError)


@pytest.mark.parametrize("type", ["HSoftmax", "HSoftmaxSearch"])
def test_messages_inside_texts_that_do_not_parse(type) -> None:
    w, b = np.ones((13, 3), np.float32), np.ones(13, np.float32)
    labels = [np.zeros(2, np.int32)] if type == "HSoftmax" else []
    with pytest.raises(ExecutionError, match=type):
        run(type, X, w, b, *labels, outputs=2, hierarchy="NHWC", tree="NHWC")
