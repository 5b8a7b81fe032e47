"""Write what leaves the debugger: the suffix of a file says which format."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.trace import Trace
from gradviz.errors import GradvizError
from gradviz.nets import as_model
from gradviz.nets.files import refuse_special, shown, write_atomically
from gradviz.nets.saving import to_bytes
from gradviz.render.image import Drawing, NoProgramError, draw, program_for
from gradviz.render.moment import moment

if TYPE_CHECKING:
    from gradviz.proto import NetDef
    from gradviz.render.graph import Graph

FORMATS = {
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".json": "json",
    ".graphml": "graphml",
    ".md": "markdown",
    ".html": "html",
    ".pbtxt": "pbtxt",
    ".pb": "pb",
}
"""Suffix -> format."""

PICTURES = frozenset({"svg", "png", "pdf"})


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        path: the file.
        note: what a user should know about it, in one line; empty if all is as asked.
    """

    path: Path
    note: str = ""


def format_of(path: Path) -> str:
    """The format that a file's suffix asks for.

    Raises:
        GradvizError: none, or an unknown one.
    """
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        given = f"{path.suffix} is no format that gradviz writes" if path.suffix else "its name has no suffix"
        raise GradvizError(f"{shown(path)}: {given}; end it in one of {', '.join(FORMATS)}")
    return found


def export(
    source: Any,
    path: str | os.PathLike[str],
    at: int | str | None = None,
    *,
    rankdir: str = "TB",
    dark: bool = False,
    legend: bool = True,
    drawing: Drawing | None = None,
    **cut: Any,
) -> Exported:
    """Write a net and its gradients to a file, whole or not at all.

    `.dot` and `.gv` (DOT), `.svg`, `.png`, `.pdf` (pictures), `.mmd` and `.mermaid` (Mermaid), `.json`, `.graphml` (the
    graph), `.md`, `.html` (a page), `.pb` and `.pbtxt` (the net with the gradient operators that there are). Where
    nothing on the machine draws, a picture becomes DOT text beside it, and the note says how to get the picture.

    Args:
        source: a Trace, or a Model or NetDef (forward net only).
        path: the file; one that is there is replaced.
        at: the event: its number (negative: from the end), `last` or `error`; None is the last.
        rankdir: where the forward net goes: `TB`, `LR`, `BT` or `RL`.
        dark: light lines on a dark ground.
        legend: whether a picture explains itself.
        drawing: layout, program and limits of pictures; None is what `Drawing()` says.
        **cut: `focus`, `hops`, `fold`, `first` and `last` of `gradviz.render.cut.cut`; not for nets.

    Raises:
        GradvizError: the suffix is unknown, the event or the focus is, the picture would be too large, it cannot be
            drawn, or the file cannot be written.
    """
    target = Path(os.fsdecode(path))
    format = format_of(target)
    refuse_early(source, target)
    if format in ("pb", "pbtxt"):
        if cut:
            raise GradvizError(f"{shown(target)}: a net is written whole; leave out {', '.join(cut)}")
        write_atomically(target, to_bytes(net_at(source, at), text=format == "pbtxt"))
        return Exported(target)
    from gradviz.render import graph_at

    graph = graph_at(source, at, **cut)
    looks = {"rankdir": rankdir, "dark": dark, "legend": legend}
    drawing = drawing or Drawing()
    if format in PICTURES:
        return write_picture(graph, target, format, looks, drawing)
    if format == "html":
        from gradviz.render.html import html_of

        text = html_of(source, at, graph, looks, drawing)
    else:
        text = _text(source, at, graph, format, looks)
    write_atomically(target, text.encode("utf-8", "backslashreplace"))
    return Exported(target)


def refuse_early(source: Any, target: Path) -> None:
    """Refuse before any work what surely cannot be written, or what would overwrite the net that was opened.

    Raises:
        GradvizError: it is so.
    """
    _writable(target)
    _not_opened(source, target)


def _writable(target: Path) -> None:
    refuse_special(target)
    if not target.parent.is_dir():
        raise GradvizError(f"{shown(target)} cannot be written: there is no folder {shown(target.parent)}")
    if not os.access(target.parent, os.W_OK):
        raise GradvizError(f"{shown(target)} cannot be written: the folder {shown(target.parent)} is read-only")


def _not_opened(source: Any, target: Path) -> None:
    """Nothing is ever written over the files that were opened."""
    model = as_model(source.model if isinstance(source, Trace) else source)
    for opened in (model.path, model.init_path):
        if opened is not None and opened.exists() and target.exists() and opened.samefile(target):
            raise GradvizError(f"{shown(target)} is the file that was opened: write to another one")


def net_at(source: Any, at: int | str | None = None) -> NetDef:
    """The net with the gradient operators that there are after event `at`, as `AddGradientOperators` leaves it."""
    if not isinstance(source, Trace):
        return as_model(source).net
    made = type(source.net)()
    made.CopyFrom(source.net)
    made.op.extend(source.gradient_ops_at(moment(source, at)))
    return made


def write_picture(graph: Graph, target: Path, format: str, looks: dict[str, Any], drawing: Drawing) -> Exported:
    """Draw a graph into a file; DOT text beside it where nothing on the machine draws.

    Raises:
        GradvizError: it would be too large, it cannot be drawn, or the file cannot be written.
    """
    from gradviz.render.dotform import dot_of

    count = graph.number_of_nodes()
    if count > drawing.max_nodes:
        raise GradvizError(
            f"{shown(target)}: the picture would have {count:,} nodes, more than {drawing.max_nodes:,}; show less "
            f"(--focus BLOB --hops 2, --fold 1), write .dot or .json, or allow it (--max-nodes {count})"
        )
    source = dot_of(graph, **looks)
    try:
        program_for(format, drawing.program)
    except NoProgramError as error:
        beside = target.with_suffix(".gv")
        if beside.exists():
            beside = target.with_name(target.name + ".gv")
        write_atomically(beside, source.encode("utf-8", "replace"))
        return Exported(beside, f"{error}; wrote the DOT text to {shown(beside)} instead")
    write_atomically(target, draw(source, format, drawing))
    return Exported(target)


def _text(source: Any, at: int | str | None, graph: Graph, format: str, looks: dict[str, Any]) -> str:
    if format == "dot":
        from gradviz.render.dotform import dot_of

        return dot_of(graph, **looks)
    if format == "mermaid":
        from gradviz.render.mermaid import mermaid_of

        return mermaid_of(graph, rankdir=looks["rankdir"], dark=looks["dark"])
    if format == "json":
        from gradviz.render.jsonform import json_of

        return json_of(graph)
    if format == "graphml":
        from gradviz.render.graphml import graphml_of

        return graphml_of(graph)
    from gradviz.render.markdown import markdown_of

    return markdown_of(source, at, graph)
