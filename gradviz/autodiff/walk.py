"""The backward walk, in the order in which Caffe2's `IR` does it.

`Walk` holds the live state; `run` plays the forward operators into versions, checks that no StopGradient is an orphan,
seeds the ys, and visits the operators last one first. A visit asks the gradient rule, builds generators
(`build.py`), updates the gradient map, and accumulates (`accumulate.py`). Everything that happens is an event.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from gradviz.autodiff import diagnosis
from gradviz.autodiff.accumulate import accumulate
from gradviz.autodiff.build import build_generators
from gradviz.autodiff.events import Enter, Fail, Finish, Make, Map, Play, Seed, Skip
from gradviz.autodiff.generators import DenseGenerator
from gradviz.autodiff.recording import Recording
from gradviz.errors import GradientError
from gradviz.ops.arguments import arg
from gradviz.ops.records import BlobReference, GradientOp
from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gradviz.autodiff.generators import Generator
    from gradviz.autodiff.nested import Nest
    from gradviz.ops.records import Gradient, Op
    from gradviz.proto import DeviceOption

Answer: TypeAlias = tuple["Sequence[GradientOp]", "Sequence[Gradient]"]
"""What a rule answers: gradient operators, and a gradient for each input."""


class Visiting:
    """One visit to a forward operator, while it lasts.

    Attributes:
        index: the operator, counted within the walk.
        op_index: the operator, counted within the net.
        op: the operator.
        read: version read of each input, by name.
        written: version written of each output, by name.
    """

    __slots__ = ("index", "op", "op_index", "read", "written")

    def __init__(self, index: int, op_index: int, op: Op, play: Play) -> None:
        self.index = index
        self.op_index = op_index
        self.op = op
        self.read = dict(zip(op.inputs, play.in_versions, strict=True))
        self.written = dict(zip(op.outputs, play.out_versions, strict=True))


class Walk:
    """One walk while it runs.

    Attributes:
        ops: the forward operators.
        ask: gives the gradient of one operator: the registry, or what stands in for it.
        recording: receives the events.
        frontier: last version of each blob.
        usages: (blob, version) -> the operators that read it, in order.
        gradient_frontier: version to which the newest gradient of each blob belongs.
        generators: (blob, version) -> who makes its gradient.
        gradient_map: blob -> gradient, None for those that were looked at in vain.
        renamed: (gradient operator, output) -> name after renames.
        nest: makes walks over nested nets; what it made during a visit goes into the recording.
    """

    def __init__(
        self,
        ops: list[Op],
        ys: Mapping[str, Gradient],
        ask: Callable[[Op, Sequence[Gradient]], Answer],
        name_scope: str = "",
        device_scope: DeviceOption | None = None,
        offset: int = 0,
    ) -> None:
        self.ops = ops
        self.ys = ys
        self.ask = ask
        self.name_scope = name_scope
        self.device_scope = device_scope
        self.recording = Recording(ops, offset)
        self.emit = self.recording.events.append
        self.frontier: dict[str, int] = {}
        self.usages: dict[tuple[str, int], list[int]] = {}
        self.gradient_frontier: dict[str, int] = {}
        self.generators: dict[tuple[str, int], list[Generator]] = {}
        self.gradient_map: dict[str, Gradient] = {}
        self.renamed: dict[tuple[int, int], str] = {}
        self.error: GradientError | None = None
        self._pauses: Iterator[int] | None = None
        self.nest: Nest | None = None

    def run(self, visits: int | None = None) -> None:
        """Walk on: to the end or the error, or for so many visits; what comes before the first visit comes first."""
        with collector_paused():
            if self._pauses is None:
                self._pauses = self.walk()
                next(self._pauses, None)
            for _ in islice(self._pauses, visits):
                pass

    def walk(self) -> Iterator[int]:
        """Walk, pausing after the seeds and after every visit; yields the number of events so far."""
        op_index: int | None = None
        events = self.recording.events
        try:
            self._play()
            self._check_stop_gradients()
            self._seed()
            if events:  # else there is nothing to pause for: no operator and no y
                yield len(events)
            for op_index in range(len(self.ops) - 1, -1, -1):
                self._visit(op_index)
                yield len(events)
        except GradientError as error:
            self._fail(error, op_index)
            return
        gradients = sum(gradient is not None for gradient in self.gradient_map.values())
        self.emit(Finish(len(self.recording.gradient_ops), gradients))

    def _fail(self, error: GradientError, op_index: int | None) -> None:
        if error.op_index is None and op_index is not None:
            error.op_index = op_index + self.recording.offset
        if self.nest is not None and self.nest.made:
            self.recording.nested[len(self.recording.events)] = self.nest.take()
        diagnosis.add_evidence(error, self)
        self.error = error
        self.emit(Fail(error))

    # Playing forwards.

    def _play(self) -> None:
        recording, emit, offset = self.recording, self.emit, self.recording.offset
        frontier, usages, write = self.frontier, self.usages, self.recording.versions.add
        for index, op in enumerate(self.ops):
            added: list[str] = []
            read: list[int] = []
            for name in op.inputs:
                version = frontier.get(name, -1)
                if version < 0:
                    frontier[name] = version = 0
                    added.append(name)
                    write(index, name, 0)
                read.append(version)
                usages.setdefault((name, version), []).append(index)
            written: list[int] = []
            for name in op.outputs:
                version = frontier.get(name, -1) + 1
                if not version:
                    added.append(name)
                frontier[name] = version
                written.append(version)
                write(index, name, version)
            emit(Play(index + offset, op, tuple(read), tuple(written), tuple(added)))
        recording.plays = len(self.ops)
        recording.frontier = frontier

    def _check_stop_gradients(self) -> None:
        """A StopGradient whose output nobody reads stops nothing, which is surely not what was meant."""
        stops = [(index, op) for index, op in enumerate(self.ops) if op.type == "StopGradient"]
        read = {blob for blob, _ in self.usages} if stops else set()
        for index, op in stops:
            if not op.outputs:
                raise diagnosis.stop_gradient_without_output(index + self.recording.offset)
            if op.outputs[0] not in read:
                raise diagnosis.orphan_stop_gradient(index + self.recording.offset, op)

    # Seeding the ys.

    def _seed(self) -> None:
        end = len(self.ops)
        added: dict[str, bool] = {}
        for y in self.ys:
            added[y] = y not in self.frontier
            version = self.frontier.setdefault(y, 0)
            self.usages.setdefault((y, version), []).append(end)
            self.gradient_frontier[y] = version
        for y, gradient in self.ys.items():
            self._seed_one(y, gradient, added[y])

    def _seed_one(self, y: str, gradient: Gradient, added: bool) -> None:
        recording, version, mark = self.recording, self.frontier[y], len(self.recording.events)
        op: GradientOp | None = None
        index: int | None = None
        generator: Generator | None = None
        if gradient is None:
            op = self._ones(y)
            index = self.add_gradient_ops([op])
            gradient = op.outputs[0]
            generator = DenseGenerator(gradient, index, 0, op)
            self.add_generator(y, version, generator)
        if added:
            recording.versions.add(mark, y, version)
        self.gradient_map[y] = gradient
        recording.gradient_frontier.add(mark, y, version)
        recording.gradients.add(mark, y, gradient)
        self.emit(Seed(y, version, gradient, index, op, generator, len(self.ops), added))

    def _ones(self, y: str) -> GradientOp:
        """The ConstantFill that makes the gradient of a y; it is made under the scopes in force."""
        source = y if isinstance(y, BlobReference) else self.name_scope + y
        proto = OperatorDef(type="ConstantFill", name="", input=[source])
        proto.output.append(f"{self.name_scope}{y}_autogen_grad")
        proto.arg.append(arg("value", 1.0))
        if self.device_scope is not None:
            proto.device_option.CopyFrom(self.device_scope)
        return GradientOp.from_proto(proto)

    # Visiting one operator.

    def _visit(self, index: int) -> None:
        op, recording = self.ops[index], self.recording
        get = self.gradient_map.get
        g_output = tuple([get(name) for name in op.outputs])
        recording.visits.append(len(recording.events))
        play = recording.events[index]
        assert isinstance(play, Play)
        visit = Visiting(index, play.op_index, op, play)
        if g_output.count(None) < len(g_output) or op.type == "ZeroGradient":
            self.emit(Enter(play.op_index, op, g_output))
            self._make(visit, g_output)
        else:
            self.emit(Skip(play.op_index, op))
        accumulate(self, visit)

    def _make(self, visit: Visiting, g_output: tuple[Gradient, ...]) -> None:
        recording = self.recording
        made, g_input = self._asked(visit.op, g_output)
        if self.nest is not None and self.nest.made:
            recording.nested[len(recording.events)] = self.nest.take()
        first = self.add_gradient_ops(made)
        self.emit(Make(visit.op_index, visit.op, first, tuple(made), tuple(g_input)))
        build_generators(self, visit, made, first, g_output, g_input)
        self._update_map(visit, g_input)

    def _asked(self, op: Op, g_output: tuple[Gradient, ...]) -> Answer:
        try:
            return self.ask(op, g_output)
        except GradientError:
            raise
        except Exception as error:
            raise diagnosis.rule_raised(op, error) from error

    def _update_map(self, visit: Visiting, g_input: Sequence[Gradient]) -> None:
        """None does not hide an older gradient, unless the blob is also written here and so is another blob now."""
        known = self.gradient_map
        new = {
            name: gradient
            for name, gradient in zip(visit.op.inputs, g_input, strict=False)
            if gradient is not None or name not in known or name in visit.written
        }
        self.set_gradients(visit.op_index, new, summed=False)

    def set_gradients(self, op_index: int, new: Mapping[str, Gradient], *, summed: bool) -> None:
        """Set entries of the gradient map."""
        known, write, events = self.gradient_map, self.recording.gradients.add, self.recording.events
        for name, gradient in new.items():
            write(len(events), name, gradient)
            self.emit(Map(op_index, name, gradient, known.get(name), name in known, summed))
            known[name] = gradient

    def add_generator(self, blob: str, version: int, generator: Generator) -> None:
        """Record a generator; the event that says so is emitted next."""
        key = (blob, version)
        self.recording.generators.add(len(self.recording.events), key, generator)
        found = self.generators.get(key)
        if found is None:
            self.generators[key] = [generator]
        else:
            found.append(generator)

    def add_gradient_ops(self, made: Sequence[GradientOp]) -> int:
        """Append gradient operators; the event that says so is emitted next. Returns where they start."""
        recording = self.recording
        first = len(recording.gradient_ops)
        if made:
            recording.gradient_ops.extend(made)
            recording.op_counts.add(len(recording.events), None, first + len(made))
        return first

    def output_of(self, gradient_op: int, output: int) -> str:
        """The present name of an output of a gradient operator."""
        renamed = self.renamed.get((gradient_op, output))
        return self.recording.gradient_ops[gradient_op].outputs[output] if renamed is None else renamed


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from searching, over and over, a record that only grows and holds no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
