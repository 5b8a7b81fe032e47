"""Building generators: the five phases that follow the answer of a gradient rule.

(1) Each input of each gradient operator is checked; (2) its outputs become locally generated blobs, and those that are
gradients of inputs become generators, dense or half-sparse; (3) halves are merged; (4) gradients that no operator of
this step wrote pass straight through; (5) the gradient frontier moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff import diagnosis
from gradviz.autodiff.events import Check, Dense, Frontier, Half, Local, Merge, PassThrough
from gradviz.autodiff.generators import DenseGenerator, SparseGenerator
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradviz.autodiff.walk import Walk
    from gradviz.ops.records import Gradient, GradientOp

Halves = dict[tuple[str, int], list[SparseGenerator]]


def build_generators(
    walk: Walk,
    index: int,
    made: Sequence[GradientOp],
    first: int,
    g_output: Sequence[Gradient],
    g_input: Sequence[Gradient],
) -> None:
    """Go through the five phases for one forward operator.

    Args:
        walk: the walk; its generators and gradient frontier are updated.
        index: the forward operator, counted within the walk.
        made: the gradient operators, as the rule made them.
        first: where they stand in the list of gradient operators.
        g_output: gradients of the forward operator's outputs.
        g_input: gradients of its inputs.

    Raises:
        GradientError: phases `check_inputs`, `merge_sparse` and `build_generators`.
    """
    local: list[str] = []
    halves: Halves = {}
    for number, op in enumerate(made, first):
        for name in op.inputs:
            _check(walk, index, number, op, name, g_output, local)
        local.extend(op.outputs)
        _collect(walk, index, number, op, g_input, halves)
    if halves:
        _merge(walk, index, halves)
    _pass_through(walk, index, g_input, local)
    _move_frontier(walk, index, g_input)


def _position(gradients: Sequence[Gradient], name: str) -> int | None:
    """The first gradient that is `name`, or has it as a half."""
    for i, gradient in enumerate(gradients):
        if gradient == name or (isinstance(gradient, GradientSlice) and name in gradient):
            return i
    return None


def _check(
    walk: Walk,
    index: int,
    number: int,
    op: GradientOp,
    name: str,
    g_output: Sequence[Gradient],
    local: list[str],
) -> None:
    forward = walk.ops[index]
    read, written = walk.versions[index]
    position = _position(g_output, name)
    if position is not None:
        blob = forward.outputs[position]
        role, wanted, found = "gradient", written[blob], walk.gradient_frontier[blob]
    elif name in written:
        role, blob, wanted, found = "output", name, written[name], walk.frontier[name]
    elif name in read:
        role, blob, wanted, found = "input", name, read[name], walk.frontier[name]
    else:
        role, blob, wanted, found = "local" if name in local else "unknown", "", 0, 0
    event = Check(index + walk.recording.offset, number, op.type, name, role, blob, wanted, found)
    walk.emit(event)
    if wanted != found or role == "unknown":
        raise diagnosis.failed_check(event, walk)


def _collect(walk: Walk, index: int, number: int, op: GradientOp, g_input: Sequence[Gradient], halves: Halves) -> None:
    recording = walk.recording
    op_index = index + recording.offset
    inputs, read = walk.ops[index].inputs, walk.versions[index][0]
    walk.emit(Local(op_index, number, op.type, tuple(op.outputs)))
    for i, output in enumerate(op.outputs):
        position = _position(g_input, output)
        if position is None:
            continue
        if position >= len(inputs):
            raise diagnosis.surplus_gradient(position, len(inputs))
        blob, gradient = inputs[position], g_input[position]
        version = read[blob]
        if isinstance(gradient, GradientSlice):
            half = _half(gradient, output, number, i, op)
            halves.setdefault((blob, version), []).append(half)
            which = "values" if half.op_indices is None else "indices"
            walk.emit(Half(op_index, blob, version, half, which, op.type))
        else:
            assert gradient is not None
            dense = DenseGenerator(gradient, number, i, op)
            walk.generators.setdefault((blob, version), []).append(dense)
            recording.generator_marks.append(len(recording.events))
            walk.emit(Dense(op_index, blob, version, dense, position, op.type))


def _half(gradient: GradientSlice, output: str, number: int, i: int, op: GradientOp) -> SparseGenerator:
    if gradient.indices == output:
        return SparseGenerator(gradient, (number, i), (None, 0), op)
    return SparseGenerator(gradient, (None, 0), (number, i), op)


def _merge(walk: Walk, index: int, halves: Halves) -> None:
    recording = walk.recording
    # Upstream keeps halves by name, then by version; the order in which names came first is the order of merging.
    for (blob, version), found in halves.items():
        merged = found[0] if len(found) == 1 else _merged(blob, found)
        walk.generators.setdefault((blob, version), []).append(merged)
        recording.generator_marks.append(len(recording.events))
        walk.emit(Merge(index + recording.offset, blob, version, merged, len(found)))


def _merged(blob: str, halves: list[SparseGenerator]) -> SparseGenerator:
    if len(halves) != 2:
        raise diagnosis.unmergeable(blob, f"there are {len(halves)} halves")
    one, two = halves
    if one.gradient != two.gradient:
        raise diagnosis.unmergeable(blob, "the two halves belong to different slices")
    if one.device_option != two.device_option:
        raise diagnosis.halves_on_two_devices(blob)
    by_indices = {half.op_indices is None: half for half in halves}
    if len(by_indices) != 2:
        which = "values" if one.op_indices is None else "indices"
        raise diagnosis.unmergeable(blob, f"the {which} were made twice")
    indices, values = by_indices[False], by_indices[True]
    assert indices.idx_indices is not None
    assert values.idx_values is not None
    where = (indices.op_indices, indices.idx_indices), (values.op_values, values.idx_values)
    return SparseGenerator(one.gradient, *where, one.source)


def _pass_through(walk: Walk, index: int, g_input: Sequence[Gradient], local: list[str]) -> None:
    recording = walk.recording
    forward, read = walk.ops[index], walk.versions[index][0]
    for i, gradient in enumerate(g_input):
        if i >= len(forward.inputs):
            raise diagnosis.surplus_gradient(i, len(forward.inputs))
        if not gradient:
            continue
        blob = forward.inputs[i]
        made: DenseGenerator | SparseGenerator
        if isinstance(gradient, GradientSlice):
            if gradient.indices in local or gradient.values in local:
                continue
            made = SparseGenerator(gradient, (None, 0), (None, 0), forward)
        else:
            if gradient in local:
                continue
            made = DenseGenerator(gradient, None, 0, forward)
        version = read[blob]
        walk.generators.setdefault((blob, version), []).append(made)
        recording.generator_marks.append(len(recording.events))
        walk.emit(PassThrough(index + recording.offset, blob, version, made))


def _move_frontier(walk: Walk, index: int, g_input: Sequence[Gradient]) -> None:
    recording, frontier = walk.recording, walk.gradient_frontier
    inputs, read = walk.ops[index].inputs, walk.versions[index][0]
    for i, gradient in enumerate(g_input):
        if gradient is None:
            continue
        blob = inputs[i]
        version = read[blob]
        previous = frontier.get(blob)
        frontier[blob] = version
        recording.gradient_frontier_marks.append(len(recording.events))
        walk.emit(Frontier(index + recording.offset, blob, version, previous))
