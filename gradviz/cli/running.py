"""`gradviz run`: the net and its gradients on NumPy or CuPy, as a table of figures."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gradviz.cli.bounds import within_memory
from gradviz.cli.group import BAD_NEWS
from gradviz.cli.options import chosen_ys, listed, model_argument, open_model, sample_of, warn, ys_option
from gradviz.cli.talk import clear_progress, progress, say, table
from gradviz.errors import GradientError, GradvizError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradviz.execute import Plan, Workspace
    from gradviz.execute.missing import MissingFeedsError
    from gradviz.nets import Model
    from gradviz.ops.records import Op


@click.command("run")
@model_argument
@ys_option
@click.option(
    "--feed",
    "feeds",
    multiple=True,
    metavar="WHAT",
    help="A value: a file (.npz, or tensors in .pb), `name=file.npy`, or `name=8x1x28x28[:dtype]`, which --seed "
    "fills; repeatable.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="For feeds given by their shape, and for random operators.",
)
@click.option("--no-gradients", is_flag=True, help="Run the net as it is.")
@click.option("--backend", type=click.Choice(["numpy", "cupy"]), default="numpy", show_default=True)
@click.option("--iterations", type=click.IntRange(1), default=1, show_default=True, help="How often to run the net.")
@click.option("--until", metavar="OP|BLOB", help="Stop after this op, or after the first one that writes this blob.")
@click.option("--keep", multiple=True, metavar="BLOB", help="Keep and show these blobs only; repeatable.")
@click.option("--npz", metavar="FILE", help="Save the last value of every blob.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON: one object a line, one for each value.")
def run_command(
    model: str,
    init: str | None,
    net: str | None,
    ys: tuple[str, ...],
    feeds: tuple[str, ...],
    seed: int,
    no_gradients: bool,
    backend: str,
    iterations: int,
    until: str | None,
    keep: tuple[str, ...],
    npz: str | None,
    as_json: bool,
) -> int:
    """Run the init net, the net and its gradients; print shape, dtype and figures of every value."""
    if no_gradients and ys:
        raise GradvizError("--no-gradients and --ys contradict each other: leave one out")
    if npz is not None:
        _check_folder(Path(npz))
    opened = open_model(model, init, net)
    if npz is not None:
        _refuse_opened(opened, Path(npz))
    plan = _planned(opened, () if no_gradients else chosen_ys(opened, ys), told=bool(ys))
    if plan is None:
        return BAD_NEWS
    options = {"backend": backend, "iterations": iterations, "keep": keep or "all", "seed": seed}
    with within_memory() if backend == "numpy" else nullcontext():  # CUDA reserves more than there is
        workspace = _run(plan, _feeds(opened, feeds, seed), until, options)
    from gradviz.render.values import rows_of

    for notice in workspace.notices:
        say(f"note: {notice}")
    rows = rows_of(workspace, plan.trace)
    lines = map(json.dumps, rows) if as_json else _table(rows)
    sys.stdout.writelines(line + "\n" for line in lines)
    _tell_of_bad_values(workspace)
    if npz is not None:
        _save(workspace, Path(npz))
    return 0


def values_of(model: Model, ys: Any, feeds: tuple[str, ...], seed: int) -> Workspace | None:
    """A run for who wants its values beside something else; None where no gradients can be built."""
    plan = _planned(model, ys, told=True)
    if plan is None:
        return None
    options = {"backend": "numpy", "iterations": 1, "keep": "all", "seed": seed}
    with within_memory():
        return _run(plan, _feeds(model, feeds, seed), None, options)


def _planned(model: Model, ys: Any, *, told: bool) -> Plan | None:
    """The net made ready to run; stderr hears which ys were chosen.

    None where no gradients can be built of the ys that the user `told`; other ys are then done without.
    """
    from gradviz.execute import Plan

    try:
        plan = Plan(model, ys)
    except GradientError as error:
        say(f"the walk failed: {error}")
        if told:
            return None
        say("note: the net runs without gradients")
        plan = Plan(model, ())
    if plan.trace is not None and not told and plan.trace.chosen != "given":
        say(f"ys: {listed(list(plan.trace.ys))} ({plan.trace.chosen}; choose others with --ys)")
    warn(plan.trace.warnings if plan.trace is not None else ())
    return plan


def _run(plan: Plan, feeds: dict[str, Any], until: str | None, options: dict[str, Any]) -> Workspace:
    from gradviz.execute.missing import MissingFeedsError

    end = int(until) if until is not None and until.lstrip("-").isdecimal() else until

    def report(done: int, total: int, op: Op) -> None:
        progress(f"op {done} of {total}  {op.type}")

    try:
        return plan.run(feeds, until=end, progress=report, **options)
    except MissingFeedsError as error:
        raise GradvizError(_missing(error, plan.model)) from error
    finally:
        clear_progress()


_MOST_MISSING = 6


def _missing(error: MissingFeedsError, model: Model) -> str:
    """What is missing, in a line that can be read; where it is much, an init net is missing rather than feeds."""
    missing = error.missing
    if len(missing) <= _MOST_MISSING:
        word = "blob has" if len(missing) == 1 else "blobs have"
        feeds = " ".join(f"--feed {each.feed}" for each in missing)
        return f"{len(missing)} {word} no value: {'; '.join(map(str, missing))}. Try {feeds}"
    shown = ", ".join(each.blob for each in missing[:_MOST_MISSING])
    what = f"{len(missing)} blobs have no value: {shown} and {len(missing) - _MOST_MISSING} more"
    if model.init is None:
        return (
            f"{what}; give the init net that fills the parameters (--init FILE), and feed the rest (--feed NAME=SHAPE)"
        )
    return f"{what}; the init net does not fill them: does it belong to this net? Feed them (--feed FILE.npz)"


def _feeds(model: Model, texts: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The feeds; a sample brings along what it needs."""
    from gradviz.execute.feeds import parse_feeds

    sample = sample_of(model)
    named = {text.partition("=")[0] for text in texts}
    known = [f"{name}={what}" for name, what in sample.feeds.items() if name not in named] if sample else []
    if known:
        say(f"feeds of this sample, filled from seed {seed}: {', '.join(known)}")
    return parse_feeds([*known, *texts], seed)


_HEADS = (
    *("blob", "version", "shape", "dtype", "min", "max", "mean", "std", "NaN", "Inf"),
    *("gradient", "grad min", "grad max", "grad L2"),
)


def _table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    return table(_HEADS, map(_cells, rows), right=(1, 4, 5, 6, 7, 8, 9, 11, 12, 13))


def _cells(row: dict[str, Any]) -> list[str]:
    figures = row["gradient_figures"] or {}
    return [
        row["blob"],
        str(row["version"]),
        "×".join(map(str, row["shape"])) or "scalar",
        row["dtype"],
        *(_number(row[name]) for name in ("min", "max", "mean", "std")),
        str(row["nan"] or ""),
        str(row["inf"] or ""),
        (row["gradient"] or "") + _bad(figures),
        *(_number(figures.get(name)) for name in ("min", "max", "l2")),
    ]


def _bad(figures: dict[str, Any]) -> str:
    ills = [f"{figures[name]} {word}" for name, word in (("nan", "NaN"), ("inf", "Inf")) if figures.get(name)]
    return f" ({', '.join(ills)})" if ills else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _tell_of_bad_values(workspace: Workspace) -> None:
    if workspace.stopped:
        say(f"stopped: {workspace.stopped}")
    if workspace.bad_inputs:
        say(f"warning: NaN or Inf from the start in {', '.join(workspace.bad_inputs)}")
    if workspace.first_bad is not None:
        say(f"warning: {workspace.first_bad}")


def _check_folder(target: Path) -> None:
    from gradviz.nets.files import refuse_special

    if not target.parent.is_dir():
        raise GradvizError(f"{target} cannot be written: there is no folder {target.parent}")
    refuse_special(target)


def _refuse_opened(model: Model, target: Path) -> None:
    for opened in (model.path, model.init_path):
        if opened is not None and opened.exists() and target.exists() and opened.samefile(target):
            raise GradvizError(f"{target} is the file that was opened: write to another one")


def _save(workspace: Workspace, target: Path) -> None:
    from gradviz.nets.files import replacing

    with replacing(target) as scratch:
        workspace.save(scratch)
    say(f"wrote {target}")
