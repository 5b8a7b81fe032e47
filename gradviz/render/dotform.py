"""DOT: the forward net going down, and beside it the gradient net going up, each gradient operator beside its operator.

The gradient net's edges are written backwards (`dir=back`), so that both nets share one order of ranks and what belongs
together stands side by side. Names are only ever in labels and tooltips.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import graphviz

from gradviz.errors import GradvizError
from gradviz.render.escape import columns, label, markup, visible
from gradviz.render.legend import legend_of
from gradviz.render.style import DARK, LIGHT, line_of, look_of
from gradviz.render.words import heading, notes, tooltip, under_way

if TYPE_CHECKING:
    from gradviz.render.graph import Graph
    from gradviz.render.style import Line, Look, Palette

LOOKS = ("rankdir", "dark", "legend")
RANKDIRS = ("TB", "LR", "BT", "RL")
FONT = "Helvetica"
SLANTED = frozenset({"hexagon", "parallelogram", "trapezium", "octagon"})
"""Shapes that are roomy by themselves."""

UPWARDS = frozenset({"gradient", "sparse", "accumulation"})


def dot_of(graph: Graph, *, rankdir: str = "TB", dark: bool = False, legend: bool = True) -> str:
    """DOT text of a graph model.

    Args:
        graph: as `gradviz.render.graph` makes it.
        rankdir: where the forward net goes: `TB` down, `LR` to the right, `BT` up, `RL` to the left.
        dark: light lines on a dark ground.
        legend: whether what occurs is explained below.

    Raises:
        GradvizError: `rankdir` is none of the four.
    """
    if rankdir not in RANKDIRS:
        raise GradvizError(f"rankdir is one of {', '.join(RANKDIRS)}, not {rankdir!r}")
    palette = DARK if dark else LIGHT
    drawn = graphviz.Digraph(name="gradviz")
    _set_defaults(drawn, graph, rankdir, palette)
    body = graphviz.Digraph(name="cluster_all")
    if legend:
        body.attr(label=_html(legend_of(graph, palette)), labelloc="b", labeljust="c", margin="12")
    else:
        body.attr(label="")
    body.attr(color="transparent", bgcolor="transparent")
    _add_parts(body, graph, palette)
    _add_edges(body, graph, palette)
    drawn.subgraph(body)
    _forward_net_first(drawn, graph)
    _align(drawn, graph)
    return str(drawn.source)


def _set_defaults(drawn: Any, graph: Graph, rankdir: str, palette: Palette) -> None:
    drawn.attr(
        rankdir=rankdir,
        newrank="true",
        compound="true",
        bgcolor=palette.background,
        fontname=FONT,
        fontcolor=palette.text,
        fontsize="12",
        nodesep="0.22",
        ranksep="0.32",
        pad="0.2",
        labelloc="t",
        labeljust="l",
        label=_html(_title(graph, palette)),
        tooltip=graphviz.escape(_for_attribute(label(graph.graph["title"], 200))),
    )
    drawn.attr("node", fontname=FONT, fontsize="11", fontcolor=palette.text, height="0.36", margin="0.11,0.05")
    drawn.attr("edge", fontname=FONT, fontsize="9", fontcolor=palette.quiet)


def _title(graph: Graph, palette: Palette) -> str:
    """The net's name, and below it the event and its sentence."""
    about = graph.graph
    rows = [f'<TR><TD ALIGN="LEFT"><FONT POINT-SIZE="16"><B>{markup(label(about["title"], 60))}</B></FONT></TD></TR>']
    if about["event"] >= 0:
        ys = ", ".join(label(y) for y in about["ys"][:6]) + (", …" if len(about["ys"]) > 6 else "")
        where = f"event {about['event']} · {about['phase'].replace('_', ' ')} · ys: {ys or 'none'}"
        rows.append(_small(where, palette.quiet))
        colour = palette.failed[1] if about["error"] else palette.text
        lines = wrap(visible(about["sentence"]), 88, break_long_words=True)
        rows += [_small(line, colour) for line in lines[:6]]
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{"".join(rows)}</TABLE>'


def _small(text: str, colour: str) -> str:
    return f'<TR><TD ALIGN="LEFT"><FONT POINT-SIZE="11" COLOR="{colour}">{markup(text)}</FONT></TD></TR>'


def _html(content: str) -> str:
    return f"<{content}>"


def _for_attribute(text: str) -> str:
    """Text inside a quoted string, where Graphviz would still read entities."""
    return text.replace("&", "&amp;")


# Nodes, in clusters.


def _add_parts(body: Any, graph: Graph, palette: Palette) -> None:
    inside: dict[str, list[str]] = {}
    for node, data in graph.nodes(data=True):
        inside.setdefault(data["cluster"] or data["part"], []).append(node)
    children: dict[str, list[str]] = {}
    for key, cluster in graph.graph["clusters"].items():
        if key in inside:
            children.setdefault(cluster["parent"] or cluster["part"], []).append(key)
    for part, title, dashes in (("forward", "Forward net", "rounded"), ("gradient", "Gradient net", "rounded,dashed")):
        if part in inside:
            made = graphviz.Digraph(name=f"cluster_{part}")
            colour = palette.forward[1] if part == "forward" else palette.gradient[1]
            made.attr(label=title, style=dashes, color=colour, fontcolor=colour, fontsize="12", margin="10")
            made.attr(labelloc="t", labeljust="l", tooltip=title)
            if "gradient" in inside:
                made.node(f"anchor_{part}", style="invis", shape="point", width="0.01", label="")
            _add_nodes(made, graph, inside[part], palette)
            _add_clusters(made, graph, part, children, inside, palette)
            body.subgraph(made)


def _add_clusters(
    made: Any, graph: Graph, top: str, children: dict[str, list[str]], inside: dict[str, list[str]], palette: Palette
) -> None:
    """Add the clusters of nested nets, innermost first, so that each is whole when its parent takes it in."""
    order: list[str] = list(children.get(top, ()))
    for key in order:
        order += children.get(key, ())
    built = {key: graphviz.Digraph(name=f"cluster_{key}") for key in order}
    for key in reversed(order):
        about = graph.graph["clusters"][key]
        title = _for_attribute(label(about["label"]))
        built[key].attr(label=graphviz.escape(title), tooltip=graphviz.escape(title), margin="8")
        built[key].attr(style="rounded,dotted", color=palette.quiet, fontsize="10")
        built[key].attr(
            fontcolor=palette.quiet, labelloc="t", labeljust="l", margin="8", tooltip=graphviz.escape(title)
        )
        _add_nodes(built[key], graph, inside[key], palette)
        for child in children.get(key, ()):
            built[key].subgraph(built[child])
    for key in children.get(top, ()):
        made.subgraph(built[key])


def _add_nodes(made: Any, graph: Graph, nodes: list[str], palette: Palette) -> None:
    ticks = under_way(graph)
    for node in nodes:
        data = graph.nodes[node]
        first = heading(data, ticks=ticks)
        made.node(node, **_node_attributes(node, first, data, look_of(data, palette), palette))


def _node_attributes(node: str, first: str, data: dict[str, Any], look: Look, palette: Palette) -> dict[str, str]:
    found = {
        "id": node,
        "label": _html(_label(first, notes(data), data, look, palette)),
        "tooltip": graphviz.escape(_for_attribute(tooltip(data))).replace("\n", "&#10;"),
        "shape": look.shape,
        "style": ",".join(each for each in ("filled", "rounded" if look.rounded else "", look.dashes) if each),
        "fillcolor": look.fill,
        "color": look.line,
        "penwidth": f"{look.width:g}",
    }
    if look.shape in SLANTED:
        found["margin"] = "0.02,0.02"
    if look.double:
        found["peripheries"] = "2"
    if not first.isascii():
        found["width"] = f"{min(columns(first) * 0.085 + 0.25, 8):.2f}"
    return found


def _label(first: str, below: list[str], data: dict[str, Any], look: Look, palette: Palette) -> str:
    text = markup(first)
    is_op = "type" in data
    lines = [f"<B>{text}</B>" if is_op else text]
    air = "" if is_op else '<FONT POINT-SIZE="10.5"> </FONT>'  # keeps the line clear of the version above it
    lines += [f'<FONT POINT-SIZE="8.5" COLOR="{palette.quiet}">{markup(note)}</FONT>{air}' for note in below]
    joined = "<BR/>".join(lines)
    return f'<FONT COLOR="{palette.quiet}">{joined}</FONT>' if look.faded else joined


# Edges.


def _add_edges(body: Any, graph: Graph, palette: Palette) -> None:
    for tail, head, data in graph.edges(data=True):
        back = data["kind"] in UPWARDS
        attributes = _edge_attributes(line_of(data, palette), back=back)
        if data["wanted"]:
            attributes["label"] = f" wanted: version {graph.nodes[tail]['version']}"
            attributes["fontcolor"] = palette.failed[1]
        if data["kind"] == "nested":
            attributes["lhead"] = f"cluster_{graph.nodes[head]['cluster']}"
        ends = (head, tail) if back else (tail, head)
        body.edge(*ends, **attributes)


def _edge_attributes(line: Line, *, back: bool) -> dict[str, str]:
    found = {"color": line.colour}
    if line.dashes != "solid":
        found["style"] = line.dashes
    if line.width != 1.0:
        found["penwidth"] = f"{line.width:g}"
    if back:
        found["dir"] = "back"
    if line.head != "normal":
        found["arrowtail" if back else "arrowhead"] = line.head
    found["arrowsize"] = f"{line.size:g}"
    if not line.binds:
        found["constraint"] = "false"
    return found


def _forward_net_first(drawn: Any, graph: Graph) -> None:
    """Keep the forward net on the left: two unseen points at the top, in this order, one in each part."""
    if {data["part"] for _, data in graph.nodes(data=True)} == {"forward", "gradient"}:
        with drawn.subgraph() as top:
            top.attr(rank="min")
            top.edge("anchor_forward", "anchor_gradient", style="invis")


def _scope_pairs(graph: Graph) -> list[tuple[str, str]]:
    """Folded scopes of the forward net with those of the same name in the gradient net."""
    scopes = {(data["part"], data["name"]): node for node, data in graph.nodes(data=True) if data["kind"] == "scope"}
    return [
        (node, scopes["gradient", name])
        for (part, name), node in scopes.items()
        if part == "forward" and ("gradient", name) in scopes
    ]


def _align(drawn: Any, graph: Graph) -> None:
    """Put what was made first at a forward operator beside it, and a y beside its gradient.

    It also keeps the lines between both nets short; long ones can make the layout take a hundred times as long.
    """
    beside: dict[str, str] = {}
    for kind in ("gradient_op", "sum"):
        for node, data in graph.nodes(data=True):
            if data["kind"] == kind and not data["cluster"] and f"op_{data.get('owner', -1)}" in graph:
                beside.setdefault(f"op_{data['owner']}", node)
    pairs = [*beside.items(), *_scope_pairs(graph)]
    for tail, head, data in graph.edges(data=True):
        if data["kind"] == "gradient_of" and graph.nodes[tail].get("y") and graph.nodes[head]["part"] == "gradient":
            pairs.append((tail, head))
    for left, right in pairs:
        with drawn.subgraph() as same:
            same.attr(rank="same")
            same.node(left)
            same.node(right)
