"""Events, state and values as text and JSON."""

import json

import numpy as np
import pytest

import gradviz
from gradviz.autodiff.events import PHASES
from gradviz.errors import GradvizError
from gradviz.execute import Plan
from gradviz.render import text
from gradviz.render.values import rows_of
from tests.render import nets

ALWAYS = {"index", "kind", "phase", "op_index", "blobs", "sentence"}


@pytest.mark.parametrize("name", nets.ALL)
def test_every_event_is_one_line_of_json(name: str) -> None:
    trace = nets.walked(nets.ALL[name]())
    for index, event in text.chosen(trace, len(trace.events) - 1):
        line = text.json_line(index, event)
        made = json.loads(line)
        assert "\n" not in line
        assert line.isascii()
        assert set(made) >= ALWAYS
        assert made["phase"] in PHASES
        assert made["kind"] in text._KINDS
        assert made["sentence"] == event.sentence()


def test_fields_of_events() -> None:
    trace = nets.walked(nets.embedding())
    events = [text.as_json(*each) for each in text.chosen(trace, len(trace.events))]
    seed = next(each for each in events if each["kind"] == "seed")
    assert seed["op"] == {"type": "ConstantFill", "inputs": ["loss"], "outputs": ["loss_autogen_grad"]}
    passing = next(each for each in events if each["kind"] == "pass_through")
    assert passing["generator"]["gradient"] == {"indices": "right", "values": "c_grad"}
    assert passing["generator"]["op_values"] is None
    last = text.as_json(*list(text.chosen(nets.walked(nets.overwritten()), 999))[-1])
    assert last["error"]["kind"] == "input_overwritten"
    assert last["error"]["facts"]["blob"] == "h"


def test_filters() -> None:
    trace = nets.walked(nets.mlp())
    last = len(trace.events) - 1
    assert {event.phase for _, event in text.chosen(trace, last, ["check", "seed"])} == {"check", "seed"}
    assert {event.kind for _, event in text.chosen(trace, last, ["verify"])} == {"verify"}
    assert {event.op_index for _, event in text.chosen(trace, last, (), ["FC"])} == {0, 2}
    assert {event.op_index for _, event in text.chosen(trace, last, (), ["3"])} == {3}
    assert [index for index, _ in text.chosen(trace, 4)] == [0, 1, 2, 3, 4]
    with pytest.raises(GradvizError, match="no phase or kind of event 'nothing'"):
        text.chosen(trace, last, ["nothing"])
    with pytest.raises(GradvizError, match="did you mean Softmax"):
        text.chosen(trace, last, (), ["Softmx"])
    with pytest.raises(GradvizError, match="index from 0 to 6"):
        text.chosen(trace, last, (), ["7"])


def test_control_codes_in_names_stay_on_their_line() -> None:
    trace = gradviz.trace(nets.net("n", ("Relu", "a\x1b[31m", "b\nc"), outputs=["b\nc"]))
    for each in text.chosen(trace, len(trace.events)):
        line = text.line(*each)
        assert line.isprintable()
    for line in (*text.state_lines(trace, 4), *text.summary_lines(trace)):
        assert line.isprintable()


@pytest.mark.parametrize("name", nets.ALL)
def test_state_agrees_as_text_and_as_json(name: str) -> None:
    trace = nets.walked(nets.ALL[name]())
    for at in range(0, len(trace.events), 3):
        made = json.loads(json.dumps(text.state_as_json(trace, at)))
        lines = list(text.state_lines(trace, at))
        assert made["index"] == at
        assert f"  gradient ops       {made['gradient_ops']}" in lines
        assert f"  gradient map ({len(made['gradient_map'])})" in lines


def test_summary() -> None:
    made = text.summary_as_json(nets.walked(nets.overwritten()))
    assert made["states"] == {"waiting": 1, "failed": 1, "skipped": 1, "stopped": 1, "done": 2}
    assert made["error"]["op_index"] == 1
    assert made["input_to_grad"] == {}
    lines = list(text.summary_lines(nets.walked(nets.mlp())))
    assert any(line.startswith("ys") and "loss (given)" in line for line in lines)


def test_long_lists_are_cut_and_say_so() -> None:
    ops = [("Relu", f"h{i}", f"h{i + 1}") for i in range(100)]
    trace = nets.walked(nets.net("chain", *ops, ("AveragedLoss", "h100", "loss")))
    lines = list(text.state_lines(trace, len(trace.events) - 1))
    assert sum("older ones" in line for line in lines) == 3


def _rows(net, feeds, ys, **options):
    plan = Plan(net, ys)
    return [json.loads(json.dumps(row)) for row in rows_of(plan.run(feeds, **options), plan.trace)]


def test_values_have_the_versions_of_the_walk_and_their_gradient() -> None:
    net = nets.net("inplace", ("FC", "x w b", "h"), ("Relu", "h", "h"), ("AveragedLoss", "h", "loss"))
    feeds = {"x": np.ones((2, 3), "f4"), "w": np.ones((4, 3), "f4"), "b": np.zeros(4, "f4")}
    rows = _rows(net, feeds, ["loss"])
    by = {(row["blob"], row["version"]): row for row in rows}
    assert [(row["blob"], row["version"]) for row in rows][3:7] == [
        ("h", 0),
        ("h", 1),
        ("loss", 0),
        ("loss_autogen_grad", 0),
    ]
    assert by["x", 0]["op"] is None
    assert by["h", 0]["gradient"] == "h_grad"
    assert by["h", 1]["gradient"] is None
    assert by["w", 0]["gradient_figures"]["shape"] == [4, 3]
    assert by["loss", 0]["mean"] == 3.0
    again = _rows(net, feeds, ["loss"], iterations=2)
    assert [(row["blob"], row["version"]) for row in again] == [(row["blob"], row["version"]) for row in rows]


def test_values_that_are_not_finite_are_null() -> None:
    rows = _rows(nets.net("bad", ("Log", "x", "y"), outputs=["y"]), {"x": np.array([-1.0], "f4")}, ())
    assert rows[-1]["nan"] == 1
    assert rows[-1]["min"] is None


def test_a_failure_is_explained_and_mended_in_the_summary() -> None:
    trace = nets.walked(nets.overwritten())
    lines = list(text.summary_lines(trace))
    assert any(line.startswith("why            Asked: ") for line in lines)
    assert any(line.startswith("what mends it  1. ") for line in lines)
    error = json.loads(json.dumps(text.summary_as_json(trace)))["error"]
    assert [each["title"] for each in error["remedies"]] == [str(each) for each in trace.error.remedies]
    assert error["explanation"]
