"""State is the fold of the events, and every event can be undone."""

from hypothesis import given, settings
from hypothesis import strategies as st

import gradviz
from gradviz.autodiff.events import Accumulate, Fail, Finish, Make, Seed
from gradviz.autodiff.state import State
from tests.autodiff.nets import SHARED_WEIGHTS, TWO_GATHERS, net_of, random_nets


def warmed(trace, position):
    """A state whose parts are all made, so that stepping has to keep them up."""
    state = trace.state_at(position)
    state.snapshot()
    return state


@settings(max_examples=80, deadline=None)
@given(random_nets())
def test_stepping_forward_equals_jumping(case):
    trace = gradviz.trace(*case)
    state = warmed(trace, 0)
    for position in range(1, len(trace.events)):
        state.forward()
        assert state.snapshot() == trace.state_at(position).snapshot(), trace.events[position]


@settings(max_examples=80, deadline=None)
@given(random_nets())
def test_events_undo_exactly(case):
    trace = gradviz.trace(*case)
    state = warmed(trace, -1)
    for position in range(len(trace.events) - 2, -1, -1):
        state.back()
        assert state.snapshot() == trace.state_at(position).snapshot(), trace.events[position + 1]


@settings(max_examples=60, deadline=None)
@given(random_nets(), st.data())
def test_any_walk_of_the_cursor_ends_where_a_jump_does(case, data):
    trace = gradviz.trace(*case)
    state = warmed(trace, 0)
    for _ in range(20):
        target = data.draw(st.integers(0, len(trace.events) - 1))
        while state.position < target:
            state.forward()
        while state.position > target:
            state.back()
        assert state == trace.state_at(target)


@settings(max_examples=150, deadline=None)
@given(random_nets())
def test_every_walk_ends_or_fails_with_a_gradient_error(case):
    trace = gradviz.trace(*case)
    last = trace.events[-1]
    assert isinstance(last, Finish | Fail)
    assert (trace.error is None) == isinstance(last, Finish)


@settings(max_examples=100, deadline=None)
@given(random_nets())
def test_every_gradient_op_is_made_by_exactly_one_event(case):
    trace = gradviz.trace(*case)
    made = []
    for event in trace.events:
        if isinstance(event, Make):
            made += range(event.first, event.first + len(event.gradient_ops))
        elif isinstance(event, Accumulate):
            made += range(event.first, event.first + len(event.ops))
        elif isinstance(event, Seed) and event.gradient_op is not None:
            made.append(event.gradient_op)
    assert made == list(range(len(trace.gradient_ops)))


@settings(max_examples=100, deadline=None)
@given(random_nets())
def test_sums_have_as_many_inputs_as_generators_meet(case):
    trace = gradviz.trace(*case)
    for position, event in enumerate(trace.events):
        if isinstance(event, Accumulate):
            generators = trace.state_at(position).gradient_generators[event.blob][event.version]
            assert {len(op.inputs) for op in event.ops} == {len(generators)}


def test_state_after_the_last_event_is_the_result():
    trace = gradviz.trace(net_of(*SHARED_WEIGHTS), ["loss"])
    state = trace.state_at(-1)
    assert state.input_to_grad == trace.input_to_grad
    assert state.gradient_op_count == len(trace.gradient_ops)
    assert [state.outputs_of(i) for i in range(len(trace.gradient_ops))] == [
        list(op.output) for op in trace.gradient_ops
    ]


def test_locals_live_as_long_as_the_visit():
    trace = gradviz.trace(net_of(*TWO_GATHERS), ["loss"])
    mul = next(step for step in trace.steps if step.op.type == "Mul")
    assert trace.state_at(mul.first_event).locally_generated_blobs == []
    assert trace.state_at(mul.last_event).locally_generated_blobs == ["e_grad", "f_grad"]
    assert trace.state_at(-1).locally_generated_blobs == []


def test_positions_count_from_the_end_too():
    trace = gradviz.trace(net_of("Relu x -> y"), ["y"])
    assert trace.state_at(-1) == trace.state_at(len(trace.events) - 1)
    assert isinstance(trace.state_at(0), State)
