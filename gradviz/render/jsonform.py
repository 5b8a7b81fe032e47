"""The graph model as JSON.

Schema `gradviz.graph`, version 1. Keys may be added within a version; none changes its meaning or goes.

* `schema`: `gradviz.graph`; `version`: 1; `gradviz`: the version of gradviz that wrote it.
* `net`: the net's name; `ys`: the blobs that the gradient was asked of.
* `event`: null without a walk, else `index`, `phase`, `sentence`, `error` (null, or the sentence of the failure).
* `nodes`: a list, each with `id` and the attributes that `gradviz.render.graph` describes.
* `edges`: a list, each with `source`, `target` and the attributes described there.
* `clusters`: nested nets: a list, each with `id`, `label`, `parent` (null or an id) and `part`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradviz import __version__

if TYPE_CHECKING:
    from gradviz.render.graph import Graph

SCHEMA = "gradviz.graph"
VERSION = 1


def json_of(graph: Graph) -> str:
    """JSON text of a graph model: pure ASCII, one node or edge a line."""
    made = as_json(graph)
    blocks = []
    for key, value in made.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n    ".join(json.dumps(row) for row in value)
            blocks.append(f"  {json.dumps(key)}: [\n    {rows}\n  ]")
        else:
            blocks.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def as_json(graph: Graph) -> dict[str, Any]:
    """A graph model as plain values; see the schema above."""
    about = graph.graph
    event = {
        "index": about["event"],
        "phase": about["phase"],
        "sentence": about["sentence"],
        "error": about["error"] or None,
    }
    clusters = about["clusters"].items()
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "gradviz": __version__,
        "net": about["title"],
        "ys": about["ys"],
        "event": event if about["event"] >= 0 else None,
        "nodes": [{"id": node, **data} for node, data in graph.nodes(data=True)],
        "edges": [{"source": tail, "target": head, **data} for tail, head, data in graph.edges(data=True)],
        "clusters": [{"id": key, **data, "parent": data["parent"] or None} for key, data in clusters],
    }
