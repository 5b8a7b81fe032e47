"""Text from models: harmless, and no wider than its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.tui import words
from gradviz.tui.rows import Names, arrow, fit, joined, width_of


@given(st.text(max_size=40))
def test_shown_text_is_printable_and_never_empty(text):
    made = words.shown(text)
    assert made
    assert made.isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        ("plain", "plain"),
        ("a\x1b[31mb", "a\\e[31mb"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x07", "\\x07"),
        ("\u202e", "\\u202e"),
        ("[red]", "[red]"),
    ],
)
def test_control_characters_become_escapes(text, expected):
    assert words.shown(text) == expected


@given(st.text(max_size=60), st.integers(0, 40))
def test_shortened_text_fits(text, width):
    assert words.cells(words.shorten(text, width)) <= width
    assert words.cells(words.cut(text, width)) <= width


def test_what_is_shortened_keeps_both_ends():
    assert words.shorten("conv1_weights_grad", 9) == "conv…grad"
    assert words.shorten("short", 9) == "short"


def test_a_version_stays_readable_behind_a_long_name():
    assert words.blob("w" * 5000, 12, 10).endswith("₁₂")
    assert words.blob("w", 0) == "w₀"
    assert words.blob("w") == "w"


def test_scopes_go_first_where_a_name_is_too_long():
    assert words.blob("stage3/block3/conv1_w", 0, 40) == "stage3/block3/conv1_w₀"
    assert words.blob("stage3/block3/conv1_w", 0, 18) == "…/block3/conv1_w₀"
    assert words.blob("stage3/block3/conv1_w", 0, 10) == "…/conv1_w₀"
    assert words.blob("stage3/block3/conv1_w", 0, 7) == "con…_w₀"
    assert words.blob("scope/", None, 4) == "sc…/"


@given(st.text(alphabet="ab/漢", max_size=40), st.integers(1, 20))
def test_a_blob_fits_whatever_its_scopes(name, width):
    assert words.cells(words.blob(name, None, width)) <= max(width, 2)


def test_prose_shortens_words_and_leaves_the_sentence():
    assert words.prose(f"{'x' * 100} is read") == words.shorten("x" * 100, 60) + " is read"


@given(st.lists(st.text(max_size=30), max_size=8), st.lists(st.text(max_size=30), max_size=8), st.integers(3, 120))
def test_an_operator_fits_its_row_whatever_its_blobs_are_called(inputs, outputs, width):
    row = arrow(Names([(each, 0, "") for each in inputs]), Names([(each, 1, "") for each in outputs]), width)
    assert width_of(row) <= width


def test_what_does_not_fit_is_counted():
    names = Names([(f"input{i}", 0, "") for i in range(9)])
    text = "".join(text for text, _ in arrow(names, Names([("y", 0, "")]), 24))
    assert text == "in…t0₀ in…t1₀ +7 → y₀"


def test_rows_are_cut_with_an_ellipsis_and_joined_at_the_right_edge():
    assert fit([("abc", ""), ("defgh", "dim")], 6) == [("abc", ""), ("de…", "dim")]
    assert width_of(joined([("a", "")], [("b", "")], 10)) == 10
    assert joined([("a" * 8, "")], [("b" * 8, "")], 10) == [("a" * 8, "")]
