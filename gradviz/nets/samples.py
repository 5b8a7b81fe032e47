"""The sample nets that come with gradviz: what each is called, what it shows, and what feeds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample net.

    Attributes:
        name: what it is opened by.
        file: its file in the samples' folder; its init net lies beside it.
        shows: what it is there for, in one line.
        ys: what gradients are asked of: names, or names with given gradients; None: as gradviz chooses.
        feeds: for each input that the init net does not fill, what to feed: `8x1x28x28` (floats) or `8:int32`.
    """

    name: str
    file: str
    shows: str
    ys: Sequence[str] | Mapping[str, str | None] | None = None
    feeds: Mapping[str, str] = field(default_factory=dict)


SAMPLES: tuple[Sample, ...] = ()


def folder() -> Path:
    """Where the files are: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "sample_nets"
    return installed if installed.is_dir() else _PACKAGE.parent / "sample_nets"


def get(name: str) -> Sample | None:
    """The sample of a name, or None."""
    return next((sample for sample in SAMPLES if sample.name == name), None)


def find(name: str) -> Path | None:
    """The file of a sample, or None where there is no such sample or its file is missing."""
    sample = get(name)
    path = folder() / sample.file if sample else None
    return path if path is not None and path.is_file() else None
