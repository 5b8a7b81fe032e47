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

    from gradviz.autodiff.walk import Visiting, Walk
    from gradviz.ops.records import Gradient, GradientOp

Halves = dict[tuple[str, int], list[SparseGenerator]]


def build_generators(
    walk: Walk,
    visit: Visiting,
    made: Sequence[GradientOp],
    first: int,
    g_output: Sequence[Gradient],
    g_input: Sequence[Gradient],
) -> None:
    """Go through the five phases for one forward operator.

    Args:
        walk: the walk; its generators and gradient frontier are updated.
        visit: the visit to the forward operator.
        made: the gradient operators, as the rule made them.
        first: where they stand in the list of gradient operators.
        g_output: gradients of the forward operator's outputs.
        g_input: gradients of its inputs.

    Raises:
        GradientError: phases `check_inputs`, `merge_sparse` and `build_generators`.
    """
    local: set[str] = set()
    halves: Halves = {}
    if made:
        outputs_of, inputs_of = _positions(g_output), _positions(g_input)
        for number, op in enumerate(made, first):
            _check(walk, visit, number, op, outputs_of, local)
            local.update(op.outputs)
            _collect(walk, visit, number, op, g_input, inputs_of, halves)
        if halves:
            _merge(walk, visit, halves)
    _pass_through(walk, visit, g_input, local)
    _move_frontier(walk, visit, g_input)


def _positions(gradients: Sequence[Gradient]) -> dict[str, int]:
    """Where each name stands first among gradients, as a whole or as a half."""
    found: dict[str, int] = {}
    for i, gradient in enumerate(gradients):
        if type(gradient) is str:
            found.setdefault(gradient, i)
        elif gradient is not None:
            found.setdefault(gradient[0], i)
            found.setdefault(gradient[1], i)
    return found


def _check(
    walk: Walk, visit: Visiting, number: int, op: GradientOp, outputs_of: dict[str, int], local: set[str]
) -> None:
    op_index, read, written, emit = visit.op_index, visit.read, visit.written, walk.emit
    for name in op.inputs:
        if name in outputs_of:
            blob = visit.op.outputs[outputs_of[name]]
            role, wanted, found = "gradient", written[blob], walk.gradient_frontier[blob]
        elif name in written:
            role, blob, wanted, found = "output", name, written[name], walk.frontier[name]
        elif name in read:
            role, blob, wanted, found = "input", name, read[name], walk.frontier[name]
        else:
            role, blob, wanted, found = "local" if name in local else "unknown", "", 0, 0
        event = Check(op_index, number, op.type, name, role, blob, wanted, found)
        emit(event)
        if wanted != found or role == "unknown":
            raise diagnosis.failed_check(event, walk)


def _collect(
    walk: Walk,
    visit: Visiting,
    number: int,
    op: GradientOp,
    g_input: Sequence[Gradient],
    inputs_of: dict[str, int],
    halves: Halves,
) -> None:
    inputs, op_index = visit.op.inputs, visit.op_index
    walk.emit(Local(op_index, number, op.type, tuple(op.outputs)))
    for i, output in enumerate(op.outputs):
        position = inputs_of.get(output)
        if position is None:
            continue
        if position >= len(inputs):
            raise diagnosis.surplus_gradient(position, len(inputs))
        blob, gradient = inputs[position], g_input[position]
        version = visit.read[blob]
        if type(gradient) is str:
            dense = DenseGenerator(gradient, number, i, op)
            walk.add_generator(blob, version, dense)
            walk.emit(Dense(op_index, blob, version, dense, position, op.type))
        else:
            assert isinstance(gradient, GradientSlice)
            half = _half(gradient, output, number, i, op)
            halves.setdefault((blob, version), []).append(half)
            which = "values" if half.op_indices is None else "indices"
            walk.emit(Half(op_index, blob, version, half, which, op.type))


def _half(gradient: GradientSlice, output: str, number: int, i: int, op: GradientOp) -> SparseGenerator:
    if gradient.indices == output:
        return SparseGenerator(gradient, (number, i), (None, 0), op)
    return SparseGenerator(gradient, (None, 0), (number, i), op)


def _merge(walk: Walk, visit: Visiting, halves: Halves) -> None:
    for (blob, version), found in halves.items():
        merged = found[0] if len(found) == 1 else _merged(blob, found)
        walk.add_generator(blob, version, merged)
        walk.emit(Merge(visit.op_index, blob, version, merged, len(found)))


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


def _pass_through(walk: Walk, visit: Visiting, g_input: Sequence[Gradient], local: set[str]) -> None:
    inputs = visit.op.inputs
    for i, gradient in enumerate(g_input):
        if i >= len(inputs):
            raise diagnosis.surplus_gradient(i, len(inputs))
        if not gradient:
            continue
        made: DenseGenerator | SparseGenerator
        if isinstance(gradient, GradientSlice):
            if gradient.indices in local or gradient.values in local:
                continue
            made = SparseGenerator(gradient, (None, 0), (None, 0), visit.op)
        elif gradient in local:
            continue
        else:
            made = DenseGenerator(gradient, None, 0, visit.op)
        blob = inputs[i]
        version = visit.read[blob]
        walk.add_generator(blob, version, made)
        walk.emit(PassThrough(visit.op_index, blob, version, made))


def _move_frontier(walk: Walk, visit: Visiting, g_input: Sequence[Gradient]) -> None:
    frontier, write, events = walk.gradient_frontier, walk.recording.gradient_frontier.add, walk.recording.events
    for blob, gradient in zip(visit.op.inputs, g_input, strict=False):
        if gradient is not None:
            version = visit.read[blob]
            write(len(events), blob, version)
            walk.emit(Frontier(visit.op_index, blob, version, frontier.get(blob)))
            frontier[blob] = version
