"""What users reported: for each case, the facts that a good debugger tells must be told."""

import json
import re

import pytest

import gradviz
from gradviz.autodiff import lint, proves
from tests.conftest import SHARED

REPORTS = SHARED / "cases" / "reports"
NOT_OURS = {"shape", "dtype", "nan", "load", "draw"}

# Folder -> patterns that must be found in what gradviz says of the net: the error, its explanation and remedies, the
# warnings, the findings of lint, and the stories of the blobs named first.
FACTS = {
    "001_inplace_relu_then_dropout": (
        ["hidden"],
        r"OUTPUT hidden",
        r"op 2 \(Dropout\) overwrote hidden|overwritten by op 2 \(Dropout\)",
        r"Give op 2 \(Dropout\) an output of its own, hidden_drop\w*, which op 3 \(FC\)",
        r"gradient of op 2 \(Dropout\) itself is fine: DropoutGrad\w* reads only .*mask",
    ),
    "003_notebook_cell_run_twice": (
        ["guess"],
        r"Ops 0 and 1 are the same op",
        r"cell, that ran twice",
        r"guess_grad, which belongs to guess₁ of op 1",
        r"gradient map goes by names",
        r"Drop op 0 \(FC\)",
        r"from the start",
    ),
    "005_cast_the_loss_in_place": (
        ["loss"],
        r"may not run in place",
        r"from_type",
        r"float already",
        r"Drop op 2 \(Cast\)",
        r"name loss_cast and set from_type=FLOAT",
    ),
    "007_merge_dim_has_no_gradient": (
        [],
        r"MergeDim has no entry in the gradient registry",
        r"differs from a type that says it must not be differentiated, and from one whose gradient is not implemented",
        r"Op 1 \(MergeDim\) stands between the ys and code_w and code_b",
        r"Replace op 1 \(MergeDim\) by Reshape",
        r"gradient of Reshape is a Reshape back to the old shape",
    ),
    "009_dense_and_sparse_use_of_one_blob": (
        ["vecs"],
        r"op 1 \(SoftmaxWithLoss\) reads it: dense gradient vecs_grad",
        r"op 2 \(Gather\) reads it: sparse gradient, indices=picks, values=some_grad",
        r"Put EnsureDense \(vecs -> vecs_dense\) before op 2 \(Gather\)",
        r"on the shared blob it would not help",
        r"BatchGather",
    ),
    "011_stop_gradient_on_a_side_branch": (
        [],
        r"deep_stopped, which no op reads",
        r"Op 2 \(FC\) still reads deep",
        r"Run op 3 \(StopGradient\) in place \(deep -> deep\), before op 2",
        r"Let op 2 \(FC\) read deep_stopped in place of deep",
        r"deep ─┬─→ op 2 \(FC\)",
    ),
    "012_freeze_the_trunk": (
        ["conv_w", "act"],
        r"Trained, 2 parameters: cls_w \(cls_w_grad\) and cls_b",
        r"Frozen, 2 parameters: conv_w and conv_b",
        r"op 2 \(StopGradient\) stops the gradient on purpose",
    ),
    "015_gradient_of_the_input_image": (
        ["photo_grad", "photo"],
        r"photo has a gradient: photo_grad",
        r"\(ConvGradient\) writes photo_grad, its output 2",
        r"only once the gradient operators are added",
    ),
    "017_ground_truth_gets_a_gradient_too": (
        [],
        r"mask gets mask_grad at op 1 \(Mul\)",
        r"target gets target_grad at op 2 \(SquaredL2Distance\)",
        r"answer for every input, and no harm",
        r"StopGradient on the data|ignores them",
    ),
    "018_siamese_shared_weights": (
        ["twin_w", "twin_b"],
        r"twin_w₀ is read by op 0 \(FC\) and op 2 \(FC\)",
        r"_twin_w_grad_autosplit_0",
        r"\(Sum\) adds them into twin_w_grad, in place on the first part",
        r"at op 0 and not earlier",
    ),
    "022_operator_of_a_module_that_is_not_loaded": (
        [],
        r"unknown operator here, not one with a missing gradient",
        r"Detectron",
        r"ResizeNearest with width_scale and height_scale 2",
        r"other types are known: Conv, Sum and AveragedLoss",
    ),
    "024_gradient_through_if_and_else": (
        ["speed", "limit"],
        r"speed has a gradient",
        r"Inside op 6 \(If\), then_net gives speed",
        r"Inside op 6 \(If\), else_net gives limit",
        r"whichever branch ran",
    ),
    "026_y_is_not_in_the_net": (
        ["w"],
        r"'los' is not a blob of this net",
        r"did you mean loss",
        r"no parameter gets one",
    ),
    "028_old_net_without_is_test": (
        [],
        r"lacks the argument is_test",
        r"older versions",
        r"meant 0 \(training\)",
        r"Set is_test=0 in op 1 \(Dropout\)",
        r"Set is_test=1",
    ),
    "030_batch_norm_in_test_mode_while_training": (
        ["bn_m"],
        r"reads bn_m and bn_v in place of the saved statistics",
        r"bn_v for an inverse standard deviation",
        r"bn_s and bn_b get gradients",
        r"must be fed",
        r"AffineChannel",
    ),
    "036_input_missing_from_external_input": (
        [],
        r"external_input lacks taps \(read by op 0 \(Conv\)\)",
        r"every blob that it reads and does not make",
        r"even where the blob is in the workspace",
        r"Declare taps as external input",
    ),
    "037_data_was_never_fed": (["data"], r"to be fed before a run: data; the init net fills k_w and k_b"),
    "040_operator_type_misspelt": (
        [],
        r"no operator type IterOp",
        r"did you mean Iter or AtomicIter",
        r"names that end in Op are those of C\+\+ classes",
    ),
    "041_gpu_net_on_a_machine_without_gpu": (
        [],
        r"every op is placed on CUDA 0",
        r"graph and gradients do not depend on it",
        r"gradient ops inherit it",
        r"none of them exists for one device only",
        r"Drop the device options of all 3 ops",
    ),
    "044_net_without_external_output": (
        [],
        r"declares no external_output",
        r"natural outputs: prob",
        r"Declare prob as external output",
    ),
    "048_engine_is_not_available": (
        [],
        r"engine CUDNN: none here, the default is used for 3 ops",
        r"a preference, no error",
        r"gradient ops inherit",
    ),
}

CASES = sorted(
    folder.name
    for folder in (REPORTS.iterdir() if REPORTS.is_dir() else ())
    if (folder / "case.json").is_file() and json.loads((folder / "case.json").read_text())["kind"] not in NOT_OURS
)


def opened(name):
    folder = REPORTS / name
    case = json.loads((folder / "case.json").read_text())
    init = case["files"].get("init")
    return case, gradviz.load(folder / case["files"]["net"], init=None if init is None else folder / init)


def heard(model, ys, blobs):
    """All that gradviz says of a net."""
    trace = gradviz.trace(model, ys)
    lines = [*trace.warnings, *(str(warning) for each in trace.warnings for warning in each.remedies)]
    if trace.error is not None:
        lines += [str(trace.error), *trace.error.explanation]
        lines += [text for remedy in trace.error.remedies for text in (remedy.title, remedy.explanation)]
    for finding in lint(model, ys):
        lines += [str(finding), str(finding.remedy)]
    for blob in [None, *blobs]:
        lines += gradviz.why(trace, blob).lines
    return "\n".join(lines)


@pytest.mark.shared
@pytest.mark.parametrize("name", FACTS)
def test_facts_are_told(name, shared):
    case, model = opened(name)
    blobs, *patterns = FACTS[name]
    text = heard(model, case["ys"], blobs)
    missing = [pattern for pattern in patterns if not re.search(pattern, text)]
    assert not missing, text


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_walks_fail_where_upstream_fails_and_can_be_mended(name, shared):
    case, model = opened(name)
    build = case["expect"].get("build")
    if build is None:
        pytest.skip("the case builds no gradient")
    trace = gradviz.trace(model, case["ys"])
    assert (trace.error is None) == (build["outcome"] == "ok")
    if trace.error is None:
        assert trace.input_to_grad == build["input_to_grad"]
        return
    before = model.net.SerializeToString(deterministic=True)
    assert any(proves(remedy, model, case["ys"]) for remedy in trace.error.remedies)
    assert model.net.SerializeToString(deterministic=True) == before


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_every_blob_and_operator_has_a_story(name, shared):
    case, model = opened(name)
    trace = gradviz.trace(model, case["ys"])
    for index, op in enumerate(model.net.op):
        assert gradviz.why(trace, op=index).lines
        for blob in (*op.input, *op.output):
            assert gradviz.why(trace, blob).lines


@pytest.mark.shared
def test_recorded_failures_can_be_mended(shared):
    """All recorded walks that failed, but for those that a rule of their own makes impossible."""
    import gzip

    from gradviz.autodiff import mend, replay

    replay.register_recorded_types()
    left = []
    for path in sorted((shared / "vectors" / "traces").glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("error") is None or record.get("ys_kind") in ("string", "tuple", "int_keys"):
                    continue
                trace = replay.replay(record)
                if mend(trace.model, trace.ys, **trace.options).trace.error is not None:
                    left.append(record["name"])
    assert set(left) <= {"empty_gradient_from_rule_cc_below", "sparse_indices_equal_values"}
