"""Stories: why a gradient, why none, why a Sum, why a name, why a version, why skipped."""

import pytest
from hypothesis import given, settings

import gradviz
from tests.autodiff.nets import IN_PLACE_DROPOUT, SHARED_WEIGHTS, TWO_GATHERS, net_of, random_nets


def story(ops, blob=None, ys=("y",), **more):
    return gradviz.why(gradviz.trace(net_of(*ops), ys if isinstance(ys, dict) else list(ys)), blob, **more)


@settings(deadline=None)
@given(random_nets())
def test_every_blob_and_operator_has_a_true_story(case):
    net, ys = case
    trace = gradviz.trace(net, ys)
    blobs = {name for op in net.op for name in (*op.input, *op.output)}
    for blob in [*sorted(blobs), *ys]:
        told = gradviz.why(trace, blob)
        assert told.lines
        if trace.error is None:
            assert told.has_gradient == (blob in trace.input_to_grad)
        for path in told.paths:
            _check(net, trace, path)
    for index in range(len(net.op)):
        assert gradviz.why(trace, op=index).lines
    assert gradviz.why(trace).lines
    for gradient_op in trace.gradient_ops:
        for name in gradient_op.output:
            assert gradviz.why(trace, name).lines


def _check(net, trace, path):
    """Each operator of a path reads what the one before it writes, and the last one writes the y."""
    assert path.y in trace.ys
    for one, two in zip(path.ops, path.ops[1:], strict=False):
        assert set(net.op[one].output) & set(net.op[two].input)
    if path.ops:
        assert path.y in net.op[path.ops[-1]].output


def test_paths_to_several_ys():
    told = story(("Relu x -> h", "Sqr h -> y", "Tanh h -> z"), "x", ["y", "z"])
    assert {(path.y, path.ops) for path in told.paths} == {("y", (0, 1)), ("z", (0, 2))}
    assert "comes on 2 ways from" in str(told)


def test_many_paths_are_counted_not_listed():
    ops = [line for i in range(40) for line in (f"Relu x{i} -> r{i}", f"Sum x{i} r{i} -> x{i + 1}")]
    told = story(ops, "x0", ["x40"])
    assert "more ways than can be counted" in str(told)
    assert len(told.paths) == 1
    assert len(told.paths[0].ops) == 40


def test_a_long_path_is_shortened():
    told = story([f"Relu x{i} -> x{i + 1}" for i in range(100)], "x0", ["x100"])
    assert "84 more ops" in str(told)
    assert len(told.paths[0].ops) == 100


@pytest.mark.parametrize(
    ("ops", "blob", "reason"),
    [
        (
            ("Relu x -> h", "StopGradient h -> s", "Sqr s -> y"),
            "x",
            "op 1 (StopGradient) stops the gradient on purpose",
        ),
        (("OneHot x n -> h", "Sqr h -> y"), "x", "op 0 (OneHot) passes no gradient"),
        (("Gather w i -> h", "Sqr h -> y"), "i", "op 0 (Gather) reads i as indices (input 1)"),
        (("LabelCrossEntropy p l -> y",), "l", "op 0 (LabelCrossEntropy) reads l as labels (input 1)"),
        (
            ("Relu x -> y", "Sqr z -> aside"),
            "z",
            "not on a way to the ys (y): what depends on it ends in aside of op 1",
        ),
        (("Relu x -> y", "Sqr y -> aside"), "aside", "no op reads it"),
    ],
)
def test_why_none(ops, blob, reason):
    told = story(ops, blob)
    assert not told.has_gradient
    assert reason in str(told)


def test_no_ys_and_unknown_ys():
    assert "no gradient was asked for" in str(story(("Relu x -> y",), "x", []))
    assert "no op of this net reads or writes a y" in str(story(("Relu x -> y",), "x", ["loss"]))


def test_why_the_sum_stands_where_it_stands():
    told = str(story(SHARED_WEIGHTS, "w", ["loss"]))
    assert "read by op 0 (FC) and op 1 (FC), so 2 gradients meet" in told
    assert "(Sum) adds them into w_grad, in place on the first part" in told
    assert "at op 0 and not earlier" in told
    assert "w_grad of gradient op 4 became _w_grad_autosplit_0" in told


def test_why_two_concats():
    told = str(story(TWO_GATHERS, "w", ["loss"]))
    assert "a slice, for op 0 (Gather)" in told
    assert "(Concat) and gradient op" in told
    assert "indices not made unique" in told
    assert "sparse gradient: indices" in told


def test_a_y_that_is_read_meets_its_own_ones():
    told = str(story(("Relu x -> h", "Sqr h -> y"), "h", ["h", "y"]))
    assert "because it is a y" in told
    assert "is read by op 1 (Sqr) and is itself a y" in told


def test_one_gradient_of_two_readers_is_not_added_up():
    told = str(story(("Relu x -> y", "Tanh x -> aside"), "x"))
    assert "only one gradient from op 0 (Relu)" in told


def test_a_given_gradient_that_is_lost():
    told = str(story(("Relu x -> h", "Sqr h -> y"), "h", {"h": "mine", "y": None}))
    assert "mine is lost" in told


def test_versions_are_told():
    told = str(story(IN_PLACE_DROPOUT, "h"))
    assert "h has 3 versions" in told
    assert "h₂: written by op 2 (Sqr) in place, read by op 3 (FC)" in told


def test_an_entry_that_was_taken_away():
    told = story(("Relu x -> h", "StopGradient h -> h", "Sqr h -> y"), "h")
    assert not told.has_gradient
    assert "taken away at op 1 (StopGradient)" in told.lines[0]


def test_after_a_failed_walk():
    trace = gradviz.trace(net_of(*IN_PLACE_DROPOUT), ["y"])
    told = gradviz.why(trace, "w")
    assert "stopped at op 1 (Relu)" in told.lines[0]
    assert "did not get through op 0 (FC)" in str(told)
    assert "The walk failed here" in str(gradviz.why(trace, op=1))
    assert "stopped before it came to op 0" in str(gradviz.why(trace, op=0))


def test_operators_asked_and_skipped():
    trace = gradviz.trace(net_of("Relu x -> y", "Sqr x -> aside", "Gather w i -> z"), ["y", "z"])
    assert "was skipped" in str(gradviz.why(trace, op=1))
    assert "aside₀: no op reads it" in str(gradviz.why(trace, op=1))
    asked = str(gradviz.why(trace, op=2))
    assert "It needs no gradient op" in asked
    assert "i gets none: op 2 (Gather) reads i as indices" in asked
    with pytest.raises(IndexError, match="no op 7"):
        gradviz.why(trace, op=7)


def test_gradient_blobs():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    assert "_w_grad_autosplit_0" in str(gradviz.why(trace, "_w_grad_autosplit_0"))
    made = gradviz.why(trace, "a_grad")
    assert (made.blob, made.has_gradient) == ("a", True)
    assert "in the visit to op 0 (FC)" in str(made)
    assert "only once the gradient operators are added" in str(made)


def test_names_that_nobody_knows():
    trace = gradviz.trace(net_of("Relu x -> prob", external_output=["prob"]), [])
    told = gradviz.why(trace, "x_grad")
    assert "would be the gradient of x" in str(told)
    assert "has no loss" in str(told)
    unknown = gradviz.why(trace, "prop")
    assert not unknown.known
    assert "did you mean prob" in str(unknown)


def test_the_whole_net():
    ops = (
        "Conv x cw cb -> h; kernel=1",
        "StopGradient h -> h",
        "FC h w b -> v",
        "Mul v mask -> m",
        "SquaredL2Distance m t -> d",
        "AveragedLoss d -> y",
    )
    told = str(story(ops))
    assert "Trained, 2 parameters: w (w_grad) and b (b_grad)" in told
    assert "Frozen, 2 parameters: cw and cb" in told
    assert "cw and cb: op 1 (StopGradient)" in told
    assert "mask gets mask_grad at op 3 (Mul)" in told
    assert "t gets t_grad at op 4 (SquaredL2Distance)" in told


def test_branches_of_an_if_are_told():
    inner = gradviz.NetBuilder("inner")
    inner.add("Sqr", "x", "y")
    other = gradviz.NetBuilder("other")
    other.add("Relu", "x", "y")
    net = gradviz.NetBuilder("outer")
    net.add("If", ["c", "x"], ["y"], then_net=inner, else_net=other)
    told = str(gradviz.why(gradviz.trace(net.net, ["y"]), "x"))
    assert "Inside op 0 (If), then_net gives x" in told
    assert "whichever branch ran" in told


def test_a_story_prints_its_lines():
    told = story(("Relu x -> y",), "x")
    assert str(told) == "\n".join(told.lines)
    assert told.lines[0] == "x has a gradient: x_grad."
