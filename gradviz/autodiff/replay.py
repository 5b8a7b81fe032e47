"""Recorded walks replayed: does gradviz take the same steps as the recording?

A record is one line of a trace file: a net, the ys, the state after every step, and the result or the error. Compared
are the fields that the public API pins: steps, state, gradient operators, map, and the error's kind, phase, operator
and facts.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from gradviz.autodiff.trace import Trace, trace
from gradviz.ops import registry
from gradviz.ops.foreign import as_gradient
from gradviz.ops.records import BlobReference, GradientSlice
from gradviz.proto import DeviceOption, NetDef, OperatorDef

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradviz.autodiff.generators import Generator
    from gradviz.ops.records import Gradient

FACTS = ("op_type", "blob", "was", "gradient", "expected", "current")
"""Facts of an error that a recording reports."""


# Operator types that exist only in recordings.


def _reads(rule: str) -> Any:
    def gradient(op: OperatorDef, g_output: list[Gradient]) -> Any:
        for name, g in zip(op.output, g_output, strict=True):
            if g is None:
                raise RuntimeError(f"{name} has no gradient")
        seen = {"Direct": [], "UseOutput": list(op.output), "UseInput": list(op.input)}[rule]
        g_input = [name + "_grad" for name in op.input]
        made = OperatorDef(type=op.type + "Gradient", name="", output=g_input)
        made.input.extend([*seen, *(str(g) for g in g_output)])
        if op.HasField("device_option"):
            made.device_option.CopyFrom(op.device_option)
        return [made], g_input

    return gradient


def _nogradient(op: OperatorDef, g_output: list[Gradient]) -> Any:
    return [], [None] * len(op.input)


def _scripted(op: OperatorDef, g_output: list[Gradient]) -> Any:
    """Its arguments hold its gradient."""
    texts = {arg.name: [text.decode() for text in arg.strings] for arg in op.arg}
    made = [text_format.Parse(text, OperatorDef()) for text in texts.get("grad_ops", [])]
    return made, [_scripted_gradient(text) for text in texts.get("g_input", [])]


def _scripted_gradient(text: str) -> Gradient:
    if not text:
        return None
    if text in ('""', "''"):
        return ""
    return GradientSlice(*text.split("|")) if "|" in text else text


def register_recorded_types() -> None:
    """Register the types that only recordings use; harmless when done twice."""
    for type in ("Direct", "UseOutput", "UseInput"):
        registry.register(type, python_gradient=_reads(type), replace=True)
    registry.register("Nogradient", python_gradient=_nogradient, replace=True)
    registry.register("Scripted", python_gradient=_scripted, replace=True)


# The comparison.


def replay(record: dict[str, Any]) -> Trace:
    """Walk the record's net as it was walked when it was recorded.

    Raises:
        TypeError: the record is of a misuse of ys.
    """
    context = record.get("context") or {}
    scope = context.get("device_scope_b64")
    device = None if scope is None else DeviceOption.FromString(base64.b64decode(scope))
    net = NetDef.FromString(base64.b64decode(record["net_b64"]))
    return trace(net, recorded_ys(record), name_scope=context.get("name_scope", ""), device_scope=device)


def recorded_ys(record: dict[str, Any]) -> Any:
    """The ys as they were passed."""
    ys, kind = record["ys"], record.get("ys_kind")
    references = (record.get("context") or {}).get("ys_refs", ())
    ys = {(BlobReference(y) if y in references else y): gradient for y, gradient in ys.items()}
    if kind == "list":
        return list(ys)
    if kind in ("tuple", "string"):
        return tuple(ys) if kind == "tuple" else str(ys)
    return {(int(y) if kind == "int_keys" else y): _gradient(g) for y, g in ys.items()}


def check_trace(record: dict[str, Any]) -> list[str]:
    """What differs between a recorded walk and ours; empty where nothing does."""
    register_recorded_types()
    wanted = record.get("error")
    try:
        made = replay(record)
    except TypeError as error:
        misuse = wanted is not None and record.get("ys_kind") in ("string", "tuple", "int_keys")
        return [] if misuse else [f"TypeError: {error}"]
    return list(_differences(record, made))


def _differences(record: dict[str, Any], made: Trace) -> Iterator[str]:
    error = made.error
    wanted = record.get("error")
    if (error is None) != (wanted is None):
        yield f"error: wanted {wanted}, got {error}"
        return
    if wanted is not None and error is not None:
        yield from _error_differences(wanted, error)
    yield from _start_differences(record, made)
    yield from _step_differences(record, made)
    if wanted is None:
        yield from _result_differences(record, made)


def _error_differences(wanted: dict[str, Any], error: Any) -> Iterator[str]:
    for field in ("kind", "phase", "op_index"):
        if wanted[field] != getattr(error, field):
            yield f"error {field}: wanted {wanted[field]}, got {getattr(error, field)}"
    for fact in FACTS:
        value = wanted.get("facts", {}).get(fact)
        if value is not None and error.facts.get(fact) != value:
            yield f"error fact {fact}: wanted {value}, got {error.facts.get(fact)}"
    history = wanted.get("version_history")
    if history is not None:
        ours = [{"side": each["side"], "version": each["version"]} for each in error.facts.get("version_history", [])]
        if ours != history:
            yield f"version history: wanted {history}, got {ours}"


def _start_differences(record: dict[str, Any], made: Trace) -> Iterator[str]:
    for index, play in enumerate(record["play"]):
        event: Any = made.events[index]
        ours = {
            "in_versions": dict(zip(event.op.inputs, event.in_versions, strict=True)),
            "out_versions": dict(zip(event.op.outputs, event.out_versions, strict=True)),
        }
        if ours != play:
            yield f"play {index}: wanted {play}, got {ours}"
    init = record.get("init")
    if init is None:
        return
    state = made.state_at(len(record["play"]) + len(made.ys) - 1) if made.events[0].phase != "end" else None
    if state is None:
        return
    yield from _unequal("frontier", record["frontier"], state.frontier)
    yield from _unequal("init frontier", init["gradient_frontier"], state.gradient_frontier)
    yield from _unequal("init generators", init["gradient_generators"], _generators(state.gradient_generators))
    yield from _unequal("init map", init["input_to_grad"], _map(state.input_to_grad))


def _step_differences(record: dict[str, Any], made: Trace) -> Iterator[str]:
    if len(made.steps) != len(record["steps"]):
        yield f"steps: wanted {len(record['steps'])}, got {len(made.steps)}"
        return
    init = record.get("init") or {}
    frontier = dict(init.get("gradient_frontier", {}))
    generators = dict(init.get("gradient_generators", {}))
    gradients = dict(init.get("input_to_grad", {}))
    for wanted, ours in zip(record["steps"], made.steps, strict=True):
        complete = "accumulation" in wanted
        frontier.update(wanted.get("gradient_frontier_changed", {}))
        for blob, by_version in wanted.get("gradient_generators_changed", {}).items():
            generators[blob] = {**generators.get(blob, {}), **by_version}
        gradients.update(wanted.get("new_input_to_grad", {}))
        gradients.update(wanted.get("grad_map", {}))
        at = f"op {ours.op_index}"
        yield from _one_step(at, wanted, ours)
        if complete and "grad_map" in wanted:
            state = made.state_at(ours.last_event)
            present = {blob: g for blob, g in gradients.items() if g is not None}
            yield from _unequal(f"{at} frontier", frontier, state.gradient_frontier)
            yield from _unequal(f"{at} generators", generators, _generators(state.gradient_generators))
            yield from _unequal(f"{at} map", present, _map(state.input_to_grad))


def _one_step(at: str, wanted: dict[str, Any], ours: Any) -> Iterator[str]:
    for field in ("op_index", "in_versions", "out_versions", "asked"):
        yield from _unequal(f"{at} {field}", wanted[field], getattr(ours, field))
    yield from _unequal(f"{at} g_output", wanted["g_output"], [_json(g) for g in ours.g_output])
    if "gradient_ops_b64" in wanted:
        yield from _unequal_ops(f"{at} gradient ops", wanted["gradient_ops_b64"], ours.gradient_ops)
        yield from _unequal(f"{at} g_input", wanted["g_input"], [_json(g) for g in ours.g_input])
        if wanted["gradient_ops_b64"]:
            yield from _unequal(f"{at} first", wanted["first_gradient_op"], ours.first_gradient_op)
    if "pass_through" in wanted:
        local = wanted["locally_generated_blobs"]
        yield from _unequal(f"{at} locals", local[-1] if local else [], ours.locally_generated_blobs)
        yield from _unequal(f"{at} pass through", _flattened(wanted["pass_through"]), [*map(_one, ours.pass_through)])
        merged = [each for by in wanted.get("sparse_merged", {}).values() for each in by.values()]
        yield from _unequal(f"{at} merged", merged, [*map(_one, ours.sparse_merged)])
    if "grad_map" in wanted:
        renames = [
            {"for": each.blob, "op": each.op, "output": each.output, "from": each.old, "to": each.new}
            for each in ours.renames
        ]
        yield from _unequal(f"{at} renames", wanted["renames"], renames)
        yield from _unequal(f"{at} sums", len(wanted["sum_ops"]), len(ours.sum_ops))
        yield from _unequal(f"{at} sum map", wanted["grad_map"], _map(ours.grad_map))


def _result_differences(record: dict[str, Any], made: Trace) -> Iterator[str]:
    yield from _unequal_ops("gradient ops", record["gradient_ops_b64"], made.gradient_ops)
    yield from _unequal("map", record["input_to_grad"], _map(made.input_to_grad))
    state = made.state_at(-1)
    yield from _unequal("final frontier", record["final_gradient_frontier"], state.gradient_frontier)
    ours = _generators(state.gradient_generators)
    yield from _unequal("final generators", record["final_gradient_generators"], ours)


def _unequal(what: str, wanted: Any, ours: Any) -> Iterator[str]:
    if wanted != ours:
        yield f"{what}: wanted {wanted}, got {ours}"


def _unequal_ops(what: str, wanted: Sequence[str], ours: Sequence[OperatorDef]) -> Iterator[str]:
    parsed = [OperatorDef.FromString(base64.b64decode(each)) for each in wanted]
    if len(parsed) != len(ours):
        yield f"{what}: wanted {len(parsed)}, got {len(ours)}: {[op.type for op in ours]}"
        return
    for i, (theirs, our) in enumerate(zip(parsed, ours, strict=True)):
        if theirs.SerializeToString(deterministic=True) != our.SerializeToString(deterministic=True):
            yield f"{what} {i}: wanted {_line(theirs)}, got {_line(our)}"


def _line(op: OperatorDef) -> str:
    return text_format.MessageToString(op, as_one_line=True)


def _json(gradient: Gradient) -> Any:
    return gradient._asdict() if isinstance(gradient, GradientSlice) else gradient


def _gradient(value: Any) -> Gradient:
    return GradientSlice(value["indices"], value["values"]) if isinstance(value, dict) else as_gradient(value)


def _map(gradients: Any) -> dict[str, Any]:
    return {blob: _json(gradient) for blob, gradient in gradients.items()}


def _flattened(generators: dict[str, dict[str, list[Any]]]) -> list[Any]:
    return [each for by_version in generators.values() for found in by_version.values() for each in found]


def _generators(generators: dict[str, dict[int, list[Generator]]]) -> dict[str, Any]:
    return {
        blob: {str(version): [_one(each) for each in found] for version, found in by_version.items()}
        for blob, by_version in generators.items()
    }


def _one(generator: Generator) -> dict[str, Any]:
    from google.protobuf import json_format

    fields = ("op", "idx") if generator.kind == "dense" else ("op_indices", "idx_indices", "op_values", "idx_values")
    made: dict[str, Any] = {"kind": generator.kind}
    made.update({field: getattr(generator, field) for field in fields})
    made["gradient"] = _json(generator.gradient)
    device = generator.device_option
    if device.ListFields():
        made["device_option"] = json_format.MessageToDict(device, preserving_proto_field_name=True)
    return made
