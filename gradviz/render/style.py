"""How each thing looks. Colour is never the only sign: a shape, a kind of line, a glyph or a word stands beside it.

| thing | shape and line | words and glyphs |
|---|---|---|
| forward operator | box with round corners | |
| gradient operator | hexagon | |
| Sum or Concat of gradients | trapezium | Σ |
| parameter | drum | |
| external input | slanted box | |
| activation | ellipse | |
| output, y | ellipse with two lines | y |
| gradient | dashed ellipse | |
| half of a sparse gradient | dotted ellipse | sparse indices, sparse values |
| current, failed | thick line; an operator that failed is an octagon | ► ×  failed |
| skipped, stopped | dashed box; box with two lines | – skipped, ■ gradient stops here |
| in comparisons: added | thick line | + |
| removed | empty, dotted line | − |
| changed, renamed | filled as what is current is | ~ and what differs |

Only glyphs that common fonts have are used, because PNGs are drawn with the fonts that come with the program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

GLYPHS = {"waiting": "·", "current": "►", "done": "√", "skipped": "–", "stopped": "■", "failed": "×"}
"""A glyph for each state of an operator."""

CHANGES = {"added": "+", "removed": "−", "changed": "~", "renamed": "~"}
"""A glyph for each kind of change, where two nets are compared."""

WORDS = {"skipped": "skipped", "stopped": "gradient stops here", "failed": "failed"}
"""A word for the states that a glyph alone would not tell."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one theme; pairs are fill and line."""

    background: str
    text: str
    quiet: str
    forward: tuple[str, str]
    gradient: tuple[str, str]
    summing: tuple[str, str]
    activation: tuple[str, str]
    parameter: tuple[str, str]
    input: tuple[str, str]
    gradient_blob: tuple[str, str]
    current: str
    failed: tuple[str, str]
    empty: str


LIGHT = Palette(
    background="#ffffff",
    text="#1b1f24",
    quiet="#6a737d",
    forward=("#d9e8f7", "#1f5f99"),
    gradient=("#fde2c4", "#a4540a"),
    summing=("#e8dbf5", "#6a3d9a"),
    activation=("#ffffff", "#57606a"),
    parameter=("#dff0d8", "#33691e"),
    input=("#eceff1", "#455a64"),
    gradient_blob=("#fff6eb", "#a4540a"),
    current="#ffe066",
    failed=("#f8c4c0", "#b3261e"),
    empty="#ffffff",
)

DARK = Palette(
    background="#15181c",
    text="#e6e9ec",
    quiet="#9aa4ae",
    forward=("#17344f", "#79b8f2"),
    gradient=("#4a2c10", "#f2a65e"),
    summing=("#38254d", "#c9a2f0"),
    activation=("#1e2329", "#aeb8c2"),
    parameter=("#1f3a1a", "#94cf7d"),
    input=("#2a3138", "#b0bec5"),
    gradient_blob=("#2c2118", "#f2a65e"),
    current="#7a6400",
    failed=("#5c1f1c", "#ff8a80"),
    empty="#15181c",
)


@dataclass(frozen=True, slots=True)
class Look:
    """How one node is drawn, whatever the format.

    Attributes:
        shape: name of the shape in DOT.
        fill: fill colour.
        line: colour of the outline.
        dashes: `solid`, `dashed` or `dotted`.
        rounded: whether a box has round corners.
        width: width of the outline in points.
        double: whether the outline is drawn twice.
        faded: whether the text is quiet.
    """

    shape: str
    fill: str
    line: str
    dashes: str = "solid"
    rounded: bool = False
    width: float = 1.0
    double: bool = False
    faded: bool = False


def look_of(data: dict[str, Any], palette: Palette) -> Look:
    """The look of a node from its attributes."""
    look = _operator(data, palette) if "type" in data else _blob(data, palette)
    change = data.get("change", "")
    if change == "removed":
        return replace(look, fill=palette.empty, line=palette.failed[1], dashes="dotted", width=1.6, faded=True)
    if change == "added":
        return replace(look, width=3.0)
    return replace(look, fill=palette.current) if change else look


def _operator(data: dict[str, Any], palette: Palette) -> Look:
    shapes = {"op": "box", "gradient_op": "hexagon", "sum": "trapezium", "scope": "box3d"}
    colours = {"gradient_op": palette.gradient, "sum": palette.summing}
    default = palette.gradient if data["part"] == "gradient" else palette.forward
    fill, line = colours.get(data["kind"], default)
    shape, rounded, state = shapes[data["kind"]], data["kind"] == "op", data["state"]
    if state == "failed":
        return Look("octagon" if rounded else shape, *palette.failed, width=3)
    if state == "current":
        return Look(shape, palette.current, line, rounded=rounded, width=3)
    if state == "skipped":
        return Look(shape, palette.empty, palette.quiet, "dashed", rounded, faded=True)
    if state == "waiting":
        return Look(shape, palette.empty, line, rounded=rounded)
    return Look(shape, fill, line, rounded=rounded, double=state == "stopped")


def _blob(data: dict[str, Any], palette: Palette) -> Look:
    shapes = {"parameter": "cylinder", "input": "parallelogram", "given": "parallelogram"}
    colours = {"parameter": palette.parameter, "input": palette.input}
    shape = shapes.get(data["role"], "ellipse")
    of_gradient = data["kind"] == "gradient_blob"
    fill, line = palette.gradient_blob if of_gradient else colours.get(data["role"], palette.activation)
    dashes = ("dotted" if data["half"] else "dashed") if of_gradient else "solid"
    width = 1.6 if data["half"] else 1.0
    double = data["role"] == "output" or data["y"]
    if data["state"] == "failed":
        return Look(shape, *palette.failed, dashes, width=3, double=double)
    if data["state"] == "current":
        return Look(shape, palette.current, line, dashes, width=2.5, double=double)
    return Look(shape, fill, line, dashes, width=width, double=double)


@dataclass(frozen=True, slots=True)
class Line:
    """How one edge is drawn.

    Attributes:
        colour: of the line; two with a colon between them make a double line.
        dashes: `solid`, `dashed` or `dotted`.
        width: in points.
        head: name of the arrow's head in DOT, `none` for no arrow.
        size: of the head.
        binds: whether it takes part in the order from top to bottom.
    """

    colour: str
    dashes: str = "solid"
    width: float = 1.0
    head: str = "normal"
    size: float = 0.7
    binds: bool = True


def line_of(data: dict[str, Any], palette: Palette) -> Line:
    """The look of an edge from its attributes."""
    line = _line(data, palette)
    change = data.get("change", "")
    if change == "removed":
        return replace(line, colour=palette.failed[1], dashes="dotted", width=1.4)
    return replace(line, width=line.width + 1.4) if change == "added" else line


def _line(data: dict[str, Any], palette: Palette) -> Line:
    kind = data["kind"]
    if kind == "accumulation":
        return Line(palette.summing[1], "dotted" if data["sparse"] else "dashed", 2.0)
    if kind == "sparse":
        return Line(palette.gradient[1], "dotted", 1.6, "onormal", 0.8)
    if kind == "gradient":
        return Line(palette.gradient[1], "dashed")
    if kind == "value":
        if data["wanted"]:
            return Line(palette.failed[1], "dashed", 2.0, "vee", 0.8, binds=False)
        return Line(palette.quiet, "solid", 0.6, "vee", 0.5, binds=False)
    if kind == "gradient_of":
        colour = f"{palette.quiet}:{palette.quiet}" if data["pass_through"] else palette.quiet
        return Line(colour, "solid" if data["pass_through"] else "dotted", 0.8, "none", 0.5, binds=False)
    if kind == "control":
        return Line(palette.quiet, "dashed", 1.0, "tee")
    if kind == "nested":
        return Line(palette.quiet, "dashed", 1.0, "odot", 0.6)
    return Line(palette.forward[1])
