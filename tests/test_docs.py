"""The pages that teach run as tests, so that they stay true."""

import doctest
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_do_what_the_page_says(page):
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_there_are_examples():
    pages = {page.name for page in PAGES}
    assert {"how-caffe2-builds-gradients.md", "add-an-operator.md", "glossary.md"} <= pages
