"""The public functions, given what they are not for: TypeError or an error of gradviz, saying what is wanted."""

import numpy as np
import pytest

import gradviz
from gradviz import GradvizError
from tests.render import nets

NET = nets.mlp()
TRACE = gradviz.trace(NET)


def kind(odd) -> str:
    """Names a case by its type: what `repr` says of an object differs from one process to the next."""
    return type(odd).__name__


ODD = [None, 1, 1.5, "x", b"x", [], {}, (), object(), np.ones(3), [None], {"a": 1}, {"x"}, int, len]


@pytest.mark.parametrize("odd", ODD, ids=kind)
@pytest.mark.parametrize(
    "function",
    [
        gradviz.trace,
        lambda odd: gradviz.gradient_of(odd, ["g"]),
        lambda odd: gradviz.run_op(odd, []),
        gradviz.run,
        gradviz.Session,
        gradviz.why,
        lambda odd: gradviz.compare([odd], [odd]),
        gradviz.render.dot,
    ],
    ids=["trace", "gradient_of", "run_op", "run", "Session", "why", "compare", "dot"],
)
def test_of_nothing_that_can_be_asked(function, odd) -> None:
    with pytest.raises((TypeError, GradvizError)) as refused:
        function(odd)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd is not None and not isinstance(odd, str)], ids=kind)
def test_names_that_are_no_text(odd) -> None:
    for ask in (
        lambda: gradviz.why(TRACE, odd),
        lambda: gradviz.render.dot(TRACE, focus=odd),
        lambda: gradviz.load(odd),
    ):
        with pytest.raises((TypeError, GradvizError)):
            ask()


@pytest.mark.parametrize("odd", [1, 1.5, "x", object(), np.ones(3), [None], ["x"], ()], ids=kind)
def test_feeds_are_a_mapping(odd) -> None:
    with pytest.raises(TypeError, match="feeds are a mapping"):
        gradviz.run(NET, odd, ys=())


def test_a_message_of_another_kind_is_no_operator() -> None:
    with pytest.raises(TypeError, match="an OperatorDef is wanted"):
        gradviz.gradient_of(NET, ["g"])


def test_a_gradient_that_no_definition_can_hold() -> None:
    with pytest.raises(gradviz.GradientError):
        gradviz.gradient_of(gradviz.proto.OperatorDef(type="Tanh", input=["x"], output=["y"]), ["\udcff"])


def test_a_file_whose_name_no_system_takes() -> None:
    for name in ("a\0b", "n" * 5000):
        with pytest.raises(GradvizError):
            gradviz.load(name)
        with pytest.raises(GradvizError):
            gradviz.compare(name, name)
