"""Two nets, operator by operator: what was taken out, put in, and changed."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from gradviz.ops.arguments import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.proto import NetDef, OperatorDef

_MOST = 20_000
_CONTEXT = 1


def op_line(op: OperatorDef) -> str:
    """An operator on one line: type, inputs, outputs, arguments, engine, device."""
    given = [f"{argument.name}={_shown(value_of(argument))}" for argument in op.arg]
    line = f"{op.type}({', '.join(op.input)}) -> {', '.join(op.output) or 'nothing'}"
    line += f"  {' '.join(given)}" if given else ""
    line += f"  engine={op.engine}" if op.engine else ""
    if op.HasField("device_option") and op.device_option.device_type:
        line += f"  device={op.device_option.device_type}:{op.device_option.device_id}"
    return line


def _shown(value: Any) -> str:
    if hasattr(value, "op"):
        return f"<net of {len(value.op)} ops>"
    if hasattr(value, "DESCRIPTOR"):
        return f"<{value.DESCRIPTOR.name}>"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def net_diff(before: NetDef, after: NetDef) -> list[str]:
    """The difference, one line each: `-` taken out, `+` put in, a space for what stands around it; with indices."""
    old, new = [op_line(op) for op in before.op], [op_line(op) for op in after.op]
    lines = list(_ops(old, new))
    for label, field in (("external_input", "external_input"), ("external_output", "external_output")):
        gone = [name for name in getattr(before, field) if name not in getattr(after, field)]
        come = [name for name in getattr(after, field) if name not in getattr(before, field)]
        lines += [f"- {label} {name}" for name in gone] + [f"+ {label} {name}" for name in come]
    return lines


def _ops(old: list[str], new: list[str]) -> Iterator[str]:
    start, end = _common(old, new)
    one, two = old[start : len(old) - end], new[start : len(new) - end]
    if len(one) + len(two) > _MOST:
        yield f"  {len(one):,} ops became {len(two):,}"
        return
    for index in range(max(0, start - _CONTEXT), start if one or two else 0):
        yield f"  op {index}  {old[index]}"
    for kind, i, i_end, j, j_end in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from _kept(one[i:i_end], start + i)
            continue
        yield from (f"- op {start + index}  {one[index]}" for index in range(i, i_end))
        yield from (f"+ op {start + index}  {two[index]}" for index in range(j, j_end))
    if one or two:
        after = len(old) - end
        yield from (f"  op {index}  {old[index]}" for index in range(after, min(after + _CONTEXT, len(old))))


def _kept(lines: list[str], first: int) -> Iterator[str]:
    if len(lines) <= 2 * _CONTEXT + 1:
        yield from (f"  op {first + index}  {line}" for index, line in enumerate(lines))
        return
    yield f"  op {first}  {lines[0]}"
    yield f"  … {len(lines) - 2:,} ops as they were"
    yield f"  op {first + len(lines) - 1}  {lines[-1]}"


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the start and at the end."""
    least = min(len(old), len(new))
    start = 0
    while start < least and old[start] == new[start]:
        start += 1
    end = 0
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end
