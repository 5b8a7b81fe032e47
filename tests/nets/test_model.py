"""Nets of other origins become ours, and nothing else does."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from gradviz.nets import Model, as_model, as_net
from gradviz.proto import NetDef, OperatorDef
from gradviz.proto.pool import DESCRIPTORS
from tests.nets.making import lamp


@pytest.fixture(scope="module")
def theirs():
    """The NetDef of another generated module: the same message in a pool of its own."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"caffe2.{name}"))


def test_our_own_nets_are_not_copied():
    net = lamp()
    model = Model(net)
    assert as_net(net) is net
    assert as_net(model) is net
    assert as_model(model) is model
    assert as_model(net).net is net
    assert as_model(net).format == "memory"


def test_the_net_of_another_module(theirs):
    other = theirs("NetDef").FromString(lamp().SerializeToString())
    assert not isinstance(other, NetDef)
    assert as_net(other) == lamp()
    assert isinstance(as_net(other), NetDef)


def test_an_object_with_a_proto(theirs):
    class Net:
        def Proto(self):
            return theirs("NetDef").FromString(lamp().SerializeToString())

    assert as_net(Net()) == lamp()


@pytest.mark.parametrize("source", [None, 7, "net.pb", b"net", NetDef, Model, OperatorDef(), object()])
def test_what_is_no_net(source):
    with pytest.raises(TypeError, match=r"a Model or a NetDef is needed, not .*; gradviz\.load opens files"):
        as_net(source)


def test_a_plan_of_another_module_is_no_net(theirs):
    with pytest.raises(TypeError, match="not a PlanDef"):
        as_net(theirs("PlanDef")())


def test_something_that_serializes_to_nonsense():
    class Odd:
        def SerializeToString(self):
            return b"\xff"

    with pytest.raises(TypeError, match="does not serialize"):
        as_net(Odd())


def test_a_name_is_always_there():
    assert Model(NetDef()).name == "net"
    assert Model(NetDef(name="n")).name == "n"
