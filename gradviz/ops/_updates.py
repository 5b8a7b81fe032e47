"""Steps of optimizers as plain functions of arrays, and the way they are taken for some rows only.

Learning rates have one element. Sparse updates go through the rows that indices name one after another: a row that is
named twice is updated twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require
from gradviz.ops._segments import by_lengths, column, sizes
from gradviz.ops.dtypes import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def scalar(array: Any) -> Any:
    """The one element of an array, left where the array is."""
    expect("float32", array)
    require(array.size == 1, f"an array of one element is wanted, not of {array.size}")
    return array.reshape(-1)[0]


def adadelta_step(
    xp: Any, w: Any, h: Any, d: Any, g: Any, lr: Any, decay: float, epsilon: float
) -> tuple[Any, Any, Any]:
    h = decay * h + (1 - decay) * g * g
    step = g * xp.sqrt(d + epsilon) / xp.sqrt(h + epsilon)
    return w + lr * step, h, decay * d + (1 - decay) * step * step


def adam_scale(xp: Any, iteration: Any, beta1: float, beta2: float) -> Any:
    expect("int64", iteration)
    t = iteration.reshape(-1)[0].astype("float64") + 1
    return xp.sqrt(1 - beta2**t) / (1 - beta1**t)


def rectified_scale(xp: Any, iteration: Any, beta1: float, beta2: float) -> tuple[Any, bool]:
    """Scale of a rectified Adam's step, see Liu et al., On the Variance of the Adaptive Learning Rate and Beyond.

    While the variance cannot be told, the second moment is left out: then the answer's second part is False.
    """
    t = int(iteration.reshape(-1)[0]) + 1
    most = 2 / (1 - beta2) - 1
    now = most - 2 * t * beta2**t / (1 - beta2**t)
    if now < 5:
        return 1 / (1 - beta1**t), False
    rectifier = (now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)
    return adam_scale(xp, iteration, beta1, beta2) * rectifier**0.5, True


def ftrl_step(
    xp: Any, w: Any, nz: Any, g: Any, alpha: Any, beta: float, lambda1: float, lambda2: float
) -> tuple[Any, Any]:
    n, z = nz[..., 0], nz[..., 1]
    new_n = n + g * g
    new_z = z + g - (xp.sqrt(new_n) - xp.sqrt(n)) / alpha * w
    pulled = (lambda1 * xp.sign(new_z) - new_z) / ((beta + xp.sqrt(new_n)) / alpha + lambda2)
    return xp.where(xp.abs(new_z) > lambda1, pulled, 0).astype(w.dtype), xp.stack([new_n, new_z], axis=-1)


def check_ftrl(w: Any, nz: Any) -> None:
    expect("float32", w, nz)
    require(nz.shape == (*w.shape, 2), f"the state must have the shape {(*w.shape, 2)}, not {nz.shape}")


def momentum_step(g: Any, m: Any, lr: Any, momentum: float, nesterov: int) -> tuple[Any, Any]:
    """The adjusted gradient, which is to be subtracted, and the new momentum."""
    new = momentum * m + lr * g
    return ((1 + momentum) * new - momentum * m if nesterov else new), new


def storm_rates(g: Any, total: Any, lr: Any, momentum: float, beta: float) -> tuple[Any, Any, Any]:
    total = total + (g * g).sum()
    rate = scalar(lr) * (beta + scalar(total)) ** (-1 / 3)
    return total, rate, momentum * rate * rate


def turns(xp: Any, indices: Any, rows: int) -> Iterator[Any]:
    """Positions in `indices`, in turns none of which names a row twice: a row's n-th mention is in the n-th turn."""
    expect("int32 int64", indices)
    require(indices.ndim == 1, "the indices must be a list")
    if not indices.size:
        return
    order = xp.argsort(indices, kind="stable")
    ranked = indices[order]
    require(int(ranked[0]) >= 0 and int(ranked[-1]) < rows, f"an index is outside of the {rows} rows")
    first = xp.concatenate([xp.ones(1, dtype=bool), ranked[1:] != ranked[:-1]])
    place = xp.arange(indices.size)
    mention = place - place[first][xp.cumsum(first) - 1]
    for turn in range(int(mention.max()) + 1):
        yield order[mention == turn]


def update_rows(
    xp: Any, tables: tuple[Any, ...], indices: Any, g: Any, update: Callable[..., tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Update rows of tables.

    Args:
        xp: the array namespace.
        tables: parameter and state, which are copied.
        indices: for each row of `g` the row of the tables.
        g: gradients, one row for each index.
        update: takes for one turn the rows of the tables and the gradients; gives the new rows, and maybe further
            results, one row for each index.

    Returns:
        The new tables, then those further results.
    """
    expect("float32", *tables, g)
    rows = tables[0].shape[0] if tables[0].ndim else 0
    require(
        all(table.shape[:1] == (rows,) for table in tables), "parameter and state must have the same number of rows"
    )
    indices, wanted = indices.reshape(-1), (indices.size, *tables[0].shape[1:])
    require(g.size == tables[0][:1].size * indices.size, f"gradients of shape {g.shape} do not fit, {wanted} is wanted")
    g = g.reshape(wanted)
    made = tuple(table.copy() for table in tables)
    more: list[Any] = []
    for turn in turns(xp, indices, rows):
        at = indices[turn]
        new = update(*(table[at] for table in made), g[turn])
        for table, each in zip(made, new, strict=False):
            table[at] = each
        more = more or [xp.zeros((indices.size, *each.shape[1:]), dtype=each.dtype) for each in new[len(made) :]]
        for result, each in zip(more, new[len(made) :], strict=True):
            result[turn] = each
    return (*made, *more) if indices.size else (*made, g)


def mean_square_of_rows(rows: Any) -> Any:
    return (rows * rows).reshape(rows.shape[0], -1).mean(axis=1) if rows.size else rows.reshape(rows.shape[0], -1)[:, 0]


def segment_gradients(xp: Any, g: Any, lengths: Any, indices: Any, mean: bool = False) -> Any:
    """For each index the gradient of its segment."""
    expect("float32", g)
    segments = by_lengths(xp, lengths, indices.size)
    require(segments[1] == g.shape[0], f"there are {g.shape[0]} gradients for {segments[1]} segments")
    rows = g[segments[0]]
    return rows / column(sizes(xp, segments)[segments[0]].astype(g.dtype), rows) if mean else rows
