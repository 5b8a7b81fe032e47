"""Less than the whole: neighbourhoods, ranges, folded scopes."""

import pytest

from gradviz.errors import GradvizError
from gradviz.render import dot, graph_at
from gradviz.render.image import draw
from tests.render import nets


def names(graph) -> set[str]:
    return {data["name"] for _, data in graph.nodes(data=True) if "role" in data}


def test_hops_count_operators() -> None:
    net = nets.mlp()
    assert names(graph_at(net, focus="y", hops=0)) == {"y"}
    assert names(graph_at(net, focus="y", hops=1)) == {"y", "h", "w2", "b2", "p"}
    assert "x" in names(graph_at(net, focus="y", hops=3))
    assert names(graph_at(net, focus="op 3", hops=0)) == set()


def test_a_neighbourhood_says_how_much_was_left_out() -> None:
    graph = graph_at(nets.mlp(), focus="y", hops=1)
    more = {data["name"]: data["more"] for _, data in graph.nodes(data=True) if "role" in data}
    assert more["p"] == 2
    assert more["y"] == 0
    assert "… 2 more" in dot(nets.mlp(), focus="y", hops=1)


def test_unknown_focus_names_the_nearest() -> None:
    with pytest.raises(GradvizError, match="did you mean label"):
        graph_at(nets.mlp(), focus="labell")


def test_ranges_take_the_gradient_operators_along() -> None:
    graph = graph_at(nets.walked(nets.mlp()), first=4, last=5)
    ops = {node for node, data in graph.nodes(data=True) if "type" in data}
    assert ops == {"op_4", "op_5", "gop_1", "gop_2"}
    with pytest.raises(GradvizError, match="no operator lies between"):
        graph_at(nets.mlp(), first=50)


def test_folding_hides_what_is_within_a_scope() -> None:
    trace = nets.walked(nets.scoped())
    graph = graph_at(trace, fold=1)
    scopes = {
        (data["part"], data["type"]): data["ops"] for _, data in graph.nodes(data=True) if data["kind"] == "scope"
    }
    assert scopes == {("forward", "a/"): 2, ("forward", "b/"): 2, ("gradient", "a/"): 2, ("gradient", "b/"): 2}
    assert names(graph) >= {"x", "a/relu", "b/relu", "loss"}
    assert not names(graph) & {"a/w", "a/fc", "a/w_grad"}
    assert all(tail in graph and head in graph for tail, head in graph.edges())
    draw(dot(trace, fold=1), "svg")


def test_folding_keeps_what_failed_in_sight() -> None:
    net = nets.net(
        "failing",
        ("FC", "x w b", "s/h"),
        ("Mul", "s/h scale", "s/m"),
        ("Relu", "s/h", "s/h"),
        ("AveragedLoss", "s/m", "loss"),
    )
    graph = graph_at(nets.walked(net), fold=1)
    assert graph.nodes["scope_op_0"]["state"] == "failed"


def test_the_whole_graph_stays_as_it_is() -> None:
    trace = nets.walked(nets.scoped())
    whole = graph_at(trace)
    before = whole.number_of_nodes(), whole.number_of_edges()
    from gradviz.render.cut import cut

    cut(whole, focus="loss", hops=1, fold=1)
    assert (whole.number_of_nodes(), whole.number_of_edges()) == before
    assert "more" not in whole.nodes["op_0"]


def test_hops_beyond_the_ends_of_the_net_are_all_of_it() -> None:
    whole, far = graph_at(nets.mlp()), graph_at(nets.mlp(), focus="y", hops=10**30)
    assert names(far) == names(whole)
