"""The errors that gradviz raises on purpose. Each message is one line: what, why, what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_ENDLESS = re.compile(r"\S{300,}")


def one_line(text: str) -> str:
    """Text that may hold names from a net, fit to be shown: on one line, without control codes or endless words.

    Line breaks, control codes and lone surrogates become escapes; of a word of 300 characters and more the middle is
    left out.
    """
    if not text.isprintable():
        text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return text if len(text) < 300 else _ENDLESS.sub(_with_middle_left_out, text)


def _with_middle_left_out(word: re.Match[str]) -> str:
    text = word.group()
    return f"{text[:150]}…{text[-50:]}"


class GradvizError(Exception):
    """Base of every error that gradviz raises about its input; what the message quotes from a net stays on its line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class LoadError(GradvizError):
    """A file is not a net that gradviz can open."""


class ExecutionError(GradvizError):
    """A net or an operator cannot be run, or failed while it ran."""


class GradientError(GradvizError):
    """The construction of gradients stopped.

    Attributes:
        kind: what went wrong, one of the names in `docs/errors.md`, such as `output_overwritten`.
        phase: where: `sanity_check`, `init`, `check_inputs`, `make_gradient`, `build_generators`, `merge_sparse`,
            `verify` or `sum_conflict`.
        op_index: index of the forward operator being visited; None where no operator is concerned.
        facts: the evidence: blob names, versions, operator types; which keys depends on the kind.
        examine: gives the diagnosis; set by `trace`, None where an operator was asked alone.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        phase: str = "make_gradient",
        op_index: int | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.phase = phase
        self.op_index = op_index
        self.facts = facts or {}
        self.examine: Callable[[], Any] | None = None
        self._diagnosis: Any = None

    @property
    def diagnosis(self) -> Any:
        """The evidence in full: a `Diagnosis` of `gradviz.autodiff.explain.examine`, made at first use; or None."""
        if self._diagnosis is None and self.examine is not None:
            self._diagnosis = self.examine()
        return self._diagnosis

    @property
    def explanation(self) -> Sequence[str]:
        """What was asked, what was found, who is involved, one short line each; empty without a trace."""
        return () if self.diagnosis is None else tuple(self.diagnosis.lines)

    @property
    def remedies(self) -> Sequence[Any]:
        """What usually mends it, likeliest first, each a `gradviz.autodiff.Remedy`; empty without a trace."""
        return () if self.diagnosis is None else tuple(self.diagnosis.remedies)
