"""Light records of operators.

Protobuf messages are slow to read field by field, so an operator's type, inputs and outputs are read once and then
travel as plain tuples; everything else stays in the message and is read when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradviz.proto import OperatorDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradviz.proto import Argument, DeviceOption


class GradientSlice(NamedTuple):
    """A sparse gradient: the rows `values` belong to the rows `indices` of the blob.

    Attributes:
        indices: name of an integer blob of shape (n,), or (n, ...) for multi-dimensional ids.
        values: name of a blob of shape (n, ...) with the gradient's rows.
    """

    indices: str
    values: str


# A gradient as the walk carries it: none, one dense blob, or a slice.
Gradient: TypeAlias = "str | GradientSlice | None"


class BlobReference(str):
    """A blob named outright: as a y, no name scope is put before it."""

    __slots__ = ()


class Op:
    """A forward operator, read once.

    Attributes:
        type: operator type.
        inputs: names of the blobs it reads, in order.
        outputs: names of the blobs it writes, in order.
        proto: the message it was read from.
    """

    __slots__ = ("inputs", "outputs", "proto", "type")

    def __init__(self, proto: OperatorDef, names: dict[str, str] | None = None) -> None:
        """Read `proto`; `names` interns blob names across a net, so that each is kept once."""
        self.proto = proto
        self.type = proto.type
        if names is None:
            self.inputs = tuple(proto.input)
            self.outputs = tuple(proto.output)
        else:
            keep = names.setdefault
            self.inputs = tuple([keep(name, name) for name in proto.input])
            self.outputs = tuple([keep(name, name) for name in proto.output])

    @property
    def device(self) -> DeviceOption | None:
        """The device option, None where it is not set."""
        return self.proto.device_option if self.proto.HasField("device_option") else None

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})"


class GradientOp:
    """A gradient operator as a rule made it; `to_proto` spells it out.

    Attributes:
        type: operator type.
        inputs: names of the blobs it reads, in order.
        outputs: names of the blobs it writes, in order, before any renaming.
        own: the arguments that the rule itself gave.
        forward: the operator whose gradient this is; its device option and engine are copied; None if
            `template` is set.
        copied: where the forward operator's arguments stand: `after` the rule's own, `before` them, or None
            (not copied).
        template: the whole message, for rules that build messages; then the fields above only mirror it.
    """

    __slots__ = ("copied", "forward", "inputs", "outputs", "own", "template", "type")

    def __init__(
        self,
        type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        own: tuple[Argument, ...] = (),
        forward: Op | None = None,
        copied: str | None = None,
        template: OperatorDef | None = None,
    ) -> None:
        self.type = type
        self.inputs = inputs
        self.outputs = outputs
        self.own = own
        self.forward = forward
        self.copied = copied
        self.template = template

    @classmethod
    def from_proto(cls, proto: OperatorDef) -> GradientOp:
        """Wrap a message that is complete as it stands."""
        return cls(proto.type, tuple(proto.input), tuple(proto.output), template=proto)

    @property
    def device(self) -> DeviceOption | None:
        """The device option that the spelt-out operator has, None where it is not set."""
        if self.template is not None:
            return self.template.device_option if self.template.HasField("device_option") else None
        return None if self.forward is None else self.forward.device

    def to_proto(self, outputs: Iterable[str] | None = None) -> OperatorDef:
        """Spell the operator out.

        Args:
            outputs: names in place of `outputs`, after renames.
        """
        proto = OperatorDef()
        if self.template is not None:
            proto.CopyFrom(self.template)
        else:
            self._spell(proto)
        if outputs is not None:
            proto.output[:] = outputs
        return proto

    def _spell(self, proto: OperatorDef) -> None:
        proto.input.extend(self.inputs)
        proto.output.extend(self.outputs)
        proto.name = ""
        proto.type = self.type
        proto.is_gradient_op = True
        if self.forward is None:
            proto.arg.extend(self.own)
            return
        source = self.forward.proto
        if self.copied == "before":
            proto.arg.extend(source.arg)
        proto.arg.extend(self.own)
        if self.copied == "after":
            proto.arg.extend(source.arg)
        if source.HasField("device_option"):
            proto.device_option.CopyFrom(source.device_option)
        if source.HasField("engine"):
            proto.engine = source.engine

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})"
