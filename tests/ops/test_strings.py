"""Arrays of text, byte by byte."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run


def text(*words):
    made = np.empty(len(words), object)
    made[:] = words
    return made


def test_questions():
    words = text(b"abc", b"b", b"\xff")
    assert run("StringStartsWith", words, prefix="ab").tolist() == [True, False, False]
    assert run("StringEndsWith", words, suffix="").tolist() == [True, True, True]
    assert run("StringEquals", words, text=b"\xff").tolist() == [False, False, True]


def test_parts():
    words = text(b"abcd", b"x", b"")
    assert run("StringPrefix", words).tolist() == [b"abc", b"x", b""]
    assert run("StringSuffix", words, length=2).tolist() == [b"cd", b"x", b""]
    assert run("StringSuffix", words, length=0).tolist() == [b"", b"", b""]


def test_join_puts_the_delimiter_behind_every_part():
    grid = text(b"a", b"b", b"c", b"d").reshape(2, 2)
    assert run("StringJoin", grid).tolist() == [b"a,b,", b"c,d,"]
    assert run("StringJoin", grid, axis=1, delimiter="-").tolist() == [b"a-c-", b"b-d-"]
    assert run("StringJoin", np.float32([0.5, 2])).tolist() == [b"0.5,", b"2,"]
    with pytest.raises(ExecutionError, match="elements"):
        run("StringJoin", text())


def test_numbers_are_no_text():
    with pytest.raises(ExecutionError, match="string"):
        run("StringPrefix", np.float32([1]))
