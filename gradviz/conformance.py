"""Recorded vectors, run against the installed gradviz: gradient rules, whole backward walks, kernels, whole runs.

Four kinds of file are known, told apart by what is in them, not by name:

* gradients: JSON Lines, a question to one gradient rule a line (`op_b64`, `g_output`, and the answer);
* traces: JSON Lines, a whole backward walk a line (`net_b64`, `steps`, ...);
* kernels: `.npz` with a `manifest` that is a list, one operator's inputs and outputs a case;
* runs: `.npz` with a `manifest` that is a mapping, every value of a whole net's run.

JSON Lines may be gzipped. What the files must hold is said in `docs/vectors.md`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from gradviz.autodiff import gradient_of
from gradviz.errors import ExecutionError, GradientError, GradvizError, LoadError
from gradviz.ops import registry
from gradviz.ops.records import GradientSlice
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gradviz.execute.workspace import Workspace
    from gradviz.ops.records import Gradient

KINDS = ("gradients", "traces", "kernels", "runs")
RTOL, ATOL = 1e-4, 1e-5

# A vector's word for a refusal, and the kinds of error that answer it.
REFUSALS: Mapping[str, frozenset[str]] = {
    "not_registered": frozenset({"no_gradient_maker"}),
    "should_not": frozenset({"should_not_do_gradient"}),
    "not_implemented": frozenset({"gradient_not_implemented_yet"}),
    "enforce": frozenset({"expected_dense", "schema", "make_gradient_other"}),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One vector that disagrees.

    Attributes:
        kind: one of `KINDS`.
        type: the operator type, or the net's name.
        file: where the vector stands.
        place: line (from 1) or case number in that file.
        text: what differs, in one line.
    """

    kind: str
    type: str
    file: str
    place: int
    text: str


@dataclass(slots=True)
class Row:
    """The count of one kind and type."""

    kind: str
    type: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Report:
    """What came out.

    Attributes:
        files: how many vector files were read.
        rows: the counts, by kind and type, in the order of the files.
        differences: the first vectors that disagree.
        why_skipped: how many vectors were skipped for which reason.
    """

    files: int = 0
    rows: list[Row] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    why_skipped: Counter[str] = field(default_factory=Counter)

    @property
    def passed(self) -> int:
        return sum(row.passed for row in self.rows)

    @property
    def failed(self) -> int:
        return sum(row.failed for row in self.rows)

    @property
    def skipped(self) -> int:
        return sum(row.skipped for row in self.rows)

    @property
    def ok(self) -> bool:
        return self.failed == 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one vector: `differences` empty means it agrees, unless `skipped` says why it was left out."""

    kind: str
    type: str
    file: str
    place: int
    differences: Sequence[str] = ()
    skipped: str = ""


def conformance(
    path: str | Path,
    *,
    types: Iterable[str] = (),
    kinds: Iterable[str] = KINDS,
    backend: str = "numpy",
    show: int = 20,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Run the vector files at `path`.

    Args:
        path: a file, or a folder that is searched to its end.
        types: look only at these operator types; all if empty.
        kinds: look only at these kinds of vectors.
        backend: where kernels and runs compute.
        show: how many differences to keep.
        progress: called before each file with its number, the number of files and its name.

    Raises:
        LoadError: there is no vector file, or one cannot be read.
    """
    report = Report()
    counts: dict[tuple[str, str], Row] = {}
    files = vector_files(path)
    for number, file in enumerate(files):
        if progress is not None:
            progress(number, len(files), file.name)
        read = False
        for outcome in check_file(file, types=types, kinds=kinds, backend=backend):
            read = True
            row = counts.setdefault((outcome.kind, outcome.type), Row(outcome.kind, outcome.type))
            _count(report, row, outcome, show)
        report.files += read
    report.rows = list(counts.values())
    return report


def _count(report: Report, row: Row, outcome: Outcome, show: int) -> None:
    if outcome.skipped:
        row.skipped += 1
        report.why_skipped[outcome.skipped] += 1
    elif not outcome.differences:
        row.passed += 1
    else:
        row.failed += 1
        if len(report.differences) < show:
            text = outcome.differences[0]
            report.differences.append(Difference(outcome.kind, outcome.type, outcome.file, outcome.place, text))


def vector_files(path: str | Path) -> list[Path]:
    """The files at `path` that may hold vectors, sorted by name.

    Raises:
        LoadError: there is none.
    """
    path = Path(path)
    if not path.exists():
        raise LoadError(f"{path}: no such file or folder")
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _may_hold_vectors(file))
    if not found:
        raise LoadError(f"{path}: no vector files here (*.jsonl, *.jsonl.gz, *.npz)")
    return found


def _may_hold_vectors(file: Path) -> bool:
    return file.name.endswith((".jsonl", ".jsonl.gz", ".npz")) and file.is_file()


def check_file(
    file: Path, *, types: Iterable[str] = (), kinds: Iterable[str] = KINDS, backend: str = "numpy"
) -> Iterator[Outcome]:
    """Run one vector file; yields what became of each vector in it.

    Raises:
        LoadError: the file cannot be read, or holds no vectors.
    """
    wanted, kinds = frozenset(types), frozenset(kinds)
    if file.suffix == ".npz":
        yield from _check_arrays(file, wanted, kinds, backend)
        return
    for place, record in _records(file):
        if "g_output" in record and "op_b64" in record:
            if "gradients" in kinds:
                yield from _check_gradient_record(file, place, record, wanted)
        elif "net_b64" in record and "steps" in record:
            if "traces" in kinds and not wanted:
                yield _check_trace_record(file, place, record)
        else:
            raise LoadError(f"{file}, line {place}: neither a gradient vector nor a trace (see docs/vectors.md)")


def _records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open("rb") as raw, gzip.open(raw) if file.suffix == ".gz" else raw as lines:
        try:
            for place, line in enumerate(lines, start=1):
                if line.strip():
                    yield place, _record(json.loads(line))
        except (ValueError, OSError, EOFError) as error:
            raise LoadError(f"{file}: not JSON Lines: {error}") from error


def _record(decoded: Any) -> dict[str, Any]:
    if not isinstance(decoded, dict):
        raise ValueError(f"a line holds a {type(decoded).__name__} where a mapping is wanted")
    return decoded


# Gradient rules.


def _check_gradient_record(file: Path, place: int, record: dict[str, Any], wanted: frozenset[str]) -> Iterator[Outcome]:
    try:
        op = OperatorDef.FromString(base64.b64decode(record["op_b64"]))
        if not wanted or op.type in wanted:
            yield Outcome("gradients", op.type, file.name, place, check_gradient(record, op))
    except (KeyError, TypeError, ValueError, DecodeError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise LoadError(f"{file}, line {place}: not a whole gradient vector (see docs/vectors.md): {reason}") from error


def check_gradient(record: dict[str, Any], op: OperatorDef | None = None) -> list[str]:
    """What gradviz's gradient rule answers differently from a recorded row.

    Args:
        record: a row: `op_b64`, `g_output`, and either `g_input` and `grad_ops_b64`, or `error_kind`.
        op: the row's operator, where it has been read already.
    """
    if op is None:
        op = OperatorDef.FromString(base64.b64decode(record["op_b64"]))
    wanted = record.get("error_kind")
    try:
        made, g_input = gradient_of(op, [_gradient(each) for each in record["g_output"]])
    except GradientError as error:
        return _compare_refusals(wanted, error)
    if wanted is not None:
        return [f"answers with {len(made)} gradient ops where a refusal ({wanted}) is recorded"]
    return _compare_answers(record, made, g_input)


def _gradient(recorded: Any) -> Gradient:
    return GradientSlice(recorded["indices"], recorded["values"]) if isinstance(recorded, dict) else recorded


def _compare_refusals(wanted: str | None, error: GradientError) -> list[str]:
    if wanted is None:
        return [f"refused ({error.kind}: {error}) where an answer is recorded"]
    if error.kind in REFUSALS.get(wanted, ()) or (wanted == "python" and error.kind.endswith("@make_gradient")):
        return []
    return [f"refused as {error.kind} where {wanted} is recorded"]


def _compare_answers(record: dict[str, Any], ops: Sequence[OperatorDef], g_input: Sequence[Gradient]) -> list[str]:
    recorded = [OperatorDef.FromString(base64.b64decode(text)) for text in record["grad_ops_b64"]]
    asked = [_gradient(each) for each in record["g_input"]]
    if record.get("unordered"):
        same_ops = _without_order([_as_dict(op) for op in ops]) == _without_order([_as_dict(op) for op in recorded])
        same_map = _without_order(list(g_input)) == _without_order(asked)
    else:
        same_ops = [_canonical(op) for op in ops] == [_canonical(op) for op in recorded]
        same_map = list(g_input) == asked
    found = [] if same_map else [f"g_input is {list(g_input)} where {asked} is recorded"]
    return found if same_ops else [*found, _different_ops(ops, recorded)]


def _canonical(op: OperatorDef) -> bytes:
    return op.SerializeToString(deterministic=True)


def _as_dict(op: OperatorDef) -> Any:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(op, preserving_proto_field_name=True)


def _without_order(value: Any) -> Any:
    """The value with every list in it sorted."""
    if isinstance(value, dict):
        return {key: _without_order(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((_without_order(each) for each in value), key=lambda each: json.dumps(each, sort_keys=True))
    return value


def _different_ops(ops: Sequence[OperatorDef], recorded: Sequence[OperatorDef]) -> str:
    if len(ops) != len(recorded):
        return f"{len(ops)} gradient ops where {len(recorded)} are recorded: {_line(ops)} | {_line(recorded)}"
    for i, (got, want) in enumerate(zip(ops, recorded, strict=True)):
        if _canonical(got) != _canonical(want):
            return f"gradient op {i} is {_line([got])} where {_line([want])} is recorded"
    return "the gradient ops differ in their order"


def _line(ops: Sequence[OperatorDef]) -> str:
    return "; ".join(" ".join(str(op).split()) for op in ops) or "none"


# Backward walks.


def _check_trace_record(file: Path, place: int, record: dict[str, Any]) -> Outcome:
    name = str(record.get("name", f"line {place}"))
    from gradviz.autodiff import replay

    return Outcome("traces", name, file.name, place, replay.check_trace(record))


# Kernels and runs.


def _check_arrays(file: Path, types: frozenset[str], kinds: frozenset[str], backend: str) -> Iterator[Outcome]:
    import zipfile

    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as arrays:
            manifest = json.loads(bytes(arrays["manifest"]))
            if isinstance(manifest, list):
                if "kernels" in kinds:
                    yield from _check_cases(file, manifest, arrays, types, backend)
            elif "runs" in kinds and not types:
                yield _check_run(file, manifest, arrays, backend)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise LoadError(f"{file}: not a file of recorded arrays (see docs/vectors.md): {error}") from error


def _check_cases(
    file: Path, manifest: list[dict[str, Any]], arrays: Mapping[str, Any], types: frozenset[str], backend: str
) -> Iterator[Outcome]:
    for row in manifest:
        op = OperatorDef.FromString(base64.b64decode(row["op_b64"]))
        if types and op.type not in types:
            continue
        reason = _why_no_kernel(op.type)
        differences = [] if reason else check_kernel(op, row, arrays, backend)
        yield Outcome("kernels", op.type, file.name, row["case"], differences, reason)


def _why_no_kernel(type: str) -> str:
    known = registry.lookup(type)
    if known is None:
        return "operator type not known"
    return "" if known.kernel is not None else known.why_no_kernel or "no kernel"


def check_kernel(op: OperatorDef, row: dict[str, Any], arrays: Mapping[str, Any], backend: str = "numpy") -> list[str]:
    """What gradviz's kernel computes differently from a recorded case.

    Args:
        op: the case's operator.
        row: its entry in the manifest.
        arrays: the file's arrays by key.
        backend: where to compute.
    """
    from gradviz.execute.operator import run_op

    number = row["case"]
    inputs = [_array(arrays, f"{number}/in/{i}", each) for i, each in enumerate(row["inputs"])]
    try:
        outputs = run_op(op, inputs, backend, seed=1)
    except ExecutionError as error:
        return [] if row["error"] is not None else [f"refused ({error}) where outputs are recorded"]
    if row["error"] is not None:
        return ["computes outputs where a refusal is recorded"]
    loose = set(row.get("random_outputs", ())) | set(row.get("uninitialized_outputs", ()))
    found = []
    for j, each in enumerate(row["outputs"]):
        wanted = _array(arrays, f"{number}/out/{j}", each)
        if wanted is not None:
            text = compare_arrays(outputs[j], wanted, only_shape=j in loose)
            found += [f"output {j}: {text}"] if text else []
    return found


def _array(arrays: Mapping[str, Any], key: str, row: dict[str, Any]) -> Any:
    if not row.get("tensor", True):
        return None
    found = arrays[key]
    return found.astype(object) if row.get("string") else found


def compare_arrays(
    got: Any, wanted: Any, *, only_shape: bool = False, rtol: float = RTOL, atol: float = ATOL
) -> str | None:
    """Say in one clause how `got` differs from `wanted`, or None: shape and dtype exactly, floats within tolerance."""
    import numpy as np

    from gradviz.execute.plan import describe

    got = got.get() if hasattr(got, "get") else got
    if describe(got) != describe(wanted):
        return f"{describe(got)} where {describe(wanted)} is recorded"
    if only_shape:
        return None
    if wanted.dtype.kind != "f":
        differs = got != wanted
        return f"{int(differs.sum())} of {differs.size} elements differ" if differs.any() else None
    with np.errstate(all="ignore"):
        a, b = got.astype(np.float64), wanted.astype(np.float64)
        differs = ~np.isclose(a, b, rtol, atol, equal_nan=True)
        if not differs.any():
            return None
        at = np.unravel_index(int(np.argmax(np.where(differs, np.nan_to_num(np.abs(a - b), nan=np.inf), -1))), a.shape)
    return (
        f"{int(differs.sum())} of {differs.size} elements differ, most at "
        f"[{', '.join(map(str, at))}]: {a[at]:g} where {b[at]:g} is recorded"
    )


def _check_run(file: Path, manifest: dict[str, Any], arrays: Mapping[str, Any], backend: str) -> Outcome:
    name = str(manifest.get("name", file.stem))
    try:
        return Outcome("runs", name, file.name, 0, check_run(manifest, arrays, backend))
    except GradvizError as error:
        return Outcome("runs", name, file.name, 0, [f"refused: {error}"])


def check_run(manifest: dict[str, Any], arrays: Mapping[str, Any], backend: str = "numpy") -> list[str]:
    """What a whole run writes differently from a recorded one, in order of execution.

    Args:
        manifest: the file's manifest.
        arrays: the file's arrays by key.
        backend: where to compute.
    """
    from gradviz.execute.run import run
    from gradviz.proto import NetDef

    net = NetDef.FromString(base64.b64decode(manifest["net_with_gradients_b64"]))
    feeds = {each["blob"]: arrays[each["key"]] for each in manifest["inputs"]}
    workspace = run(net, feeds, ys=(), backend=backend, iterations=manifest["iterations"], seed=1)
    made = {(each.iteration, each.op_index, each.output): each for each in workspace.writes}
    found = []
    for each in manifest["values"]:
        at = (each["iteration"], each["op_index"], each["output"])
        write = made.get(at)
        if write is None:
            found.append(f"op {at[1]} wrote nothing to {each['blob']}")
        elif (write.blob, write.version) != (each["blob"], each["version"]):
            found.append(f"op {at[1]} wrote {write.blob} version {write.version}, not {each['blob']} {each['version']}")
        else:
            text = compare_arrays(write.value, arrays[each["key"]], only_shape=each.get("unstable", False))
            found += [f"op {at[1]}, {each['blob']} version {each['version']}: {text}"] if text else []
    recorded = {(each["iteration"], each["op_index"], each["output"]) for each in manifest["values"]}
    found += [
        f"op {at[1]} wrote {write.blob}, which is not recorded" for at, write in made.items() if at not in recorded
    ]
    return found + _hidden_differences(manifest, arrays, workspace)


def _hidden_differences(manifest: dict[str, Any], arrays: Mapping[str, Any], workspace: Workspace) -> list[str]:
    """Changes of blobs that are no outputs of the operator that changed them."""
    made = {(each.iteration, each.op_index, each.blob): each.value for each in workspace.hidden_writes}
    found = []
    for each in manifest.get("hidden_writes", ()):
        value = made.pop((each["iteration"], each["op_index"], each["blob"]), None)
        text = "not changed" if value is None else compare_arrays(value, arrays[each["key"]])
        found += [f"op {each['op_index']}, {each['blob']} behind the net's back: {text}"] if text else []
    return found + [f"op {at[1]} changed {at[2]} behind the net's back, which is not recorded" for at in made]
