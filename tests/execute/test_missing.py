import numpy as np
import pytest

from gradviz.execute import Plan, run
from gradviz.execute.missing import MissingFeedsError, describe_missing
from gradviz.nets import Model, NetBuilder
from gradviz.ops.records import Op
from tests.execute.nets import filled_mlp, mlp, mlp_feeds


def missing(net, feeds=None, **options):
    with pytest.raises(MissingFeedsError) as caught:
        run(net, feeds, ys=(), **options)
    assert "\n" not in str(caught.value)
    return caught.value


def picture_net():
    init = NetBuilder("init")
    init.add("XavierFill", [], "w", shape=[4, 1, 2, 2])
    init.add("ConstantFill", [], "b", shape=[4])
    net = NetBuilder("net")
    net.add("Conv", ["data", "w", "b"], "y", kernel=2)
    net.add("Relu", "y", "y")
    net.add("MaxPool", "y", "p", kernel=3, stride=2)
    return Model(net=net.net, init=init.net)


def test_all_missing_feeds_are_asked_for_at_once():
    error = missing(mlp(), {"b1": mlp_feeds()["b1"]})
    assert [each.blob for each in error.missing] == ["x", "w1", "w2", "b2"]


def test_a_missing_feed_is_told_with_shape_reader_and_how_to_feed_it():
    error = missing(picture_net())
    (data,) = error.missing
    assert data.shape == ("N", 1, "H", "W")
    assert data.least == 4
    assert (data.op_index, data.op.type, data.input) == (0, "Conv", 0)
    assert data.feed == "data=1x1x8x8"
    assert "[N, 1, H, W] with H and W at least 4, read by op 0 Conv as input 0" in str(error)
    assert "The init net fills w, b" in str(error)
    run(picture_net(), {"data": np.ones(data.example, np.float32)}, ys=())


def test_the_size_that_a_classifier_was_made_for_is_found():
    net = NetBuilder()
    net.add("Conv", ["data", "w", "b"], "y", kernel=5)
    net.add("MaxPool", "y", "p", kernel=2, stride=2)
    net.add("FC", ["p", "v", "c"], "z")
    feeds = {"w": (20, 3, 5, 5), "b": (20,), "v": (10, 20 * 12 * 12), "c": (10,)}
    error = missing(net.net, {name: np.ones(shape, np.float32) for name, shape in feeds.items()})
    assert error.missing[0].feed == "data=1x3x28x28"


def test_a_feed_for_a_matrix_product():
    assert missing(filled_mlp()).missing[0].feed == "x=1x4"


@pytest.mark.parametrize(
    ("type", "names", "given", "blob", "feed"),
    [
        ("LabelCrossEntropy", "p label", {"p": (2, 3)}, "label", "label=1:int32"),
        ("Gather", "table rows", {"table": (5, 2)}, "rows", "rows=1:int64"),
        ("SparseLengthsSum", "table rows lengths", {"table": (5, 2), "rows": (3,)}, "lengths", "lengths=1:int32"),
        ("Add", "a b", {"a": (2, 3)}, "b", "b=2x3"),
        ("FC", "x w b", {"x": (2, 3), "b": (4,)}, "w", "w=4x3"),
        ("SpatialBN", "x s b m v", dict.fromkeys("sbmv", (7,)), "x", "x=1x7x8x8"),
        ("MyUnknownShape", "x", {}, None, None),
    ],
)
def test_what_readers_want(type, names, given, blob, feed):
    net = NetBuilder()
    net.add(type, names.split(), "y")
    model = net.net
    if blob is None:
        model.op[0].type = "Transpose"
        error = missing(model)
        assert error.missing[0].shape is None
        assert "x=SHAPE" in str(error)
        return
    if type == "SpatialBN":
        model.op[0].arg.add(name="is_test", i=1)
    error = missing(model, {name: np.ones(shape, np.float32) for name, shape in given.items()})
    assert [each.feed for each in error.missing if each.blob == blob] == [feed]


def test_a_plan_lists_what_must_be_fed():
    plan = Plan(filled_mlp(), ["loss"])
    assert plan.missing() == ["x"]
    assert plan.missing(["x"]) == []


def test_a_given_gradient_must_be_fed_too():
    feeds = mlp_feeds()
    with pytest.raises(MissingFeedsError) as caught:
        run(mlp(), feeds, ys={"y": "given"})
    assert [each.blob for each in caught.value.missing] == ["given"]


def test_undeclared_inputs_are_told_all_at_once_and_run_all_the_same():
    net = mlp()
    net.external_input[:] = ["x", "w1"]
    workspace = run(net, mlp_feeds(), ys=())
    (notice,) = workspace.notices
    assert "b1 (read by op 0 FC), w2 (read by op 2 FC), b2 (read by op 2 FC)" in notice
    assert "Caffe2 refuses" in notice


def test_a_net_that_declares_no_inputs_is_taken_as_it_is():
    net = mlp()
    del net.external_input[:]
    assert run(net, mlp_feeds(), ys=()).notices == []


def test_devices_and_engines_are_told_once_per_net():
    net = mlp()
    for op in net.op[:3]:
        op.device_option.device_type = 1
        op.engine = "CUDNN"
    notices = run(net, mlp_feeds(), ys=()).notices
    assert len(notices) == 2
    assert "3 ops CUDA" in notices[0]
    assert notices[1].startswith("engine CUDNN: none here, the default is used for 3 ops")


def test_a_feed_that_nothing_reads_is_told():
    notices = run(mlp(), {**mlp_feeds(), "w11": [1.0]}, ys=()).notices
    assert notices == ["the feed w11 is read by no operator; did you mean w1?"]


def test_of_many_missing_feeds_the_first_are_told():
    net = NetBuilder("many")
    net.add("Sum", [f"x{i}" for i in range(300)], "y")
    error = missing(net.net)
    assert len(error.missing) == 300
    assert "and 292 more" in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("value", ["x", 1.5, [1, 2], ["a"], [0.5], []])
def test_odd_arguments_do_not_keep_the_missing_from_being_told(value):
    net = NetBuilder("odd")
    odd = dict.fromkeys(("kernel", "kernels", "stride", "pad", "pads", "group", "order", "dilation", "axis"), value)
    net.add("Conv", ["data", "w", "b"], "y", **odd)
    net.add("MaxPool", "y", "p", **odd)
    net.add("FC", ["p", "v", "c"], "z", **odd)
    ops = [Op(each) for each in net.net.op]
    for known in ({}, {"w": (4, 1, 2, 2)}, {"data": (1, 1, 5, 5)}, {"w": (4, 1, 2, 2), "v": (3, 4)}):
        told = describe_missing(ops, ["data", "w", "b", "v", "c"], known)
        assert [each.blob for each in told] == ["data", "w", "b", "v", "c"]
