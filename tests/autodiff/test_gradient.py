"""`gradviz.gradient_of`: one operator's rule, asked alone."""

import pytest

import gradviz
from gradviz.ops import registry
from gradviz.ops.arguments import arg
from gradviz.proto import NetDef, OperatorDef


def test_answers_operators_and_gradients_of_inputs():
    ops, g_input = gradviz.gradient_of(OperatorDef(type="FC", input=["x", "w", "b"], output=["y"]), ["y_grad"])
    assert [op.type for op in ops] == ["FCGradient"]
    assert g_input == ["x_grad", "w_grad", "b_grad"]


@pytest.mark.parametrize(
    ("op", "g_output", "kind"),
    [
        (OperatorDef(type="MergeDim", input=["x"], output=["y"]), ["g"], "no_gradient_maker"),
        (OperatorDef(type="ArgMax", input=["x"], output=["y"]), ["g"], "should_not_do_gradient"),
        (OperatorDef(type="Floor", input=["x"], output=["y"]), ["g"], "gradient_not_implemented_yet"),
        (OperatorDef(type="Relu", input=["x"], output=["y", "z"]), ["g", None], "schema"),
        (OperatorDef(type="Relu", input=["x"], output=["y"]), [("i", "v")], "expected_dense"),
        (OperatorDef(type="Relu", input=["x"], output=["y"]), [None], "expected_dense"),
        (OperatorDef(type="Relu", input=["x"], output=["y"]), [""], "make_gradient_other"),
        (OperatorDef(type="Do", input=["x"], output=["x"]), ["g"], "AssertionError@make_gradient"),
    ],
)
def test_refusals_have_their_kind(op, g_output, kind):
    with pytest.raises(gradviz.GradientError) as refused:
        gradviz.gradient_of(op, g_output)
    assert refused.value.kind == kind
    assert refused.value.phase == "make_gradient"


def test_schema_refusal_says_what_is_missing():
    with pytest.raises(gradviz.GradientError, match="is_test"):
        gradviz.gradient_of(OperatorDef(type="Dropout", input=["x"], output=["y", "mask"]), ["g", None])


def test_name_of_two_letters_is_taken_apart():
    with pytest.raises(gradviz.GradientError) as refused:
        gradviz.gradient_of(OperatorDef(type="Relu", input=["x"], output=["y"]), ["dy"])
    assert refused.value.facts["was"] == "sparse"


def test_failure_inside_a_nested_net_has_the_type_that_upstream_raises():
    body = NetDef(name="body")
    body.op.add(type="ArgMax", input=["a"], output=["c"])
    do = OperatorDef(type="Do", input=["x", "ws"], output=["y", "ws"])
    do.arg.extend([arg("net", body), arg("inner_blobs", ["a", "c"]), arg("outer_blobs_idx", [0, 1])])
    with pytest.raises(gradviz.GradientError) as refused:
        gradviz.gradient_of(do, ["g", None])
    assert refused.value.kind == "Exception@make_gradient"
    assert refused.value.facts["nested_op_index"] == 0


def test_rules_from_outside():
    def halve(op, g_output):
        return OperatorDef(type="Scale", input=[g_output[0]], output=["dx"]), ["dx"]

    gradviz.register("Halve", python_gradient=halve)
    try:
        ops, g_input = gradviz.gradient_of(OperatorDef(type="Halve", input=["x"], output=["y"]), ["g"])
        assert ([op.type for op in ops], g_input) == (["Scale"], ["dx"])
        with pytest.raises(gradviz.GradvizError, match="stated twice"):
            gradviz.register("Halve", python_gradient=halve)
        gradviz.register("Halve", gradient=registry.SHOULD_NOT, replace=True)
        with pytest.raises(gradviz.GradientError):
            gradviz.gradient_of(OperatorDef(type="Halve", input=["x"], output=["y"]), ["g"])
    finally:
        registry.unregister("Halve")
