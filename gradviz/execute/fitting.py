"""Whether the arguments of an operator hold what its kernel reads: a number, a text, a list, a net."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.proto import NetDef

if TYPE_CHECKING:
    from collections.abc import Mapping

# By the annotation of a kernel's parameter: what a value may be, and how that is called. Truth values are integers in
# the wire format; integers pass where numbers are wanted. Other annotations (`Any`) let everything pass.
_ONE: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "an integer"),
    "bool": ((int,), "an integer"),
    "float": ((int, float), "a number"),
    "str": ((str,), "a text"),
    "NetDef": ((NetDef,), "a net"),
}
_MANY = {
    f"{many}[{one}]": (types, f"a list of {word}")
    for many in ("list", "Sequence")
    for one, types, word in (("int", (int,), "integers"), ("float", (int, float), "numbers"), ("str", (str,), "texts"))
}


def misfit(kinds: Mapping[str, str], given: Mapping[str, Any]) -> str | None:
    """What is wrong with the first argument that holds another kind of value than its kernel reads, in a clause.

    Args:
        kinds: the annotations of the kernel's parameters by name.
        given: the arguments of the operator, decoded.
    """
    for name, value in given.items():
        wanted = _wanted(kinds.get(name, ""), value)
        if wanted is not None:
            return f"its argument {name} must be {wanted}, not {_shown(value)}"
    return None


def _wanted(annotation: str, value: Any) -> str | None:
    """What a value should have been; None where it is that, or where all is well."""
    kind = annotation.removesuffix(" | None")
    if kind in _ONE:
        types, word = _ONE[kind]
        return None if isinstance(value, types) else word
    if kind in _MANY:
        types, word = _MANY[kind]
        fits = isinstance(value, list) and all(isinstance(each, types) for each in value)
        return None if fits else word
    return None


def _shown(value: Any) -> str:
    """A value of an argument, short."""
    if value == []:
        return "empty"
    if isinstance(value, list):
        return f"a list of {len(value)}" if len(value) > 1 else f"the list [{_shown(value[0])}]"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return str(value) if isinstance(value, int | float) else f"a {type(value).__name__}"
