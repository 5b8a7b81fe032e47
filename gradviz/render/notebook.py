"""What a notebook shows of a model, a walk, a run, a comparison, a gradient check.

The classes live in folders that know nothing of pictures, so they are given their `_repr_html_` and `_repr_svg_` from
here: `install` does it for those that are loaded. `gradviz` calls it whenever it loads one of its own names, so in a
notebook there is nothing to do; who imports from the folders directly says `%load_ext gradviz.render.notebook`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gradviz.autodiff import Trace
    from gradviz.execute import Workspace
    from gradviz.execute.compare import Comparison
    from gradviz.execute.gradcheck import GradientReport
    from gradviz.nets import Model

MOST_NODES = 150
"""Pictures with more nodes are left out of a notebook; `gradviz.render.export` writes them."""

MOST_ROWS = 30

_SECONDS = 20.0


def install(*, everything: bool = False) -> None:
    """Give the classes their notebook methods; a class that has one of its own keeps it.

    Args:
        everything: load the classes too that are not loaded yet.
    """
    for (module, name), methods in _METHODS.items():
        loaded = import_module(module) if everything else sys.modules.get(module)
        shown = getattr(loaded, name, None)
        for method, function in methods.items() if shown is not None else ():
            if method not in vars(shown):
                setattr(shown, method, function)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext gradviz.render.notebook` calls."""
    install(everything=True)


# What each shows.


def trace_html(trace: Trace) -> str:
    """A walk: how it ended, its gradients, its warnings, and its picture."""
    from gradviz.autodiff.events import spoken
    from gradviz.render.escape import label

    ys = ", ".join(map(label, trace.ys)) or "nothing"
    counts = f"{len(trace.ops):,} ops, {len(trace.recording.gradient_ops):,} gradient ops, {len(trace.events):,} events"
    parts = [_head(f"Trace of {label(trace.model.name, 60)}", f"gradients of {ys}; {counts}")]
    if trace.error is not None:
        parts.append(_paragraph(f"× The walk failed: {trace.error}", strong=True))
        parts.append(_list("What usually mends it", map(str, trace.error.remedies)))
    parts.append(_list("Worth knowing", map(str, trace.warnings)))
    gradients = [[label(blob), label(spoken(found), 90)] for blob, found in trace.state_at(-1).gradient_map.items()]
    parts.append(_folded(f"{len(gradients):,} entries in the gradient map", _table(("blob", "gradient"), gradients)))
    return _joined([*parts, _picture(trace)])


def trace_svg(trace: Trace) -> str | None:
    """The picture of both nets after the last event; None where it is too large or nothing draws it."""
    return picture(trace)


def model_html(model: Model) -> str:
    """A model: what it holds, and its picture."""
    from collections import Counter

    from gradviz.render.escape import label

    net = model.net
    types = Counter(op.type for op in net.op)
    counts = f"{len(net.op):,} ops, {len(net.external_input):,} external inputs, {len(net.external_output):,} outputs"
    parts = [_head(f"Model {label(model.name, 60)}", f"{counts}; {model.format}{', with init net' * bool(model.init)}")]
    parts.append(_list("Accepted although it is not as it should be", model.notices))
    kinds = [[label(type), f"{count:,}"] for type, count in types.most_common()]
    parts.append(_folded(f"{len(kinds):,} types of operators", _table(("type", "ops"), kinds)))
    return _joined([*parts, _picture(model)])


def model_svg(model: Model) -> str | None:
    """The picture of the forward net; None where it is too large or nothing draws it."""
    return picture(model)


def comparison_html(found: Comparison) -> str:
    """A comparison of two runs: what differs first."""
    differing = sum(not row.ok for row in found.rows)
    said = "√ all agree" if found.ok else f"× {differing:,} differ" if differing else "× nothing is in common"
    parts = [_head("Comparison", f"{len(found.rows):,} values in common; {said}")]
    heads = ("blob", "version", "op", "max abs", "max rel", "ulp", "worst at", "a", "b", "")
    rows = [
        [
            row.blob,
            *(row.version, row.op_index, row.max_abs, row.max_rel, row.max_ulp, row.worst_index, row.a, row.b),
            row.reason or "√",
        ]
        for row in sorted(found.rows, key=lambda row: row.ok)
    ]
    parts.append(_table(heads, rows))
    parts += [_only("first", found.only_a), _only("second", found.only_b)]
    return _joined(parts)


def check_html(found: GradientReport) -> str:
    """A gradient check: what fails first."""
    failing = sum(not row.ok for row in found.rows)
    said = "√ all agree" if found.ok else f"× {failing:,} fail" if failing else "× nothing was checked"
    parts = [_head("Gradient check", f"{len(found.rows):,} blobs; f = {found.function:.6g}; {said}")]
    heads = ("blob", "version", "max abs", "max rel", "worst at", "numeric", "analytic", "checked", "in", "")
    rows = [
        [
            row.blob,
            *(row.version, row.max_abs, row.max_rel, row.worst_index, row.numeric, row.analytic),
            f"{row.checked} {row.method}",
            row.dtype,
            row.reason or "√",
        ]
        for row in sorted(found.rows, key=lambda row: row.ok)
    ]
    return _joined([*parts, _table(heads, rows), _list("Worth knowing", found.notices)])


def workspace_html(workspace: Workspace) -> str:
    """A run: the figures of its values, those that are not finite first."""
    from gradviz.render.values import rows_of

    figures = ("min", "max", "mean", "std", "l2", "zeros", "nan", "inf")
    found = sorted(rows_of(workspace, None), key=lambda row: not (row["nan"] or row["inf"]))
    rows = [
        [row["blob"], row["version"], f"{row['dtype']}[{', '.join(map(str, row['shape']))}]"]
        + [row[figure] for figure in figures]
        for row in found
    ]
    parts = [_head("Workspace", f"{len(workspace.ops):,} ops, {len(list(workspace)):,} blobs")]
    if workspace.stopped:
        parts.append(_paragraph(f"× The run ended early: {workspace.stopped}", strong=True))
    bad = workspace.first_bad
    notices = [*workspace.notices, *([str(bad)] if bad is not None else [])]
    return _joined([*parts, _list("Worth knowing", notices), _table(("blob", "version", "value", *figures), rows)])


def picture(source: Any) -> str | None:
    """SVG text of a walk, a model or a comparison of nets; None where it is too large or nothing draws it."""
    from gradviz.errors import GradvizError
    from gradviz.render import graph_at
    from gradviz.render.dotform import dot_of
    from gradviz.render.image import Drawing, draw

    if _ops_of(source) > MOST_NODES:
        return None
    graph = source.graph() if hasattr(source, "graph") else graph_at(source)
    if graph.number_of_nodes() > MOST_NODES:
        return None
    try:
        drawn = draw(dot_of(graph), "svg", Drawing(seconds=_SECONDS)).decode("utf-8")
    except GradvizError:
        return None
    return drawn[drawn.index("<svg") :]


def _ops_of(source: Any) -> int:
    """How many operators there are at least, without making a graph of them."""
    if hasattr(source, "ops"):
        return len(source.ops)
    return len(source.net.op)


_METHODS: dict[tuple[str, str], dict[str, Callable[[Any], str | None]]] = {
    ("gradviz.autodiff.trace", "Trace"): {"_repr_html_": trace_html, "_repr_svg_": trace_svg},
    ("gradviz.nets.model", "Model"): {"_repr_html_": model_html, "_repr_svg_": model_svg},
    ("gradviz.execute.compare", "Comparison"): {"_repr_html_": comparison_html},
    ("gradviz.execute.gradcheck", "GradientReport"): {"_repr_html_": check_html},
    ("gradviz.execute.workspace", "Workspace"): {"_repr_html_": workspace_html},
}


# Pieces of HTML; they take the colours of the notebook around them.


def _joined(parts: Iterable[str]) -> str:
    return f'<div class="gradviz" style="max-width: 60em">{"".join(parts)}</div>'


def _head(title: str, facts: str) -> str:
    from gradviz.render.escape import markup

    return f'<p style="margin: 0.2em 0"><strong>{markup(title)}</strong><br>{markup(facts)}</p>'


def _paragraph(text: str, *, strong: bool = False) -> str:
    from gradviz.render.escape import markup

    look = "border-left: 4px solid #b3261e; padding-left: 0.6em; " if strong else ""
    return f'<p style="{look}margin: 0.4em 0">{markup(text)}</p>'


def _list(title: str, lines: Iterable[str]) -> str:
    from gradviz.render.escape import markup

    items = "".join(f"<li>{markup(line)}</li>" for line in lines)
    return f'<p style="margin: 0.4em 0 0">{title}:</p><ul style="margin: 0">{items}</ul>' if items else ""


def _only(which: str, names: Sequence[str]) -> str:
    from gradviz.render.escape import label

    shown = ", ".join(map(label, names[:MOST_ROWS])) + (", …" if len(names) > MOST_ROWS else "")
    return _paragraph(f"Only in the {which}: {shown}") if names else ""


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _picture(source: Any) -> str:
    drawn = picture(source)
    if drawn is None:
        return ""
    return f'<div style="max-height: 40em; overflow: auto; background: #fff; margin-top: 0.4em">{drawn}</div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    from gradviz.render.escape import markup

    if not rows:
        return ""
    head = "".join(f'<th scope="col" style="text-align: left">{markup(each)}</th>' for each in heads)
    lines = ["<tr>" + "".join(_cells(row)) + "</tr>" for row in rows[:MOST_ROWS]]
    more = f"<p>… and {len(rows) - MOST_ROWS:,} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _cells(row: Sequence[Any]) -> Iterator[str]:
    from gradviz.render.escape import markup, shortened, visible

    for value in row:
        side = "left" if isinstance(value, str) else "right"
        text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        yield f'<td style="text-align: {side}">{markup(shortened(visible(text), 90))}</td>'
