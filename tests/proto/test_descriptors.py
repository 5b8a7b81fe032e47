"""Our message classes have the fields of Caffe2 1.8.1, and live beside another set of the same names."""

import json
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from gradviz.proto import NetDef, caffe2, hsm, metanet
from gradviz.proto.pool import DESCRIPTORS
from tests.proto import facts

SCHEMAS = Path(__file__).parents[1] / "data" / "schema"
FILES = {"caffe2": caffe2, "metanet": metanet, "hsm": hsm}


@pytest.mark.parametrize("name", FILES)
def test_every_field_is_as_recorded(name):
    recorded = (SCHEMAS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert facts.of_file(FILES[name].DESCRIPTOR) == recorded


@pytest.mark.shared
@pytest.mark.parametrize("name", FILES)
def test_the_recorded_lines_are_the_whole_schema(name, shared):
    schema = json.loads((shared / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    recorded = (SCHEMAS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert facts.of_schema(schema) == recorded


def test_a_second_set_of_the_same_names_lives_in_the_default_pool():
    """As a real Caffe2 in the same process would: its generated modules register in protobuf's default pool."""
    other = _net_def_of_the_default_pool()
    assert other.DESCRIPTOR.full_name == NetDef.DESCRIPTOR.full_name
    assert other is not NetDef
    theirs = other(name="both")
    theirs.op.add(type="Relu", input=["x"], output=["y"])
    ours = NetDef.FromString(theirs.SerializeToString())
    assert (ours.name, ours.op[0].type) == ("both", "Relu")
    assert other.FromString(ours.SerializeToString()) == theirs


def test_a_net_survives_both_formats():
    net = NetDef(name="n", external_input=["x"], external_output=["y"])
    op = net.op.add(type="If", input=["c"], output=["y"], is_gradient_op=False)
    op.device_option.device_type = 1
    op.arg.add(name="f").f = 0.1
    op.arg.add(name="s").s = b"\xff\x00 bytes"
    op.arg.add(name="then_net").n.op.add(type="Relu", input=["x"], output=["y"])
    op.arg.add(name="t").t.float_data.extend([1.5, float("inf")])
    assert NetDef.FromString(net.SerializeToString()) == net
    assert text_format.Parse(text_format.MessageToString(net), NetDef()) == net
    assert net.op[0].HasField("is_gradient_op"), "an explicit default is not the same as an unset field"


def _net_def_of_the_default_pool():
    pool = descriptor_pool.Default()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("caffe2.NetDef"))
