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


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "mlp",
        "mlp.pbtxt",
        "two fully connected layers and a loss: the plainest backward pass there is",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
    Sample(
        "lenet",
        "lenet.pb",
        "convolutions, pooling and a Relu in place, for 28x28 digits",
        ["loss"],
        {"data": "8x1x28x28", "label": "8:int32"},
    ),
    Sample(
        "squeezenet",
        "squeezenet.pb",
        "fire modules: a blob read by two branches, and Concat, whose gradient is Split",
        ["loss"],
        {"data": "2x3x32x32", "label": "2:int32"},
    ),
    Sample(
        "resnet20",
        "resnet20.pb",
        "shortcuts: each block's input gets two gradients, which are summed; batch normalization updates in place",
        ["loss"],
        {"data": "2x3x32x32", "label": "2:int32"},
    ),
    Sample(
        "inplace_relu",
        "inplace_relu.pbtxt",
        "an operator that writes over its input, and why that is lawful here: versions",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
    Sample(
        "shared_weights",
        "shared_weights.pbtxt",
        "one weight used twice: two dense gradients are renamed (autosplit) and added by Sum",
        ["loss"],
        {"left": "8x4", "right": "8x4"},
    ),
    Sample(
        "embedding",
        "embedding.pbtxt",
        "two lookups in one table: sparse gradients, joined by Concat instead of added",
        ["loss"],
        {"user": "8:int32", "item": "8:int32"},
    ),
    Sample(
        "two_losses",
        "two_losses.pbtxt",
        "two losses with given gradients, which say how much each of them counts",
        {"class_loss": "class_weight", "value_loss": "value_weight"},
        {"x": "8x4", "label": "8:int32", "target": "8x2"},
    ),
    Sample(
        "lstm_unrolled",
        "lstm_unrolled.pbtxt",
        "an LSTM of three steps written out: weights shared by the steps, and ZeroGradient",
        ["loss"],
        {"input": "3x4x5", "label": "4:int32"},
    ),
    Sample(
        "if_else",
        "if_else.pbtxt",
        "control flow: the gradient of If is an If, with a gradient Do in each branch",
        ["loss"],
    ),
    Sample(
        "version_mismatch",
        "version_mismatch.pbtxt",
        "error: an operator was added twice, so a gradient meets another version of its blob",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
    Sample(
        "overwritten_input",
        "overwritten_input.pbtxt",
        "error: weights are clipped in place before their gradient is built",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
    Sample(
        "blob_not_in_scope",
        "blob_not_in_scope.pbtxt",
        "error: a given gradient called by two letters is taken for a slice, and neither letter is a blob",
        {"y": "dy"},
        {"x": "8x4", "dy": "8x3"},
    ),
    Sample(
        "orphan_stop_gradient",
        "orphan_stop_gradient.pbtxt",
        "error: the output of a StopGradient is read by nobody",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
    Sample(
        "mixed_sparse_dense",
        "mixed_sparse_dense.pbtxt",
        "error: one table gets a sparse gradient from Gather and a dense one from FC",
        ["loss"],
        {"word": "8:int32", "label": "8:int32"},
    ),
    Sample(
        "no_gradient",
        "no_gradient.pbtxt",
        "error: an operator on the way to the loss has no gradient",
        ["loss"],
        {"x": "8x4", "label": "8:int32"},
    ),
)


def folder() -> Path:
    """Where the files are: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "sample_nets"
    return installed if installed.is_dir() else _PACKAGE.parent / "sample_nets"


def init_file(sample: Sample) -> str:
    """The name of a sample's init net, where it has one."""
    stem, dot, suffix = sample.file.rpartition(".")
    return f"{stem}_init{dot}{suffix}"


def get(name: str) -> Sample | None:
    """The sample of a name, or None."""
    return next((sample for sample in SAMPLES if sample.name == name), None)


def find(name: str) -> Path | None:
    """The file of a sample, or None where there is no such sample or its file is missing."""
    sample = get(name)
    path = folder() / sample.file if sample else None
    return path if path is not None and path.is_file() else None


def of(path: Path | None) -> Sample | None:
    """The sample whose file this is, or None."""
    if path is None:
        return None
    here = path.resolve()
    return next((each for each in SAMPLES if (folder() / each.file).resolve() == here), None)
