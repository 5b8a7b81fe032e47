"""What is no net is refused in one line that says what it is and what to do."""

import bz2
import gzip
import io
import os
import pickle
import re
import tarfile
import zipfile

import numpy as np
import pytest

from gradviz import LoadError
from gradviz.nets import load
from gradviz.proto import BlobProto, TensorProto, TensorProtos
from tests.nets.making import as_text, lamp, lamp_init, wire


def refusal(path):
    with pytest.raises(LoadError) as raised:
        load(path)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path)).strip()


def refused(folder, content, name="model.pb"):
    path = folder / name
    path.write_bytes(content)
    return refusal(path)


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name.replace("__", "/").replace("_", "."))  # with no time in it
            archive.writestr(member, content)
    return out.getvalue()


def tarred():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.pb"))
    return out.getvalue()


def npz():
    out = io.BytesIO()
    np.savez(out, weight=np.zeros(3), bias=np.zeros(2))
    return out.getvalue()


def npy():
    out = io.BytesIO()
    np.save(out, np.zeros(3))
    return out.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0123456789abcdef" * 4 + b"\nsize 6181234\n"
PAGE = b"\n<!-- saved -->\n<!DOCTYPE html>\n<html><head><title>model.pb \n at master</title></head></html>"
ONNX = wire(1, 7) + wire(2, b"pytorch") + wire(3, b"1.7") + wire(7, wire(1, wire(4, b"Relu"))) + wire(8, wire(2, 11))
CAFFE = wire(1, b"net") + 2 * wire(100, wire(1, b"conv") + wire(2, b"Convolution"))
OLD_CAFFE = wire(1, b"net") + 3 * wire(2, wire(2, b"data") + wire(3, b"conv") + wire(4, b"conv") + wire(5, 4))
GRAPH = 2 * wire(1, wire(1, b"x") + wire(2, b"Placeholder")) + wire(4, wire(1, 22))
TENSOR = TensorProto(dims=[2], float_data=[1, 2], name="w")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty (0 bytes)"),
        (b"  \n# nothing\n", "nothing but blanks and comments"),
        (POINTER, "Git LFS pointer of 132 bytes, not the model itself (6,181,234 bytes, sha256 0123456789ab…): run"),
        (POINTER.replace(b"\n", b"\r\n"), "run `git lfs pull`"),
        (PAGE, 'saved web page ("model.pb at master")'),
        (b'{"message": "Not Found"}', "is JSON"),
        (b"<?xml version='1.0'?><net/>", "XML"),
        (gzip.compress(b"net", mtime=0), "compressed with gzip"),
        (bz2.compress(b"net"), "compressed with bzip2"),
        (tarred(), "tar archive"),
        (zipped(model_pb=b"x", readme_txt=b"y"), "zip archive (model.pb, readme.txt): unpack"),
        (zipped(model_pb=b"x")[:40], "zip archive, and a damaged one"),
        (zipped(archive__data_pkl=b"x"), "PyTorch file"),
        (npz(), "NumPy archive (.npz) of 2 arrays (weight, bias)"),
        (npy(), "NumPy array"),
        (pickle.dumps({"a": 1}), "Python pickle"),
        (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02", "PyTorch file"),
        (b"\x89HDF\r\n\x1a\n\0\0", "HDF5"),
        (b"\x1c\0\0\0TFL3\0\0\0\0", "TensorFlow Lite"),
        (ONNX, 'ONNX model (from "pytorch 1.7"), not a Caffe2 net: convert it'),
        (ONNX[:-3], "ONNX model"),
        (CAFFE, "Caffe 1 model (.caffemodel, 2 layers)"),
        (OLD_CAFFE, "Caffe 1 model (.caffemodel of an old form, 3 layers)"),
        (GRAPH, "TensorFlow graph (2 nodes)"),
        (TensorProtos(protos=[TENSOR, TENSOR]).SerializeToString(), "holds 2 tensors (w, w), not a net"),
        (TENSOR.SerializeToString(), "single tensor of shape [2]"),
        (BlobProto(name="w", type="Tensor", tensor=TENSOR).SerializeToString(), "saved blob"),
        (bytes(range(256)) * 4, "1,024 bytes that are neither net text nor a protobuf of Caffe2"),
        (b"\0" * 64, "neither net text nor a protobuf"),
        (b"\x12\0" * 99, "say nothing that a net says"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_the_file_is(tmp_path, content, says):
    assert says in refused(tmp_path, content)


CAFFE_TEXT = """name: "small"
input: "pixels"
layer { name: "ip1" type: "InnerProduct" bottom: "pixels" top: "ip1" param { weight_filler { type: "xavier" } } }
layer { name: "act1" type: "ReLU" bottom: "ip1" top: "ip1" }
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CAFFE_TEXT, "net of Caffe 1 (2 layers: InnerProduct, ReLU), not of Caffe2: translate it first"),
        ('net: "train.prototxt"\nbase_lr: 0.01\nlr_policy: "step"\n', "solver of Caffe 1"),
        ('ir_version: 3\ngraph { node { op_type: "Relu" } }', "ONNX model as text"),
        ('node { name: "x" op: "Placeholder" }', "TensorFlow graph as text (1 node)"),
        (as_text(TensorProtos(protos=[TENSOR])), "holds 1 tensor (TensorProtos)"),
        (as_text(TENSOR), "single tensor"),
        ("dear reader,\nhow are you?\n", 'line 1, column 1: NetDef has no field "dear"'),
        ('op { type: "A" }\nexternal_imput: "x"', 'has no field "external_imput"; did you mean external_input'),
        ('op { type: "A" }\nexternal_imput: "x"', "line 2, column 1: NetDef"),
        ('op {\n  type: "A"\n  inputs: "x"\n}', '(A): OperatorDef has no field "inputs"; did you mean input'),
        ('op {\n  type: "Relu"\n  input: x\n}\nop { type: "A" }', "line 3, column 10, operator #0 (Relu)"),
        ('op { type: "Relu" }\nop { type: "Tanh" arg { name: "i" i: 1.5 } }', "line 2, column 38, operator #1 (Tanh)"),
    ],
)  # fmt: skip
def test_what_the_text_is(tmp_path, text, says):
    assert says in refused(tmp_path, text.encode(), "net.pbtxt")


def test_a_cut_binary_says_what_is_there(tmp_path):
    content = lamp().SerializeToString()
    second = content.index(b"lit", content.index(b"FC"))
    said = refused(tmp_path, content[: second + 2])
    assert f"cut short: it ends at byte {second + 2} inside operator #1 (which begins at byte {second - 4})" in said
    assert 'in its input #0 after "li"' in said
    assert "read whole: 1 operator (#0 FC)" in said
    said = refused(tmp_path, content[: content.index(b"Sigmoid")])
    assert "reads lit, writes glow), in its type #0, at least 7 bytes missing" in said


@pytest.mark.parametrize("size", range(8, len(lamp().SerializeToString())))
def test_a_cut_net_is_never_taken_for_another_file(tmp_path, size):
    """Between two fields nothing is missing that a reader could know of; elsewhere the cut is named."""
    path = tmp_path / "model.pb"
    path.write_bytes(lamp().SerializeToString()[:size])
    try:
        model = load(path)
    except LoadError as error:
        assert "cut short" in str(error)
    else:
        assert model.net.SerializeToString() == lamp().SerializeToString()[:size]


def test_a_cut_text_says_what_is_there(tmp_path):
    text = 'name: "n"\nop { type: "FC" output: "y" }\nop {\n  input: "y"\n  output: "z"\n  ty'
    said = refused(tmp_path, text.encode(), "net.pbtxt")
    assert "cut short" in said
    assert "line 6 inside operator #1, which reads y and writes z; read whole: operator #0 (FC)" in said


def test_a_damaged_binary_names_the_place(tmp_path):
    content = bytearray(lamp().SerializeToString())
    at = content.index(b"lit", content.index(b"FC"))
    content[at] = 0xFF
    said = refused(tmp_path, bytes(content))
    assert f"byte {at} in operator #1, input #0 is no UTF-8" in said
    assert "read whole: 1 operator (#0 FC)" in said


def test_a_parse_that_misreads_is_no_success(tmp_path):
    """Field 5 of an operator as a number: protobuf would set it aside in silence."""
    said = refused(tmp_path, wire(1, b"net") + wire(2, wire(4, b"FC")) + wire(2, wire(4, b"Relu") + wire(5, 4)))
    assert "operator #1, arg" in said.replace("argument", "arg")
    assert "read whole: 1 operator (#0 FC)" in said


def test_a_field_of_another_version_is_kept_with_a_notice(tmp_path):
    path = tmp_path / "new.pb"
    path.write_bytes(wire(2, wire(4, b"FC") + wire(99, b"new")) + wire(1, b"net"))
    model = load(path)
    assert "1 field of another version" in model.notices[0]
    assert b"new" in model.net.SerializeToString()


def test_python_truth_values_are_read_with_one_notice_of_all_places(tmp_path):
    path = tmp_path / "net.pbtxt"
    path.write_text(
        'op { type: "Relu" input: "x" }\nop {\n  type: "Add"\n  arg {\n    name: "broadcast"\n    i: False\n  }\n'
        '  arg { ints: [True, 2, False] name: "many" }\n  arg { f: True name: "x" }\n  is_gradient_op: True\n}\n'
    )
    model = load(path)
    arguments = model.net.op[1].arg
    assert (arguments[0].i, list(arguments[1].ints), arguments[2].f) == (0, [1, 2, 0], 1.0)
    (notice,) = model.notices
    assert "line 6 (argument broadcast of operator #1 (Add)) False" in notice
    assert notice.count("line 8 (argument many of operator #1 (Add))") == 2
    assert notice.count("line ") == 4, "a truth value where one belongs is no news"


def test_old_fields_and_device_names_are_read(tmp_path):
    path = tmp_path / "net.pbtxt"
    path.write_text(
        'op {\n  type: "A"\n  device_option { device_type: CUDA cuda_gpu_id: 3 }\n}\ndevice_option { hip_gpu_id: 1 }'
    )
    model = load(path)
    assert (model.net.op[0].device_option.device_type, model.net.op[0].device_option.device_id) == (1, 3)
    assert model.net.device_option.device_id == 1
    assert sorted(re.findall(r"cuda_gpu_id|hip_gpu_id|CUDA", " ".join(model.notices))) == [
        "CUDA",
        "cuda_gpu_id",
        "hip_gpu_id",
    ]


def test_a_mistake_after_a_mend_keeps_its_place(tmp_path):
    said = refused(tmp_path, b'op {\n  type: "A" arg { i: False } arg { i: 1x }\n}', "net.pbtxt")
    assert "line 2, column 39" in said


def test_paths(tmp_path, monkeypatch):
    (tmp_path / "predict_net.pb").write_bytes(lamp().SerializeToString())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "some.pbtxt").write_text("")
    assert refusal(tmp_path / "predict_nett.pb") == "does not exist; did you mean predict_net.pb?"
    assert "nor does the folder" in refusal(tmp_path / "nowhere" / "a.pb")
    assert "is a folder: name the net file; nets in it: some.pbtxt" in refusal(tmp_path / "folder")
    with pytest.raises(LoadError, match=r"a\\x00b.pb does not exist"):
        load("a\0b.pb")
    with pytest.raises(LoadError, match="cannot be read"):
        load("a" * 5000)
    with pytest.raises(LoadError, match=r"a\\nb.pb does not exist"):
        load("a\nb.pb")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError, match=r"did you mean predict_net\.pb"):
        load("predict_net")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "secret.pb"
    path.write_bytes(b"x")

    def deny(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.read_bytes", deny)
    assert refusal(path) == "cannot be read: permission denied"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "device or a pipe" in refusal(tmp_path / "pipe")


def test_a_file_beyond_what_protobuf_holds(tmp_path):
    path = tmp_path / "huge.pb"
    with path.open("wb") as out:
        out.truncate(2**31)
    assert "protobuf message ends at 2 GiB" in refusal(path)


def test_an_init_net_that_is_none_is_refused(tmp_path):
    net = tmp_path / "net.pb"
    net.write_bytes(lamp().SerializeToString())
    (tmp_path / "weights.npz").write_bytes(npz())
    with pytest.raises(LoadError, match=r"weights.npz is a NumPy archive"):
        load(net, init=tmp_path / "weights.npz")
    with pytest.raises(TypeError, match="a Model or a NetDef"):
        load(net, init=7)
    assert load(net, init=lamp_init()).init == lamp_init()


def test_an_archive_of_a_kind_that_is_not_known(tmp_path):
    archive = bytearray(zipped(a="x"))
    entry = archive.index(b"PK\x01\x02")
    archive[entry + 6] = 127  # the version that is needed to unpack it
    assert "is a zip archive" in refused(tmp_path, bytes(archive))


def nested_text(depth):
    text = 'op { type: "Relu" input: "x" output: "y" }'
    for _ in range(depth):
        text = f'op {{ type: "If" input: "c" output: "y" arg {{ name: "then_net" n {{ {text} }} }} }}'
    return text


@pytest.mark.parametrize("depth", [34, 50, 100, 400])
def test_text_that_is_nested_deeper_than_protobuf_reads(tmp_path, depth):
    message = refused(tmp_path, nested_text(depth).encode())
    assert "nested too deeply" in message or "is cut short" in message


@pytest.mark.parametrize("depth", [1, 20, 33])
def test_text_that_is_nested_as_deep_as_protobuf_reads(tmp_path, depth):
    path = tmp_path / "deep.pbtxt"
    path.write_text(nested_text(depth))
    assert len(load(path).net.op) == 1
