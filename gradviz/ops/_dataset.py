"""Datasets: named columns, nested by columns of lengths.

A column `a:lengths` says how many rows of every column below `a` belong to each of its own rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require, text_of
from gradviz.ops.dtypes import expect

if TYPE_CHECKING:
    from collections.abc import Sequence


def parents(fields: Sequence[str | bytes]) -> list[int | None]:
    """For each column the index of the column of lengths right above it, or None at the top."""
    paths = [text_of(field).split(":") for field in fields]
    lengths = [i for i, path in enumerate(paths) if len(path) > 1 and path[-1] == "lengths"]
    found: list[int | None] = []
    for i, path in enumerate(paths):
        above = [j for j in lengths if j != i and path[: len(paths[j]) - 1] == paths[j][:-1]]
        found.append(max(above, key=lambda j: len(paths[j]), default=None))
    return found


def columns_of(fields: Sequence[str | bytes], columns: Sequence[Any]) -> list[int | None]:
    """The parents of the columns, after a look whether there are as many columns as fields.

    Raises:
        ValueError: there are not, or a column of lengths holds something else.
    """
    require(len(fields) == len(columns), f"there are {len(columns)} columns for {len(fields)} fields")
    above = parents(fields)
    for parent in {each for each in above if each is not None}:
        expect("int32", columns[parent])
    return above


def check(fields: Sequence[str | bytes], columns: Sequence[Any]) -> None:
    """Refuse columns whose numbers of rows do not fit together.

    Raises:
        ValueError: they do not.
    """
    top: int | None = None
    for i, parent in enumerate(columns_of(fields, columns)):
        rows = columns[i].shape[0] if columns[i].ndim else 1
        if parent is None:
            top = rows if top is None else top
            wanted = top
        else:
            wanted = int(columns[parent].sum())
        require(rows == wanted, f"column {text_of(fields[i])} has {rows} rows where {wanted} are wanted")


def ends(fields: Sequence[str | bytes], columns: Sequence[Any], starts: Sequence[int], rows: int) -> list[int]:
    """Where in each column the rows end that belong to `rows` further rows at the top."""
    above = columns_of(fields, columns)
    made: list[int | None] = [None] * len(columns)
    pending = list(range(len(columns)))
    while pending:
        for i in pending:
            parent = above[i]
            if parent is None:
                made[i] = min(starts[i] + rows, columns[i].shape[0])
            elif made[parent] is not None:
                made[i] = starts[i] + int(columns[parent][starts[parent] : made[parent]].sum())
        pending = [i for i in pending if made[i] is None]
    return [end for end in made if end is not None]
