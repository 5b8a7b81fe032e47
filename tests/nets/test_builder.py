"""The builder says operators as they are, and works out what the net reads and gives."""

import pytest

from gradviz.errors import GradvizError
from gradviz.nets import NetBuilder
from gradviz.proto import DeviceOption


def test_inputs_and_outputs_are_worked_out():
    net = NetBuilder("n", inputs=["data", "label"])
    hidden = net.add("FC", ["data", "w", "b"], "hidden")
    assert hidden == "hidden"
    assert net.add("Split", hidden, ["left", "right"]) == ["left", "right"]
    net.add("Relu", "left", "left")
    net.add("Sum", ["right", "label"], "right")
    built = net.net
    assert list(built.external_input) == ["data", "label", "w", "b"]
    assert list(built.external_output) == ["left", "right"]
    assert [op.type for op in built.op] == ["FC", "Split", "Relu", "Sum"]
    assert list(built.op[1].output) == ["left", "right"]


def test_outputs_may_be_given():
    net = NetBuilder(outputs=["hidden"])
    net.add("Copy", "x", "hidden")
    net.add("Copy", "hidden", "y")
    assert list(net.net.external_output) == ["hidden"]


def test_an_operator_has_what_was_said_and_no_more():
    net = NetBuilder("n", device=1)
    net.add("FC", "x", "y", name="first", engine="CUDNN", axis=2, order="NCHW", scale=0.5, dims=[1, 2])
    net.add("Relu", "y", "z", device=DeviceOption(device_type=6, device_id=3))
    first, second = net.net.op
    assert (first.name, first.engine, first.device_option.device_type) == ("first", "CUDNN", 1)
    assert [arg.name for arg in first.arg] == ["axis", "order", "scale", "dims"]
    assert (first.arg[0].i, first.arg[1].s, first.arg[2].f, list(first.arg[3].ints)) == (2, b"NCHW", 0.5, [1, 2])
    assert second.device_option.device_id == 3
    assert [field.name for field, _ in second.ListFields()] == ["input", "output", "type", "device_option"]


def test_a_builder_as_an_argument_stands_for_its_net():
    inner = NetBuilder("inner")
    inner.add("Relu", "x", "y")
    outer = NetBuilder("outer", loop=inner)
    outer.add("If", "c", "y", then_net=inner, else_net=inner.net)
    assert [arg.n for arg in outer.net.op[0].arg] == [inner.net, inner.net]
    assert outer.net.arg[0].n == inner.net


def test_the_net_is_a_copy():
    net = NetBuilder("n")
    net.add("Relu", "x", "y")
    before = net.net
    net.add("Relu", "y", "z")
    assert (len(before.op), len(net.net.op)) == (1, 2)
    assert list(net.net.external_output) == ["z"]


def test_nets_nested_deeper_than_protobuf_reads_are_refused():
    inner = NetBuilder("inner")
    inner.add("Relu", "x", "y")
    with pytest.raises(GradvizError, match="nested too deeply"):
        for _ in range(60):
            outer = NetBuilder("outer")
            outer.add("If", "c", "y", then_net=inner)
            inner = outer
