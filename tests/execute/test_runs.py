"""Whole nets against every value that Caffe2 1.8.1's CPU wrote."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from gradviz.conformance import check_run, compare_arrays
from gradviz.execute import check_gradients, run
from gradviz.ops.records import GradientSlice
from gradviz.proto import NetDef

RUNS = Path(__file__).parents[3] / "shared" / "vectors" / "runs"
NAMES = sorted(file.stem for file in RUNS.glob("*.npz"))
pytestmark = [pytest.mark.shared]
if not NAMES:
    pytest.skip(f"needs the recorded runs in {RUNS}, which are not there", allow_module_level=True)


def load(name):
    with np.load(RUNS / f"{name}.npz", allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(bytes(arrays["manifest"])), arrays


def feeds_of(manifest, arrays):
    return {each["blob"]: arrays[each["key"]] for each in manifest["inputs"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_write_agrees(name):
    manifest, arrays = load(name)
    assert check_run(manifest, arrays) == []


@pytest.mark.parametrize("name", NAMES)
def test_writes_stand_in_the_recorded_order(name):
    manifest, arrays = load(name)
    net = NetDef.FromString(base64.b64decode(manifest["net_with_gradients_b64"]))
    workspace = run(net, feeds_of(manifest, arrays), ys=(), iterations=manifest["iterations"])
    made = [(each.iteration, each.op_index, each.output, each.blob, each.version) for each in workspace.writes]
    keys = ("iteration", "op_index", "output", "blob", "version")
    assert made == [tuple(each[key] for key in keys) for each in manifest["values"]]


@pytest.mark.parametrize("name", NAMES)
def test_hidden_writes_agree(name):
    manifest, arrays = load(name)
    net = NetDef.FromString(base64.b64decode(manifest["net_with_gradients_b64"]))
    workspace = run(net, feeds_of(manifest, arrays), ys=(), iterations=manifest["iterations"])
    made = {(each.iteration, each.op_index, each.blob): each.value for each in workspace.hidden_writes}
    recorded = {
        (each["iteration"], each["op_index"], each["blob"]): arrays[each["key"]] for each in manifest["hidden_writes"]
    }
    assert made.keys() == recorded.keys()
    assert [compare_arrays(made[at], recorded[at]) for at in made] == [None] * len(made)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_built_here_come_out_as_recorded(name):
    manifest, arrays = load(name)
    if manifest["iterations"] > 1 or any(each.get("unstable") for each in manifest["values"]):
        pytest.skip("updates its parameters, or is random")
    net = NetDef.FromString(base64.b64decode(manifest["net_b64"]))
    ys = {name: GradientSlice(**g) if isinstance(g, dict) else g for name, g in manifest["ys"].items()}
    workspace = run(net, feeds_of(manifest, arrays), ys=list(ys) if manifest["ys_kind"] == "list" else ys)
    recorded = {each["blob"]: arrays[each["key"]] for each in (*manifest["values"], *manifest["hidden_writes"])}
    recorded |= {blob: array for blob, array in feeds_of(manifest, arrays).items() if blob not in recorded}
    for blob, gradient in manifest["gradient_map"].items():
        names = list(gradient.values()) if isinstance(gradient, dict) else [gradient]
        got = workspace.gradient(blob)
        for value, name in zip(got if isinstance(gradient, dict) else [got], names, strict=True):
            assert compare_arrays(value, recorded[name]) is None, blob


@pytest.mark.parametrize("name", NAMES)
def test_gradients_that_differ_from_the_derivatives_are_the_recorded_ones(name):
    """Central differences tell the same blobs wrong that they told wrong for Caffe2."""
    manifest, arrays = load(name)
    net = NetDef.FromString(base64.b64decode(manifest["net_b64"]))
    ys = {name: GradientSlice(**g) if isinstance(g, dict) else g for name, g in manifest["ys"].items()}
    asked = list(ys) if manifest["ys_kind"] == "list" else ys
    recorded = {each["blob"] for each in manifest["numeric_gradients"]}
    wrong = {each["blob"] for each in manifest["numeric_gradients"] if not each["agrees"]}
    report = check_gradients(net, feeds_of(manifest, arrays), asked, wrt=sorted(recorded))
    assert {row.blob for row in report.rows if not row.ok} == wrong
    assert all(row.reason for row in report.rows if row.blob in wrong)
    assert all(row.dtype == "float64" for row in report.rows)
