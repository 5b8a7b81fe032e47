"""`why(trace, blob)`: why a blob has a gradient or none, why there is a Sum, why a name or a version changed.

Answers are short stories with the indices of the operators, true also after a walk that failed. What is looked at is
what can be reached from the blob, so large nets are answered at once.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gradviz.autodiff.events import Make, Seed, spoken, versioned
from gradviz.autodiff.explain.coverage import coverage
from gradviz.autodiff.explain.meetings import about_sum, accumulation
from gradviz.autodiff.explain.paths import gradient_paths
from gradviz.autodiff.explain.reasons import why_none
from gradviz.autodiff.explain.scene import Scene, capital, joined, shortened
from gradviz.autodiff.explain.story import Story
from gradviz.autodiff.explain.type_names import LOSSES
from gradviz.autodiff.targets import known_blobs, nearest
from gradviz.autodiff.walk import collector_paused
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff.explain.coverage import Idle
    from gradviz.autodiff.explain.paths import Path
    from gradviz.autodiff.trace import Trace
    from gradviz.ops.records import Gradient

_MOST_VERSIONS = 6
_MOST_STEPS = 8
_MOST_NAMES = 24


def why(trace: Trace, blob: str | None = None, *, op: int | None = None) -> Story:
    """Answer a "why".

    Args:
        trace: a walk, finished or failed.
        blob: a forward blob, or a gradient blob.
        op: in place of a blob, an operator by its index: why it was skipped, what it was asked and answered.

    Returns:
        The story; with neither blob nor op that of the whole net: which parameters are trained, which are not and why,
        and which gradients serve none.

    Raises:
        IndexError: there is no such operator among those that were walked.
        TypeError: `trace` is no Trace, or `blob` no text.
    """
    if not hasattr(trace, "recording"):
        raise TypeError(f"a Trace is needed, not a {type(trace).__name__}: see gradviz.trace")
    if not isinstance(blob, str | None):
        raise TypeError(f"a blob is named by a text, not by a {type(blob).__name__}")
    with collector_paused():  # it would search the whole record of the walk again and again
        return _answer(trace, Scene.of(trace), blob, op)


def _answer(trace: Trace, scene: Scene, blob: str | None, op: int | None) -> Story:
    if op is not None:
        if not scene.offset <= op < scene.last:
            raise IndexError(f"there is no op {op} in this walk: it holds ops {scene.offset} to {scene.last - 1}")
        return _about_op(scene, op)
    if blob is None:
        return _about_net(trace, scene)
    if scene.knows(blob) or blob in trace.ys:
        return _about_blob(trace, scene, blob)
    made = _about_gradient(scene, blob)
    return made if made is not None else _about_unknown(trace, scene, blob)


# A forward blob.


def _about_blob(trace: Trace, scene: Scene, blob: str) -> Story:
    gradient = scene.walk.gradient_map.get(blob)
    lines = [_headline(trace, scene, blob, gradient)]
    paths: list[Path] = []
    history = [each for each in scene.history(blob) if each.readers or each.is_y or each.writer is not None]
    if not history:
        lines.append(f"No op of this net reads or writes {blob}.")
    several = len(history) > 1
    for each in reversed(history[-_MOST_VERSIONS:]):
        ways, told = _about_version(scene, blob, each.version, several)
        paths += ways
        lines += told
    lines += _versions(scene, blob)
    lines += _nested(trace, scene, blob)
    return Story(blob, blob, gradient is not None, gradient, tuple(lines), tuple(paths[:5]))


def _headline(trace: Trace, scene: Scene, blob: str, gradient: Gradient) -> str:
    if trace.error is not None:
        state = f"the gradient {spoken(gradient)}" if gradient is not None else "no gradient"
        at = trace.error.op_index
        where = "before it began" if at is None else f"at {scene.named(at)}"
        return f"{blob} had {state} when the walk stopped {where}: {trace.error.kind}."
    if gradient is None:
        lost = [each for each in scene.history(blob) if scene.generators(blob, each.version) and each.in_place]
        if not lost:
            return f"{blob} has no gradient."
        last = lost[0]
        assert last.writer is not None
        return (
            f"{blob} has no gradient in the end: that of {versioned(blob, last.version)} was taken away at "
            f"{scene.named(last.writer)}, which writes {blob} in place and passes nothing on."
        )
    if isinstance(gradient, GradientSlice):
        return f"{blob} has a sparse gradient: indices {gradient.indices}, values {gradient.values}."
    return f"{blob} has a gradient: {gradient}."


def _about_version(scene: Scene, blob: str, version: int, several: bool) -> tuple[list[Path], list[str]]:
    """One version: the ways on which its gradient comes, who makes it, what is added up; or why there is none."""
    name = versioned(blob, version)
    lines = [*_as_y(scene, blob, version)]
    makers = scene.generators(blob, version)
    paths, total = gradient_paths(scene, blob, version)
    if not makers and not lines:
        reasons = why_none(scene, blob, version)
        if several and not scene.readers(blob, version):
            return [], []
        return [], [f"{name} has no gradient: {reason}." for reason in reasons]
    ways = [path for path in paths if path.ops]
    if ways:
        count = "one way" if total == 1 else f"{total:,} ways" if total < 10**9 else "more ways than can be counted"
        shown = "" if len(paths) == total else f"; the shortest {'one' if len(ways) == 1 else str(len(ways))}"
        lines.append(f"The gradient of {name} comes on {count} from {_ys_of(paths)}{shown}:")
        lines += [f"  {name} → {_way(scene, path)}" for path in ways]
    lines += _maker(scene, blob, version)
    lines += about_sum(scene, blob, version)
    return paths, lines


def _ys_of(paths: list[Path]) -> str:
    return joined(list(dict.fromkeys(path.y for path in paths)))


def _way(scene: Scene, path: Path) -> str:
    ops = list(path.ops)
    shown = [scene.named(index) for index in ops]
    if len(shown) > 2 * _MOST_STEPS:
        left_out = len(shown) - 2 * _MOST_STEPS
        shown = [*shown[:_MOST_STEPS], f"{left_out:,} more ops", *shown[-_MOST_STEPS:]]
    return " → ".join([*shown, path.y])


def _as_y(scene: Scene, blob: str, version: int) -> Iterator[str]:
    if not scene.is_y(blob, version):
        return
    start = len(scene.ops)
    seeds = scene.walk.recording.events[start : start + len(scene.walk.ys)]
    seed = next((event for event in seeds if isinstance(event, Seed) and event.blob == blob), None)
    if seed is None:
        yield f"{blob} is a y, but the walk stopped before it got its gradient."
        return
    if seed.added:
        yield f"{blob} is a y that no op of this net reads or writes, so its gradient leads nowhere."
    if seed.gradient_op is not None:
        yield f"{blob} is a y: gradient op {seed.gradient_op} (ConstantFill) starts its gradient as ones."
        return
    yield f"{blob} is a y: its gradient is given, {spoken(seed.gradient)}."
    now = scene.walk.gradient_map.get(blob)
    if now is not None and now != seed.gradient and scene.generators(blob, version):
        yield (
            f"But ops on the way read {blob} too, and a given gradient does not enter the sum: {spoken(seed.gradient)} "
            f"is lost, {spoken(now)} takes its place."
        )


def _maker(scene: Scene, blob: str, version: int) -> Iterator[str]:
    makers = scene.generators(blob, version)
    if len(makers) != 1:
        return
    index, generator = makers[0]
    if index is None:
        return
    ops = [each for each in (generator.op, generator.op_indices, generator.op_values) if each is not None]
    if not ops:
        gradient = spoken(generator.gradient)
        yield f"{gradient} passes straight through {scene.named(index)}: no gradient op is needed there."
        return
    for number in dict.fromkeys(ops):
        kind = scene.walk.recording.gradient_ops[number].type
        yield f"Gradient op {number} ({kind}) makes it, for {scene.named(index)}."


def _versions(scene: Scene, blob: str) -> Iterator[str]:
    history = scene.history(blob)
    if len(history) < 2:
        return
    yield f"{blob} has {len(history)} versions, as every write raises it by one:"
    for each in history[:_MOST_VERSIONS]:
        yield f"  {each.sentence()}"
    if len(history) > _MOST_VERSIONS:
        yield f"  and {len(history) - _MOST_VERSIONS:,} more"


def _nested(trace: Trace, scene: Scene, blob: str) -> Iterator[str]:
    """What the nets inside of control operators give the blob."""
    recording = scene.walk.recording
    for event, walks in recording.nested.items():
        index = recording.events[event].op_index
        if index is None or blob not in scene.op(index).inputs:
            continue
        for nested in walks:
            found = nested.walk.gradient_map.get(blob)
            ops = len(nested.walk.recording.gradient_ops)
            made = f"{spoken(found)}, by {ops} gradient op{'' if ops == 1 else 's'}" if found else "none"
            yield f"Inside {scene.named(index)}, {nested.label} gives {blob} the gradient {made}."
        if len(walks) > 1:
            yield f"When the net runs, {blob} gets its gradient from whichever branch ran; step into them to see."


# A gradient blob.


def _about_gradient(scene: Scene, name: str) -> Story | None:
    """A blob that a gradient operator writes; None where none does."""
    walk = scene.walk
    outputs = [
        (number, output)
        for number, op in enumerate(walk.recording.gradient_ops)
        for output, made in enumerate(op.outputs)
        if walk.output_of(number, output) == name or made == name
    ]
    owners = [blob for blob, gradient in walk.gradient_map.items() if name in _names(gradient)]
    if not outputs and not owners:
        return None
    lines = [_owned(name, owners)]
    for number, output in outputs[:_MOST_VERSIONS]:
        lines.append(_written(scene, name, number, output))
    blob = owners[0] if owners else ""
    gradient = walk.gradient_map.get(blob)
    if not blob:
        blob = _renamed_for(scene, name)
    if blob:
        history = [each.version for each in scene.history(blob) if scene.generators(blob, each.version)]
        for version in history[-1:]:
            lines += about_sum(scene, blob, version)
    lines += _added_later(scene)
    return Story(name, blob, gradient is not None, gradient, tuple(lines))


def _names(gradient: Gradient) -> tuple[str, ...]:
    return tuple(gradient) if isinstance(gradient, GradientSlice) else () if gradient is None else (gradient,)


def _owned(name: str, owners: list[str]) -> str:
    if not owners:
        return f"{name} is a part of a gradient, or a gradient that was replaced later: no blob ends up with it."
    shared = " All of them share it, because it passes straight through." if len(owners) > 1 else ""
    return f"{name} is the gradient of {shortened(owners)}.{shared}"


def _written(scene: Scene, name: str, number: int, output: int) -> str:
    op = scene.walk.recording.gradient_ops[number]
    forward = scene.forward_of(number)
    made_for = "for a y" if forward is None else f"in the visit to {scene.named(forward)}"
    first, now = op.outputs[output], scene.walk.output_of(number, output)
    renamed = f"; made as {first} and renamed {now}, so that a sum can tell its parts apart" if first != now else ""
    called = first if first == name else now
    return f"Gradient op {number} ({op.type}) writes {called}, its output {output}, {made_for}{renamed}."


def _renamed_for(scene: Scene, name: str) -> str:
    column = scene.walk.recording.renames
    events = scene.walk.recording.events
    for mark, new in zip(column.marks, column.values, strict=True):
        if new == name:
            return events[mark].blobs[0]
    return ""


def _added_later(scene: Scene) -> Iterator[str]:
    if not any(op.proto.is_gradient_op for op in scene.ops):
        yield "It exists only once the gradient operators are added: the net as it was loaded holds none."


# What is no blob.


def _about_unknown(trace: Trace, scene: Scene, name: str) -> Story:
    known = known_blobs(trace.net)
    blob = next((name.removesuffix(end) for end in _GRADIENT_ENDS if name.endswith(end)), "")
    if blob in known:
        lines = [f"There is no blob {name}: it would be the gradient of {blob}."]
        lines += _about_blob(trace, scene, blob).lines
        lines.append(f"Gradients exist only for what a y depends on; the ys here are {shortened(list(trace.ys))}.")
        lines += _no_loss(trace)
        return Story(name, blob, False, None, tuple(lines))
    near = nearest(name, known)
    hint = f"; did you mean {joined(near, 'or')}?" if near else ""
    return Story(name, "", False, None, (f"{name} is not a blob of this net{hint}",), known=False)


_GRADIENT_ENDS = ("_autogen_grad", "_grad_indices", "_grad_values", "_grad")


def _no_loss(trace: Trace) -> Iterator[str]:
    if trace.chosen != "given" or not any(op.type in LOSSES for op in trace.ops):
        yield (
            "A net for prediction has no loss: add one (such as LabelCrossEntropy and AveragedLoss), ask for its "
            "gradient, and the gradients below it come into being."
        )


# An operator.


def _about_op(scene: Scene, index: int) -> Story:
    op = scene.op(index)
    lines = [scene.play(index).sentence()]
    if not scene.visited(index):
        if scene.error is None:
            lines.append(f"The walk has not come to {scene.named(index)} yet.")
        else:
            lines.append(f"The walk stopped before it came to {scene.named(index)}: {scene.error}")
    elif not scene.entered(index):
        lines += _skipped(scene, index)
    else:
        lines += _answered(scene, index)
    if scene.error is not None and scene.error.op_index == index:
        lines.append(f"The walk failed here: {scene.error}")
        lines += scene.error.explanation
    lines += _summed_at(scene, index)
    gives = any(gradient is not None for gradient in scene.g_output(index))
    return Story(f"op {index}", op.outputs[0] if op.outputs else "", gives, None, tuple(lines))


def _skipped(scene: Scene, index: int) -> Iterator[str]:
    yield f"{capital(scene.named(index))} was skipped, its rule not asked: no gradient arrives at what it writes."
    for name, version in scene.writes(index).items():
        for reason in why_none(scene, name, version)[:3]:
            yield f"  {versioned(name, version)}: {reason}."
    if not scene.op(index).outputs:
        yield "  It writes nothing."


def _answered(scene: Scene, index: int) -> Iterator[str]:
    op = scene.op(index)
    arrived = [f"{name} has {spoken(g)}" for name, g in zip(op.outputs, scene.g_output(index), strict=True) if g]
    yield f"Its rule was asked, as gradients arrived at what it writes: {joined(arrived)}."
    made = scene.made(index)
    if not isinstance(made, Make):
        return
    first = made.first
    ops = [f"gradient op {number} ({each.type})" for number, each in enumerate(made.gradient_ops, first)]
    yield f"It made {joined(ops)}." if ops else "It needs no gradient op."
    for name, gradient in zip(op.inputs, made.g_input, strict=False):
        if gradient is not None:
            yield f"  {name} gets {spoken(gradient)}."
            continue
        version = scene.reads(index)[name]
        told = [reason for reason in why_none(scene, name, version) if f"op {index} " in reason]
        yield f"  {name} gets none{': ' + told[0] if told else ''}."


def _summed_at(scene: Scene, index: int) -> Iterator[str]:
    for name, version in scene.reads(index).items():
        event = accumulation(scene, name, version)
        if event is not None and event.op_index == index:
            yield from about_sum(scene, name, version)


# The whole net.


def _about_net(trace: Trace, scene: Scene) -> Story:
    asked = shortened([f"{y}" for y in trace.ys])
    lines = [f"The gradient of {asked} was asked for ({trace.chosen})."]
    if trace.error is not None:
        lines += [f"The walk stopped: {trace.error}", *trace.error.explanation]
    found = coverage(scene)
    if found.trained:
        given = [f"{name} ({spoken(gradient)})" for name, gradient in islice(found.trained.items(), _MOST_NAMES)]
        more = len(found.trained) - len(given)
        listing = joined([*given, f"{more:,} more"] if more else given)
        lines.append(f"Trained, {len(found.trained):,} parameters: {listing}.")
    if found.frozen:
        lines.append(f"Frozen, {len(found.frozen):,} parameters: {shortened(list(found.frozen), _MOST_NAMES)}.")
        by_reason: dict[str, list[str]] = {}
        for name, reason in found.frozen.items():
            by_reason.setdefault(reason, []).append(name)
        lines += [f"  {shortened(names, 12)}: {reason}." for reason, names in by_reason.items() if reason]
    if found.statistics:
        lines.append(f"Running statistics, without a gradient: {shortened(list(found.statistics))}.")
    if not found.trained and not found.frozen:
        lines.append("No external input is read where parameters go.")
    lines += _idle_lines(scene, found.idle)
    lines += [f"Note: {warning}" for warning in trace.warnings]
    return Story("the net", "", bool(found.trained), None, tuple(lines))


def _idle_lines(scene: Scene, idle: tuple[Idle, ...]) -> Iterator[str]:
    if not idle:
        return
    word = "gradient reaches" if len(idle) == 1 else "gradients reach"
    yield f"{len(idle)} {word} no parameter; gradient rules answer for every input, and no harm comes of it:"
    for each in idle[:8]:
        made = f"made by gradient op {each.gradient_op} ({each.type})" if each.type else "passes straight through"
        vain = ", which makes nothing else" if each.alone else ", which is needed for others" if each.type else ""
        yield f"  {each.blob} gets {spoken(each.gradient)} at {scene.named(each.op_index)}: {made}{vain}."
    if len(idle) > 8:
        yield f"  and {len(idle) - 8:,} more"
    yield "Who wants none of them puts StopGradient on the data before it is read, or ignores them."
