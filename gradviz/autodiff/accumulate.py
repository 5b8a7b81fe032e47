"""Accumulation: when all readers of a version are visited, its gradients are added up.

Dense gradients meet in a Sum, sparse ones in two Concats. So that they can be told apart, all but the first output are
renamed to `_<name>_autosplit_<n>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff import diagnosis
from gradviz.autodiff.events import Accumulate, Rename, Verify
from gradviz.ops.arguments import arg
from gradviz.ops.records import GradientOp, GradientSlice
from gradviz.proto import DeviceOption

if TYPE_CHECKING:
    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.walk import Visiting, Walk
    from gradviz.ops.records import Gradient
    from gradviz.proto import Argument, OperatorDef

SUM_TAG = "is_auto_gen_sum_ops:1"
"""Extra info that marks the operators which accumulation adds."""

ONLY_SUM_TAG = "only_keep_is_auto_gen_sum_ops_tag:1"
"""Extra info of a generator that asks for a sum with the tag and nothing else of its device option."""


def accumulate(walk: Walk, visit: Visiting) -> None:
    """Add up the gradients of the inputs that the visited operator is the first to read.

    Raises:
        GradientError: phases `verify` and `sum_conflict`.
    """
    totals: dict[str, Gradient] = {}
    for blob, version in visit.read.items():  # upstream goes through a set; this order is one that it may take
        usages = walk.usages[blob, version]
        if len(usages) == 1:
            walk.emit(Verify(visit.op_index, blob, version, usages, "single_use", 0, False))
        elif usages[0] != visit.index:
            walk.emit(Verify(visit.op_index, blob, version, usages, "not_first", 0, False))
        elif _verify(walk, visit, blob, version, usages):
            totals[blob] = _add_up(walk, visit, blob, version)
    walk.set_gradients(visit.op_index, totals, summed=True)


def _verify(walk: Walk, visit: Visiting, blob: str, version: int, usages: list[int]) -> bool:
    generators = walk.generators.get((blob, version), [])
    if len({generator.kind for generator in generators}) > 1:
        raise diagnosis.mixed_kinds(walk, blob, version, generators)
    due = len(generators) >= 2
    if due:
        _agree_on_device(walk, blob, version, generators)
    walk.emit(Verify(visit.op_index, blob, version, usages, "due", len(generators), due))
    return due


def _agree_on_device(walk: Walk, blob: str, version: int, generators: list[Generator]) -> None:
    devices = [generator.source.device for generator in generators]
    if devices.count(None) == len(devices):
        return
    first = devices[0] or DeviceOption()
    if not all(same_device(device or DeviceOption(), first) for device in devices):
        raise diagnosis.devices_disagree(walk, blob, version, generators)


def same_device(one: DeviceOption, two: DeviceOption) -> bool:
    """Whether upstream takes two device options for one place: node names and seeds never matter.

    If either device type is the CPU both must be, and ids don't matter; otherwise only ids are compared.
    """
    if not one.device_type or not two.device_type:
        return not one.device_type and not two.device_type
    return one.device_id == two.device_id


class AddedOp(GradientOp):
    """An operator that accumulation adds. Unlike those of rules it is not marked as a gradient operator.

    Attributes:
        place: the device option that it copies, None for none.
    """

    __slots__ = ("place",)

    def __init__(self, type: str, inputs: list[str], outputs: list[str], *own: Argument) -> None:
        super().__init__(type, inputs, outputs, own)
        self.place: DeviceOption | None = None

    @property
    def device(self) -> DeviceOption:
        made = DeviceOption()
        if self.place is not None:
            made.CopyFrom(self.place)
        made.extra_info.append(SUM_TAG)
        return made

    def _spell(self, proto: OperatorDef) -> None:
        super()._spell(proto)
        proto.ClearField("is_gradient_op")
        proto.device_option.CopyFrom(self.device)


def _add_up(walk: Walk, visit: Visiting, blob: str, version: int) -> Gradient:
    generators = walk.generators[blob, version]
    base = _base_name(walk, blob, generators)
    total: Gradient
    if generators[0].kind == "dense":
        added, total = _dense_sum(walk, visit, blob, generators, base)
    else:
        added, total = _sparse_sum(walk, visit, blob, generators, base)
    place = _place(walk, generators)
    for op in added:
        op.place = place
    first = walk.add_gradient_ops(added)
    walk.emit(Accumulate(visit.op_index, blob, version, first, tuple(added), total))
    return total


def _base_name(walk: Walk, blob: str, generators: list[Generator]) -> str:
    """Named after the first generator that has an operator, as its output is called by now."""
    for g in generators:
        if g.op is not None and g.idx is not None:
            return walk.output_of(g.op, g.idx)
        if g.op_indices is not None and g.idx_indices is not None:
            return walk.output_of(g.op_indices, g.idx_indices).removesuffix("_indices")
        if g.op_values is not None and g.idx_values is not None:
            return walk.output_of(g.op_values, g.idx_values).removesuffix("_values")
    return blob + "_grad"


def _dense_sum(
    walk: Walk, visit: Visiting, blob: str, generators: list[Generator], base: str
) -> tuple[list[AddedOp], str]:
    names: list[str] = []
    renames = 0
    first = True
    for g in generators:
        if g.op is None or g.idx is None:
            names.append(_passed(walk, blob, base, g.gradient))
        elif first:
            first = False
            names.append(walk.output_of(g.op, g.idx))
        else:
            names.append(_rename(walk, visit, blob, (g.op, g.idx), renames))
            renames += 1
    if base in names:  # Sum may only work in place on its first input
        at = names.index(base)
        names[0], names[at] = names[at], names[0]
    return [AddedOp("Sum", names, [base])], base


def _sparse_sum(
    walk: Walk, visit: Visiting, blob: str, generators: list[Generator], base: str
) -> tuple[list[AddedOp], GradientSlice]:
    indices: list[str] = []
    values: list[str] = []
    renamed = {"indices": 0, "values": 0}
    for g in generators:
        halves = (("indices", indices, g.op_indices, g.idx_indices), ("values", values, g.op_values, g.idx_values))
        for half, names, op, idx in halves:
            if op is None or idx is None:
                names.append(_passed(walk, blob, base, getattr(g.gradient, half)))
            else:
                names.append(_rename(walk, visit, blob, (op, idx), renamed[half]))
                renamed[half] += 1
    concats = [_concat(indices, f"{base}_indices_concat"), _concat(values, f"{base}_values_concat")]
    return concats, GradientSlice(concats[0].outputs[0], concats[1].outputs[0])


def _concat(names: list[str], output: str) -> AddedOp:
    return AddedOp("Concat", names, [output, output + "_split"], arg("axis", 0))


def _passed(walk: Walk, blob: str, base: str, gradient: str) -> str:
    """A gradient that passes through keeps its name, so it must not be the name of the sum."""
    if gradient == base:
        raise diagnosis.sum_conflict(walk, blob, gradient)
    return gradient


def _rename(walk: Walk, visit: Visiting, blob: str, output: tuple[int, int], count: int) -> str:
    old = walk.output_of(*output)
    new = f"_{old}_autosplit_{count}"
    walk.renamed[output] = new
    walk.recording.renames.add(len(walk.recording.events), output, new)
    walk.emit(Rename(visit.op_index, blob, *output, old, new))
    return new


def _place(walk: Walk, generators: list[Generator]) -> DeviceOption | None:
    """The first generator's device option, unless one of them asks for nothing but the tag."""
    for g in generators:
        device = g.source.device
        if device is not None and ONLY_SUM_TAG in device.extra_info:
            return walk.device_scope
    return generators[0].source.device
