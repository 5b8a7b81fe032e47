"""What convolutions compute: correlation of pictures with a bank of filters, and its two gradients.

Each is one product of matrices per group, over windows gathered into columns in a single copy. Pictures are
(N, C, *size), filters (M, C/groups, *kernel), results (N, M, *out). Batches are worked off in pieces, so that the
columns of a piece stay small enough to be used again from the cache.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops._windows import gather, padded, scatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradviz.ops._windows import Windows

_COLUMNS_AT_ONCE = {"numpy": 2**22, "cupy": 2**28}
"""Most elements of gathered columns at a time, by namespace."""


def correlate(xp: Any, x: Any, filters: Any, w: Windows, groups: int) -> Any:
    """The result of a convolution without bias: (N, M, *out)."""
    n, m = x.shape[0], filters.shape[0]
    banks = _banks(filters, groups)
    if w.is_pointwise:
        return (banks @ _flat(x, groups)).reshape(n, m, *w.out)
    y = xp.empty((n, m, *w.out), x.dtype)
    for part in _parts(xp, x, w):
        made = banks @ _columns(xp, x[part], w, groups)
        y[part] = made.reshape(m, -1, *w.out).swapaxes(0, 1)
    return y


def correlate_filters(xp: Any, x: Any, dy: Any, w: Windows, groups: int) -> Any:
    """The gradient of the filters: (M, C/groups, *kernel)."""
    channels, m = x.shape[1] // groups, dy.shape[1]
    gradient = xp.zeros((groups, m // groups, channels * math.prod(w.kernel)), x.dtype)
    for part in _parts(xp, x, w):
        gradient += _rows(dy[part], groups) @ _columns(xp, x[part], w, groups).swapaxes(1, 2)
    return gradient.reshape(m, channels, *w.kernel)


def correlate_data(xp: Any, dy: Any, filters: Any, w: Windows, groups: int) -> Any:
    """The gradient of the pictures, which is also what a transposed convolution computes: (N, C, *size)."""
    n, channels = dy.shape[0], filters.shape[1] * groups
    turned = _banks(filters, groups).swapaxes(1, 2)
    if w.is_pointwise:
        return (turned @ _flat(dy, groups)).reshape(n, channels, *w.size)
    x = xp.empty((n, channels, *w.size), dy.dtype)
    rank = len(w.kernel)
    for part in _parts(xp, x, w):
        columns = (turned @ _rows(dy[part], groups)).reshape(channels, *w.kernel, -1, *w.out)
        x[part] = scatter(xp, columns.transpose(rank + 1, *range(rank + 1), *range(rank + 2, columns.ndim)), w)
    return x


def locally_correlate(xp: Any, x: Any, filters: Any, w: Windows, groups: int) -> Any:
    """As `correlate`, but each window has filters of its own: `filters` are (*out, M, C/groups, *kernel)."""
    m = filters.shape[len(w.out)]
    made = _local_banks(filters, w, groups) @ _local_columns(xp, x, w, groups)
    return made.reshape(*w.out, m, x.shape[0]).transpose(made_first(len(w.out)))


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


def made_first(rank: int) -> tuple[int, ...]:
    """Axes that bring (*out, M, N) into the order (N, M, *out)."""
    return (rank + 1, rank, *range(rank))


def _parts(xp: Any, x: Any, w: Windows) -> Iterator[slice]:
    """Slices of the batch whose columns are not too many at once."""
    each = x.shape[1] * math.prod(w.kernel) * math.prod(w.out)
    step = max(1, _COLUMNS_AT_ONCE.get(xp.__name__, 2**22) // max(1, each))
    for first in range(0, x.shape[0], step):
        yield slice(first, first + step)


def _banks(filters: Any, groups: int) -> Any:
    """Filters as one matrix for each group: (groups, M/groups, C/groups · kernel)."""
    return filters.reshape(groups, filters.shape[0] // groups, -1)


def _flat(x: Any, groups: int) -> Any:
    """Pictures as they lie: (N, groups, C/groups, size)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:]))


def _columns(xp: Any, x: Any, w: Windows, groups: int) -> Any:
    """Windows as columns: (groups, C/groups · kernel, N · out)."""
    view = gather(xp, padded(xp, x, w), w)
    rank = len(w.kernel)
    return view.transpose(*range(1, rank + 2), 0, *range(rank + 2, view.ndim)).reshape(
        groups, x.shape[1] // groups * math.prod(w.kernel), -1
    )


def _rows(dy: Any, groups: int) -> Any:
    """Results as rows: (groups, M/groups, N · out)."""
    return dy.swapaxes(0, 1).reshape(groups, dy.shape[1] // groups, -1)


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
