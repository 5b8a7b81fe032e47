"""Differences as text, as JSON, and as files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz import __version__
from gradviz.errors import GradvizError
from gradviz.nets.files import shown, write_atomically
from gradviz.render.escape import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gradviz.proto import OperatorDef
    from gradviz.render.differing import Diff, OpChange, RowChange
    from gradviz.render.files import Exported
    from gradviz.render.image import Drawing

SCHEMA, VERSION = "gradviz.diff", 1
SIGNS = {"added": "+", "removed": "-", "changed": "~", "renamed": "~"}

PARTS = ("ys", "gradient map", "generators", "gradient frontier", "frontier", "warnings", "end")
"""The order in which rows are told."""

_WIDTH = 160


def lines_of(diff: Diff, most: int | None) -> Iterator[str]:
    """The differences, a line each; of each part at the most so many."""
    for sign, name, walk, at in (("---", diff.names[0], diff.a, diff.at_a), ("+++", diff.names[1], diff.b, diff.at_b)):
        yield f"{sign} {visible(name)} (event {at} of {len(walk.events) - 1})"
    if diff.same:
        yield "The nets are the same, and so are the gradients they get."
        return
    for title, changes in (("forward ops", diff.ops), ("gradient ops", diff.gradient_ops)):
        yield _counted(title, changes)
        word = "op" if title == "forward ops" else "gradient op"
        yield from _capped([_op_line(each, word) for each in changes if each.change], most)
    for part in PARTS:
        rows = [row for row in diff.rows if row.part == part]
        if rows:
            yield f"{part}: {_counts(rows)}"
            yield from _capped([line for row in rows for line in _row_lines(row)], most)


def _counted(title: str, changes: Sequence[OpChange]) -> str:
    sizes = [sum(getattr(each, side) is not None for each in changes) for side in ("a", "b")]
    size = f"{sizes[0]} → {sizes[1]}" if sizes[0] != sizes[1] else str(sizes[0])
    return f"{title}: {size}; {_counts(changes) or 'no difference'}"


def _counts(changes: Iterable[OpChange | RowChange]) -> str:
    found: dict[str, int] = {}
    for each in changes:
        if each.change:
            found[each.change] = found.get(each.change, 0) + 1
    return ", ".join(f"{count} {change}" for change, count in found.items())


def _capped(lines: list[str], most: int | None) -> Iterator[str]:
    kept = lines if most is None or len(lines) <= most + 1 else lines[:most]
    yield from (f"  {shortened(visible(line), _WIDTH)}" for line in kept)
    if len(kept) < len(lines):
        yield f"  … and {len(lines) - len(kept)} more"


def _op_line(each: OpChange, word: str) -> str:
    if each.a is None or each.b is None:
        return f"{SIGNS[each.change]} {word} {each.b if each.a is None else each.a} {signature(each.op)}"
    place = str(each.a) if each.a == each.b else f"{each.a} → {each.b}"
    return f"~ {word} {place} {each.op.type} {each.change}: {'; '.join(each.details)}"


def signature(op: OperatorDef) -> str:
    """An operator in one line."""
    return f"{op.type}({', '.join(op.input)}) -> ({', '.join(op.output)})"


def _row_lines(row: RowChange) -> Iterator[str]:
    if row.part == "end":
        yield f"- {row.before}"
        yield f"+ {row.after}"
    elif row.part == "warnings":
        yield f"{SIGNS[row.change]} {row.key}"
    elif row.before is not None and row.after is not None:
        yield f"~ {row.key}: {row.before} → {row.after}"
    else:
        yield f"{SIGNS[row.change]} {row.key}: {row.after if row.before is None else row.before}"


# JSON.


def as_json(diff: Diff) -> dict[str, Any]:
    """The differences as plain values; operators that agree are left out."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "gradviz": __version__,
        "same": diff.same,
        "a": _side(diff.names[0], diff.a, diff.at_a),
        "b": _side(diff.names[1], diff.b, diff.at_b),
        "ops": [_op(each) for each in diff.ops if each.change],
        "gradient_ops": [_op(each) for each in diff.gradient_ops if each.change],
        "rows": [
            {"part": row.part, "change": row.change, "key": row.key, "before": row.before, "after": row.after}
            for row in diff.rows
        ],
    }


def _side(name: str, walk: Any, at: int) -> dict[str, Any]:
    failed = None if walk.error is None else {"kind": walk.error.kind, "message": str(walk.error)}
    return {"net": name, "event": at, "events": len(walk.events), "ops": len(walk.ops), "error": failed}


def _op(each: OpChange) -> dict[str, Any]:
    before, after = (None if op is None else _plain(op) for op in (each.before, each.after))
    return {
        "change": each.change,
        "a": each.a,
        "b": each.b,
        "before": before,
        "after": after,
        "details": list(each.details),
    }


def _plain(op: OperatorDef) -> dict[str, Any]:
    return {"type": op.type, "inputs": list(op.input), "outputs": list(op.output)}


# Files.


def save(
    diff: Diff,
    path: str | os.PathLike[str],
    *,
    rankdir: str = "TB",
    dark: bool = False,
    legend: bool = True,
    drawing: Drawing | None = None,
) -> Exported:
    """Write the differences to a file, whole or not at all.

    `.txt` (text, all of it), `.json` (the schema `gradviz.diff`), `.dot`, `.gv`, `.svg`, `.png`, `.pdf`, `.mmd` and
    `.graphml` (both nets as one graph).

    Raises:
        GradvizError: the suffix is unknown, the picture is too large or cannot be drawn, the file cannot be written, or
            it is one of those that were opened.
    """
    from gradviz.render.files import PICTURES, Exported, format_of, refuse_early, write_picture
    from gradviz.render.image import Drawing as How

    target = Path(os.fsdecode(path))
    format = "text" if target.suffix.lower() == ".txt" else format_of(target)
    for walk in (diff.a, diff.b):
        refuse_early(walk, target)
    looks = {"rankdir": rankdir, "dark": dark, "legend": legend}
    if format in PICTURES:
        return write_picture(diff.graph(), target, format, looks, drawing or How())
    write_atomically(target, _text(diff, target, format, looks).encode("utf-8", "backslashreplace"))
    return Exported(target)


def _text(diff: Diff, target: Path, format: str, looks: dict[str, Any]) -> str:
    if format == "text":
        return diff.text(None)
    if format == "json":
        return json.dumps(diff.as_json(), indent=2) + "\n"
    if format == "dot":
        return diff.dot(**looks)
    if format == "mermaid":
        from gradviz.render.mermaid import mermaid_of

        return mermaid_of(diff.graph(), rankdir=looks["rankdir"], dark=looks["dark"])
    if format == "graphml":
        from gradviz.render.graphml import graphml_of

        return graphml_of(diff.graph())
    known = ".txt, .json, .dot, .svg, .png, .pdf, .mmd or .graphml"
    raise GradvizError(f"{shown(target)}: differences are written as {known}")
