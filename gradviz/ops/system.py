"""Counters, flags, statistics, timers, printing and failing on purpose."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.schema import MANY, one_ahead, same

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator("AtomicAppend", inputs=(3, MANY), outputs=(1, MANY), inplace=one_ahead, gradient=SHOULD_NOT)
operator("AtomicFetchAdd", inputs=3, outputs=2, inplace=[(1, 0)], gradient=SHOULD_NOT)
operator("AtomicFetchAdd64", inputs=3, outputs=2, inplace=[(1, 0)])
operator("AveragePut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("CheckAtomicBool", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CheckCounterDone", inputs=1, outputs=1)
operator("ConditionalSetAtomicBool", inputs=2, outputs=0, gradient=SHOULD_NOT)
operator("CountDown", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CountUp", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Crash", inputs=0, outputs=0)
operator("CreateAtomicBool", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("CreateCounter", inputs=0, outputs=1, args="init_count", gradient=SHOULD_NOT)
operator("CreateMutex", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("Fail", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("FeedBlob", inputs=0, outputs=1, args="value", gradient=SHOULD_NOT)
operator("Free", inputs=(1, MANY), outputs=(1, MANY), arities=same, enforced=same, gradient=SHOULD_NOT)
operator("GetAllBlobNames", inputs=0, outputs=1, args="include_shared")
operator("GetAllBlobNamesOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("GetGPUMemoryUsage", inputs=0, outputs=1)
operator("IncrementPut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("LogFatal", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("Onnxifi", args="onnx_model initializers output_resize_hints")
operator("Print", inputs=1, outputs=0, args="to_file limit every_n", gradient=SHOULD_NOT)
operator("ResetCounter", inputs=1, outputs=(0, 1), args="init_count", gradient=SHOULD_NOT)
operator("RetrieveCount", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("StatRegistryCreate", inputs=0, outputs=1)
operator("StatRegistryExport", inputs=(0, 1), outputs=3, args="reset")
operator("StatRegistryUpdate", inputs=(2, 3), outputs=0)
operator("StdDevPut", inputs=1, outputs=0, args="name magnitude_expand bound default_value")
operator("Summarize", inputs=1, outputs=(0, 1), args="to_file", gradient=SHOULD_NOT)
operator("ThrowChildThreadException", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("ThrowException", inputs=0, outputs=0, gradient=SHOULD_NOT)
operator("TimerBegin", inputs=0, outputs=1, args="counter_name")
operator("TimerEnd", inputs=1, outputs=0)
operator("TimerGet", inputs=1, outputs=1)
operator("TimerGetAndEnd", inputs=1, outputs=1)
operator("WallClockTime", inputs=0, outputs=1, gradient=SHOULD_NOT)


@dataclass(slots=True)
class Counter:
    """A number that operators share."""

    count: int


@dataclass(slots=True)
class Flag:
    """A truth value that operators share."""

    raised: bool = False


class Mutex:
    """A lock; nothing waits for it where a net runs in one thread."""


@kernel("CreateCounter")
def create_counter(xp: Any, *, init_count: int = 0) -> Counter:
    require(init_count >= 0, "the argument init_count must not be negative")
    return Counter(init_count)


@kernel("CountUp")
def count_up(xp: Any, counter: Counter) -> Any:
    """Counts up by one; gives the count before, as int64 of rank 0."""
    counter.count += 1
    return xp.asarray(counter.count - 1, dtype="int64")


@kernel("CountDown")
def count_down(xp: Any, counter: Counter) -> Any:
    """Counts down by one; says whether there was nothing left to count."""
    counter.count -= 1
    return xp.asarray(counter.count < 0)


@kernel("CheckCounterDone")
def check_counter_done(xp: Any, counter: Counter) -> Any:
    return xp.asarray(counter.count <= 0)


@kernel("ResetCounter")
def reset_counter(xp: Any, counter: Counter, *, init_count: int = 0) -> Any:
    """Sets the count; gives the one before, as int64 of rank 0."""
    require(init_count >= 0, "the argument init_count must not be negative")
    before, counter.count = counter.count, init_count
    return xp.asarray(before, dtype="int64")


@kernel("RetrieveCount")
def retrieve_count(xp: Any, counter: Counter) -> Any:
    return xp.asarray(counter.count, dtype="int64")


@kernel("CreateAtomicBool")
def create_atomic_bool(xp: Any) -> Flag:
    return Flag()


@kernel("ConditionalSetAtomicBool")
def conditional_set_atomic_bool(xp: Any, flag: Flag, condition: Any) -> tuple[()]:
    """Raises the flag where the condition holds."""
    expect("bool", condition)
    require(condition.size == 1, "the condition must have one element")
    flag.raised = flag.raised or bool(condition)
    return ()


@kernel("CheckAtomicBool")
def check_atomic_bool(xp: Any, flag: Flag) -> Any:
    return xp.asarray(flag.raised)


@kernel("CreateMutex")
def create_mutex(xp: Any) -> Mutex:
    return Mutex()


def _fetch_add(type: str, dtype: str) -> None:
    def fetch_add(xp: Any, mutex: Mutex, number: Any, summand: Any) -> tuple[Any, Any]:
        """The sum, and the number before; both of rank 0."""
        expect(dtype, number, summand)
        before = number.reshape(-1)[0]
        return (before + summand.reshape(-1)[0]).reshape(()), before.reshape(())

    kernel(type)(fetch_add)


_fetch_add("AtomicFetchAdd", "int32")
_fetch_add("AtomicFetchAdd64", "int64")


@kernel("AtomicAppend")
def atomic_append(xp: Any, mutex: Mutex, *lists_and_rows: Any) -> tuple[Any, ...]:
    """Lists with rows appended; first all lists are given, then the rows for each."""
    half = len(lists_and_rows) // 2
    require(len(lists_and_rows) == 2 * half, "as many lists as appendices are wanted")
    pairs = zip(lists_and_rows[:half], lists_and_rows[half:], strict=True)
    return tuple(xp.concatenate([each, rows]) if each.size else rows for each, rows in pairs)


@kernel("Summarize")
def summarize(xp: Any, x: Any, *, to_file: int = 0) -> Any:
    """Least, largest, mean, and deviation (of a sample) of the elements, as float32 of shape (4,)."""
    expect("float32", x)
    require(not to_file, "it would write a file; set to_file to 0")
    require(x.size > 0, "there is nothing to summarise")
    return xp.stack([x.min(), x.max(), x.mean(), x.std(ddof=1)]).astype("float32")


@kernel("Print")
def print_(xp: Any, x: Any) -> tuple[()]:
    """Nothing: values can be looked at wherever a net is run."""
    return ()


@kernel("AveragePut", "IncrementPut", "StdDevPut")
def put(
    xp: Any,
    value: Any,
    *,
    magnitude_expand: int = 1,
    bound: int = 0,
    default_value: float | None = None,
) -> tuple[()]:
    """Checks a value as upstream's statistics do, which nothing reads here."""
    if value.size:
        default_value = float(value.reshape(-1)[0])
    require(default_value is not None, "an empty value needs the argument default_value")
    # A comparison with NaN is false, so NaN is refused too.
    fits = abs(default_value or 0.0) < (2**63 - 1) // magnitude_expand
    require(bool(bound) or fits, f"{default_value} overflows when it is expanded")
    return ()


@kernel("Fail", "ThrowException", "ThrowChildThreadException", "Crash", "LogFatal")
def fail(xp: Any, *, ctx: Context) -> Any:
    raise ctx.fail("it fails on purpose")


@kernel("TimerBegin")
def timer_begin(xp: Any) -> int:
    return time.monotonic_ns()


@kernel("TimerGet", "TimerGetAndEnd")
def timer_get(xp: Any, began: int) -> Any:
    """Nanoseconds since the timer began, as int64 of rank 0."""
    return xp.asarray(time.monotonic_ns() - began, dtype="int64")


@kernel("TimerEnd")
def timer_end(xp: Any, began: int) -> tuple[()]:
    return ()


@kernel("WallClockTime")
def wall_clock_time(xp: Any) -> Any:
    """Nanoseconds since the epoch, as int64 of rank 0."""
    return xp.asarray(time.time_ns(), dtype="int64")


no_kernel(
    "statistics are upstream's own book-keeping", "StatRegistryCreate", "StatRegistryExport", "StatRegistryUpdate"
)
no_kernel(
    "it is about upstream's own workspace and devices", "Free", "GetAllBlobNames", "GetGPUMemoryUsage", "FeedBlob"
)
no_kernel("it runs a compiled model of another format", "Onnxifi")
