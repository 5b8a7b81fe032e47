"""Mermaid: a flowchart that renders in Markdown on many sites. The shapes are the nearest ones that Mermaid has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.errors import GradvizError
from gradviz.render.escape import label
from gradviz.render.style import DARK, LIGHT, line_of, look_of
from gradviz.render.words import heading, notes, under_way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.render.graph import Graph
    from gradviz.render.style import Look, Palette

_SHAPES = {
    "box": ("(", ")"),
    "box3d": ("[[", "]]"),
    "hexagon": ("{{", "}}"),
    "octagon": ("{", "}"),
    "trapezium": ("[/", "\\]"),
    "cylinder": ("[(", ")]"),
    "parallelogram": ("[/", "/]"),
    "ellipse": ("([", "])"),
}
_ARROWS = {
    "forward": "-->",
    "gradient": "-.->",
    "sparse": "-.->|sparse|",
    "accumulation": "==>",
    "value": "-.->|value|",
    "gradient_of": "-.-",
    "control": "-.->|control|",
    "nested": "-.-o",
}
_ROUND_OUTPUT = ("(((", ")))")


def mermaid_of(graph: Graph, *, rankdir: str = "TB", dark: bool = False) -> str:
    """A Mermaid flowchart of a graph model.

    Args:
        graph: as `gradviz.render.graph` makes it.
        rankdir: where the forward net goes: `TB`, `LR`, `BT` or `RL`.
        dark: colours for a dark ground.

    Raises:
        GradvizError: `rankdir` is none of the four.
    """
    if rankdir not in ("TB", "LR", "BT", "RL"):
        raise GradvizError(f"rankdir is one of TB, LR, BT, RL, not {rankdir!r}")
    palette = DARK if dark else LIGHT
    lines = ["---", f"title: {_front(graph)}", "---", f"flowchart {rankdir}"]
    classes: dict[str, str] = {}
    for part, title in (("forward", "Forward net"), ("gradient", "Gradient net")):
        nodes = [node for node, data in graph.nodes(data=True) if data["part"] == part]
        if nodes:
            lines.append(f'  subgraph {part}["{title}"]')
            lines += _part(graph, part, nodes, palette, classes)
            lines.append("  end")
    lines += [f"  {tail} {_arrow(data)} {head}" for tail, head, data in graph.edges(data=True)]
    lines += _wide_lines(graph, palette)
    lines += [f"  classDef {name} {style}" for style, name in classes.items()]
    return "\n".join(lines) + "\n"


def _front(graph: Graph) -> str:
    """The title, as a quoted YAML text."""
    about = graph.graph
    title = label(about["title"], 60)
    if about["event"] >= 0:
        title += f" at event {about['event']}: {label(about['sentence'], 120)}"
    return "'" + title.replace("'", "''") + "'"


def _part(graph: Graph, part: str, nodes: list[str], palette: Palette, classes: dict[str, str]) -> Iterator[str]:
    """The nodes of one part; those of nested nets in subgraphs of their own, which open and close like brackets."""
    inside: dict[str, list[str]] = {}
    for node in nodes:
        inside.setdefault(graph.nodes[node]["cluster"], []).append(node)
    ticks = under_way(graph)
    for node in inside.get("", ()):
        yield "    " + _node(node, graph.nodes[node], ticks, palette, classes)
    clusters = graph.graph["clusters"]
    for key in (key for key in clusters if key in inside):
        yield f'    subgraph {key}["{_quoted(label(clusters[key]["label"]))}"]'
        for node in inside[key]:
            yield "      " + _node(node, graph.nodes[node], ticks, palette, classes)
        yield "    end"


def _node(node: str, data: dict[str, Any], ticks: bool, palette: Palette, classes: dict[str, str]) -> str:
    look = look_of(data, palette)
    opening, closing = _ROUND_OUTPUT if look.shape == "ellipse" and look.double else _SHAPES[look.shape]
    lines = [_quoted(each) for each in (heading(data, ticks=ticks), *notes(data))]
    name = classes.setdefault(_style(look, palette), f"look{len(classes)}")
    return f'{node}{opening}"{"<br/>".join(lines)}"{closing}:::{name}'


def _style(look: Look, palette: Palette) -> str:
    dashes = {"dashed": ",stroke-dasharray:6 4", "dotted": ",stroke-dasharray:2 3"}.get(look.dashes, "")
    text = palette.quiet if look.faded else palette.text
    return f"fill:{look.fill},stroke:{look.line},stroke-width:{look.width:g}px,color:{text}{dashes}"


def _arrow(data: dict[str, Any]) -> str:
    return "-.->|wanted|" if data["wanted"] else _ARROWS[data["kind"]]


def _wide_lines(graph: Graph, palette: Palette) -> Iterator[str]:
    """Colours of the edges, which Mermaid knows by their number."""
    by_colour: dict[str, list[int]] = {}
    for number, (*_, data) in enumerate(graph.edges(data=True)):
        by_colour.setdefault(line_of(data, palette).colour.partition(":")[0], []).append(number)
    for colour, numbers in by_colour.items():
        yield f"  linkStyle {','.join(map(str, numbers))} stroke:{colour}"


def _quoted(text: str) -> str:
    """Text inside of Mermaid's double quotes: everything that it reads as markup as a number."""
    return "".join(f"#{ord(each)};" if each in '"#&<>`\\;' else each for each in text)
