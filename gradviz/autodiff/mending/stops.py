"""Remedies for a StopGradient that stops nothing, and the one that always helps: stopping the gradient on purpose."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.workshop import asks_without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy
    from gradviz.errors import GradientError
    from gradviz.proto import NetDef

_MOST_READERS = 3


def orphan(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For `stop_gradient_orphan`: in place before the readers, in the readers' way, or away."""
    scene, index = shop.scene, error.op_index
    assert index is not None
    op = scene.op(index)
    if op.inputs:
        readers = [
            reader for reader in scene.readers(op.inputs[0], scene.reads(index)[op.inputs[0]]) if reader != index
        ]
        if readers:
            yield _in_place(shop, index, readers)
            yield from _in_the_way(shop, index, readers)
    yield shop.remedy(
        f"Drop {scene.named(index)}",
        "The gradient then passes as it does now; nothing is frozen.",
        lambda net: edits.drop(net, [index]),
    )


def without_output(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For a StopGradient without an output."""
    scene, index = shop.scene, error.op_index
    assert index is not None
    op = scene.op(index)
    if op.inputs:
        blob = op.inputs[0]
        if any(reader > index for reader in scene.readers(blob, scene.reads(index)[blob])):
            yield shop.remedy(
                f"Let {scene.named(index)} write {blob}, in place",
                f"What reads {blob} after it then gets no gradient through.",
                lambda net: net.op[index].output.append(blob),
            )
    yield shop.remedy(
        f"Drop {scene.named(index)}",
        "Without an output it stops nothing, so nothing changes.",
        lambda net: edits.drop(net, [index]),
    )


def _in_place(shop: Workshop, index: int, readers: list[int]) -> Remedy:
    scene = shop.scene
    blob, first = scene.op(index).inputs[0], readers[0]

    def edit(net: NetDef) -> None:
        net.op[index].output[0] = blob
        if first < index:
            edits.move(net, index, first)

    moves = f", before {scene.named(first)}" if first < index else ""
    return shop.remedy(
        f"Run {scene.named(index)} in place ({blob} -> {blob}){moves}",
        f"Everything that reads {blob} from there on gets no gradient through: what lies below it is frozen.",
        edit,
    )


def _in_the_way(shop: Workshop, index: int, readers: list[int]) -> Iterator[Remedy]:
    """The readers read what the StopGradient writes; with several of them, also each alone."""
    scene = shop.scene
    op = scene.op(index)
    blob, stopped = op.inputs[0], op.outputs[0]
    choices = [readers, *([reader] for reader in readers[:_MOST_READERS] if len(readers) > 1)]
    for chosen in choices:
        if not shop.renameable(blob, (), chosen):
            continue
        moves = f", and move op {index} before it" if chosen[0] < index else ""
        others = "" if len(chosen) == len(readers) else f" What else reads {blob} still passes its gradient on."
        yield shop.remedy(
            f"Let {scene.all_named(chosen)} read {stopped} in place of {blob}{moves}",
            f"The gradient of {stopped} ends at the StopGradient.{others}",
            partial(_divert, index=index, names=(blob, stopped), readers=chosen),
        )


def _divert(net: NetDef, index: int, names: tuple[str, str], readers: list[int]) -> None:
    edits.rename(net, *names, (), readers)
    if readers[0] < index:
        edits.move(net, index, readers[0])


def stop_after(shop: Workshop, index: int) -> Iterator[Remedy]:
    """Stop the gradient behind an operator that cannot take it, so that it is never asked."""
    scene = shop.scene
    arriving = zip(scene.op(index).outputs, scene.g_output(index), strict=True)
    blobs = list(dict.fromkeys(name for name, gradient in arriving if gradient is not None))
    if not blobs:
        return
    asked = [blob for blob in blobs if scene.is_y(blob, scene.writes(index)[blob])]
    if len(scene.walk.ys) > len(asked) > 0 and not shop.nested:
        left = [y for y in scene.walk.ys if y not in asked]
        yield shop.remedy(
            f"Ask for the gradient of {' and '.join(left)} alone, without {' and '.join(asked)}",
            f"{' and '.join(asked)} of {scene.named(index)} was asked for a gradient, which it cannot take.",
            lambda net: None,
            asks_without(*asked),
        )
    if len(asked) == len(blobs) and not any(scene.readers(blob, scene.writes(index)[blob]) for blob in blobs):
        return

    def edit(net: NetDef) -> None:
        device = net.op[index].device_option if net.op[index].HasField("device_option") else None
        edits.insert(net, index + 1, *(edits.make_op("StopGradient", [blob], [blob], device) for blob in blobs))

    yield shop.remedy(
        f"Stop the gradient behind {scene.named(index)}: StopGradient in place on {' and '.join(blobs)}",
        f"{scene.op(index).type} is then not asked for a gradient, and nothing below it gets one through it: right "
        "where nothing below is to be trained.",
        edit,
    )
