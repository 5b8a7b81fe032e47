"""The walk: time per operator, memory, jumps and steps back, for nets of several shapes and sizes.

The unit of time is a *yardstick*: reading type, inputs and outputs of one OperatorDef of the same net, best of nine.
Times are processor time. Each case runs in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.nets import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable


def measure(shape: str, size: int) -> dict[str, Any]:
    """All figures of one case, in this process."""
    from gradviz.autodiff import trace
    from gradviz.nets import as_model
    from gradviz.ops import registry
    from gradviz.proto import NetDef

    registry.load_families()
    net, ys = SHAPES[shape](size)
    encoded = net.SerializeToString()
    before = _peak_mb()
    load, net = _timed(lambda: NetDef.FromString(encoded))
    yardstick = min(_timed(lambda: _read(net))[0] for _ in range(9)) / len(net.op)
    walks = []
    for _ in range(max(1, min(5, 200_000 // size))):
        made = None
        seconds, made = _timed(lambda: trace(as_model(net), ys))
        walks.append(seconds)
    assert made is not None
    assert made.error is None, made.error
    per_op = min(walks) / len(net.op)
    gc.disable()
    return {
        "shape": shape,
        "ops": len(net.op),
        "events": len(made.events),
        "seconds": load + min(walks),
        "per_op_us": per_op * 1e6,
        "yardsticks": per_op / yardstick,
        "memory_mb": _peak_mb() - before,
        **_travel(made),
    }


def _travel(trace: Any) -> dict[str, float]:
    last = len(trace.events) - 1
    jumps = []
    for part in (0.1, 0.5, 0.9, 1.0):
        seconds, state = _timed(lambda part=part: _whole(trace.state_at(int(last * part))))
        jumps.append(seconds)
    steps = min(last, 10_000)
    back, _ = _timed(lambda: [state.back() for _ in range(steps)])
    forward, _ = _timed(lambda: [state.forward() for _ in range(steps)])
    return {"jump_ms": max(jumps) * 1e3, "back_us": back / steps * 1e6, "forward_us": forward / steps * 1e6}


def _whole(state: Any) -> Any:
    """A jump with all parts of the state made, which a screen never needs at once."""
    for part in ("frontier", "gradient_frontier", "gradient_generators", "gradient_map", "renamed", "visit"):
        getattr(state, part)
    return state


def _read(net: Any) -> None:
    for op in net.op:
        _ = (op.type, list(op.input), list(op.output))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(shape: str, size: int) -> dict[str, Any]:
    """`measure` in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.walk", shape, str(size)], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(sizes: tuple[int, ...]) -> list[str]:
    """Markdown lines: a row a case, then the ratios that should stay near one."""
    rows = {(shape, size): in_own_process(shape, size) for shape in SHAPES for size in sizes}
    head = ("net", "ops", "events", "load and walk, s", "µs an op", "yardsticks an op", "memory, MB", "whole jump, ms")
    lines = [_line([*head, "back, µs", "forward, µs"]), "|---|" + "---:|" * 9]
    lines += [_line(_cells(row)) for row in rows.values()]
    small, large = sizes[0], sizes[-1]
    lines += ["", f"Per-op time at {large:,} over {small:,} operators (1 is linear):", ""]
    lines += [f"- {shape}: {rows[shape, large]['per_op_us'] / rows[shape, small]['per_op_us']:.2f}" for shape in SHAPES]
    fan, line = rows["fan-out", large]["per_op_us"], rows["chain", large]["per_op_us"]
    return [*lines, "", f"Fan-out over chain at {large:,} operators: {fan / line:.2f}"]


def _cells(row: dict[str, Any]) -> list[str]:
    counts = [f"{row[key]:,}" for key in ("ops", "events")]
    times = [f"{row['seconds']:.2f}", f"{row['per_op_us']:.1f}", f"{row['yardsticks']:.1f}", f"{row['memory_mb']:.0f}"]
    travel = [f"{row['jump_ms']:.1f}", f"{row['back_us']:.2f}", f"{row['forward_us']:.2f}"]
    return [row["shape"], *counts, *times, *travel]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
