"""Diagnoses: what was asked, what was found, whose fault it is, what lies behind."""

import pytest

import gradviz
from gradviz.autodiff.explain.examine import examine
from tests.autodiff.nets import IN_PLACE_DROPOUT, net_of


def told(*ops, ys=("y",), **fields):
    error = gradviz.trace(net_of(*ops, **fields), list(ys)).error
    return error, "\n".join(error.explanation)


def test_diagnosis_of_an_overwritten_output():
    error, text = told(*IN_PLACE_DROPOUT)
    diagnosis = error.diagnosis
    assert (diagnosis.kind, diagnosis.op_index, diagnosis.site) == ("output_overwritten", 1, ())
    assert diagnosis.ops == (1, 2)
    assert [(v.version, v.writer, v.in_place, v.readers) for v in diagnosis.history] == [
        (0, 0, False, (1,)),
        (1, 1, True, (2,)),
        (2, 2, True, (3,)),
    ]
    assert diagnosis.asked.startswith("ReluGradient, the gradient of op 1 (Relu), reads its OUTPUT h")
    assert "version 1 is gone" in diagnosis.found
    assert "Op 2 (Sqr) overwrote h in place" in text


def test_the_overwriting_op_is_cleared_only_where_its_gradient_is_fine():
    _, dropout = told("FC x w b -> h", "Relu h -> h", "Dropout h -> h mask; is_test=0", "FC h v c -> y")
    assert "DropoutGrad reads only h_grad and mask, not h" in dropout
    _, sigmoid = told("FC x w b -> h", "Relu h -> h", "Sigmoid h -> h", "FC h v c -> y")
    assert "itself is fine" not in sigmoid


def test_the_same_op_twice_is_named_as_such():
    _, text = told("FC x w b -> h", "FC x w b -> h", "Sqr h -> y")
    assert "Ops 0 and 1 are the same op" in text
    assert "belongs to h₁ of op 1 (FC)" in text
    assert "Nobody reads what op 0 (FC) wrote" in text
    _, other = told("FC x w b -> h", "FC x v b -> h", "Sqr h -> y")
    assert "same op" not in other


def test_an_update_before_the_gradients_is_recognised():
    error, text = told("FC x w b -> y", "WeightedSum w one g r -> w")
    assert error.kind == "input_overwritten"
    assert "No y depends on op 1 (WeightedSum)" in text


def test_unknown_unregistered_forbidden_and_missing_are_told_apart():
    _, unknown = told("Conv x w b -> a; kernel=1", "UpsampleNearest a -> y; scale=2")
    assert "unknown operator here, not one with a missing gradient" in unknown
    assert "Detectron" in unknown
    assert "ResizeNearest" in unknown
    assert "Conv" in unknown.partition("known:")[2]
    assert "stands between the ys and w and b" in unknown
    _, unregistered = told("MergeDim x -> y")
    assert "no entry in the gradient registry" in unregistered
    _, forbidden = told("ArgMax x -> y")
    assert "must never be differentiated" in forbidden
    _, missing = told("Floor x -> y")
    assert "ought to have a gradient" in missing
    assert "zero almost everywhere" in missing


def test_every_fault_of_a_definition_is_told_at_once():
    error, text = told("SpatialBN x s b m v -> y mean var sm sv")
    assert error.kind == "schema"
    assert "is_test" in text
    assert "output 1 (mean) must be input 3 (m)" in text


def test_what_would_be_refused_next_is_told():
    _, text = told("AveragedLoss x -> y", "Cast y -> y; to=1")
    assert "may not run in place" in text
    assert "Even with that mended" in text
    assert "from_type" in text
    assert "float already" in text


def test_missing_gradient_of_an_output():
    _, text = told("LSTMUnit h c g l t -> h1 c1", "Sqr h1 -> y")
    assert "its output c1 has no gradient" in text
    assert "c1 is read by no op" in text


def test_sparse_gradient_where_a_dense_one_is_needed():
    _, text = told("Relu x -> t", "Gather t i -> y")
    assert "is sparse" in text
    assert "op 1 (Gather), which picks rows of t" in text


def test_both_readers_of_a_mixed_blob_are_shown():
    error, text = told("SoftmaxWithLoss v tags -> p a", "Gather v picks -> s", "SumElements s -> b", "Add a b -> y")
    assert error.kind == "mixed_sparse_dense"
    assert "op 0 (SoftmaxWithLoss) reads it: dense gradient v_grad" in text
    assert "op 1 (Gather) reads it: sparse gradient, indices=picks" in text


def test_the_loose_end_of_an_orphan_is_drawn():
    _, text = told("Relu x -> d", "FC d w b -> y", "StopGradient d -> s")
    assert "d ─┬─→ op 1 (FC)" in text
    assert "└─→ op 2 (StopGradient) → s → nobody" in text
    assert "Op 1 (FC) still reads d" in text


def test_devices_are_named():
    net = net_of("Relu x -> a", "Tanh x -> b", "Sum a b -> y")
    net.op[0].device_option.device_type = 1
    net.op[0].device_option.device_id = 3
    error = gradviz.trace(net, ["y"]).error
    text = "\n".join(error.explanation)
    assert error.kind == "device_mismatch"
    assert "on CUDA 3" in text
    assert "on the CPU" in text


def test_a_failure_inside_a_nested_net_says_where_it_is():
    inner = gradviz.NetBuilder("inner")
    inner.add("Relu", "x", "h")
    inner.add("Sqr", "h", "h")
    inner.add("Sqr", "h", "y")
    net = gradviz.NetBuilder("outer")
    net.add("If", ["c", "x"], ["y"], then_net=inner)
    error = gradviz.trace(net.net, ["y"]).error
    assert error.op_index == 0
    assert error.diagnosis.site == ((0, "then_net"),)
    assert error.diagnosis.op_index in (0, 1)
    assert "This is inside then_net of op 0 (If)" in error.explanation[0]
    assert "in then_net of op 0" in error.remedies[0].title


def test_a_net_with_its_gradients_is_recognised():
    net = gradviz.trace(net_of("FC x w b -> h", "AveragedLoss h -> y"), ["y"]).net_with_gradients()
    net.op.add(type="WeightedSum", input=["w", "one", "w_grad", "rate"], output=["w"])
    error = gradviz.trace(net, ["y"]).error
    assert "holds gradient ops already, from op 3 (AveragedLossGradient) on" in "\n".join(error.explanation)
    assert error.remedies[0].title.startswith("Take ops 2 to 5 out of the net")


def test_errors_of_one_operator_asked_alone_have_no_diagnosis():
    with pytest.raises(gradviz.GradientError) as caught:
        gradviz.gradient_of(net_of("ArgMax x -> y").op[0], ["y_grad"])
    assert caught.value.diagnosis is None
    assert caught.value.remedies == ()
    assert caught.value.explanation == ()


def test_strict_errors_carry_their_remedies():
    with pytest.raises(gradviz.GradientError) as caught:
        gradviz.trace(net_of(*IN_PLACE_DROPOUT), ["y"], strict=True)
    assert caught.value.remedies


def test_there_is_no_diagnosis_of_a_walk_that_went_well():
    with pytest.raises(ValueError, match="nothing stopped"):
        examine(gradviz.trace(net_of("Relu x -> y"), ["y"]))


def test_operators_left_out_count():
    trace = gradviz.trace(net_of("Relu a -> x", *IN_PLACE_DROPOUT), ["y"], skip=1)
    assert trace.error.op_index == 2
    assert "op 3 (Sqr)" in "\n".join(trace.error.explanation)
    mended = trace.error.remedies[0].apply(trace.model)
    assert gradviz.trace(mended, ["y"], skip=1).error is None
