"""`gradviz open`, `gradviz tutorial` and `gradviz serve`: the debugger on the terminal, and in a browser."""

from __future__ import annotations

import sys
from typing import Any

import rich_click as click

from gradviz.cli.bounds import within_memory
from gradviz.cli.group import BAD_QUESTION
from gradviz.cli.options import at_option, chosen_ys, open_model, optional_model_argument, sample_of, ys_option
from gradviz.cli.talk import say
from gradviz.errors import GradvizError


@click.command("open")
@optional_model_argument
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
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="For feeds that are given by their shape."
)
def open_command(
    model: str | None,
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

    A session that was left is taken up again. Press `?` for the keys. Without MODEL you choose among recent nets, the
    samples and files.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"the debugger needs a terminal; `gradviz trace {model or 'MODEL'}` prints the events instead")
        return BAD_QUESTION
    if model is None:
        if init or net or ys or at or breakpoints or watches or feeds:
            raise GradvizError("options are about a net: name it, as in `gradviz open FILE --at last`")
        from gradviz.tui.screens.opening import run as choose

        return choose()
    opened = open_model(model, init, net)
    asked = chosen_ys(opened, ys) if ys or not _has_session(opened) else None
    from gradviz.tui.app import run

    with within_memory():
        given = _feeds(opened, feeds, seed)
        return run(opened, asked, at=at, breakpoints=breakpoints, watches=watches, feeds=given)


@click.command("tutorial")
def tutorial_command() -> int:
    """Learn the debugger in ten steps, on its own screen: shared weights, and a version mismatch."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("the tutorial needs a terminal; docs/how-caffe2-builds-gradients.md tells the same on paper")
        return BAD_QUESTION
    from gradviz.tui.screens.tutorial import run

    return run()


@click.command("serve")
@click.argument("model", required=False)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen. Others can reach more than that."
)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
def serve_command(model: str | None, host: str, port: int) -> int:
    """Show the debugger in a browser; who can reach the address can read and write what you can.

    Without MODEL the browser shows what there is to choose. Needs the extra `serve`.
    """
    from gradviz.cli.serving import serve

    serve(model, host, port)
    return 0


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
