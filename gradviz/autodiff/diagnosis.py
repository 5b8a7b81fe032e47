"""The errors of a walk: each with its kind, its phase, one plain line, and the evidence.

The facts of an error are names, versions and operator indices, never prose; `docs/errors.md` lists the kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import listed, versioned
from gradviz.errors import GradientError

if TYPE_CHECKING:
    from gradviz.autodiff.events import Check
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.walk import Walk
    from gradviz.ops.records import Op


# Before the walk.


def stop_gradient_without_output(op_index: int) -> GradientError:
    return GradientError(
        f"op {op_index}, StopGradient, has no output, so there is nothing that it could stop; drop it",
        kind="IndexError@sanity_check",
        phase="sanity_check",
        op_index=op_index,
        facts={"op_type": "StopGradient"},
    )


def orphan_stop_gradient(op_index: int, op: Op) -> GradientError:
    blob = op.outputs[0]
    source = op.inputs[0] if op.inputs else "its input"
    return GradientError(
        f"op {op_index}, StopGradient, writes {blob}, which no op reads: it stops nothing; "
        f"let later ops read {blob} in place of {source}, run it in place before them, or drop it",
        kind="stop_gradient_orphan",
        phase="sanity_check",
        op_index=op_index,
        facts={"blob": blob, "input": source, "op_type": op.type},
    )


# Making gradient operators.


def rule_raised(op: Op, error: Exception) -> GradientError:
    """A rule of the Python kind raised something of its own."""
    kind = f"{type(error).__name__}@make_gradient"
    return GradientError(f"the gradient rule of {op.type} failed: {error}", kind=kind, facts={"op_type": op.type})


def nested_failure(label: str, inner: GradientError) -> GradientError:
    """A walk over a nested net failed: the operator around it has no gradient."""
    where = "" if inner.op_index is None else f", op {inner.op_index} inside"
    facts = {**inner.facts, "nested": label, "nested_op_index": inner.op_index, "nested_phase": inner.phase}
    facts.pop("placed", None)
    return GradientError(f"in its {label}{where}: {inner}", kind=inner.kind, facts=facts)


_UPSTREAM_TYPES = {
    "stop_gradient_orphan": "ValueError",
    "ys_type": "TypeError",
    "no_gradient_maker": "Exception",
    "should_not_do_gradient": "Exception",
    "gradient_not_implemented_yet": "Exception",
    "expected_dense": "Exception",
    "schema": "Exception",
    "make_gradient_other": "Exception",
}


def upstream_type(kind: str) -> str:
    """The exception type that upstream raises for an error of this kind."""
    return kind.partition("@")[0] if "@" in kind else _UPSTREAM_TYPES.get(kind, "RuntimeError")


# Phase 1: the checks.


def failed_check(check: Check, walk: Walk) -> GradientError:
    """An input of a gradient operator is not the blob it was, or is out of reach."""
    facts: dict[str, Any] = {
        "blob": check.blob or check.name,
        "gradient_op": check.gradient_op,
        "gradient_op_type": check.type,
    }
    forward = walk.ops[check.op_index - walk.recording.offset]
    whose = f"the gradient of op {check.op_index} ({forward.type})"
    if check.role == "unknown":
        message = (
            f"{check.type}, {whose}, reads {check.name}, which is neither input, output nor output gradient of that op "
            f"and was not made by an earlier gradient op of the same step"
        )
        return _check_error("not_in_scope", message, check, facts)
    facts["expected"], facts["current"] = check.wanted, check.found
    if check.role == "input":
        facts["version_history"] = readers(walk, check.blob)
    else:
        facts["version_history"] = writers(walk, check.blob)
    facts["overwritten_by"] = _later_writers(walk, check.blob, check.wanted)
    if check.role == "gradient":
        facts["gradient"] = check.name
        message = (
            f"{check.type}, {whose}, takes {check.name} for the gradient of {versioned(check.blob, check.wanted)}, "
            f"but by now it belongs to {versioned(check.blob, check.found)}{_written_by(facts)}"
        )
        return _check_error("grad_version_mismatch", message, check, facts)
    does = "wrote" if check.role == "output" else "read"
    message = (
        f"{check.type}, {whose}, needs {check.blob} as op {check.op_index} {does} it (version {check.wanted}), "
        f"but {check.blob} is at version {check.found} when the net has run{_written_by(facts)}"
    )
    return _check_error(f"{check.role}_overwritten", message, check, facts)


def _check_error(kind: str, message: str, check: Check, facts: dict[str, Any]) -> GradientError:
    return GradientError(message, kind=kind, phase="check_inputs", op_index=check.op_index, facts=facts)


def _written_by(facts: dict[str, Any]) -> str:
    ops = facts["overwritten_by"]
    if not ops:
        return ""
    named = listed([f"op {each['op_index']} ({each['op_type']})" for each in ops[:3]])
    more = f" and {len(ops) - 3} more" if len(ops) > 3 else ""
    return f"; it was overwritten by {named}{more}: give that output a name of its own"


def writers(walk: Walk, blob: str) -> list[dict[str, Any]]:
    """Every write to a blob in order: side, version, operator."""
    return _history(walk, blob, "out")


def readers(walk: Walk, blob: str) -> list[dict[str, Any]]:
    """Every read of a blob in order: side, version, operator."""
    return _history(walk, blob, "in")


def _history(walk: Walk, blob: str, side: str) -> list[dict[str, Any]]:
    from gradviz.autodiff.events import Play

    found = []
    for event in walk.recording.events[: len(walk.ops)]:
        assert isinstance(event, Play)
        names, versions = (
            (event.op.inputs, event.in_versions) if side == "in" else (event.op.outputs, event.out_versions)
        )
        found += [
            {"side": side, "version": version, "op_index": event.op_index, "op_type": event.op.type}
            for name, version in zip(names, versions, strict=True)
            if name == blob
        ]
    return found


def _later_writers(walk: Walk, blob: str, version: int) -> list[dict[str, Any]]:
    return [write for write in writers(walk, blob) if write["version"] > version]


# Phases 2 to 4: generators.


def surplus_gradient(position: int, inputs: int) -> GradientError:
    return GradientError(
        f"the gradient rule gave a gradient for input {position}, but the op has {inputs} inputs",
        kind="IndexError@build_generators",
        phase="build_generators",
        facts={"position": position, "inputs": inputs},
    )


def unmergeable(blob: str, why: str) -> GradientError:
    return GradientError(
        f"the halves of the sparse gradient of {blob} cannot be merged: {why}; "
        f"does the op read {blob} twice, or does its rule write a half more than once?",
        kind="AssertionError@merge_sparse",
        phase="merge_sparse",
        facts={"blob": blob},
    )


def halves_on_two_devices(blob: str) -> GradientError:
    return GradientError(
        f"indices and values of the sparse gradient of {blob} come from ops with unequal device options "
        "(an unset field differs from an explicit default)",
        kind="NameError@merge_sparse",
        phase="merge_sparse",
        facts={"blob": blob},
    )


# Accumulation.


def mixed_kinds(walk: Walk, blob: str, version: int, generators: list[Generator]) -> GradientError:
    dense, sparse = (_users(walk, blob, version, generators, kind) for kind in ("dense", "sparse"))
    return GradientError(
        f"{versioned(blob, version)} gets dense and sparse gradients, which cannot be added up: dense from {dense}, "
        f"sparse from {sparse}; put EnsureDense before the sparse reader, or use an op with a dense gradient there",
        kind="mixed_sparse_dense",
        phase="verify",
        facts={"blob": blob, "version": version, "generators": list(generators)},
    )


def devices_disagree(walk: Walk, blob: str, version: int, generators: list[Generator]) -> GradientError:
    places = [f"{_place(g)} for {_named(walk, g)}" for g in generators]
    return GradientError(
        f"the gradients of {versioned(blob, version)} lie on devices that disagree, so they cannot be added up: "
        f"{listed(places)}; give the ops that read {blob} one device option",
        kind="device_mismatch",
        phase="verify",
        facts={"blob": blob, "version": version, "generators": list(generators)},
    )


def sum_conflict(walk: Walk, blob: str, gradient: str) -> GradientError:
    return GradientError(
        f"the gradient {gradient} passes straight through to {blob}, and the sum of {blob}'s gradients would get the "
        f"same name; give the gradient that arrives another name",
        kind="sum_conflict",
        phase="sum_conflict",
        facts={"blob": blob, "gradient": gradient},
    )


def _users(walk: Walk, blob: str, version: int, generators: list[Generator], kind: str) -> str:
    return listed([_named(walk, g) for g in generators if g.kind == kind])


def _named(walk: Walk, generator: Generator) -> str:
    op = next((each for each in (generator.op, generator.op_indices, generator.op_values) if each is not None), None)
    name = generator.gradient if generator.kind == "dense" else generator.gradient.values
    return f"{name} (passed through)" if op is None else f"{walk.recording.gradient_ops[op].type} ({name})"


def _place(generator: Generator) -> str:
    device = generator.device_option
    return f"device type {device.device_type} id {device.device_id}" if device.device_type else "CPU"


def add_evidence(error: GradientError, walk: Walk) -> None:
    """Name the operator in an error that a rule raised without knowing where it stands."""
    if error.phase == "make_gradient" and error.op_index is not None and not error.facts.get("placed"):
        error.facts["placed"] = True
        error.args = (f"op {error.op_index}: {error.args[0]}",)
