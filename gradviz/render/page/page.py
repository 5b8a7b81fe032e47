"""The report's page: what Python knows goes in as text and as JSON, everything else is done by the page itself."""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz import __version__
from gradviz.autodiff.events import PHASES
from gradviz.errors import GradvizError
from gradviz.render.escape import label, markup
from gradviz.render.image import Drawing
from gradviz.render.page.colours import named
from gradviz.render.page.picture import picture_of
from gradviz.render.page.record import record_of
from gradviz.render.style import DARK, LIGHT

if TYPE_CHECKING:
    from gradviz.autodiff.trace import Trace
    from gradviz.execute import Workspace
    from gradviz.render.page.picture import Node

_SCRIPTS = ("walk.js", "list.js", "here.js", "panes.js", "main.js")
_PACKED_ABOVE = 400_000
"""Longer JSON is deflated; shorter stays readable."""

PICTURE_NODES = 800
"""Larger nets go without a picture of the whole; the neighbourhood of the event is always drawn."""

_MOST_WARNINGS = 40


def page_of(
    trace: Trace,
    workspace: Workspace | None = None,
    *,
    picture_nodes: int = PICTURE_NODES,
    drawing: Drawing | None = None,
) -> str:
    """The page as HTML text.

    Args:
        trace: the walk that is stepped through.
        workspace: a run of the same net; its figures stand beside the blobs.
        picture_nodes: the whole net is drawn if its picture has at most so many nodes.
        drawing: how the picture is drawn.
    """
    drawing = drawing or Drawing(seconds=60.0)
    picture, nodes = _picture(trace, picture_nodes, drawing)
    record = record_of(trace, workspace, nodes)
    walk_type, walk = _packed(record)
    script = "(() => {\n'use strict';\n" + "\n".join(_own(name) for name in _SCRIPTS) + "\n})();\n"
    return _filled(
        _own("page.html"),
        title=markup(label(trace.model.name, 80)),
        version=__version__,
        style=_colours() + _own("page.css"),
        script=script,
        script_hash="sha256-" + base64.b64encode(sha256(script.encode()).digest()).decode(),
        facts=_facts(trace),
        diagnosis=_diagnosis(trace),
        op_count=f"{len(trace.ops):,} ops",
        last=str(len(trace.events) - 1),
        phases="".join(f'<li data-phase="{each}">{each.replace("_", " ")}</li>' for each in PHASES),
        values=_values(workspace),
        warnings=_warnings(trace, workspace),
        picture=picture,
        walk_type=walk_type,
        walk=walk,
    )


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _filled(template: str, **parts: str) -> str:
    """The template with each `{{name}}` replaced, once: what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _packed(record: dict[str, Any]) -> tuple[str, str]:
    """The record's type and text: pure ASCII in which nothing can end the script element around it."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    if len(text) > _PACKED_ABOVE:
        return "application/x-deflated-json", base64.b64encode(zlib.compress(text.encode(), 6)).decode()
    return "application/json", text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _colours() -> str:
    """The pictures' colours as CSS variables, light and dark."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in named(each)) for each in (LIGHT, DARK))
    extra = "--raised:#f8f9fb;--rule:#d5dae0;--control:#7d8791", "--raised:#1e2329;--rule:#343b43;--control:#7d8791"
    return f":root{{{light};{extra[0]}}}\n@media (prefers-color-scheme: dark){{:root{{{dark};{extra[1]}}}}}\n"


# What can be read without stepping.


def _facts(trace: Trace) -> str:
    gradients = sum(gradient is not None for gradient in trace.state_at(-1).gradient_map.values())
    ended = "failed" if trace.error is not None else "done"
    ys = [label(y) for y in trace.ys]
    asked = ", ".join(ys[:8]) + (f" and {len(ys) - 8} more" if len(ys) > 8 else "") or "none"
    counts = (
        _count(len(trace.ops), "forward op"),
        _count(len(trace.recording.gradient_ops), "gradient op"),
        _count(gradients, "gradient"),
        _count(len(trace.events), "event"),
    )
    return markup(" · ".join((f"ys: {asked} ({trace.chosen})", *counts, ended)))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _diagnosis(trace: Trace) -> str:
    error = trace.error
    if error is None:
        return ""
    index = error.op_index
    link = "" if index is None else f' at <a href="#event=-1" data-op="{index}">op {index}</a>'
    explanation = "".join(f"<li>{markup(each)}</li>" for each in error.explanation)
    remedies = "".join(
        f"<li>{markup(str(each))}<br><span class='quiet'>{markup(str(each.explanation))}</span></li>"
        for each in error.remedies
    )
    return (
        f'<section class="banner" aria-labelledby="diagnosis-title"><h2 id="diagnosis-title">× The walk failed{link}'
        f"</h2><p>{markup(str(error))}</p>"
        + (f"<details open><summary>Why</summary><ul>{explanation}</ul></details>" if explanation else "")
        + (f"<details open><summary>What usually mends it</summary><ol>{remedies}</ol></details>" if remedies else "")
        + "</section>"
    )


def _warnings(trace: Trace, workspace: Workspace | None) -> str:
    lines = [str(each) for each in trace.warnings]
    if workspace is not None:
        lines += [f"In the run: {notice}" for notice in workspace.notices]
        lines += [f"The run ended early: {workspace.stopped}"] if workspace.stopped else []
        bad = workspace.first_bad
        lines += [f"In the run, {bad}"] if bad is not None else []
    if not lines:
        return ""
    shown = "".join(f"<li>{markup(each)}</li>" for each in lines[:_MOST_WARNINGS])
    more = f"<li>and {len(lines) - _MOST_WARNINGS} more</li>" if len(lines) > _MOST_WARNINGS else ""
    return (
        '<section class="banner warning" aria-labelledby="warnings-title">'
        f'<h2 id="warnings-title">Worth knowing</h2><ul>{shown}{more}</ul></section>'
    )


def _values(workspace: Workspace | None) -> str:
    if workspace is None or not list(workspace):
        return ""
    figures = "".join(f'<span class="figure {each}">{each}</span>' for each in ("min", "max", "mean", "std", "l2"))
    heads = f'<span class="glyph"></span><span class="key">blob</span><span class="shape">dtype[shape]</span>{figures}'
    heads += '<span class="figure">zeros</span><span class="ills">NaN, Inf</span>'
    return (
        '<section class="pane values" aria-labelledby="values-title"><h2 id="values-title">Values of a run</h2>'
        f'<div class="heads" aria-hidden="true">{heads}</div>'
        '<div id="values" class="list" aria-label="Values: blob, dtype and shape, min, max, mean, std, L2, zeros, '
        'NaN and Inf"></div></section>'
    )


def _picture(trace: Trace, most: int, drawing: Drawing) -> tuple[str, list[Node]]:
    """The section with the picture of the whole net, and what its nodes are; why there is none, where there is none."""
    try:
        drawn, nodes = picture_of(trace, most, drawing)
    except GradvizError as error:
        return f'<p class="quiet">The picture of the whole net is left out: {markup(str(error))}.</p>', []
    return (
        '<section class="whole" aria-labelledby="picture-title"><h2 id="picture-title">The whole net</h2>'
        f'<div id="picture" tabindex="0" role="region" aria-label="Picture">{drawn}</div></section>',
        nodes,
    )


def write(
    trace: Trace,
    path: str | os.PathLike[str],
    workspace: Workspace | None = None,
    *,
    picture_nodes: int = PICTURE_NODES,
    drawing: Drawing | None = None,
) -> Path:
    """Write the page to a file, whole or not at all.

    Raises:
        GradvizError: the file cannot be written, or it is the one that was opened.
    """
    from gradviz.nets.files import write_atomically
    from gradviz.render.files import refuse_early

    target = Path(os.fsdecode(path))
    refuse_early(trace, target)
    page = page_of(trace, workspace, picture_nodes=picture_nodes, drawing=drawing)
    write_atomically(target, page.encode("utf-8", "backslashreplace"))
    return target
