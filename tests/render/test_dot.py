"""DOT and the pictures made of it: what they show, whatever names a net has."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import gradviz
from gradviz.errors import GradvizError
from gradviz.proto import NetDef
from gradviz.render import dot
from gradviz.render.graph import graph_at
from gradviz.render.image import Drawing, draw
from tests.render import nets

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}title"


def drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(draw(text, "svg"))


def node_ids(svg: ElementTree.Element) -> list[str]:
    return sorted(each.get("id", "") for each in svg.iter(f"{SVG}g") if each.get("class") == "node")


def texts(svg: ElementTree.Element, node: str) -> list[str]:
    found = next(each for each in svg.iter(f"{SVG}g") if each.get("id") == node)
    return [each.text or "" for each in found.iter(f"{SVG}text")]


def boxes(svg: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """Middle of every node."""
    found = {}
    for group in svg.iter(f"{SVG}g"):
        if group.get("class") == "node":
            label = next(group.iter(f"{SVG}text"))
            found[group.get("id", "")] = (float(label.get("x", 0)), float(label.get("y", 0)))
    return found


@pytest.mark.parametrize("name", nets.ALL)
def test_svg_has_one_node_for_each_of_the_graph(name: str) -> None:
    trace = nets.walked(nets.ALL[name]())
    assert node_ids(drawn(dot(trace))) == sorted(graph_at(trace).nodes)


def test_svg_has_every_edge() -> None:
    trace = nets.walked(nets.shared_weights())
    edges = [each for each in drawn(dot(trace)).iter(f"{SVG}g") if each.get("class") == "edge"]
    assert len(edges) == graph_at(trace).number_of_edges()


@pytest.mark.parametrize("name", nets.ALL)
def test_forward_net_stands_left_and_gradients_beside_their_operators(name: str) -> None:
    trace = nets.walked(nets.ALL[name]())
    places = boxes(drawn(dot(trace)))
    graph = graph_at(trace)
    left = [places[node][0] for node, data in graph.nodes(data=True) if data["part"] == "forward"]
    right = [places[node][0] for node, data in graph.nodes(data=True) if data["part"] == "gradient"]
    assert max(left) < min(right)
    for node, data in graph.nodes(data=True):
        if data["kind"] == "gradient_op" and data.get("owner", -1) >= 0:
            assert abs(places[node][1] - places[f"op_{data['owner']}"][1]) < 12, node


def test_labels_words_and_glyphs() -> None:
    svg = drawn(dot(nets.walked(nets.overwritten()), "error"))
    assert texts(svg, "op_1") == ["× Mul", "op 1", "failed"]
    assert texts(svg, "op_2") == ["– Relu", "op 2", "in place · skipped"]
    assert texts(svg, "op_3") == ["■ StopGradient", "op 3", "gradient stops here"]
    assert texts(svg, "op_4") == ["√ Add", "op 4"]
    assert texts(svg, "op_0") == ["· FC", "op 0"]
    assert texts(svg, "blob_6_v0")[0].endswith("₀")
    assert "wanted: version 0" in "".join(svg.itertext())


def test_at_the_end_nobody_needs_a_tick() -> None:
    assert "√" not in dot(nets.walked(nets.mlp()))
    assert "√" in dot(nets.walked(nets.mlp()), 60)


def test_in_black_and_white_things_are_told_apart() -> None:
    """Without colours every kind still has a look of its own."""
    from gradviz.render.style import LIGHT, line_of, look_of

    signs: dict[tuple, set[tuple]] = {}
    lines: dict[tuple, set[tuple]] = {}
    for make in (*nets.ALL.values(), _lengths):
        graph = graph_at(nets.walked(make()))
        for _, data in graph.nodes(data=True):
            look = look_of(data, LIGHT)
            sign = (look.shape, look.dashes, look.rounded, look.double, look.width > 2)
            role = (data["kind"], data.get("role"), bool(data.get("half")), data["state"] if "type" in data else "")
            signs.setdefault(sign, set()).add(role)
        for *_, data in graph.edges(data=True):
            line = line_of(data, LIGHT)
            sign = (line.dashes, line.head, line.width, ":" in line.colour)
            lines.setdefault(sign, set()).add((data["kind"], data["pass_through"], data["wanted"]))
    same = [roles for roles in signs.values() if len({(kind, role, half) for kind, role, half, _ in roles}) > 1]
    assert not same
    confused = [found for found in lines.values() if len({kind for kind, *_ in found}) > 1]
    assert not confused


def _lengths() -> NetDef:
    return nets.net("lengths", ("SparseLengthsSum", "table ids lengths", "s"), ("SumElements", "s", "loss"))


def test_legend_explains_what_occurs_and_nothing_else() -> None:
    forward = dot(nets.mlp())
    assert "parameter" in forward
    assert "gradient operator" not in forward
    sparse = dot(nets.walked(nets.embedding()))
    assert "half of a sparse gradient" in sparse
    assert "half of a sparse" not in dot(nets.walked(nets.mlp()))
    assert "drum" not in dot(nets.mlp(), legend=False)


def test_dark_is_dark_and_directions_are_kept() -> None:
    text = dot(nets.mlp(), dark=True, rankdir="LR")
    assert re.search(r"bgcolor=\"#15181c\"", text)
    assert "rankdir=LR" in text
    with pytest.raises(GradvizError, match="rankdir"):
        dot(nets.mlp(), rankdir="UP")


ODD = [
    "quotes \" and ' and \\ at the end \\",
    "line\nbreak\r\n\ttab",
    "<b>markup</b> &amp; <TABLE>",
    "port:n:s and {record|field}",
    "emoji 🙂 and 漢字 and עברית",
    "\x00\x01\x1b[31mred\x7f",
    "->",
    "",
    "subgraph",
    "\\N \\G \\l",
    "a" * 5000,
    "x" * 4999 + '"',
]


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_odd_names_are_harmless(name: str) -> None:
    made = NetDef(name=name)
    made.op.add(type="FC", name=name, input=["x", name + "w", "b"], output=[name])
    made.op.add(type=name or "Relu", input=[name], output=["out"])
    made.op[0].arg.add(name="text", s=name.encode())
    for source in (made, gradviz.trace(made, [name])):
        text = dot(source)
        svg = drawn(text)
        assert node_ids(svg) == sorted(graph_at(source).nodes)
        assert "\n" not in name or "line\nbreak" not in text
        assert all(len(each.text or "") <= 130 for each in svg.iter(f"{SVG}text"))


def test_a_long_name_is_whole_in_the_tooltip() -> None:
    name = "layer/" + "x" * 3000 + '"<&>end'
    svg = drawn(dot(nets.net("long", ("FC", "x w b", name), outputs=[])))
    titles = [each.get(XLINK, "") for each in svg.iter(f"{SVG}a")]
    assert any(title.startswith(name) for title in titles)
    labels = [each.text or "" for each in svg.iter(f"{SVG}text")]
    assert not any(name in each for each in labels)
    assert any("…" in each and each.startswith("layer/") for each in labels)


def test_png_is_a_png(tmp_path: Path) -> None:
    made = draw(dot(nets.walked(nets.shared_weights())), "png")
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(made[at : at + 4], "big") for at in (16, 20))
    assert 300 < width < 3000
    assert 300 < height < 4000


def test_engines_and_limits() -> None:
    text = dot(nets.mlp())
    assert b"<svg" in draw(text, "svg", Drawing(engine="neato"))
    with pytest.raises(GradvizError, match="no layout engine"):
        draw(text, "svg", Drawing(engine="magic"))
    with pytest.raises(GradvizError, match="not by 'paint'"):
        draw(text, "svg", Drawing(program="paint"))
    with pytest.raises(GradvizError, match="stopped after"):
        draw(dot(nets.walked(_chain(400))), "svg", Drawing(seconds=0.01))
    with pytest.raises(GradvizError, match="could not draw SVG"):
        draw("digraph {", "svg")


def _chain(length: int) -> NetDef:
    ops = [("FC", f"h{i} w{i} b{i}", f"h{i + 1}") for i in range(length)]
    return nets.net("chain", *ops, ("AveragedLoss", f"h{length}", "loss"))


def test_large_nets_are_drawn_in_time() -> None:
    trace = nets.walked(_chain(200))
    assert len(node_ids(drawn(dot(trace)))) == graph_at(trace).number_of_nodes() > 1500
