"""Analytic gradients against central differences.

The function is f = sum over the ys of y times its given gradient (ones where none is given), which is what the gradient
operators differentiate. It is computed in float64 wherever the kernels let it through, so that small steps are exact to
many digits; else in float32 with larger steps and the noise that they leave.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError
from gradviz.execute import backend as backends
from gradviz.execute.doubts import doubts_about
from gradviz.execute.going import Going, Stage
from gradviz.execute.missing import read_before_written
from gradviz.execute.plan import OpError
from gradviz.execute.program import Program, Runtime, step
from gradviz.execute.run import Plan
from gradviz.execute.scope import MISSING, Frame
from gradviz.ops.dtypes import float64_for_float32
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

SMALL = 64
"""Up to so many elements a blob is checked element by element unless asked otherwise."""
PROJECTIONS = 3
"""So many random directions are tried in larger ones; where one fails, the element is searched for by halves."""
FLOOR = 1e-3
"""Derivatives smaller than this count as this large in relative errors."""


@dataclass(frozen=True, slots=True)
class Precision:
    """How finely a function can be computed.

    Attributes:
        dtype: the floats that go through the net.
        step: the step of a central difference, relative to the size of the element where that is above 1.
        rtol: difference allowed relative to the larger of both derivatives.
        atol: difference allowed anyway.
        noise: relative error of one value of the function.
    """

    dtype: str
    step: float
    rtol: float
    atol: float
    noise: float


DOUBLE = Precision("float64", 1e-5, 1e-4, 1e-7, 1e-14)
SINGLE = Precision("float32", 1e-2, 5e-3, 5e-3, 3e-7)


@dataclass(frozen=True, slots=True)
class GradientRow:
    """One blob's gradient.

    Attributes:
        blob: the blob.
        version: its version that was moved: 0 for feeds and parameters.
        max_abs: largest absolute difference.
        max_rel: largest difference relative to the larger derivative, or to `FLOOR`.
        worst_index: the element where it is largest; None where only projections were compared.
        numeric: the derivative there by central difference.
        analytic: the derivative there as the gradient operators computed it.
        checked: how many derivatives were compared.
        method: `elements`, or `projections`.
        dtype: in which floats.
        reason: why it fails; empty where it agrees.
    """

    blob: str
    version: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    worst_index: tuple[int, ...] | None = None
    numeric: float | None = None
    analytic: float | None = None
    checked: int = 0
    method: str = "elements"
    dtype: str = "float64"
    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class GradientReport:
    """What a gradient check found.

    Attributes:
        rows: one for each blob.
        function: the value of f.
        notices: what a reader should know, one sentence each.
    """

    rows: list[GradientRow] = field(default_factory=list)
    function: float = 0.0
    notices: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there was something to check, and all of it agrees."""
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def first(self) -> GradientRow | None:
        """The first blob that fails."""
        return next((row for row in self.rows if not row.ok), None)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        rows = [asdict(row) | {"ok": row.ok} for row in self.rows]
        return {"ok": self.ok, "function": self.function, "rows": rows, "notices": self.notices}


def check_gradients(
    model: Any,
    feeds: Mapping[str, Any] | None = None,
    ys: Sequence[str] | Mapping[str, Any] | None = None,
    wrt: Sequence[str] | None = None,
    *,
    elements: bool | None = None,
    seed: int = 0,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    cancel: threading.Event | None = None,
) -> GradientReport:
    """Check the gradients of a net against central differences.

    Args:
        model: a Model, or a NetDef of ours or of another protobuf module.
        feeds: arrays by blob name.
        ys: what gradients are asked of, as for `trace`.
        wrt: the blobs whose gradients are checked: inputs, or blobs that the net makes. None: every float blob that the
            net reads from outside and that has a gradient.
        elements: True checks every element; False projects on random directions, whatever the size, and looks for an
            element only where that fails; None does the former with up to 64 elements and the latter beyond.
        seed: of random operators (each evaluation draws the same numbers) and directions.
        step: of the central difference; None chooses.
        rtol: difference allowed relative to the larger derivative; None chooses.
        atol: difference allowed anyway; None chooses.
        progress: called before each blob and at the end with the number done, the number in all, and the blob.
        cancel: ends the check before the next evaluation once it is set; the report has the blobs done by then.

    Raises:
        ExecutionError: the net cannot be run, or has no operators.
        GradientError: the gradients cannot be built.
    """
    plan = Plan(model, ys)
    if plan.trace is None:
        raise ExecutionError(
            plan.notices[0] if plan.notices else "the net brings gradients along: give the forward net"
        )
    function, notices = _function(plan, feeds or {}, seed)
    names = _default_wrt(plan, function) if wrt is None else list(wrt)
    chosen = {name: value for name, value in (("step", step), ("rtol", rtol), ("atol", atol)) if value is not None}
    function.cancel = cancel
    rows: list[GradientRow] = []
    try:
        for i, name in enumerate(names):
            if progress is not None:
                progress(i, len(names), name)
            rows.append(_check(function, name, elements, np.random.default_rng((seed, i)), chosen))
    except _CancelledError:
        notices = [*notices, f"cancelled after {len(rows)} of {len(names)} blobs"]
    if progress is not None:
        progress(len(rows), len(names), "")
    return GradientReport(rows, function.base, notices)


class _CancelledError(Exception):
    """The check was cancelled in the middle of a blob."""


def _function(plan: Plan, feeds: Mapping[str, Any], seed: int) -> tuple[_Function, list[str]]:
    """The function in float64; in float32 where an operator refuses that."""
    with np.errstate(all="ignore"):
        try:
            function = _Function(plan, feeds, seed, DOUBLE)
        except OpError as error:
            function = _Function(plan, feeds, seed, SINGLE)
            return function, [f"computed in float32, with its noise: in float64 {error}"]
    if not function.runtime.narrowed:
        return function, []
    types = ", ".join(sorted(function.runtime.narrowed))
    function.precision = Precision("float64", SINGLE.step, SINGLE.rtol, SINGLE.atol, SINGLE.noise)
    return function, [f"computed in float64 but for {types}, which computes in float32 and leaves its noise"]


def _default_wrt(plan: Plan, function: _Function) -> list[str]:
    return [
        name
        for name, value in function.start.items()
        if name in plan.input_to_grad and getattr(value, "dtype", np.dtype(bool)).kind == "f"
    ]


class _Function:
    """f, evaluated any number of times from the same start, and its analytic gradients.

    Attributes:
        plan: net and gradient operators.
        precision: how finely f comes out.
        runtime: of the evaluation that computed the gradients.
        start: what is there before the first operator.
        base: the value of f there.
        cancel: ends the next evaluation before it begins, once it is set.
    """

    cancel: threading.Event | None = None

    def __init__(self, plan: Plan, feeds: Mapping[str, Any], seed: int, precision: Precision) -> None:
        assert plan.trace is not None
        self.plan = plan
        self.precision = precision
        self.seed = seed
        self.ys = plan.trace.ys
        self.frontier = plan.trace.state_at(-1).gradient_frontier
        self.lasting = read_before_written(plan.ops[: plan.forward])
        self.program = plan.program()
        self.start = self._prepare(feeds)
        self.runtime, whole = self._run(self.program, {}, {})
        self.after = dict(whole.values())
        last = max((self._writes(y)[-1] + 1 for y in self.ys if self._writes(y)), default=0)
        self.forward = Program(self.program.ops[:last])
        frame = self._run(self.forward, {}, {})[1]
        self.weights = {y: self._weight(frame.get(y), g) for y, g in self.ys.items() if frame.get(y) is not MISSING}
        self.base = self.value()

    def _prepare(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        stage = Stage(backends.get(), self.program, self.plan.ops)
        stage.runtime.restart(self.seed, None)
        with np.errstate(all="ignore"):
            Going(self.plan, stage, "last").prepare(feeds)
        wide = np.dtype(self.precision.dtype)
        return {
            name: value.astype(wide) if getattr(value, "dtype", None) == np.float32 else value
            for name, value in stage.frame.values()
        }

    def _run(
        self, program: Program, moved: Mapping[str, Any], pinned: Mapping[int, tuple[str, Any]]
    ) -> tuple[Runtime, Frame]:
        """Run from the start, with some blobs moved there, or set to a value after the operator that writes them."""
        runtime = Runtime.on(backends.get(), self.seed, widen=self.precision.dtype == "float64")
        frame = Frame()
        frame.fill({**self.start, **moved}.items())
        with np.errstate(all="ignore"), float64_for_float32():
            for index, link in enumerate(program.link(frame, runtime)):
                step(index, link, runtime)
                if index in pinned:
                    name, value = pinned[index]
                    frame.reach(name).value = value
        return runtime, frame

    def _weight(self, y: Any, given: Any) -> Any:
        if given is None:
            return np.ones(y.shape)
        try:
            if isinstance(given, GradientSlice):
                return dense(self.start[given.indices], self.start[given.values], y.shape)
            return np.asarray(self.start.get(given, self.after.get(given)), np.float64).reshape(y.shape)
        except (LookupError, TypeError, ValueError) as error:
            raise ExecutionError(
                f"the given gradient {given} does not fit a value of shape {y.shape}: {error}"
            ) from error

    def _writes(self, blob: str) -> list[int]:
        """The forward operators that write a blob, once for each write."""
        ops = self.plan.ops[: self.plan.forward]
        return [index for index, op in enumerate(ops) for name in op.outputs if name == blob]

    def version(self, blob: str) -> int:
        """The version, counted as in a Workspace, whose gradient the gradient operators left behind."""
        writes = len(self._writes(blob))
        found = self.frontier.get(blob)
        if found is None:
            return 0 if blob in self.start else writes
        # The walk counts from 0 where a blob is written first, too.
        return found if blob in self.lasting or not writes else found + 1

    def at(self, blob: str) -> Any:
        """The value of that version; None where there is none."""
        version = self.version(blob)
        if version == 0:
            return self.start.get(blob)
        writes = self._writes(blob)
        if len(writes) < version:
            return None
        found = self._run(Program(self.program.ops[: writes[version - 1] + 1]), {}, {})[1].get(blob)
        return None if found is MISSING else found

    def value(
        self, moved: Mapping[str, Any] | None = None, pinned: Mapping[int, tuple[str, Any]] | None = None
    ) -> float:
        """The value of f, with some blobs moved."""
        if self.cancel is not None and self.cancel.is_set():
            raise _CancelledError
        frame = self._run(self.forward, moved or {}, pinned or {})[1]
        total = 0.0
        for y, weight in self.weights.items():
            total += float((np.asarray(frame.get(y), np.float64) * weight).sum())
        return total

    def moved(self, blob: str, value: Any) -> float:
        """The value of f with `blob` at `value` in that version."""
        version = self.version(blob)
        if version == 0:
            return self.value({blob: value})
        return self.value(pinned={self._writes(blob)[version - 1]: (blob, value)})

    def analytic(self, blob: str, shape: tuple[int, ...]) -> Any:
        """The gradient of a blob as the gradient operators computed it, dense; None where none was built."""
        name = self.plan.input_to_grad.get(blob)
        if name is None:
            return None
        if isinstance(name, GradientSlice):
            return dense(self.after[name.indices], self.after[name.values], shape)
        found = self.after.get(name, MISSING)
        return None if found is MISSING else np.asarray(found, np.float64)


def dense(indices: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """The dense array of a slice: its rows added up where their indices say."""
    whole = np.zeros(shape, np.float64)
    flat = np.asarray(indices).reshape(-1)
    np.add.at(whole, flat, np.asarray(values, np.float64).reshape((flat.size, *shape[1:])))
    return whole


@dataclass(slots=True)
class _Derivative:
    """One derivative both ways, along one direction."""

    index: tuple[int, ...] | None
    numeric: float
    analytic: float
    slopes: tuple[float, float]
    allowed: float

    @property
    def gap(self) -> float:
        gap = abs(self.numeric - self.analytic)
        return gap if np.isfinite(gap) else np.inf

    @property
    def relative(self) -> float:
        """Relative difference; below the floor a difference is noise, however large beside next to nothing."""
        return self.gap / max(abs(self.numeric), abs(self.analytic), FLOOR)

    @property
    def excess(self) -> float:
        return self.gap - self.allowed


def _check(
    function: _Function, blob: str, elements: bool | None, random: np.random.Generator, chosen: Mapping[str, float]
) -> GradientRow:
    x: Any = function.at(blob)
    refused = _why_not(function, blob, x)
    if refused:
        return GradientRow(blob, reason=refused)
    precision = function.precision
    if chosen:
        precision = Precision(**{**asdict(precision), **chosen})
    gradient = function.analytic(blob, x.shape)
    if gradient.shape != x.shape:
        return GradientRow(blob, reason=f"the gradient has shape {list(gradient.shape)}, the blob {list(x.shape)}")
    every = elements or (elements is None and x.size <= SMALL)
    measure = partial(_derivative, function, blob, x, gradient, precision)
    found = [measure(*unit) for unit in _units(x)] if every else _project(measure, x, random)
    method = "elements" if every else "projections"
    return _row(function, blob, function.version(blob), found, method, precision)


def _why_not(function: _Function, blob: str, x: Any) -> str:
    if x is None:
        return f"the net has no blob {blob}"
    if getattr(x, "dtype", np.dtype(object)).kind != "f":
        kind = getattr(x, "dtype", type(x).__name__)
        return f"not differentiable: {blob} is {kind}, and a small step means nothing to it"
    if function.analytic(blob, x.shape) is None:
        doubts = doubts_about(function.plan, blob)
        return "no gradient of it was built" + (f": {doubts[0]}" if doubts else "")
    return ""


def _units(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    for i in range(x.size):
        index = _index(x, i)
        unit = np.zeros(x.shape)
        unit[index] = 1.0
        yield index, unit


def _index(x: Any, flat: int) -> tuple[int, ...]:
    return tuple(int(each) for each in np.unravel_index(flat, x.shape)) if x.ndim else ()


def _project(measure: Callable[..., _Derivative], x: Any, random: np.random.Generator) -> list[_Derivative]:
    """Derivatives along random directions, and where one fails that of an element which is to blame."""
    found: list[_Derivative] = []
    for _ in range(PROJECTIONS):
        direction = random.choice([-1.0, 1.0], x.shape) / np.sqrt(max(x.size, 1))
        found.append(measure(None, direction))
        if found[-1].excess > 0:
            return [*found, _to_blame(measure, x, direction)]
    return found


def _to_blame(measure: Callable[..., _Derivative], x: Any, direction: Any) -> _Derivative:
    """Halve a direction that fails, always going on with the half that differs more, down to one element."""
    low, high = 0, x.size
    while high - low > 1:
        middle = (low + high) // 2
        halves = [measure(None, _part(direction, *span)) for span in ((low, middle), (middle, high))]
        low, high = (low, middle) if halves[0].gap >= halves[1].gap else (middle, high)
    index = _index(x, low)
    unit = np.zeros(x.shape)
    unit[index] = 1.0
    return measure(index, unit)


def _part(direction: Any, low: int, high: int) -> Any:
    part = np.zeros(direction.size)
    part[low:high] = direction.reshape(-1)[low:high]
    return part.reshape(direction.shape)


def _derivative(
    function: _Function,
    blob: str,
    x: Any,
    gradient: Any,
    precision: Precision,
    index: tuple[int, ...] | None,
    direction: Any,
) -> _Derivative:
    size = abs(float(x[index])) if index is not None else float(np.sqrt(np.square(x, dtype=np.float64).mean()))
    h = precision.step * max(1.0, size if np.isfinite(size) else 1.0)
    numeric, slopes, scale = _central(function, blob, x, direction, h)
    analytic = float((gradient * direction).sum())
    allowed = precision.atol + precision.rtol * max(abs(numeric), abs(analytic)) + precision.noise * scale / h
    if index is None:  # the terms of a projection may cancel, their errors do not
        allowed += precision.rtol * float(np.sqrt(np.square(gradient * direction).sum()))
    if precision.noise > DOUBLE.noise:
        finer, _, _ = _central(function, blob, x, direction, h / 5)
        allowed += 2 * abs(numeric - finer)
    return _Derivative(index, numeric, analytic, slopes, allowed)


def _central(
    function: _Function, blob: str, x: Any, direction: Any, h: float
) -> tuple[float, tuple[float, float], float]:
    """Central difference, the slopes to the left and to the right, and the size of f."""
    up, down = (x + sign * h * direction for sign in (1, -1))
    high, low = (function.moved(blob, each.astype(x.dtype)) for each in (up, down))
    middle = function.base
    return (high - low) / (2 * h), ((middle - low) / h, (high - middle) / h), max(abs(high), abs(low))


def _row(
    function: _Function, blob: str, version: int, found: list[_Derivative], method: str, precision: Precision
) -> GradientRow:
    if not found:
        return GradientRow(blob, version, method=method, dtype=precision.dtype)
    worst = max(found, key=lambda each: (each.excess, each.gap))
    failed = [each for each in found if each.excess > 0 or not np.isfinite(each.gap)]
    located = [each for each in failed if each.index is not None] or failed
    shown = max(located, key=lambda each: each.gap) if located else worst
    return GradientRow(
        blob,
        version,
        max(each.gap for each in found),
        max(each.relative for each in found),
        shown.index,
        shown.numeric,
        shown.analytic,
        len(found),
        method,
        precision.dtype,
        _reason(function, blob, failed, shown, precision) if failed else "",
    )


def _reason(function: _Function, blob: str, failed: list[_Derivative], shown: _Derivative, precision: Precision) -> str:
    where = "along a random direction" if shown.index is None else f"at [{', '.join(map(str, shown.index))}]"
    text = f"{where} the derivative is {shown.numeric:.6g}, the gradient says {shown.analytic:.6g}"
    if all(_is_kink(each, precision) for each in failed):
        left, right = shown.slopes
        return f"{text}; a kink (of a ReLU, a maximum, an absolute value): slope {left:.6g} below, {right:.6g} above"
    doubts = doubts_about(function.plan, blob)
    if doubts:
        return f"{text}; {'; '.join(doubts)}"
    if precision.noise > DOUBLE.noise and shown.relative < 10 * precision.rtol:
        return f"{text}; perhaps only the noise of float32"
    return text


def _is_kink(each: _Derivative, precision: Precision) -> bool:
    """Whether the slopes differ by much more than a smooth function's would, with the gradient between them."""
    left, right = each.slopes
    apart = abs(left - right)
    scale = max(abs(left), abs(right))
    between = min(left, right) - each.allowed <= each.analytic <= max(left, right) + each.allowed
    return bool(np.isfinite(apart) and apart > max(100 * precision.step, 10 * precision.rtol) * scale and between)
