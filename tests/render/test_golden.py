"""Golden files: what each format says of small nets. GRADVIZ_GOLDEN=write writes them anew."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import gradviz
from gradviz.render import text
from gradviz.render.graph import graph_at
from gradviz.render.jsonform import json_of
from gradviz.render.markdown import markdown_of
from gradviz.render.mermaid import mermaid_of
from tests.render.nets import ALL, walked

GOLDEN = Path(__file__).parent / "golden"


def _events(trace: gradviz.Trace) -> str:
    last = len(trace.events) - 1
    lines = [text.line(*each, width=3) for each in text.chosen(trace, last)]
    return (
        "\n".join([text.header(3), *lines, "", *text.state_lines(trace, last), "", *text.summary_lines(trace)]) + "\n"
    )


def _json_lines(trace: gradviz.Trace) -> str:
    return "".join(text.json_line(*each) + "\n" for each in text.chosen(trace, len(trace.events)))


FORMATS: dict[str, Callable[[gradviz.Trace], str]] = {
    "gv": gradviz.render.dot,
    "mmd": lambda trace: mermaid_of(graph_at(trace)),
    "json": lambda trace: json_of(graph_at(trace)).replace(gradviz.__version__, "VERSION"),
    "md": lambda trace: markdown_of(trace, None, graph_at(trace)),
    "txt": _events,
    "jsonl": _json_lines,
}


def _compare(path: Path, made: str) -> None:
    if os.environ.get("GRADVIZ_GOLDEN") == "write":
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, f"{path.name} differs; GRADVIZ_GOLDEN=write writes it anew"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ALL)
def test_format(name: str, format: str) -> None:
    _compare(GOLDEN / f"{name}.{format}", FORMATS[format](walked(ALL[name]())))


@pytest.mark.parametrize("name", ["shared_weights", "embedding"])
def test_a_dark_picture_half_way(name: str) -> None:
    trace = walked(ALL[name]())
    middle = trace.recording.visits[1] + 2
    _compare(GOLDEN / f"{name}-middle.gv", gradviz.render.dot(trace, middle, dark=True, rankdir="LR"))


def test_json_of_golden_files_parses() -> None:
    for path in GOLDEN.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["schema"] == "gradviz.graph"
