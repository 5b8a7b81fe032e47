"""What a reader found in a file, before it is known which net was meant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradviz.proto import MetaNetDef, NetDef, OperatorDef, PlanDef, TensorProto


@dataclass(slots=True)
class Contents:
    """A message read from a file.

    Attributes:
        message: a NetDef, or what nets are found inside of.
        format: as in `Model.format`.
        notices: what was accepted although it is not as it should be.
        tensors: what stood beside the message, by blob name.
    """

    message: NetDef | PlanDef | MetaNetDef | OperatorDef
    format: str
    notices: list[str] = field(default_factory=list)
    tensors: dict[str, TensorProto] = field(default_factory=dict)
