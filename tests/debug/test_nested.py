"""Stepping into nested nets, with breadcrumbs."""

import pytest

import gradviz
from gradviz.debug import Session
from gradviz.proto import NetDef


@pytest.fixture
def session():
    body = NetDef(name="body")
    body.op.add(type="Mul", input=["a", "b"], output=["t"])
    body.op.add(type="Relu", input=["t"], output=["y"])
    net = gradviz.NetBuilder("outer")
    args = {"net": body, "inner_blobs": ["a", "b", "y"], "outer_blobs_idx": [0, 1, 2]}
    net.add("Do", ["A", "B", "scope"], ["Y", "scope"], **args)
    return Session(gradviz.trace(net.net, ["Y"]))


def test_a_visit_to_a_control_operator_has_a_door(session):
    assert session.doors() == []
    session.goto_op(0)
    assert session.doors() == ["net"]


def test_into_the_nested_walk_and_back(session):
    session.goto_op(0)
    inner = session.into()
    assert inner.breadcrumbs == ["outer", "op 0 net"]
    assert [op.type for op in inner.trace.ops] == ["Mul", "Relu"]
    inner.to_end()
    assert inner.event.kind == "finish"
    assert inner.parent is session
    assert inner.trace.input_to_grad["a"] == "a_grad"


def test_no_door_is_said_so(session):
    with pytest.raises(gradviz.GradvizError, match="no nested walk"):
        session.into()


def test_the_door_is_open_where_the_nested_walk_failed():
    body = NetDef(name="body")
    body.op.add(type="ArgMax", input=["a"], output=["y"])
    net = gradviz.NetBuilder("outer")
    args = {"net": body, "inner_blobs": ["a", "y"], "outer_blobs_idx": [0, 1]}
    net.add("Do", ["A", "scope"], ["Y", "scope"], **args)
    session = Session(gradviz.trace(net.net, ["Y"]))
    session.to_end()
    inner = session.into()
    assert inner.trace.error.kind == "should_not_do_gradient"
