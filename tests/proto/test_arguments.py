"""The Python type of a value chooses the field of an argument."""

import pytest

from gradviz.ops.arguments import arg as arg_of_ops
from gradviz.proto import NetDef, TensorProto
from gradviz.proto.arguments import arg

SINGLE = [(True, "i", 1), (7, "i", 7), (0.5, "f", 0.5), ("é", "s", "é".encode()), (b"\xff", "s", b"\xff")]
PLURAL = [([1, True], "ints"), ([1, 0.5], "floats"), (["a", b"b"], "strings")]


@pytest.mark.parametrize(("value", "field", "held"), SINGLE)
def test_a_single_value(value, field, held):
    made = arg("a", value)
    assert [(key.name, kept) for key, kept in made.ListFields()] == [("name", "a"), (field, held)]


@pytest.mark.parametrize(("values", "field"), PLURAL)
def test_a_list(values, field):
    made = arg("a", values)
    assert [key.name for key, _ in made.ListFields()] == ["name", field]
    assert len(getattr(made, field)) == len(values)


@pytest.mark.parametrize(
    ("message", "one", "many"), [(NetDef(name="n"), "n", "nets"), (TensorProto(dims=[1]), "t", "tensors")]
)
def test_messages(message, one, many):
    assert getattr(arg("a", message), one) == message
    assert list(getattr(arg("a", [message, message]), many)) == [message, message]


def test_an_empty_list_has_a_name_only():
    assert [key.name for key, _ in arg("shape", []).ListFields()] == ["name"]


def test_what_no_field_holds_is_refused():
    with pytest.raises(TypeError, match="argument a"):
        arg("a", [1, "x"])


def test_operators_use_the_same_maker():
    assert arg_of_ops is arg
