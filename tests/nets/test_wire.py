"""The explaining reader: what it finds, where, and that it agrees with protobuf."""

from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from gradviz.nets import strict, wire
from gradviz.proto import MetaNetDef, NetDef, TensorProto
from tests.nets.making import lamp
from tests.nets.making import wire as field

SHAPE = wire.shape_of(NetDef.DESCRIPTOR)


def found(data, shape=SHAPE):
    """Kind, offset and way (names and indices) of each finding."""
    findings = wire.findings(data, shape)
    return [(each.kind, each.offset, [(place.name, place.index) for place in each.way]) for each in findings]


def test_a_lawful_net_has_no_findings():
    assert found(lamp().SerializeToString()) == []


def test_each_kind_is_found_in_its_place():
    op = field(4, b"A")
    assert found(field(2, op + field(99, 1))) == [("unknown", 5, [("op", 0), ("field 99", 0)])]
    assert found(field(2, op) + field(2, op + field(2, 7))) == [("mistyped", 10, [("op", 1), ("output", 0)])]
    assert found(field(1, b"\xff")) == [("not utf-8", 2, [("name", 0)])]
    assert found(field(2, b"\x22\x09A")) == [("broken", 2, [("op", 0), ("type", 0)])]
    assert found(field(2, op) + b"\x0c") == [("broken", 5, [("name", 0)])]
    assert found(b"\xff" * 11) == [("broken", 0, [])]


def test_a_cut_says_how_much_is_missing():
    data = field(2, field(4, b"Softmax") + field(1, b"x"))
    (cut,) = wire.findings(data[:6], SHAPE)
    assert (cut.kind, cut.offset, cut.missing) == ("cut", 6, len(data) - 6)
    assert [(place.name, place.start, place.body) for place in cut.way] == [("op", 0, 2), ("type", 2, 4)]


def test_packed_numbers_are_lawful_in_both_forms():
    shape = wire.shape_of(TensorProto.DESCRIPTOR)
    assert found(TensorProto(float_data=[1, 2]).SerializeToString(), shape) == []
    assert found(b"\x1d\0\0\0\0\x1d\0\0\0\0" + field(1, b"\x01\x02"), shape) == []


def test_a_walk_that_is_too_long_is_given_up():
    kinds = [each.kind for each in wire.findings(field(1, b"a") * 10, SHAPE, most=4)]
    assert kinds == ["given up"]


@given(st.binary(max_size=60))
def test_what_protobuf_refuses_has_a_fatal_finding(data):
    """And the other way round: without a finding, protobuf takes the bytes and knows all of them."""
    kinds = {each.kind for each in wire.findings(data, SHAPE)}
    try:
        NetDef.FromString(data)
    except DecodeError:
        assert kinds & {"cut", "broken", "mistyped", "unknown"}, "groups are the one thing that only protobuf reads"
    else:
        assert "cut" not in kinds
    if not kinds:
        message, knows_all = strict.parse(NetDef, data)
        assert message is None or knows_all


def test_a_strict_reading():
    assert strict.parse(NetDef, lamp().SerializeToString()) == (lamp(), True)
    assert strict.parse(NetDef, field(2, field(4, b"\xff"))) == (None, False)
    assert strict.parse(MetaNetDef, field(2, b"")) == (None, False), "a required field is missing"
    kept, knows_all = strict.parse(NetDef, field(99, b"new"))
    assert not knows_all
    assert kept.SerializeToString() == field(99, b"new")
