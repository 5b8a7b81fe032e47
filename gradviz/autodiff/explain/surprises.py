"""What upstream lets pass in silence and a user should know."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from gradviz.autodiff.events import Seed, spoken
from gradviz.autodiff.explain.coverage import coverage
from gradviz.autodiff.explain.paths import downstream
from gradviz.autodiff.explain.reasons import argument_that_gives
from gradviz.autodiff.explain.scene import Scene, joined, shortened
from gradviz.autodiff.explain.silent import silent_errors
from gradviz.autodiff.explain.type_names import ADD_ONS, PER_EXAMPLE, similar_types
from gradviz.autodiff.mending import edits
from gradviz.autodiff.mending.workshop import Workshop, asks_for
from gradviz.autodiff.targets import known_blobs, nearest
from gradviz.autodiff.walk import collector_paused
from gradviz.ops.arguments import values
from gradviz.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradviz.autodiff.explain.silent import Silent
    from gradviz.autodiff.remedies import Remedy
    from gradviz.autodiff.trace import Trace
    from gradviz.proto import NetDef

_MOST_OF_A_KIND = 8


class TraceWarning(str):
    """A warning: one line of text, with what it is about.

    Attributes:
        kind: what it warns of, one of the names in `docs/errors.md`.
        op_index: the operator concerned, if there is one.
        blob: the blob concerned, if there is one.
        remedies: what mends it.
    """

    kind: str
    op_index: int | None
    blob: str | None
    remedies: tuple[Remedy, ...]

    def __new__(
        cls,
        text: str,
        kind: str,
        op_index: int | None = None,
        blob: str | None = None,
        remedies: Sequence[Remedy] = (),
    ) -> TraceWarning:
        made = super().__new__(cls, text)
        made.kind = kind
        made.op_index = op_index
        made.blob = blob
        made.remedies = tuple(remedies)
        return made


def warnings_about(trace: Trace) -> list[TraceWarning]:
    """What a user should know of a walk, gravest first; of many warnings of one kind the first eight."""
    with collector_paused():  # it would search the whole record of the walk again and again
        return _not_too_many(_all(trace, Scene.of(trace)))


def _all(trace: Trace, scene: Scene) -> list[TraceWarning]:
    return [
        *_unknown_ys(trace, scene),
        *_silent(scene),
        *_names_taken(scene),
        *_test_mode(scene),
        *_lost_given(trace, scene),
        *_counted_twice(scene),
        *_softmax_of_ones(scene),
        *_ys_that_are_no_loss(scene),
        *_zeros_added(scene),
        *_loops(scene),
        *_no_way_back(scene),
        *_unknown_types(scene),
        *(_frozen(scene) if trace.error is None else ()),
    ]


def _not_too_many(warnings: list[TraceWarning]) -> list[TraceWarning]:
    counts: dict[str, int] = {}
    kept = []
    for each in warnings:
        counts[each.kind] = counts.get(each.kind, 0) + 1
        if counts[each.kind] <= _MOST_OF_A_KIND:
            kept.append(each)
    more = {kind: count - _MOST_OF_A_KIND for kind, count in counts.items() if count > _MOST_OF_A_KIND}
    return kept + [
        TraceWarning(f"and {count:,} more warnings of the kind {kind}", kind) for kind, count in more.items()
    ]


# The ys.


def _unknown_ys(trace: Trace, scene: Scene) -> Iterator[TraceWarning]:
    start = len(trace.ops)
    seeds = trace.events[start : start + len(trace.ys)]
    added = {event.blob for event in seeds if isinstance(event, Seed) and event.added}
    unknown = [y for y in trace.ys if y in added or y not in trace.recording.frontier]
    known = known_blobs(trace.net) if unknown else set()
    alone = " and no parameter gets one at all" if len(unknown) == len(trace.ys) else ""
    for y in unknown:
        near = nearest(y, known - {y})
        hint = f"; did you mean {joined(near, 'or')}?" if near else ""
        text = f"y {y!r} is not a blob of this net: nothing gets a gradient through it{alone}{hint}"
        shop = Workshop(scene)
        remedies = [
            shop.remedy(f"Ask for the gradient of {name} in place of {y}", "", lambda net: None, asks_for(y, name))
            for name in near
        ]
        yield TraceWarning(text, "unknown_y", blob=y, remedies=remedies)


def _lost_given(trace: Trace, scene: Scene) -> Iterator[TraceWarning]:
    for y, given in trace.ys.items():
        now = scene.walk.gradient_map.get(y)
        if given is None or now is None or now == given or not scene.generators(y, scene.last_version(y)):
            continue
        readers = scene.readers(y, scene.last_version(y))
        yield TraceWarning(
            f"the gradient given for {y}, {spoken(given)}, is lost: {scene.all_named(readers)} on the way to another y "
            f"also give{'s' if len(readers) == 1 else ''} it one, and {spoken(now)} takes its place instead of being "
            "added; add the two in the net, or ask for the gradient of one sum",
            "given_gradient_lost",
            blob=y,
        )


def _counted_twice(scene: Scene) -> Iterator[TraceWarning]:
    """A y that another y is made of: its ones are added to what comes from above."""
    for y, given in scene.walk.ys.items():
        if given is not None or scene.writer(y, scene.last_version(y)) is None:
            continue
        makers = scene.generators(y, scene.last_version(y))
        above = [index for index, _ in makers if index is not None]
        if above:
            yield TraceWarning(
                f"y {y} is also on the way to another y, through {scene.all_named(above)}: its own ones and the "
                "gradient from there are added, so it counts twice; leave it out of the ys unless that is meant",
                "y_counts_twice",
                blob=y,
            )


def _softmax_of_ones(scene: Scene) -> Iterator[TraceWarning]:
    for y, given in scene.walk.ys.items():
        writer = scene.writer(y, scene.last_version(y)) if given is None and scene.knows(y) else None
        if writer is not None and scene.op(writer).type == "Softmax" and not scene.readers(y, scene.last_version(y)):
            yield TraceWarning(
                f"y {y} is what {scene.named(writer)} writes: with a gradient of ones every gradient below it is zero, "
                "as the rows of a softmax always add up to one; ask for the gradient of a loss",
                "softmax_of_ones",
                writer,
                y,
            )


def _ys_that_are_no_loss(scene: Scene) -> Iterator[TraceWarning]:
    """Ys from outside, and losses of each example."""
    for y, given in scene.walk.ys.items():
        version = scene.last_version(y)
        writer = scene.writer(y, version)
        if writer is None and scene.readers(y, version):
            yield TraceWarning(
                f"y {y} comes from outside, no op of this net makes it: nothing but {y} itself gets a gradient by it",
                "y_from_outside",
                blob=y,
            )
        elif writer is not None and given is None and scene.op(writer).type in PER_EXAMPLE:
            yield TraceWarning(
                f"y {y} of {scene.named(writer)} holds a loss for each example: with a gradient of ones the gradients "
                "are those of their sum, not of their mean; AveragedLoss after it makes the mean",
                "y_per_example",
                writer,
                y,
            )


# Gradients that are wrong.


def _silent(scene: Scene) -> Iterator[TraceWarning]:
    counts: Counter[str] = Counter()
    for each in silent_errors(scene):
        counts[each.kind] += 1
        remedies = list(_apart(scene, each)) if counts[each.kind] <= _MOST_OF_A_KIND else []
        yield TraceWarning(each.text, each.kind, each.op_index, each.blob, remedies)


def _names_taken(scene: Scene) -> Iterator[TraceWarning]:
    """Gradient operators that write a blob which the net itself has: most likely its gradients of another call."""
    walk = scene.walk
    taken: dict[str, int] = {}
    for number, op in enumerate(walk.recording.gradient_ops):
        for output, made in enumerate(op.outputs):
            name = walk.output_of(number, output)
            if name in walk.frontier and name not in op.inputs and made not in taken:
                taken[name] = number
    if taken:
        name, number = next(iter(taken.items()))
        writer = scene.writer(name, scene.last_version(name))
        whose = "comes from outside" if writer is None else f"is written by {scene.named(writer)}"
        yield TraceWarning(
            f"gradient ops write {shortened(list(taken), 6)}, which the net has as blobs of its own ({name} {whose}; "
            f"gradient op {number} writes it anew): what stood there is lost, not added to; gradients of several "
            "losses are built in one call, with all of them as ys",
            "gradient_name_taken",
            writer,
            name,
        )


def _apart(scene: Scene, silent: Silent) -> Iterator[Remedy]:
    """Outputs of their own for an operator that works in place."""
    from gradviz.autodiff.mending.repairs import own_output_remedies

    if silent.culprit is not None:
        op = scene.op(silent.culprit)
        if set(op.inputs).intersection(op.outputs):
            yield from own_output_remedies(Workshop(scene), silent.culprit)


def _test_mode(scene: Scene) -> Iterator[TraceWarning]:
    from gradviz.autodiff.mending.substitutes import frozen_batch_norm

    for index, op in enumerate(scene.ops, scene.offset):
        if op.type != "SpatialBN" or not values(op.proto).get("is_test") or not scene.entered(index):
            continue
        if len(op.inputs) < 5:
            continue
        mean, variance = op.inputs[3], op.inputs[4]
        yield TraceWarning(
            f"{scene.named(index)} runs in test mode, and the gradient of Caffe2 is wrong there: SpatialBNGradient "
            f"reads {mean} and {variance} in place of the saved statistics of a batch, and takes the variance "
            f"{variance} for an inverse standard deviation, so the gradients of {joined(op.inputs[:2])} and of "
            f"everything below are off; "
            f"{op.inputs[1]} and {op.inputs[2]} get gradients, {mean} and {variance} get none and must be fed; "
            "AffineChannel does the same as a frozen batch norm, with a right gradient",
            "batch_norm_in_test_mode",
            index,
            op.inputs[0],
            list(frozen_batch_norm(Workshop(scene), index)),
        )


def _zeros_added(scene: Scene) -> Iterator[TraceWarning]:
    for index, op in enumerate(scene.ops, scene.offset):
        if op.type != "ZeroGradient" or not op.inputs:
            continue
        blob = op.inputs[0]
        if len(scene.generators(blob, scene.reads(index)[blob])) > 1:
            yield TraceWarning(
                f"{scene.named(index)} freezes nothing: its zeros are added to the other gradients of {blob}; "
                "StopGradient between the blob and its readers stops them",
                "zero_gradient_added",
                index,
                blob,
            )


def _loops(scene: Scene) -> Iterator[TraceWarning]:
    for index, op in enumerate(scene.ops, scene.offset):
        if op.type == "While" and scene.made(index) is not None:
            only_read = [name for name in op.inputs[1:] if name not in op.outputs and scene.walk.gradient_map.get(name)]
            if only_read:
                yield TraceWarning(
                    f"{scene.named(index)} reads {shortened(only_read)} in every round, but the gradients of the "
                    "rounds are not added up: only that of the round that is gone through last is left",
                    "loop_gradient",
                    index,
                    only_read[0],
                )


def _no_way_back(scene: Scene) -> Iterator[TraceWarning]:
    for index, op in enumerate(scene.ops, scene.offset):
        if op.type != "RecurrentNetwork" or scene.made(index) is None:
            continue
        if not any(argument.name == "backward_step_net" for argument in op.proto.arg):
            yield TraceWarning(
                f"{scene.named(index)} has no backward_step_net, so its gradient op is built but cannot be run: the "
                "network was made for running forwards only",
                "no_backward_step_net",
                index,
            )


# What else is worth a word.


def _unknown_types(scene: Scene) -> Iterator[TraceWarning]:
    first: dict[str, int] = {}
    for index, op in enumerate(scene.ops, scene.offset):
        if op.type not in first and lookup(op.type) is None:
            first[op.type] = index
    for index in first.values():
        if scene.error is None or scene.error.op_index != index:
            yield TraceWarning(unknown_type(scene, index), "unknown_type", index)


def unknown_type(scene: Scene, index: int) -> str:
    """What to say of an operator whose type nobody knows."""
    type = scene.op(index).type
    near = similar_types(type)
    of = f"; it belongs to {ADD_ONS[type]}" if type in ADD_ONS else ""
    class_name = "; names that end in Op are those of C++ classes" if type.endswith("Op") else ""
    hint = f"; did you mean {joined(near, 'or')}?" if near else ""
    return f"{scene.named(index)}: there is no operator type {type}{of}{class_name}{hint}"


def _frozen(scene: Scene) -> Iterator[TraceWarning]:
    found = coverage(scene, idle=False)
    if not found.frozen or not any(scene.knows(y) for y in scene.walk.ys):
        return
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.frozen.items():
        by_reason.setdefault(reason, []).append(name)
    reasons = [f"{shortened(names, 6)}: {reason}" for reason, names in by_reason.items() if reason]
    total = len(found.frozen) + len(found.trained)
    trained = f"trained: {shortened(list(found.trained), 6)}" if found.trained else "nothing is trained"
    yield TraceWarning(
        f"{len(found.frozen)} of {total} parameters get no gradient ({trained}): {'; '.join(reasons[:4])}",
        "frozen_parameters",
        blob=next(iter(found.frozen)),
        remedies=list(_asking_for_more(scene, list(found.frozen)[:_MOST_OF_A_KIND])),
    )


def _asking_for_more(scene: Scene, frozen: list[str]) -> Iterator[Remedy]:
    """Arguments with which rules would give parameters their gradients."""
    asked: set[tuple[int, str]] = set()
    for name in frozen:
        for cut in downstream(scene, name, 0).cuts:
            argument = argument_that_gives(scene, cut)
            if argument and (cut.op_index, argument) not in asked:
                asked.add((cut.op_index, argument))
                yield Workshop(scene).remedy(
                    f"Set {argument}=1 in {scene.named(cut.op_index)}",
                    f"Its rule then gives {cut.blob} a gradient too.",
                    partial(_set_argument, index=cut.op_index, name=argument),
                )


def _set_argument(net: NetDef, index: int, name: str) -> None:
    edits.set_argument(net.op[index], name, 1)
