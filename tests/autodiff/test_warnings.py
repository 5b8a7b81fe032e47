"""Warnings: what upstream lets pass; gradients that are silently wrong are held against central differences."""

import numpy as np
import pytest
from hypothesis import given, settings

import gradviz
from gradviz.autodiff import proves
from tests.autodiff.nets import IN_PLACE_DROPOUT, net_of, random_nets

RANDOM = np.random.default_rng(7)


def kinds(ops, ys=("y",)):
    trace = gradviz.trace(net_of(*ops), ys if isinstance(ys, dict) else list(ys))
    return {warning.kind: warning for warning in trace.warnings}


def gradients_are_right(net, ys, wrt):
    feeds = {}
    for op in net.op:
        for name in op.input:
            if name == "labels":
                feeds[name] = np.array([0, 1, 2], dtype=np.int32)
            elif len(name) == 1:
                feeds.setdefault(name, RANDOM.uniform(0.3, 2, (3, 4)).astype(np.float32))
    return gradviz.check_gradients(net, feeds, ys=list(ys), wrt=[wrt]).ok


@pytest.mark.parametrize(
    ("ops", "ys", "wrt", "kind"),
    [
        (("Sqr x -> one", "Sqr x -> two", "Sum one two -> sum"), ["sum"], "x", "gradient_overwritten"),
        (("Sqr x -> x", "Tanh x -> out"), ["out"], "x", "in_place_input"),
        (("Mul x w -> x", "Tanh x -> out"), ["out"], "w", "in_place_input"),
        (("SoftmaxWithLoss x labels -> prob loss", "Sqr prob -> out"), ["loss", "out"], "x", "gradient_ignored"),
    ],
)
def test_silently_wrong_gradients(ops, ys, wrt, kind):
    net = net_of(*ops)
    trace = gradviz.trace(net, ys)
    assert trace.error is None
    warning = next(each for each in trace.warnings if each.kind == kind)
    if kind == "in_place_input":
        proof = proves(warning.remedies[0], net, ys)
        assert proof
        assert not any(each.kind == kind for each in proof.trace.warnings)
        assert gradients_are_right(proof.model.net, proof.ys, wrt)
    else:
        assert not gradients_are_right(net, ys, wrt)


@pytest.mark.parametrize(
    ("ops", "ys", "wrt"),
    [
        (("Sigmoid x -> one", "Tanh x -> two", "Sum one two -> sum", "Sqr sum -> out"), ["out"], "x"),
        (("Add x w -> x", "Tanh x -> out"), ["out"], "x"),
        (("Sigmoid x -> one", "Sigmoid one -> one2", "Mul one one2 -> out"), ["out"], "x"),
        (("Relu x -> x", "Sqr x -> out"), ["out"], "x"),
        (("Mul x x -> out",), ["out"], "x"),
        (("Split x -> one two; axis=1", "Mul one two -> out"), ["out"], "x"),
    ],
)
def test_right_gradients_are_not_suspected(ops, ys, wrt):
    net = net_of(*ops)
    trace = gradviz.trace(net, ys)
    assert [warning for warning in trace.warnings if warning.kind != "frozen_parameters"] == []
    assert gradients_are_right(net, ys, wrt)


def test_a_gradient_that_passes_unchecked_to_another_version():
    found = kinds(("Sum a -> x", "ConstantFill -> x", "Relu x -> y"))
    assert "belongs to version 1" in found["gradient_of_another_version"]


def test_gradient_operators_that_cannot_run():
    found = kinds(("PRelu x w -> x", "Sqr x -> y"))
    assert "PReluGradient" in found["gradient_op_unfit"]
    assert found["gradient_op_unfit"].remedies


def test_batch_norm_in_test_mode_and_what_is_right():
    ops = ("SpatialBN x s b m v -> n; is_test=1", "Sqr n -> out")
    net = net_of(*ops)
    warning = kinds(ops, ["out"])["batch_norm_in_test_mode"]
    assert "takes the variance v for an inverse standard deviation" in warning
    feeds = {"x": RANDOM.normal(size=(2, 3, 2, 2)).astype(np.float32)}
    feeds |= {name: RANDOM.uniform(0.5, 2, 3).astype(np.float32) for name in "sbmv"}
    proof = proves(warning.remedies[0], net, ["out"])
    before = gradviz.run(net, feeds=feeds, ys=())["out"]
    after = gradviz.run(proof.model, feeds=feeds, ys=())["out"]
    np.testing.assert_allclose(after, before, rtol=1e-4)
    assert not gradviz.check_gradients(net, feeds, ys=["out"], wrt=["s", "x"]).ok
    assert gradviz.check_gradients(proof.model, feeds, ys=["out"], wrt=["s", "b", "x"]).ok


def test_unknown_ys():
    warning = kinds(("FC x w b -> loss",), ["los"])["unknown_y"]
    assert "did you mean loss" in warning
    assert "no parameter gets one" in warning
    assert warning.remedies[0].ys({"los": None}) == {"loss": None}


def test_given_gradients_that_are_lost_and_ys_that_count_twice():
    ops = ("Relu x -> h", "Sqr h -> y")
    assert "mine" in kinds(ops, {"h": "mine", "y": None})["given_gradient_lost"]
    assert "counts twice" in kinds(ops, ["h", "y"])["y_counts_twice"]
    assert kinds(("Relu x -> h", "Sqr x -> y"), ["h", "y"]) == {}


def test_softmax_without_a_loss():
    assert "every gradient below it is zero" in kinds(("Softmax x -> y",))["softmax_of_ones"]
    assert "softmax_of_ones" not in kinds(("Softmax x -> y",), {"y": "given"})


def test_ys_that_are_no_loss():
    assert "comes from outside" in kinds(("FC x w b -> y",), ["y", "w"])["y_from_outside"]
    assert "their sum, not of their mean" in kinds(("FC x w b -> p", "LabelCrossEntropy p l -> y"))["y_per_example"]
    assert kinds(("FC x w b -> p", "LabelCrossEntropy p l -> q", "AveragedLoss q -> y")) == {}


def test_gradients_of_a_second_call_replace_those_of_the_first():
    net = net_of("FC x w b -> h", "AveragedLoss h -> one", "SumElements h -> two")
    first = gradviz.trace(net, ["one"]).net_with_gradients()
    found = {warning.kind: warning for warning in gradviz.trace(first, ["two"]).warnings}
    assert "w_grad" in found["gradient_name_taken"]
    assert "in one call" in found["gradient_name_taken"]
    assert "gradient_name_taken" not in {each.kind for each in gradviz.trace(net, ["one", "two"]).warnings}


def test_networks_without_a_way_back():
    ops = ("RecurrentNetwork a b c -> y z; recompute=1",)
    net = net_of(*ops)
    net.op[0].arg.add(name="outputs_with_grads", ints=[0])
    assert "no backward_step_net" in {w.kind: w for w in gradviz.trace(net, ["y"]).warnings}["no_backward_step_net"]


@pytest.mark.parametrize(
    ("op", "blob", "argument"),
    [
        ("SparseLengthsWeightedSum t w i l -> h", "w", "grad_on_weights"),
        ("LayerNorm x w b -> h m s", "w", "elementwise_affine"),
        ("AffineChannel x w b -> h", "w", "is_learnable"),
    ],
)
def test_arguments_that_ask_for_more_gradients(op, blob, argument):
    net = net_of(op, "AveragedLoss h -> y")
    trace = gradviz.trace(net, ["y"])
    assert f"only with the argument {argument}=1" in str(gradviz.why(trace, blob))
    for remedy in [each for warning in trace.warnings for each in warning.remedies]:
        assert proves(remedy, net, ["y"]).trace.input_to_grad[blob]


def test_zero_gradients_freeze_nothing():
    assert "freezes nothing" in kinds(("FC x w b -> y", "ZeroGradient w ->"))["zero_gradient_added"]


def test_frozen_parameters_and_unknown_types():
    found = kinds(("FC x v c -> h", "StopGradient h -> h", "FC h w b -> y", "IterOp i -> i"))
    assert (
        "2 of 4 parameters get no gradient (trained: w and b): v and c: op 1 (StopGradient)"
        in found["frozen_parameters"]
    )
    assert "did you mean Iter or AtomicIter" in found["unknown_type"]


def test_many_warnings_of_a_kind_are_cut_short():
    ops = [f"Softmax x{i} -> y{i}" for i in range(20)]
    trace = gradviz.trace(net_of(*ops), [f"y{i}" for i in range(20)])
    assert len(trace.warnings) == 9
    assert "12 more warnings" in trace.warnings[-1]


@settings(deadline=None)
@given(random_nets())
def test_warnings_are_lines_of_text_about_the_net(case):
    net, ys = case
    for warning in gradviz.trace(net, ys).warnings:
        assert isinstance(warning, str)
        assert "\n" not in warning
        assert warning.kind
        assert warning.op_index is None or 0 <= warning.op_index < len(net.op)


def test_walks_that_failed_are_warned_of_too():
    trace = gradviz.trace(net_of(*IN_PLACE_DROPOUT, "Softmax q -> p"), ["y", "p"])
    assert trace.error is not None
    assert {warning.kind for warning in trace.warnings} == {"softmax_of_ones", "in_place_input"}
