"""Events on one short line each: what the algorithm pane writes behind the name of a phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops.records import GradientSlice
from gradviz.tui import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.autodiff import events
    from gradviz.ops.records import Gradient
    from gradviz.tui.rows import Row

_NAME = 24
"""A name on a short line takes at most so many columns."""


def gradient_text(gradient: Gradient, width: int = _NAME) -> str:
    """A gradient in few letters: its name, the two names of a slice, or a dash."""
    if gradient is None:
        return "–"
    if isinstance(gradient, GradientSlice):
        half = max((width - 3) // 2, 3)
        return f"({words.blob(gradient.indices, None, half)} {words.blob(gradient.values, None, half)})"
    return words.blob(gradient, None, width)


def short(event: Any) -> Row:
    """What an event did, in a few words."""
    return _SHORT[event.kind](event)


def _play(event: events.Play) -> Row:
    return [(words.shown(event.op.type), "kind"), (f" op {event.op_index}", "dim")]


def _seed(event: events.Seed) -> Row:
    how: Row = [(" given", "dim")] if event.gradient_op is None else [(" ones", "dim")]
    return [
        (words.blob(event.blob, event.version, _NAME), ""),
        (" ← ", "dim"),
        (gradient_text(event.gradient), "strong"),
        *how,
    ]


def _enter(event: events.Enter) -> Row:
    row: Row = []
    for name, gradient in zip(event.op.outputs[:8], event.g_output, strict=False):
        row += [(" " if row else "", ""), (words.blob(name, None, _NAME), ""), (" ← ", "dim")]
        row.append((gradient_text(gradient), "strong" if gradient is not None else "dim"))
    return row


def _skip(event: events.Skip) -> Row:
    return [("skipped", "warn"), (", no gradient arrives" if event.op.outputs else ", no outputs", "dim")]


def _make(event: events.Make) -> Row:
    if not event.gradient_ops:
        return [("no op needed", "dim")]
    types = [words.shorten(words.shown(op.type), 30) for op in event.gradient_ops[:4]]
    more = f" +{len(event.gradient_ops) - 4}" if len(event.gradient_ops) > 4 else ""
    return [(", ".join(types), "kind"), (more, "dim")]


def _check(event: events.Check) -> Row:
    name = event.name if event.role == "gradient" or not event.blob else event.blob
    role = {"unknown": " out of reach", "local": " local"}.get(event.role, f" {_ROLES.get(event.role, '')} ")
    row: Row = [("✓ ", "good") if event.ok else ("✗ ", "bad"), (words.blob(name, None, _NAME), ""), (role, "dim")]
    if event.role in ("unknown", "local"):
        return row
    sign = "=" if event.ok else "≠"
    return [*row, (f"{event.wanted} {sign} {event.found}", "dim" if event.ok else "bad")]


_ROLES = {"gradient": "grad", "output": "output", "input": "input"}


def _local(event: events.Local) -> Row:
    names = " ".join(words.blob(name, None, _NAME) for name in event.names[:8])
    return [("wrote ", "dim"), (names or "nothing", "")]


def _dense(event: events.Dense) -> Row:
    return [
        (gradient_text(event.generator.gradient), "strong"),
        (" → ", "dim"),
        (words.blob(event.blob, event.version, _NAME), ""),
        (" dense", "dim"),
    ]


def _half(event: events.Half) -> Row:
    name = getattr(event.generator.gradient, event.half)
    return [
        (words.blob(name, None, _NAME), "strong"),
        (" → ", "dim"),
        (words.blob(event.blob, event.version, _NAME), ""),
        (f" {event.half}", "dim"),
    ]


def _merge(event: events.Merge) -> Row:
    halves = "2 halves" if event.halves == 2 else "one half"
    return [(words.blob(event.blob, event.version, _NAME), ""), (f" sparse, {halves}", "dim")]


def _pass_through(event: events.PassThrough) -> Row:
    return [
        (gradient_text(event.generator.gradient), "strong"),
        (" → ", "dim"),
        (words.blob(event.blob, event.version, _NAME), ""),
    ]


def _frontier(event: events.Frontier) -> Row:
    before = "" if event.previous is None else f" was {event.previous}"
    return [(words.blob(event.blob, event.version, _NAME), ""), (before, "dim")]


def _map(event: events.Map) -> Row:
    role = "strong" if event.gradient is not None else "dim"
    return [(words.blob(event.blob, None, _NAME), ""), (" → ", "dim"), (gradient_text(event.gradient), role)]


def _verify(event: events.Verify) -> Row:
    row: Row = [(words.blob(event.blob, event.version, _NAME), "")]
    uses = len(event.usages)
    if event.action == "single_use":
        return [*row, (" used once", "dim")]
    if event.action == "not_first":
        first = event.usages[0]
        waits = f" waits for op {first}" if first != event.op_index else " waits"
        return [*row, (waits, "warn"), (f", {uses} uses", "dim")]
    if event.verified:
        return [*row, (" add up ", "good"), (f"{event.generators} of {uses}", "")]
    return [*row, (f" {uses} uses, {words.counted(event.generators, 'generator')}", "dim")]


def _rename(event: events.Rename) -> Row:
    return [(words.blob(event.old, None, _NAME), ""), (" → ", "dim"), (words.blob(event.new, None, 32), "strong")]


def _accumulate(event: events.Accumulate) -> Row:
    types = " ".join(op.type for op in event.ops)
    return [(f"╂ {types}", "accent"), (" → ", "dim"), (gradient_text(event.gradient, 40), "strong")]


def _finish(event: events.Finish) -> Row:
    return [(words.counted(event.gradient_ops, "gradient op"), "good")]


def _fail(event: events.Fail) -> Row:
    return [(f"✗ {words.shown(event.error.kind)}", "bad")]


_SHORT: dict[str, Callable[[Any], Row]] = {
    "play": _play,
    "seed": _seed,
    "enter": _enter,
    "skip": _skip,
    "make": _make,
    "check": _check,
    "local": _local,
    "dense": _dense,
    "half": _half,
    "merge": _merge,
    "pass_through": _pass_through,
    "frontier": _frontier,
    "map": _map,
    "verify": _verify,
    "rename": _rename,
    "accumulate": _accumulate,
    "finish": _finish,
    "fail": _fail,
}
