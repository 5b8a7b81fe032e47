"""The language in which gradient rules are written.

Most rules are one `emit(...)`: the gradient operator's type, its inputs and its outputs, in Caffe2's letters. `I` and
`O` are the forward operator's inputs and outputs, `GO` and `GI` the gradients of its outputs and inputs; `GO_I`,
`GO_V`, `GI_I` and `GI_V` are the indices and values of sparse ones. Odd rules are short functions of a `Maker`, which
has the same letters as methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from gradviz.errors import GradientError
from gradviz.ops.arguments import Arguments
from gradviz.ops.records import GradientOp, GradientSlice

if TYPE_CHECKING:
    from gradviz.ops.records import Gradient, Op
    from gradviz.proto import Argument

Rule = Callable[["Maker"], "list[GradientOp]"]


class Maker:
    """One question to a rule: an operator and the gradients of its outputs; collects the gradients of its inputs.

    Attributes:
        op: the forward operator.
        g_output: for each output its gradient: None, a name, or a slice.
        g_input: for each input its gradient; the rule fills it, through `GI` and its kin or by assignment.
    """

    __slots__ = ("_arguments", "g_input", "g_output", "op")

    def __init__(self, op: Op, g_output: Sequence[Gradient]) -> None:
        self.op = op
        self.g_output = g_output
        self.g_input: list[Gradient] = [None] * len(op.inputs)
        self._arguments: Arguments | None = None

    @property
    def args(self) -> Arguments:
        """The forward operator's arguments, read strictly."""
        if self._arguments is None:
            self._arguments = Arguments(self.op.proto.arg)
        return self._arguments

    # The letters.

    def I(self, i: int) -> str:  # noqa: E743
        """Name of input `i`."""
        if i >= len(self.op.inputs):
            self.refuse(f"the rule reads input {i}, but there are {len(self.op.inputs)} inputs")
        return self.op.inputs[i]

    def O(self, i: int) -> str:  # noqa: E743
        """Name of output `i`."""
        if i >= len(self.op.outputs):
            self.refuse(f"the rule reads output {i}, but there are {len(self.op.outputs)} outputs")
        return self.op.outputs[i]

    def GO(self, i: int) -> str:
        """Name of the dense gradient of output `i`; refused where it is sparse or missing."""
        found = self.g_output[i] if i < len(self.g_output) else None
        if type(found) is str:
            return found
        return self._expected("dense", i, found)

    def GO_I(self, i: int) -> str:
        """Name of the indices of the sparse gradient of output `i`; refused where it is dense or missing."""
        return self._slice(i).indices

    def GO_V(self, i: int) -> str:
        """Name of the values of the sparse gradient of output `i`; refused where it is dense or missing."""
        return self._slice(i).values

    def GI(self, i: int) -> str:
        """Give input `i` a dense gradient under its usual name, `<input>_grad`."""
        name = self.I(i) + "_grad"
        self.g_input[i] = name
        return name

    def GI_I(self, i: int) -> str:
        """Give input `i` a sparse gradient under its usual names; the name of the indices."""
        return self._set_slice(i).indices

    def GI_V(self, i: int) -> str:
        """Give input `i` a sparse gradient under its usual names; the name of the values."""
        return self._set_slice(i).values

    # Questions and answers beside the letters.

    def has_GO(self, i: int) -> bool:
        """Whether output `i` has a gradient, dense or sparse."""
        return i < len(self.g_output) and self.g_output[i] is not None

    def is_dense(self, i: int) -> bool:
        """Whether output `i` has a dense gradient."""
        return i < len(self.g_output) and type(self.g_output[i]) is str

    def is_sparse(self, i: int) -> bool:
        """Whether output `i` has a sparse gradient."""
        return i < len(self.g_output) and isinstance(self.g_output[i], GradientSlice)

    def make(
        self,
        type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *own: Argument,
        copied: str | None = "after",
    ) -> GradientOp:
        """A gradient operator that copies the forward operator's device option, engine and (see `copied`) arguments."""
        return GradientOp(type, inputs, outputs, own, self.op, copied)

    def refuse(self, reason: str, **facts: object) -> NoReturn:
        """Refuse to make a gradient.

        Raises:
            GradientError: kind `make_gradient_other`; `reason` completes "no gradient of <type>: ...".
        """
        raise GradientError(
            f"no gradient of {self.op.type}: {reason}",
            kind="make_gradient_other",
            facts={"op_type": self.op.type, **facts},
        )

    def _slice(self, i: int) -> GradientSlice:
        found = self.g_output[i] if i < len(self.g_output) else None
        return found if isinstance(found, GradientSlice) else self._expected("sparse", i, found)

    def _set_slice(self, i: int) -> GradientSlice:
        name = self.I(i)
        made = GradientSlice(name + "_grad_indices", name + "_grad_values")
        self.g_input[i] = made
        return made

    def _expected(self, wanted: str, i: int, found: Gradient) -> NoReturn:
        was = "not provided" if found is None else "sparse" if isinstance(found, GradientSlice) else "dense"
        blob = self.op.outputs[i] if i < len(self.op.outputs) else f"#{i}"
        raise GradientError(
            f"{self.op.type} needs a {wanted} gradient of its output {blob}, which is {was}",
            kind="expected_dense" if wanted == "dense" else "make_gradient_other",
            facts={"op_type": self.op.type, "blob": blob, "was": was, "wanted": wanted},
        )


@dataclass(frozen=True, slots=True)
class Ref:
    """One name in a rule's table: a letter of `Maker` and an index."""

    letter: str
    index: int

    def __str__(self) -> str:
        return f"{self.letter}({self.index})"


def I(i: int) -> Ref:  # noqa: E743
    """The forward operator's input `i`."""
    return Ref("I", i)


def O(i: int) -> Ref:  # noqa: E743
    """The forward operator's output `i`."""
    return Ref("O", i)


def GO(i: int) -> Ref:
    """The dense gradient of output `i`."""
    return Ref("GO", i)


def GO_I(i: int) -> Ref:
    """The indices of the sparse gradient of output `i`."""
    return Ref("GO_I", i)


def GO_V(i: int) -> Ref:
    """The values of the sparse gradient of output `i`."""
    return Ref("GO_V", i)


def GI(i: int) -> Ref:
    """The dense gradient of input `i`."""
    return Ref("GI", i)


def GI_I(i: int) -> Ref:
    """The indices of the sparse gradient of input `i`."""
    return Ref("GI_I", i)


def GI_V(i: int) -> Ref:
    """The values of the sparse gradient of input `i`."""
    return Ref("GI_V", i)


class Emit:
    """A rule that always makes the same gradient operators from the same letters."""

    __slots__ = ("_plan", "copied", "inputs", "outputs", "own", "type")

    def __init__(
        self, type: str, inputs: Sequence[Ref], outputs: Sequence[Ref], own: tuple[Argument, ...], copied: str | None
    ) -> None:
        self.type = type
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.own = own
        self.copied = copied
        # Unbound methods and indices, looked up once: the walk asks a rule for every operator of a net.
        self._plan = tuple(
            tuple((getattr(Maker, ref.letter), ref.index) for ref in refs) for refs in (self.inputs, self.outputs)
        )

    def __call__(self, maker: Maker) -> list[GradientOp]:
        inputs, outputs = self._plan
        return [
            GradientOp(
                self.type,
                [letter(maker, i) for letter, i in inputs],
                [letter(maker, i) for letter, i in outputs],
                self.own,
                maker.op,
                self.copied,
            )
        ]

    def __str__(self) -> str:
        return f"{self.type}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


def emit(
    type: str, inputs: Sequence[Ref], outputs: Sequence[Ref], *own: Argument, copied: str | None = "after"
) -> Emit:
    """A rule that makes one gradient operator.

    Args:
        type: type of the gradient operator.
        inputs: what it reads.
        outputs: what it writes.
        own: arguments that the rule gives itself.
        copied: where the forward operator's arguments stand: `after` the rule's own, `before` them, or None.
    """
    return Emit(type, inputs, outputs, own, copied)


def from_output(type: str) -> Emit:
    """The commonest rule: the gradient operator reads the forward output and its gradient."""
    return emit(type, [O(0), GO(0)], [GI(0)])


def from_input(type: str) -> Emit:
    """The same with the forward input in place of the output."""
    return emit(type, [I(0), GO(0)], [GI(0)])


def pass_through(*inputs: int, output: int = 0) -> Rule:
    """A rule without operators: the (dense) gradient of `output` is the gradient of each of `inputs`, by name.

    With no `inputs` it goes to every input.
    """

    def rule(maker: Maker) -> list[GradientOp]:
        name = maker.GO(output)
        for i in inputs or range(len(maker.op.inputs)):
            maker.g_input[i] = name
        return []

    return rule


def each_part(type: str) -> Rule:
    """A rule for operators that act row by row: `type` on the dense gradient, or on both halves of a slice."""

    def rule(maker: Maker) -> list[GradientOp]:
        if maker.is_dense(0):
            return [maker.make(type, [maker.GO(0)], [maker.GI(0)])]
        return [
            maker.make(type, [maker.GO_I(0)], [maker.GI_I(0)]),
            maker.make(type, [maker.GO_V(0)], [maker.GI_V(0)]),
        ]

    return rule
