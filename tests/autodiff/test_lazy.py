"""Lazy walks: the first events at once, the rest when it is asked for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradviz
from tests.autodiff.nets import SHARED_WEIGHTS, net_of, random_nets


def test_starts_with_what_comes_before_the_first_visit():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"], lazy=True)
    assert [event.kind for event in trace.events] == ["play"] * 4 + ["seed"]
    assert not trace.finished
    assert len(trace.steps) == 0
    assert trace.state_at(-1).input_to_grad == {"loss": "loss_autogen_grad"}


def test_goes_on_by_visits():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"], lazy=True)
    assert not trace.advance(1)
    assert [step.op_index for step in trace.steps] == [3]
    assert trace.advance()
    assert trace.finished


@settings(max_examples=60, deadline=None)
@given(random_nets(), st.integers(1, 4))
def test_ends_like_a_walk_in_one_go(case, visits):
    whole, lazy = gradviz.trace(*case), gradviz.trace(*case, lazy=True)
    while not lazy.advance(visits):
        assert len(lazy.events) < len(whole.events)
    assert len(lazy.events) == len(whole.events)
    assert [event.sentence() for event in lazy.events] == [event.sentence() for event in whole.events]
    assert lazy.input_to_grad == whole.input_to_grad


def test_a_failure_before_the_first_visit_ends_it_at_once():
    trace = gradviz.trace(net_of("StopGradient x -> y"), ["y"], lazy=True)
    assert trace.finished
    assert trace.error.kind == "stop_gradient_orphan"


def test_a_walk_with_nothing_to_do_is_finished_at_once():
    trace = gradviz.trace(gradviz.proto.NetDef(name="empty"), lazy=True)
    assert trace.finished
    assert [event.kind for event in trace.events] == ["finish"]


def test_why_of_an_operator_that_is_yet_to_come():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"], lazy=True)
    assert "has not come to" in str(gradviz.why(trace, op=1))


def test_operators_cannot_be_skipped_from_the_end():
    with pytest.raises(ValueError, match="skip"):
        gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"], skip=-1)
