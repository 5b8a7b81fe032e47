"""The legend: only what occurs in the picture is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.render.style import CHANGES, GLYPHS, WORDS

if TYPE_CHECKING:
    from gradviz.render.graph import Graph
    from gradviz.render.style import Palette

Entry = tuple[str, str, str, str]
"""What a swatch says, its fill, its line, and what it stands for."""


def legend_of(graph: Graph, palette: Palette) -> str:
    """The legend as an HTML-like table of DOT, without the angle brackets around it."""
    shapes, lines = _shapes(graph, palette), _lines(graph, palette)
    height = max(4, -(-(len(shapes) + len(lines)) // 4))
    columns = [entries[at : at + height] for entries in (shapes, lines) for at in range(0, len(entries), height)]
    rows = "".join(
        f"<TR>{''.join(_cells(column[row] if row < len(column) else None, palette) for column in columns)}</TR>"
        for row in range(height)
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="1">{rows}</TABLE>'


def _cells(entry: Entry | None, palette: Palette) -> str:
    if entry is None:
        return "<TD></TD><TD></TD>"
    sign, fill, line, meaning = entry
    ground = f' BORDER="1" COLOR="{line}" BGCOLOR="{fill}"' if fill else ""
    return (
        f'<TD{ground}><FONT POINT-SIZE="8.5" COLOR="{palette.text if fill else line}"> {sign} </FONT></TD>'
        f'<TD ALIGN="LEFT"><FONT POINT-SIZE="9" COLOR="{palette.quiet}">{meaning}</FONT></TD>'
    )


def _shapes(graph: Graph, palette: Palette) -> list[Entry]:
    kinds = {data["kind"] for _, data in graph.nodes(data=True)}
    blobs = [data for _, data in graph.nodes(data=True) if "role" in data]
    roles = {data["role"] for data in blobs}
    states = {data["state"] for _, data in graph.nodes(data=True)}
    found = [
        (kinds & {"op"}, "round box", palette.forward, "forward operator"),
        (kinds & {"gradient_op"}, "hexagon", palette.gradient, "gradient operator"),
        (kinds & {"sum"}, "Σ", palette.summing, "gradients added up"),
        (kinds & {"scope"}, "3-D box", palette.forward, "folded name scope"),
        (roles & {"parameter"}, "drum", palette.parameter, "parameter"),
        (roles & {"input"}, "slanted", palette.input, "external input"),
        (roles & {"activation"}, "ellipse", palette.activation, "activation; the small figure is its version"),
        (roles & {"output"}, "two lines", palette.activation, "output or y"),
        (kinds & {"gradient_blob"}, "dashed", palette.gradient_blob, "gradient"),
        (any(data["half"] for data in blobs), "dotted", palette.gradient_blob, "half of a sparse gradient"),
    ]
    entries = [(sign, *colours, meaning) for occurs, sign, colours, meaning in found if occurs]
    for state, fill, line in (
        ("current", palette.current, palette.text),
        ("failed", *palette.failed),
        ("skipped", palette.empty, palette.quiet),
        ("stopped", palette.forward[0], palette.forward[1]),
        ("waiting", palette.empty, palette.forward[1]),
    ):
        if state in states:
            entries.append((GLYPHS[state], fill, line, _STATES.get(state, WORDS.get(state, state))))
    changes = {data.get("change", "") for _, data in graph.nodes(data=True)}
    for names, fill, line, meaning in (
        ({"added"}, palette.empty, palette.text, "only in the second; thick line"),
        ({"removed"}, palette.empty, palette.failed[1], "only in the first; dotted"),
        ({"changed", "renamed"}, palette.current, palette.text, "in both, and not alike"),
    ):
        if names & changes:
            entries.append((CHANGES[min(names)], fill, line, meaning))
    return entries


_STATES = {
    "current": "what this event is about",
    "failed": "the walk failed here",
    "skipped": "skipped: no gradient arrives",
    "waiting": "not visited yet",
}


def _lines(graph: Graph, palette: Palette) -> list[Entry]:
    edges = [data for *_, data in graph.edges(data=True)]
    kinds = {data["kind"] for data in edges}
    grey, orange = palette.quiet, palette.gradient[1]
    found = [
        ("forward" in kinds, "───►", palette.forward[1], "forward"),
        ("gradient" in kinds, "– – ►", orange, "gradient"),
        ("sparse" in kinds, "· · · ►", orange, "sparse gradient"),
        ("accumulation" in kinds, "= = ►", palette.summing[1], "is added up"),
        ("value" in kinds, "──&gt;", grey, "forward value that a gradient reads"),
        ("gradient_of" in kinds, "· · · ·", grey, "a blob and its gradient"),
        (any(data["pass_through"] for data in edges), "═══", grey, "gradient passes straight through"),
        (any(data["wanted"] for data in edges), "– – &gt;", palette.failed[1], "version that was wanted"),
        ("control" in kinds, "– – ┤", grey, "control input"),
        ("nested" in kinds, "– – o", grey, "nested net"),
    ]
    return [(sign, "", colour, meaning) for occurs, sign, colour, meaning in found if occurs]
