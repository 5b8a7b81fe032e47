"""Convolutions: plain, transposed, deformable, locally connected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops import _correlate
from gradviz.ops._checks import require
from gradviz.ops._planes import totals
from gradviz.ops._windows import channels_first, channels_last, gather, padded, scatter, transposed_windows, windows
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import kernel, no_kernel, operator
from gradviz.ops.rules import GI, GO, I, emit

if TYPE_CHECKING:
    from gradviz.ops._windows import Windows
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def _windowed_gradient(maker: Maker, weights: int) -> list[GradientOp]:
    """One gradient operator for the inputs before the bias, the bias if any, and, unless it is unwanted, the data.

    `weights` inputs (the filter, and before it offsets) stand between the data and the bias.
    """
    args = maker.args
    has_bias = len(maker.op.inputs) == weights + 2
    inputs = [*(maker.I(i) for i in range(weights + 1)), maker.GO(0)]
    outputs = [maker.GI(i) for i in range(1, len(maker.op.inputs))]
    if not args.flag("no_gradient_to_input"):
        outputs.append(maker.GI(0))
    own = [] if has_bias else [arg("no_bias", 1)]
    return [maker.make(maker.op.type + "Gradient", inputs, outputs, *own)]


def _conv_gradient(maker: Maker) -> list[GradientOp]:
    return _windowed_gradient(maker, weights=1)


def _deform_conv_gradient(maker: Maker) -> list[GradientOp]:
    return _windowed_gradient(maker, weights=2)


operator("Conv", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv1D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv2D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("Conv3D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("ConvRelu", inputs=(2, 3), outputs=1)
operator("ConvGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("Conv3DGradient", inputs=(2, 3), outputs=(1, 3))


def _prepared(x: Any, filters: Any, group: int, order: str, args: dict[str, Any]) -> tuple[Any, Any, Windows]:
    """Pictures and filters with their channels first, checked against each other, and the geometry."""
    expect("float32", x, filters)
    require(x.ndim == filters.ndim >= 3, f"X has {x.ndim} dimensions and the filter {filters.ndim}")
    x, filters = channels_first(x, order), channels_first(filters, order)
    w = windows(args, x.shape[2:])
    require(
        x.shape[1] == filters.shape[1] * group and filters.shape[0] % group == 0,
        f"X has {x.shape[1]} channels where the filters take {filters.shape[1]} in each of {group} groups",
    )
    require(filters.shape[2:] == w.kernel, f"the filters are {filters.shape[2:]} where the kernel is {w.kernel}")
    return x, filters, w


def _with_bias(y: Any, bias: Any) -> Any:
    """Add one number to each channel of `y` (N, M, ...), in place."""
    if bias is not None:
        expect("float32", bias)
        require(bias.shape == (y.shape[1],), f"the bias has the shape {bias.shape} where ({y.shape[1]},) is wanted")
        y += bias.reshape(-1, *(1,) * (y.ndim - 2))
    return y


def _gradients(ctx: Context, no_bias: int, d_filters: Any, d_bias: Any, d_x: Any) -> tuple[Any, ...]:
    """What a gradient operator writes: filters, bias if any, data (`d_x`, a function) where it is asked for."""
    require(not (no_bias and ctx.outputs == 3), "without a bias there are at most two gradients")
    made = [d_filters] if no_bias else [d_filters, d_bias]
    if ctx.outputs == len(made):
        return tuple(made)
    return (*made, d_x() if ctx.wants(len(made)) else None)


def _sum_over_pictures(xp: Any, dy: Any) -> Any:
    """The gradient of a bias: the sum of `dy` (N, M, ...) over all but the channels."""
    return totals(xp, dy.reshape(*dy.shape[:2], math.prod(dy.shape[2:]))).sum(axis=0)


@kernel("Conv", "Conv1D", "Conv2D", "Conv3D")
def conv(xp: Any, x: Any, filters: Any, bias: Any = None, *, group: int = 1, order: str = "NCHW", **args: Any) -> Any:
    """X (N, C, ...) with filters (M, C/group, ...) gives (N, M, ...); NHWC has the channels last in all three."""
    x, filters, w = _prepared(x, filters, group, order, args)
    y = _with_bias(_correlate.correlate(xp, x, filters, w, group), bias)
    return channels_last(xp, y, order)


@kernel("ConvRelu")
def conv_relu(xp: Any, x: Any, filters: Any, bias: Any = None, **args: Any) -> Any:
    return xp.maximum(conv(xp, x, filters, bias, **args), 0)


@kernel("ConvGradient", "Conv1DGradient", "Conv2DGradient", "Conv3DGradient")
def conv_gradient(
    xp: Any,
    x: Any,
    filters: Any,
    dy: Any,
    *,
    ctx: Context,
    group: int = 1,
    order: str = "NCHW",
    no_bias: int = 0,
    **args: Any,
) -> Any:
    x, filters, w = _prepared(x, filters, group, order, args)
    dy = _fitting(dy, order, (x.shape[0], filters.shape[0], *w.out))
    d_filters = _correlate.correlate_filters(xp, x, dy, w, group)
    return _gradients(
        ctx,
        no_bias,
        channels_last(xp, d_filters, order),
        _sum_over_pictures(xp, dy),
        lambda: _as_upstream_lays(
            xp, channels_last(xp, _correlate.correlate_data(xp, dy, filters, w, group), order), order
        ),
    )


def _as_upstream_lays(xp: Any, dx: Any, order: str) -> Any:
    """Data gradients of films (N, T, H, W, C) as upstream writes them, which is wrong unless T = H.

    It begins the rows of frame t at row t·T instead of t·H, so that frames overlap or leave gaps. What it would write
    behind the end is left out.
    """
    if order != "NHWC" or dx.ndim != 5 or dx.shape[1] == dx.shape[2]:
        return dx
    frames, height = dx.shape[1:3]
    rows = xp.zeros((dx.shape[0], frames * height, *dx.shape[3:]), dx.dtype)
    for t in range(frames):
        target = rows[:, t * frames : t * frames + height]
        target += dx[:, t, : target.shape[1]]
    return rows.reshape(dx.shape)


def _fitting(dy: Any, order: str, shape: tuple[int, ...]) -> Any:
    """`dy` with its channels first, refused where it has not the result's shape."""
    expect("float32", dy)
    dy = channels_first(dy, order)
    require(dy.shape == shape, f"dY is {dy.shape} where the result is {shape} (channels first)")
    return dy


operator(
    "ConvTranspose",
    inputs=(2, 3),
    outputs=1,
    args="legacy_pad kernels strides pads adjs order shared_buffer no_bias",
    gradient=_conv_gradient,
)
operator("ConvTransposeGradient", inputs=3, outputs=(1, 3))


def _prepared_transposed(
    x: Any, filters: Any, group: int, order: str, args: dict[str, Any]
) -> tuple[Any, Any, Windows]:
    """As `_prepared`; the geometry is that of the convolution which leads back from the result to X."""
    expect("float32", x, filters)
    require(x.ndim == filters.ndim == 4, f"X has {x.ndim} dimensions and the filter {filters.ndim}: 4 are wanted")
    x, filters = channels_first(x, order), channels_first(filters, order)
    w = transposed_windows(args, x.shape[2:])
    require(
        x.shape[1] == filters.shape[0] and filters.shape[0] % group == 0 and filters.shape[2:] == w.kernel,
        f"filters {filters.shape} do not fit {x.shape[1]} channels in {group} groups and the kernel {w.kernel}",
    )
    return x, filters, w


@kernel("ConvTranspose")
def conv_transpose(
    xp: Any, x: Any, filters: Any, bias: Any = None, *, group: int = 1, order: str = "NCHW", **args: Any
) -> Any:
    """X (N, C, H, W) with filters (C, M/group, ...) gives (N, M, ...): what the gradient of a convolution computes."""
    x, filters, w = _prepared_transposed(x, filters, group, order, args)
    y = _with_bias(_correlate.correlate_data(xp, x, filters, w, group), bias)
    return channels_last(xp, y, order)


@kernel("ConvTransposeGradient")
def conv_transpose_gradient(
    xp: Any,
    x: Any,
    filters: Any,
    dy: Any,
    *,
    ctx: Context,
    group: int = 1,
    order: str = "NCHW",
    no_bias: int = 0,
    **args: Any,
) -> Any:
    x, filters, w = _prepared_transposed(x, filters, group, order, args)
    dy = _fitting(dy, order, (x.shape[0], filters.shape[1] * group, *w.size))
    d_filters = _correlate.correlate_filters(xp, dy, x, w, group)
    return _gradients(
        ctx,
        no_bias,
        channels_last(xp, d_filters, order),
        _sum_over_pictures(xp, dy),
        lambda: channels_last(xp, _correlate.correlate(xp, dy, filters, w, group), order),
    )


operator("ConvFusion", inputs=(2, 4), outputs=1, inplace=[(2, 0), (3, 0)], args="fusion_type")
operator("DeformConv", inputs=(3, 4), outputs=1, gradient=_deform_conv_gradient)
operator("DeformConvGradient", inputs=4, outputs=(2, 4))
no_kernel("upstream computes it with a processor library only (device IDEEP)", "ConvFusion")
no_kernel("upstream computes it on CUDA devices only", "DeformConv", "DeformConvGradient")

operator("LC", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC1D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC2D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LC3D", inputs=(2, 3), outputs=1, gradient=_conv_gradient)
operator("LCGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC1DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC2DGradient", inputs=(2, 3), outputs=(1, 3))
operator("LC3DGradient", inputs=(2, 3), outputs=(1, 3))


def _prepared_local(x: Any, filters: Any, group: int, order: str, args: dict[str, Any]) -> tuple[Any, Any, Windows]:
    """As `_prepared`, with filters (*out, M, C/group, *kernel)."""
    expect("float32", x, filters)
    rank = x.ndim - 2
    x = channels_first(x, order)
    w = windows(args, x.shape[2:])
    require(filters.ndim == 2 * rank + 2, f"X has {x.ndim} dimensions and the filter {filters.ndim}")
    if order == "NHWC":
        last = filters.ndim - 1
        filters = filters.transpose(*range(rank + 1), last, *range(rank + 1, last))
    m = filters.shape[rank]
    require(
        filters.shape == (*w.out, m, x.shape[1] // group, *w.kernel) and m % group == 0 == x.shape[1] % group,
        f"filters {filters.shape} do not fit {x.shape[1]} channels, {w.out} windows and the kernel {w.kernel}",
    )
    return x, filters, w


@kernel("LC", "LC1D", "LC2D", "LC3D")
def locally_connected(
    xp: Any, x: Any, filters: Any, bias: Any = None, *, group: int = 1, order: str = "NCHW", **args: Any
) -> Any:
    """A convolution whose windows have filters (*out, M, C/group, ...) and biases (*out, M) of their own."""
    x, filters, w = _prepared_local(x, filters, group, order, args)
    y = _correlate.locally_correlate(xp, x, filters, w, group)
    if bias is not None:
        expect("float32", bias)
        require(bias.shape == (*w.out, y.shape[1]), f"the bias has the shape {bias.shape}")
        y = y + xp.moveaxis(bias, -1, 0)
    return channels_last(xp, xp.ascontiguousarray(y), order)


@kernel("LCGradient", "LC1DGradient", "LC2DGradient", "LC3DGradient")
def locally_connected_gradient(
    xp: Any,
    x: Any,
    filters: Any,
    dy: Any,
    *,
    ctx: Context,
    group: int = 1,
    order: str = "NCHW",
    no_bias: int = 0,
    **args: Any,
) -> Any:
    x, filters, w = _prepared_local(x, filters, group, order, args)
    dy = _fitting(dy, order, (x.shape[0], filters.shape[len(w.out)], *w.out))
    d_filters = _correlate.locally_correlate_filters(xp, x, dy, w, group)
    if order == "NHWC":
        d_filters = xp.ascontiguousarray(xp.moveaxis(d_filters, len(w.out) + 1, -1))
    return _gradients(
        ctx,
        no_bias,
        d_filters,
        xp.ascontiguousarray(xp.moveaxis(dy.sum(axis=0), 0, -1)),
        lambda: channels_last(xp, _correlate.locally_correlate_data(xp, dy, filters, w, group), order),
    )


operator("Im2Col", inputs=1, outputs=1, gradient=emit("Col2Im", [GO(0), I(0)], [GI(0)]))
operator("Col2Im", inputs=2, outputs=1, gradient=emit("Im2Col", [GO(0)], [GI(0)]))


def _plain_windows(args: dict[str, Any], size: tuple[int, ...]) -> Windows:
    """The geometry of these two: one pad for all sides, and each side's kernel, stride and dilation by itself."""
    sides = {
        f"{name}_{side}": args.get(f"{name}_{side}", args.get(name, default))
        for name, default in (("kernel", 0), ("stride", 1), ("dilation", 1))
        for side in "hw"
    }
    w = windows({**sides, "pad": args.get("pad", 0)}, size)
    reach = [(k - 1) * d + 1 for k, d in zip(w.kernel, w.dilation, strict=True)]
    require(all(r <= n for r, n in zip(reach, size, strict=True)), f"a window reaches over {reach} of {list(size)}")
    return w


@kernel("Im2Col")
def im2col(xp: Any, x: Any, *, order: str = "NCHW", **args: Any) -> Any:
    """The elements of each window in the channels: (N, C·kernel, out); with channels last (N, out, kernel·C)."""
    expect("float32", x)
    require(x.ndim == 4, f"X has {x.ndim} dimensions where 4 are wanted")
    x = channels_first(x, order)
    w = _plain_windows(args, x.shape[2:])
    view = gather(xp, padded(xp, x, w), w)
    if order == "NHWC":
        return xp.ascontiguousarray(view.transpose(0, 4, 5, 2, 3, 1)).reshape(x.shape[0], *w.out, -1)
    return xp.ascontiguousarray(view).reshape(x.shape[0], x.shape[1] * math.prod(w.kernel), *w.out)


@kernel("Col2Im")
def col2im(xp: Any, columns: Any, like: Any, *, order: str = "NCHW", **args: Any) -> Any:
    """Add each window's elements back to where Im2Col took them from, in a picture shaped like `like`."""
    expect("float32", columns, like)
    require(like.ndim == 4, f"Z has {like.ndim} dimensions where 4 are wanted")
    n, channels, *size = channels_first(like, order).shape
    w = _plain_windows(args, tuple(size))
    if order == "NHWC":
        columns = columns.reshape(n, *w.out, *w.kernel, channels).transpose(0, 5, 3, 4, 1, 2)
    else:
        columns = columns.reshape(n, channels, *w.kernel, *w.out)
    return channels_last(xp, scatter(xp, columns, w), order)
