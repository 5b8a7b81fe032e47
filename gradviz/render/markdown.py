"""A report in Markdown: what was asked, how it ended, both nets as tables, gradients, and the picture as Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import spoken
from gradviz.autodiff.trace import Trace
from gradviz.render.escape import label
from gradviz.render.graph import OP_KINDS
from gradviz.render.mermaid import mermaid_of
from gradviz.render.moment import moment
from gradviz.render.style import GLYPHS
from gradviz.render.words import blob_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.render.graph import Graph

_MOST_DRAWN = 250
"""Mermaid refuses large charts; above so many nodes the report goes without."""


def markdown_of(source: Any, at: int | str | None, graph: Graph) -> str:
    """The report on a trace (or a forward net) at an event, of what a graph shows of it."""
    about = graph.graph
    lines = [f"# {_cell(about['title'])}", ""]
    if isinstance(source, Trace):
        position = moment(source, at)
        asked = ", ".join(f"`{_code(y)}`" for y in source.ys) or "nothing"
        lines += [
            f"Gradients asked of {asked}. Event {position} of {len(source.events) - 1}: {_cell(about['sentence'])}"
        ]
        lines += [""] + [f"> {_cell(warning)}" for warning in source.warnings]
    lines += ["## Forward net", "", *_operators(graph, "forward")]
    gradient = list(_operators(graph, "gradient"))
    if len(gradient) > 2:
        lines += ["", "## Gradient net", "", *gradient]
    if isinstance(source, Trace):
        lines += ["", "## Gradients", "", *_gradients(source, moment(source, at))]
    if graph.number_of_nodes() <= _MOST_DRAWN:
        lines += ["", "## Picture", "", "```mermaid", mermaid_of(graph).rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _operators(graph: Graph, part: str) -> Iterator[str]:
    yield "| op | | type | reads | writes |"
    yield "|---|---|---|---|---|"
    for node, data in graph.nodes(data=True):
        if data["kind"] in OP_KINDS and data["part"] == part and not data["cluster"]:
            state = data["state"] if part == "forward" else ""
            glyph = f"{GLYPHS[state]} {state}" if state else ""
            reads, writes = _blobs(graph, node, reads=True), _blobs(graph, node, reads=False)
            yield f"| {data['index']} | {glyph} | {_cell(label(data['type']))} | {reads} | {writes} |"


def _blobs(graph: Graph, node: str, *, reads: bool) -> str:
    edges = graph.in_edges(node, data=True) if reads else graph.out_edges(node, data=True)
    found = [(data["slot"], tail if reads else head) for tail, head, data in edges if data["slot"] >= 0]
    return ", ".join(_cell(blob_name(graph.nodes[each])) for _, each in sorted(found))


def _gradients(trace: Trace, position: int) -> Iterator[str]:
    yield "| blob | gradient |"
    yield "|---|---|"
    for blob, gradient in trace.state_at(position).gradient_map.items():
        yield f"| {_cell(label(blob))} | {_cell(label(spoken(gradient), 90))} |"


def _cell(text: str) -> str:
    """Text in a table: nothing in it is markup."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]<>#|~" else each for each in label(text, 400))


def _code(text: str) -> str:
    return label(text).replace("`", "'")
