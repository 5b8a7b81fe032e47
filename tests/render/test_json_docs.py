"""The pages on JSON and on the report say what is written and which keys there are."""

import re
from pathlib import Path

import pytest

from gradviz.render import graph_at, notebook
from gradviz.render.jsonform import as_json as graph_as_json
from gradviz.render.page import page
from gradviz.render.page.record import KINDS
from gradviz.render.text import as_json
from tests.render import nets
from tests.render.test_report import ALL, walked

DOCS = Path(__file__).parents[2] / "docs"


def table(name: str) -> dict[str, set[str]]:
    """First cell -> the names in the second, without those in brackets, which are values."""
    text = (DOCS / "json-schema.md").read_text("utf-8")
    lines = text.partition(f"<!-- {name}: ")[2].splitlines()[3:]
    found = {}
    for line in lines:
        if not line.startswith("|"):
            break
        first, second = line.strip("| ").split(" | ", 1)
        found[first.strip("`")] = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", second)))
    return found


def test_events_have_the_keys_that_the_page_lists() -> None:
    listed = table("events")
    assert set(listed) == set(KINDS)
    common = {"index", "kind", "phase", "op_index", "blobs", "sentence"}
    seen = set()
    for name in ALL:
        for index, event in enumerate(walked(name).events):
            assert set(as_json(index, event)) - common == listed[event.kind], event.kind
            seen.add(event.kind)
    assert seen == set(KINDS)


@pytest.mark.parametrize("name", nets.ALL)
def test_graphs_have_the_keys_that_the_page_lists(name: str) -> None:
    listed = table("graph")
    made = graph_as_json(graph_at(nets.walked(nets.ALL[name]())))
    for node in made["nodes"]:
        wanted = listed["all"] | (listed["blobs"] if "blob" in node["kind"] else listed["operators"])
        if node["kind"] in ("gradient_op", "sum") and not node["cluster"]:
            wanted = wanted | {"owner"}
        assert set(node) == wanted, node
    for edge in made["edges"]:
        assert set(edge) == listed["edges"]


def test_the_reports_page_lists_its_keys_and_limits() -> None:
    text = (DOCS / "report.md").read_text("utf-8")
    script = (Path(page.__file__).parent / "main.js").read_text("utf-8")
    keys = re.findall(r'(\w+): "', script.partition("const KEYS = {")[2].partition("};")[0])
    words = {"ArrowRight": "→", "ArrowLeft": "←", "Home": "home", "End": "end"}
    assert len(keys) > 10
    for key in keys:
        assert f"`{words.get(key, key)}`" in text, key
    printed = re.search(r"PRINTED_ROWS = (\d+)", script)
    assert printed and f"up to {printed[1]} rows" in text
    assert f"more than\n  {page.PICTURE_NODES} nodes" in text
    assert f"more than {notebook.MOST_NODES} nodes are left out" in text
