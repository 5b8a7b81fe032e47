"""Lint: what will bite later, each finding with its severity and what mends it."""

import json

import pytest
from hypothesis import given, settings

import gradviz
from gradviz.autodiff import lint
from gradviz.proto import NetDef
from tests.autodiff.nets import IN_PLACE_DROPOUT, net_of, random_nets


def found(*ops, ys=None, init=(), declared=None, outputs=("y",)):
    net = net_of(*ops, external_output=outputs)
    net.external_input.extend(declared or ())
    model = gradviz.Model(net=net, init=net_of(*init) if init else None)
    return lint(model, ys)


def kinds(findings, severity=None):
    return {each.kind: each for each in findings if severity in (None, each.severity)}


def test_a_clean_net_has_notes_only():
    findings = found("FC x w b -> y", ys=["y"])
    assert {each.severity for each in findings} == {"note"}
    assert set(kinds(findings)) == {"must_be_fed"}


def test_all_overwritten_blobs_at_once():
    findings = found("Relu x -> h", "Sqr h -> h", "Sigmoid h -> k", "Tanh k -> k", "Sqr k -> y", ys=["y"])
    errors = [each for each in findings if each.severity == "error"]
    assert [(each.kind, each.op_index, each.blob) for each in errors] == [
        ("output_overwritten", 0, "h"),
        ("output_overwritten", 2, "k"),
    ]
    assert "op 3 (Tanh)" in errors[1].message
    assert errors[1].remedy is not None


def test_what_only_gradients_trip_over_is_a_note_where_none_are_meant():
    findings = found(*IN_PLACE_DROPOUT)
    assert {each.severity for each in findings} == {"note"}
    assert kinds(found(*IN_PLACE_DROPOUT, ys=["y"]))["output_overwritten"].severity == "error"
    with_loss = found("Relu x -> h", "Sqr h -> h", "AveragedLoss h -> y")
    assert kinds(with_loss)["output_overwritten"].severity == "error"


def test_inputs_that_are_not_declared_are_listed_at_once():
    findings = found("FC x w b -> h", "FC h v c -> y", declared=["x", "w"])
    finding = kinds(findings)["undeclared_input"]
    assert finding.severity == "error"
    assert all(name in finding.message for name in ("b (read by op 0", "v (read by op 1", "c (read by op 1"))
    mended = finding.remedy.apply(net_of("FC x w b -> h"))
    assert list(mended.net.external_input) == ["b", "v", "c"]
    assert "undeclared_input" not in kinds(found("FC x w b -> y"))


def test_who_fills_what():
    ops, init = ("FC x w b -> y",), ("XavierFill -> w", "ConstantFill -> b")
    fed = kinds(found(*ops, init=init))["must_be_fed"]
    assert fed.message == "to be fed before a run: x; the init net fills w and b"
    unfilled = kinds(found(*ops, init=init[:1]))["unfilled_parameter"]
    assert (unfilled.severity, unfilled.blob) == ("warning", "b")
    idle = kinds(found(*ops, declared=["x", "w", "b", "xx"]))["unread_input"]
    assert idle.blob == "xx"
    assert "is x meant?" in idle.message


def test_outputs():
    finding = kinds(found("FC x w b -> h", "Relu h -> prob", outputs=()))["no_external_output"]
    assert "natural outputs: prob" in finding.message
    assert list(finding.remedy.apply(net_of("Relu h -> prob")).net.external_output) == ["prob"]
    missing = kinds(found("Relu x -> prob", outputs=["prop"]))["missing_output"]
    assert missing.severity == "error"
    assert "did you mean prob" in missing.message


def test_types_and_schemas_of_nested_nets_too():
    inner = gradviz.NetBuilder("inner")
    inner.add("Rellu", "x", "y")
    inner.add("Dropout", "y", ["y", "m"])
    net = gradviz.NetBuilder("outer")
    net.add("If", ["c", "x"], ["y"], then_net=inner)
    messages = [each.message for each in lint(net.net) if each.severity == "error"]
    assert any(
        "op 0 (If), then_net, op 0 (Rellu): there is no such operator type; did you mean Relu" in m for m in messages
    )
    assert any("op 1 (Dropout) does not fit its schema: it lacks the argument is_test" in m for m in messages)


@pytest.mark.parametrize(
    ("ops", "kind", "severity", "text"),
    [
        (("IterOp x -> y",), "unknown_type", "error", "did you mean Iter or AtomicIter"),
        (("Rellu x -> h", "Rellu h -> y"), "unknown_type", "error", "2 ops have it"),
        (("Dropout x -> y m",), "schema", "error", "is_test"),
        (("Cast x -> x; to=1", "Relu x -> y"), "schema", "error", "may not run in place"),
        (("Relu x x -> y",), "schema", "error", "2 inputs where at most 1 are allowed"),
        (("Split x -> h h", "Sqr h -> y"), "duplicate_output", "error", "writes h twice"),
        (("FC x w b -> h", "FC x w b -> h", "Relu h -> y"), "repeated_op", "warning", "ran twice"),
        (("Relu x -> x", "Relu x -> x", "Sqr x -> y"), "repeated_op", "warning", "ran twice"),
        (("Relu x -> h", "Sqr x -> h", "Relu h -> y"), "overwritten_unread", "warning", "before anyone reads it"),
        (("Relu x -> y", "Sqr x -> aside"), "dead_op", "note", "op 1 (Sqr)"),
        (("AveragedLoss x -> y", "Sqr y -> z"), "after_the_loss", "note", "op 1 (Sqr) comes after the last y"),
        (("Dropout x -> h m; is_test=1", "AveragedLoss h -> y"), "test_mode", "note", "drop nothing"),
        (("MergeDim x -> h", "AveragedLoss h -> y"), "no_gradient_maker", "error", "op 0 stands before a y"),
        (
            ("Relu x -> d", "AveragedLoss d -> y", "StopGradient d -> s"),
            "stop_gradient_orphan",
            "error",
            "stops nothing",
        ),
        (("SpatialBN x s b m v -> h; is_test=1", "AveragedLoss h -> y"), "batch_norm_in_test_mode", "warning", "wrong"),
        (
            ("FC x v c -> h", "StopGradient h -> h", "FC h w b -> k", "AveragedLoss k -> y"),
            "frozen_parameters",
            "warning",
            "v and c",
        ),
    ],
)
def test_findings(ops, kind, severity, text):
    finding = kinds(found(*ops))[kind]
    assert finding.severity == severity
    assert text in finding.message


def test_engines_and_devices_are_said_once_per_net():
    net = net_of("Conv x w b -> h; kernel=1", "Relu h -> h", "AveragedLoss h -> y", external_output=["y"])
    for op in net.op:
        op.engine = "CUDNN"
        op.device_option.device_type = 1
    findings = lint(net)
    engines = [each for each in findings if each.kind == "engine"]
    assert len(engines) == 1
    assert "engine CUDNN: none here, the default is used for 3 ops" in engines[0].message
    device = kinds(findings)["device"]
    assert "every op is placed on CUDA 0" in device.message
    assert "none of them exists for one device only" in device.message
    assert not any(op.HasField("device_option") for op in device.remedy.apply(net).net.op)
    net.op.add(type="CopyGPUToCPU", input=["y"], output=["z"]).device_option.device_type = 1
    assert "exist only there" in kinds(lint(net))["device"].message


def test_gradient_operators_in_the_net():
    net = gradviz.trace(net_of("FC x w b -> h", "AveragedLoss h -> y"), ["y"]).net_with_gradients()
    finding = kinds(lint(net))["gradient_ops_present"]
    assert "from op 3 (AveragedLossGradient) on" in finding.message
    assert not [each for each in lint(net) if each.severity == "error"]


def test_errors_come_first_and_findings_are_plain_values():
    findings = found("Rellu x -> h", "Relu x -> aside", "Sqr h -> y")
    severities = [each.severity for each in findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    plain = json.loads(json.dumps([each.as_json() for each in findings]))
    assert set(plain[0]) == {"severity", "kind", "op_index", "blob", "message", "remedy"}
    assert plain[0]["remedy"] == "Write Relu in place of Rellu"
    assert str(findings[0]).startswith("error: op 0 (Rellu): there is no operator type Rellu")


def test_an_empty_net_has_nothing_to_say():
    assert lint(NetDef()) == []


@settings(deadline=None)
@given(random_nets())
def test_lint_finds_what_stops_the_walk(case):
    net, ys = case
    before = net.SerializeToString(deterministic=True)
    findings = lint(net, ys)
    error = gradviz.trace(net, ys).error
    if error is not None and ys:
        errors = [each for each in findings if each.severity == "error"]
        of_type = [each for each in errors if each.kind == "unknown_type" and "NoSuchType" in str(error)]
        assert of_type or any(each.op_index == error.op_index for each in errors), error
    for each in findings:
        if each.remedy is not None:
            each.remedy.apply(net)
    assert net.SerializeToString(deterministic=True) == before
