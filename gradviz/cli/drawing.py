"""`gradviz dot`: pictures and other formats of a net and its gradients, at any event."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rich_click as click

from gradviz.cli.options import at_option, model_argument, open_model, traced, ys_option
from gradviz.cli.talk import say


@click.command("dot")
@model_argument
@ys_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write here; the suffix is the format: .dot .gv .svg .png .pdf .mmd .json .graphml .md .html, and .pb .pbtxt "
    "for the net with its gradient ops. Without it DOT goes to stdout.",
)
@at_option("Draw what there is after this event")
@click.option("--forward", is_flag=True, help="The forward net alone; no gradients are built.")
@click.option("--focus", metavar="BLOB", help="Only what is near this blob (or near `op 7`, `gradient op 7`).")
@click.option("--hops", type=click.IntRange(0), default=2, show_default=True, help="How many ops away from --focus.")
@click.option("--fold", type=click.IntRange(1), metavar="DEPTH", help="Fold name scopes (`conv1/`) into one node each.")
@click.option("--from", "first", type=int, metavar="OP", help="Leave out ops before this one.")
@click.option("--to", "last", type=int, metavar="OP", help="Leave out ops after this one.")
@click.option("--rankdir", type=click.Choice(["TB", "LR", "BT", "RL"]), default="TB", help="Where the net goes. [TB]")
@click.option("--engine", default="dot", show_default=True, help="The layout: dot, neato, fdp, sfdp, circo, twopi.")
@click.option("--program", metavar="NAME", help="Who draws: graphviz-pure or dot; whichever is there unless given.")
@click.option("--dark", is_flag=True, help="Light lines on a dark ground.")
@click.option("--no-legend", is_flag=True, help="Leave the legend out.")
@click.option("--max-nodes", type=int, default=1500, show_default=True, help="Refuse pictures with more nodes.")
@click.option("--seconds", type=float, default=120.0, show_default=True, help="Give up drawing after so long.")
def dot_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    output: str | None,
    at: str | None,
    forward: bool,
    focus: str | None,
    hops: int,
    fold: int | None,
    first: int | None,
    last: int | None,
    **looks: Any,
) -> int:
    """Draw the forward net, and its gradient net as it is at any event.

    Nothing else has to be installed for SVG and PNG; PDF needs Graphviz (`dot`).
    """
    opened = open_model(model, init, net)
    source: Any = opened if forward else traced(opened, ys)
    if not forward and source.error is not None:
        say(f"the walk failed: {source.error}")
    cut = {"focus": focus, "hops": hops if focus else None, "fold": fold, "first": first, "last": last}
    cut = {name: value for name, value in cut.items() if value is not None}
    looks["legend"] = not looks.pop("no_legend")
    if output is None or output == "-":
        from gradviz.render import dot

        kept = {name: looks[name] for name in ("rankdir", "dark", "legend")}
        sys.stdout.write(dot(source, at, **kept, **cut))
        return 0
    from gradviz.render import export
    from gradviz.render.image import Drawing

    drawing = Drawing(**{name: looks.pop(name) for name in ("engine", "program", "seconds", "max_nodes")})
    written = export(source, Path(output), at, drawing=drawing, **looks, **cut)
    say(written.note or f"wrote {written.path}")
    return 0
