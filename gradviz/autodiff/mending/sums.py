"""Remedies where the gradients of one blob cannot be added up."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.scene import joined
from gradviz.autodiff.mending import edits
from gradviz.ops.arguments import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy, Ys
    from gradviz.errors import GradientError
    from gradviz.ops.records import Gradient
    from gradviz.proto import DeviceOption, NetDef, OperatorDef


def mixed(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For `mixed_sparse_dense`: the sparse readers read a dense stand-in, or gather in a way that is dense."""
    blob, version = error.facts["blob"], error.facts["version"]
    sparse = _forward_ops(shop, blob, version, "sparse")
    yield from dense_before(shop, blob, sparse)
    for index in sparse:
        yield from _batch_gather(shop, index)


def dense_before(shop: Workshop, blob: str, readers: list[int]) -> Iterator[Remedy]:
    """EnsureDense in front of readers whose gradient is sparse."""
    scene = shop.scene
    if not readers or not shop.renameable(blob, (), readers):
        return
    dense = shop.fresh(f"{blob}_dense")
    device = scene.op(readers[0]).device

    def edit(net: NetDef) -> None:
        edits.rename(net, blob, dense, (), readers)
        edits.insert(net, readers[0], edits.make_op("EnsureDense", [blob], [dense], device))

    yield shop.remedy(
        f"Put EnsureDense ({blob} -> {dense}) before {scene.all_named(readers)}",
        f"Going forward it only copies; going back it turns the slice into a dense gradient of {blob}. It stands "
        f"before the sparse reader{'' if len(readers) == 1 else 's'} only: on the shared blob it would not help.",
        edit,
    )


def _batch_gather(shop: Workshop, index: int) -> Iterator[Remedy]:
    """A Gather of rows as a BatchGather with a batch of one, whose gradient is dense."""
    scene = shop.scene
    op = scene.op(index)
    if op.type != "Gather" or len(op.inputs) != 2 or values(op.proto).get("axis", 0) or op.inputs[0] == op.inputs[1]:
        return
    batch, picked = shop.fresh(f"{op.inputs[0]}_batch"), shop.fresh(f"{op.outputs[0]}_batch")

    def edit(net: NetDef) -> None:
        edits.replace(
            net,
            index,
            edits.make_op("ExpandDims", [op.inputs[0]], [batch], op.device, dims=[0]),
            edits.make_op("BatchGather", [batch, op.inputs[1]], [picked], op.device),
            edits.make_op("Squeeze", [picked], [op.outputs[0]], op.device, dims=[0]),
        )

    yield shop.remedy(
        f"Replace {scene.named(index)} by BatchGather, with a batch of one around it",
        "The gradient of BatchGather is dense; ExpandDims and Squeeze add and take away the batch's dimension.",
        edit,
    )


def _forward_ops(shop: Workshop, blob: str, version: int, kind: str) -> list[int]:
    makers = shop.scene.generators(blob, version)
    return sorted({index for index, generator in makers if index is not None and generator.kind == kind})


# Devices.


def devices(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For `device_mismatch`: one device for all operators whose gradients meet, or none at all."""
    scene, blob, version = shop.scene, error.facts["blob"], error.facts["version"]
    makers = scene.generators(blob, version)
    ops = sorted({index for index, _ in makers if index is not None})
    choices: dict[tuple[int, int], DeviceOption] = {}
    for index, generator in makers:
        device = generator.device_option
        if index is None:  # the gradient of a y is made under the device scope: the others have to follow it
            choices = {_place(device): device}
            break
        choices.setdefault(_place(device), device)
    for device in choices.values():
        yield _move_to(shop, ops, device, blob)
    elsewhere = [index for index in range(scene.offset, scene.last) if _place(scene.op(index).device)[0]]
    if len(elsewhere) > len(ops):
        yield no_devices(shop, elsewhere)


def no_devices(shop: Workshop, indices: list[int]) -> Remedy:
    """Take the device options away."""

    def edit(net: NetDef) -> None:
        for index in indices:
            net.op[index].ClearField("device_option")

    return shop.remedy(
        f"Drop the device options of all {len(indices)} ops that carry one",
        "Everything then runs on the CPU; graph and gradients do not depend on devices.",
        edit,
    )


def _move_to(shop: Workshop, ops: list[int], device: DeviceOption, blob: str) -> Remedy:
    scene = shop.scene
    moved = [index for index in ops if _place(scene.op(index).device) != _place(device)]

    def edit(net: NetDef) -> None:
        for index in moved:
            net.op[index].device_option.CopyFrom(device)

    return shop.remedy(
        f"Run {scene.all_named(moved)} on {device_name(device)} too",
        f"All gradients of {blob} then lie on one device. What {joined([scene.op(index).type for index in moved])} "
        "reads must be there when the net runs.",
        edit,
    )


def _place(device: DeviceOption | None) -> tuple[int, int]:
    if device is None or not device.device_type:
        return 0, 0
    return device.device_type, device.device_id


def device_name(device: DeviceOption | None) -> str:
    """A device as messages name it."""
    from gradviz.proto import DeviceTypeProto

    if device is None or not device.device_type:
        return "the CPU"
    try:
        name = DeviceTypeProto.Name(device.device_type).removeprefix("PROTO_")
    except ValueError:
        name = f"device type {device.device_type}"
    return f"{name} {device.device_id}"


# Names that collide, halves that do not fit.


def conflict(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For `sum_conflict`: another name for the gradient that arrives, or a copy that breaks its way."""
    scene, blob, gradient = shop.scene, error.facts["blob"], error.facts["gradient"]
    given = [y for y, name in scene.walk.ys.items() if gradient in ((name,) if isinstance(name, str) else name or ())]
    if given and not shop.nested:
        new = shop.fresh(f"{gradient}_given")
        yield shop.remedy(
            f"Give the gradient of {joined(given)} under another name, {new}",
            f"{gradient} is the name that the sum of {blob}'s gradients gets; feed {new} in its place.",
            lambda net: None,
            lambda ys: _renamed_gradient(ys, gradient, new),
        )
    for index in _passing(shop, blob, gradient):
        if shop.renameable(blob, (), [index]):
            copy = shop.fresh(f"{blob}_copy")
            device = scene.op(index).device
            if scene.last_version(blob) == scene.reads(index)[blob]:
                made = edits.make_op("Copy", [blob], [copy], device)
            else:  # the gradient of Copy reads its input, which is overwritten by then
                made = edits.make_op("Scale", [blob], [copy], device, scale=1.0)
            yield shop.remedy(
                f"Put {made.type} ({blob} -> {copy}) before {scene.named(index)}",
                f"Its gradient is an operator, so {gradient} no longer passes straight through to {blob}.",
                partial(_read_through, index=index, blob=blob, op=made),
            )


def _passing(shop: Workshop, blob: str, gradient: str) -> list[int]:
    column = shop.scene.walk.recording.generators
    events = shop.scene.walk.recording.events
    found = []
    for mark, (name, _), generator in zip(column.marks, column.keys, column.values, strict=True):
        index = events[mark].op_index
        names = (generator.gradient,) if generator.kind == "dense" else generator.gradient
        if name == blob and not generator.has_op and gradient in names and index is not None:
            found.append(index)
    return sorted(set(found))


def _renamed_gradient(ys: Ys, old: str, new: str) -> Ys:
    from gradviz.ops.records import GradientSlice

    def renamed(name: str) -> str:
        return new if name == old else name

    def changed(gradient: Gradient) -> Gradient:
        if isinstance(gradient, GradientSlice):
            return GradientSlice(renamed(gradient.indices), renamed(gradient.values))
        return gradient if gradient is None else renamed(gradient)

    return {y: changed(gradient) for y, gradient in ys.items()}


def _read_through(net: NetDef, index: int, blob: str, op: OperatorDef) -> None:
    edits.rename(net, blob, op.output[0], (), [index])
    edits.insert(net, index, op)


def unmerged(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For halves that cannot be merged: a dense stand-in for each time the operator reads the blob."""
    scene, index, blob = shop.scene, error.op_index, error.facts["blob"]
    assert index is not None
    op = scene.op(index)
    times = op.inputs.count(blob)
    if times < 2 or not shop.renameable(blob, (), [index]):
        return
    names = [shop.fresh(f"{blob}_dense") for _ in range(times)]

    def edit(net: NetDef) -> None:
        waiting = list(names)
        net.op[index].input[:] = [waiting.pop(0) if name == blob else name for name in net.op[index].input]
        edits.insert(net, index, *(edits.make_op("EnsureDense", [blob], [name], op.device) for name in names))

    yield shop.remedy(
        f"Put {times} EnsureDense on {blob} before {scene.named(index)}, one for each time it reads it",
        "Each then gets a slice of its own and makes it dense, and dense gradients can be added up.",
        edit,
    )
