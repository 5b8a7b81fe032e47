"""The picture of the whole net for the report: drawn once, in colours that the page sets.

It is the picture of the last event with no state in it; the page paints the state, and hides what is not there yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.errors import GradvizError
from gradviz.render.dotform import dot_of
from gradviz.render.graph import BLOB_KINDS, graph_at
from gradviz.render.image import draw
from gradviz.render.page.colours import signs, with_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.trace import Trace
    from gradviz.render.graph import Graph
    from gradviz.render.image import Drawing

Node = tuple[str, str | None, int, int]
"""A node of the picture: identifier, blob (None for operators), version, the gradient operator that wrote it or -1."""


def picture_of(trace: Trace, most: int, drawing: Drawing) -> tuple[str, list[Node]]:
    """SVG text for the inside of a page, and its nodes.

    Raises:
        GradvizError: it has more than `most` nodes, or nothing on this machine draws it in time.
    """
    if len(trace.ops) > most:
        raise GradvizError(f"the net has {len(trace.ops):,} ops, and pictures here have {most:,} nodes at the most")
    graph = graph_at(trace, -1)
    count = graph.number_of_nodes()
    if count > most:
        raise GradvizError(f"it would have {count:,} nodes, more than {most:,}")
    for _, data in graph.nodes(data=True):
        data["state"] = "done" if "type" in data else ""
    graph.graph.update(event=-1, error="")
    drawn = draw(dot_of(graph, palette=signs()), "svg", drawing).decode("utf-8")
    return with_variables(drawn[drawn.index("<svg") :]), list(_nodes(graph))


def _nodes(graph: Graph) -> Iterator[Node]:
    """Blobs inside of a nested net of the forward net are left out: no event is about them."""
    for node, data in graph.nodes(data=True):
        if data["kind"] not in BLOB_KINDS:
            yield node, None, -1, -1
        elif not data["cluster"]:
            writers = [int(each[4:]) for each in graph.predecessors(node) if each.startswith("gop_")]
            yield node, data["name"], data["version"], writers[0] if writers else -1
        elif data["part"] == "gradient":
            yield node, None, -1, -1
