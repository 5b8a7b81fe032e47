"""`gradviz trace`: the events of the walk, as text or as lines of JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import rich_click as click

from gradviz.cli.group import BAD_NEWS
from gradviz.cli.options import at_option, model_argument, open_model, traced, ys_option
from gradviz.cli.talk import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff import Trace


@click.command("trace")
@model_argument
@ys_option
@at_option("Print up to this event, and the state after it")
@click.option("--phase", "phases", multiple=True, metavar="NAME", help="Only events of this phase or kind; repeatable.")
@click.option(
    "--op", "ops", multiple=True, metavar="OP", help="Only events at this op: an index or a type; repeatable."
)
@click.option("--summary", is_flag=True, help="In place of the events, what became of the walk.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: each event; with --at, the state last.")
def trace_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    at: str | None,
    phases: tuple[str, ...],
    ops: tuple[str, ...],
    summary: bool,
    as_json: bool,
) -> int:
    """Print every event of the backward walk, numbered, each in one plain sentence.

    Exit code 1 if the walk failed; the sentence that says why is on stderr too.
    """
    walked = traced(open_model(model, init, net), ys)
    lines = _summary(walked, as_json) if summary else _events(walked, at, phases, ops, as_json)
    sys.stdout.writelines(line + "\n" for line in lines)
    if walked.error is None:
        return 0
    sys.stdout.flush()
    say(f"the walk failed at event {len(walked.events) - 1}: {walked.error}")
    return BAD_NEWS


def _summary(walked: Trace, as_json: bool) -> Iterator[str]:
    from gradviz.render import text

    if as_json:
        yield json.dumps(text.summary_as_json(walked))
    else:
        yield from text.summary_lines(walked)


def _events(
    walked: Trace, at: str | None, phases: tuple[str, ...], ops: tuple[str, ...], as_json: bool
) -> Iterator[str]:
    from gradviz.render import text
    from gradviz.render.moment import moment

    last = moment(walked, at)
    found = text.chosen(walked, last, phases, ops)
    if as_json:
        yield from (text.json_line(*each) for each in found)
        if at is not None:
            yield json.dumps({"kind": "state", **text.state_as_json(walked, last)})
        return
    width = max(len(str(last)), 5)
    yield text.header(width)
    yield from (text.line(*each, width) for each in found)
    if at is not None:
        yield ""
        yield from text.state_lines(walked, last)
