"""Versions of blobs as the backward walk counts them, for nets that were not walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradviz.ops.records import Op


def played(ops: Iterable[Op]) -> Iterator[tuple[Op, tuple[int, ...], tuple[int, ...]]]:
    """Operators with the version that each input reads and that each output writes.

    A blob that is read before it is written has version 0 then; one that is written first starts at 0.
    """
    versions: dict[str, int] = {}
    for op in ops:
        read = tuple([versions.setdefault(name, 0) for name in op.inputs])
        written = []
        for name in op.outputs:
            versions[name] = versions.get(name, -1) + 1
            written.append(versions[name])
        yield op, read, tuple(written)
