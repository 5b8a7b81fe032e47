"""Part of a graph: the neighbourhood of a blob, a range of operators, or name scopes folded into one node each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gradviz.autodiff.targets import nearest
from gradviz.errors import GradvizError
from gradviz.render.escape import label
from gradviz.render.graph import BLOB_KINDS, OP_KINDS, join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradviz.render.graph import Graph


def cut(
    graph: Graph,
    *,
    focus: str | None = None,
    hops: int = 2,
    fold: int | None = None,
    first: int | None = None,
    last: int | None = None,
) -> Graph:
    """A graph that shows less.

    Args:
        graph: what is cut; it stays as it is.
        focus: a blob; only what is near it stays. `op 7` or `gradient op 7` name an operator.
        hops: how many operators away from `focus`.
        fold: fold operators that share so many levels of their name scope (`conv1/` is one level) into one node.
        first: leave out forward operators before this one, and their gradient operators.
        last: leave out forward operators after this one, and their gradient operators.

    Raises:
        GradvizError: nothing is called `focus`, or no operator is left.
    """
    if first is not None or last is not None:
        graph = between(graph, first, last)
    if focus is not None:
        graph = neighbourhood(graph, named(graph, focus), hops)
    return folded(graph, fold) if fold else graph


def named(graph: Graph, name: str) -> list[str]:
    """The nodes that a user means by a blob's name, or by `op 7` or `gradient op 7`.

    Raises:
        GradvizError: there is none; the nearest names are given.
    """
    if not isinstance(name, str):
        raise GradvizError(f"focus is the name of a blob, or `op 7`; not a {type(name).__name__}")
    found = [node for node, data in graph.nodes(data=True) if data["kind"] in BLOB_KINDS and data["name"] == name]
    words = name.rsplit(" ", 1)
    if not found and len(words) == 2 and words[1].isdecimal():
        node = {"op": "op_", "gradient op": "gop_"}.get(words[0], "?") + words[1]
        found = [node] if node in graph else []
    if not found:
        names = {data["name"] for _, data in graph.nodes(data=True) if data["kind"] in BLOB_KINDS}
        near = nearest(name, names)
        hint = f"; did you mean {' or '.join(label(each) for each in near)}?" if near else ""
        raise GradvizError(f"there is no blob {label(name)!r} in this picture{hint}")
    return found


def neighbourhood(graph: Graph, nodes: Iterable[str], hops: int) -> Graph:
    """What is at most `hops` operators away from some nodes, in either direction.

    The attribute `more` of a node says how many of its neighbours were left out.
    """
    near = set(nodes)
    rim = set(near)
    left = 2 * hops
    while rim and left > 0:
        left -= 1
        rim = {other for node in rim for other in (*graph.predecessors(node), *graph.successors(node))} - near
        near |= rim
    return _only(graph, near)


def between(graph: Graph, first: int | None, last: int | None) -> Graph:
    """The forward operators from `first` to `last`, the gradient operators made at them, and all their blobs.

    Raises:
        GradvizError: no operator is left.
    """
    low = 0 if first is None else first
    high = float("inf") if last is None else last
    ops = [
        node
        for node, data in graph.nodes(data=True)
        if data["kind"] in OP_KINDS and not data["cluster"] and low <= data.get("owner", data["index"]) <= high
    ]
    if not ops:
        raise GradvizError(f"no operator lies between {low} and {'the end' if last is None else last}")
    keep = set(ops)
    for node in ops:
        keep.update(graph.predecessors(node))
        keep.update(graph.successors(node))
    inner = [node for node, data in graph.nodes(data=True) if data["cluster"] and _root(data["cluster"]) in keep]
    return _only(graph, keep.union(inner))


def _only(graph: Graph, nodes: set[str]) -> Graph:
    part: Graph = graph.subgraph(nodes).copy()
    for node in part:
        part.nodes[node]["more"] = len({*graph.predecessors(node), *graph.successors(node)} - nodes)
    return part


def _root(cluster: str) -> str:
    """The operator in the outermost net that a cluster belongs to."""
    return cluster.partition("_net_")[0]


def folded(graph: Graph, depth: int) -> Graph:
    """Operators that share `depth` levels of name scope become one node of kind `scope`; blobs within vanish.

    Its attributes are those of an operator; `type` is the scope, `ops` how many operators it holds.
    """
    groups = _groups(graph, depth)
    home = {node: _group_node(key, groups) for key, nodes in groups.items() for node in nodes}
    home.update(_absorbed(graph, home))
    made: Graph = graph.__class__()
    made.graph.update(graph.graph)
    for node, data in graph.nodes(data=True):
        if node not in home:
            made.add_node(node, **data)
    for key, nodes in groups.items():
        made.add_node(_group_node(key, groups), **_scope_attributes(graph, key, nodes))
    _fold_edges(graph, made, home)
    return made


def _groups(graph: Graph, depth: int) -> dict[tuple[str, str], list[str]]:
    """(part, scope) -> the operators in it; nested nets go with their operator."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node, data in graph.nodes(data=True):
        if data["kind"] in OP_KINDS and not data["cluster"] and data["scope"]:
            key = "/".join(data["scope"].split("/")[:depth])
            groups.setdefault((data["part"], key), []).append(node)
    return {key: nodes for key, nodes in groups.items() if len(nodes) > 1}


def _group_node(key: tuple[str, str], groups: dict[tuple[str, str], list[str]]) -> str:
    return "scope_" + groups[key][0]


def _absorbed(graph: Graph, home: dict[str, str]) -> dict[str, str]:
    """Blobs that in their net only one group touches, and all that lies in nested nets of folded operators."""
    found = {}
    for node, data in graph.nodes(data=True):
        if data["cluster"]:
            if _root(data["cluster"]) in home:
                found[node] = home[_root(data["cluster"])]
        elif data["kind"] in BLOB_KINDS and not data["y"] and data["role"] not in ("input", "output"):
            touching = {
                home.get(other)
                for other in (*graph.predecessors(node), *graph.successors(node))
                if graph.nodes[other]["kind"] in OP_KINDS and graph.nodes[other]["part"] == data["part"]
            }
            if len(touching) == 1 and (only := touching.pop()) is not None:
                found[node] = only
    return found


def _scope_attributes(graph: Graph, key: tuple[str, str], nodes: list[str]) -> dict[str, Any]:
    inner = [graph.nodes[node] for node in nodes]
    types = Counter(data["type"] for data in inner)
    made = dict(inner[0])
    made.update(kind="scope", type=f"{key[1]}/", name=key[1], scope=key[1], ops=len(nodes), in_place=False)
    made.update(arguments=", ".join(f"{count} {type}" for type, count in types.most_common()), engine="")
    made["state"] = _common_state({data["state"] for data in inner})
    return made


def _common_state(states: set[str]) -> str:
    for loudest in ("failed", "current"):
        if loudest in states:
            return loudest
    if len(states) == 1:
        return states.pop()
    return "current" if "waiting" in states else "done"


def _fold_edges(graph: Graph, made: Graph, home: dict[str, str]) -> None:
    seen = set()
    for tail, head, data in graph.edges(data=True):
        new_tail, new_head = home.get(tail, tail), home.get(head, head)
        if new_tail == new_head or (data["kind"] == "gradient_of" and (tail in home or head in home)):
            continue
        if tail in home or head in home:
            if (new_tail, new_head, data["kind"]) in seen:
                continue
            seen.add((new_tail, new_head, data["kind"]))
            marks = {name: bool(data[name]) for name in ("sparse", "pass_through", "wanted")}
            join(made, new_tail, new_head, data["kind"], **marks)
        else:
            made.add_edge(tail, head, **data)
