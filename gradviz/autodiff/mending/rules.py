"""Remedies where an operator's gradient rule gives no answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.explain.scene import capital
from gradviz.autodiff.explain.type_names import gives_floats, similar_types
from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.repairs import repairs
from gradviz.autodiff.mending.stops import stop_after
from gradviz.autodiff.mending.substitutes import substitutes
from gradviz.autodiff.mending.sums import dense_before
from gradviz.autodiff.mending.workshop import asks_for
from gradviz.ops.arguments import values
from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy, Ys
    from gradviz.errors import GradientError
    from gradviz.proto import NetDef

_FLOAT = (1, "FLOAT", "float")


def remedies(shop: Workshop, error: GradientError) -> Iterator[Remedy]:
    """For all kinds of the phase `make_gradient`, and for answers of rules that cannot be used."""
    index = error.op_index
    if index is None:
        return
    yield from _needless_cast(shop, index)
    in_other_words = [*substitutes(shop, index)]
    yield from in_other_words or _other_types(shop, index)
    if error.kind == "expected_dense":
        yield from _missing_gradient(shop, error, index)
    elif error.kind in ("schema", "make_gradient_other"):
        yield from repairs(shop, index)
    yield from _given(shop, index)
    yield from around(shop, index)
    yield from _ask_for_input(shop, index)


def around(shop: Workshop, index: int) -> Iterator[Remedy]:
    """What helps whatever the reason; for an error in a nested net, on the operator that holds the net."""
    yield from _apart_from_input(shop, index)
    yield from stop_after(shop, index)


def _ask_for_input(shop: Workshop, index: int) -> Iterator[Remedy]:
    """The only y is what the operator writes: what it reads may do as well."""
    scene = shop.scene
    op = scene.op(index)
    asked = [name for name, version in scene.writes(index).items() if scene.is_y(name, version)]
    if shop.nested or not op.inputs or len(asked) != 1 or len(scene.walk.ys) > 1:
        return
    source = op.inputs[0]
    if scene.last_version(source) == scene.reads(index)[source]:
        yield shop.remedy(
            f"Ask for the gradient of {source} in place of {asked[0]}",
            f"{asked[0]} of {scene.named(index)} cannot take a gradient; {source} is what it is made of.",
            lambda net: None,
            asks_for(asked[0], source),
        )


def _given(shop: Workshop, index: int) -> Iterator[Remedy]:
    """Gradients that were given in a form or under a name that rules cannot take."""
    scene = shop.scene
    for name, version in {} if shop.nested else scene.writes(index).items():
        given = scene.walk.ys.get(name)
        if not scene.is_y(name, version) or given is None:
            continue
        if isinstance(given, str) and len(given) in (0, 2):
            new = shop.fresh(f"{name}_given_grad")
            why = "is empty" if not given else "has two letters, which upstream takes for a slice of two blobs"
            yield shop.remedy(
                f"Give the gradient of {name} under the name {new}",
                f"The name {given!r} {why}.",
                lambda net: None,
                partial(_with_gradient, y=name, gradient=new),
            )
        elif not isinstance(given, str):
            yield _dense_y(shop, name)


def _with_gradient(ys: Ys, y: str, gradient: str) -> Ys:
    return {**ys, y: gradient}


def _other_types(shop: Workshop, index: int) -> Iterator[Remedy]:
    op = shop.scene.op(index)
    if lookup(op.type) is not None:
        return
    for type in similar_types(op.type):
        yield shop.remedy(
            f"Write {type} in place of {op.type} in op {index}",
            f"{op.type} is no type that is known here; {type} is the nearest that is.",
            partial(_retype, index=index, type=type),
        )


def _retype(net: NetDef, index: int, type: str) -> None:
    net.op[index].type = type


def _needless_cast(shop: Workshop, index: int) -> Iterator[Remedy]:
    """A Cast to float of what is float already."""
    scene = shop.scene
    op = scene.op(index)
    if op.type != "Cast" or len(op.inputs) != 1 or len(op.outputs) != 1:
        return
    to = values(op.proto).get("to", 1)
    source, target = op.inputs[0], op.outputs[0]
    writer = scene.writer(source, scene.reads(index)[source])
    if writer is None or to not in _FLOAT or not gives_floats(scene.op(writer).type):
        return
    asked = source != target and scene.is_y(target)
    readers = scene.readers(target, scene.writes(index)[target])
    if source != target and ((shop.nested and asked) or scene.last_version(source) != scene.reads(index)[source]):
        return

    def edit(net: NetDef) -> None:
        if source != target:
            edits.rename(net, target, source, (), readers)
            edits.rename_external_output(net, target, source)
        edits.drop(net, [index])

    yield shop.remedy(
        f"Drop {scene.named(index)}: {source} is float already",
        f"{capital(scene.named(writer))} writes floats, so the Cast changes nothing.",
        edit,
        asks_for(target, source) if asked else None,
    )


def _missing_gradient(shop: Workshop, error: GradientError, index: int) -> Iterator[Remedy]:
    """An output without a gradient, or with a sparse one, where the rule needs a dense one."""
    scene, blob = shop.scene, error.facts["blob"]
    if blob not in scene.writes(index):
        return
    version = scene.writes(index)[blob]
    if error.facts.get("was") == "sparse":
        sparse = [reader for reader, generator in scene.generators(blob, version) if generator.kind == "sparse"]
        readers = sorted({reader for reader in sparse if reader is not None})
        yield from dense_before(shop, blob, readers)
        return
    device = scene.op(index).device
    yield shop.remedy(
        f"Give {blob} a gradient of zeros: ZeroGradient({blob}) after {scene.named(index)}",
        f"No y depends on {blob}, but {scene.op(index).type} needs a gradient for it; zero is the right one.",
        lambda net: edits.insert(net, index + 1, edits.make_op("ZeroGradient", [blob], [], device)),
    )
    if not shop.nested and not scene.is_y(blob):
        given = shop.fresh(f"{blob}_given_grad")
        yield shop.remedy(
            f"Give the gradient of {blob} yourself, as {given}",
            f"{blob} then is a y with a given gradient; feed {given}, of the shape of {blob}, when the net runs.",
            lambda net: None,
            lambda ys: {**ys, blob: given},
        )


def _dense_y(shop: Workshop, blob: str) -> Remedy:
    dense = shop.fresh(f"{blob}_dense")
    return shop.remedy(
        f"Make the given gradient dense: EnsureDense ({blob} -> {dense}) at the end, and ask for {dense}",
        f"The gradient given for {blob} is a slice; EnsureDense takes it and hands a dense one on.",
        lambda net: net.op.append(edits.make_op("EnsureDense", [blob], [dense])),
        asks_for(blob, dense),
    )


def _apart_from_input(shop: Workshop, index: int) -> Iterator[Remedy]:
    """A control operator that updates a blob wants the gradients of input and output under two names."""
    scene = shop.scene
    op = scene.op(index)
    if op.type not in ("If", "While", "Do"):
        return
    arriving = dict(zip(op.outputs, scene.g_output(index), strict=True))
    same = [blob for blob in dict.fromkeys(op.inputs) if arriving.get(blob) == f"{blob}_grad"]
    if not same or (shop.nested and any(scene.is_y(blob) for blob in same)):
        return
    names = {blob: shop.fresh(f"{blob}_after") for blob in same}
    plans = []
    for blob, new in names.items():
        later = [each for each in scene.history(blob) if each.version > scene.writes(index)[blob]]
        writes = [each.writer for each in later if each.writer is not None]
        reads = sorted({*scene.readers(blob, scene.writes(index)[blob]), *(r for each in later for r in each.readers)})
        plans.append((blob, new, writes, reads))

    def edit(net: NetDef) -> None:
        for blob, new, writes, reads in plans:
            edits.rename(net, blob, new, writes, reads)
            edits.rename_external_output(net, blob, new)
        edits.insert(net, index + 1, *(edits.make_op("Alias", [blob], [new]) for blob, new in names.items()))

    yield shop.remedy(
        f"Put Alias ({', '.join(f'{blob} -> {new}' for blob, new in names.items())}) behind {scene.named(index)}",
        "The gradient that arrives then has another name than the one that leaves, as control operators need it.",
        edit,
        lambda ys: {names.get(y, y): gradient for y, gradient in ys.items()},
    )
