"""Operator arguments: read loosely, and read strictly as Caffe2's own readers do; `arg` makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.errors import GradientError
from gradviz.proto.arguments import arg

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradviz.proto import Argument, OperatorDef

__all__ = ["Arguments", "arg", "real", "value_of", "values", "whole", "wholes"]


def value_of(argument: Argument) -> Any:
    """The value of an argument as a Python value, whichever field holds it.

    Text comes back as `str` (bytes that are not UTF-8 through surrogate escapes), an argument without a value as an
    empty list.
    """
    if argument.HasField("i"):
        return argument.i
    if argument.HasField("f"):
        return argument.f
    if argument.HasField("s"):
        return argument.s.decode("utf-8", "surrogateescape")
    if argument.HasField("n"):
        return argument.n
    if argument.HasField("t"):
        return argument.t
    for plural in (argument.ints, argument.floats, argument.nets, argument.tensors, argument.qtensors):
        if plural:
            return list(plural)
    return [text.decode("utf-8", "surrogateescape") for text in argument.strings]


def values(op: OperatorDef) -> dict[str, Any]:
    """All arguments of an operator by name; of doubles the first counts."""
    found: dict[str, Any] = {}
    for argument in op.arg:
        found.setdefault(argument.name, value_of(argument))
    return found


def whole(args: Mapping[str, Any], name: str, default: int) -> int:
    """An integer among decoded arguments; the default where it is missing or another kind of value."""
    value = args.get(name)
    return value if isinstance(value, int) else default


def wholes(args: Mapping[str, Any], name: str) -> list[int]:
    """A list of integers among decoded arguments; empty where it is missing or another kind of value."""
    value = args.get(name)
    return value if isinstance(value, list) and all(isinstance(each, int) for each in value) else []


def real(args: Mapping[str, Any], name: str, default: float) -> float:
    """A number among decoded arguments; the default where it is missing or another kind of value."""
    value = args.get(name)
    return float(value) if isinstance(value, int | float) else default


class Arguments:
    """The arguments of one operator, read as strictly as Caffe2's argument helper reads them.

    Raises:
        GradientError: kind `make_gradient_other`, where a name stands twice with different contents.
    """

    def __init__(self, arguments: Iterable[Argument]) -> None:
        self._by_name: dict[str, Argument] = {}
        for argument in arguments:
            known = self._by_name.setdefault(argument.name, argument)
            if known is not argument and known != argument:
                raise _refusal(f"argument {argument.name} stands twice with different contents", argument.name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Argument | None:
        """The argument itself, or None."""
        return self._by_name.get(name)

    def integer(self, name: str, default: int = 0) -> int:
        """An integer; refused where the argument is there without an integer."""
        return default if name not in self else int(self._field(name, "i"))

    def real(self, name: str, default: float = 0.0) -> float:
        """A float; refused where the argument is there without a float."""
        return default if name not in self else float(self._field(name, "f"))

    def text(self, name: str, default: str = "") -> str:
        """A text; refused where the argument is there without a text."""
        return default if name not in self else self._field(name, "s").decode("utf-8", "surrogateescape")

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value, stored as an integer."""
        return bool(self.integer(name, int(default)))

    def integers(self, name: str) -> list[int]:
        """A list of integers; empty where the argument is not there."""
        found = self._by_name.get(name)
        return list(found.ints) if found is not None else []

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty where the argument is not there."""
        found = self._by_name.get(name)
        return [text.decode("utf-8", "surrogateescape") for text in found.strings] if found is not None else []

    def has(self, name: str, field: str) -> bool:
        """Whether the argument is there and holds the scalar field `field` (`i`, `f`, `s` or `n`)."""
        found = self._by_name.get(name)
        return found is not None and found.HasField(field)

    def _field(self, name: str, field: str) -> Any:
        if not self.has(name, field):
            raise _refusal(f"argument {name} does not hold the field {field} that the rule reads", name)
        return getattr(self._by_name[name], field)


def _refusal(message: str, name: str) -> GradientError:
    return GradientError(message, kind="make_gradient_other", facts={"argument": name})
