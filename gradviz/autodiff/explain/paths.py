"""Ways of gradients through a net: from a blob forward to the ys, and where they are cut.

Only what can be reached from the blob is looked at, and nothing is recursive, so a net of 100,000 operators is
answered at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradviz.autodiff.events import Make, Play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.ops.records import Gradient

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
    flow, ys = _flow(scene, blob, version)
    if not ys:
        return [], 0
    counts = _counted(flow, ys)
    total = counts[_START]
    return (_all(flow, counts) if total <= _MOST_PATHS else _shortest(flow, ys)), total


Flow = dict["int | str", dict["int | str", None]]
"""For each operator, the operators and ys that its gradient can come from."""

_START = -1
_Y = "y "


def _flow(scene: Scene, blob: str, version: int) -> tuple[Flow, list[str]]:
    """Operators through which gradients come to the blob: for each, where the gradient can come from; and the ys.

    Written for speed: it looks at every operator that depends on the blob.
    """
    walk = scene.walk
    ops, usages, events, visits = walk.ops, walk.usages, walk.recording.events, walk.recording.visits
    end, offset, reached = len(ops), scene.offset, len(walk.recording.visits)
    flow: Flow = {_START: {}}
    ys: dict[str, None] = {}
    waiting: list[tuple[int | str, str, int]] = [(_START, blob, version)]
    while waiting:
        node, name, at = waiting.pop()
        following = flow[node]
        for reader in usages.get((name, at), ()):
            if reader == end:
                ys[name] = None
                following[_Y + name] = None
                continue
            visit = end - 1 - reader
            made = events[visits[visit] + 1] if visit < reached and visits[visit] + 1 < len(events) else None
            if not isinstance(made, Make) or not _gives(ops[reader].inputs, made.g_input, name):
                continue
            index = reader + offset
            following[index] = None
            if index not in flow:
                flow[index] = {}
                play = events[reader]
                assert isinstance(play, Play)
                waiting += [(index, *output) for output in zip(play.op.outputs, play.out_versions, strict=True)]
    return flow, list(ys)


def _gives(inputs: tuple[str, ...], g_input: Sequence[Gradient], blob: str) -> bool:
    if len(inputs) == 1:
        return bool(g_input) and g_input[0] is not None
    return any(name == blob and gradient is not None for name, gradient in zip(inputs, g_input, strict=False))


def _counted(flow: Flow, ys: list[str]) -> dict[int | str, int]:
    """How many ways lead from each node to the ys, up to a billion. Operators stand in the order of the net."""
    counts: dict[int | str, int] = {_Y + y: 1 for y in ys}
    for node in sorted((node for node in flow if isinstance(node, int)), reverse=True):
        total = 0
        for after in flow[node]:
            total += counts.get(after, 0)
        counts[node] = min(_MANY, total)
    return counts


def _all(flow: Flow, counts: dict[int | str, int]) -> list[Path]:
    """Every path; there are few. Nodes from which no way leads to a y are never entered."""
    paths = []
    waiting: list[list[int | str]] = [[_START]]
    while waiting:
        path = waiting.pop()
        while isinstance(path[-1], int):
            first, *others = [node for node in flow[path[-1]] if counts.get(node)]
            waiting += [[*path, node] for node in others]
            path.append(first)
        paths.append(_path(path))
    return sorted(paths, key=lambda path: (len(path.ops), path.ops))


def _shortest(flow: Flow, ys: list[str]) -> list[Path]:
    """The shortest path to each of the first ys."""
    import networkx as nx

    graph: nx.DiGraph[int | str] = nx.DiGraph()
    graph.add_edges_from((node, after) for node, following in flow.items() for after in following)
    if len(ys) == 1:
        return [_path(nx.shortest_path(graph, _START, _Y + ys[0]))]
    shortest = nx.single_source_shortest_path(graph, _START)
    return [_path(shortest[_Y + y]) for y in ys[:_MOST_PATHS]]


def _path(nodes: list[int | str]) -> Path:
    return Path(str(nodes[-1]).removeprefix(_Y), tuple(node for node in nodes[1:-1] if isinstance(node, int)))


def upstream(scene: Scene, index: int) -> list[str]:
    """Blobs from outside on which an operator depends, in the order in which they are read."""
    writers = scene.writers
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
