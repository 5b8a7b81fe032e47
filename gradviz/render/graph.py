"""The graph model: operators and versioned blobs as a networkx MultiDiGraph, at any event of a walk.

Every picture and every other format is made from it. Identifiers never hold a name from the net:

| node | identifier | |
|---|---|---|
| forward operator | `op_3` | its index in the net |
| version of a blob | `blob_7_v1` | blobs are numbered as they first occur |
| gradient operator | `gop_2` | its index among the gradient operators |
| version of a gradient blob | `gblob_4_v0` | |
| in a nested net | `op_3_net_0_op_1` | net 0 among the arguments of op 3 |

Attributes of nodes (all text, whole numbers or truth values):

* all: `kind` (`op`, `gradient_op`, `sum`, `blob`, `gradient_blob`, and `scope` after folding), `part` (`forward` or
  `gradient`), `cluster` (a key of `graph.graph["clusters"]`, empty outside of nested nets), `state`;
* operators: `index`, `type`, `name`, `scope`, `engine`, `device`, `arguments`, `in_place`; gradient operators and sums
  also `owner` (the forward operator that was visited when they were made, -1 for the seeds). `state` is `waiting`,
  `current`, `done`, `skipped` (no gradient arrived), `stopped` (one arrived and none went on) or `failed`; empty where
  no walk was made;
* blobs: `name`, `version`, `role` (`parameter`, `input`, `activation`, `output`; `gradient` or `given` for gradients),
  `y`, `in_place` (written over the version before), `several` (another version is in the graph), `shape` where it is
  known, `renamed_from`, `half` (`indices` or `values` of a sparse gradient). `state` is `current`, `failed` or empty.

Attributes of edges: `kind` (`forward`; `gradient`, `sparse` and `accumulation` inside the gradient net; `value`, a
forward blob read by a gradient operator; `gradient_of`, from a version of a blob to its gradient; `control`; `nested`,
from an operator to its nested net), `slot` (which input or output, -1 for none), `in_place`, `sparse`,
`pass_through` (a gradient that no operator made), `wanted` (the version that a failed check wanted to find).

`graph.graph` holds `title`, `event`, `sentence`, `phase`, `error` (empty without a walk), `ys` and `clusters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from gradviz.autodiff.trace import Trace
from gradviz.nets import Model, as_model
from gradviz.ops.arguments import values
from gradviz.ops.records import Op
from gradviz.proto import NetDef
from gradviz.render.moment import moment
from gradviz.render.roles import roles_of_inputs, shapes_of
from gradviz.render.versions import played

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradviz.proto import OperatorDef

Graph: TypeAlias = "nx.MultiDiGraph[str]"

NODE_KINDS = ("op", "gradient_op", "sum", "blob", "gradient_blob", "scope")
OP_KINDS = frozenset({"op", "gradient_op", "sum", "scope"})
BLOB_KINDS = frozenset({"blob", "gradient_blob"})
EDGE_KINDS = ("forward", "gradient", "sparse", "accumulation", "value", "gradient_of", "control", "nested")
EDGE_MARKS = ("in_place", "sparse", "pass_through", "wanted")

DEVICES = ("CPU", "CUDA", "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "HIP", "FPGA", "MSNPU", "XLA")


def graph_at(source: Any, at: int | str | None = None) -> Graph:
    """The graph of a trace as it is after event `at`; of a Model or NetDef, the forward net.

    Raises:
        GradvizError: there is no such event.
    """
    if not isinstance(source, Trace):
        return graph_of(source)
    from gradviz.render.gradients import add_gradients
    from gradviz.render.progress import forward_states

    position = moment(source, at)
    event = source.events[position]
    graph = _new_graph(source.model)
    graph.graph.update(
        event=position,
        sentence=event.sentence(),
        phase=event.phase,
        error=str(source.error) if event.kind == "fail" else "",
        ys=list(source.ys),
    )
    plays: Sequence[Any] = source.events[: len(source.ops)]
    drawn = DrawnNet(graph)
    for play in plays:
        node = drawn.add(play.op_index, play.op, play.in_versions, play.out_versions)
        add_nested(graph, node, "forward", "", play.op.proto)
    _finish_forward(drawn, source.model, source.ys)
    forward_states(graph, source, position)
    add_gradients(drawn, source, position)
    return graph


def graph_of(source: Any) -> Graph:
    """The graph of the forward net of a Model or NetDef."""
    model = as_model(source)
    graph = _new_graph(model)
    drawn = DrawnNet(graph)
    for index, (op, read, written) in enumerate(played(map(Op, model.net.op))):
        node = drawn.add(index, op, read, written)
        add_nested(graph, node, "forward", "", op.proto)
    _finish_forward(drawn, model, ())
    return graph


def _new_graph(model: Model) -> Graph:
    graph: Graph = nx.MultiDiGraph()
    graph.graph.update(title=model.name, event=-1, sentence="", phase="", error="", ys=[], clusters={})
    return graph


class DrawnNet:
    """Operators and blobs of one net while they become nodes.

    Attributes:
        graph: what they are added to.
        prefix: stands before every identifier; empty for the net itself.
        cluster: the cluster of the nodes.
        part: `forward` or `gradient`; also the kind of the edges.
        blobs: (name, version) -> identifier.
        numbers: name -> number of the blob.
        last: name -> highest version that is drawn.
        made_by_name: an operator's own name -> identifier.
    """

    def __init__(self, graph: Graph, prefix: str = "", cluster: str = "", part: str = "forward") -> None:
        self.graph = graph
        self.prefix = prefix
        self.cluster = cluster
        self.part = part
        self.blobs: dict[tuple[str, int], str] = {}
        self.numbers: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.made_by_name: dict[str, str] = {}

    def blob(self, name: str, version: int) -> str:
        """Identifier of a version of a blob; the node is made when it is first asked for."""
        known = self.blobs.get((name, version))
        if known is not None:
            return known
        number = self.numbers.setdefault(name, len(self.numbers))
        made = f"{self.prefix}blob_{number}_v{version}"
        self.blobs[name, version] = made
        self.last[name] = max(version, self.last.get(name, 0))
        kind, role = ("blob", "activation") if self.part == "forward" else ("gradient_blob", "gradient")
        self.graph.add_node(made, **blob_attributes(kind, self.part, self.cluster, name, version, role))
        return made

    def add(self, index: int, op: Op, read: Sequence[int], written: Sequence[int]) -> str:
        """Add one operator with its blobs and edges; its nested nets too. Returns its identifier."""
        node = f"{self.prefix}op_{index}"
        kind = "gradient_op" if op.proto.is_gradient_op or self.part == "gradient" else "op"
        self.graph.add_node(node, **op_attributes(kind, self.part, self.cluster, index, op))
        both = set(op.inputs).intersection(op.outputs)
        for slot, (name, version) in enumerate(zip(op.inputs, read, strict=True)):
            join(self.graph, self.blob(name, version), node, self.part, slot, in_place=name in both)
        for slot, (name, version) in enumerate(zip(op.outputs, written, strict=True)):
            blob = self.blob(name, version)
            self.graph.nodes[blob]["in_place"] = name in both
            join(self.graph, node, blob, self.part, slot, in_place=name in both)
        self._control(op.proto, node)
        if op.proto.name:
            self.made_by_name[op.proto.name] = node
        return node

    def _control(self, proto: OperatorDef, node: str) -> None:
        """Control inputs name operators or blobs; those that name nothing known are left out."""
        for name in proto.control_input:
            source = self.made_by_name.get(name) or self.blobs.get((name, self.last.get(name, -1)))
            if source is not None and source != node:
                join(self.graph, source, node, "control")


def op_attributes(kind: str, part: str, cluster: str, index: int, op: Op) -> dict[str, Any]:
    """Attributes of an operator's node."""
    proto = op.proto
    named = proto.name or next((name for name in op.outputs if name), "")
    return {
        "kind": kind,
        "part": part,
        "cluster": cluster,
        "state": "",
        "index": index,
        "type": op.type,
        "name": proto.name,
        "scope": named.rpartition("/")[0],
        "engine": proto.engine,
        "device": device_of(proto),
        "arguments": arguments_of(proto),
        "in_place": any(name in op.outputs for name in op.inputs),
    }


def blob_attributes(kind: str, part: str, cluster: str, name: str, version: int, role: str) -> dict[str, Any]:
    """Attributes of a blob's node."""
    return {
        "kind": kind,
        "part": part,
        "cluster": cluster,
        "state": "",
        "name": name,
        "version": version,
        "role": role,
        "y": False,
        "in_place": False,
        "several": False,
        "shape": "",
        "renamed_from": "",
        "half": "",
    }


def join(graph: Graph, tail: str, head: str, kind: str, slot: int = -1, **marks: bool) -> None:
    """Add an edge; `marks` are those of its truth values that hold."""
    attributes = {
        "kind": kind,
        "slot": slot,
        "in_place": False,
        "sparse": False,
        "pass_through": False,
        "wanted": False,
    }
    graph.add_edge(tail, head, **{**attributes, **marks})


def device_of(proto: OperatorDef) -> str:
    """The device as a label says it: empty for the CPU, else its name and number."""
    option = proto.device_option
    if not option.device_type:
        return ""
    known = 0 <= option.device_type < len(DEVICES)
    return f"{DEVICES[option.device_type] if known else f'device type {option.device_type}'} {option.device_id}"


def arguments_of(proto: OperatorDef) -> str:
    """The arguments in one line; nested nets and tensors by what they are."""
    return ", ".join(f"{name}={argument_of(value)}" for name, value in values(proto).items())


def argument_of(value: Any) -> str:
    """The value of an argument as a label says it."""
    if isinstance(value, list):
        shown = ", ".join(argument_of(each) for each in value[:8])
        return f"[{shown}{', …' if len(value) > 8 else ''}]"
    if isinstance(value, NetDef):
        return f"net of {len(value.op)} ops"
    if hasattr(value, "DESCRIPTOR"):
        return str(value.DESCRIPTOR.name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def add_nested(graph: Graph, node: str, part: str, cluster: str, proto: OperatorDef) -> None:
    """Add the nets among an operator's arguments, and the nets among theirs, each as a cluster of its own."""
    pending = [(node, cluster, proto)]
    while pending:
        outer, around, definition = pending.pop()
        for number, (name, net) in enumerate(_nets_of(definition)):
            key = f"{outer}_net_{number}"
            graph.graph["clusters"][key] = {"label": f"{name} of {definition.type}", "parent": around, "part": part}
            first = _add_inner(graph, key, part, net, pending)
            if first:
                join(graph, outer, first, "nested")


def _add_inner(graph: Graph, key: str, part: str, net: NetDef, pending: list[tuple[str, str, OperatorDef]]) -> str:
    """Add one nested net; its operators are left in `pending` to be looked into. Returns its first operator."""
    drawn = DrawnNet(graph, f"{key}_", key, part)
    first = ""
    for index, (op, read, written) in enumerate(played(map(Op, net.op))):
        made = drawn.add(index, op, read, written)
        pending.append((made, key, op.proto))
        first = first or made
    for (_, version), blob in drawn.blobs.items():
        if version == 0 and not graph.in_degree(blob):
            graph.nodes[blob]["role"] = "input"
    _mark_several(graph, drawn)
    return first


def _nets_of(proto: OperatorDef) -> list[tuple[str, NetDef]]:
    found = []
    for argument in proto.arg:
        if argument.HasField("n"):
            found.append((argument.name, argument.n))
        found += [(argument.name, net) for net in argument.nets]
    return found


def _finish_forward(drawn: DrawnNet, model: Model, ys: Iterable[str]) -> None:
    """Roles, ys and shapes of the blobs, once all operators are there."""
    nodes = drawn.graph.nodes
    last = drawn.last
    roles = roles_of_inputs(model)
    shapes = shapes_of(model)
    outputs = set(model.net.external_output)
    asked = set(ys)
    for (name, version), blob in drawn.blobs.items():
        here = nodes[blob]
        if version == 0 and not drawn.graph.in_degree(blob):
            here["role"] = roles.get(name, "input")
            here["shape"] = shapes.get(name, "")
        elif version == last[name] and (name in outputs or name in asked):
            here["role"] = "output"
        here["y"] = name in asked and version == last[name]
    _mark_several(drawn.graph, drawn)


def _mark_several(graph: Graph, drawn: DrawnNet) -> None:
    counts: dict[str, int] = {}
    for name, _ in drawn.blobs:
        counts[name] = counts.get(name, 0) + 1
    for (name, _), blob in drawn.blobs.items():
        graph.nodes[blob]["several"] = counts[name] > 1
