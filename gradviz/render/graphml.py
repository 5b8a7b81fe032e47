"""GraphML, for yEd, Gephi and Cytoscape: the graph model with its attributes as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx

from gradviz.render.escape import visible
from gradviz.render.words import heading

if TYPE_CHECKING:
    from gradviz.render.graph import Graph


def graphml_of(graph: Graph) -> str:
    """GraphML text of a graph model; each node also has a `label`."""
    plain: Graph = nx.MultiDiGraph()
    for node, data in graph.nodes(data=True):
        plain.add_node(node, **_plain(data), label=heading(data, ticks=False))
    for tail, head, data in graph.edges(data=True):
        plain.add_edge(tail, head, **_plain(data))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(nx.generate_graphml(plain)) + "\n"


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Attributes without what XML cannot hold."""
    return {key: visible(value) if isinstance(value, str) else value for key, value in data.items()}
