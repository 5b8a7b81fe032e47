"""What convolutions compute: correlation of pictures with a bank of filters, and its two gradients.

Pictures are (N, C, *size), filters (M, C/groups, *kernel), results (N, M, *out). The windows are gathered into columns
in a single copy and multiplied by the filters. A batch is worked off in parts, so that the columns of a part stay small
enough to be used again from the cache. Large pictures are multiplied each by itself, as they lie. Small ones are turned
round first, so that the batch comes last: then one product does for all, and what is copied lies in long rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradviz.ops._windows import gather, padded, scatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.ops._windows import Windows

_ELEMENTS_AT_ONCE = {"numpy": 2**18, "cupy": 2**28}
"""About how many elements of columns a part has, by namespace."""

_WINDOWS_AT_ONCE = 1024
"""How many windows a product should have at least, to be worth the while."""


def correlate(xp: Any, x: Any, filters: Any, w: Windows, groups: int) -> Any:
    """The result of a convolution without bias: (N, M, *out)."""
    n, m = x.shape[0], filters.shape[0]
    banks = _banks(filters, groups)
    if w.is_pointwise:
        return (banks @ _flat(x, groups)).reshape(n, m, *w.out)
    y = xp.empty((n, m, *w.out), x.dtype)
    for part in _parts(xp, x, w):
        if _is_small(w):
            made = banks @ _columns_together(xp, x[part], w, groups)
            y[part] = _batch_first(made.reshape(m, *w.out, -1))
        else:
            xp.matmul(banks, _columns(xp, x[part], w, groups), out=_flat(y[part], groups))
    return y


def correlate_filters(xp: Any, x: Any, dy: Any, w: Windows, groups: int) -> Any:
    """The gradient of the filters: (M, C/groups, *kernel)."""
    channels, m = x.shape[1] // groups, dy.shape[1]
    gradient = xp.zeros((groups, m // groups, channels * math.prod(w.kernel)), x.dtype)
    for part in _parts(xp, x, w):
        if _is_small(w):
            gradient += _rows_together(xp, dy[part], groups) @ _columns_together(xp, x[part], w, groups).swapaxes(1, 2)
        else:
            gradient += (_flat(dy[part], groups) @ _columns(xp, x[part], w, groups).swapaxes(2, 3)).sum(axis=0)
    return gradient.reshape(m, channels, *w.kernel)


def correlate_data(xp: Any, dy: Any, filters: Any, w: Windows, groups: int) -> Any:
    """The gradient of the pictures, which is also what a transposed convolution computes: (N, C, *size)."""
    n, channels = dy.shape[0], filters.shape[1] * groups
    turned = _banks(filters, groups).swapaxes(1, 2)
    if w.is_pointwise:
        return (turned @ _flat(dy, groups)).reshape(n, channels, *w.size)
    if _gathers_back(n, filters, w, groups):
        return correlate(xp, dy, _reversed_filters(filters, groups), _reversed_windows(w), groups)
    x = xp.empty((n, channels, *w.size), dy.dtype)
    for part in _parts(xp, x, w):
        if _is_small(w):
            batched = w.with_batch(x[part].shape[0])
            columns = turned @ _rows_together(xp, dy[part], groups)
            x[part] = _batch_first(scatter(xp, columns.reshape(channels, *batched.kernel, *batched.out), batched))
        else:
            columns = turned @ _flat(dy[part], groups)
            x[part] = scatter(xp, columns.reshape(-1, channels, *w.kernel, *w.out), w)
    return x


def _gathers_back(n: int, filters: Any, w: Windows, groups: int) -> bool:
    """Whether the data's gradient is cheaper by gathering the results of the windows that hold an element.

    What is scattered is read and written, which costs about three times as much as what is gathered; but gathering is
    for every element of the pictures, and has the filters turned round, against the grain of memory.
    """
    if max(w.stride) > 1:
        return False
    m, channels = filters.shape[0], filters.shape[1] * groups
    gathered = m * n * math.prod(w.size) + 4 * m * filters.shape[1]
    return bool(gathered <= 3 * channels * n * math.prod(w.out))


def _reversed_filters(filters: Any, groups: int) -> Any:
    """Filters that lead from results back to pictures, where windows lie step by step: (C, M/groups, *kernel)."""
    m, channels, *kernel = filters.shape
    split = filters.reshape(groups, m // groups, channels, *kernel).swapaxes(1, 2)
    return split[(..., *(slice(None, None, -1) for _ in kernel))].reshape(groups * channels, m // groups, *kernel)


def _reversed_windows(w: Windows) -> Windows:
    """The geometry that belongs to `_reversed_filters`."""
    reach = [(kernel - 1) * dilation for kernel, dilation in zip(w.kernel, w.dilation, strict=True)]
    head, tail = (tuple(r - pad for r, pad in zip(reach, pads, strict=True)) for pads in (w.head, w.tail))
    return replace(w, head=head, tail=tail, size=w.out, out=w.size)


def locally_correlate(xp: Any, x: Any, filters: Any, w: Windows, groups: int) -> Any:
    """As `correlate`, but each window has filters of its own: `filters` are (*out, M, C/groups, *kernel)."""
    m = filters.shape[len(w.out)]
    made = _local_banks(filters, w, groups) @ _local_columns(xp, x, w, groups)
    return made.reshape(*w.out, m, x.shape[0]).transpose(_locals_first(len(w.out)))


def locally_correlate_filters(xp: Any, x: Any, dy: Any, w: Windows, groups: int) -> Any:
    """The gradient of the filters of `locally_correlate`: (*out, M, C/groups, *kernel)."""
    made = _local_rows(dy, w, groups) @ _local_columns(xp, x, w, groups).swapaxes(2, 3)
    return made.reshape(*w.out, dy.shape[1], x.shape[1] // groups, *w.kernel)


def locally_correlate_data(xp: Any, dy: Any, filters: Any, w: Windows, groups: int) -> Any:
    """The gradient of the pictures of `locally_correlate`: (N, C, *size)."""
    rank, channels = len(w.out), filters.shape[len(w.out) + 1] * groups
    columns = _local_banks(filters, w, groups).swapaxes(2, 3) @ _local_rows(dy, w, groups)
    columns = columns.reshape(*w.out, channels, *w.kernel, dy.shape[0])
    last = columns.ndim - 1
    return scatter(xp, columns.transpose(last, *range(rank, last), *range(rank)), w)


def _locals_first(rank: int) -> tuple[int, ...]:
    """Axes that bring (*out, M, N) into the order (N, M, *out)."""
    return (rank + 1, rank, *range(rank))


def _is_small(w: Windows) -> bool:
    """Whether pictures have so few windows that several are better worked off together."""
    return math.prod(w.out) < _WINDOWS_AT_ONCE // 4


def _parts(xp: Any, x: Any, w: Windows) -> Iterator[slice]:
    """Slices of the batch whose columns are neither too few nor too many at once."""
    count = max(1, math.prod(w.out))
    least = -(-_WINDOWS_AT_ONCE // count) if _is_small(w) else 1
    step = max(least, _ELEMENTS_AT_ONCE[xp.__name__] // (x.shape[1] * math.prod(w.kernel) * count))
    for first in range(0, x.shape[0], step):
        yield slice(first, first + step)


def _banks(filters: Any, groups: int) -> Any:
    """Filters as one matrix for each group: (groups, M/groups, C/groups · kernel)."""
    return filters.reshape(groups, filters.shape[0] // groups, -1)


def _flat(x: Any, groups: int) -> Any:
    """Pictures or results as they lie: (N, groups, channels/groups, size)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:]))


def _columns(xp: Any, x: Any, w: Windows, groups: int) -> Any:
    """Windows as columns, for each picture: (N, groups, C/groups · kernel, out)."""
    elements = x.shape[1] // groups * math.prod(w.kernel)
    return gather(xp, padded(xp, x, w), w).reshape(x.shape[0], groups, elements, math.prod(w.out))


def _columns_together(xp: Any, x: Any, w: Windows, groups: int) -> Any:
    """Windows as columns, of all pictures: (groups, C/groups · kernel, out · N)."""
    batched = w.with_batch(x.shape[0])
    elements = x.shape[1] // groups * math.prod(w.kernel)
    return gather(xp, padded(xp, _batch_last(xp, x), batched), batched).reshape(groups, elements, -1)


def _rows_together(xp: Any, dy: Any, groups: int) -> Any:
    """Results as rows, of all pictures: (groups, M/groups, out · N)."""
    return _batch_last(xp, dy).reshape(groups, dy.shape[1] // groups, -1)


def _batch_last(xp: Any, x: Any) -> Any:
    """Pictures (N, C, *size) as (C, *size, N)."""
    return xp.ascontiguousarray(x.transpose(*range(1, x.ndim), 0))


def _batch_first(x: Any) -> Any:
    """The reverse of `_batch_last`, as a view."""
    return x.transpose(x.ndim - 1, *range(x.ndim - 1))


def _local_banks(filters: Any, w: Windows, groups: int) -> Any:
    m = filters.shape[len(w.out)]
    return filters.reshape(math.prod(w.out), groups, m // groups, -1)


def _local_columns(xp: Any, x: Any, w: Windows, groups: int) -> Any:
    """Windows as columns for each window: (out, groups, C/groups · kernel, N)."""
    view = gather(xp, padded(xp, x, w), w)
    rank = len(w.kernel)
    turned = view.transpose(*range(rank + 2, view.ndim), *range(1, rank + 2), 0)
    return turned.reshape(math.prod(w.out), groups, x.shape[1] // groups * math.prod(w.kernel), x.shape[0])


def _local_rows(dy: Any, w: Windows, groups: int) -> Any:
    """Results as rows for each window: (out, groups, M/groups, N)."""
    turned = dy.transpose(*range(2, dy.ndim), 1, 0)
    return turned.reshape(math.prod(w.out), groups, dy.shape[1] // groups, dy.shape[0])
