"""One page in HTML, whole in itself: the picture, the events up to it, both nets as tables, and the gradients."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import spoken
from gradviz.autodiff.trace import Trace
from gradviz.errors import GradvizError
from gradviz.render.dotform import dot_of
from gradviz.render.escape import label, markup
from gradviz.render.graph import OP_KINDS
from gradviz.render.image import Drawing, draw
from gradviz.render.moment import moment
from gradviz.render.style import GLYPHS
from gradviz.render.words import blob_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradviz.render.graph import Graph

_MOST_EVENTS = 5000
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --quiet: #667; }
@media (prefers-color-scheme: dark) { :root { --quiet: #9ab; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; }
.quiet { color: var(--quiet); } .failed { border-left: 4px solid #b3261e; padding-left: .8rem; }
.picture { overflow: auto; border: 1px solid var(--line); background: #fff; }
.picture svg { display: block; margin: auto; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top; padding: .1rem .8rem .1rem 0; }
th { border-bottom: 1px solid var(--line); } td.n { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; font-weight: 600; } td, .name { overflow-wrap: anywhere; }
@media print { details > * { display: block; } .picture { border: 0; } }
"""


def html_of(
    source: Any, at: int | str | None, graph: Graph, looks: dict[str, Any], drawing: Drawing | None = None
) -> str:
    """The page on a trace (or a forward net) at an event; where no picture can be drawn it says so in its place."""
    about = graph.graph
    body = [f"<h1>{markup(label(about['title'], 80))}</h1>"]
    if isinstance(source, Trace):
        body += _head(source, moment(source, at), about)
    body += ["<h2>Picture</h2>", _picture(graph, looks, drawing or Drawing())]
    for part, title in (("forward", "Forward net"), ("gradient", "Gradient net")):
        rows = list(_operators(graph, part))
        if rows:
            body += [_folded(title, _table(("op", "", "type", "reads", "writes"), rows), is_open=len(rows) < 60)]
    if isinstance(source, Trace):
        body += _walk(source, moment(source, at))
    title = markup(label(about["title"], 80))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title} · gradviz</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><main>\n{chr(10).join(body)}\n</main></body>\n</html>\n"
    )


def _head(trace: Trace, position: int, about: dict[str, Any]) -> Iterator[str]:
    ys = ", ".join(label(y) for y in trace.ys) or "nothing"
    last = len(trace.events) - 1
    phase = about["phase"].replace("_", " ")
    yield f'<p class="quiet">event {position} of {last} · {markup(phase)} · ys: {markup(ys)}</p>'
    failed = ' class="failed"' if about["error"] else ""
    yield f"<p{failed}>{markup(about['sentence'])}</p>"
    for warning in trace.warnings:
        yield f"<p>Warning: {markup(warning)}</p>"


def _picture(graph: Graph, looks: dict[str, Any], drawing: Drawing) -> str:
    count = graph.number_of_nodes()
    if count > drawing.max_nodes:
        return f"<p>Left out: it would have {count:,} nodes, more than {drawing.max_nodes:,}.</p>"
    try:
        drawn = draw(dot_of(graph, **looks), "svg", drawing).decode("utf-8")
    except GradvizError as error:
        return f"<p>Left out: {markup(str(error))}</p>"
    return f'<div class="picture">{re.sub(r"^.*?(?=<svg)", "", drawn, count=1, flags=re.DOTALL)}</div>'


def _operators(graph: Graph, part: str) -> Iterator[list[str]]:
    for node, data in graph.nodes(data=True):
        if data["kind"] in OP_KINDS and data["part"] == part and not data["cluster"]:
            state = data["state"] if part == "forward" else ""
            glyph = f"{GLYPHS[state]} {state}" if state else ""
            reads = [(edge["slot"], tail) for tail, _, edge in graph.in_edges(node, data=True) if edge["slot"] >= 0]
            writes = [(edge["slot"], head) for _, head, edge in graph.out_edges(node, data=True) if edge["slot"] >= 0]
            yield [
                str(data["index"]),
                glyph,
                label(data["type"]),
                *(", ".join(blob_name(graph.nodes[each]) for _, each in sorted(found)) for found in (reads, writes)),
            ]


def _walk(trace: Trace, position: int) -> Iterator[str]:
    known = trace.state_at(position).gradient_map
    gradients = [[label(blob), label(spoken(gradient), 90)] for blob, gradient in known.items()]
    yield _folded("Gradients", _table(("blob", "gradient"), gradients), is_open=len(gradients) < 60)
    first = max(position + 1 - _MOST_EVENTS, 0)
    events = [
        [str(index), event.phase.replace("_", " "), event.sentence()]
        for index, event in enumerate(trace.events[first : position + 1], first)
    ]
    title = "Events" if not first else f"Events (the last {_MOST_EVENTS:,})"
    yield _folded(title, _table(("event", "phase", "what happened"), events), is_open=False)


def _folded(title: str, content: str, *, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>\n{content}\n</details>"


def _table(heads: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = "".join(f'<th scope="col">{each or "<span hidden>state</span>"}</th>' for each in heads)
    body = "\n".join(
        f'<tr><td class="n">{markup(row[0])}</td>{"".join(f"<td>{markup(each)}</td>" for each in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
