"""The events of a backward walk: small immutable records, in the order in which things happen.

State is a fold over them (`state.py`), each can be undone, and each says itself in one plain sentence, which is what
the screen, `gradviz trace`, the reports and the errors print. They are tuples, because a walk over 100,000
operators makes more than a million of them.

Every event has `phase` (one of `PHASES`), `kind` (its name in lower case), `op_index` (the forward operator being
visited, None outside of a visit), `blobs` (the names it touches) and `sentence()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from gradviz.autodiff.generators import Generator
    from gradviz.errors import GradientError
    from gradviz.ops.records import Gradient, GradientOp, Op

PHASES = (
    "play",
    "seed",
    "enter",
    "make",
    "check",
    "collect",
    "merge",
    "pass_through",
    "frontier",
    "map",
    "accumulate",
    "end",
)
"""Names of the phases, in the order in which one forward operator goes through them."""


def spoken(gradient: Gradient) -> str:
    """A gradient as a sentence names it."""
    if gradient is None:
        return "none"
    if isinstance(gradient, GradientSlice):
        return f"the slice ({gradient.indices}, {gradient.values})"
    return gradient or '""'


def versioned(name: str, version: int) -> str:
    """A blob at a version: the name with the version as a subscript."""
    return name + str(version).translate(_SUBSCRIPTS)


_SUBSCRIPTS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Names as a sentence lists them."""
    return ", ".join(names) if names else "nothing"


class Play(NamedTuple):
    """A forward operator was played: which versions it reads and writes.

    Attributes:
        in_versions: one for each input.
        out_versions: one for each output; a name that stands twice is raised twice.
        added: blobs that were unknown until now.
    """

    op_index: int
    op: Op
    in_versions: tuple[int, ...]
    out_versions: tuple[int, ...]
    added: tuple[str, ...]

    @property
    def phase(self) -> str:
        return "play"

    @property
    def kind(self) -> str:
        return "play"

    @property
    def blobs(self) -> tuple[str, ...]:
        return self.op.inputs + self.op.outputs

    def sentence(self) -> str:
        read = listed([versioned(*each) for each in zip(self.op.inputs, self.in_versions, strict=True)])
        written = listed([versioned(*each) for each in zip(self.op.outputs, self.out_versions, strict=True)])
        return f"Op {self.op_index}, {self.op.type}, reads {read} and writes {written}."


class Seed(NamedTuple):
    """A y got its gradient: one that was given, or ones made by a ConstantFill.

    Attributes:
        gradient_op: index of the ConstantFill among the gradient operators, None if the gradient was given.
        op: the ConstantFill.
        generator: the generator that it is; a gradient that was given has none.
        usage: the number of forward operators; the y's list of readers gets this entry.
        added: whether the walk did not know the blob until now.
    """

    blob: str
    version: int
    gradient: Gradient
    gradient_op: int | None
    op: GradientOp | None
    generator: Generator | None
    usage: int
    added: bool

    @property
    def phase(self) -> str:
        return "seed"

    @property
    def kind(self) -> str:
        return "seed"

    @property
    def op_index(self) -> None:
        return None

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        blob = versioned(self.blob, self.version)
        unknown = " (no operator of the net reads or writes it)" if self.added else ""
        if self.gradient_op is None:
            return f"The gradient of {blob} is given: {spoken(self.gradient)}{unknown}."
        made = f"gradient op {self.gradient_op} fills {spoken(self.gradient)}"
        return f"The gradient of {blob} starts as ones: {made}{unknown}."


class Enter(NamedTuple):
    """An operator was reached, and at least one of its outputs has a gradient."""

    op_index: int
    op: Op
    g_output: tuple[Gradient, ...]

    @property
    def phase(self) -> str:
        return "enter"

    @property
    def kind(self) -> str:
        return "enter"

    @property
    def blobs(self) -> tuple[str, ...]:
        return self.op.outputs

    def sentence(self) -> str:
        found = [f"{name} has {spoken(g)}" for name, g in zip(self.op.outputs, self.g_output, strict=True)]
        return f"Op {self.op_index}, {self.op.type}, is reached; of its outputs, {listed(found)}."


class Skip(NamedTuple):
    """An operator was reached, and no output has a gradient: nothing is asked."""

    op_index: int
    op: Op

    @property
    def phase(self) -> str:
        return "enter"

    @property
    def kind(self) -> str:
        return "skip"

    @property
    def g_output(self) -> tuple[Gradient, ...]:
        return (None,) * len(self.op.outputs)

    @property
    def blobs(self) -> tuple[str, ...]:
        return self.op.outputs

    def sentence(self) -> str:
        why = f"no gradient arrives at {listed(self.op.outputs)}" if self.op.outputs else "it has no outputs"
        return f"Op {self.op_index}, {self.op.type}, is skipped: {why}."


class Make(NamedTuple):
    """The gradient rule answered.

    Attributes:
        first: where the made operators start among the gradient operators.
    """

    op_index: int
    op: Op
    first: int
    gradient_ops: tuple[GradientOp, ...]
    g_input: tuple[Gradient, ...]

    @property
    def phase(self) -> str:
        return "make"

    @property
    def kind(self) -> str:
        return "make"

    @property
    def blobs(self) -> tuple[str, ...]:
        return self.op.inputs

    def sentence(self) -> str:
        types = [op.type for op in self.gradient_ops]
        what = f"makes {', '.join(types)}" if types else "needs no operator"
        pairs = zip(self.op.inputs, self.g_input, strict=False)
        given = [f"{name} gets {spoken(g)}" for name, g in pairs if g is not None]
        return f"The gradient of {self.op.type} {what}; {', '.join(given) if given else 'no input gets a gradient'}."


class Check(NamedTuple):
    """One input of one gradient operator was checked: is it still the blob that the operator takes it for?

    Attributes:
        gradient_op: index among the gradient operators.
        name: the input's name.
        role: what it was taken for: `gradient` (of an output), `output`, `input`, `local` (written earlier in this
            step) or `unknown`.
        blob: the forward blob whose version is compared; empty for `local` and `unknown`.
        wanted: the version that the forward operator saw.
        found: the version that is current.
    """

    op_index: int
    gradient_op: int
    type: str
    name: str
    role: str
    blob: str
    wanted: int
    found: int

    @property
    def phase(self) -> str:
        return "check"

    @property
    def kind(self) -> str:
        return "check"

    @property
    def ok(self) -> bool:
        """Whether the check was passed."""
        return self.role != "unknown" and self.wanted == self.found

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob, self.name) if self.blob and self.blob != self.name else (self.name,)

    def sentence(self) -> str:
        what = f"{self.type} reads {self.name}"
        if self.role == "local":
            return f"{what}, which an earlier gradient op of this step wrote."
        if self.role == "unknown":
            return f"{what}, which is no gradient, output or input of op {self.op_index} and was not written before."
        of = f"the gradient of {self.blob}" if self.role == "gradient" else f"{self.role} of op {self.op_index}"
        if self.ok:
            return f"{what}, {of}: still version {self.wanted}."
        return f"{what}, {of}: it needs version {self.wanted}, but version {self.found} is there."


class Local(NamedTuple):
    """The outputs of one gradient operator became locally generated blobs."""

    op_index: int
    gradient_op: int
    type: str
    names: tuple[str, ...]

    @property
    def phase(self) -> str:
        return "collect"

    @property
    def kind(self) -> str:
        return "local"

    @property
    def blobs(self) -> tuple[str, ...]:
        return self.names

    def sentence(self) -> str:
        return f"{self.type} writes {listed(self.names)}: locally generated from here on."


class Dense(NamedTuple):
    """An output of a gradient operator is the dense gradient of an input: a generator was recorded."""

    op_index: int
    blob: str
    version: int
    generator: Generator
    input_index: int
    type: str

    @property
    def phase(self) -> str:
        return "collect"

    @property
    def kind(self) -> str:
        return "dense"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        g = self.generator
        return (
            f"{self.type}'s output {g.idx}, {g.gradient}, is the gradient of input {self.input_index} "
            f"({self.blob} at version {self.version}): a dense generator."
        )


class Half(NamedTuple):
    """An output of a gradient operator is one half of a sparse gradient."""

    op_index: int
    blob: str
    version: int
    generator: Generator
    half: str
    type: str

    @property
    def phase(self) -> str:
        return "collect"

    @property
    def kind(self) -> str:
        return "half"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        name = getattr(self.generator.gradient, self.half)
        return f"{self.type} writes {name}: the {self.half} of the sparse gradient of {self.blob} at {self.version}."


class Merge(NamedTuple):
    """The halves for one version of a blob became one sparse generator; a single half is kept as it is.

    Attributes:
        halves: how many there were, 1 or 2.
    """

    op_index: int
    blob: str
    version: int
    generator: Generator
    halves: int

    @property
    def phase(self) -> str:
        return "merge"

    @property
    def kind(self) -> str:
        return "merge"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        how = "Indices and values become" if self.halves == 2 else "The only half becomes"
        return f"{how} one sparse generator for {versioned(self.blob, self.version)}."


class PassThrough(NamedTuple):
    """A gradient that no gradient operator of this step wrote was recorded."""

    op_index: int
    blob: str
    version: int
    generator: Generator

    @property
    def phase(self) -> str:
        return "pass_through"

    @property
    def kind(self) -> str:
        return "pass_through"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        gradient = spoken(self.generator.gradient)
        return f"The gradient of {versioned(self.blob, self.version)} is {gradient} itself: it passes straight through."


class Frontier(NamedTuple):
    """The gradient frontier moved: the newest gradient of a blob belongs to this version now."""

    op_index: int
    blob: str
    version: int
    previous: int | None

    @property
    def phase(self) -> str:
        return "frontier"

    @property
    def kind(self) -> str:
        return "frontier"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        before = "" if self.previous is None else f" (it was {self.previous})"
        return f"The gradient frontier of {self.blob} is version {self.version}{before}."


class Map(NamedTuple):
    """A blob's entry in the gradient map was set.

    Attributes:
        previous: the entry before.
        known: whether there was one.
        summed: whether accumulation set it.
    """

    op_index: int
    blob: str
    gradient: Gradient
    previous: Gradient
    known: bool
    summed: bool

    @property
    def phase(self) -> str:
        return "accumulate" if self.summed else "map"

    @property
    def kind(self) -> str:
        return "map"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        before = f"; it was {spoken(self.previous)}" if self.known and self.previous != self.gradient else ""
        return f"The gradient of {self.blob} is now {spoken(self.gradient)}{before}."


class Verify(NamedTuple):
    """Accumulation looked at an input: is it time to add up, and can its generators be added?

    Attributes:
        usages: forward operators that read this version, in order; a y counts as one past the last.
        action: `single_use`, `not_first` (an earlier reader will add up) or `due`.
        generators: how many there are; 0 unless due.
        verified: whether there is something to add up.
    """

    op_index: int
    blob: str
    version: int
    usages: list[int]
    action: str
    generators: int
    verified: bool

    @property
    def phase(self) -> str:
        return "accumulate"

    @property
    def kind(self) -> str:
        return "verify"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        blob = versioned(self.blob, self.version)
        if self.action == "single_use":
            return f"{blob} is used once: nothing to add up."
        if self.action == "not_first":
            waits = "is added up there" if self.usages[0] != self.op_index else "waits"
            return f"{blob} is used {len(self.usages)} times, first by op {self.usages[0]}: it {waits}."
        if self.verified:
            return f"All {len(self.usages)} uses of {blob} are visited: its {self.generators} generators are added up."
        count = "one generator" if self.generators == 1 else "no generator"
        return f"All {len(self.usages)} uses of {blob} are visited, but it has {count}: nothing to add up."


class Rename(NamedTuple):
    """An output of a gradient operator was renamed, so that accumulation can tell it from the others."""

    op_index: int
    blob: str
    gradient_op: int
    output: int
    old: str
    new: str

    @property
    def phase(self) -> str:
        return "accumulate"

    @property
    def kind(self) -> str:
        return "rename"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob, self.old, self.new)

    def sentence(self) -> str:
        return f"Output {self.output} of gradient op {self.gradient_op} is renamed: {self.old} → {self.new}."


class Accumulate(NamedTuple):
    """A Sum, or two Concats, were added that make one gradient of several.

    Attributes:
        first: where they stand among the gradient operators.
        gradient: what they make.
    """

    op_index: int
    blob: str
    version: int
    first: int
    ops: tuple[GradientOp, ...]
    gradient: Gradient

    @property
    def phase(self) -> str:
        return "accumulate"

    @property
    def kind(self) -> str:
        return "accumulate"

    @property
    def blobs(self) -> tuple[str, ...]:
        return (self.blob,)

    def sentence(self) -> str:
        what = " and ".join(f"{op.type}({', '.join(op.inputs)})" for op in self.ops)
        return f"{what} makes {spoken(self.gradient)}, the whole gradient of {versioned(self.blob, self.version)}."


class Finish(NamedTuple):
    """The walk is through."""

    gradient_ops: int
    gradients: int

    @property
    def phase(self) -> str:
        return "end"

    @property
    def kind(self) -> str:
        return "finish"

    @property
    def op_index(self) -> None:
        return None

    @property
    def blobs(self) -> tuple[str, ...]:
        return ()

    def sentence(self) -> str:
        return f"Done: {self.gradient_ops} gradient ops; {self.gradients} blobs have a gradient."


class Fail(NamedTuple):
    """The walk stopped with an error, which carries its evidence."""

    error: GradientError

    @property
    def phase(self) -> str:
        return "end"

    @property
    def kind(self) -> str:
        return "fail"

    @property
    def op_index(self) -> int | None:
        return self.error.op_index

    @property
    def blobs(self) -> tuple[str, ...]:
        blob = self.error.facts.get("blob")
        return (blob,) if isinstance(blob, str) else ()

    def sentence(self) -> str:
        return f"Failed: {self.error}"


Event: TypeAlias = (
    Play
    | Seed
    | Enter
    | Skip
    | Make
    | Check
    | Local
    | Dense
    | Half
    | Merge
    | PassThrough
    | Frontier
    | Map
    | Verify
    | Rename
    | Accumulate
    | Finish
    | Fail
)
"""Any event."""
