"""Pictures as planes (N, C, size): what normalisations do with them, in few passes over the data."""

from __future__ import annotations

import math
from typing import Any

from gradviz.ops._checks import require
from gradviz.ops._windows import channels_first, channels_last
from gradviz.ops.dtypes import expect


def as_planes(x: Any, order: str) -> Any:
    """`x` as (N, C, size): a view where its channels are in front already."""
    x = channels_first(x, order)
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def as_pictures(xp: Any, planes: Any, like: Any, order: str) -> Any:
    """The reverse of `as_planes`: the shape of `like`."""
    return channels_last(xp, planes.reshape(channels_first(like, order).shape), order)


def dot(a: Any, b: Any) -> Any:
    """Inner products of planes, (..., size) twice to (...), without a product in between."""
    return (a[..., None, :] @ b[..., :, None])[..., 0, 0]


def totals(xp: Any, planes: Any) -> Any:
    """Sums over the last dimension, (..., size) to (...): as a product, which takes a third of the time of `sum`."""
    size = planes.shape[-1]
    if planes.strides[-1] != planes.itemsize:
        return planes.sum(axis=-1)
    return (planes.reshape(math.prod(planes.shape[:-1]), size) @ xp.ones(size, planes.dtype)).reshape(planes.shape[:-1])


def affine(planes: Any, factor: Any, offset: Any) -> Any:
    """`planes` · `factor` + `offset`, with one factor and one offset for each plane, or for each channel."""
    y = planes * factor[..., None]
    y += offset[..., None]
    return y


def of_channels(planes: Any, *vectors: Any) -> None:
    """Refuse vectors that have not one entry for each channel."""
    expect("float32", planes, *vectors)
    for vector in vectors:
        require(vector.size == planes.shape[1], f"{vector.size} entries do not fit {planes.shape[1]} channels")


def moments(xp: Any, planes: Any, epsilon: float) -> tuple[Any, Any]:
    """Mean and inverse deviation over the last dimension."""
    real, size = planes.dtype.type, max(1, planes.shape[-1])
    mean = totals(xp, planes) / real(size)
    centred = planes - mean[..., None]
    return mean, 1 / xp.sqrt(dot(centred, centred) / real(size) + real(epsilon))


def through_moments(normal: Any, slopes: Any, factor: Any, along: Any, mean: Any) -> Any:
    """The gradient of what was normalised over the last dimension; `normal` is used up.

    Args:
        normal: the normalised planes, (..., size).
        slopes: the gradient of those planes, but for `factor`, (..., size).
        factor: what the gradient is to be multiplied by, the inverse deviation included.
        along: the mean product of `slopes` and `normal`.
        mean: the mean of `slopes`.
    """
    normal *= -along[..., None]
    normal += slopes
    normal -= mean[..., None]
    normal *= factor[..., None]
    return normal
