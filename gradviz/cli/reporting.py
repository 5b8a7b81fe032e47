"""`gradviz report`: a walk as one page that can be sent to somebody."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from gradviz.cli.options import model_argument, open_model, traced, ys_option
from gradviz.cli.running import values_of
from gradviz.cli.talk import say


@click.command("report")
@model_argument
@ys_option
@click.option("-o", "--output", required=True, metavar="FILE", help="The page; an .html file.")
@click.option(
    "--feed",
    "feeds",
    multiple=True,
    metavar="WHAT",
    help="Run the net with these values, as `gradviz run` takes them, and put the figures into the page; repeatable.",
)
@click.option("--run", "wants_values", is_flag=True, help="Run the net though nothing is fed.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="For feeds given by their shape, and for random operators.",
)
def report_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    output: str,
    feeds: tuple[str, ...],
    wants_values: bool,
    seed: int,
) -> int:
    """Write the walk as one self-contained page: every event can be stepped to, forwards and backwards."""
    from gradviz.render import report

    opened = open_model(model, init, net)
    trace = traced(opened, ys)
    if trace.error is not None:
        say(f"the walk failed, and the page says why: {trace.error}")
    workspace = values_of(opened, trace.ys, feeds, seed) if feeds or wants_values else None
    written = report(trace, Path(output), workspace=workspace)
    say(f"wrote {written}")
    return 0
