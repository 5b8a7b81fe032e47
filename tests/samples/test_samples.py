"""The sample nets are what the script builds, and show what they say."""

import re
from pathlib import Path

import numpy as np
import pytest

import gradviz
from gradviz.execute.feeds import parse_feeds
from gradviz.nets import samples
from gradviz.nets.saving import to_bytes
from sample_nets import build

NAMES = [sample.name for sample in samples.SAMPLES]
ERRORS = {
    "version_mismatch": ("grad_version_mismatch", "h"),
    "overwritten_input": ("input_overwritten", "y_w"),
    "blob_not_in_scope": ("not_in_scope", "d"),
    "orphan_stop_gradient": ("stop_gradient_orphan", "h_frozen"),
    "mixed_sparse_dense": ("mixed_sparse_dense", "table"),
    "no_gradient": ("no_gradient_maker", None),
}
LAWFUL = [name for name in NAMES if name not in ERRORS]
PARAMETERS = {
    "mlp": "h_w",
    "inplace_relu": "g_w",
    "shared_weights": "w",
    "two_losses": "trunk_w",
    "lstm_unrolled": "gates_w",
    "if_else": "rate",
}


def traced(name):
    return gradviz.trace(gradviz.load(name), ys=samples.get(name).ys)


def feeds(name):
    return parse_feeds([f"{blob}={what}" for blob, what in samples.get(name).feeds.items()])


def types(trace):
    return [op.type for op in trace.gradient_ops]


def test_the_files_are_what_the_script_builds():
    committed = {
        path.name: path.read_bytes() for path in build.HERE.iterdir() if path.suffix in {".pb", ".pbtxt", ".md"}
    }
    built = dict(build.files())
    assert sorted(committed) == sorted(built)
    assert [name for name in built if committed[name] != built[name]] == [], "run `make samples`"


def test_the_files_are_small_and_of_both_formats():
    sizes = {path: path.stat().st_size for path in build.HERE.iterdir() if path.is_file()}
    assert sum(sizes.values()) < 200_000
    assert {Path(sample.file).suffix for sample in samples.SAMPLES} == {".pb", ".pbtxt"}


def test_writing_them_elsewhere_gives_the_same(tmp_path):
    build.write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict(build.files())


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_opens_by_its_name_anywhere(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = gradviz.load(name)
    assert model.name == name
    assert model.path == samples.find(name)
    assert model.init is not None
    assert model.notices == []
    made = {blob for op in model.init.op for blob in op.output}
    read_first = set(model.net.external_input)
    assert read_first == made | set(samples.get(name).feeds), "every input is either fed or filled"


def test_a_file_goes_before_a_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = gradviz.NetBuilder("mine")
    net.add("Relu", "x", "y")
    (tmp_path / "lenet").write_bytes(to_bytes(net.net, text=True))
    assert gradviz.load("lenet").name == "mine"


@pytest.mark.parametrize("name", ["lenet5", "lenet.pb", "./lenet", "no/lenet"])
def test_only_the_bare_name_is_a_sample(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(gradviz.LoadError, match="does not exist"):
        gradviz.load(name)


def test_a_name_that_is_almost_one_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(gradviz.LoadError, match=r"lenet5 does not exist; did you mean lenet\?"):
        gradviz.load("lenet5")


def test_what_is_no_sample():
    assert samples.find("lenet5") is None
    assert samples.get("lenet5") is None


def test_a_sample_whose_files_are_not_installed(monkeypatch):
    monkeypatch.setattr(samples, "folder", lambda: Path("nowhere"))
    assert samples.find("lenet") is None


@pytest.mark.parametrize("name", LAWFUL)
def test_gradients_can_be_built_for_every_parameter(name):
    trace = traced(name)
    assert trace.error is None
    assert trace.warnings == []
    filled = {blob for op in gradviz.load(name).init.op for blob in op.output}
    trainable = {blob for blob in filled if re.search(r"(_w|_b|_scale|_bias|table|^w|^b|rate)$", blob)}
    assert trainable
    assert trainable <= set(trace.input_to_grad)


@pytest.mark.parametrize("name", ERRORS)
def test_each_pitfall_is_the_one_it_says(name):
    error = traced(name).error
    kind, blob = ERRORS[name]
    assert error.kind == kind
    assert error.facts.get("blob") == blob
    assert "error:" in samples.get(name).shows


@pytest.mark.parametrize("name", LAWFUL)
def test_a_sample_runs_with_its_feeds(name):
    model, ys = gradviz.load(name), samples.get(name).ys
    workspace = gradviz.run(model, feeds=feeds(name), ys=ys)
    for y in ys:
        assert np.isfinite(workspace[y]).all()
        assert workspace[y].size == 1


@pytest.mark.parametrize("name", ERRORS)
def test_a_pitfall_runs_forward(name):
    workspace = gradviz.run(gradviz.load(name), feeds=feeds(name))
    assert all(np.isfinite(workspace[y]).all() for y in samples.get(name).ys)


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_are_right(name):
    report = gradviz.check_gradients(gradviz.load(name), feeds(name), samples.get(name).ys, wrt=[PARAMETERS[name]])
    assert report.ok, report.rows


def test_what_they_show():
    assert any("_autosplit_" in name for op in traced("shared_weights").gradient_ops for name in op.output)
    assert "Sum" in types(traced("shared_weights"))
    assert types(traced("embedding")).count("Concat") == 2
    assert isinstance(traced("embedding").input_to_grad["table"], gradviz.GradientSlice)
    assert types(traced("resnet20")).count("Sum") >= 9, "one for each block"
    assert {"If"} <= set(types(traced("if_else")))
    assert traced("two_losses").input_to_grad["class_loss"] == "class_weight"
    assert "ConstantFill" not in types(traced("two_losses")), "both gradients are given"
    inplace = gradviz.load("inplace_relu").net.op
    assert [op.type for op in inplace if set(op.input) & set(op.output)] == ["Relu", "Relu"]
    assert sum("gates_w" in op.input for op in gradviz.load("lstm_unrolled").net.op) == 3


def test_the_table_lists_every_sample():
    table = (build.HERE / "README.md").read_text(encoding="utf-8")
    for sample in samples.SAMPLES:
        assert f"| `{sample.name}` | {sample.shows} | [{sample.file}]({sample.file}) |" in table
