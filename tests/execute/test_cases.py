"""What users reported: where it is about running, the numbers agree and the reason is told."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradviz
from gradviz.conformance import compare_arrays
from gradviz.errors import GradvizError
from gradviz.execute import check_gradients, run

CASES = Path(__file__).parents[3] / "shared" / "cases" / "reports"
pytestmark = [pytest.mark.shared]
if not CASES.is_dir():
    pytest.skip(f"needs the reported cases in {CASES}, which are not there", allow_module_level=True)


def load(name):
    (folder,) = CASES.glob(f"{name}*")
    case = json.loads((folder / "case.json").read_text())
    files = {role: str(folder / file) for role, file in case["files"].items()}
    model = gradviz.load(files["net"], init=files.get("init"))
    feeds = {blob: array(each) for blob, each in case.get("feeds", {}).items()}
    return case, model, feeds


def array(recorded):
    numbers = [float(each) if isinstance(each, str) else each for each in recorded["data"]]
    return np.array(numbers, recorded.get("dtype", "float64")).reshape(recorded["shape"])


def told(name):
    """Everything that a run says: its error, or its notices."""
    case, model, feeds = load(name)
    try:
        return " ".join(run(model, feeds, ys=case["ys"] or ()).notices)
    except GradvizError as error:
        return str(error)


RAN = [
    folder.name
    for folder in sorted(CASES.iterdir())
    if (folder / "case.json").exists()
    and json.loads((folder / "case.json").read_text())["expect"].get("run", {}).get("outcome") == "ok"
]


@pytest.mark.parametrize("name", RAN)
def test_what_ran_upstream_gives_the_same_numbers(name):
    case, model, feeds = load(name)
    workspace = run(model, feeds, ys=case["ys"] or ())
    for blob, recorded in case["expect"]["run"]["values"].items():
        assert compare_arrays(workspace[blob], array(recorded)) is None, blob


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("033", ["op 1 FC", "w float32[1, 1, 3, 4]", "[1, 12]", "[3, 4] is wanted", "axis_w=3"]),
        ("034", ["op 2 LabelCrossEntropy", "input 1 (tags) is float32", "must be int32", "tags.astype('int32')"]),
        ("036", ["external_input lacks taps (read by op 0 Conv)", "add the name to external_input"]),
        ("037", ["data (float32 [N, 1, H, W] with H and W at least 2", "init net fills k_w, k_b", "Feed data=1x1x"]),
        ("040", ["IterOp", "gradviz does not know", "did you mean Iter"]),
        ("041", ["6 ops CUDA", "runs on the CPU", "device options may be dropped"]),
        ("048", ["engine CUDNN: none here, the default is used for 3 ops", "preference"]),
        ("051", ["op 1 MaxPool", "k float32[1, 1, 2, 2]", "3", "smallest img with which the net runs is 5x5"]),
    ],
)
def test_what_a_run_says_helps(name, facts):
    said = told(name)
    assert [fact for fact in facts if fact not in said] == []
    assert "\n" not in said


def test_a_nan_that_a_mask_swallows_is_told_from_birth_to_death():
    case, model, feeds = load("066")
    workspace = run(model, feeds, ys=case["ys"])
    story = [(each.what, each.op.outputs[0], each.op.type) for each in workspace.bad()]
    assert story[0] == ("born", "size_pos_grad", "Div")
    assert story[-1] == ("dies", "size_grad", "ReluGradient")
    assert np.isfinite(workspace.gradient("w")).all()


def test_batch_norm_in_test_mode_has_a_wrong_gradient_and_says_why():
    case, model, feeds = load("030")
    report = check_gradients(model, feeds, case["ys"])
    assert not report.ok
    assert "SpatialBN runs in test mode, where the framework's gradient is not the derivative" in report.first.reason


@pytest.mark.parametrize("name", [name for name in RAN if "numeric_gradient" in json.loads(
    (CASES / name / "case.json").read_text())["expect"]])  # fmt: skip
def test_derivatives_agree_with_recorded_ones(name):
    case, model, feeds = load(name)
    report = check_gradients(model, feeds, list(case["ys"])[:1], elements=True)
    recorded = case["expect"]["numeric_gradient"]
    for row in report.rows:
        if row.blob in recorded and row.worst_index is not None:
            numbers = array(recorded[row.blob])
            assert row.numeric == pytest.approx(numbers[row.worst_index], rel=0.02, abs=2e-3), row.blob
