"""`gradviz why`, `gradviz lint` and `gradviz mend`: explain, look over, repair."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import rich_click as click

from gradviz.cli.group import BAD_NEWS
from gradviz.cli.options import chosen_ys, listed, model_argument, open_model, ys_option
from gradviz.cli.talk import say
from gradviz.errors import GradvizError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradviz.autodiff import Trace
    from gradviz.autodiff.explain.story import Story
    from gradviz.autodiff.lint import Finding
    from gradviz.nets import Model


@click.command("why")
@model_argument
@ys_option
@click.option("--blob", "blobs", multiple=True, metavar="NAME", help="A blob or a gradient; may be repeated.")
@click.option("--op", "ops", multiple=True, type=int, metavar="OP", help="An operator by its index; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: each story.")
def why_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    blobs: tuple[str, ...],
    ops: tuple[int, ...],
    as_json: bool,
) -> int:
    """Tell why a blob has a gradient or none, why there is a Sum, why a name or a version changed.

    With neither --blob nor --op: which parameters are trained, which are not and why. A walk that failed is explained,
    too; the exit code is 0 wherever there is a story.
    """
    walked = _walked(open_model(model, init, net), ys)
    told = list(_stories(walked, blobs, ops))
    for number, story in enumerate(told):
        if as_json:
            print(json.dumps(_story_as_json(story)))
            continue
        _print([*([""] if number else []), *story.lines])
    return 0


def _print(lines: Iterable[str]) -> None:
    """Lines on stdout; names in them may hold anything, and stay on their line."""
    sys.stdout.writelines(one_line(line) + "\n" for line in lines)


def _walked(model: Model, texts: tuple[str, ...]) -> Trace:
    """The walk, without its warnings: they are part of what these commands say."""
    from gradviz.autodiff import trace

    asked = chosen_ys(model, texts)
    walked = trace(model, asked)
    if asked is None:
        say(f"ys: {listed(list(walked.ys))} ({walked.chosen}; choose others with --ys)")
    return walked


def _stories(walked: Trace, blobs: tuple[str, ...], ops: tuple[int, ...]) -> Iterator[Story]:
    from gradviz.autodiff.why import why

    for blob in blobs:
        story = why(walked, blob)
        if not story.blob and not story.known:
            raise GradvizError(story.lines[0])
        yield story
    for op in ops:
        try:
            yield why(walked, op=op)
        except IndexError as error:
            raise GradvizError(str(error)) from error
    if not blobs and not ops:
        yield why(walked)


def _story_as_json(story: Story) -> dict[str, Any]:
    gradient = story.gradient
    return {
        "subject": story.subject,
        "blob": story.blob or None,
        "has_gradient": story.has_gradient,
        "gradient": list(gradient) if isinstance(gradient, tuple) else gradient,
        "lines": list(story.lines),
        "paths": [{"y": path.y, "ops": list(path.ops)} for path in story.paths],
    }


@click.command("lint")
@model_argument
@ys_option
@click.option(
    "--severity",
    type=click.Choice(["error", "warning", "note"]),
    default="note",
    show_default=True,
    help="The least severity that is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON array.")
def lint_command(
    model: str, init: str | None, net: str | None, ys: tuple[str, ...], severity: str, as_json: bool
) -> int:
    """Look a net over for what will bite later: each finding with its severity and what mends it.

    Exit code 1 if there is an error among the findings.
    """
    from gradviz.autodiff.lint import SEVERITIES, lint

    opened = open_model(model, init, net)
    found = lint(opened, chosen_ys(opened, ys))
    shown = [each for each in found if SEVERITIES.index(each.severity) <= SEVERITIES.index(severity)]
    if as_json:
        print(json.dumps([each.as_json() for each in shown], indent=2))
    else:
        _print(line for each in shown for line in _finding_lines(each))
    counts = [(sum(each.severity == name for each in found), name) for name in SEVERITIES]
    say(", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts))
    return BAD_NEWS if any(each.severity == "error" for each in found) else 0


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding} [{finding.kind}]"
    if finding.remedy is not None:
        yield f"    remedy: {finding.remedy.title}"


@click.command("mend")
@model_argument
@ys_option
@click.option("-o", "--output", metavar="FILE", help="Write the mended net here (.pb or .pbtxt); never over MODEL.")
@click.option("--remedy", "number", type=int, metavar="N", help="Which remedy; without it the likeliest that helps.")
@click.option("--all", "every", is_flag=True, help="Mend one error after the other, until nothing stops the walk.")
@click.option("--json", "as_json", is_flag=True, help="What was found and done as one JSON object.")
def mend_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    output: str | None,
    number: int | None,
    every: bool,
    as_json: bool,
) -> int:
    """List what mends a net, apply one remedy, prove it by walking again, and show what changes.

    Without -o nothing is written. Exit code 1 if the walk still fails afterwards.
    """
    from gradviz.cli.mending import Mending

    if every and number is not None:
        raise click.UsageError("--all and --remedy exclude each other")
    opened = open_model(model, init, net)
    mending = Mending(_walked(opened, ys), written=output is not None)
    _refuse_input(opened, output)
    code = mending.all() if every else mending.one(number, chosen=number is not None or output is not None)
    if as_json:
        print(json.dumps(mending.as_json(), indent=2))
    else:
        _print(mending.lines())
    if output is not None and mending.model is not None:
        from gradviz.nets import save

        sys.stdout.flush()
        say(f"wrote {save(mending.model, output)}{mending.hint()}")
    return code


def _refuse_input(model: Model, output: str | None) -> None:
    """Never write over what was opened."""
    from pathlib import Path

    if output is None:
        return
    target = Path(output)
    for source in (model.path, model.init_path):
        if source is not None and target.exists() and source.exists() and target.samefile(source):
            raise GradvizError(f"{output} is the file that was opened: choose another name, it is never written over")
    if target.suffix.lower() not in (".pb", ".pbtxt", ".prototxt", ".txt"):
        raise GradvizError(f"{output}: end the name in .pb (binary) or .pbtxt (text), which chooses the format")
