"""What a net file holds once it is open, and how nets of other origins become ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError, EncodeError

from gradviz.errors import LoadError
from gradviz.proto import NetDef

if TYPE_CHECKING:
    from pathlib import Path

    from gradviz.proto import TensorProto


@dataclass(slots=True, repr=False)
class Model:
    """A net with what belongs to it.

    Attributes:
        net: the net itself.
        init: the net that fills its parameters, where there is one.
        path: the file it came from.
        format: `binary` or `text` (`plan`, `metanet` or `operator` before it where the file holds one of these),
            `minidb`, or `memory`.
        init_path: the file that `init` came from.
        notices: what was accepted although it is not as it should be, one sentence each.
        parameters: tensors that came along in a predictor export, by blob name.
        inputs: blobs that a predictor export names as its inputs.
        outputs: blobs that a predictor export names as its outputs.
    """

    net: NetDef
    init: NetDef | None = None
    path: Path | None = None
    format: str = "memory"
    init_path: Path | None = None
    notices: list[str] = field(default_factory=list)
    parameters: dict[str, TensorProto] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The net's own name, else the file's name without its suffix, else `net`."""
        return self.net.name or (self.path.stem if self.path else "") or "net"

    def __repr__(self) -> str:
        init = "no init net" if self.init is None else f"an init net of {len(self.init.op)}"
        return f"Model({self.name}: {len(self.net.op)} ops, {init}, {self.format})"


class SeveralNetsError(LoadError):
    """A file holds several nets, and none was chosen.

    Attributes:
        names: of the nets to choose from, in the order of the file.
    """

    def __init__(self, message: str, names: list[str]) -> None:
        super().__init__(message)
        self.names = names


def as_model(source: Any) -> Model:
    """A Model as it is; a net in memory as a Model of format `memory`.

    Args:
        source: what `as_net` takes.

    Raises:
        TypeError: it is none of these.
    """
    return source if isinstance(source, Model) else Model(net=as_net(source))


def as_net(source: Any) -> NetDef:
    """The NetDef of `source`.

    Args:
        source: a Model, a NetDef of ours (given back as it is, not copied), a NetDef of another generated module, or
            an object whose `Proto()` is one, such as Caffe2's `core.Net`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(source, NetDef):
        return source
    if isinstance(source, Model):
        return source.net
    if not isinstance(source, type) and callable(getattr(source, "Proto", None)):
        source = source.Proto()
    kind = getattr(getattr(source, "DESCRIPTOR", None), "full_name", "caffe2.NetDef")
    if isinstance(source, type) or not hasattr(source, "SerializeToString") or kind != "caffe2.NetDef":
        raise TypeError(f"a Model or a NetDef is needed, not {_described(source)}; gradviz.load opens files")
    try:
        return NetDef.FromString(source.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise TypeError(f"a NetDef is needed, but {_described(source)} does not serialize to one: {error}") from error


def _described(source: Any) -> str:
    return f"the class {source.__name__}" if isinstance(source, type) else f"a {type(source).__name__}"
