"""Operators that run nets inside nets: If, While and Do, and the scopes that Do keeps for its gradient.

Their kernels stand here and not beside the rules: they need the executor's names, which `ops/` does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.execute.plan import DONE
from gradviz.execute.scope import MISSING, Frame, Slot
from gradviz.ops.registry import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradviz.execute.program import ScopedContext
    from gradviz.execute.scope import AnySlot
    from gradviz.ops.registry import Kernel
    from gradviz.proto import NetDef


def nested(type: str) -> Callable[[Kernel], Kernel]:
    """Register a kernel that works on names: its inputs may be missing, and it writes its outputs itself."""

    def register(function: Kernel) -> Kernel:
        function.nested = True  # type: ignore[attr-defined]
        return kernel(type)(function)

    return register


def _is_true(condition: Any, ctx: ScopedContext) -> bool:
    if condition is MISSING:
        raise ctx.fail("its condition was never written")
    if getattr(condition, "dtype", None) != np.bool_ or condition.size != 1:
        raise ctx.fail("its condition must be a bool tensor of exactly one element")
    return bool(condition.reshape(()))


@nested("If")
def run_if(xp: Any, condition: Any, *others: Any, then_net: NetDef, else_net: NetDef | None = None, ctx: Any) -> Any:
    """Run one of two nets on the names around; without `else_net` a false condition leaves all as it is."""
    branch = then_net if _is_true(condition, ctx) else else_net
    if branch is not None:
        ctx.run_in(branch, ctx.frame)
    return DONE


@nested("While")
def run_while(xp: Any, condition: Any, *others: Any, loop_net: NetDef, cond_net: NetDef | None = None, ctx: Any) -> Any:
    """Run `loop_net` on the names around as long as the condition holds; `cond_net` computes it before each round."""
    frame = ctx.frame
    slot = frame.reach(ctx.op.input[0])
    while True:
        if cond_net is not None:
            ctx.run_in(cond_net, frame)
        if not _is_true(slot.value, ctx):
            return DONE
        ctx.run_in(loop_net, frame)


@nested("ONNXWhile")
def run_onnx_while(
    xp: Any,
    trip_count: Any,
    condition: Any,
    *carried: Any,
    body: NetDef,
    has_trip_count: int = 0,
    has_cond: int = 0,
    ctx: Any,
) -> Any:
    """ONNX's Loop: the body gets the round's number, the condition and the values carried over, and makes the next.

    The body's external inputs and outputs say under which names, in that order; its outputs begin with the condition.
    """
    names, made = body.external_input[: len(carried) + 2], body.external_output[: len(carried) + 1]
    if len(names) < len(carried) + 2 or len(made) < len(carried) + 1:
        raise ctx.fail(f"the body must name {len(carried) + 2} inputs and {len(carried) + 1} outputs")
    rounds, limit = 0, int(trip_count.reshape(())) if has_trip_count else None
    while (limit is None or rounds < limit) and (not has_cond or _is_true(condition, ctx)):
        frame = Frame(ctx.frame)
        frame.fill(zip(names, [xp.asarray([rounds], dtype="int64"), condition, *carried], strict=True))
        ctx.run_in(body, frame)
        condition, *carried = [frame.get(name) for name in made]  # type: ignore[assignment]
        rounds += 1
    for name, value in zip(ctx.op.output, carried, strict=False):
        ctx.frame.reach(name).value = value
    return DONE


@dataclass(slots=True)
class Scopes:
    """What the scope blob of a Do holds: the frames of its forward runs, newest last, until gradients use them up."""

    frames: list[DoFrame] = field(default_factory=list)


class DoFrame(Frame):
    """A frame of one run of a Do.

    Attributes:
        bound: its names that stand for blobs outside, and are no copies of them.
    """

    __slots__ = ("bound",)

    def __init__(self) -> None:
        super().__init__()
        self.bound: set[str] = set()

    def bind(self, names: dict[str, AnySlot]) -> None:
        """Let names stand for slots outside; a name of the frame's own goes before."""
        for name, slot in names.items():
            if name in self.bound or name not in self.slots:
                self.slots[name] = slot
                self.bound.add(name)

    def copy_bound(self) -> str | None:
        """Turn every bound name into one of the frame's own, with the value of now; names one without a value."""
        for name in sorted(self.bound):
            value = self.slots[name].value
            if value is MISSING:
                return name
            self.slots[name] = Slot(value)
        self.bound.clear()
        return None


@kernel("CreateScope")
def create_scope(xp: Any) -> Scopes:
    """A scope without any frame."""
    return Scopes()


@kernel("HasScope")
def has_scope(xp: Any, scope: Scopes) -> Any:
    """Whether a frame is left, of shape (1,)."""
    return xp.asarray([bool(scope.frames)])


@nested("Do")
def run_do(
    xp: Any,
    *blobs: Any,
    net: NetDef,
    inner_blobs: Sequence[str] = (),
    outer_blobs_idx: Sequence[int] = (),
    reuse_workspace: int = 0,
    copy_external_blobs: int = 0,
    ctx: Any,
) -> Any:
    """Run a net on names of its own, some of which stand for blobs outside; its gradient finds the frame again."""
    scope = blobs[-1] if blobs else MISSING
    if not isinstance(scope, Scopes):
        raise ctx.fail(f"its last input {ctx.op.input[-1]} must be a scope, made by CreateScope")
    frame = _frame_of(scope, reuse_workspace, ctx)
    frame.bind(_bindings(inner_blobs, outer_blobs_idx, ctx))
    ctx.run_in(net, frame)
    if copy_external_blobs:
        empty = frame.copy_bound()
        if empty is not None:
            raise ctx.fail(f"{empty} stands for a blob outside that holds nothing after the run, and must be kept")
    ctx.frame.reach(ctx.op.output[-1]).value = scope
    return DONE


def _frame_of(scope: Scopes, reuse: int, ctx: ScopedContext) -> DoFrame:
    if ctx.op.is_gradient_op:
        if reuse:
            raise ctx.fail("reuse_workspace is not allowed on the gradient of a Do")
        if not scope.frames:
            raise ctx.fail("no forward run is left that this could be the gradient of")
        return scope.frames.pop()
    if not (reuse and scope.frames):
        scope.frames.append(DoFrame())
    return scope.frames[-1]


def _bindings(inner: Sequence[str], indices: Sequence[int], ctx: ScopedContext) -> dict[str, AnySlot]:
    outer = [*ctx.op.input[:-1], *ctx.op.output[:-1]]
    if len(inner) != len(indices) or not all(0 <= i < len(outer) for i in indices):
        raise ctx.fail("inner_blobs and outer_blobs_idx do not fit each other or the operator's blobs")
    return {name: ctx.frame.reach(outer[i]) for name, i in zip(inner, indices, strict=True)}
