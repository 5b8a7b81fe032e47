"""Ways of gradients through a net: from a blob forward to the ys, and where they are cut.

Only what can be reached from the blob is looked at, and nothing is recursive, so a net of 100,000 operators is
answered at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

    from gradviz.autodiff.scene import Scene

Node = "int | str"
_MOST_PATHS = 5
_MANY = 10**9


@dataclass(frozen=True, slots=True)
class Path:
    """One way of a gradient.

    Attributes:
        y: the y that it comes from.
        ops: forward operators from the blob up to the y, in the order of the net.
    """

    y: str
    ops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """An operator at which a gradient arrives and does not go on to one input.

    Attributes:
        op_index: the operator.
        blob: the input.
        slot: which input it is.
    """

    op_index: int
    blob: str
    slot: int


@dataclass(slots=True)
class Downstream:
    """What depends on one version of a blob.

    Attributes:
        ys: the ys among it.
        cuts: where a gradient arrives and is not passed on.
        ends: outputs that nothing reads and that are no ys: blob -> operator that writes it.
        unvisited: operators that the walk did not come to, because it failed before.
    """

    ys: dict[str, None] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    unvisited: list[int] = field(default_factory=list)


def downstream(scene: Scene, blob: str, version: int) -> Downstream:
    """Follow the data from one version of a blob; a cut is looked behind no further."""
    found = Downstream()
    waiting = [(blob, version)]
    seen = set(waiting)
    while waiting:
        name, at = waiting.pop()
        if scene.is_y(name, at):
            found.ys[name] = None
        readers = scene.readers(name, at)
        for reader in readers:
            _look(scene, found, reader, name)
            for output in scene.writes(reader).items():
                if output not in seen:
                    seen.add(output)
                    waiting.append(output)
                    if not scene.readers(*output) and not scene.is_y(*output):
                        found.ends[output[0]] = reader
    found.cuts.sort(key=lambda cut: (cut.op_index, cut.slot))
    found.unvisited.sort()
    return found


def _look(scene: Scene, found: Downstream, reader: int, name: str) -> None:
    if not scene.visited(reader) or (scene.error is not None and scene.error.op_index == reader):
        found.unvisited.append(reader)
    elif scene.entered(reader) and not passes(scene, reader, name):
        if scene.made(reader) is None:
            found.unvisited.append(reader)
        else:
            found.cuts.append(Cut(reader, name, scene.op(reader).inputs.index(name)))


def passes(scene: Scene, index: int, blob: str) -> bool:
    """Whether the gradient rule of an operator gave one of its inputs a gradient."""
    made = scene.made(index)
    if made is None:
        return False
    pairs = zip(scene.op(index).inputs, made.g_input, strict=False)
    return any(name == blob and gradient is not None for name, gradient in pairs)


# Where a gradient does arrive.


def gradient_paths(scene: Scene, blob: str, version: int) -> tuple[list[Path], int]:
    """The shortest ways on which gradients come to one version of a blob, and how many ways there are.

    Returns:
        At most five paths, at least one for each of the first ys; and the number of all, a billion if more.
    """
    graph, ys = _flow(scene, blob, version)
    if not ys:
        return [], 0
    counts = _counted(graph, ys)
    total = counts[_START]
    if total <= _MOST_PATHS:
        return _all(graph, ys), total
    import networkx as nx

    shortest = nx.single_source_shortest_path(graph, _START) if len(ys) > 1 else {}
    paths = []
    for y in ys[:_MOST_PATHS]:
        nodes = shortest[_y(y)] if shortest else nx.shortest_path(graph, _START, _y(y))
        paths.append(Path(y, tuple(node for node in nodes if isinstance(node, int))))
    return paths, total


_START = "start"


def _y(name: str) -> str:
    return f"y {name}"


def _flow(scene: Scene, blob: str, version: int) -> tuple[nx.DiGraph[int | str], list[str]]:
    """Operators through which gradients come to the blob, as a graph from the blob up to the ys."""
    import networkx as nx

    edges: list[tuple[int | str, int | str]] = []
    ys: dict[str, None] = {}
    start: tuple[int | str, str, int] = (_START, blob, version)
    waiting = [start]
    seen: set[int] = set()
    while waiting:
        node, name, at = waiting.pop()
        if scene.is_y(name, at):
            edges.append((node, _y(name)))
            ys[name] = None
        for reader in scene.readers(name, at):
            if not passes(scene, reader, name):
                continue
            edges.append((node, reader))
            if reader not in seen:
                seen.add(reader)
                waiting += [(reader, *output) for output in scene.writes(reader).items()]
    graph: nx.DiGraph[int | str] = nx.DiGraph()
    graph.add_edges_from(edges)
    return graph, list(ys)


def _counted(graph: nx.DiGraph[int | str], ys: list[str]) -> dict[int | str, int]:
    """How many ways lead from each node to the ys, up to a billion. Operators stand in the order of the net."""
    counts: dict[int | str, int] = {_y(y): 1 for y in ys}
    nodes: list[int | str] = [*sorted((node for node in graph if isinstance(node, int)), reverse=True), _START]
    for node in nodes:
        counts[node] = min(_MANY, sum(counts.get(after, 0) for after in graph.adj[node]))
    return counts


def _all(graph: nx.DiGraph[int | str], ys: list[str]) -> list[Path]:
    """Every path; there are few. Nodes that lead to no y are left out first, so none is followed in vain."""
    import networkx as nx

    ends = {_y(y) for y in ys}
    useful = {*ends, *(node for end in ends for node in nx.ancestors(graph, end))}
    pruned = graph.subgraph(useful)
    paths = [
        Path(y, tuple(node for node in nodes if isinstance(node, int)))
        for y in ys
        for nodes in nx.all_simple_paths(pruned, _START, _y(y))
    ]
    return sorted(paths, key=lambda path: len(path.ops))


def upstream(scene: Scene, index: int) -> list[str]:
    """Blobs from outside on which an operator depends, in the order in which they are read."""
    writers = _writers(scene)
    found: dict[str, int] = {}
    waiting = [index]
    seen = {index}
    while waiting:
        current = waiting.pop()
        for key in scene.reads(current).items():
            writer = writers.get(key)
            if writer is None:
                found[key[0]] = min(current, found.get(key[0], current))
            elif writer not in seen:
                seen.add(writer)
                waiting.append(writer)
    return sorted(found, key=lambda name: (found[name], scene.op(found[name]).inputs.index(name)))


def _writers(scene: Scene) -> dict[tuple[str, int], int]:
    return {key: index for index in range(scene.offset, scene.last) for key in scene.writes(index).items()}
