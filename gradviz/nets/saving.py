"""Write nets: binary or text, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from gradviz.errors import GradvizError
from gradviz.nets.files import shown, write_atomically
from gradviz.nets.model import as_net

_BINARY = (".pb",)
_TEXT = (".pbtxt", ".prototxt", ".txt")


def save(net: Any, path: str | os.PathLike[str]) -> Path:
    """Write a net, binary (`.pb`) or text (`.pbtxt`, `.prototxt`, `.txt`) by the suffix of `path`.

    A file that stands there is replaced in one step; where writing fails it stays as it was.

    Args:
        net: a Model (its net, not its init net), a NetDef, or what else `as_net` takes.
        path: the file to write.

    Returns:
        The path.

    Raises:
        GradvizError: the suffix says no format, or the file cannot be written.
    """
    target = Path(os.fsdecode(path))
    suffix = target.suffix.lower()
    if suffix not in _BINARY + _TEXT:
        raise GradvizError(f"{shown(target)}: end the name in .pb (binary) or .pbtxt (text), which chooses the format")
    write_atomically(target, to_bytes(as_net(net), text=suffix in _TEXT))
    return target


def to_bytes(net: Any, *, text: bool) -> bytes:
    """A net as the content of a file.

    Args:
        net: what `as_net` takes.
        text: as text in UTF-8, else binary, the same bytes for the same net.
    """
    source = as_net(net)
    if text:
        return text_format.MessageToString(source, as_utf8=True).encode()
    return source.SerializeToString(deterministic=True)
