"""Remedies: functions from net to net that mend what stopped a walk, each proven by walking again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gradviz.errors import GradvizError
from gradviz.nets import as_model
from gradviz.proto import NetDef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradviz.autodiff.trace import Trace
    from gradviz.nets import Model
    from gradviz.ops.records import Gradient

Ys = dict[str, "Gradient"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that usually mends an error.

    Attributes:
        title: what it does, one line.
        explanation: why it helps and what it changes, in a sentence or two.
        edit: changes a net in place; it is handed a copy.
        ask: the ys to ask of the mended net, made of those that were asked; None where they stay.
    """

    title: str
    explanation: str
    edit: Callable[[NetDef], None]
    ask: Callable[[Ys], Ys] | None = None

    def apply(self, model: Any) -> Model:
        """A mended model; the one given is not changed.

        Args:
            model: a Model or a NetDef: the one that was walked.

        Raises:
            GradvizError: the remedy was found for another net.
        """
        from gradviz.autodiff.mending.edits import drop_stale_outputs

        source = as_model(model)
        net = NetDef()
        net.CopyFrom(source.net)
        try:
            self.edit(net)
        except (IndexError, StopIteration, KeyError) as error:
            raise GradvizError(f"this remedy was found for another net: {self.title}") from error
        drop_stale_outputs(source.net, net)
        return replace(source, net=net, notices=list(source.notices))

    def ys(self, ys: Mapping[str, Any]) -> Ys:
        """The ys to ask of the mended net in place of `ys`."""
        return dict(ys) if self.ask is None else self.ask(dict(ys))

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of a remedy: the mended net was walked again. True where nothing stops that walk.

    Attributes:
        model: the mended model.
        ys: what was asked of it.
        trace: its walk; its error, if there is one, came into sight behind the one that was mended.
    """

    model: Model
    ys: Ys
    trace: Trace

    def __bool__(self) -> bool:
        return self.trace.error is None


@dataclass(frozen=True, slots=True)
class Mended:
    """A model after several remedies.

    Attributes:
        remedies: what was done, in order.
        model: the model after them.
        ys: what is to be asked of it.
        trace: its walk; its error is what no remedy could mend.
    """

    remedies: tuple[Remedy, ...]
    model: Model
    ys: Ys
    trace: Trace


def mend(model: Any, ys: Any = None, *, most: int = 50, **options: Any) -> Mended:
    """Mend one error after the other, each time with the likeliest remedy that brings the walk further.

    Args:
        model: a Model or a NetDef; it is not changed.
        ys: as `trace` takes it.
        most: the most remedies to apply.
        **options: what else `trace` takes.
    """
    from gradviz.autodiff.trace import trace

    walked = trace(model, ys, **options)
    current, asked = as_model(model), dict(walked.ys)
    done: list[Remedy] = []
    while walked.error is not None and len(done) < most:
        found = _best(walked, options)
        if found is None:
            break
        remedy, proof = found
        done.append(remedy)
        current, asked, walked = proof.model, proof.ys, proof.trace
    return Mended(tuple(done), current, asked, walked)


def _best(walked: Trace, options: Mapping[str, Any]) -> tuple[Remedy, Proof] | None:
    """A remedy after which nothing stops the walk, else the first that brings it further."""
    further: tuple[Remedy, Proof] | None = None
    for remedy in walked.error.remedies if walked.error is not None else ():
        proof = proves(remedy, walked.model, walked.ys, **options)
        if proof:
            return remedy, proof
        if further is None and _reached(proof.trace) > _reached(walked):
            further = remedy, proof
    return further


def _reached(walked: Trace) -> tuple[int, int, int]:
    """How far a walk came: past the checks before it, fewest operators left, most events."""
    error = walked.error
    started = error is None or error.phase != "sanity_check"
    left = len(walked.ops) - len(walked.steps)
    stops = sum(op.type == "StopGradient" for op in walked.ops)
    return int(started), -left if started else -stops, len(walked.events)


def proves(remedy: Remedy, model: Any, ys: Any = None, **options: Any) -> Proof:
    """Apply a remedy and walk again.

    Args:
        remedy: the remedy.
        model: the model that was walked; it is not changed.
        ys: what was asked of it, as `trace` takes it.
        **options: what else `trace` was asked (`trace.options`).
    """
    from gradviz.autodiff.targets import choose
    from gradviz.autodiff.trace import trace

    source = as_model(model)
    asked, _ = choose(source.net, ys, options.get("skip", 0))
    mended = remedy.apply(source)
    again = trace(mended, remedy.ys(asked), **options)
    return Proof(mended, dict(again.ys), again)
