"""Measures of quality that are not differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, operator

if TYPE_CHECKING:
    from gradviz.ops.context import Context

operator("Accuracy", inputs=2, outputs=1, args="top_k", gradient=SHOULD_NOT)
operator("MultiClassAccuracy", inputs=2, outputs=2, gradient=SHOULD_NOT)
operator("APMeter", inputs=2, outputs=1, args="buffer_size", gradient=SHOULD_NOT)


def _checked(x: Any, label: Any) -> None:
    """Refuse what is not one row of scores and one label for each example."""
    expect("float32", x)
    expect("int32", label)
    require(x.ndim == 2 and label.ndim == 1, f"X {x.shape} and labels {label.shape} must be a matrix and a vector")
    require(x.shape[0] == label.size, f"{label.size} labels do not fit {x.shape[0]} rows")
    if label.size:
        least, most = int(label.min()), int(label.max())
        require(least >= 0 and most < x.shape[1], f"labels from {least} to {most} do not fit {x.shape[1]} classes")


@kernel("Accuracy")
def accuracy(xp: Any, x: Any, label: Any, *, top_k: int = 1) -> Any:
    """The share of rows where the label's score is among the `top_k` best; of equal scores the first counts more."""
    _checked(x, label)
    own = x[xp.arange(label.size), label][:, None]
    ahead = (x > own) | ((x == own) & (xp.arange(x.shape[1]) < label[:, None]))
    return (ahead.sum(axis=1) < top_k).mean(dtype=x.dtype)


@kernel("MultiClassAccuracy")
def multi_class_accuracy(xp: Any, x: Any, label: Any) -> Any:
    """For each class the share of its examples that are found, and how many examples it has."""
    _checked(x, label)
    classes = xp.arange(x.shape[1])
    of_class = label[:, None] == classes
    found = (of_class & (x.argmax(axis=1)[:, None] == classes)).sum(axis=0)
    amounts = of_class.sum(axis=0)
    return (found / xp.maximum(amounts, 1)).astype(x.dtype), amounts.astype("int32")


@kernel("APMeter")
def ap_meter(xp: Any, scores: Any, labels: Any, *, ctx: Context, buffer_size: int = 1000) -> Any:
    """The average precision of each class over the examples that the buffer holds, this call's included.

    A full buffer gives up from its front. Since the examples lie there sorted by their score, it forgets the best
    first, as upstream's does.
    """
    expect("float32", scores)
    expect("int32", labels)
    require(
        scores.ndim == 2 and scores.shape == labels.shape, f"scores {scores.shape} and labels {labels.shape} differ"
    )
    buffers = ctx.state.setdefault("buffers", [[] for _ in range(scores.shape[1])])
    require(len(buffers) == scores.shape[1], f"there were {len(buffers)} classes before")
    made = []
    new = zip(scores[-buffer_size:].T.tolist(), labels[-buffer_size:].T.tolist(), strict=True)
    for buffer, (column, truth) in zip(buffers, new, strict=True):
        del buffer[: max(0, len(buffer) + len(column) - buffer_size)]
        buffer.extend(zip(column, truth, strict=True))
        buffer.sort(key=lambda example: -example[0])
        made.append(_average_precision([truth for _, truth in buffer]))
    return xp.asarray(made, scores.dtype)


def _average_precision(truth: list[int]) -> float:
    """The mean precision at each true example of a list that is sorted by score."""
    hits, precisions = 0, []
    for place, label in enumerate(truth, start=1):
        hits += label
        if label == 1:
            precisions.append(hits / place)
    return sum(precisions) / max(1, len(precisions))
