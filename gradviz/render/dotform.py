"""DOT: the forward net going down, and beside it the gradient net going up, each gradient operator beside its operator.

The gradient net's edges are written backwards (`dir=back`), so that both nets share one order of ranks and what belongs
together stands side by side. Names are only ever in labels and tooltips.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from gradviz.errors import GradvizError
from gradviz.render.dotwriter import Dot, literal
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


def dot_of(
    graph: Graph, *, rankdir: str = "TB", dark: bool = False, legend: bool = True, palette: Palette | None = None
) -> str:
    """DOT text of a graph model.

    Args:
        graph: as `gradviz.render.graph` makes it.
        rankdir: where the forward net goes: `TB` down, `LR` to the right, `BT` up, `RL` to the left.
        dark: light lines on a dark ground.
        legend: whether what occurs is explained below.
        palette: colours in place of those that `dark` chooses.

    Raises:
        GradvizError: `rankdir` is none of the four.
    """
    if rankdir not in RANKDIRS:
        raise GradvizError(f"rankdir is one of {', '.join(RANKDIRS)}, not {rankdir!r}")
    palette = palette or (DARK if dark else LIGHT)
    drawn = Dot("gradviz")
    _set_defaults(drawn, graph, rankdir, palette)
    with drawn.subgraph("cluster_all"):
        drawn.attributes(color="transparent", bgcolor="transparent", labelloc="b", labeljust="c", margin="12")
        drawn.attributes(label=_html(legend_of(graph, palette)) if legend else "")
        _add_parts(drawn, graph, palette)
        _add_edges(drawn, graph, palette)
    _forward_net_first(drawn, graph)
    _align(drawn, graph)
    return drawn.text()


def _set_defaults(drawn: Dot, graph: Graph, rankdir: str, palette: Palette) -> None:
    drawn.attributes(rankdir=rankdir, newrank="true", compound="true", nodesep="0.22", ranksep="0.32", pad="0.2")
    drawn.attributes(bgcolor=palette.background, fontname=FONT, fontcolor=palette.text, fontsize="12")
    drawn.attributes(labelloc="t", labeljust="l", label=_html(_title(graph, palette)))
    drawn.attributes(tooltip=literal(label(graph.graph["title"], 200)))
    text = {"fontname": FONT, "fontcolor": palette.text, "fontsize": "11"}
    drawn.attributes("node", **text, height="0.36", margin="0.11,0.05", style="filled")
    drawn.attributes("edge", fontname=FONT, fontcolor=palette.quiet, fontsize="9", arrowsize="0.7")


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


# Nodes, in clusters.


def _add_parts(drawn: Dot, graph: Graph, palette: Palette) -> None:
    inside: dict[str, list[str]] = {}
    for node, data in graph.nodes(data=True):
        inside.setdefault(data["cluster"] or data["part"], []).append(node)
    ticks = under_way(graph)
    for part, title, style in (("forward", "Forward net", "rounded"), ("gradient", "Gradient net", "rounded,dashed")):
        if part in inside:
            colour = palette.forward[1] if part == "forward" else palette.gradient[1]
            with drawn.subgraph(f"cluster_{part}"):
                drawn.attributes(label=title, tooltip=title, labelloc="t", labeljust="l", fontsize="12", margin="10")
                drawn.attributes(style=style, color=colour, fontcolor=colour)
                if "gradient" in inside:
                    drawn.node(f"anchor_{part}", {"style": "invis", "shape": "point", "width": "0.01", "label": ""})
                _add_nodes(drawn, graph, inside[part], ticks, palette)
                _add_clusters(drawn, graph, part, inside, ticks, palette)


def _add_clusters(
    drawn: Dot, graph: Graph, part: str, inside: dict[str, list[str]], ticks: bool, palette: Palette
) -> None:
    """Add the clusters of nested nets, each inside of the one around it."""
    children: dict[str, list[str]] = {}
    for key, cluster in graph.graph["clusters"].items():
        if key in inside:
            children.setdefault(cluster["parent"] or cluster["part"], []).append(key)
    pending: list[str | None] = [*reversed(children.get(part, []))]
    while pending:
        key = pending.pop()
        if key is None:
            drawn.close()
            continue
        drawn.open(f"cluster_{key}")
        title = literal(label(graph.graph["clusters"][key]["label"]))
        drawn.attributes(label=title, tooltip=title, labelloc="t", labeljust="l", fontsize="10", margin="8")
        drawn.attributes(style="rounded,dotted", color=palette.quiet, fontcolor=palette.quiet)
        _add_nodes(drawn, graph, inside[key], ticks, palette)
        pending += [None, *reversed(children.get(key, []))]


def _add_nodes(drawn: Dot, graph: Graph, nodes: list[str], ticks: bool, palette: Palette) -> None:
    for node in nodes:
        data = graph.nodes[node]
        first = heading(data, ticks=ticks)
        drawn.node(node, _node_attributes(node, first, data, look_of(data, palette), palette))


def _node_attributes(node: str, first: str, data: dict[str, Any], look: Look, palette: Palette) -> dict[str, str]:
    found = {
        "id": node,
        "label": _html(_label(first, notes(data), data, look, palette)),
        "tooltip": literal(tooltip(data)),
        "shape": look.shape,
        "fillcolor": look.fill,
        "color": look.line,
    }
    dashes = "" if look.dashes == "solid" else look.dashes
    if look.rounded or dashes:
        found["style"] = ",".join(each for each in ("filled", "rounded" if look.rounded else "", dashes) if each)
    if look.width != 1.0:
        found["penwidth"] = f"{look.width:g}"
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


def _add_edges(drawn: Dot, graph: Graph, palette: Palette) -> None:
    for tail, head, data in graph.edges(data=True):
        back = data["kind"] in UPWARDS
        attributes = _edge_attributes(line_of(data, palette), back=back)
        if data["wanted"]:
            attributes["label"] = f" wanted: version {graph.nodes[tail]['version']}"
            attributes["fontcolor"] = palette.failed[1]
        if data["kind"] == "nested":
            attributes["lhead"] = f"cluster_{graph.nodes[head]['cluster']}"
        ends = (head, tail) if back else (tail, head)
        drawn.edge(*ends, attributes)


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
    if line.size != 0.7:
        found["arrowsize"] = f"{line.size:g}"
    if not line.binds:
        found["constraint"] = "false"
    return found


def _forward_net_first(drawn: Dot, graph: Graph) -> None:
    """Keep the forward net on the left: two unseen points at the top, in this order, one in each part."""
    if {data["part"] for _, data in graph.nodes(data=True)} == {"forward", "gradient"}:
        with drawn.subgraph():
            drawn.attributes(rank="min")
            drawn.edge("anchor_forward", "anchor_gradient", {"style": "invis"})


def _scope_pairs(graph: Graph) -> list[tuple[str, str]]:
    """Folded scopes of the forward net with those of the same name in the gradient net."""
    scopes = {(data["part"], data["name"]): node for node, data in graph.nodes(data=True) if data["kind"] == "scope"}
    return [
        (node, scopes["gradient", name])
        for (part, name), node in scopes.items()
        if part == "forward" and ("gradient", name) in scopes
    ]


def _align(drawn: Dot, graph: Graph) -> None:
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
        with drawn.subgraph():
            drawn.attributes(rank="same")
            drawn.node(left)
            drawn.node(right)
