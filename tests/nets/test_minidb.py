"""Predictor exports in a minidb: the net by its key, the parameters beside it, pieces joined."""

import struct

import numpy as np
import pytest

from gradviz import LoadError
from gradviz.nets import NetBuilder, load, tensors
from gradviz.proto import BlobProto, MetaNetDef
from tests.nets.making import lamp
from tests.nets.test_tensors import pieces

WEIGHTS = np.arange(12, dtype="float32").reshape(4, 3)


def record(key, blob):
    value = blob.SerializeToString()
    return struct.pack("<II", len(key), len(value)) + key.encode() + value


def tensor_record(key, tensor):
    return record(key, BlobProto(name=tensor.name, type="Tensor", tensor=tensor))


def meta(**nets):
    found = MetaNetDef()
    found.blobs.add(key="INPUTS_BLOB_TYPE", value=["dusk"])
    for key, net in nets.items():
        found.nets.add(key=key).value.CopyFrom(net)
    return record("!!META_NET_DEF", BlobProto(type="std::string", content=found.SerializeToString()))


def loader():
    net = NetBuilder("load")
    net.add("Load", "!!PREDICTOR_DBREADER", ["w", "b"])
    net.add("ConstantFill", [], "dusk", shape=[1, 3])
    return net.net


def nets():
    return meta(GLOBAL_INIT_NET_TYPE=loader(), PREDICT_NET_TYPE=lamp())


def export():
    bias = tensors.from_array(np.ones(4, "float32"), "b")
    first, second = pieces(WEIGHTS, 5)
    return nets() + tensor_record("b#%0", bias) + tensor_record("w#%0", first) + tensor_record("w#%1", second)


def opened(folder, content):
    path = folder / "export.minidb"
    path.write_bytes(content)
    return load(path)


def test_a_predictor_export_opens_with_its_parameters(tmp_path):
    model = opened(tmp_path, export())
    assert (model.net, model.format, model.inputs) == (lamp(), "minidb", ["dusk"])
    assert list(model.parameters) == ["b", "w"]
    assert (tensors.to_array(model.parameters["w"]) == WEIGHTS).all()


def test_a_load_of_parameters_that_are_at_hand_is_left_out(tmp_path):
    assert [op.type for op in opened(tmp_path, export()).init.op] == ["ConstantFill"]
    assert [op.type for op in opened(tmp_path, nets()).init.op] == ["Load", "ConstantFill"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (export()[:-5], "cut short or damaged: a minidb whose record at byte"),
        (export() + b"\0", "cut short or damaged"),
        (
            export()[len(meta(GLOBAL_INIT_NET_TYPE=loader(), PREDICT_NET_TYPE=lamp())) :],
            "3 records (b, w) without a net",
        ),
        (meta(), "without nets"),
        (record("!!META_NET_DEF", BlobProto(content=b"\xff")), "is damaged"),
        (meta(PREDICT_NET_TYPE=lamp()) + tensor_record("w#%1", pieces(WEIGHTS, 5)[1]), "nothing holds element 0"),
    ],
)
def test_what_is_no_export_says_so(tmp_path, content, says):
    with pytest.raises(LoadError) as raised:
        opened(tmp_path, content)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_blobs_that_are_no_tensors_are_named(tmp_path):
    model = opened(tmp_path, meta(PREDICT_NET_TYPE=lamp()) + record("lock", BlobProto(type="mutex", content=b"x")))
    assert model.notices[0] == "left out, since they are no tensors: lock"


@pytest.mark.shared
def test_the_recorded_export(shared):
    model = load(shared / "nets" / "own" / "predictor_export.minidb")
    assert [op.type for op in model.net.op] == ["FC", "Relu", "FC", "Softmax"]
    shapes = {name: tensors.to_array(tensor).shape for name, tensor in model.parameters.items()}
    assert shapes == {"h_w": (4, 3), "h_b": (4,), "y_w": (2, 4), "y_b": (2,)}
    assert (model.inputs, model.outputs) == (["data"], ["prob"])
    assert {op.type for op in model.init.op} == {"ConstantFill"}
