"""Differences between two nets and between the gradients they get."""

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradviz
from gradviz.errors import GradvizError
from gradviz.nets import samples
from gradviz.proto import NetDef, OperatorDef
from gradviz.render import diff
from gradviz.render.align import aligned, differences
from gradviz.render.differing import Diff
from gradviz.render.graph import graph_at
from tests.render import nets


def copied(net: NetDef, *, without: int | None = None, first: OperatorDef | None = None) -> NetDef:
    made = NetDef()
    made.CopyFrom(net)
    ops = [op for index, op in enumerate(made.op) if index != without]
    ops = ([first] if first is not None else []) + ops
    kept = [OperatorDef.FromString(op.SerializeToString()) for op in ops]
    del made.op[:]
    made.op.extend(kept)
    return made


def op(type: str, reads: str, writes: str, **arguments: int) -> OperatorDef:
    made = OperatorDef(type=type, input=reads.split(), output=writes.split())
    for name, value in arguments.items():
        made.arg.add(name=name, i=value)
    return made


def changes(found: Diff, part: str = "ops") -> list[tuple[str, int | None, int | None]]:
    return [(each.change, each.a, each.b) for each in getattr(found, part) if each.change]


def rows(found: Diff, part: str) -> dict[str, tuple[str | None, str | None]]:
    return {row.key: (row.before, row.after) for row in found.rows if row.part == part}


# Forward operators.


@pytest.mark.parametrize("name", nets.ALL)
def test_a_net_does_not_differ_from_its_copy(name: str) -> None:
    net = nets.ALL[name]()
    found = diff(net, copied(net), ys=["loss"])
    assert found.same
    assert "are the same" in found.text()
    assert not any(data["change"] for _, data in found.graph().nodes(data=True))
    assert not any(data["change"] for *_, data in found.graph().edges(data=True))


def test_added_and_removed_operators_do_not_shift_the_others() -> None:
    net = nets.mlp()
    found = diff(net, copied(net, first=op("Copy", "raw", "x")), ys=["loss"])
    assert changes(found) == [("added", None, 0)]
    assert changes(diff(net, copied(net, without=6), ys=["loss"])) == [("removed", 6, None)]
    assert [(each.a, each.b) for each in found.ops if not each.change] == [(i, i + 1) for i in range(7)]


def test_each_kind_of_change_is_told() -> None:
    before = op("Conv", "x w", "y", stride=1, pad=2, group=1)
    after = op("Conv", "x w b", "z", stride=2, pad=2, kernel=3)
    after.engine, after.name = "CUDNN", "c"
    after.device_option.device_type = 1
    after.control_input.append("q")
    assert differences(before, after) == [
        "inputs (x, w) → (x, w, b)",
        "output 0: y → z",
        "stride 1 → 2",
        "group=1 removed",
        "kernel=3 added",
        "name none → c",
        "engine none → CUDNN",
        "device CPU → CUDA 0",
        "control inputs () → (q)",
    ]
    assert differences(op("Relu", "x", "y"), op("Sigmoid", "x", "y")) == ["type Relu → Sigmoid"]


def test_debug_information_and_the_order_of_arguments_are_no_difference() -> None:
    one, other = op("Conv", "x w", "y", stride=1, pad=2), op("Conv", "x w", "y", pad=2, stride=1)
    other.debug_info = "somewhere else"
    assert differences(one, other) == []
    assert aligned([one], [other]) == [(0, 0)]


def test_values_that_look_alike_and_are_not_are_told() -> None:
    one, other = op("If", "c x", "y"), op("If", "c x", "y")
    for made, type in ((one, "Relu"), (other, "Sigmoid")):
        made.arg.add(name="then_net").n.op.add(type=type)
    assert differences(one, other) == ["then_net differs (net of 1 ops)"]
    nan = op("Clip", "x", "y")
    nan.arg.add(name="max", f=float("nan"))
    assert differences(nan, OperatorDef.FromString(nan.SerializeToString())) == []


def test_an_operator_of_another_type_in_the_same_place_is_changed() -> None:
    net = nets.mlp()
    other = copied(net)
    other.op[1].type = "Sigmoid"
    assert changes(diff(net, other, ys=["loss"])) == [("changed", 1, 1)]


def test_operators_that_all_look_alike_are_aligned_in_time() -> None:
    many = [op("Sum", "a b", "a")] * 3000
    pairs = aligned(many, [*many[:-1], op("Relu", "a", "c")])
    assert pairs[-2:] == [(2999, None), (None, 2999)]
    assert len(aligned([op("Relu", "z", "z"), *many], [*many, op("Copy", "a", "q")])) >= 3000


def test_large_nets_are_compared_in_time() -> None:
    ops = [("FC", f"h{i} w{i} b{i}", f"h{i + 1}") for i in range(5000)]
    net = nets.net("chain", *ops, outputs=["h5000"])
    other = copied(net, without=2500)
    other.op[2500].input[0] = "h2500"
    walks = gradviz.trace(net), gradviz.trace(other)
    start = time.perf_counter()
    found = diff(*walks)
    text = found.text()
    assert time.perf_counter() - start < 20
    assert changes(found)[0] == ("removed", 2500, None)
    assert len(changes(found, "gradient_ops")) < 5
    assert len(text.splitlines()) < 100


# Gradients.


def test_gradient_operators_are_aligned_by_where_they_were_made() -> None:
    net = nets.net("short", ("FC", "x w b", "h"), ("Relu", "h", "y"), ("AveragedLoss", "y", "loss"))
    longer = nets.net(
        "long",
        *(("FC", "x w b", "h"), ("Relu", "h", "y"), ("Sigmoid", "y", "s"), ("AveragedLoss", "s", "loss")),
    )
    found = diff(net, longer, ys=["loss"])
    assert changes(found) == [("added", None, 2), ("renamed", 2, 3)]
    assert changes(found, "gradient_ops") == [("renamed", 1, 1), ("added", None, 2)]
    assert rows(found, "gradient map") == {"s": (None, "s_grad")}


def test_a_second_reader_brings_a_sum_and_renames() -> None:
    net = nets.net("one", ("FC", "x w b", "h"), ("FC", "h v c", "y"), ("AveragedLoss", "y", "loss"))
    shared = nets.net("two", ("FC", "x w b", "h"), ("FC", "h w c", "y"), ("AveragedLoss", "y", "loss"))
    found = diff(net, shared, ys=["loss"])
    added = [each.op.type for each in found.gradient_ops if each.change == "added"]
    renamed = [detail for each in found.gradient_ops if each.change == "renamed" for detail in each.details]
    assert added == ["Sum"]
    assert any("autosplit" in detail for detail in renamed)
    assert "  + gradient op 4 Sum(" in found.text()


def test_a_failure_is_told_against_what_goes_through() -> None:
    net = nets.overwritten()
    walk = nets.walked(net)
    assert walk.error is not None
    remedy = walk.error.remedies[0]
    found = diff(walk, gradviz.trace(remedy.apply(net), remedy.ys(walk.ys)))
    assert rows(found, "end") == {"": (f"Failed: {walk.error}", "the walk goes through")}
    assert {each.op.type for each in found.gradient_ops if each.change == "added"} == {"FCGradient"}


def test_ys_and_warnings_are_compared() -> None:
    net = nets.shared_weights()
    found = diff(gradviz.trace(net, ["loss"]), gradviz.trace(net, {"loss": "given", "z": None, "nowhere": None}))
    asked = rows(found, "ys")
    assert asked["loss"] == ("starts from ones", "given: given")
    assert asked["z"] == (None, "starts from ones")
    assert any("nowhere" in key for key in rows(found, "warnings"))


def test_two_events_of_one_walk_are_compared() -> None:
    walk = nets.walked(nets.shared_weights())
    at = next(i for i, event in enumerate(walk.events) if event.kind == "rename")
    found = diff(walk, walk, at_a=at - 1, at_b=at)
    (change,) = [each for each in found.gradient_ops if each.change]
    event: Any = walk.events[at]
    assert (change.change, change.b) == ("renamed", event.gradient_op)
    assert change.details == (f"output {event.output}: {event.old} → {event.new}",)
    assert not found.rows
    assert diff(walk, walk, at_a=3, at_b="3").same
    with pytest.raises(GradvizError, match="there is no event 999"):
        diff(walk, walk, at_a=999)


def test_left_out_operators_keep_their_numbers() -> None:
    walk = gradviz.trace(nets.mlp(), ["loss"], skip=2)
    other = copied(nets.mlp())
    other.op[3].type = "Sigmoid"
    found = diff(walk, gradviz.trace(other, ["loss"], skip=2))
    assert changes(found) == [("changed", 3, 3)]
    assert found.graph().nodes["op_3"]["change"] == "changed"


# What holds of any two nets.


def edited(net: NetDef, seed: int) -> NetDef:
    """A net after some random edits that leave it readable."""
    rng = random.Random(seed)
    made = copied(net)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made.op))
        kind = rng.choice(["drop", "rename", "type", "argument", "insert"])
        if kind == "drop" and len(made.op) > 1:
            made = copied(made, without=at)
        elif kind == "rename" and made.op[at].output:
            made.op[at].output[0] += "_new"
        elif kind == "type":
            made.op[at].type = rng.choice(["Relu", "Sigmoid", "Copy"])
        elif kind == "argument":
            made.op[at].arg.add(name="added", i=rng.randint(0, 9))
        else:
            made = copied(made, first=op("Relu", f"in{at}", f"in{at}"))
    return made


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(nets.ALL)), st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_operator_is_told_once_and_both_directions_agree(name: str, one: int, other: int) -> None:
    a, b = edited(nets.ALL[name](), one), edited(nets.ALL[name](), other)
    there, back = diff(a, b, ys=["loss"]), diff(b, a, ys=["loss"])
    sizes = {"ops": (len(a.op), len(b.op)), "gradient_ops": (len(there.a.gradient_ops), len(there.b.gradient_ops))}
    for part, (of_a, of_b) in sizes.items():
        found = getattr(there, part)
        assert sorted(each.a for each in found if each.a is not None) == list(range(of_a))
        assert [each.b for each in found if each.b is not None] == list(range(of_b))
        for each in found:
            both = each.before is not None and each.after is not None
            assert list(each.details) == (differences(each.before, each.after) if both else [])
    assert there.same == back.same
    assert [each.a for each in there.ops if each.a is not None] == list(range(len(a.op)))
    mirrored = {"added": "removed", "removed": "added"}
    for row in there.rows:
        back_row = next(each for each in back.rows if (each.part, each.key) == (row.part, row.key))
        assert (back_row.before, back_row.after) == (row.after, row.before)
        assert back_row.change == mirrored.get(row.change, row.change)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(nets.ALL)), st.integers(0, 10**6))
def test_the_graph_holds_both_nets(name: str, seed: int) -> None:
    a = nets.walked(nets.ALL[name]())
    b = nets.walked(edited(nets.ALL[name](), seed))
    found = diff(a, b).graph()
    before, after = graph_at(a), graph_at(b)

    def kept(without: str) -> tuple[int, int]:
        nodes = [node for node, data in found.nodes(data=True) if data["change"] != without]
        edges = [data for *_, data in found.edges(data=True) if data["change"] != without]
        return len(nodes), len(edges)

    assert kept("removed") == (after.number_of_nodes(), after.number_of_edges())
    assert kept("added") == (before.number_of_nodes(), before.number_of_edges())
    for node, data in found.nodes(data=True):
        assert {"kind", "part", "cluster", "state", "change"} <= set(data), node
        assert not data["cluster"] or data["cluster"] in found.graph["clusters"]


# Forms.


@pytest.fixture
def mixed() -> Diff:
    net = nets.mlp()
    other = copied(net, without=6)
    other.op[1].output[0] = other.op[2].input[0] = "h_relu"
    other.op[3].type = "Sigmoid"
    changed = copied(other, first=op("Copy", "raw", "x"))
    return diff(net, changed, ys=["loss"])


def test_text_is_as_recorded(mixed: Diff) -> None:
    lines = mixed.text().splitlines()
    assert lines[:9] == [
        "--- mlp (first) (event 86 of 86)",
        f"+++ mlp (second) (event {len(mixed.b.events) - 1} of {len(mixed.b.events) - 1})",
        "forward ops: 7; 1 added, 2 renamed, 1 changed, 1 removed",
        "  + op 0 Copy(raw) -> (x)",
        "  ~ op 1 → 2 Relu renamed: output 0: h → h_relu",
        "  ~ op 2 → 3 FC renamed: input 0: h → h_relu",
        "  ~ op 3 → 4 Sigmoid changed: type Softmax → Sigmoid",
        "  - op 6 Accuracy(p, label) -> (acc)",
        "gradient ops: 7 → 8; 1 changed, 2 renamed, 1 added",
    ]


def test_long_parts_are_cut_in_text_and_whole_in_json() -> None:
    one = nets.net("none", ("Copy", "x", "loss"))
    other = nets.net("many", *(("FC", f"x w{i} b{i}", f"y{i}") for i in range(100)), ("Copy", "x", "loss"))
    found = diff(one, other, ys=["loss"])
    assert "  … and 60 more" in found.text()
    assert len(found.as_json()["ops"]) == 100
    assert "more" not in found.text(most=None)


def test_json_is_plain_and_versioned(mixed: Diff) -> None:
    made = json.loads(json.dumps(mixed.as_json()))
    assert (made["schema"], made["version"], made["same"]) == ("gradviz.diff", 1, False)
    assert made["ops"][0] == {
        "change": "added",
        "a": None,
        "b": 0,
        "before": None,
        "after": {"type": "Copy", "inputs": ["raw"], "outputs": ["x"]},
        "details": [],
    }
    assert {row["part"] for row in made["rows"]} >= {"frontier", "gradient map"}


def test_pictures_tell_changes_without_colour(mixed: Diff) -> None:
    source = mixed.dot()
    node = {name: line for line in source.splitlines() if (name := line.strip().split(" ")[0]) and "id=" in line}
    assert "+ Copy" in node["op_0"] and "penwidth=3" in node["op_0"]
    assert "− Accuracy" in node["a_op_6"] and "dotted" in node["a_op_6"]
    assert "~ Relu" in node["op_2"] and "output 0: h → h_relu" in node["op_2"]
    assert "was h" in next(line for line in node.values() if "~ h_relu" in line)
    assert "only in the first" in source and "only in the second" in source and "not alike" in source
    svg = mixed.svg(dark=True)
    assert 'id="a_op_6"' in svg and "#15181c" in svg


def test_dots_of_single_nets_know_nothing_of_changes() -> None:
    assert "only in the" not in gradviz.render.dot(nets.walked(nets.mlp()))


@pytest.mark.parametrize("suffix", [".txt", ".json", ".dot", ".gv", ".svg", ".png", ".mmd", ".graphml"])
def test_each_suffix_writes_one_file(mixed: Diff, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"d{suffix}"
    assert mixed.save(path).path == path
    assert path.stat().st_size > 100
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["d.pb", "d.html", "d.md", "d", "d.exe"])
def test_other_suffixes_are_refused(mixed: Diff, tmp_path: Path, name: str) -> None:
    with pytest.raises(GradvizError):
        mixed.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_neither_net_is_overwritten(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        gradviz.save(nets.mlp(), path)
    found = diff(*(gradviz.load(path) for path in paths), ys=["loss"])
    assert found.same and found.names == tuple(map(str, paths))
    for path in paths:
        with pytest.raises(GradvizError, match="was opened"):
            found.save(path)


def test_odd_names_are_harmless() -> None:
    net = nets.mlp()
    other = copied(net)
    odd = '<b>&"\n\x1b[31m\u202e'
    other.op[0].output[0] = other.op[1].input[0] = odd
    found = diff(net, other, ys=["loss"])
    assert "\x1b" not in found.text() and "\u202e" not in found.text()
    assert "<b>" not in re.sub(r"&lt;b&gt;", "", found.svg())


@pytest.mark.parametrize("name", [each.name for each in samples.SAMPLES])
def test_samples_are_compared_with_their_mended_selves(name: str) -> None:
    sample = next(each for each in samples.SAMPLES if each.name == name)
    ys: Any = sample.ys
    model = gradviz.load(samples.folder() / sample.file)
    walk = gradviz.trace(model, ys)
    if walk.error is None:
        assert diff(walk, gradviz.trace(model, ys)).same
        return
    for remedy in walk.error.remedies:
        found = diff(walk, gradviz.trace(remedy.apply(model), remedy.ys(walk.ys)))
        assert not found.same
        assert found.text() and found.graph() is not None
