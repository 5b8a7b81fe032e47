"""What a run leaves behind: every value by blob and version, and what can be asked of it."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.errors import ExecutionError
from gradviz.execute.backend import Backend, get
from gradviz.execute.health import Health, health_of, is_bad
from gradviz.execute.scope import MISSING
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradviz.ops.records import Op


class UnknownValueError(ExecutionError, KeyError):
    """A workspace was asked for a value that it does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class Write:
    """One write of a tensor to a blob.

    Attributes:
        iteration: which round of the run, from 0.
        op_index: index of the operator in the run: forward operators first, then the gradient operators.
        output: which of the operator's outputs; None where the operator changed a blob that is no output of it.
        blob: name of the blob.
        version: the how-manieth write of this iteration to this name it is; 0 is what was there before.
    """

    __slots__ = ("_backend", "_value", "blob", "iteration", "op_index", "output", "version")

    def __init__(
        self, iteration: int, op_index: int, output: int | None, blob: str, version: int, value: Any, backend: Backend
    ) -> None:
        self.iteration = iteration
        self.op_index = op_index
        self.output = output
        self.blob = blob
        self.version = version
        self._value = value
        self._backend = backend

    @property
    def value(self) -> Any:
        """The value, as a NumPy array."""
        return self._backend.to_host(self._value)

    def __repr__(self) -> str:
        return f"Write({self.blob} version {self.version}, op {self.op_index}, iteration {self.iteration})"


@dataclass(frozen=True, slots=True)
class Bad:
    """An operator at which NaN or Inf come up, or go.

    Attributes:
        iteration: which round of the run.
        op_index: index of the operator in the run.
        op: the operator.
        what: `born` (outputs are bad, no input was), `spreads` (inputs and outputs are), `dies` (inputs were, no output
            is).
        blobs: the bad outputs; where it dies the bad inputs.
        health: the figures of these, in the same order.
    """

    iteration: int
    op_index: int
    op: Op
    what: str
    blobs: tuple[str, ...]
    health: tuple[Health, ...]

    def __str__(self) -> str:
        values = ", ".join(f"{blob} {health}" for blob, health in zip(self.blobs, self.health, strict=True))
        said = {"born": "makes NaN or Inf out of finite inputs", "spreads": "hands NaN or Inf on"}
        said["dies"] = "swallows NaN or Inf: none of its outputs has any"
        return f"op {self.op_index} {self.op.type} {said[self.what]}: {values}"


@dataclass(slots=True)
class _Round:
    """One iteration: what was there before, and what was written."""

    initial: dict[str, Any]
    values: dict[str, dict[int, Any]] = field(default_factory=dict)


class Workspace:
    """The values of a run, by blob and version.

    Version n of a blob is what the n-th write of an iteration put there; version 0 is what was there before: a feed, a
    parameter, or what the iteration before left.

    Attributes:
        ops: the operators of the run, in order: forward, then gradients.
        forward: how many of them are the forward net's.
        iterations: how many rounds were run, the unfinished one included.
        input_to_grad: blob -> name of its gradient, or slice.
        notices: what was done although it is not as it should be, one sentence each.
        stopped: why the run ended before its end, or None.
        backend: where it ran.
    """

    def __init__(
        self,
        ops: Sequence[Op],
        forward: int,
        input_to_grad: Mapping[str, str | GradientSlice],
        backend: Backend | None = None,
        keep: frozenset[str] | None = None,
    ) -> None:
        self.ops = list(ops)
        self.forward = forward
        self.input_to_grad = dict(input_to_grad)
        self.backend = get() if backend is None else backend
        self.notices: list[str] = []
        self.stopped: str | None = None
        self._keep = keep
        self._rounds: list[_Round] = []
        self._writes: list[tuple[int, int, int | None, str, int, Any]] = []
        self._hidden: list[tuple[int, int, int | None, str, int, Any]] = []
        self._memory: list[tuple[str, int, int]] = []
        self._versions: list[tuple[tuple[int, ...], tuple[int, ...]]] | None = None

    # Filled by the run.

    def _begin(self, initial: Mapping[str, Any]) -> None:
        kept = initial if self._keep is None else {n: v for n, v in initial.items() if n in self._keep}
        self._rounds.append(_Round(dict(kept)))

    def _record(self, op_index: int, output: int | None, blob: str, version: int, value: Any) -> None:
        written = (len(self._rounds) - 1, op_index, output, blob, version, value)
        if output is None:
            self._hidden.append(written)
            return
        self._rounds[-1].values.setdefault(blob, {})[version] = value
        if self.backend.is_array(value):
            self._writes.append(written)

    # Asked by everybody.

    @property
    def iterations(self) -> int:
        return len(self._rounds)

    def __contains__(self, blob: object) -> bool:
        return isinstance(blob, str) and bool(self.versions(blob))

    def __iter__(self) -> Iterator[str]:
        """The blobs that have a value, in the order in which they came about."""
        yield from self.blobs()

    def blobs(self, iteration: int = -1) -> list[str]:
        """The blobs that have a value in an iteration, in the order in which they came about."""
        if not self._rounds:
            return []
        round_ = self._rounds[iteration]
        hidden = [each[3] for each in self._hidden if each[0] == iteration % len(self._rounds)]
        return list(dict.fromkeys([*round_.initial, *round_.values, *hidden]))

    def keys(self) -> list[str]:
        """The blobs that have a value."""
        return list(self)

    def __getitem__(self, blob: str) -> Any:
        """The last value of a blob, as a NumPy array.

        Raises:
            UnknownValueError: the run made no such blob, or did not keep it; a KeyError too.
        """
        return self.value(blob)

    def _last_hidden(self, blob: str, iteration: int) -> Any:
        """What an operator put there behind the net's back, where nothing was written since."""
        iteration %= len(self._rounds)
        for at, op_index, _, name, _, value in reversed(self._hidden):
            if name == blob and at == iteration:
                later = any(w[3] == blob and w[1] > op_index for w in self._writes if w[0] == iteration)
                return MISSING if later else value
        return MISSING

    def value(self, blob: str, version: int | None = None, iteration: int = -1) -> Any:
        """A blob's value at a version, as a NumPy array.

        Args:
            blob: its name.
            version: which; if None what the iteration left behind, changes that no version counts included.
            iteration: which round, counted as in a list.

        Raises:
            UnknownValueError: there is no such value, or it was not kept; a KeyError too.
        """
        versions = self.versions(blob, iteration)
        if not versions:
            raise self._unknown(blob)
        found = MISSING if version is not None else self._last_hidden(blob, iteration)
        if found is MISSING:
            found = self._raw(blob, versions[-1] if version is None else version, iteration)
        if found is MISSING:
            raise UnknownValueError(f"{blob} has no version {version}; there are {', '.join(map(str, versions))}")
        return self.backend.to_host(found)

    def _raw(self, blob: str, version: int, iteration: int = -1) -> Any:
        round_ = self._rounds[iteration]
        if version == 0:
            return round_.initial[blob] if blob in round_.initial else self._last_hidden(blob, iteration)
        return round_.values.get(blob, {}).get(version, MISSING)

    def _unknown(self, blob: str) -> UnknownValueError:
        if any(blob in op.outputs or blob in op.inputs for op in self.ops):
            if self._keep is not None and blob not in self._keep:
                return UnknownValueError(f"{blob} was not kept; run with keep='all', or with {blob} among the names")
            return UnknownValueError(f"{blob} has no value{f': {self.stopped}' if self.stopped else ''}")
        from difflib import get_close_matches

        near = get_close_matches(blob, list(self), n=3)
        hint = f"; near are {', '.join(near)}" if near else ""
        return UnknownValueError(f"the run has no blob {blob}{hint}")

    def versions(self, blob: str, iteration: int = -1) -> list[int]:
        """The versions of a blob that have a value; empty where there is none.

        A blob that an operator made behind the net's back has version 0 only.
        """
        if not self._rounds:
            return []
        round_ = self._rounds[iteration]
        found = [0] * (blob in round_.initial) + sorted(round_.values.get(blob, ()))
        return found or [0] * (self._last_hidden(blob, iteration) is not MISSING)

    def gradient(self, blob: str, iteration: int = -1) -> Any:
        """A blob's gradient: an array, or a GradientSlice of two arrays (indices, values).

        Raises:
            UnknownValueError: no gradient was built for it, or its value was not kept.
        """
        name = self.input_to_grad.get(blob)
        if name is None and not self.input_to_grad:  # the net may have brought its gradient operators along
            name = next((each for each in (f"{blob}_grad", f"{blob}_autogen_grad") if each in self), None)
        if name is None:
            raise UnknownValueError(f"no gradient of {blob} was built")
        if isinstance(name, GradientSlice):
            return GradientSlice(*(self.value(each, iteration=iteration) for each in name))
        return self.value(name, iteration=iteration)

    def health(self, blob: str, version: int | None = None, iteration: int = -1) -> Health:
        """Figures of a value.

        Raises:
            UnknownValueError: there is no such value, or it was not kept.
        """
        return health_of(self.value(blob, version, iteration))

    @property
    def writes(self) -> list[Write]:
        """Every write of a tensor that was kept, in order of execution."""
        return [Write(*each, self.backend) for each in self._writes]

    @property
    def hidden_writes(self) -> list[Write]:
        """Changes of blobs that are no outputs of the operator that changed them, in order of execution.

        Their `version` is the one that the blob had, and keeps: nothing in the net says that it was written.
        """
        return [Write(*each, self.backend) for each in self._hidden]

    def save(self, path: str | Path, every_version: bool = False) -> None:
        """Write the values to an `.npz` file.

        Args:
            path: the file; it is replaced.
            every_version: False writes the last tensor of each blob under the blob's name; True every write, with a
                manifest (see `docs/vectors.md`), so that `compare` and `gradviz conformance` can align versions.
        """
        import numpy as np

        arrays = self._with_manifest() if every_version else {blob: self[blob] for blob in self}
        tensors = {name: _storable(value) for name, value in arrays.items() if isinstance(value, np.ndarray)}
        with Path(path).open("wb") as file:  # a file of that very name, whatever its suffix
            np.savez_compressed(file, **tensors)

    def _with_manifest(self) -> dict[str, Any]:
        import numpy as np

        from gradviz.proto import NetDef

        arrays: dict[str, Any] = {}
        inputs: list[dict[str, Any]] = []
        values: list[dict[str, Any]] = []
        hidden: list[dict[str, Any]] = []
        for name, value in self._rounds[0].initial.items() if self._rounds else ():
            if self.backend.is_array(value):
                inputs.append({"blob": name, "key": f"in/{len(inputs)}"})
                arrays[inputs[-1]["key"]] = self.backend.to_host(value)
        for write in (*self.writes, *self.hidden_writes):
            row = {name: getattr(write, name) for name in ("iteration", "op_index", "output", "blob", "version")}
            (hidden if write.output is None else values).append(row | {"key": f"val/{len(values) + len(hidden)}"})
            arrays[f"val/{len(values) + len(hidden) - 1}"] = write.value
        net = NetDef(op=[op.proto for op in self.ops])
        manifest = {
            "net_with_gradients_b64": base64.b64encode(net.SerializeToString()).decode(),
            "iterations": self.iterations,
            "inputs": inputs,
            "values": values,
            "hidden_writes": hidden,
        }
        return {"manifest": np.frombuffer(json.dumps(manifest).encode(), np.uint8), **arrays}

    # Versions by operator.

    def read_version(self, op_index: int, i: int) -> int:
        """The version that input `i` of an operator reads."""
        return self._version_table()[op_index][0][i]

    def written_version(self, op_index: int, i: int) -> int:
        """The version that output `i` of an operator writes."""
        return self._version_table()[op_index][1][i]

    def _version_table(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        if self._versions is None:
            self._versions = version_table(self.ops)
        return self._versions

    # Memory and ills.

    @property
    def peak_bytes(self) -> int:
        """The most bytes that all values together took at one time; shared memory counts once."""
        if self._keep is None:
            return self._bytes_of_everything()
        counts: Counter[int] = Counter()
        held: dict[str, tuple[int, int]] = {}
        now = peak = 0
        for name, owner, size in self._memory:
            before = held.pop(name, None)
            if owner:
                held[name] = (owner, size)
                now += 0 if counts[owner] else size
                counts[owner] += 1
                peak = max(peak, now)  # what is overwritten is there until the write is done
            if before is not None:
                counts[before[0]] -= 1
                now -= 0 if counts[before[0]] else before[1]
        return peak

    def _bytes_of_everything(self) -> int:
        owners = dict(
            owner_of(value)
            for round_ in self._rounds
            for value in (*round_.initial.values(), *(v for each in round_.values.values() for v in each.values()))
        )
        return sum(owners.values())

    @property
    def first_bad(self) -> Bad | None:
        """The first operator whose output has NaN or Inf while its inputs had none; None where all is well."""
        return next((each for each in self.bad() if each.what == "born"), None)

    @property
    def bad_inputs(self) -> list[str]:
        """Feeds and parameters that hold NaN or Inf from the start."""
        xp = self.backend.xp
        return [name for name, value in self._rounds[0].initial.items() if is_bad(xp, value)] if self._rounds else []

    def bad(self) -> Iterator[Bad]:
        """The operators at which NaN or Inf are born, spread or die, in order of execution; only values kept count."""
        for iteration, round_ in enumerate(self._rounds):
            bad = {name for name, value in round_.initial.items() if is_bad(self.backend.xp, value)}
            for op_index, op in enumerate(self.ops):
                found = self._bad_at(iteration, op_index, op, bad)
                if found is not None:
                    yield found

    def _bad_at(self, iteration: int, op_index: int, op: Op, bad: set[str]) -> Bad | None:
        reads, writes = self._version_table()[op_index]
        sources = [(name, version) for name, version in zip(op.inputs, reads, strict=True) if name in bad]
        targets = []
        for name, version in zip(op.outputs, writes, strict=True):
            value = self._raw(name, version, iteration)
            bad.discard(name)
            if value is not MISSING and is_bad(self.backend.xp, value):
                bad.add(name)
                targets.append((name, version))
        if not sources and not targets:
            return None
        what = "spreads" if sources and targets else "dies" if sources else "born"
        at = targets or sources
        health = tuple(self.health(name, version, iteration) for name, version in at)
        return Bad(iteration, op_index, op, what, tuple(name for name, _ in at), health)

    def __repr__(self) -> str:
        return f"Workspace({len(self.ops)} ops, {len(list(self))} blobs, {self.iterations} iterations)"


def version_table(ops: Sequence[Op]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each operator the versions that it reads and writes, counted as in a Workspace."""
    written: dict[str, int] = {}
    table = []
    for op in ops:
        reads = tuple([written.get(name, 0) for name in op.inputs])
        writes = []
        for name in op.outputs:
            written[name] = written.get(name, 0) + 1
            writes.append(written[name])
        table.append((reads, tuple(writes)))
    return table


def _storable(value: Any) -> Any:
    """Text as bytes of a fixed width, which a file holds without pickling."""
    return value.astype("S") if value.dtype.kind == "O" else value


def owner_of(value: Any) -> tuple[int, int]:
    """Identity and size in bytes of the memory behind a value; (0, 0) for what is no array."""
    try:
        base = value.base
        if base is not None and hasattr(base, "nbytes"):
            value = base
        return id(value), value.nbytes
    except AttributeError:
        return 0, 0
