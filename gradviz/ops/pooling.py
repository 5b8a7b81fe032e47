"""Pooling over windows and over regions of interest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops import _regions
from gradviz.ops._arrays import keep_where
from gradviz.ops._checks import require
from gradviz.ops._windows import (
    along,
    channels_first,
    channels_last,
    fold,
    fold_along,
    padded,
    parts,
    spread,
    spread_along,
    unpadded,
    windows,
)
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit

if TYPE_CHECKING:
    from gradviz.ops._windows import Windows
    from gradviz.ops.context import Context
    from gradviz.ops.rules import Emit

LOWEST = -3.4028234663852886e38
"""The least float32: what a maximum over nothing is."""


def _from_both(type: str) -> Emit:
    """A gradient operator that reads the input, the output and its gradient."""
    return emit(type, [I(0), O(0), GO(0)], [GI(0)])


operator("AveragePool", inputs=1, outputs=1, gradient=_from_both("AveragePoolGradient"))
operator("AveragePool1D", inputs=1, outputs=1, gradient=_from_both("AveragePool1DGradient"))
operator("AveragePool2D", inputs=1, outputs=1, gradient=_from_both("AveragePool2DGradient"))
operator("AveragePool3D", inputs=1, outputs=1, gradient=_from_both("AveragePool3DGradient"))
operator("AveragePoolGradient", inputs=3, outputs=1)
operator("AveragePool1DGradient", inputs=3, outputs=1)
operator("AveragePool2DGradient", inputs=3, outputs=1)
operator("AveragePool3DGradient", inputs=3, outputs=1)


def _prepared(x: Any, order: str, args: dict[str, Any]) -> tuple[Any, Windows]:
    """The picture with its channels first, and the geometry."""
    expect("float32", x)
    require(x.ndim >= 3, f"X has {x.ndim} dimensions where at least 3 are wanted")
    x = channels_first(x, order)
    return x, windows(args, x.shape[2:], pooling=True)


def _prepared_gradient(x: Any, y: Any, dy: Any, order: str, args: dict[str, Any]) -> tuple[Any, Any, Any, Windows]:
    x, w = _prepared(x, order, args)
    expect("float32", y, dy)
    y, dy = channels_first(y, order), channels_first(dy, order)
    require(
        y.shape == dy.shape == (*x.shape[:2], *w.out),
        f"Y {y.shape} and dY {dy.shape} do not fit {w.out} windows (channels first)",
    )
    return x, y, dy, w


def _shares(xp: Any, w: Windows, with_padding: Any, dtype: Any) -> Any:
    """One over the number of elements in each window, (*out) or a number; padding counts only where it is asked for."""
    if with_padding or not (any(w.head) or any(w.tail)):
        return dtype.type(1 / math.prod(w.kernel))
    counts: Any = xp.ones((), dtype)
    for head, size, kernel_size, stride, out in zip(w.head, w.size, w.kernel, w.stride, w.out, strict=True):
        first = xp.arange(out) * stride - head
        inside = xp.minimum(first + kernel_size, size) - xp.maximum(first, 0)
        counts = counts[..., None] * inside.astype(dtype)
    return 1 / counts


@kernel("AveragePool", "AveragePool1D", "AveragePool2D", "AveragePool3D")
def average_pool(xp: Any, x: Any, *, order: str = "NCHW", count_include_pad: int = 0, **args: Any) -> Any:
    """The mean of each window."""
    x, w = _prepared(x, order, args)
    y = fold(padded(xp, x, w), w, xp.add) * _shares(xp, w, count_include_pad, x.dtype)
    return channels_last(xp, y, order)


@kernel("AveragePoolGradient", "AveragePool1DGradient", "AveragePool2DGradient", "AveragePool3DGradient")
def average_pool_gradient(
    xp: Any, x: Any, y: Any, dy: Any, *, order: str = "NCHW", count_include_pad: int = 0, **args: Any
) -> Any:
    x, y, dy, w = _prepared_gradient(x, y, dy, order, args)
    return channels_last(xp, spread(xp, dy * _shares(xp, w, count_include_pad, x.dtype), w), order)


operator("MaxPool", inputs=1, outputs=1, gradient=_from_both("MaxPoolGradient"))
operator("MaxPool1D", inputs=1, outputs=1, gradient=_from_both("MaxPool1DGradient"))
operator("MaxPool2D", inputs=1, outputs=1, gradient=_from_both("MaxPool2DGradient"))
operator("MaxPool3D", inputs=1, outputs=1, gradient=_from_both("MaxPool3DGradient"))
operator("MaxPoolGradient", inputs=3, outputs=1)
operator("MaxPool1DGradient", inputs=3, outputs=1)
operator("MaxPool2DGradient", inputs=3, outputs=1)
operator("MaxPool3DGradient", inputs=3, outputs=1)


@kernel("MaxPool", "MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pool(xp: Any, x: Any, *, order: str = "NCHW", **args: Any) -> Any:
    """The greatest element of each window; NaN is skipped, and of nothing else the result is the least float32."""
    x, w = _prepared(x, order, args)
    y = fold(padded(xp, x, w, LOWEST), w, xp.fmax)
    return channels_last(xp, xp.fmax(y, x.dtype.type(LOWEST)), order)


@kernel("MaxPoolGradient", "MaxPool1DGradient", "MaxPool2DGradient", "MaxPool3DGradient")
def max_pool_gradient(xp: Any, x: Any, y: Any, dy: Any, *, order: str = "NCHW", **args: Any) -> Any:
    """Every element that equals its window's maximum gets the whole gradient."""
    x, y, dy, w = _prepared_gradient(x, y, dy, order, args)
    shape = x.shape
    x, y, dy = (each.reshape(shape[0] * shape[1], *each.shape[2:]) for each in (x, y, dy))
    dx = xp.empty(x.shape, dy.dtype)
    for part in parts(xp, x):
        dx[part] = _through_maxima(xp, x[part], y[part], dy[part], w)
    return channels_last(xp, dx.reshape(shape), order)


def _through_maxima(xp: Any, x: Any, y: Any, dy: Any, w: Windows) -> Any:
    """The gradient of planes (n, *size), back along one dimension after the other.

    An element is the maximum of its window just if it is the greatest of its row in the window, and that row's the
    greatest of all rows'.
    """
    folded = [padded(xp, x, w, LOWEST)]
    for axis in range(len(w.kernel) - 1):
        folded.append(fold_along(folded[-1], w, axis, xp.fmax))
    greatest = [*folded[1:], y]
    for axis in reversed(range(len(w.kernel))):
        reached, top = folded[axis], greatest[axis]
        pieces = (keep_where(reached[where] == top, dy) for where in along(w, axis))
        dy = spread_along(pieces, w, axis, xp.zeros(reached.shape, dy.dtype))
    return unpadded(xp, dy, w)


operator(
    "MaxPoolWithIndex", inputs=1, outputs=2, gradient=emit("MaxPoolWithIndexGradient", [I(0), GO(0), O(1)], [GI(0)])
)
operator("MaxPoolWithIndexGradient")
no_kernel("upstream computes it on CUDA devices only", "MaxPoolWithIndex", "MaxPoolWithIndexGradient")

operator(
    "LpPool", inputs=1, outputs=1, args="p kernel stride pad dilation order", gradient=_from_both("LpPoolGradient")
)
operator("LpPoolGradient", inputs=3, outputs=1)


@kernel("LpPool")
def lp_pool(xp: Any, x: Any, *, p: float = 2.0, order: str = "NCHW", **args: Any) -> Any:
    """The p-norm of each window."""
    x, w = _prepared(x, order, args)
    y = fold(padded(xp, xp.abs(x) ** x.dtype.type(p), w), w, xp.add) ** x.dtype.type(1 / p)
    return channels_last(xp, y, order)


@kernel("LpPoolGradient")
def lp_pool_gradient(xp: Any, x: Any, y: Any, dy: Any, *, p: float = 2.0, order: str = "NCHW", **args: Any) -> Any:
    x, y, dy, w = _prepared_gradient(x, y, dy, order, args)
    real = x.dtype.type
    dx = x * xp.abs(x) ** real(p - 2) * spread(xp, dy / y ** real(p - 1), w)
    return channels_last(xp, dx, order)


# Regions of interest: boxes in the coordinates of a picture, each preceded by the picture's index in the batch.

operator(
    "RoIPool",
    inputs=2,
    arities=[(2, 1), (2, 2)],
    args="is_test order pooled_h pooled_w spatial_scale",
    gradient=emit("RoIPoolGradient", [I(0), I(1), O(1), GO(0)], [GI(0)]),
)
operator("RoIPoolGradient", inputs=4, outputs=1)
no_kernel("upstream computes it on CUDA devices only", "RoIPoolGradient")


@kernel("RoIPool")
def roi_pool(
    xp: Any,
    x: Any,
    rois: Any,
    *,
    ctx: Context,
    is_test: int = 0,
    order: str = "NCHW",
    pooled_h: int = 1,
    pooled_w: int = 1,
    spatial_scale: float = 1.0,
) -> Any:
    """The greatest element of each of the bins of each region, and, unless in test, where in its plane it lies."""
    expect("float32", x, rois)
    require(order == "NCHW", "only order NCHW is computed")
    require(x.ndim == 4 and rois.ndim == 2 and rois.shape[1] == 5, f"X {x.shape}, RoIs {rois.shape} do not fit")
    require(is_test or ctx.outputs == 2, "unless is_test is given, it has a second output")
    return _regions.greatest(xp, x, rois, (pooled_h, pooled_w), spatial_scale)


_ALIGN_ARGS = "spatial_scale pooled_h pooled_w sampling_ratio"

operator(
    "RoIAlign",
    inputs=2,
    outputs=1,
    args=_ALIGN_ARGS,
    gradient=emit("RoIAlignGradient", [I(0), I(1), GO(0)], [GI(0)]),
)
operator("RoIAlignGradient", inputs=3, outputs=1)
operator(
    "RoIAlignRotated",
    inputs=2,
    outputs=1,
    args=_ALIGN_ARGS,
    gradient=emit("RoIAlignRotatedGradient", [I(0), I(1), GO(0)], [GI(0)]),
)
operator("RoIAlignRotatedGradient", inputs=3, outputs=1)
no_kernel("upstream computes it on CUDA devices only", "RoIAlignRotatedGradient")


@kernel("RoIAlign")
def roi_align(
    xp: Any,
    x: Any,
    rois: Any,
    *,
    order: str = "NCHW",
    pooled_h: int = 1,
    pooled_w: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: int = 0,
) -> Any:
    """The mean of bilinear samples in each of the bins of each region."""
    expect("float32", x, rois)
    require(x.ndim == 4 and rois.ndim == 2 and rois.shape[1] in {4, 5}, f"X {x.shape}, RoIs {rois.shape} do not fit")
    x = channels_first(x, order)
    y = xp.empty((rois.shape[0], x.shape[1], pooled_h, pooled_w), x.dtype)
    for i, box in enumerate(_regions.boxes(rois, spatial_scale, aligned)):
        rows, columns = _regions.bin_weights(xp, box, (pooled_h, pooled_w), x, sampling_ratio)
        y[i] = rows.weights @ x[box.picture, :, rows.reach, columns.reach] @ columns.weights.T
    return channels_last(xp, y, order)


@kernel("RoIAlignGradient")
def roi_align_gradient(
    xp: Any,
    x: Any,
    rois: Any,
    dy: Any,
    *,
    order: str = "NCHW",
    pooled_h: int = 1,
    pooled_w: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: int = 0,
) -> Any:
    expect("float32", x, rois, dy)
    x, dy = channels_first(x, order), channels_first(dy, order)
    require(dy.shape == (rois.shape[0], x.shape[1], pooled_h, pooled_w), f"X {x.shape} and dY {dy.shape} do not fit")
    dx = xp.zeros(x.shape, x.dtype)
    for i, box in enumerate(_regions.boxes(rois, spatial_scale, aligned)):
        rows, columns = _regions.bin_weights(xp, box, (pooled_h, pooled_w), x, sampling_ratio)
        dx[box.picture, :, rows.reach, columns.reach] += rows.weights.T @ dy[i] @ columns.weights
    return channels_last(xp, dx, order)


@kernel("RoIAlignRotated")
def roi_align_rotated(
    xp: Any,
    x: Any,
    rois: Any,
    *,
    order: str = "NCHW",
    pooled_h: int = 1,
    pooled_w: int = 1,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: int = 0,
) -> Any:
    """As RoIAlign, for boxes given by centre, width, height and an angle in degrees."""
    expect("float32", x, rois)
    require(x.ndim == 4 and rois.ndim == 2 and rois.shape[1] in {5, 6}, f"X {x.shape}, RoIs {rois.shape} do not fit")
    x = channels_first(x, order)
    y = xp.empty((rois.shape[0], x.shape[1], pooled_h, pooled_w), x.dtype)
    for i, box in enumerate(_regions.rotated_boxes(rois, spatial_scale, aligned)):
        y[i] = _regions.rotated_samples(xp, box, (pooled_h, pooled_w), x, sampling_ratio)
    return channels_last(xp, y, order)


operator("RMACRegions", inputs=1, outputs=1, args="scales overlap", gradient=SHOULD_NOT)


@kernel("RMACRegions")
def rmac_regions(xp: Any, x: Any, *, scales: int = 3, overlap: float = 0.4) -> Any:
    """Square regions of several scales that cover each picture, as boxes (picture, x1, y1, x2, y2)."""
    height, width = x.shape[2:4]
    side, more = min(height, width), _steps_of_long_side(height, width, overlap)
    across, down = (more if width > height else 0), (more if height > width else 0)
    boxes = []
    for scale in range(1, scales + 1):
        size = 2 * side // (scale + 1)
        if size > 0:
            xs, ys = _firsts(width, size, scale + across), _firsts(height, size, scale + down)
            boxes += [(left, top, left + size - 1, top + size - 1) for left in xs for top in ys]
    rows = [(i, *box) for i in range(x.shape[0]) for box in boxes]
    return xp.asarray(rows, "float32").reshape(len(rows), 5)


def _steps_of_long_side(height: int, width: int, overlap: float) -> int:
    """How many more regions lie along the longer side, so that neighbours overlap by about `overlap`."""
    short, long = sorted((height, width))
    if short == long:
        return 0
    return min(range(1, 7), key=lambda steps: abs((short - (long - short) / steps) / short - overlap))


def _firsts(length: int, size: int, count: int) -> list[int]:
    """Where `count` regions of a size begin that are spread evenly over a length."""
    step = (length - size) / (count - 1) if count > 1 else 0
    return [min(int(step * i), length - size) for i in range(count)]
