"""Two nets as one graph: what both have stands there once, what only one has is marked.

The graph is that of the second net, as `gradviz.render.graph` describes it, with what only the first has added under
identifiers of its own (`a_op_3`). Every node and edge has `change`: `added`, `removed`, `changed`, `renamed` or empty;
nodes also have `changes`, what differs in words, a line each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gradviz.render.graph import BLOB_KINDS, graph_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradviz.render.differing import Diff, OpChange
    from gradviz.render.graph import Graph

_PREFIX = "a_"


def graph_of(diff: Diff) -> Graph:
    """Both sides of a comparison as one graph."""
    before, after = graph_at(diff.a, diff.at_a), graph_at(diff.b, diff.at_b)
    for graph in (before, after):
        for _, data in graph.nodes(data=True):
            data.update(state="done" if "type" in data else "", change="", changes="")
    partner = _partners(diff, before, after)
    _mark_ops(after, "op_", diff.ops)
    _mark_ops(after, "gop_", diff.gradient_ops)
    _mark_blobs(before, after, partner)
    _add_removed(before, after, partner)
    _join_edges(before, after, partner)
    title = " → ".join(dict.fromkeys(diff.names))
    after.graph.update(title=title, event=-1, sentence="", phase="", error="", ys=list(diff.b.ys))
    return after


def _partners(diff: Diff, before: Graph, after: Graph) -> dict[str, str]:
    """Node of the first graph -> the same node in the second."""
    found: dict[str, str] = {}
    for prefix, changes in (("op_", diff.ops), ("gop_", diff.gradient_ops)):
        for each in changes:
            if each.a is not None and each.b is not None:
                found[f"{prefix}{each.a}"] = f"{prefix}{each.b}"
    _pair_nested(before, after, found)
    _pair_written(before, after, found)
    _pair_by_name(before, after, found)
    return found


def _pair_nested(before: Graph, after: Graph, found: dict[str, str]) -> None:
    """What stands in nested nets of the same operator, place by place."""
    for node, data in before.nodes(data=True):
        if data["cluster"]:
            outer, _, rest = node.partition("_net_")
            other = f"{found.get(outer, '?')}_net_{rest}"
            if other in after and after.nodes[other].get("type") == data.get("type"):
                found[node] = other


def _pair_written(before: Graph, after: Graph, found: dict[str, str]) -> None:
    """Blobs that the same output of the same operator wrote, whatever they are called."""
    for tail, other in list(found.items()):
        if "type" not in before.nodes[tail] or before.nodes[tail]["cluster"]:
            continue
        written = {data["slot"]: head for _, head, data in after.out_edges(other, data=True) if data["slot"] >= 0}
        for _, head, data in before.out_edges(tail, data=True):
            if data["slot"] in written:
                found.setdefault(head, written[data["slot"]])


def _pair_by_name(before: Graph, after: Graph, found: dict[str, str]) -> None:
    """Blobs from outside, and those whose writers are not the same, by part, name and version."""
    free = set(after) - set(found.values())
    names = {_key(after.nodes[node]): node for node in free if after.nodes[node]["kind"] in BLOB_KINDS}
    for node, data in before.nodes(data=True):
        if node not in found and data["kind"] in BLOB_KINDS and not data["cluster"] and _key(data) in names:
            found[node] = names.pop(_key(data))


def _key(data: dict[str, Any]) -> tuple[str, str, str, int]:
    return data["cluster"], data["kind"], data["name"], data["version"]


def _mark_ops(after: Graph, prefix: str, changes: Iterable[OpChange]) -> None:
    for each in changes:
        if each.b is not None and each.change:
            after.nodes[f"{prefix}{each.b}"].update(change=each.change, changes="\n".join(each.details))


def _mark_blobs(before: Graph, after: Graph, partner: dict[str, str]) -> None:
    """Blobs without a partner are new; those under another name say how they were called."""
    old = {other: node for node, other in partner.items()}
    for node, data in after.nodes(data=True):
        if node not in old:
            data["change"] = data["change"] or "added"
        elif data["kind"] in BLOB_KINDS and before.nodes[old[node]]["name"] != data["name"]:
            data.update(change="renamed", changes=f"was {before.nodes[old[node]]['name']}")


def _add_removed(before: Graph, after: Graph, partner: dict[str, str]) -> None:
    clusters = after.graph["clusters"]
    for node, data in before.nodes(data=True):
        if node in partner:
            continue
        cluster = data["cluster"]
        if cluster:
            cluster = _same_cluster(before, cluster, partner, clusters)
        after.add_node(_PREFIX + node, **{**data, "change": "removed", "cluster": cluster, **_owner(data, partner)})
        partner[node] = _PREFIX + node


def _owner(data: dict[str, Any], partner: dict[str, str]) -> dict[str, int]:
    """The forward operator at which a gradient operator was made, as the second counts; -1 if it is not there."""
    if data.get("owner", -1) < 0:
        return {}
    other = partner.get(f"op_{data['owner']}", "")
    return {"owner": int(other[3:]) if other.startswith("op_") else -1}


def _same_cluster(before: Graph, cluster: str, partner: dict[str, str], clusters: dict[str, Any]) -> str:
    """The nested net in the second graph; one of its own where the operator around it is not there."""
    pending = [cluster]
    while pending[-1]:
        pending.append(before.graph["clusters"][pending[-1]]["parent"])
    made = ""
    for each in reversed(pending[:-1]):
        outer, _, rest = each.partition("_net_")
        name = f"{partner.get(outer, _PREFIX + outer)}_net_{rest}"
        if name not in clusters:
            clusters[name] = {**before.graph["clusters"][each], "parent": made}
        made = name
    return made


def _join_edges(before: Graph, after: Graph, partner: dict[str, str]) -> None:
    """Edges are the same if they join the same nodes in the same role."""
    old = Counter((partner[tail], partner[head], data["kind"], data["slot"]) for tail, head, data in _edges(before))
    for tail, head, data in _edges(after):
        key = (tail, head, data["kind"], data["slot"])
        data["change"] = "" if old[key] else "added"
        old[key] -= 1
    there = Counter((tail, head, data["kind"], data["slot"]) for tail, head, data in _edges(after))
    for tail, head, data in _edges(before):
        key = (partner[tail], partner[head], data["kind"], data["slot"])
        if there[key]:
            there[key] -= 1
        else:
            after.add_edge(partner[tail], partner[head], **{**data, "change": "removed"})


def _edges(graph: Graph) -> list[tuple[str, str, dict[str, Any]]]:
    return list(graph.edges(data=True))
