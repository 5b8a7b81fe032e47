"""Pictures and texts of a net and its gradients, at any event.

One graph model (`graph.py`) is the source of every picture. Nothing here is imported before it is used, because
networkx alone takes a quarter of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from gradviz.autodiff import Trace
    from gradviz.execute import Workspace
    from gradviz.render.differing import Diff
    from gradviz.render.files import Exported
    from gradviz.render.graph import Graph

__all__ = ["diff", "dot", "export", "graph_at", "report", "svg"]


def graph_at(source: Any, at: int | str | None = None, **cut: Any) -> Graph:
    """The graph model: a networkx MultiDiGraph, described in `gradviz.render.graph`.

    Args:
        source: a Trace, or a Model or NetDef (forward net only).
        at: an event of the trace: its number (negative: from the end), `last` or `error`; None is the last.
        **cut: `focus`, `hops`, `fold`, `first` and `last` of `gradviz.render.cut.cut`.

    Raises:
        GradvizError: there is no such event, or nothing is named as `focus` says.
    """
    from gradviz.render.cut import cut as cut_out
    from gradviz.render.graph import graph_at as make

    made = make(source, at)
    return cut_out(made, **cut) if cut else made


def dot(source: Any, at: int | str | None = None, **options: Any) -> str:
    """DOT text of the forward net and, for a trace, the gradient net as it is after event `at`.

    Args:
        source: a Trace, or a Model or NetDef (forward net only).
        at: see `graph_at`.
        **options: `rankdir`, `dark` and `legend` of `gradviz.render.dotform.dot_of`, and what `graph_at` takes.

    Raises:
        GradvizError: as `graph_at`.
    """
    from gradviz.render.dotform import LOOKS, dot_of

    looks = {name: options.pop(name) for name in LOOKS if name in options}
    return dot_of(graph_at(source, at, **options), **looks)


def svg(source: Any, at: int | str | None = None, **options: Any) -> str:
    """The picture that `dot` describes, as SVG text.

    Raises:
        GradvizError: as `graph_at`, or nothing on this machine can draw it.
    """
    from gradviz.render.image import draw

    return draw(dot(source, at, **options), "svg").decode("utf-8")


def export(source: Any, path: str | Path, at: int | str | None = None, **options: Any) -> Exported:
    """Write a file; its suffix says which format. See `gradviz.render.files.export`."""
    from gradviz.render.files import export as write

    return write(source, path, at, **options)


def report(trace: Trace, path: str | Path, *, workspace: Workspace | None = None, **options: Any) -> Path:
    """Write one HTML page, whole in itself, in which the walk can be stepped through forwards and backwards.

    Args:
        trace: the walk.
        path: the file; one that is there is replaced.
        workspace: a run of the same net, such as `gradviz.run` gives; its figures stand beside the blobs.
        **options: `picture_nodes` (larger nets go without a picture of the whole) and `drawing`, of
            `gradviz.render.page.page.page_of`.

    Returns:
        The path of the file.

    Raises:
        GradvizError: the file cannot be written, or it is the one that was opened.
    """
    from gradviz.render.page.page import write

    return write(trace, path, workspace, **options)


def diff(a: Any, b: Any, *, at_a: int | str | None = None, at_b: int | str | None = None, ys: Any = None) -> Diff:
    """What differs between two nets, and between the gradients they get.

    Args:
        a: a Trace, or a Model or NetDef, which is walked first.
        b: likewise; it may be the same walk at another event.
        at_a: the event of the first: its number (negative: from the end), `last` or `error`; None is the last.
        at_b: the event of the second.
        ys: what gradients are asked of where nets are given, as for `gradviz.trace`.

    Returns:
        The differences: `.same`, `.text()`, `.as_json()`, `.graph()`, `.dot()`, `.svg()`, `.save(path)`.

    Raises:
        GradvizError: there is no such event.
    """
    from gradviz.render.differing import diff as compare

    return compare(a, b, at_a=at_a, at_b=at_b, ys=ys)
