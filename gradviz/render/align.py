"""Two lists of operators side by side: which of one is which of the other."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from gradviz.ops.arguments import values
from gradviz.render.graph import argument_of, device_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from gradviz.proto import OperatorDef

Pair = tuple[int | None, int | None]
"""An operator of the first list and the one of the second that it is; None where it has none."""

EMPTY = '""'
_PATIENT = 4_000_000
"""Up to so many pairs `difflib` looks at operators that occur very often too."""


def content(op: OperatorDef) -> Hashable:
    """All that tells an operator, but for debug information and the order of its arguments."""
    arguments = tuple(sorted(each.SerializeToString(deterministic=True) for each in op.arg))
    device = op.device_option.SerializeToString(deterministic=True)
    names = (op.type, tuple(op.input), tuple(op.output), op.name, op.engine, tuple(op.control_input))
    return (*names, arguments, device, op.is_gradient_op)


_KEYS: tuple[Callable[[OperatorDef], Hashable], ...] = (
    content,
    lambda op: (op.type, tuple(op.output)),
    lambda op: tuple(op.output) or op.type,
    lambda op: op.type,
)
"""What makes two operators the same, strictest first; a weaker one is asked only between pairs of the stricter."""


def aligned(a: Sequence[OperatorDef], b: Sequence[OperatorDef]) -> list[Pair]:
    """Every operator of both lists once, in order, those that belong together as one pair."""
    pairs: list[tuple[int, int]] = []
    gaps = [(0, len(a), 0, len(b))]
    for key in _KEYS:
        of_a, of_b = [key(op) for op in a], [key(op) for op in b]
        for a_from, a_to, b_from, b_to in gaps:
            for i, j, size in _blocks(of_a[a_from:a_to], of_b[b_from:b_to]):
                pairs += [(a_from + i + k, b_from + j + k) for k in range(size)]
        gaps = list(_gaps(sorted(pairs), len(a), len(b)))
    return interleaved(pairs, len(a), len(b))


def _gaps(pairs: list[tuple[int, int]], count_a: int, count_b: int) -> Iterator[tuple[int, int, int, int]]:
    """Where both lists have operators between two pairs."""
    here = (0, 0)
    for i, j in [*pairs, (count_a, count_b)]:
        if here[0] < i and here[1] < j:
            yield here[0], i, here[1], j
        here = (i + 1, j + 1)


def _blocks(a: list[Hashable], b: list[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Runs that both have: where in the first, where in the second, how long."""
    start = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if start:
        yield 0, 0, start
    rest_a, rest_b = a[start:], b[start:]
    short = min(len(rest_a), len(rest_b))
    end = next((k for k in range(short) if rest_a[-1 - k] != rest_b[-1 - k]), short)
    middle_a, middle_b = rest_a[: len(rest_a) - end], rest_b[: len(rest_b) - end]
    if middle_a and middle_b:
        impatient = len(middle_a) * len(middle_b) > _PATIENT
        for i, j, size in SequenceMatcher(None, middle_a, middle_b, impatient).get_matching_blocks():
            if size:
                yield start + i, start + j, size
    if end:
        yield len(a) - end, len(b) - end, end


def interleaved(pairs: Iterable[tuple[int, int]], count_a: int, count_b: int) -> list[Pair]:
    """Pairs in the order of the second list, with what only the first has where it stood."""
    of_b = {j: i for i, j in pairs}
    paired = set(of_b.values())
    made: list[Pair] = []
    i = 0
    for j in range(count_b):
        partner = of_b.get(j)
        if partner is None:
            while i < count_a and i not in paired:  # what went is told before what came
                made.append((i, None))
                i += 1
        else:
            made += [(k, None) for k in range(i, partner) if k not in paired]
            i = max(i, partner + 1)
        made.append((partner, j))
    return made + [(k, None) for k in range(i, count_a) if k not in paired]


def differences(a: OperatorDef, b: OperatorDef) -> list[str]:
    """What differs between two operators, a clause each; empty where nothing does but debug information."""
    found = [f"type {a.type} → {b.type}"] if a.type != b.type else []
    found += _of_names("input", list(a.input), list(b.input))
    found += _of_names("output", list(a.output), list(b.output))
    found += _of_arguments(a, b)
    for what in ("name", "engine"):
        before, after = getattr(a, what), getattr(b, what)
        if before != after:
            found.append(f"{what} {before or 'none'} → {after or 'none'}")
    if a.device_option != b.device_option:
        found.append(f"device {device_of(a) or 'CPU'} → {device_of(b) or 'CPU'}")
    if list(a.control_input) != list(b.control_input):
        found.append(f"control inputs {_listed(a.control_input)} → {_listed(b.control_input)}")
    if a.is_gradient_op != b.is_gradient_op:
        found.append(f"{'no longer ' if a.is_gradient_op else ''}marked as a gradient operator")
    return found


def only_names_differ(a: OperatorDef, b: OperatorDef) -> bool:
    """Whether two operators are the same but for the names of their blobs."""
    before, after = type(a)(), type(b)()
    for op, copy in ((a, before), (b, after)):
        copy.CopyFrom(op)
        copy.ClearField("input")
        copy.ClearField("output")
    sizes = len(a.input) == len(b.input) and len(a.output) == len(b.output)
    return sizes and content(before) == content(after)


def _of_names(what: str, a: list[str], b: list[str]) -> list[str]:
    if len(a) != len(b):
        return [f"{what}s {_listed(a)} → {_listed(b)}"]
    return [f"{what} {i}: {x or EMPTY} → {y or EMPTY}" for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]


def _of_arguments(a: OperatorDef, b: OperatorDef) -> list[str]:
    before, after = values(a), values(b)
    found = []
    for name in dict.fromkeys((*before, *after)):
        if name not in before:
            found.append(f"{name}={argument_of(after[name])} added")
        elif name not in after:
            found.append(f"{name}={argument_of(before[name])} removed")
        elif _bytes_of(a, name) != _bytes_of(b, name):
            x, y = argument_of(before[name]), argument_of(after[name])
            found.append(f"{name} {x} → {y}" if x != y else f"{name} differs ({x})")
    return found


def _bytes_of(op: OperatorDef, name: str) -> list[bytes]:
    return [each.SerializeToString(deterministic=True) for each in op.arg if each.name == name]


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(each or EMPTY for each in names)})"
