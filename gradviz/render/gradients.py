"""The gradient net as part of the graph model: what exists of it after one event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import Accumulate, Check, Dense, Fail, Half, Local, Make, Merge, PassThrough, Rename, Seed
from gradviz.ops.records import GradientSlice, Op
from gradviz.render.graph import add_nested, blob_attributes, join, op_attributes
from gradviz.render.progress import mark_forward_blobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.events import Event
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.trace import Trace
    from gradviz.ops.records import Gradient
    from gradviz.render.graph import DrawnNet


def add_gradients(drawn: DrawnNet, trace: Trace, position: int) -> None:
    """Add the gradient operators that there are after the event at `position`, and how both nets hang together.

    Args:
        drawn: the forward net, with all its nodes.
        trace: the walk.
        position: index of the event.
    """
    made = _GradientNet(drawn, trace, position)
    made.add_ops()
    made.add_links()
    made.mark(trace.events[position])


_TELLING = (Seed, Make, Dense, Merge, PassThrough, Accumulate)


class _GradientNet:
    """The gradient net while it becomes nodes.

    Attributes:
        events: those up to now that say what gradient operators there are and whose gradients they make.
        current: gradient blob -> the version that stands now, -1 before its first write.
        outputs: (gradient operator, output) -> the node that it wrote.
    """

    def __init__(self, drawn: DrawnNet, trace: Trace, position: int) -> None:
        self.drawn = drawn
        self.graph = drawn.graph
        self.trace = trace
        self.position = position
        self.current: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        self.outputs: dict[tuple[int, int], str] = {}
        told = trace.events[len(trace.ops) : position + 1]
        self.events = [event for event in told if isinstance(event, _TELLING)]
        self.sparse = self._sparse_outputs()

    # Operators and their blobs.

    def add_ops(self) -> None:
        makers = self._makers()
        for index, proto in enumerate(self.trace.gradient_ops_at(self.position)):
            owner, summing = makers.get(index, (-1, False))
            self._add_op(index, Op(proto), owner, summing)
        self._mark_several()

    def _add_op(self, index: int, op: Op, owner: int, summing: bool) -> None:
        node = f"gop_{index}"
        attributes = op_attributes("sum" if summing else "gradient_op", "gradient", "", index, op)
        self.graph.add_node(node, **attributes, owner=owner)
        self.graph.nodes[node]["state"] = "done"
        if f"op_{owner}" in self.graph:  # it belongs where its operator belongs, whatever its outputs are called
            self.graph.nodes[node]["scope"] = self.graph.nodes[f"op_{owner}"]["scope"]
        edge = "accumulation" if summing else "gradient"
        slices = summing and (index, 0) in self.sparse
        both = set(op.inputs).intersection(op.outputs)
        for slot, name in enumerate(op.inputs):
            source = self._read(name)
            crosses = self.graph.nodes[source]["part"] == "forward"
            self._join(source, node, "value" if crosses else edge, slot, in_place=name in both, sparse=slices)
        before = self.trace.recording.gradient_ops[index].outputs
        for slot, name in enumerate(op.outputs):
            blob = self._write(name)
            self.outputs[index, slot] = blob
            here = self.graph.nodes[blob]
            here["in_place"] = name in both
            here["half"] = self.sparse.get((index, slot), "")
            here["renamed_from"] = before[slot] if before[slot] != name else ""
            self._join(node, blob, edge, slot, in_place=name in both)
        add_nested(self.graph, node, "gradient", "", op.proto)

    def _join(self, tail: str, head: str, kind: str, slot: int, *, in_place: bool, sparse: bool = False) -> None:
        nodes = self.graph.nodes
        sparse = sparse or bool(nodes[tail].get("half") or nodes[head].get("half"))
        kind = "sparse" if sparse and kind == "gradient" else kind
        join(self.graph, tail, head, kind, slot, in_place=in_place, sparse=sparse)

    def _read(self, name: str) -> str:
        """The node that a gradient operator reads under a name: a gradient, else the last version of a forward blob."""
        if name in self.current:
            return self._node(name, self.current[name])
        version = self.drawn.last.get(name)
        if version is not None:
            return self.drawn.blob(name, version)
        if name in self.trace.ys:  # a y that no operator reads or writes
            return self.drawn.blob(name, 0)
        return self._given(name)

    def _given(self, name: str) -> str:
        self.current[name] = 0
        node = self._node(name, 0)
        self.graph.nodes[node]["role"] = "given"
        return node

    def _write(self, name: str) -> str:
        version = self.current.get(name, self.drawn.last.get(name, -1)) + 1
        self.current[name] = version
        return self._node(name, version)

    def _node(self, name: str, version: int) -> str:
        number = self.numbers.setdefault(name, len(self.numbers))
        node = f"gblob_{number}_v{version}"
        if node not in self.graph:
            attributes = blob_attributes("gradient_blob", "gradient", "", name, version, "gradient")
            self.graph.add_node(node, **attributes)
        return node

    def _mark_several(self) -> None:
        for name, version in self.current.items():
            every = [f"gblob_{self.numbers[name]}_v{each}" for each in range(version + 1)]
            nodes = [node for node in every if node in self.graph]
            for node in nodes:
                self.graph.nodes[node]["several"] = len(nodes) > 1

    # What the events say about them.

    def _makers(self) -> dict[int, tuple[int, bool]]:
        """Gradient operator -> the forward operator visited when it was made, and whether accumulation made it."""
        makers: dict[int, tuple[int, bool]] = {}
        for event in self.events:
            if isinstance(event, Make):
                new = range(event.first, event.first + len(event.gradient_ops))
                makers.update(dict.fromkeys(new, (event.op_index, False)))
            elif isinstance(event, Accumulate):
                new = range(event.first, event.first + len(event.ops))
                makers.update(dict.fromkeys(new, (event.op_index, True)))
        return makers

    def _sparse_outputs(self) -> dict[tuple[int, int], str]:
        """Outputs of gradient operators that are one half of a sparse gradient -> which half."""
        found: dict[tuple[int, int], str] = {}
        halves = [each for by in self.trace.state_at(self.position).sparse_generators.values() for each in by.values()]
        generators = [generator for each in halves for generator in each]
        generators += [event.generator for event in self.events if isinstance(event, Merge)]
        for generator in generators:
            found.update({place: half for half, place in _places(generator).items() if place is not None and half})
        for event in self.events:
            if isinstance(event, Accumulate) and isinstance(event.gradient, GradientSlice):
                found.update({(event.first, 0): "indices", (event.first + 1, 0): "values"})
        return found

    # From a version of a blob to its gradient.

    def add_links(self) -> None:
        """Link every version of a blob that has a gradient with it; with the sum alone once it is there."""
        links: dict[tuple[str, int], list[tuple[str, bool]]] = {}
        for event in self.events:
            if isinstance(event, Accumulate):
                halves = isinstance(event.gradient, GradientSlice)
                summed = [self.outputs[event.first + each, 0] for each in range(2 if halves else 1)]
                links[event.blob, event.version] = [(node, False) for node in summed]
            elif isinstance(event, Seed):
                links.setdefault((event.blob, event.version), []).extend(self._seeded(event))
            elif isinstance(event, Dense | Merge | PassThrough):
                found = self._generated(event.generator)
                links.setdefault((event.blob, event.version), []).extend(found)
        for (name, version), nodes in links.items():
            blob = self.drawn.blobs.get((name, version))
            for node, passes in dict(nodes).items() if blob is not None else ():
                sparse = bool(self.graph.nodes[node].get("half")) or self.graph.nodes[node]["part"] == "forward"
                join(self.graph, str(blob), node, "gradient_of", pass_through=passes, sparse=sparse)

    def _seeded(self, event: Seed) -> list[tuple[str, bool]]:
        if event.gradient_op is not None:
            return [(self.outputs[event.gradient_op, 0], False)]
        return [(self._read(name), False) for name in _names(event.gradient)]

    def _generated(self, generator: Generator) -> list[tuple[str, bool]]:
        found = []
        for half, place in _places(generator).items():
            if place is not None:
                found.append((self.outputs[place], False))
            else:
                name = generator.gradient if not half else getattr(generator.gradient, half)
                found.append((self._read(name), True))
        return found

    # What the event at the cursor is about.

    def mark(self, event: Event) -> None:
        """Mark what the event is about as current, or as failed."""
        mark_forward_blobs(self.drawn, event)
        if isinstance(event, Fail):
            self._mark_failure(event)
            return
        for index in _touched(event):
            self.graph.nodes[f"gop_{index}"]["state"] = "current"
        for node in self._touched_blobs(event):
            self.graph.nodes[node]["state"] = "current"

    def _touched_blobs(self, event: Event) -> Iterator[str]:
        if isinstance(event, Dense | Half | Merge | PassThrough):
            names = _names(event.generator.gradient)
        elif isinstance(event, Rename):
            names = (event.new,)
        elif isinstance(event, Check):
            names = (event.name,)
        elif isinstance(event, Local):
            names = event.names
        else:
            names = _names(getattr(event, "gradient", None))
        for name in names:
            if name in self.current:
                yield self._node(name, self.current[name])

    def _mark_failure(self, event: Fail) -> None:
        """The gradient operator whose check failed, and the version that it wanted to find."""
        facts = event.error.facts
        node = f"gop_{facts.get('gradient_op')}"
        if event.error.phase != "check_inputs" or node not in self.graph:
            return
        self.graph.nodes[node]["state"] = "failed"
        wanted = self.drawn.blobs.get((facts["blob"], facts.get("expected", -1)))
        if wanted is not None:
            join(self.graph, wanted, node, "value", wanted=True)


def _places(generator: Generator) -> dict[str, tuple[int, int] | None]:
    """Half (empty for a dense gradient) -> the gradient operator and output that make it, None if it passes through."""
    if generator.kind == "dense":
        return {"": _place(generator.op, generator.idx)}
    return {
        "indices": _place(generator.op_indices, generator.idx_indices),
        "values": _place(generator.op_values, generator.idx_values),
    }


def _place(op: int | None, idx: int | None) -> tuple[int, int] | None:
    return None if op is None or idx is None else (op, idx)


def _names(gradient: Gradient) -> tuple[str, ...]:
    if isinstance(gradient, GradientSlice):
        return tuple(gradient)
    return () if gradient is None else (gradient,)


def _touched(event: Event) -> list[int]:
    """The gradient operators that an event is about."""
    if isinstance(event, Make):
        return list(range(event.first, event.first + len(event.gradient_ops)))
    if isinstance(event, Accumulate):
        return list(range(event.first, event.first + len(event.ops)))
    found: Any = getattr(event, "gradient_op", None)
    return [] if found is None else [found]
