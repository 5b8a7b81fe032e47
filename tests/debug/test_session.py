"""The session: every verb, and its twin backwards."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradviz
from gradviz.debug import Breakpoint, Session
from gradviz.debug.breakpoints import parse
from tests.autodiff.nets import IN_PLACE_DROPOUT, SHARED_WEIGHTS, net_of, random_nets


@pytest.fixture
def session():
    return Session(gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"]))


def test_steps_and_steps_back(session):
    session.step(7)
    assert session.position == 7
    session.back(3)
    assert session.position == 4


def test_ends_hold(session):
    assert session.back().reason == "start"
    assert session.step(10_000).reason == "end"
    assert session.position == session.last


def test_by_operator(session):
    session.goto_op(3)
    opened = session.position
    session.step_op()
    assert (session.event.kind, session.event.op_index) == ("enter", 2)
    session.back_op()
    assert session.position == opened
    session.step(3)
    session.back_op()
    assert session.position == opened


def test_out_goes_to_the_end_of_the_operator_then_of_the_next(session):
    session.goto_op(2)
    step = next(step for step in session.trace.steps if step.op_index == 2)
    session.step()
    session.out()
    assert session.position == step.last_event
    session.out()
    assert session.event.op_index == 1
    session.to_start_of_op()
    assert session.event.kind == "enter"


def test_by_phase(session):
    session.goto_op(1)
    phases = [session.event.phase]
    while session.event.op_index == 1:
        session.step_phase()
        phases.append(session.event.phase)
    assert phases[:6] == ["enter", "make", "check", "collect", "frontier", "map"]
    session.goto_op(1)
    session.step(4)
    session.back_phase()
    assert session.event.name == "c"
    session.back_phase()
    assert session.event.phase == "make"


def test_runs_to_breakpoints_both_ways(session):
    session.toggle(Breakpoint("type", "FC"))
    assert session.run().reason == "breakpoint"
    assert session.event.op_index == 1
    session.run()
    assert session.event.op_index == 0
    assert session.run().reason == "end"
    session.run_back()
    assert session.event.op_index == 0
    session.run_back()
    assert session.event.op_index == 1
    assert session.run_back().reason == "start"


@pytest.mark.parametrize(
    ("breakpoint", "kind"),
    [
        (Breakpoint("op", 2), "enter"),
        (Breakpoint("blob", "w"), "make"),
        (Breakpoint("phase", "accumulate"), "verify"),
        (Breakpoint("event", "rename"), "rename"),
    ],
)
def test_kinds_of_breakpoints(session, breakpoint, kind):
    session.toggle(breakpoint)
    stop = session.run()
    assert stop.breakpoint is breakpoint
    assert session.event.kind == kind


def test_breakpoint_on_errors():
    session = Session(gradviz.trace(net_of(*IN_PLACE_DROPOUT), ["y"]))
    session.toggle(Breakpoint("error"))
    assert session.run().reason == "breakpoint"
    assert session.event.kind == "fail"
    session.to_start()
    session.toggle(Breakpoint("error"))
    assert session.run().reason == "error"


def test_ignored_and_disabled_breakpoints(session):
    session.toggle(Breakpoint("type", "FC", ignore=1))
    session.run()
    assert session.event.op_index == 0
    session.to_start()
    session.breakpoints[0].enabled = False
    assert session.run().reason == "end"


def test_watch_stops_when_the_blob_changes(session):
    session.watch("w")
    session.goto_op(3)
    stop = session.run()
    assert stop.reason == "watch"
    assert stop.before != stop.after
    assert session.event.blob == "w"
    assert not session.watch("w")
    assert session.run().reason == "end"


def test_run_to_an_operator_in_either_direction(session):
    session.run_to_op(0)
    assert session.event.op_index == 0
    session.run_to_op(2)
    assert session.event.op_index == 2


def test_goto_an_operator_that_does_not_exist(session):
    with pytest.raises(gradviz.GradvizError, match="there is no op 9: ops go from 0 to 3"):
        session.goto_op(9)


def test_finds_operators_around_the_ends(session):
    assert session.find_op("fc", 0) == 1
    assert session.find_op("FC", 1) == 0
    assert session.find_op("loss", 0, forward=False) == 3
    assert session.find_op("nowhere", 0) is None
    with pytest.raises(gradviz.GradvizError, match="no regular expression"):
        session.find_op("(", 0)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", "op", 7),
        ("op:7", "op", 7),
        ("type:FC", "type", "FC"),
        ("w", "blob", "w"),
        ("blob:7", "blob", "7"),
        ("a:b", "blob", "a:b"),
        ("error", "error", ""),
    ],
)
def test_breakpoints_as_they_are_typed(text, kind, value):
    assert parse(text).key == (kind, value)


def test_breakpoint_on_something_else_is_refused():
    with pytest.raises(gradviz.GradvizError, match="a breakpoint stands on"):
        Breakpoint("moon")
    with pytest.raises(gradviz.GradvizError, match="takes its index"):
        parse("op:x")


VERBS = ("step", "back", "step_phase", "back_phase", "step_op", "back_op", "out", "to_start_of_op")


@settings(max_examples=60, deadline=None)
@given(random_nets(), st.lists(st.tuples(st.sampled_from(VERBS), st.integers(1, 9)), max_size=25))
def test_any_row_of_verbs_leaves_the_state_of_a_jump(case, verbs):
    session = Session(gradviz.trace(*case))
    for verb, count in verbs:
        before = session.position
        getattr(session, verb)(count)
        assert 0 <= session.position <= session.last
        forward = verb in ("step", "step_phase", "step_op", "out")
        assert session.position >= before if forward else session.position <= before
        assert session.state == session.trace.state_at(session.position)


def test_what_is_no_breakpoint_and_no_name_is_refused_at_once():
    session = Session(gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"]))
    for odd in ("type:FC", 3, None, ["x"]):
        with pytest.raises(TypeError, match="a Breakpoint is needed"):
            session.toggle(odd)
    for odd in (3, None, ["x"]):
        with pytest.raises(TypeError, match="by its name"):
            session.watch(odd)
    assert not session.breakpoints
    assert not session.watches
