"""`gradviz run`: the net and its gradients on NumPy or CuPy, as a table of figures."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gradviz.cli.options import chosen_ys, model_argument, open_model, sample_of, ys_option
from gradviz.cli.talk import clear_progress, progress, say, table
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.execute import Workspace
    from gradviz.execute.health import Health
    from gradviz.nets import Model


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
@click.option("--seed", default=0, show_default=True, help="For feeds given by their shape, and for random operators.")
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
    from gradviz.execute import run

    if no_gradients and ys:
        raise GradvizError("--no-gradients and --ys contradict each other: leave one out")
    if npz is not None:
        _check_folder(Path(npz))
    opened = open_model(model, init, net)
    asked = () if no_gradients else chosen_ys(opened, ys)
    given = _feeds(opened, feeds, seed)
    try:
        workspace = run(
            opened,
            given,
            asked,
            backend=backend,
            iterations=iterations,
            keep=keep or "all",
            seed=seed,
            until=int(until) if until is not None and until.lstrip("-").isdecimal() else until,
            progress=lambda done, total, op: progress(f"op {done} of {total}  {op.type}"),
        )
    finally:
        clear_progress()
    for notice in workspace.notices:
        say(f"note: {notice}")
    lines = map(json.dumps, _rows(workspace)) if as_json else _table(workspace)
    sys.stdout.writelines(line + "\n" for line in lines)
    _tell_of_bad_values(workspace)
    if npz is not None:
        _save(workspace, Path(npz))
    return 0


def _feeds(model: Model, texts: tuple[str, ...], seed: int) -> dict[str, Any]:
    """The feeds; a sample brings along what it needs."""
    from gradviz.execute.feeds import parse_feeds

    sample = sample_of(model)
    named = {text.partition("=")[0] for text in texts}
    known = [f"{name}={what}" for name, what in sample.feeds.items() if name not in named] if sample else []
    if known:
        say(f"feeds of this sample, filled from seed {seed}: {', '.join(known)}")
    return parse_feeds([*known, *texts], seed)


def _rows(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """One row for each value that was kept: its place, its figures, and those of its blob's gradient."""
    from gradviz.ops.records import GradientSlice

    for blob in workspace:
        gradient = workspace.input_to_grad.get(blob)
        name = gradient.values if isinstance(gradient, GradientSlice) else gradient
        of_gradient = workspace.health(name) if name is not None and name in workspace else None
        versions = workspace.versions(blob)
        for version in versions:
            last = version == versions[-1]
            row = {"blob": blob, "version": version, **_figures(workspace.health(blob, version))}
            row["gradient"] = name if last else None
            row["gradient_figures"] = _figures(of_gradient) if last and of_gradient is not None else None
            yield row


def _figures(health: Health) -> dict[str, Any]:
    names = ("dtype", "min", "max", "mean", "std", "l2", "zeros", "nan", "inf")
    return {"shape": list(health.shape), **{name: getattr(health, name) for name in names}}


_HEADS = (
    "blob",
    "version",
    "shape",
    "dtype",
    "min",
    "max",
    "mean",
    "std",
    "NaN",
    "Inf",
    "gradient",
    "min",
    "max",
    "L2",
)


def _table(workspace: Workspace) -> Iterator[str]:
    rows = []
    for row in _rows(workspace):
        figures = row["gradient_figures"] or {}
        rows.append(
            [
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
        )
    return table(_HEADS, rows, right=(1, 4, 5, 6, 7, 8, 9, 11, 12, 13))


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
    if not target.parent.is_dir():
        raise GradvizError(f"{target} cannot be written: there is no folder {target.parent}")
    if target.is_dir():
        raise GradvizError(f"{target} is a folder: name a file in it")


def _save(workspace: Workspace, target: Path) -> None:
    """Save whole or not at all: into a new file beside the target first."""
    scratch = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        workspace.save(scratch)
        scratch.replace(target)
    except OSError as error:
        raise GradvizError(f"{target} cannot be written: {(error.strerror or str(error)).lower()}") from error
    finally:
        scratch.unlink(missing_ok=True)
    say(f"wrote {target}")
