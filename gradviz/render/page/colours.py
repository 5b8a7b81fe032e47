"""The pictures' colours as CSS variables, so that a picture that was drawn once follows the page's theme."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache

from gradviz.render.style import Palette

_ELEMENT = re.compile(r"<(?:polygon|path|ellipse|polyline|text)\b[^>]*>")
_COLOUR = re.compile(r' (fill|stroke)="(#[0-9a-f]{6})"')


def named(palette: Palette) -> list[tuple[str, str]]:
    """Names of variables, and the palette's colours; of a pair the fill and the line."""
    found: list[tuple[str, str]] = []
    for each in fields(palette):
        value = getattr(palette, each.name)
        if isinstance(value, tuple):
            found += [(f"{each.name}-fill", value[0]), (f"{each.name}-line", value[1])]
        else:
            found.append((each.name, value))
    return found


@cache
def signs() -> Palette:
    """A palette in which no colour stands for two things; `with_variables` puts variables in their places."""
    counter = iter(range(1, 256))

    def one() -> str:
        return f"#0000{next(counter):02x}"

    pairs = {"forward", "gradient", "summing", "activation", "parameter", "input", "gradient_blob", "failed"}
    return Palette(**{each.name: (one(), one()) if each.name in pairs else one() for each in fields(Palette)})  # type: ignore[arg-type]


def with_variables(svg: str) -> str:
    """SVG text that was drawn with `signs`, in variables."""
    variables = {colour: name for name, colour in named(signs())}

    def styled(element: re.Match[str]) -> str:
        colours = _COLOUR.findall(element[0])
        if not colours:
            return element[0]
        style = ";".join(f"{what}:var(--{variables[colour]})" for what, colour in colours)
        tag, rest = _COLOUR.sub("", element[0]).split(" ", 1)
        return f'{tag} style="{style}" {rest}'

    return _ELEMENT.sub(styled, svg)
