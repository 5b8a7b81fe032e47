"""What `gradviz mend` does: finds remedies, tries them, applies one or one after the other, and tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import spoken
from gradviz.autodiff.mending.netdiff import net_diff
from gradviz.autodiff.remedies import mend, proves
from gradviz.cli.group import BAD_NEWS
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.autodiff import Trace
    from gradviz.autodiff.remedies import Proof, Remedy
    from gradviz.nets import Model
    from gradviz.ops.records import Gradient

_MOST_NAMES = 12


class Mending:
    """One call of `gradviz mend`.

    Attributes:
        walked: the walk of the model as it was.
        written: whether the mended net will be written.
        remedies: what there is to choose from: for the error, then for warnings and findings.
        helpful: how many of them are for the error.
        proofs: what became of each remedy that was tried, by its number.
        done: the remedies that were applied.
        model: the mended model; None where nothing was applied.
        after: its walk.
    """

    def __init__(self, walked: Trace, *, written: bool) -> None:
        self.walked = walked
        self.written = written
        self.remedies = list(_all_remedies(walked))
        self.helpful = 0 if walked.error is None else len(walked.error.remedies)
        self.proofs: dict[int, Proof] = {}
        self.done: list[Remedy] = []
        self.model: Model | None = None
        self.after: Trace | None = None

    # Doing.

    def one(self, number: int | None, *, chosen: bool) -> int:
        """Apply one remedy: the given one, or the likeliest that helps; only list them if none is to be chosen.

        Raises:
            GradvizError: there is no such remedy, or none helps.
        """
        if number is not None:
            if not 1 <= number <= len(self.remedies):
                raise GradvizError(f"there is no remedy {number}: {self._count()}")
            self._apply(number, self._try(number))
            return self._code()
        if self.walked.error is None:
            if chosen:
                raise GradvizError(f"nothing stops the walk; say which remedy with --remedy N: {self._count()}")
            return 0
        for each in range(1, self.helpful + 1):
            if self._try(each) and not self.done:
                self._apply(each, self.proofs[each])
            if self.done and chosen:
                break
        if self.done:
            return 0
        further = next((each for each in self.proofs if self._further(self.proofs[each])), None)
        if further is None:
            raise GradvizError(f"no remedy is known that helps: {self.walked.error}")
        self._apply(further, self.proofs[further])
        return BAD_NEWS

    def all(self) -> int:
        """Apply remedies until nothing stops the walk."""
        made = mend(self.walked.model, self.walked.ys, **self.walked.options)
        self.done, self.after = list(made.remedies), made.trace
        self.model = made.model if made.remedies else None
        return self._code()

    def _try(self, number: int) -> Proof:
        proof = proves(self.remedies[number - 1], self.walked.model, self.walked.ys, **self.walked.options)
        self.proofs[number] = proof
        return proof

    def _apply(self, number: int, proof: Proof) -> None:
        self.done, self.model, self.after = [self.remedies[number - 1]], proof.model, proof.trace

    def _further(self, proof: Proof) -> bool:
        """Whether another error came into sight."""
        before, after = self.walked.error, proof.trace.error
        return before is not None and after is not None and (before.kind, before.facts) != (after.kind, after.facts)

    def _code(self) -> int:
        after = self.after if self.after is not None else self.walked
        return 0 if after.error is None else BAD_NEWS

    def _count(self) -> str:
        count = len(self.remedies)
        return f"there {'is' if count == 1 else 'are'} {count} to choose from" if count else "there is none"

    # Telling.

    def lines(self) -> Iterator[str]:
        """What was found, done and changed."""
        error = self.walked.error
        yield f"The walk fails: {error}" if error is not None else "Nothing stops the walk."
        if error is not None:
            yield from (f"  {line}" for line in error.explanation)
        yield ""
        yield from self._choices()
        if self.model is not None and self.after is not None:
            yield ""
            label = "Applied" if self.written else "Would apply"
            yield from (f"{label}: {remedy.title}" for remedy in self.done)
            yield from (f"  {line}" for line in net_diff(self.walked.net, self.model.net))
            yield from self._outcome(self.after)

    def _choices(self) -> Iterator[str]:
        yield "Remedies:" if self.remedies else "No remedy is known."
        for number, remedy in enumerate(self.remedies, 1):
            if number == self.helpful + 1 and self.helpful:
                yield "For what else was found:"
            proof = self.proofs.get(number)
            yield f"  {number}. {remedy.title}{'' if proof is None else self._verdict(proof)}"
            if remedy.explanation:
                yield f"     {remedy.explanation}"

    def _verdict(self, proof: Proof) -> str:
        error = proof.trace.error
        return " [proven: nothing stops the walk then]" if error is None else f" [then it stops with {error.kind}]"

    def _outcome(self, after: Trace) -> Iterator[str]:
        if list(after.ys) != list(self.walked.ys) or dict(after.ys) != dict(self.walked.ys):
            yield f"Ask for: {' '.join(f'--ys {_asked(y, g)}' for y, g in after.ys.items())}"
        if after.error is not None:
            yield f"The walk now stops at another point: {after.error}"
            return
        count = len(after.recording.gradient_ops)
        yield f"Walked again: nothing stops it, {count:,} gradient ops."
        old, new = self.walked.walk.gradient_map, after.input_to_grad
        yield from _gradients("Gradients come to", [f"{b} ({spoken(g)})" for b, g in new.items() if old.get(b) is None])
        gone = [blob for blob, gradient in old.items() if gradient is not None and blob not in new]
        yield from _gradients("No gradient any more for", gone)
        changed = [f"{b} ({spoken(old[b])} → {spoken(g)})" for b, g in new.items() if old.get(b) not in (None, g)]
        yield from _gradients("Renamed gradients:", changed)

    def hint(self) -> str:
        """What to ask of the written net, where that changed."""
        if self.after is None or self.model is None:
            return ""
        from gradviz.autodiff.targets import choose

        opened_again, _ = choose(self.model.net, None)
        if dict(self.after.ys) == dict(self.walked.ys) == opened_again:
            return ""
        return f"; ask it for {' '.join(f'--ys {_asked(y, g)}' for y, g in self.after.ys.items())}"

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        after = self.after
        return {
            "error": None if self.walked.error is None else str(self.walked.error),
            "explanation": [] if self.walked.error is None else list(self.walked.error.explanation),
            "remedies": [
                {
                    "number": number,
                    "title": remedy.title,
                    "explanation": remedy.explanation,
                    "proven": None if number not in self.proofs else bool(self.proofs[number]),
                }
                for number, remedy in enumerate(self.remedies, 1)
            ],
            "applied": [remedy.title for remedy in self.done],
            "diff": [] if self.model is None else net_diff(self.walked.net, self.model.net),
            "ys": None if after is None else [_asked(y, gradient) for y, gradient in after.ys.items()],
            "error_after": None if after is None or after.error is None else str(after.error),
        }


def _all_remedies(walked: Trace) -> Iterator[Remedy]:
    """For the error, then for warnings, then for findings of lint that an edit mends; each title once."""
    from gradviz.autodiff.lint import lint

    titles: set[str] = set()
    found = list(walked.error.remedies) if walked.error is not None else []
    found += [remedy for warning in walked.warnings for remedy in warning.remedies]
    found += [each.remedy for each in lint(walked.model, walked.ys, **walked.options) if each.remedy is not None]
    for remedy in found:
        if remedy.title not in titles:
            titles.add(remedy.title)
            yield remedy


def _asked(y: str, gradient: Gradient) -> str:
    if gradient is None:
        return y
    return f"{y}={gradient}" if isinstance(gradient, str) else f"{y}={gradient.indices},{gradient.values}"


def _gradients(label: str, names: list[str]) -> Iterator[str]:
    if names:
        more = len(names) - _MOST_NAMES
        yield f"{label} {', '.join(names[:_MOST_NAMES])}{f' and {more:,} more' if more > 0 else ''}"
