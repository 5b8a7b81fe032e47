"""What `gradviz.trace` gives: steps, events, gradient operators, map, errors, warnings."""

import pytest

import gradviz
from gradviz.autodiff.events import Accumulate, Fail, Finish, Play, Rename, Skip
from gradviz.proto import DeviceOption, NetDef, OperatorDef
from tests.autodiff.nets import IN_PLACE_DROPOUT, SHARED_WEIGHTS, TWO_GATHERS, net_of


def test_shared_weights_are_split_and_summed():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    sums = [op for op in trace.gradient_ops if op.type == "Sum"]
    assert [list(op.input) for op in sums] == [["w_grad", "_w_grad_autosplit_0"], ["b_grad", "_b_grad_autosplit_0"]]
    assert trace.input_to_grad["w"] == "w_grad"
    assert [event.new for event in trace.events if isinstance(event, Rename)] == [
        "_w_grad_autosplit_0",
        "_b_grad_autosplit_0",
    ]


def test_steps_come_last_operator_first_and_cover_their_events():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    assert [step.op_index for step in trace.steps] == [3, 2, 1, 0]
    for step in trace.steps:
        inside = trace.events[step.first_event : step.last_event + 1]
        assert {event.op_index for event in inside} == {step.op_index}
    assert isinstance(trace.events[trace.steps[-1].last_event + 1], Finish)


def test_step_shows_operators_before_renames():
    first_reader = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"]).steps[-1]
    assert list(first_reader.gradient_ops[0].output) == ["w_grad", "b_grad", "a_grad"]
    assert [(each.blob, each.old, each.new) for each in first_reader.renames] == [
        ("w", "w_grad", "_w_grad_autosplit_0"),
        ("b", "b_grad", "_b_grad_autosplit_0"),
    ]
    assert first_reader.grad_map == {"w": "w_grad", "b": "b_grad"}


def test_two_gathers_of_a_table_meet_in_two_concats():
    trace = gradviz.trace(net_of(*TWO_GATHERS), ["loss"])
    assert [op.type for op in trace.gradient_ops[-2:]] == ["Concat", "Concat"]
    indices, values = trace.input_to_grad["w"]
    assert (indices, values) == tuple(op.output[0] for op in trace.gradient_ops[-2:])
    assert isinstance(trace.input_to_grad["w"], gradviz.GradientSlice)


def test_operator_off_the_path_is_skipped():
    trace = gradviz.trace(net_of("Relu x -> y", "Relu x -> aside"), ["y"])
    assert [type(trace.events[step.first_event]) is Skip for step in trace.steps] == [True, False]
    assert not trace.steps[0].asked


def test_given_gradients_dense_and_sparse():
    net = net_of("Relu x -> y", "Gather w i -> z")
    trace = gradviz.trace(net, {"y": "y_given", "z": None})
    assert [op.type for op in trace.gradient_ops] == ["ConstantFill", "ReluGradient"]
    assert trace.input_to_grad["w"] == gradviz.GradientSlice("i", "z_autogen_grad")
    sparse = gradviz.trace(net_of("EnsureDense x -> y"), {"y": gradviz.GradientSlice("i", "v")})
    assert sparse.gradient_ops[0].type == "SparseToDense"


def test_same_blob_given_twice_in_a_list_counts_once():
    assert len(gradviz.trace(net_of("Relu x -> y"), ["y", "y"]).gradient_ops) == 2


@pytest.mark.parametrize("ys", ["loss", ("loss",), 3, {1: None}, [1]])
def test_ys_of_another_type_are_a_type_error(ys):
    with pytest.raises(TypeError, match="ys should"):
        gradviz.trace(net_of("Relu x -> loss"), ys)


def test_ys_are_chosen_when_none_are_given():
    net = net_of("Relu x -> y", "Relu y -> z", "Relu y -> u", external_output=["y"])
    trace = gradviz.trace(net)
    assert (list(trace.ys), trace.chosen) == (["y"], "external outputs")
    net.ClearField("external_output")
    trace = gradviz.trace(net)
    assert (list(trace.ys), trace.chosen) == (["z", "u"], "unread outputs")


def test_unknown_y_is_a_warning_with_the_nearest_name():
    trace = gradviz.trace(net_of("Relu x -> loss"), ["los"])
    assert trace.error is None
    assert trace.input_to_grad == {"los": "los_autogen_grad"}
    assert "did you mean loss" in trace.warnings[0]


def test_overwritten_output_is_an_error_with_its_evidence():
    trace = gradviz.trace(net_of(*IN_PLACE_DROPOUT), ["y"])
    error = trace.error
    assert (error.kind, error.phase, error.op_index) == ("output_overwritten", "check_inputs", 1)
    assert error.facts["blob"] == "h"
    assert [each["op_index"] for each in error.facts["overwritten_by"]] == [2]
    assert isinstance(trace.events[-1], Fail)
    assert str(error) in trace.events[-1].sentence()
    assert "op 2 (Sqr)" in str(error)
    assert trace.input_to_grad == {}
    assert trace.gradient_ops[-1].type == "ReluGradient"


def test_strict_raises_what_stops_the_walk():
    with pytest.raises(gradviz.GradientError, match="must not be differentiated"):
        gradviz.trace(net_of("ArgMax x -> y"), ["y"], strict=True)


def test_unknown_type_stops_only_when_its_gradient_is_asked():
    net = net_of("NoSuchThing x -> a", "Relu x -> y")
    assert gradviz.trace(net, ["y"]).error is None
    error = gradviz.trace(net, ["a"]).error
    assert (error.kind, error.op_index) == ("no_gradient_maker", 0)
    assert "does not know" in str(error)


def test_misspelt_type_gets_a_suggestion():
    assert "did you mean Relu" in str(gradviz.trace(net_of("Rellu x -> y"), ["y"]).error)


def test_scopes_reach_the_made_gradients():
    device = DeviceOption(device_type=1, device_id=2)
    trace = gradviz.trace(net_of("Relu x -> y"), ["y"], name_scope="outer/", device_scope=device)
    fill = trace.gradient_ops[0]
    assert (list(fill.input), list(fill.output)) == (["outer/y"], ["outer/y_autogen_grad"])
    assert fill.device_option == device
    named = gradviz.trace(net_of("Relu x -> y"), [gradviz.BlobReference("y")], name_scope="outer/")
    assert list(named.gradient_ops[0].input) == ["y"]


def test_skip_leaves_out_the_first_operators():
    trace = gradviz.trace(net_of("Relu x -> y", "Relu y -> z", "Relu z -> u"), ["u"], skip=1)
    assert [step.op_index for step in trace.steps] == [2, 1]
    assert "x" not in trace.input_to_grad
    assert trace.events[0].op_index == 1


def test_a_callable_takes_the_place_of_the_registry():
    def gradient_of(op, g_output):
        return OperatorDef(type="Mine", input=[g_output[0]], output=["dx"]), ["dx"]

    trace = gradviz.trace(net_of("Anything x -> y"), ["y"], gradient_of=gradient_of)
    assert trace.gradient_ops[1].type == "Mine"
    assert trace.input_to_grad["x"] == "dx"


def test_what_a_callable_raises_is_reported():
    def gradient_of(op, g_output):
        raise KeyError("gone")

    error = gradviz.trace(net_of("Anything x -> y"), ["y"], gradient_of=gradient_of).error
    assert (error.kind, error.op_index) == ("KeyError@make_gradient", 0)


def test_net_of_another_generated_module_is_taken():
    class Foreign:
        def SerializeToString(self):
            return net_of("Relu x -> y").SerializeToString()

    assert gradviz.trace(Foreign(), ["y"]).gradient_ops[1].type == "ReluGradient"


def test_gradient_operators_in_the_net_are_operators_like_others():
    net = net_of("Relu x -> y")
    net.op.extend(gradviz.trace(net, ["y"]).gradient_ops)
    error = gradviz.trace(net, ["x_grad"]).error
    assert (error.kind, error.op_index) == ("no_gradient_maker", 2)


def test_empty_net_with_and_without_ys():
    assert gradviz.trace(NetDef(), []).gradient_ops == []
    assert [op.type for op in gradviz.trace(NetDef(), ["y"]).gradient_ops] == ["ConstantFill"]


def test_stop_gradient_that_nothing_reads():
    error = gradviz.trace(net_of("Relu x -> y", "StopGradient y -> s"), ["y"]).error
    assert (error.kind, error.phase, error.op_index) == ("stop_gradient_orphan", "sanity_check", 1)


def test_net_with_gradients_appends_them():
    trace = gradviz.trace(net_of("Relu x -> y"), ["y"])
    assert [op.type for op in trace.net_with_gradients().op] == ["Relu", "ConstantFill", "ReluGradient"]


def test_gradient_ops_at_an_event_show_the_renames_so_far():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    first_rename = next(i for i, event in enumerate(trace.events) if isinstance(event, Rename))
    before, after = trace.gradient_ops_at(first_rename - 1), trace.gradient_ops_at(first_rename)
    assert [list(op.output) for op in before[:-1]] == [list(op.output) for op in after[:-1]]
    assert before[-1].output[0] == "w_grad"
    assert after[-1].output[0] == "_w_grad_autosplit_0"


def test_sentences_name_what_they_are_about():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    for event in trace.events:
        sentence = event.sentence()
        assert sentence.endswith(".")
        assert "\n" not in sentence
        if not isinstance(event, Play | Finish):
            assert any(blob in sentence for blob in event.blobs) or not event.blobs
    total = next(event for event in trace.events if isinstance(event, Accumulate))
    assert "Sum(w_grad, _w_grad_autosplit_0)" in total.sentence()
