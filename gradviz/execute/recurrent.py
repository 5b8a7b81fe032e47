"""RecurrentNetwork and its gradient: one step net run over the time axis, and its gradient net backwards.

Every recurrent state is one array over all steps, longer than the sequence by the initial state. Links make slices of
such arrays, and of the input sequence, visible to a step under names of its own; aliases make parts of the states the
operator's outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.execute.control import nested
from gradviz.execute.plan import DONE
from gradviz.execute.scope import MISSING, AnySlot, Frame, SliceSlot, Slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradviz.execute.program import ScopedContext
    from gradviz.proto import NetDef


class Linked(NamedTuple):
    """One link: in step t the name `internal` is `window` rows of the array, from row t + `offset`."""

    internal: str
    external: str
    offset: int
    window: int


@dataclass(slots=True)
class Steps:
    """What the operator's last output holds: the frames of all steps, for the gradient."""

    frames: list[Frame] = field(default_factory=list)
    states: dict[str, AnySlot] = field(default_factory=dict)


def _links(args: Mapping[str, Any], prefix: str, ctx: ScopedContext) -> list[Linked]:
    internal, external, offset = (args.get(f"{prefix}link_{part}", []) for part in ("internal", "external", "offset"))
    window = args.get(f"{prefix}link_window") or [1] * len(internal)
    if not len(internal) == len(external) == len(offset) == len(window):
        raise ctx.fail(f"the lists {prefix}link_internal, _external, _offset and _window differ in length")
    return [Linked(*each) for each in zip(internal, external, offset, window, strict=True)]


def _attach(frame: Frame, links: Iterable[Linked], arrays: Mapping[str, AnySlot], own: set[str], t: int) -> None:
    for link in links:
        rows = slice(t + link.offset, t + link.offset + link.window)
        of = arrays.get(link.external) or frame.reach(link.external)
        frame.slots[link.internal] = SliceSlot().attach(of, rows, own=link.external in own)


def _release(frames: Iterable[Frame]) -> None:
    """From now on others hold the arrays too, so that a write must leave them as they are."""
    for frame in frames:
        for slot in frame.slots.values():
            if isinstance(slot, SliceSlot):
                slot.own = False


@nested("RecurrentNetwork")
def recurrent_network(xp: Any, *inputs: Any, step_net: NetDef, ctx: Any, **args: Any) -> Any:
    """Run `step_net` once for each step of the first input, of shape (T, N, ...)."""
    sequence = inputs[0]
    if sequence is MISSING or sequence.ndim < 2:
        raise ctx.fail(f"its first input {ctx.op.input[0]} must have the shape (steps, batch, ...)")
    steps = Steps(states=_initial_states(xp, inputs, args, ctx))
    links = _links(args, "", ctx)
    own = set(steps.states)
    frame = Frame(ctx.frame)
    for t in range(sequence.shape[0]):
        if t == 0 or "backward_step_net" in args:
            frame = Frame(ctx.frame)
            steps.frames.append(frame)
        frame.slots[args.get("timestep", "timestep")] = Slot(xp.asarray([t], np.int32))
        _attach(frame, links, steps.states, own, t)
        ctx.run_in(step_net, frame)
    _release(steps.frames)
    _publish(steps, args, ctx)
    return DONE


def _initial_states(xp: Any, inputs: Sequence[Any], args: Mapping[str, Any], ctx: ScopedContext) -> dict[str, AnySlot]:
    """Arrays of shape (T + L, N, D) whose first L rows are the initial state, of shape (D,), (N, D) or (L, N, D)."""
    length, batch = inputs[0].shape[:2]
    states: dict[str, AnySlot] = {}
    for name, i in zip(args.get("recurrent_states", []), args.get("initial_recurrent_state_ids", []), strict=True):
        initial = inputs[i]
        if initial is MISSING or not 1 <= initial.ndim <= 3:
            raise ctx.fail(f"the initial state {ctx.op.input[i]} must have 1 to 3 dimensions")
        if initial.ndim > 1 and initial.shape[-2] != batch:
            raise ctx.fail(f"the initial state {ctx.op.input[i]} is for a batch of {initial.shape[-2]}, not of {batch}")
        first = initial.shape[0] if initial.ndim == 3 else 1
        whole = xp.zeros((length + first, batch, initial.shape[-1]), initial.dtype)
        whole[:first] = initial
        states[name] = ctx.frame.reach(name)
        states[name].value = whole
    return states


def _rows_of(offset: int, length: int) -> slice:
    return slice(offset if offset >= 0 else length + offset, None)


def _publish(steps: Steps, args: Mapping[str, Any], ctx: ScopedContext) -> None:
    for source, target, offset in _aliases(args):
        of = steps.states.get(source) or ctx.frame.reach(source)
        rows = _rows_of(offset, len(of.value))
        slot = ctx.frame.reach(target)
        if isinstance(slot, SliceSlot):
            slot.attach(of, rows)
        else:
            slot.value = of.value[rows]
    last = ctx.op.output[-1] if ctx.op.output else ""
    if last not in args.get("alias_dst", []):
        ctx.frame.reach(last).value = steps


def _aliases(args: Mapping[str, Any]) -> Iterable[tuple[str, str, int]]:
    return zip(args.get("alias_src", []), args.get("alias_dst", []), args.get("alias_offset", []), strict=True)


@nested("RecurrentNetworkGradient")
def recurrent_network_gradient(xp: Any, *inputs: Any, backward_step_net: NetDef, ctx: Any, **args: Any) -> Any:
    """Run `backward_step_net` once for each step, last first, in the frames of the forward run.

    Its inputs are the gradients of some outputs, then all inputs and outputs of the forward operator; its outputs the
    gradients of the sequence, of the parameters (summed over the steps) and of the initial states.
    """
    steps = inputs[-1]
    if not isinstance(steps, Steps):
        raise ctx.fail(f"its last input {ctx.op.input[-1]} must be what the forward operator left for it")
    given = len(args.get("outputs_with_grads", []))
    gradients = _state_gradients(xp, steps, ctx)
    outer = _outer_gradients(gradients, args, inputs, ctx)
    arrays: dict[str, AnySlot] = {name + "_grad": slot for name, slot in gradients.items()}
    arrays[ctx.op.output[0]] = Slot(xp.zeros_like(inputs[given]))
    params = [xp.zeros_like(inputs[given + i]) for i in args.get("param", [])]
    _run_backwards(steps, backward_step_net, arrays, outer, params, args, ctx)
    _write_gradients(arrays, gradients, params, inputs[given:], args, ctx)
    return DONE


def _state_gradients(xp: Any, steps: Steps, ctx: ScopedContext) -> dict[str, AnySlot]:
    found = {}
    for name, states in steps.states.items():
        found[name] = ctx.frame.reach(name + "_grad")
        found[name].value = xp.zeros_like(states.value)
    return found


class OuterGradient(NamedTuple):
    """A gradient that comes in from outside for rows of a state's gradient, from row `first` on."""

    whole: Any
    first: int
    value: Any

    def add(self, row: int) -> None:
        """Add what is there for `row`, if anything is."""
        i = row - self.first
        if 0 <= i < len(self.value):
            self.whole[row] += self.value[i].reshape(self.whole[row].shape)


def _outer_gradients(
    gradients: Mapping[str, AnySlot], args: Mapping[str, Any], inputs: Sequence[Any], ctx: ScopedContext
) -> list[OuterGradient]:
    with_gradient = args.get("outputs_with_grads", [])
    names = list(ctx.op.input)
    aliased = {target: (source, offset) for source, target, offset in _aliases(args)}
    first_output = next((i for i in range(len(with_gradient), len(names)) if names[i] in aliased), len(names))
    found = []
    for position, output in enumerate(with_gradient):
        at = first_output + output
        if at >= len(names) or names[at] not in aliased:
            raise ctx.fail(f"outputs_with_grads names output {output}, which is no part of a recurrent state")
        if inputs[position] is MISSING:
            raise ctx.fail(f"its input {names[position]} was never written")
        source, offset = aliased[names[at]]
        whole = gradients[source].value
        found.append(OuterGradient(whole, _rows_of(offset, len(whole)).start, inputs[position]))
    return found


def _run_backwards(
    steps: Steps,
    net: NetDef,
    arrays: Mapping[str, AnySlot],
    outer: Sequence[OuterGradient],
    params: list[Any],
    args: Mapping[str, Any],
    ctx: ScopedContext,
) -> None:
    links = _links(args, "backward_", ctx)
    length = len(steps.frames)
    for t in reversed(range(length)):
        # A step overwrites row t; so what comes from outside is added once that is done, before the row is read.
        for gradient in outer:
            gradient.add(t + len(gradient.whole) - length)
        frame = steps.frames[t]
        _attach(frame, links, arrays, set(arrays), t)
        ctx.run_in(net, frame)
        for i, name in enumerate(args.get("param_grads", [])):
            made = frame.get(name)
            if made is not MISSING:
                params[i] += made.reshape(params[i].shape)
    for gradient in outer:
        for row in range(len(gradient.whole) - length):
            gradient.add(row)
    _release(steps.frames)


def _write_gradients(
    arrays: Mapping[str, AnySlot],
    gradients: Mapping[str, AnySlot],
    params: Sequence[Any],
    forward_inputs: Sequence[Any],
    args: Mapping[str, Any],
    ctx: ScopedContext,
) -> None:
    outputs = list(ctx.op.output)
    made = [arrays[outputs[0]].value, *params]
    for name, i in zip(gradients, args.get("initial_recurrent_state_ids", []), strict=True):
        initial = forward_inputs[i]
        first = initial.shape[0] if initial.ndim == 3 else 1
        rows = gradients[name].value[:first]
        made.append(rows.sum(axis=(0, 1)) if initial.ndim == 1 else rows.reshape(initial.shape))
    for name, value in zip(outputs, made, strict=False):
        ctx.frame.reach(name).value = value
