"""Remedies where a gradient operator needs a version of a blob that another operator overwrote."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.repeats import dead, doubled_in_a_row, needless, repeated
from gradviz.autodiff.explain.scene import joined
from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.workshop import asks_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy
    from gradviz.errors import GradientError
    from gradviz.proto import NetDef


def remedies(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For `grad_version_mismatch`, `output_overwritten` and `input_overwritten`."""
    blob, wanted = error.facts["blob"], error.facts["expected"]
    again = [*_repetitions(shop, blob)]
    yield from again or _dead_writers(shop, blob, wanted)
    yield from version_remedies(shop, blob, wanted)
    if error.kind == "input_overwritten" and error.op_index is not None:
        yield from _keep_before(shop, error.op_index, blob, wanted)
    yield from _needless_writers(shop, blob, wanted)
    yield from _rename_all(shop, blob)


def version_remedies(shop: Workshop, blob: str, wanted: int) -> Iterator[Remedy]:
    """Names of their own for a version that is needed and those that overwrite it."""
    renames = [*_rename_later(shop, blob, wanted), *_rename_earlier(shop, blob, wanted)]
    if shop.scene.is_y(blob) or blob in shop.scene.model.net.external_output:
        renames.reverse()  # so that the name by which others know the result stays
    yield from renames


def _repetitions(shop: Workshop, blob: str) -> Iterator[Remedy]:
    scene = shop.scene
    again = repeated(scene)
    if any(blob in scene.op(index).outputs for index in again):
        later = sorted(set(again.values()))
        verb = "repeats" if len(later) == 1 else "repeat"
        yield shop.remedy(
            f"Drop {scene.all_named(list(again))}, which {scene.all_named(later)} {verb}",
            "The same operators stand in the net twice, as when a notebook cell ran twice; what the first ones make is "
            "overwritten unread. Building the net anew from the start does the same.",
            lambda net: edits.drop(net, again),
        )
    twice = [pair for pair in doubled_in_a_row(scene) if blob in scene.op(pair[0]).outputs]
    for first, second in twice[:1]:
        yield shop.remedy(
            f"Drop {scene.named(second)}, which repeats op {first}",
            "The same operator in place stands in the net twice in a row, as when a notebook cell ran twice.",
            partial(edits.drop, indices=[second]),
        )


def _dead_writers(shop: Workshop, blob: str, wanted: int) -> Iterator[Remedy]:
    scene = shop.scene
    writer = scene.writer(blob, wanted)
    if writer is None or not dead(scene, writer):
        return
    yield shop.remedy(
        f"Drop {scene.named(writer)}: what it writes is overwritten before anyone reads it",
        f"No operator reads version {wanted} of {blob}, so nothing changes but that no gradient is sought for it.",
        lambda net: edits.drop(net, [writer]),
    )


def _rename_later(shop: Workshop, blob: str, wanted: int) -> Iterator[Remedy]:
    """The overwriting operator gets an output of its own, and everything after it follows."""
    scene = shop.scene
    later = [each for each in scene.history(blob) if each.version > wanted and each.writer is not None]
    asked = scene.is_y(blob)
    if not later or (asked and shop.nested):
        return
    writes = [each.writer for each in later if each.writer is not None]
    reads = sorted({index for each in later for index in each.readers})
    if not shop.renameable(blob, writes, reads):
        return
    first = writes[0]
    new = shop.fresh(f"{blob}_{scene.op(first).type.lower()}")

    def edit(net: NetDef) -> None:
        edits.rename(net, blob, new, writes, reads)
        edits.rename_external_output(net, blob, new)

    readers = [index for index in reads if index not in writes]
    follows = f", which {scene.all_named(readers)} then read{'s' if len(readers) == 1 else ''}" if readers else ""
    told = f" Who takes {blob} from the net must take {new} then." if _leaves(shop, blob) else ""
    yield shop.remedy(
        f"Give {scene.named(first)} an output of its own, {new}{follows}",
        f"Version {wanted} of {blob} then stays as the gradient needs it; one more blob is kept in memory.{told}",
        edit,
        asks_for(blob, new) if asked else None,
    )


def _rename_earlier(shop: Workshop, blob: str, wanted: int) -> Iterator[Remedy]:
    """The operator whose output is needed gets an output of its own, and its readers follow."""
    scene = shop.scene
    writer, reads = scene.writer(blob, wanted), scene.readers(blob, wanted)
    if writer is None or not shop.renameable(blob, [writer], reads):
        return
    new = shop.fresh(f"{blob}_{scene.op(writer).type.lower()}")
    follows = f", which {scene.all_named(reads)} then read{'s' if len(reads) == 1 else ''}" if reads else ""
    yield shop.remedy(
        f"Give {scene.named(writer)} an output of its own, {new}{follows}",
        f"{blob} keeps its name from the next write on, so what leaves the net is called as before.",
        lambda net: edits.rename(net, blob, new, [writer], reads),
    )


def _keep_before(shop: Workshop, index: int, blob: str, wanted: int) -> Iterator[Remedy]:
    """The reader reads a copy that is made while the version is there. A Sum of one copies and reads nothing back."""
    scene = shop.scene
    readers = [reader for reader in scene.readers(blob, wanted) if blob not in scene.op(reader).outputs]
    if index not in readers or not shop.renameable(blob, (), readers):
        return
    kept = shop.fresh(f"{blob}_before")
    device = scene.op(index).device

    def edit(net: NetDef) -> None:
        edits.rename(net, blob, kept, (), readers)
        edits.insert(net, readers[0], edits.make_op("Sum", [blob], [kept], device))

    yield shop.remedy(
        f"Keep {blob} as {kept} before it is overwritten: Sum({blob} -> {kept}), read by {scene.all_named(readers)}",
        f"A Sum of one input copies, and its gradient passes straight through, so nothing asks for {blob} as it was.",
        edit,
    )


def _needless_writers(shop: Workshop, blob: str, wanted: int) -> Iterator[Remedy]:
    """An update that runs before the gradients do, such as that of a parameter."""
    scene = shop.scene
    writers = [each.writer for each in scene.history(blob) if each.version > wanted and each.writer is not None]
    idle = [index for index in writers if needless(scene, index)]
    if not idle or len(idle) < len(writers):
        return
    yield shop.remedy(
        f"Take {scene.all_named(idle)} out of the net: no y depends on {'it' if len(idle) == 1 else 'them'}",
        f"It changes {blob} before the gradient operators read it; an update belongs behind the gradients.",
        lambda net: edits.drop(net, idle),
    )


def _rename_all(shop: Workshop, blob: str) -> Iterator[Remedy]:
    """Every version of the blob under a name of its own; the last one keeps the old name."""
    scene = shop.scene
    history = [each for each in scene.history(blob) if each.writer is not None]
    if len(history) < 3:
        return
    plan = []
    for each in history[:-1]:
        writes, reads = [each.writer] if each.writer is not None else [], list(each.readers)
        if not shop.renameable(blob, writes, reads):
            return
        plan.append((shop.fresh(f"{blob}_{each.writer_type.lower()}"), writes, reads))

    def edit(net: NetDef) -> None:
        for new, writes, reads in plan:
            edits.rename(net, blob, new, writes, reads)

    yield shop.remedy(
        f"Give every version of {blob} a name of its own: {joined([new for new, _, _ in plan])}, then {blob}",
        f"{blob} is written {len(history)} times; with a name for each version no gradient can miss one.",
        edit,
    )


def _leaves(shop: Workshop, blob: str) -> bool:
    return blob in shop.scene.model.net.external_output
