"""`gradviz open`: the debugger on the terminal."""

from __future__ import annotations

import sys
from typing import Any

import rich_click as click

from gradviz.cli.group import BAD_QUESTION
from gradviz.cli.options import at_option, chosen_ys, model_argument, open_model, sample_of, ys_option
from gradviz.cli.talk import say


@click.command("open")
@model_argument
@ys_option
@at_option("Start at this event")
@click.option(
    "--break",
    "breakpoints",
    multiple=True,
    metavar="WHERE",
    help="A breakpoint: `7` an op, `type:FC`, `blob:w` (or `w`), `phase:merge`, `event:rename`, `error`, or a "
    """condition such as `kind == "rename" and blob.startswith("conv")`; repeatable.""",
)
@click.option("--watch", "watches", multiple=True, metavar="BLOB", help="Stop when this blob changes; repeatable.")
@click.option(
    "--feed",
    "feeds",
    multiple=True,
    metavar="WHAT",
    help="Values for the Values screen, as `gradviz run` takes them; repeatable.",
)
@click.option("--seed", default=0, show_default=True, help="For feeds that are given by their shape.")
def open_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    at: str | None,
    breakpoints: tuple[str, ...],
    watches: tuple[str, ...],
    feeds: tuple[str, ...],
    seed: int,
) -> int:
    """Step through the construction of a net's gradients, forwards and backwards, on the terminal.

    A session that was left is taken up again. Press `?` for the keys.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"the debugger needs a terminal; `gradviz trace {model}` prints the events instead")
        return BAD_QUESTION
    opened = open_model(model, init, net)
    given = _feeds(opened, feeds, seed)
    asked = chosen_ys(opened, ys) if ys or not _has_session(opened) else None
    from gradviz.tui.app import run

    return run(opened, asked, at=at, breakpoints=breakpoints, watches=watches, feeds=given)


def _has_session(model: Any) -> bool:
    """Whether a session on this net was left, whose ys count before those of a sample."""
    from gradviz.debug import saved

    return saved.load(model) is not None


def _feeds(model: Any, texts: tuple[str, ...], seed: int) -> dict[str, Any] | None:
    sample = sample_of(model)
    known = [f"{blob}={what}" for blob, what in sample.feeds.items()] if sample is not None else []
    if not texts and not known:
        return None
    from gradviz.execute.feeds import parse_feeds

    return parse_feeds([*known, *texts], seed)
