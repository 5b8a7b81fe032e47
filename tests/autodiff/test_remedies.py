"""Remedies: each is proven by walking again, and none touches the net that it is made for."""

import pytest
from hypothesis import given, settings

import gradviz
from gradviz.autodiff import mend, proves
from gradviz.autodiff.explain.faults import faults
from gradviz.ops.records import GradientSlice, Op
from tests.autodiff.nets import IN_PLACE_DROPOUT, net_of, random_nets


def tried(net, ys):
    """Title -> whether nothing stops the walk after the remedy."""
    error = gradviz.trace(net, ys).error
    return {str(remedy): bool(proves(remedy, net, ys)) for remedy in error.remedies}


def proven(net, ys, *words):
    """The first remedy whose title has all the words; it must help."""
    trace = gradviz.trace(net, ys)
    remedy = next(each for each in trace.error.remedies if all(word in each.title for word in words))
    proof = proves(remedy, net, ys)
    assert proof, proof.trace.error
    return remedy, proof


@settings(deadline=None)
@given(random_nets())
def test_remedies_leave_the_net_as_it_was_and_proven_ones_help(case):
    net, ys = case
    before = net.SerializeToString(deterministic=True)
    trace = gradviz.trace(net, ys)
    for remedy in trace.error.remedies if trace.error else ():
        proof = proves(remedy, net, ys)
        again = gradviz.trace(remedy.apply(net), remedy.ys(ys))
        assert (again.error is None) == bool(proof)
        assert remedy.title
        assert remedy.explanation
    for warning in trace.warnings:
        for remedy in warning.remedies:
            remedy.apply(net)
    assert net.SerializeToString(deterministic=True) == before


@settings(deadline=None)
@given(random_nets())
def test_mend_ends_without_an_error_or_says_what_is_left(case):
    net, ys = case
    before = net.SerializeToString(deterministic=True)
    mended = mend(net, ys)
    assert net.SerializeToString(deterministic=True) == before
    if mended.trace.error is None and not mended.remedies:
        assert mended.model.net.SerializeToString(deterministic=True) == before
    assert gradviz.trace(mended.model, mended.ys).error is None or mended.trace.error is not None


def test_an_in_place_output_gets_a_name_of_its_own():
    _, proof = proven(net_of(*IN_PLACE_DROPOUT), ["y"], "op 2 (Sqr)", "h_sqr")
    assert list(proof.model.net.op[2].output) == ["h_sqr"]
    assert list(proof.model.net.op[3].input) == ["h_sqr", "v", "c"]


def test_the_name_of_a_result_stays_where_it_can():
    net = net_of("FC x w b -> y", "Relu y -> y", "Sqr y -> y", external_output=["y"])
    first = gradviz.trace(net, ["y"]).error.remedies[0]
    assert first.ys({"y": None}) == {"y": None}
    assert first.apply(net).net.op[-1].output[0] == "y"
    assert proves(first, net, ["y"])


def test_renaming_a_y_asks_for_the_new_name():
    net = net_of("Mul x z -> y", "Relu w -> x")
    remedy, proof = proven(net, ["x", "y"], "op 1 (Relu)", "output of its own")
    assert list(remedy.ys({"x": None, "y": None})) == ["x_relu", "y"]
    assert list(proof.ys) == ["x_relu", "y"]


def test_a_repeated_piece_of_code_is_dropped_as_a_whole():
    once = ("FC x w b -> h", "Relu h -> h", "FC h v c -> y")
    _, proof = proven(net_of(*once, *once), ["y"], "Drop", "repeat")
    assert [op.type for op in proof.model.net.op] == ["FC", "Relu", "FC"]


def test_repeats_that_are_read_stay():
    net = net_of("FC x w b -> h", "Sqr h -> k", "FC x w b -> h", "Mul h k -> y")
    assert not any(title.startswith("Drop op 0") for title in tried(net, ["y"]))


def test_an_update_is_taken_out_or_the_old_value_kept():
    net = net_of("FC x w b -> y", "WeightedSum w one g r -> w")
    titles = tried(net, ["y"])
    assert titles["Take op 1 (WeightedSum) out of the net: no y depends on it"]
    kept = next(title for title in titles if title.startswith("Keep w as w_before"))
    assert titles[kept]


def test_operators_that_must_work_in_place_are_not_torn_apart():
    net = net_of("Mul a m -> t", "SpatialBN x s b m v -> z m v sm sv; is_test=0", "Mul t z -> y")
    trace = gradviz.trace(net, ["y"])
    assert trace.error.kind == "input_overwritten"
    for remedy in trace.error.remedies:
        for op in remedy.apply(net).net.op:
            assert not [fault for fault in faults(Op(op)) if fault.kind == "bound"], remedy.title


def test_nets_inside_of_ifs_follow_a_rename():
    inner = gradviz.NetBuilder("inner")
    inner.add("Sqr", "h", "z")
    net = gradviz.NetBuilder("outer")
    net.add("FC", ["x", "w", "b"], "h")
    net.add("Relu", "h", "h")
    net.add("Sigmoid", "h", "h")
    net.add("If", ["c", "h"], ["z"], then_net=inner)
    _, proof = proven(net.net, ["z"], "op 2 (Sigmoid)", "h_sigmoid")
    branch = proof.model.net.op[3].arg[0].n
    assert list(branch.op[0].input) == ["h_sigmoid"]


def test_orphan_stop_gradients():
    net = net_of("Relu x -> d", "FC d w b -> y", "StopGradient d -> s")
    _, in_place = proven(net, ["y"], "in place (d -> d), before op 1")
    assert [op.type for op in in_place.model.net.op] == ["Relu", "StopGradient", "FC"]
    _, diverted = proven(net, ["y"], "Let op 1 (FC) read s in place of d")
    assert [list(op.input) for op in diverted.model.net.op] == [["x"], ["d"], ["s", "w", "b"]]
    for proof in (in_place, diverted):
        assert set(proof.trace.input_to_grad) == {"y", "w", "b", *proof.model.net.op[1].output} - {"d"}
    proven(net, ["y"], "Drop op 2")


def test_missing_arguments_are_filled_both_ways():
    net = net_of("Dropout x -> y mask; ratio=1")
    titles = tried(net, ["y"])
    assert titles["Set is_test=0 in op 0 (Dropout)"]
    assert titles["Set is_test=1 in op 0 (Dropout)"]
    assert next(iter(titles)).endswith("is_test=0 in op 0 (Dropout)")


def test_two_faults_of_one_operator_are_mended_together():
    net = net_of("AveragedLoss x -> y", "Cast y -> y; to=1", external_output=["y"])
    _, proof = proven(net, ["y"], "y_cast", "from_type=FLOAT")
    assert list(proof.ys) == ["y_cast"]
    assert list(proof.model.net.external_output) == ["y_cast"]
    proven(net, ["y"], "Drop op 1 (Cast)")


@pytest.mark.parametrize(
    ("ops", "title"),
    [
        (("Rellu x -> y",), "Write Relu in place of Rellu"),
        (("Rellu x -> h", "Sqr h -> y"), "Write Relu in place of Rellu"),
        (("MergeDim x -> y",), "Replace op 0 (MergeDim) by Reshape"),
        (("UpsampleNearest x -> y; scale=2",), "ResizeNearest"),
        (("SumRelu a b -> y",), "Sum and Relu"),
        (("FC x w -> y",), "MatMul with trans_b=1"),
        (("Where c a b -> y",), "masked branches"),
        (("LSTMUnit h c g l t -> y c1",), "ZeroGradient(c1)"),
        (("Relu x -> t", "Gather t i -> y"), "EnsureDense (t -> t_dense)"),
        (("Dropout x -> y; is_test=0",), "Add the output y_mask"),
        (("Floor x -> t", "Sqr t -> y"), "Stop the gradient behind op 0 (Floor)"),
        (("ArgMax x -> y",), "Ask for the gradient of x in place of y"),
        (("Relu x x -> y",), "surplus"),
        (("SpatialBN x s b m v -> y; is_test=0",), "Set is_test=1 in op 0 (SpatialBN)"),
        (("SpatialBN x s b m v -> y; is_test=0",), "Add the outputs m, v,"),
        (("SpatialBN x s b m v -> y m v n w; is_test=1",), "Set is_test=0 in op 0 (SpatialBN)"),
        (
            ("FC x w b -> v", "SoftmaxWithLoss v t -> p a", "Gather v i -> s", "SumElements s -> b2", "Add a b2 -> y"),
            "Put EnsureDense (v -> v_dense) before op 2 (Gather)",
        ),
        (
            ("FC x w b -> v", "SoftmaxWithLoss v t -> p a", "Gather v i -> s", "SumElements s -> b2", "Add a b2 -> y"),
            "BatchGather",
        ),
    ],
)
def test_rules_that_refuse(ops, title):
    proven(net_of(*ops), ["y"], title)


def test_metrics_are_left_out_of_the_ys():
    net = net_of("SoftmaxWithLoss x l -> p loss", "Accuracy p l -> acc")
    _, proof = proven(net, ["loss", "acc"], "Ask for the gradient of loss alone")
    assert list(proof.ys) == ["loss"]


def test_arguments_that_stand_twice_or_in_the_wrong_field():
    net = net_of("ReduceSum x -> y; keepdims=1")
    net.op[0].arg.add(name="keepdims", i=0)
    error = gradviz.trace(net, ["y"]).error
    if error is not None:  # rules that read the argument refuse the net
        proven(net, ["y"], "keep the first")
    cast = net_of("Cast x -> y; to=1")
    cast.op[0].arg.add(name="from_type", f=1.0)
    proven(cast, ["y"], "from_type=1")


def test_devices_are_unified_each_way():
    net = net_of("Relu x -> a", "Tanh x -> b", "Sum a b -> y")
    net.op[0].device_option.device_type = 1
    titles = tried(net, ["y"])
    assert titles["Run op 0 (Relu) on the CPU too"]
    assert titles["Run op 1 (Tanh) on CUDA 0 too"]


def test_a_given_gradient_gets_another_name():
    net = net_of("Relu x -> a", "Sum x a -> y")
    _, proof = proven(net, {"y": "x_grad"}, "under another name, x_grad_given")
    assert proof.ys == {"y": "x_grad_given"}
    sparse = gradviz.trace(net, {"y": GradientSlice("i", "v")}).error
    assert sparse is not None


def test_a_branch_that_updates_a_blob_gets_an_alias():
    body = gradviz.NetBuilder("body")
    body.add("Sqr", "y", "y")
    branch = gradviz.NetBuilder("branch")
    branch.add("Do", ["y", "ws"], ["y", "ws"], net=body, inner_blobs=["y"], outer_blobs_idx=[0])
    net = gradviz.NetBuilder("outer")
    net.add("CreateScope", [], "ws")
    net.add("If", ["c", "y", "ws"], ["y", "ws"], then_net=branch)
    net.add("Mul", ["x", "y"], "z")
    assert gradviz.trace(net.net, ["z"]).error.kind == "AssertionError@make_gradient"
    _, proof = proven(net.net, ["z"], "Put Alias (y -> y_after) behind op 1 (If)")
    assert "y" in proof.trace.input_to_grad


def test_a_remedy_for_another_net_says_so():
    remedy = gradviz.trace(net_of(*IN_PLACE_DROPOUT), ["y"]).error.remedies[0]
    with pytest.raises(gradviz.GradvizError, match="another net"):
        remedy.apply(net_of("Relu x -> y"))


def test_a_model_keeps_what_is_beside_its_net():
    model = gradviz.Model(net=net_of(*IN_PLACE_DROPOUT), init=net_of("XavierFill -> w"), notices=["n"])
    mended = gradviz.trace(model, ["y"]).error.remedies[0].apply(model)
    assert mended.init is model.init
    assert mended.notices == ["n"]
    assert mended.notices is not model.notices


def test_mend_goes_from_error_to_error():
    net = net_of("FC x w b -> h", "Relu h -> h", "Sqr h -> h", "Floor h -> k", "Dropout k -> y m; ratio=1")
    mended = mend(net, ["y"])
    assert mended.trace.error is None
    assert len(mended.remedies) >= 2


def test_no_external_output_is_left_without_a_writer():
    net = gradviz.load("orphan_stop_gradient").net
    trace = gradviz.trace(net, ["loss"])
    for remedy in trace.error.remedies:
        mended = remedy.apply(trace.model).net
        written = {name for op in mended.op for name in op.output}
        assert set(mended.external_output) <= written
