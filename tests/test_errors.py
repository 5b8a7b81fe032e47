"""Messages that quote a net stay on their line."""

import pickle

import pytest

import gradviz
from gradviz.errors import ExecutionError, GradvizError, one_line
from tests.ops.running import definition


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "a\0b", "\u202eright", "\udcff", "tab\there"])
def test_control_codes_become_escapes(name) -> None:
    assert one_line(f"op {name}").isprintable()
    assert str(GradvizError(f"op {name}")).isprintable()


@pytest.mark.parametrize("name", ["plain", "[red]", "名前", "😀", "two words"])
def test_what_can_be_shown_stays_as_it_is(name) -> None:
    assert one_line(name) == name


def test_of_an_endless_word_the_middle_is_left_out() -> None:
    told = one_line(f"blob {'n' * 5000}x is missing")
    assert len(told) < 300
    assert told.startswith("blob nnn")
    assert told.endswith("nx is missing")


def test_a_long_sentence_is_kept() -> None:
    sentence = "word " * 200
    assert one_line(sentence) == sentence


def test_errors_survive_pickling() -> None:
    assert str(pickle.loads(pickle.dumps(ExecutionError("a\nb")))) == "a\\nb"


def test_gradient_errors_quote_names_on_one_line() -> None:
    with pytest.raises(gradviz.GradientError) as refused:
        gradviz.gradient_of(definition("Tanh", 1, ["a\nb"]), [gradviz.GradientSlice("i", "v")])
    assert str(refused.value).isprintable()
