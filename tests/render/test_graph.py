"""The graph model: identifiers, roles, states, edges."""

import gzip
import json

import pytest
from google.protobuf import text_format

import gradviz
from gradviz.errors import GradvizError
from gradviz.ops.records import GradientSlice
from gradviz.proto import NetDef
from gradviz.render.graph import BLOB_KINDS, EDGE_KINDS, NODE_KINDS, OP_KINDS, Graph, graph_at, graph_of
from gradviz.render.progress import states_at
from tests.render import nets


def by_name(graph: Graph, name: str) -> dict[int, dict]:
    """Version -> attributes of the nodes of a blob."""
    return {
        data["version"]: data | {"id": node}
        for node, data in graph.nodes(data=True)
        if data["kind"] in BLOB_KINDS and data["name"] == name
    }


def kinds(graph: Graph, tail: str, head: str) -> list[str]:
    return [data["kind"] for data in (graph.get_edge_data(tail, head) or {}).values()]


def test_every_version_is_a_node_of_its_own() -> None:
    graph = graph_of(nets.mlp())
    assert {version: data["id"] for version, data in by_name(graph, "h").items()} == {0: "blob_3_v0", 1: "blob_3_v1"}
    assert by_name(graph, "h")[1]["in_place"]
    assert not by_name(graph, "h")[0]["in_place"]
    assert graph.nodes["op_1"]["in_place"]
    assert kinds(graph, "blob_3_v0", "op_1") == ["forward"]
    assert kinds(graph, "blob_3_v1", "op_2") == ["forward"]
    assert not graph.has_edge("blob_3_v0", "op_2")


def test_only_known_kinds_and_every_edge_joins_nodes() -> None:
    for make in nets.ALL.values():
        graph = graph_at(nets.walked(make()))
        assert {data["kind"] for _, data in graph.nodes(data=True)} <= set(NODE_KINDS)
        assert {data["kind"] for *_, data in graph.edges(data=True)} <= set(EDGE_KINDS)
        for tail, head, data in graph.edges(data=True):
            ends = {graph.nodes[tail]["kind"] in OP_KINDS, graph.nodes[head]["kind"] in OP_KINDS}
            assert len(ends) == 2 or data["kind"] in {"gradient_of", "nested", "control"}


def test_roles_with_and_without_an_init_net() -> None:
    graph = graph_of(nets.mlp())
    roles = {name: by_name(graph, name)[0]["role"] for name in ("x", "w1", "b2", "label", "y", "loss")}
    assert roles == {
        "x": "input",
        "w1": "parameter",
        "b2": "parameter",
        "label": "input",
        "y": "activation",
        "loss": "output",
    }
    init = NetDef()
    for name, shape in (("scale", [5]), ("x", [1, 2])):
        fill = init.op.add(type="ConstantFill", output=[name])
        fill.arg.add(name="shape", ints=shape)
    model = gradviz.Model(nets.overwritten(), init=init)
    graph = graph_of(model)
    assert by_name(graph, "scale")[0]["role"] == "parameter"
    assert by_name(graph, "scale")[0]["shape"] == "5"
    assert by_name(graph, "x")[0]["role"] == "input", "a placeholder that the init net fills stays data"
    assert by_name(graph_of(nets.overwritten()), "scale")[0]["role"] == "input"


def test_states_at_the_start_half_way_and_at_the_failure() -> None:
    trace = nets.walked(nets.overwritten())
    assert set(states_at(trace, 0).values()) == {"waiting", "current"}
    visit = trace.recording.visits[1]
    assert states_at(trace, visit)[4] == "current"
    assert states_at(trace, visit)[5] == "done"
    assert states_at(trace, visit)[0] == "waiting"
    assert states_at(trace, len(trace.events) - 1) == {
        0: "waiting",
        1: "failed",
        2: "skipped",
        3: "stopped",
        4: "done",
        5: "done",
    }


def test_a_failed_check_shows_both_versions() -> None:
    graph = graph_at(nets.walked(nets.overwritten()), "error")
    assert graph.nodes["gop_3"]["type"] == "MulGradient"
    assert graph.nodes["gop_3"]["state"] == "failed"
    wanted = [(tail, head) for tail, head, data in graph.edges(data=True) if data["wanted"]]
    assert wanted == [(by_name(graph, "h")[0]["id"], "gop_3")]
    assert by_name(graph, "h")[1]["state"] == "failed"
    assert graph.graph["error"]


def test_renames_sums_and_the_gradient_of_a_shared_weight() -> None:
    trace = nets.walked(nets.shared_weights())
    graph = graph_at(trace)
    assert by_name(graph, "_w_grad_autosplit_0")[0]["renamed_from"] == "w_grad"
    sums = [node for node, data in graph.nodes(data=True) if data["kind"] == "sum"]
    assert [graph.nodes[node]["type"] for node in sums] == ["Sum", "Sum"]
    weight = by_name(graph, "w")[0]["id"]
    linked = [head for _, head, data in graph.out_edges(weight, data=True) if data["kind"] == "gradient_of"]
    assert linked == [by_name(graph, "w_grad")[1]["id"]], "the sum alone, once it is there"
    assert {data["kind"] for *_, data in graph.in_edges(sums[0], data=True)} == {"accumulation"}


def test_before_the_sum_each_part_is_linked_and_nothing_is_renamed() -> None:
    trace = nets.walked(nets.shared_weights())
    graph = graph_at(trace, trace.recording.visits[3])
    assert not by_name(graph, "_w_grad_autosplit_0")
    weight = by_name(graph, "w")[0]["id"]
    linked = [head for _, head, data in graph.out_edges(weight, data=True) if data["kind"] == "gradient_of"]
    assert len(linked) == 2


def test_sparse_gradients_and_what_passes_straight_through() -> None:
    trace = nets.walked(nets.embedding())
    graph = graph_at(trace)
    halves = {data["name"]: data["half"] for _, data in graph.nodes(data=True) if data.get("half")}
    assert halves == {"table_grad_indices_concat": "indices", "table_grad_values_concat": "values"}
    assert all(
        data["sparse"] for *_, data in graph.edges(data=True) if data["kind"] == "gradient_of" and data["pass_through"]
    )
    merged = next(i for i, event in enumerate(trace.events) if event.kind == "pass_through")
    early = graph_at(trace, merged)
    table = by_name(early, "table")[0]["id"]
    passing = {early.nodes[head]["name"] for _, head, data in early.out_edges(table, data=True) if data["pass_through"]}
    assert passing == {"right", "c_grad"}


def test_halves_made_by_operators_are_sparse() -> None:
    net = nets.net("lengths", ("SparseLengthsSum", "table ids lengths", "s"), ("SumElements", "s", "loss"))
    graph = graph_at(nets.walked(net))
    values = [data for _, data in graph.nodes(data=True) if data.get("half") == "values"]
    assert [data["name"] for data in values] == ["table_grad"] or values
    assert "sparse" in {data["kind"] for *_, data in graph.edges(data=True)}


def test_given_gradients() -> None:
    net = nets.net("given", ("FC", "x w b", "y"), outputs=["y"])
    graph = graph_at(gradviz.trace(net, {"y": "dy"}))
    given = by_name(graph, "dy")[0]
    assert given["role"] == "given"
    y = by_name(graph, "y")[0]["id"]
    assert "gradient_of" in kinds(graph, y, given["id"])
    slices = graph_at(gradviz.trace(net, {"w": GradientSlice("rows", "ind")}))
    assert by_name(slices, "rows")[0]["role"] == "given"


def test_nested_nets_are_clusters() -> None:
    graph = graph_at(nets.walked(nets.nested()))
    clusters = graph.graph["clusters"]
    assert clusters["op_0_net_0"]["label"] == "then_net of If"
    assert clusters["op_0_net_0_op_0_net_0"]["parent"] == "op_0_net_0"
    assert graph.nodes["op_0_net_0_op_0_net_0_op_0"]["type"] == "Relu"
    assert any(cluster["part"] == "gradient" for cluster in clusters.values())
    assert kinds(graph, "op_0", "op_0_net_0_op_0") == ["nested"]


def test_control_inputs() -> None:
    net = nets.mlp()
    net.op[0].name = "first"
    net.op[2].control_input.extend(["first", "label", "nothing of this name"])
    graph = graph_of(net)
    assert kinds(graph, "op_0", "op_2") == ["control"]
    assert [tail for tail, _, data in graph.in_edges("op_2", data=True) if data["kind"] == "control"] == ["op_0"]


def test_left_out_operators_are_not_drawn() -> None:
    trace = gradviz.trace(nets.mlp(), ["loss"], skip=2)
    graph = graph_at(trace)
    assert "op_0" not in graph
    assert graph.nodes["op_2"]["type"] == "FC"
    assert graph.nodes["op_2"]["state"] == "done"


def test_a_train_net_tells_its_gradient_operators() -> None:
    trace = nets.walked(nets.mlp())
    graph = graph_of(trace.net_with_gradients())
    assert graph.nodes["op_0"]["kind"] == "op"
    assert graph.nodes["op_11"]["kind"] == "gradient_op"


def test_unknown_events_are_refused() -> None:
    trace = nets.walked(nets.mlp())
    with pytest.raises(GradvizError, match="events go from 0 to"):
        graph_at(trace, 10_000)
    with pytest.raises(GradvizError, match="did not fail"):
        graph_at(trace, "error")
    with pytest.raises(GradvizError, match="not 'soon'"):
        graph_at(trace, "soon")
    assert (
        graph_at(trace, -1).graph["event"] == graph_at(trace).graph["event"] == graph_at(trace, "last").graph["event"]
    )


@pytest.mark.shared
def test_a_reported_net_with_colons_in_its_names(shared) -> None:
    case = shared / "cases/reports/064_colons_in_names"
    expected = json.loads((case / "case.json").read_text())["expect"]["draw"]
    net = text_format.Parse((case / "net.pbtxt").read_text(), NetDef())
    graph = graph_of(net)
    counts = [sum(data["kind"] == kind for _, data in graph.nodes(data=True)) for kind in ("op", "blob")]
    assert counts == [expected["ops"], expected["blob_versions"]]


@pytest.mark.shared
def test_recorded_walks_have_as_many_gradient_operators_at_every_event(shared) -> None:
    from base64 import b64decode

    with gzip.open(shared / "vectors/traces/handmade.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    for record in records[::7]:
        if record["ys_kind"] not in ("list", "dict"):
            continue
        ys = {y: GradientSlice(**g) if isinstance(g, dict) else g for y, g in record["ys"].items()}
        trace = gradviz.trace(NetDef.FromString(b64decode(record["net_b64"])), ys)
        for at in range(0, len(trace.events), 5):
            graph = graph_at(trace, at)
            top = [node for node in graph if node.startswith("gop_") and "_net_" not in node]
            assert len(top) == trace.state_at(at).gradient_op_count
            written = [name for op in trace.gradient_ops_at(at) for name in op.output]
            drawn = [
                graph.nodes[head]["name"]
                for node in top
                for _, head, data in graph.out_edges(node, data=True)
                if data["slot"] >= 0
            ]
            assert sorted(written) == sorted(drawn)
