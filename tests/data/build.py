"""Make the compact vectors that the tests stand on from recorded ones: `python tests/data/build.py FOLDER`.

FOLDER holds `gradients/*.jsonl`, `traces/*.jsonl.gz` and `operators/*.npz` as recorded from Caffe2 1.8.1. All gradient
vectors and walks are kept, without what is said twice; of the kernel vectors a few small and unlike cases of each type.
"""

import gzip
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
KEPT = ("op_b64", "g_output", "g_input", "grad_ops_b64", "error_kind", "unordered", "note")
CASES_PER_TYPE = 3
LARGEST_CASE = 1200
"""Bytes of all arrays of a case together."""


def gradients(recorded: Path, target: Path) -> None:
    """All rows of all types in one gzipped file, without the recorded words of refusals."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as out:
        for path in sorted(recorded.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                kept = {key: row[key] for key in KEPT if key in row}
                out.write(json.dumps(kept, separators=(",", ":")).encode() + b"\n")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(buffer.getvalue())


def kernels(recorded: Path, target: Path) -> None:
    """A sample of every type in one file of the recorded format, without the recorded words of refusals."""
    rows, kept = [], {}
    for path in sorted(recorded.glob("*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for row in choose(json.loads(bytes(arrays["manifest"]))):
                kept.update(arrays_of(row, arrays, number=len(rows)))
                rows.append({**compact(row), "case": len(rows)})
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, separators=(",", ":")).encode()
    np.savez_compressed(target, manifest=np.frombuffer(text, np.uint8), **kept)


TRACE_NOT_KEPT = ("net_pbtxt", "gradient_ops", "variants", "reorderable", "order_causes", "canonical_seen")
STEP_NOT_KEPT = ("gradient_ops", "op_type", "sparse_partial")


def traces(recorded: Path, target: Path) -> None:
    """All recorded walks, without what is said twice and without the recorded words of errors."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(recorded.glob("*.jsonl.gz")):
        buffer = io.BytesIO()
        with (
            gzip.open(path, "rt", encoding="utf-8") as lines,
            gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as out,
        ):
            for line in lines:
                out.write(json.dumps(compact_trace(json.loads(line)), separators=(",", ":")).encode() + b"\n")
        (target / path.name).write_bytes(buffer.getvalue())


def compact_trace(record: dict) -> dict:
    kept = {key: value for key, value in record.items() if key not in TRACE_NOT_KEPT}
    if kept["error"]:
        kept["error"] = {key: value for key, value in kept["error"].items() if key != "message"}
    if kept["init"]:
        kept["init"] = {key: value for key, value in kept["init"].items() if key != "ops"}
    kept["steps"] = [{key: value for key, value in step.items() if key not in STEP_NOT_KEPT} for step in kept["steps"]]
    for step in kept["steps"]:
        for each in step.get("accumulation", ()):
            if isinstance(each.get("verified"), dict):
                each["verified"] = "refused"
    return kept


def arrays_of(row: dict, arrays: Mapping, number: int) -> dict:
    found = {}
    for side, entries in (("in", row["inputs"]), ("out", row["outputs"])):
        for i, entry in enumerate(entries):
            if entry.get("tensor", True):
                found[f"{number}/{side}/{i}"] = arrays[f"{row['case']}/{side}/{i}"]
    return found


def compact(row: dict) -> dict:
    row = {key: value for key, value in row.items() if key not in {"op", "source"}}
    return {**row, "error": None if row["error"] is None else "refused"}


def choose(manifest: list[dict]) -> list[dict]:
    """Small cases that differ in arguments, dtypes, ranks or outcome; the smallest of each kind."""
    seen, chosen = set(), []
    for row in sorted(manifest, key=size):
        look = looks(row)
        if size(row) <= LARGEST_CASE and look not in seen and len(chosen) < CASES_PER_TYPE:
            seen.add(look)
            chosen.append(row)
    return sorted(chosen, key=lambda row: row["case"])


def size(row: dict) -> int:
    return sum(8 * int(np.prod(each["shape"])) for each in row["inputs"] + row["outputs"] if each.get("tensor", True))


def looks(row: dict) -> tuple:
    arguments = tuple(sorted(each["name"] for each in row["op"].get("arg", ())))
    dtypes = tuple(each["dtype"] for each in row["inputs"])
    ranks = tuple(len(each["shape"]) for each in row["inputs"])
    empty = any(0 in each["shape"] for each in row["inputs"])
    return arguments, dtypes, ranks if len(ranks) == 1 else len(ranks), row["error"] is not None, empty


if __name__ == "__main__":
    source = Path(sys.argv[1])
    gradients(source / "gradients", HERE / "gradients" / "vectors.jsonl.gz")
    traces(source / "traces", HERE / "traces")
    kernels(source / "operators", HERE / "operators" / "sample.npz")
