"""Two runs side by side: where do they part first?"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import ExecutionError
from gradviz.execute.plan import describe
from gradviz.execute.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

RTOL, ATOL = 1e-4, 1e-5

Key = tuple[int, str, int]  # iteration, blob, version


@dataclass(frozen=True, slots=True)
class Row:
    """One value compared.

    Attributes:
        blob: its blob.
        version: its version in the first run.
        iteration: which round.
        op_index: the operator that wrote it; None for what was there from the start.
        max_abs: largest absolute difference.
        max_rel: largest difference relative to the larger of the two elements.
        max_ulp: largest difference in units in the last place; None where it is no float.
        worst_index: where the difference is largest among what is beyond tolerance, else anywhere; None where nothing
            differs, or shapes do.
        a: the element there in the first run.
        b: the element there in the second run.
        reason: what differs, in a clause; empty where they agree.
    """

    blob: str
    version: int
    iteration: int = 0
    op_index: int | None = None
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int | None = None
    worst_index: tuple[int, ...] | None = None
    a: Any = None
    b: Any = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found.

    Attributes:
        rows: one for each value that both have, in the first run's order of execution.
        only_a: blobs that only the first has.
        only_b: blobs that only the second has.
    """

    rows: list[Row] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is something in common, and all of it agrees."""
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def first(self) -> Row | None:
        """The first value that differs, in order of execution."""
        return next((row for row in self.rows if not row.ok), None)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {"ok": self.ok, "rows": [asdict(row) | {"ok": row.ok} for row in self.rows]} | {
            "only_a": self.only_a,
            "only_b": self.only_b,
        }


def compare(run_a: Any, run_b: Any, rtol: float = RTOL, atol: float = ATOL, ulp: int = 0) -> Comparison:
    """Compare two runs value by value, aligned by blob and version.

    Args:
        run_a: a Workspace; a mapping of arrays by blob name, an `.npz` file, or a `.pb` file of tensors, which stand
            for last values; or an `.npz` with a recorded run (see `docs/vectors.md`), which has versions.
        run_b: likewise.
        rtol: difference allowed relative to the second's element.
        atol: difference allowed anyway.
        ulp: difference allowed in units in the last place, whatever the other two say.

    Raises:
        ExecutionError: one of them is no run and no file of arrays.
    """
    (a, versioned_a), (b, versioned_b) = _values(run_a), _values(run_b)
    aligned = versioned_a and versioned_b
    if not aligned:
        a, b = _last_of(a), _last_of(b)
    writers = _writers(run_a, aligned) or _writers(run_b, aligned)
    shared = sorted((key for key in a if key in b), key=lambda key: writers.get(key, (key[0], -1)))
    rows = [_row(key, writers.get(key, (0, None))[1], a[key], b[key], rtol, atol, ulp) for key in shared]
    names_a, names_b = ({blob: None for _, blob, _ in each} for each in (a, b))
    return Comparison(
        rows, [name for name in names_a if name not in names_b], [name for name in names_b if name not in names_a]
    )


def _values(run: Any) -> tuple[dict[Key, Any], bool]:
    """All values of a run, and whether their versions mean something."""
    if isinstance(run, Workspace):
        return {
            (iteration, blob, version): run.value(blob, version, iteration)
            for iteration in range(run.iterations)
            for blob in run.blobs(iteration)
            for version in run.versions(blob, iteration)
        }, True
    if isinstance(run, str | Path):
        from gradviz.execute.feeds import read_file

        run = read_file(Path(run))
        if "manifest" in run:
            return _recorded(run), True
    if not hasattr(run, "items"):
        raise ExecutionError(f"compare wants runs, mappings of arrays or files, not a {type(run).__name__}")
    return {(0, str(blob), 0): value for blob, value in run.items()}, False


def _recorded(arrays: Mapping[str, Any]) -> dict[Key, Any]:
    try:
        manifest = json.loads(bytes(arrays["manifest"]))
        found = {(0, each["blob"], 0): arrays[each["key"]] for each in manifest["inputs"]}
        for each in manifest["values"]:
            found[each["iteration"], each["blob"], each["version"]] = arrays[each["key"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ExecutionError(
            f"the file has a manifest, but is no recorded run (see docs/vectors.md): {error}"
        ) from error
    return found


def _last_of(values: Mapping[Key, Any]) -> dict[Key, Any]:
    """The last value of each blob, under one key."""
    last: dict[str, Any] = {}
    for (_, blob, _), value in values.items():
        last[blob] = value
    return {(0, blob, 0): value for blob, value in last.items()}


def _writers(run: Any, by_version: bool) -> dict[Key, tuple[int, int | None]]:
    """When each value was written, as something to sort by; under the keys of last values unless `by_version`."""
    if not isinstance(run, Workspace):
        return {}
    found: dict[Key, tuple[int, Any]] = {}
    for write in run.writes:
        key = (write.iteration, write.blob, write.version) if by_version else (0, write.blob, 0)
        found[key] = (write.iteration, write.op_index)
    return found


def _row(key: Key, op_index: int | None, a: Any, b: Any, rtol: float, atol: float, ulp: int) -> Row:
    iteration, blob, version = key
    facts: dict[str, Any] = {"iteration": iteration, "op_index": op_index if op_index != -1 else None}
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        same = type(a) is type(b)
        return Row(blob, version, **facts, reason="" if same else f"{describe(a)} against {describe(b)}")
    if a.shape != b.shape:
        return Row(blob, version, **facts, reason=f"shape {list(a.shape)} against {list(b.shape)}")
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        differs = np.asarray(a != b)
    else:
        facts |= _distances(a, b)
        differs = _beyond(a, b, rtol, atol, ulp)
    facts |= _worst(a, b, differs)
    reasons = [f"dtype {a.dtype} against {b.dtype}"] if a.dtype != b.dtype else []
    if differs.any():
        reasons.append(_said(a, b, differs))
    return Row(blob, version, **facts, reason="; ".join(reasons))


def _beyond(a: Any, b: Any, rtol: float, atol: float, ulp: int) -> Any:
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        return a != b
    with np.errstate(all="ignore"):
        differs = ~np.isclose(a.astype(np.float64), b.astype(np.float64), rtol, atol, equal_nan=True)
    if ulp and a.dtype == b.dtype:
        differs &= ulps(a, b) > ulp
    return differs


def _distances(a: Any, b: Any) -> dict[str, Any]:
    """Largest differences; a NaN against a number counts as infinite, NaN against NaN and equal infinities as none."""
    if not a.size:
        return {}
    gap, relative = _gaps(a, b)
    found: dict[str, Any] = {"max_abs": float(gap.max()), "max_rel": float(relative.max())}
    if a.dtype == b.dtype and a.dtype.kind == "f":
        found["max_ulp"] = int(ulps(a, b).max())
    return found


def _gaps(a: Any, b: Any) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        equal = (x == y) | (np.isnan(x) & np.isnan(y))
        gap = np.where(equal, 0.0, np.nan_to_num(np.abs(x - y), nan=np.inf, posinf=np.inf))
        scale = np.nan_to_num(np.maximum(np.abs(x), np.abs(y)), nan=np.inf)
        relative = np.where(equal, 0.0, np.nan_to_num(gap / scale, nan=1.0, posinf=np.inf))
    return gap, relative


def ulps(a: Any, b: Any) -> Any:
    """Differences of two float arrays of one dtype, in units in the last place; NaN against a number is the largest."""
    integer = np.dtype(f"i{a.dtype.itemsize}")
    lowest = np.iinfo(integer).min

    def ordered(x: Any) -> Any:
        bits = np.ascontiguousarray(x).view(integer)
        return np.where(bits < 0, lowest - bits, bits).astype(np.float64)

    nan_a, nan_b = np.isnan(a), np.isnan(b)
    with np.errstate(all="ignore"):
        gap = np.abs(ordered(a) - ordered(b)).reshape(a.shape)
    most = float(2**62)
    gap = np.where(nan_a ^ nan_b, most, np.where(nan_a & nan_b, 0.0, np.minimum(gap, most)))
    return gap.astype(np.int64)


def _worst(a: Any, b: Any, differs: Any) -> dict[str, Any]:
    text = a.dtype.kind in "OSU" or b.dtype.kind in "OSU"
    gap = differs.astype(float) if text else _gaps(a, b)[0]
    if not gap.size or not gap.any():
        return {}
    looked_at = np.where(differs, gap, -1) if differs.any() else gap
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(looked_at)), gap.shape))
    return {"worst_index": at, "a": _plain(a[at]), "b": _plain(b[at])}


def _plain(element: Any) -> Any:
    if isinstance(element, bytes):
        return element.decode("utf-8", "surrogateescape")
    return element.item() if isinstance(element, np.generic) else element


def _said(a: Any, b: Any, differs: Any) -> str:
    text = f"{int(differs.sum())} of {differs.size} elements differ"
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        lone = int((np.isnan(a) ^ np.isnan(b)).sum())
        text += f", {lone} of them NaN in one only" if lone else ""
    return text
