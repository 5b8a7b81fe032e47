"""`gradviz ops`, `gradviz samples` and `gradviz conformance`: what gradviz knows, brings along, and keeps to."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import rich_click as click

from gradviz.cli.group import BAD_NEWS
from gradviz.cli.talk import clear_progress, progress, say, table
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.conformance import Report
    from gradviz.ops.registry import Operator

GRADIENTS = ("rule", "python", "none", "should_not", "not_implemented", "unregistered")


@click.command("ops")
@click.argument("text", required=False)
@click.option("--family", metavar="NAME", help="Only this family (a file in gradviz/ops).")
@click.option("--gradient", type=click.Choice(GRADIENTS), help="Only ops whose gradient is of this kind.")
@click.option("--missing", is_flag=True, help="Only ops that gradviz cannot run.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def ops_command(text: str | None, family: str | None, gradient: str | None, missing: bool, as_json: bool) -> int:
    """List the operator types that gradviz knows; TEXT keeps those whose name holds it."""
    import gradviz.execute  # noqa: F401  (brings the kernels of operators that run nets inside nets)
    from gradviz.ops.registry import operators

    known = operators()
    families = sorted({each.family for each in known.values()})
    if family is not None and family not in families:
        raise GradvizError(f"there is no family {family!r}; there are {', '.join(families)}")
    rows = [_described(each) for _, each in sorted(known.items())]
    rows = [
        row
        for row in rows
        if (text is None or text.lower() in row["type"].lower())
        and family in (None, row["family"])
        and gradient in (None, row["gradient"])
        and not (missing and row["kernel"])
    ]
    lines = map(json.dumps, rows) if as_json else _operator_lines(rows)
    sys.stdout.writelines(line + "\n" for line in lines)
    rules = sum(row["gradient"] in ("rule", "python") for row in rows)
    kernels = sum(row["kernel"] for row in rows)
    say(f"{len(rows)} of {len(known)} operator types; {rules} with a gradient, {kernels} that can be run")
    return 0


def _described(operator: Operator) -> dict[str, Any]:
    schema = operator.schema
    return {
        "type": operator.type,
        "family": operator.family,
        "inputs": list(schema.inputs),
        "outputs": list(schema.outputs),
        "gradient": _kind_of_gradient(operator),
        "kernel": operator.kernel is not None,
        "why_no_kernel": operator.why_no_kernel or ("" if operator.runs else "upstream has no operator of this name"),
    }


def _kind_of_gradient(operator: Operator) -> str:
    from gradviz.ops.registry import UNREGISTERED, NoRule

    if operator.python_rule is not None and operator.gradient is UNREGISTERED:
        return "python"
    return operator.gradient.value if isinstance(operator.gradient, NoRule) else "rule"


def _operator_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    cells = [
        [
            row["type"],
            row["family"],
            _span(row["inputs"]),
            _span(row["outputs"]),
            row["gradient"].replace("_", " "),
            "yes" if row["kernel"] else f"no{': ' if row['why_no_kernel'] else ''}{row['why_no_kernel']}",
        ]
        for row in rows
    ]
    return table(("type", "family", "in", "out", "gradient", "runs"), cells)


def _span(span: list[int]) -> str:
    from gradviz.ops.schema import MANY

    least, most = span
    if least == most:
        return str(least)
    return f"{least}+" if most >= MANY else f"{least}-{most}"


@click.command("samples")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def samples_command(as_json: bool) -> int:
    """List the sample nets: `gradviz open NAME` opens one."""
    from gradviz.nets import samples

    rows = [
        {
            "name": each.name,
            "file": str(samples.folder() / each.file),
            "shows": each.shows,
            "ys": None if each.ys is None else list(each.ys),
            "feeds": dict(each.feeds),
        }
        for each in samples.SAMPLES
    ]
    cells = [[str(row["name"]), str(row["shows"])] for row in rows]
    lines = map(json.dumps, rows) if as_json else table(("name", "shows"), cells)
    sys.stdout.writelines(line + "\n" for line in lines)
    say(f"{len(rows)} samples in {samples.folder()}")
    return 0


@click.command("conformance")
@click.argument("path")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this operator type; repeatable.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["gradients", "traces", "kernels", "runs"]),
    help="Only vectors of this kind; repeatable.",
)
@click.option("--backend", type=click.Choice(["numpy", "cupy"]), default="numpy", show_default=True)
@click.option("--show", type=click.IntRange(0), default=20, show_default=True, help="How many differences to print.")
@click.option("--json", "as_json", is_flag=True, help="The whole report as one JSON object.")
def conformance_command(
    path: str, types: tuple[str, ...], kinds: tuple[str, ...], backend: str, show: int, as_json: bool
) -> int:
    """Hold gradviz against recorded vectors: a file, or a folder that is searched to its end.

    Exit code 1 if a vector disagrees.
    """
    from gradviz.conformance import KINDS, conformance

    def report(number: int, total: int, name: str) -> None:
        progress(f"file {number + 1} of {total}  {name}")

    try:
        found = conformance(path, types=types, kinds=kinds or KINDS, backend=backend, show=show, progress=report)
    finally:
        clear_progress()
    lines = [json.dumps(_as_json(found))] if as_json else list(_report_lines(found))
    sys.stdout.writelines(line + "\n" for line in lines)
    return 0 if found.ok else BAD_NEWS


def _report_lines(found: Report) -> Iterator[str]:
    counts = [[row.kind, row.type, *map(str, (row.passed, row.failed, row.skipped))] for row in found.rows]
    yield from table(("kind", "type", "passed", "failed", "skipped"), counts, right=(2, 3, 4))
    for each in found.differences:
        yield f"{each.file}:{each.place}: {each.type}: {each.text}"
    for why, count in found.why_skipped.most_common():
        yield f"skipped {count}: {why}"
    yield f"{found.passed} passed, {found.failed} failed, {found.skipped} skipped, in {found.files} files"


def _as_json(found: Report) -> dict[str, Any]:
    from dataclasses import asdict

    made = asdict(found)
    return {**made, "passed": found.passed, "failed": found.failed, "skipped": found.skipped, "ok": found.ok}
