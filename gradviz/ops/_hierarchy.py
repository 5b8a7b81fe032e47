"""Hierarchical softmax: classes are the leaves of a tree, each turn on the way to one is a small softmax.

The turns' weights lie one below the other in one matrix; a turn knows where its rows begin and how many they are.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.ops._checks import require
from gradviz.proto.hsm import HierarchyProto, NodeProto, TreeProto

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 1e-20
"""The least probability that is taken a logarithm of."""


class Turn(NamedTuple):
    """One turn: the rows of its weights, and which of them leads on."""

    rows: slice
    target: int

    @property
    def size(self) -> int:
        """Number of ways on."""
        return int(self.rows.stop - self.rows.start)


def _message(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def ways(hierarchy: str | bytes, labels: Any) -> list[list[Turn]]:
    """For each label the turns that lead to it.

    Raises:
        ValueError: there is no way to a label.
    """
    paths = {path.word_id: path.path_nodes for path in HierarchyProto.FromString(_message(hierarchy)).paths}
    wanted = labels.ravel().tolist()
    missing = [label for label in wanted if label not in paths]
    require(not missing, f"the hierarchy has no way to label {missing[0] if missing else ''}")
    return [
        [Turn(slice(node.index, node.index + node.length), node.target) for node in paths[label]] for label in wanted
    ]


def softmax(xp: Any, z: Any) -> Any:
    """Probabilities from scores, over the last dimension."""
    e = xp.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def search(
    xp: Any, x: Any, w: Any, b: Any, tree: str | bytes, beam: float, top: int
) -> tuple[list[list[str]], list[list[float]]]:
    """For each row of `x` names and scores (-log of the probability) of the `top` likeliest nodes and words.

    Only ways are followed that cost less than `beam`.
    """
    root = TreeProto.FromString(_message(tree)).root_node
    require(root.HasField("offset") and root.HasField("name"), "every node of the tree must have an offset and a name")
    names, scores = [], []
    for row in x:
        found = sorted(_reached(xp, row, w, b, root, beam), key=lambda each: each[1])[:top]
        names.append([name for name, _ in found] + [""] * (top - len(found)))
        scores.append([score for _, score in found] + [0.0] * (top - len(found)))
    return names, scores


def _reached(xp: Any, x: Any, w: Any, b: Any, root: NodeProto, beam: float) -> list[tuple[str, float]]:
    """Names and scores of what lies within the beam, each node's own before those below it."""
    found: list[tuple[str, float]] = []
    waiting = [(root, 0.0)]
    while waiting:
        node, so_far = waiting.pop()
        rows = slice(node.offset, node.offset + len(node.children) + len(node.word_ids))
        chances = softmax(xp, w[rows] @ x + b[rows])
        costs = (so_far - xp.log(xp.maximum(chances, LEAST))).tolist()
        below = [(child, cost) for child, cost in zip(node.children, costs, strict=False) if cost < so_far + beam]
        words = zip(node.word_ids, costs[len(node.children) :], strict=True)
        for child, cost in below:
            require(child.HasField("offset") and child.HasField("name"), "every node must have an offset and a name")
            found.append((child.name, cost))
        found += [(str(word), cost) for word, cost in words if cost < so_far + beam]
        waiting += reversed(below)
    return found


def huffman_tree(counts: list[int]) -> bytes:
    """The Huffman tree of labels that occur so often, as a serialized TreeProto; equal counts go by age."""
    heap = [(count, label, label) for label, count in enumerate(counts)]
    heapq.heapify(heap)
    branches: dict[int, tuple[int, int]] = {}
    made = len(counts)
    while len(heap) > 1:
        (left_count, _, left), (right_count, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        branches[made] = (left, right)
        heapq.heappush(heap, (left_count + right_count, made, made))
        made += 1
    tree = TreeProto()
    _fill(tree.root_node, heap[0][2], branches)
    return tree.SerializeToString()


def _fill(root: NodeProto, index: int, branches: dict[int, tuple[int, int]]) -> None:
    """Write the tree below `index` into `root`; offsets count the rows of weights that are taken so far."""
    root.offset, taken = 0, 2
    waiting: list[tuple[NodeProto, Iterator[tuple[int, bool]]]] = [(root, _sides(index, branches))]
    while waiting:
        node, sides = waiting[-1]
        side = next(sides, None)
        if side is None:
            waiting.pop()
            continue
        child, is_right = side
        if child in branches:
            below = node.children.add(offset=taken)
            taken += 2
            waiting.append((below, _sides(child, branches)))
        else:
            node.word_ids.append(child)
            taken += is_right


def _sides(index: int, branches: dict[int, tuple[int, int]]) -> Iterator[tuple[int, bool]]:
    left, right = branches.get(index, (None, None))
    if left is not None and right is not None:
        yield left, False
        yield right, True
