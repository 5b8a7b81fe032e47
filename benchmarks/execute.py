"""Training steps: forward and backward on the NumPy backend beside PyTorch on the CPU, as ratios, with peak memory.

Both sides are processes of their own, which take turns: a few steps of the one, a few of the other, over and over. So
both meet the same weather on the machine, and each has its memory to itself. Of all steps the fastest counts. What is
kept of a run is what PyTorch keeps: the loss and the gradients of the parameters.

PyTorch is no dependency of gradviz: `pip install torch --index-url https://download.pytorch.org/whl/cpu`.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.training import CASES

if TYPE_CHECKING:
    from benchmarks.training import Case

SIDES = ("gradviz", "torch")

FAR = 0.1
"""How far gradients may be apart, relative to their norm: rounding grows through 50 normalised layers."""

HEAD = "net,batch,gradviz (ms),PyTorch (ms),time,processor time,gradviz (MB),PyTorch (MB),memory"


HOW = (
    "Forward and backward of a net, without an update of its parameters: one Plan run over and over with the loss and",
    "the parameters' gradients kept, beside the same step in PyTorch on the CPU. Both sides are processes of their own",
    "that take turns, a few steps at a time, with garbage collection off; the fastest step of each counts. *Time* and",
    "*processor time* are gradviz's over PyTorch's. Memory is the most that a process held, less what it held once its",
    "libraries were loaded. Before the figures count, loss and gradients of both are compared (not for SqueezeNet,",
    "which drops units at random).",
)


def missing_peer() -> str | None:
    """What to say where there is nothing to compare with; None where there is."""
    if importlib.util.find_spec("torch"):
        return None
    return "PyTorch is not installed, so that nothing was compared with it; `benchmarks/execute.py` says how to get it."


# One side: a process that runs steps when it is told to.


class Gradviz:
    """A net on gradviz's NumPy backend, ready to be run forward and backward any number of times."""

    def __init__(self, case: Case, parameters: dict[str, Any]) -> None:
        from gradviz.execute.run import Plan

        self.plan = Plan(case.model(), ["loss"])
        self.feeds, self.parameters = case.feeds(), parameters
        self.wanted = {n: g for n, g in self.plan.input_to_grad.items() if n in parameters}
        self.keep = ["loss", *(part for g in self.wanted.values() for part in ([g] if isinstance(g, str) else g))]

    def run(self) -> float:
        """Forward and backward; the loss."""
        self.workspace = self.plan.run(self.feeds, start=self.parameters, keep=self.keep)
        return float(self.workspace["loss"])

    def gradients(self) -> dict[str, Any]:
        """The gradients of the last run, by parameter; a sparse one as a dense array."""
        return {name: self._dense(name) for name in self.wanted}

    def _dense(self, name: str) -> Any:
        found = self.workspace.gradient(name)
        if not isinstance(found, tuple):
            return found
        dense = np.zeros_like(self.parameters[name])
        np.add.at(dense, found.indices, found.values)
        return dense


def serve(side: str, key: str, parameters: str, threads: str) -> None:
    """Do what stdin asks for, a line each: `steps <n>`, `results <file>`, `memory`; answer in JSON."""
    with np.load(parameters) as stored:
        given = dict(stored)
    make = _maker(side, int(threads))
    before = _memory("VmRSS")
    step = make(CASES[key], given)
    step.run()
    for line in sys.stdin:
        order, _, what = line.strip().partition(" ")
        answer: Any = None
        if order == "steps":
            answer = _time(step, int(what))
        elif order == "results":
            np.savez(what, loss=step.run(), **step.gradients())
        else:
            answer = _memory("VmHWM") - before
        print(json.dumps(answer), flush=True)


def _maker(side: str, threads: int) -> Any:
    """Import one side; and let its libraries take the memory that they take once."""
    square = np.ones((512, 512), np.float32)
    if side == "torch":
        import torch

        from benchmarks.peer import Step

        torch.set_num_threads(threads)
        torch.mm(torch.tensor(square), torch.tensor(square))
        return lambda case, parameters: Step(case.net, parameters, case.feeds())
    from gradviz.ops import registry

    registry.load_families()
    np.matmul(square, square)
    return Gradviz


def _time(step: Any, count: int) -> list[tuple[float, float]]:
    """Wall and processor seconds of each of some steps; no garbage is collected meanwhile."""
    found = []
    gc.collect()
    gc.disable()
    for _ in range(count):
        wall, cpu = time.perf_counter(), time.process_time()
        step.run()
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    gc.enable()
    return found


def _memory(kind: str) -> float:
    """Memory of this process in MB: `VmRSS` now, `VmHWM` at the most. Getrusage begins with the parent's."""
    line = next(each for each in Path("/proc/self/status").read_text("ascii").splitlines() if each.startswith(kind))
    return int(line.split()[1]) / 1024


# Both sides.


class Side:
    """A process that serves one side of a case."""

    def __init__(self, side: str, key: str, parameters: Path, threads: int) -> None:
        environment = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
        command = [sys.executable, "-m", "benchmarks.execute", "--serve", side, key, str(parameters), str(threads)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )

    def ask(self, order: str) -> Any:
        """Hand over one order; the answer.

        Raises:
            RuntimeError: the process is no more.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(order, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a benchmark process ended early, with exit status {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(key: str, seconds: float, threads: int) -> dict[str, Any]:
    """All figures of one case: for each side the best wall and processor time, in seconds, and its peak in MB."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        parameters = Path(folder, "parameters.npz")
        np.savez(parameters, **_parameters(CASES[key]))
        running = {side: Side(side, key, parameters, threads) for side in SIDES}
        for each in running.values():
            stack.callback(each.close)
        times = _take_turns(running, seconds)
        found = {}
        for side, each in running.items():
            walls, cpus = zip(*times[side], strict=True)
            found[side] = {"wall": min(walls), "cpu": min(cpus), "peak": each.ask("memory")}
        if not CASES[key].random:
            _agree(running, Path(folder))
    return found


def _parameters(case: Case) -> dict[str, Any]:
    from gradviz.execute.run import Plan

    made = Plan(case.model().init, ()).run(seed=1)
    return {name: made[name] for name in made}


def _take_turns(running: dict[str, Side], seconds: float) -> dict[str, list[tuple[float, float]]]:
    first = {side: min(wall for wall, _ in each.ask("steps 2")) for side, each in running.items()}
    counts = {side: max(1, int(0.1 / wall)) for side, wall in first.items()}
    times: dict[str, list[tuple[float, float]]] = {side: [] for side in running}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(min(times.values(), key=len)) < 3:
        for side, each in running.items():
            times[side] += each.ask(f"steps {counts[side]}")
    return times


def _agree(running: dict[str, Side], folder: Path) -> None:
    """Refuse to compare what does not compute the same."""
    results = {}
    for side in SIDES:
        running[side].ask(f"results {folder / side}.npz")
        with np.load(folder / f"{side}.npz") as stored:
            results[side] = dict(stored)
    ours, theirs = (results[side] for side in SIDES)
    assert set(theirs) <= set(ours), set(theirs) - set(ours)
    for name, value in theirs.items():
        off = np.linalg.norm(ours[name] - value) / max(np.linalg.norm(value), 1e-6)
        assert off < FAR, f"{name} is off by {off:.2g}"


def table(seconds: float, threads: int = 2, keys: tuple[str, ...] = tuple(CASES)) -> list[str]:
    """Markdown lines: a row a case, which stderr gets as soon as it is known."""
    head = HEAD.split(",")
    lines = [_line(head), "|---|" + "---:|" * (len(head) - 1)]
    for key in keys:
        lines.append(_line(_cells(CASES[key], measure(key, seconds, threads))))
        print(lines[-1], file=sys.stderr)
    return lines


def section(seconds: float) -> list[str]:
    """The section of RESULTS.md; where PyTorch is missing it says so, and nothing else."""
    missing = missing_peer()
    if missing:
        return ["## Training steps", "", missing]
    versions = (
        f"NumPy {np.__version__}, PyTorch {importlib.metadata.version('torch')}, Python {platform.python_version()}"
    )
    lines = ["## Training steps", "", f"{versions}, {platform.machine()}, {os.cpu_count()} processors.", "", *HOW]
    for threads in (2, 1):
        lines += ["", f"### {threads} thread{'s' if threads > 1 else ''} each", "", *table(seconds, threads)]
    return lines


def _cells(case: Case, found: dict[str, Any]) -> list[str]:
    ours, theirs = (found[side] for side in SIDES)
    times = [f"{side['wall'] * 1e3:,.3g}" for side in (ours, theirs)]
    ratios = [f"{ours[kind] / theirs[kind]:.2f}" for kind in ("wall", "cpu")]
    peaks = [f"{side['peak']:.0f}" for side in (ours, theirs)]
    return [case.net, str(case.batch), *times, *ratios, *peaks, f"{ours['peak'] / theirs['peak']:.2f}"]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(*given.serve)
    else:
        print(missing_peer() or "\n".join(table(given.seconds, given.threads, tuple(given.cases))))


if __name__ == "__main__":
    main()
