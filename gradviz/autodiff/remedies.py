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
        source = as_model(model)
        net = NetDef()
        net.CopyFrom(source.net)
        try:
            self.edit(net)
        except (IndexError, StopIteration, KeyError) as error:
            raise GradvizError(f"this remedy was found for another net: {self.title}") from error
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
