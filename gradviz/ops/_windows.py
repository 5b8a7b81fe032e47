"""Windows over pictures: the geometry that convolutions and poolings share, and the ways to gather and scatter by it.

Arrays here have the channels first; `channels_first` and `channels_last` turn others into such views.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Sizes = tuple[int, ...]

VALID, SAME, CAFFE_POOLING = 1, 2, 3
"""Values of `legacy_pad`: ways to choose the padding from the picture's size."""

_ELEMENTS_AT_ONCE = {"numpy": 2**17, "cupy": 2**28}
"""About how many elements of a picture are worked off together, by namespace."""


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows lie over a picture; each tuple has one entry for each spatial dimension.

    Attributes:
        kernel: elements of a window.
        stride: steps from one window to the next.
        dilation: steps from one element of a window to the next.
        head: padding before the picture; negative where its first rows are left out.
        tail: padding behind it.
        size: the picture's size.
        out: number of windows.
    """

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    head: Sizes
    tail: Sizes
    size: Sizes
    out: Sizes

    @property
    def extent(self) -> Sizes:
        """Size of what the windows reach, from the beginning of the padding."""
        return tuple(
            (out - 1) * stride + (kernel - 1) * dilation + 1 if out > 0 else 0
            for out, stride, kernel, dilation in zip(self.out, self.stride, self.kernel, self.dilation, strict=True)
        )

    @property
    def is_pointwise(self) -> bool:
        """Whether each window is one element and the windows together are the picture."""
        return self.out == self.size and all(
            k == 1 and s == 1 and h == 0 for k, s, h in zip(self.kernel, self.stride, self.head, strict=True)
        )

    def with_batch(self, n: int) -> Windows:
        """The same windows over `n` pictures whose last dimension is the batch, where a window is one element."""
        one, none, all = (1,), (0,), (n,)
        return Windows(
            self.kernel + one,
            self.stride + one,
            self.dilation + one,
            self.head + none,
            self.tail + none,
            self.size + all,
            self.out + all,
        )

    def offsets(self) -> Iterator[tuple[Sizes, tuple[slice, ...]]]:
        """Each element of a window with the slices that pick it from all windows of a padded picture."""
        for at in itertools.product(*map(range, self.kernel)):
            yield (
                at,
                tuple(
                    slice(i * d, i * d + (n - 1) * s + 1, s)
                    for i, d, n, s in zip(at, self.dilation, self.out, self.stride, strict=True)
                ),
            )


def windows(args: Mapping[str, Any], size: Sizes, *, pooling: bool = False) -> Windows:
    """Read the geometry off an operator's arguments, for a picture of spatial size `size`.

    Raises:
        ValueError: the arguments contradict each other or do not fit the picture.
    """
    legacy = _integer(args, "legacy_pad") or 0
    kernel = _sizes(args, "kernel", "h w") or [0, 0]
    rank = len(kernel)
    stride = _sizes(args, "stride", "h w") or [1] * rank
    dilation = _sizes(args, "dilation", "h w") or [1] * rank
    pads = _sizes(args, "pad", "t l b r") or [0] * (2 * rank)
    _agree(legacy, args, kernel, stride, dilation, pads)
    require(not pooling or set(dilation) == {1}, "pooling takes no dilation")
    if args.get("global_pooling"):
        require(not any(pads) and set(stride) == {1}, "with global_pooling there may be no pad or stride")
        ones, none = (1,) * len(size), (0,) * len(size)
        return Windows(size, ones, ones, none, none, size, ones)
    require(rank == len(size), f"the kernel has {rank} spatial dimensions, the picture {len(size)}")
    require(min(kernel + stride + dilation) >= 1, "kernel, stride and dilation must be positive")
    require(
        not pooling or all(pad < side for pad, side in zip(pads, kernel * 2, strict=True)),
        "a pad must be less than the kernel",
    )
    sides = zip(size, kernel, stride, dilation, pads[:rank], pads[rank:], strict=True)
    head, tail, out = zip(*(_place(legacy, *side) for side in sides), strict=True)
    return Windows(tuple(kernel), tuple(stride), tuple(dilation), head, tail, size, out)


def _agree(
    legacy: int, args: Mapping[str, Any], kernel: list[int], stride: list[int], dilation: list[int], pads: list[int]
) -> None:
    """Refuse arguments that contradict each other."""
    rank = len(kernel)
    require(
        len(stride) == len(dilation) == rank and len(pads) == 2 * rank,
        f"with {rank} kernels, {rank} strides, {rank} dilations and {2 * rank} pads are wanted; "
        f"there are {len(stride)}, {len(dilation)} and {len(pads)}",
    )
    require(
        legacy not in {VALID, SAME} or not any(name in args for name in ("pad", "pads", "pad_t")),
        "legacy_pad chooses the padding, so that none may be given",
    )


def _place(legacy: int, size: int, kernel: int, stride: int, dilation: int, head: int, tail: int) -> Sizes:
    """Padding before and behind, and number of windows, along one dimension."""
    reach = dilation * (kernel - 1) + 1
    if legacy == CAFFE_POOLING:
        require(head >= 0, "a pad must not be negative")
        plain = (size + 2 * head - reach) // stride + 1
        out = math.ceil((size + 2 * head - kernel) / stride) + 1
        if head > 0 and (out - 1) * stride >= size + head:
            out -= 1  # the last window must begin inside the picture
        require(out >= 0, f"a window of {kernel} does not fit a picture of {size} with a pad of {head}")
        return head, head + stride * (out - plain), out
    if legacy == SAME:
        require(dilation == 1, "legacy_pad SAME takes no dilation")
        missing = (math.ceil(size / stride) - 1) * stride + kernel - size
        head = int(missing / 2)
        return head, missing - head, (size + missing - reach) // stride + 1
    if legacy == VALID:
        head = tail = 0
    require(
        size + head + tail >= reach, f"a window reaches over {reach} where the padded picture has {size + head + tail}"
    )
    return head, tail, (size + head + tail - reach) // stride + 1


def _sizes(args: Mapping[str, Any], name: str, parts: str) -> list[int]:
    """An argument that may be one number (`kernel`), one for each side (`kernel_h`, ...) or a list (`kernels`)."""
    names = [f"{name}_{part}" for part in parts.split()]
    if name in args:
        return [_integer(args, name) or 0] * len(names)
    if all(each in args for each in names):
        return [_integer(args, each) or 0 for each in names]
    given = args.get(name + "s")
    return list(given) if isinstance(given, list) else []


def _integer(args: Mapping[str, Any], name: str) -> int | None:
    value = args.get(name)
    require(value is None or isinstance(value, int), f"argument {name} must be an integer")
    return value


def transposed_windows(args: Mapping[str, Any], size: Sizes) -> Windows:
    """The geometry of a transposed convolution over a picture of size `size`: `out` is that size, `size` the result's.

    Raises:
        ValueError: the arguments contradict each other or do not fit the picture.
    """
    legacy = _integer(args, "legacy_pad") or 0
    kernel = _sizes(args, "kernel", "h w") or [0, 0]
    rank = len(kernel)
    stride = _sizes(args, "stride", "h w") or [1] * rank
    adjust = _sizes(args, "adj", "h w") or [0] * rank
    pads = _sizes(args, "pad", "t l b r") or [0] * (2 * rank)
    require(
        rank == len(size) == len(stride) == len(adjust) == len(pads) / 2 and min(kernel) >= 1 and min(pads) >= 0,
        f"kernel {kernel}, stride {stride}, adj {adjust} and pad {pads} do not fit a picture of size {list(size)}",
    )
    require(all(a < s for a, s in zip(adjust, stride, strict=True)), "adj must be less than the stride")
    require(legacy != CAFFE_POOLING, "legacy_pad 3 is for pooling")
    if legacy:
        pads = [0] * (2 * rank)
    head, tail = tuple(pads[:rank]), tuple(pads[rank:])
    grown = tuple(
        (n - 1) * s + k + a - h - t for n, s, k, a, h, t in zip(size, stride, kernel, adjust, head, tail, strict=True)
    )
    require(min(grown) >= 0, f"the result would have the size {list(grown)}")
    return Windows(tuple(kernel), tuple(stride), (1,) * rank, head, tail, grown, size)


def padded(xp: Any, x: Any, w: Windows, fill: float = 0) -> Any:
    """What the windows reach: `x` (..., *size) with its padding, or a view where there is none.

    Returns:
        An array (..., *extent).
    """
    extent = w.extent
    if not any(w.head) and all(e <= n for e, n in zip(extent, w.size, strict=True)):
        return x[(..., *(slice(e) for e in extent))]
    whole = xp.full((*x.shape[: x.ndim - len(extent)], *extent), fill, x.dtype)
    source, target = _overlap(w)
    whole[(..., *target)] = x[(..., *source)]
    return whole


def _overlap(w: Windows) -> tuple[list[slice], list[slice]]:
    """Slices of a picture and of its padded form that are the same elements."""
    source, target = [], []
    for head, size, extent in zip(w.head, w.size, w.extent, strict=True):
        first, last = max(0, -head), min(size, extent - head)
        source.append(slice(first, max(first, last)))
        target.append(slice(first + head, max(first, last) + head))
    return source, target


def gather(xp: Any, reached: Any, w: Windows) -> Any:
    """All windows of a padded picture, as a view.

    Args:
        xp: array namespace.
        reached: what `padded` gives, (..., *extent).
        w: the geometry.

    Returns:
        A view (..., *kernel, *out).
    """
    rank = len(w.kernel)
    lead, steps = reached.strides[: reached.ndim - rank], reached.strides[reached.ndim - rank :]
    inner = [step * d for step, d in zip(steps, w.dilation, strict=True)]
    outer = [step * s for step, s in zip(steps, w.stride, strict=True)]
    shape = (*reached.shape[: reached.ndim - rank], *w.kernel, *w.out)
    return xp.lib.stride_tricks.as_strided(reached, shape, (*lead, *inner, *outer))


def scatter(xp: Any, columns: Any, w: Windows) -> Any:
    """The reverse of `gather` and `padded`: each picture element gets the sum over the windows that hold it.

    Args:
        xp: array namespace.
        columns: (..., *kernel, *out).
        w: the geometry.

    Returns:
        An array (..., *size).
    """
    rank = len(w.kernel)
    # Where nothing is to be cut off, what the windows do not reach is there from the start.
    inside = not any(w.head) and all(e <= n for e, n in zip(w.extent, w.size, strict=True))
    shape = (*columns.shape[: columns.ndim - 2 * rank], *(w.size if inside else w.extent))
    whole = xp.zeros(shape, columns.dtype)
    for at, where in w.offsets():
        if all(i * d < s for i, d, s in zip(at, w.dilation, w.stride, strict=True)):  # nothing has been there
            whole[(..., *where)] = columns[(..., *at, *(slice(None),) * rank)]
        else:
            whole[(..., *where)] += columns[(..., *at, *(slice(None),) * rank)]
    return whole if inside else unpadded(xp, whole, w)


def unpadded(xp: Any, reached: Any, w: Windows) -> Any:
    """The reverse of `padded`: (..., *size), with zeros where no window reaches."""
    if not any(w.head) and w.extent == w.size:
        return reached
    source, target = _overlap(w)
    picture = xp.zeros((*reached.shape[: reached.ndim - len(w.size)], *w.size), reached.dtype)
    picture[(..., *source)] = reached[(..., *target)]
    return picture


def fold(reached: Any, w: Windows, combine: Any) -> Any:
    """Combine the elements of each window, one dimension after the other.

    Args:
        reached: what `padded` gives, (..., *extent).
        w: the geometry.
        combine: a function of two arrays and `out`, such as `xp.add`.

    Returns:
        An array (..., *out), or a view where windows are single elements.
    """
    for axis in range(len(w.kernel)):
        reached = fold_along(reached, w, axis, combine)
    return reached


def fold_along(reached: Any, w: Windows, axis: int, combine: Any) -> Any:
    """What `fold` does along one spatial dimension."""
    first, *others = (reached[where] for where in along(w, axis))
    folded = first if not others else combine(first, others[0])
    for other in others[1:]:
        combine(folded, other, out=folded)
    return folded


def spread(xp: Any, values: Any, w: Windows) -> Any:
    """The reverse of `fold` with addition, and of `padded`: (..., *out) to (..., *size)."""
    for axis in range(len(w.kernel)):
        at = values.ndim - len(w.kernel) + axis
        shape = (*values.shape[:at], w.extent[axis], *values.shape[at + 1 :])
        if w.out[axis] == w.dilation[axis] == 1:  # a single window: all its elements get the same
            values = xp.repeat(values, w.extent[axis], axis=at)
        else:
            values = spread_along(itertools.repeat(values), w, axis, xp.zeros(shape, values.dtype))
    return unpadded(xp, values, w)


def spread_along(pieces: Iterable[Any], w: Windows, axis: int, whole: Any) -> Any:
    """The reverse of `fold_along` with addition.

    Args:
        pieces: for each element of a window what its place gets from every window.
        w: the geometry.
        axis: the spatial dimension.
        whole: zeros, which are added to.
    """
    for i, (where, piece) in enumerate(zip(along(w, axis), pieces, strict=False)):
        if i * w.dilation[axis] < w.stride[axis]:  # nothing has been there
            whole[where] = piece
        else:
            whole[where] += piece
    return whole


def along(w: Windows, axis: int) -> Iterator[tuple[Any, ...]]:
    """Indices that pick one element of each window along one spatial dimension, for each element of a window."""
    step, count, rest = w.stride[axis], w.out[axis], (slice(None),) * (len(w.kernel) - axis - 1)
    for i in range(w.kernel[axis]):
        first = i * w.dilation[axis]
        yield (..., slice(first, first + (count - 1) * step + 1, step), *rest)


def parts(xp: Any, x: Any) -> Iterator[slice]:
    """Slices of the first dimension, so small that what is made of one is still in the cache when it is read."""
    step = max(1, _ELEMENTS_AT_ONCE[xp.__name__] // max(1, math.prod(x.shape[1:])))
    for first in range(0, x.shape[0], step):
        yield slice(first, first + step)


def channels_first(x: Any, order: str) -> Any:
    """A view with the channels in front of the spatial dimensions; they are last where `order` is NHWC."""
    _known(order)
    return x if order == "NCHW" else x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def channels_last(xp: Any, x: Any, order: str) -> Any:
    """The reverse of `channels_first`, contiguous."""
    return x if order == "NCHW" else xp.ascontiguousarray(x.transpose(0, *range(2, x.ndim), 1))


def _known(order: str) -> None:
    require(order in {"NCHW", "NHWC"}, f"order must be NCHW or NHWC, not {order!r}")
