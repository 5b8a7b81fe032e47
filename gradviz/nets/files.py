"""Files on disk: found with help where a name is wrong, read whole, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gradviz.errors import GradvizError, LoadError
from gradviz.nets.words import count, listed, nearest, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NET_SUFFIXES = (".pb", ".pbtxt", ".prototxt", ".txt", ".minidb")
_LARGEST = 2**31 - 1  # bytes of one protobuf message
_MOST_NAMES = 5_000


def shown(path: Path | str) -> str:
    """A path as messages write it."""
    return plain(str(path))


def read(path: Path, known: Iterable[str] = ()) -> bytes:
    """The whole file.

    Args:
        path: where it is.
        known: further names that may have been meant where there is no such file.

    Raises:
        LoadError: there is none, it is no regular file, it may not be read, or it is larger than any net can be.
    """
    try:
        if path.is_dir():
            raise LoadError(_folder(path))
        if not path.exists():
            raise LoadError(_missing(path, known))
        if not path.is_file():
            raise LoadError(f"{shown(path)} is a device or a pipe: a net is read from a regular file")
        size = path.stat().st_size
        if size > _LARGEST:
            raise LoadError(
                f"{shown(path)} has {count(size, 'byte')}: a protobuf message ends at 2 GiB, so it is no net"
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise LoadError(f"{shown(path)} cannot be read: {reason(error)}") from error


def reason(error: OSError | ValueError) -> str:
    """The system's words for what went wrong, without its numbers."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words[:1].lower() + words[1:]


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole: into a new file beside it first, which then takes its place.

    Raises:
        GradvizError: it cannot be written; a file that stood there is as it was.
    """
    with replacing(path) as scratch, scratch.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a new, empty file beside `path` to fill, which takes its place in the end; nothing is left after a failure.

    Raises:
        GradvizError: it cannot be written; what stood there is as it was.
    """
    refuse_special(path)
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        scratch = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
        os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        try:
            yield scratch
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise GradvizError(f"{shown(path)} cannot be written: {reason(error)}") from error


def refuse_special(path: Path) -> None:
    """Refuse to write where a folder, a device or a pipe stands: a file that took its place would break it for all.

    Raises:
        GradvizError: one stands there.
    """
    try:
        if path.is_dir():
            raise GradvizError(f"{shown(path)} cannot be written: it is a folder, so name a file in it")
        if path.exists() and not path.is_file():
            raise GradvizError(f"{shown(path)} cannot be written: it is a device or a pipe, so name a file")
    except (OSError, ValueError) as error:
        raise GradvizError(f"{shown(path)} cannot be written: {reason(error)}") from error


def _folder(path: Path) -> str:
    nets = [name for name in _names(path) if Path(name).suffix in NET_SUFFIXES]
    hint = f"; nets in it: {listed(sorted(nets), most=4)}" if nets else ""
    return f"{shown(path)} is a folder: name the net file{hint}"


def _missing(path: Path, known: Iterable[str]) -> str:
    if not path.parent.exists():
        return f"{shown(path)} does not exist, nor does the folder {shown(path.parent)}"
    near = nearest(path.name, [*_names(path.parent), *known])
    hint = f"; did you mean {' or '.join(plain(name) for name in near)}?" if near else ""
    return f"{shown(path)} does not exist{hint}"


def _names(folder: Path) -> list[str]:
    try:
        return [each.name for each in islice(folder.iterdir(), _MOST_NAMES)]
    except OSError:
        return []
