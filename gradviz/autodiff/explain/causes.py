"""Errors explained: for each kind, what was asked, what was found, and what a user has to know to mend it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradviz.autodiff.events import spoken, versioned
from gradviz.autodiff.explain.refusals import explain_rule
from gradviz.autodiff.explain.repeats import dead, doubled_in_a_row, first_gradient_op, needless, repeated
from gradviz.autodiff.explain.scene import capital, joined, shortened
from gradviz.autodiff.mending.sums import device_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.explain.scene import Scene
    from gradviz.autodiff.generators import Generator
    from gradviz.errors import GradientError

_MOST_VERSIONS = 8


@dataclass(slots=True)
class Told:
    """An explanation while it grows.

    Attributes:
        asked: what was asked for.
        found: what was found.
        ops: operators involved.
        lines: everything, in order.
    """

    asked: str = ""
    found: str = ""
    ops: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def state(self, asked: str, found: str) -> None:
        """Say what was asked and what was found."""
        self.asked, self.found = asked, found
        self.lines += [f"Asked: {asked}", f"Found: {found}"]


def explain(scene: Scene, error: GradientError) -> Told:
    """The explanation of an error, in the words of the net in which it arose."""
    told = Told(ops=[] if error.op_index is None else [error.op_index])
    told.lines += _where(scene)
    present = first_gradient_op(scene)
    tell = _BY_KIND.get(error.kind)
    if tell is not None:
        tell(scene, error, told)
    elif error.op_index is not None:
        explain_rule(scene, error, told)
    if present is not None:
        told.lines.append(
            f"This net holds gradient ops already, from {scene.named(present)} on: it was saved with its gradients. "
            "Build them from the net as it was before."
        )
    return told


def _where(scene: Scene) -> Iterator[str]:
    around = scene.around
    for op_index, label in reversed(scene.site):
        if around is not None:
            yield f"This is inside {label} of {around.named(op_index)}; ops and versions are those of that net."
            around = around.around


# A version that is gone.


def _overwritten(scene: Scene, error: GradientError, told: Told) -> None:
    facts, index = error.facts, error.op_index
    assert index is not None
    blob, wanted, current = facts["blob"], facts["expected"], facts["current"]
    does = "wrote" if error.kind == "output_overwritten" else "read"
    side = "OUTPUT" if error.kind == "output_overwritten" else "INPUT"
    told.state(
        f"{facts['gradient_op_type']}, the gradient of {scene.named(index)}, reads its {side} {blob} as op {index} "
        f"{does} it: {versioned(blob, wanted)}.",
        f"when the gradient ops run, the net has run before them and {blob} is at version {current}; version {wanted} "
        "is gone.",
    )
    writers = [each["op_index"] for each in facts["overwritten_by"]]
    _tell_writers(scene, blob, writers, told)
    _tell_repeats(scene, blob, told)
    for writer in dict.fromkeys(writers):
        told.lines += _own_gradient(scene, writer, blob)
        if needless(scene, writer):
            told.lines.append(f"No y depends on {scene.named(writer)}: it seems to be an update, made too early.")
    told.lines += _history(scene, blob)


def _tell_writers(scene: Scene, blob: str, writers: list[int], told: Told) -> None:
    told.ops += writers
    for writer in dict.fromkeys(writers):
        in_place = blob in scene.op(writer).inputs
        how = "in place: it reads it and writes it anew" if in_place else "without reading it"
        version = scene.writes(writer)[blob]
        told.lines.append(f"{capital(scene.named(writer))} overwrote {blob} {how} ({versioned(blob, version)}).")


def _own_gradient(scene: Scene, writer: int, blob: str) -> Iterator[str]:
    """Whether the gradient of the overwriting operator is fine itself."""
    made = scene.made(writer)
    if made is None or not made.gradient_ops:
        return
    reads = list(dict.fromkeys(name for op in made.gradient_ops for name in op.inputs))
    types = joined([op.type for op in made.gradient_ops])
    if blob not in reads:
        yield f"The gradient of {scene.named(writer)} itself is fine: {types} reads only {joined(reads)}, not {blob}."


def _tell_repeats(scene: Scene, blob: str, told: Told) -> None:
    pairs = [(first, again) for first, again in repeated(scene).items() if blob in scene.op(first).outputs]
    pairs += [pair for pair in doubled_in_a_row(scene) if blob in scene.op(pair[0]).outputs]
    for first, again in pairs[:3]:
        op = scene.op(first)
        told.ops += [first, again]
        told.lines.append(
            f"Ops {first} and {again} are the same op ({op.type}: {joined(op.inputs)} -> {joined(op.outputs)}): most "
            "likely a piece of code, such as a notebook cell, that ran twice."
        )


def _history(scene: Scene, blob: str) -> Iterator[str]:
    history = scene.history(blob)
    yield f"{blob} has {len(history)} versions:"
    for each in history[:_MOST_VERSIONS]:
        yield f"  {each.sentence()}"
    if len(history) > _MOST_VERSIONS:
        yield f"  and {len(history) - _MOST_VERSIONS:,} more"


def _gradient_of_another_version(scene: Scene, error: GradientError, told: Told) -> None:
    facts, index = error.facts, error.op_index
    assert index is not None
    blob, wanted, current, gradient = facts["blob"], facts["expected"], facts["current"], facts["gradient"]
    told.state(
        f"{facts['gradient_op_type']}, the gradient of {scene.named(index)}, needs the gradient of "
        f"{versioned(blob, wanted)}, which op {index} wrote.",
        f"the gradient map goes by names, and under {blob} it still holds {gradient}, which belongs to "
        f"{versioned(blob, current)}{_written_by(scene, blob, current)}.",
    )
    writers = [each["op_index"] for each in facts["overwritten_by"]]
    _tell_writers(scene, blob, writers, told)
    _tell_repeats(scene, blob, told)
    if dead(scene, index):
        told.lines.append(f"Nobody reads what {scene.named(index)} wrote: {versioned(blob, wanted)} needs no gradient.")
    told.lines += _history(scene, blob)


def _written_by(scene: Scene, blob: str, version: int) -> str:
    writer = scene.writer(blob, version)
    return "" if writer is None else f" of {scene.named(writer)}"


def _not_in_scope(scene: Scene, error: GradientError, told: Told) -> None:
    index, blob = error.op_index, error.facts["blob"]
    assert index is not None
    op = scene.op(index)
    arriving = [spoken(gradient) for gradient in scene.g_output(index) if gradient is not None]
    told.state(
        f"{error.facts['gradient_op_type']}, which the rule of {scene.named(index)} made, reads {blob}.",
        f"{blob} is none of what a gradient op may read: inputs {joined(op.inputs)}, outputs {joined(op.outputs)}, "
        f"gradients of outputs {joined(arriving)}, and what earlier gradient ops of the same step wrote.",
    )
    if any(not isinstance(gradient, str) for gradient in scene.g_output(index) if gradient is not None):
        told.lines.append("A sparse gradient arrives here, and the rule was written for a dense one.")
    if scene.knows(blob):
        told.lines.append(f"{blob} is a blob of the net, but not of {scene.named(index)}: make it an input of the op.")
    told.lines.append(f"The rule of {op.type} has to be mended; where it cannot be, stop the gradient behind the op.")


# Before the walk.


def _orphan(scene: Scene, error: GradientError, told: Told) -> None:
    index = error.op_index
    assert index is not None
    op = scene.op(index)
    stopped = op.outputs[0]
    told.state(
        f"op {index} (StopGradient) is to stop the gradient of {joined(op.inputs)}.",
        f"it writes {stopped}, which no op reads, so it hangs at the side and stops nothing.",
    )
    if not op.inputs:
        return
    source = op.inputs[0]
    readers = [reader for reader in scene.readers(source, scene.reads(index)[source]) if reader != index]
    told.ops += readers
    told.lines += _loose_end(scene, index, source, readers)
    if readers:
        verb = "reads" if len(readers) == 1 else "read"
        told.lines.append(f"{capital(scene.all_named(readers))} still {verb} {source}, past the StopGradient.")
    if scene.is_y(stopped):
        told.lines.append(f"{stopped} is a y, but a y does not count as a reader.")


def _loose_end(scene: Scene, index: int, source: str, readers: list[int]) -> Iterator[str]:
    shown = [scene.named(reader) for reader in readers[:4]]
    if len(readers) > 4:
        shown.append(f"{len(readers) - 4} more")
    pad = " " * len(source)
    for number, name in enumerate(shown):
        yield f"  {source if number == 0 else pad} {'─┬─' if number == 0 else ' ├─'}→ {name}"
    start = f"{pad}  └─" if shown else f"{source} ──"
    yield f"  {start}→ {scene.named(index)} → {scene.op(index).outputs[0]} → nobody"


def _no_output(scene: Scene, error: GradientError, told: Told) -> None:
    assert error.op_index is not None
    told.state(f"op {error.op_index} (StopGradient) is to stop a gradient.", "it has no output, so it stops nothing.")


# Sums.


def _mixed(scene: Scene, error: GradientError, told: Told) -> None:
    blob, version = error.facts["blob"], error.facts["version"]
    told.state(
        f"one gradient of {versioned(blob, version)}, the sum of those from all its readers.",
        "some of them are dense and some are sparse, and these cannot be added up.",
    )
    for index, generator in scene.generators(blob, version):
        told.lines.append(f"  {_reader(scene, blob, index)}: {_gradient(scene, generator)}.")
        told.ops += [] if index is None else [index]
    told.lines.append(
        "EnsureDense has to stand before the sparse readers only; BatchGather in place of Gather has a dense gradient."
    )


def _devices(scene: Scene, error: GradientError, told: Told) -> None:
    blob, version = error.facts["blob"], error.facts["version"]
    told.state(
        f"one gradient of {versioned(blob, version)}, the sum of those from all its readers, on one device.",
        "they are made on devices that disagree.",
    )
    for index, generator in scene.generators(blob, version):
        place = device_name(generator.device_option)
        told.lines.append(f"  {_reader(scene, blob, index)}: {_gradient(scene, generator)}, on {place}.")
        told.ops += [] if index is None else [index]
    told.lines.append("A gradient op takes the device of its forward op; one of a y takes the device scope in force.")


def _reader(scene: Scene, blob: str, index: int | None) -> str:
    return f"{blob} is a y" if index is None else f"{scene.named(index)} reads it"


def _gradient(scene: Scene, generator: Generator) -> str:
    ops = [each for each in (generator.op, generator.op_indices, generator.op_values) if each is not None]
    types = [f"gradient op {each} ({scene.walk.recording.gradient_ops[each].type})" for each in dict.fromkeys(ops)]
    made = joined(types)
    by = f", made by {made}" if ops else ", passed straight through"
    if generator.kind == "dense":
        return f"dense gradient {generator.gradient}{by}"
    return f"sparse gradient, indices={generator.gradient.indices}, values={generator.gradient.values}{by}"


def _conflict(scene: Scene, error: GradientError, told: Told) -> None:
    blob, gradient, index = error.facts["blob"], error.facts["gradient"], error.op_index
    told.state(
        f"a Sum of the gradients of {blob} under the name {gradient}.",
        f"one of its parts is called {gradient} already: it passes straight through to {blob}, so it keeps its name.",
    )
    for version in [each.version for each in scene.history(blob)]:
        makers = scene.generators(blob, version)
        if len(makers) > 1:
            told.lines += [f"  {_reader(scene, blob, each)}: {_gradient(scene, maker)}." for each, maker in makers]
            told.ops += [each for each, _ in makers if each is not None]
    given = [y for y, name in scene.walk.ys.items() if isinstance(name, str) and name == gradient]
    if given:
        told.lines.append(f"{gradient} is the gradient that was given for {shortened(given)}: give it another name.")
    if index is not None:
        told.lines.append(f"The sum is made at {scene.named(index)}, the first reader of {blob}.")


def _merge(scene: Scene, error: GradientError, told: Told) -> None:
    blob, index = error.facts["blob"], error.op_index
    assert index is not None
    op = scene.op(index)
    told.state(
        f"one sparse gradient of {blob} from {scene.named(index)}: one output with its indices, one with its values.",
        str(error).partition(": ")[2] or str(error),
    )
    if op.inputs.count(blob) > 1:
        told.lines.append(
            f"{capital(scene.named(index))} reads {blob} {op.inputs.count(blob)} times: let it read copies."
        )
    made = scene.made(index)
    if made is not None:
        for number, each in enumerate(made.gradient_ops, made.first):
            told.lines.append(f"  gradient op {number} ({each.type}) writes {joined(tuple(each.outputs))}.")


def _surplus(scene: Scene, error: GradientError, told: Told) -> None:
    index = error.op_index
    assert index is not None
    told.state(
        f"a gradient for each of the {error.facts['inputs']} inputs of {scene.named(index)}.",
        f"its rule gave one for input {error.facts['position']} too, which does not exist; mend the rule of "
        f"{scene.op(index).type}.",
    )


_BY_KIND: dict[str, Callable[[Scene, GradientError, Told], None]] = {
    "AssertionError@merge_sparse": _merge,
    "IndexError@build_generators": _surplus,
    "IndexError@sanity_check": _no_output,
    "NameError@merge_sparse": _merge,
    "device_mismatch": _devices,
    "grad_version_mismatch": _gradient_of_another_version,
    "input_overwritten": _overwritten,
    "mixed_sparse_dense": _mixed,
    "not_in_scope": _not_in_scope,
    "output_overwritten": _overwritten,
    "stop_gradient_orphan": _orphan,
    "sum_conflict": _conflict,
}
