"""Sparse forms: ids with values beside their dense arrays, one-hot codes, and lists of ids."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require, require_same_dtype
from gradviz.ops._rows import add_at, beside, integers, lengths_of, namespace, require_indices, starts_of
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, operator
from gradviz.ops.rules import GI, GO, I, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker

Array = Any


def _sparse_to_dense_mask_gradient(m: Maker) -> list[GradientOp]:
    lengths = m.op.inputs[3:]
    return [m.make("SparseToDenseMaskGradient", [m.I(0), m.GO(0), *lengths], [m.GI(1)])]


def _gather_by_key_gradient(m: Maker) -> list[GradientOp]:
    own = arg("pack_first_input", m.args.integer("pack_first_input"))
    sources = range(1, len(m.op.inputs))
    outputs: list[str] = []
    if m.is_dense(0):
        for i in sources:
            outputs += [f"_{m.GI(i)}_keys", m.GI(i)]
        return [m.make("Partition", [m.I(0), m.GO(0)], outputs, own)]
    for i in sources:
        outputs += [f"_{m.GI_I(i)}_keys", m.GI_I(i), m.GI_V(i)]
    return [m.make("Partition", [m.I(0), m.GO_I(0), m.GO_V(0)], outputs, own)]


def _each_split_alike(n_in: int, n_out: int) -> bool:
    """Counts of a partition: each input is split into the same number of outputs, at least one."""
    return n_out >= n_in and n_out % n_in == 0


# Between sparse and dense.

operator("SparseToDense", inputs=(2, 3), outputs=1, gradient=emit("Gather", [GO(0), I(0)], [GI(1)]))
operator(
    "SparseToDenseMask",
    inputs=(3, 4),
    outputs=(1, 2),
    args="mask return_presence_mask max_skipped_indices",
    gradient=_sparse_to_dense_mask_gradient,
)
operator("SparseToDenseMaskGradient", inputs=(2, 3), outputs=1)
operator(
    "BatchSparseToDense",
    inputs=(3, 4),
    outputs=1,
    args="dense_last_dim default_value",
    gradient=emit("BatchDenseToSparse", [I(0), I(1), GO(0)], [GI(2)]),
)
operator(
    "BatchDenseToSparse", inputs=3, outputs=1, gradient=emit("BatchSparseToDense", [I(0), I(1), GO(0), I(2)], [GI(2)])
)


@kernel("SparseToDense")
def sparse_to_dense(xp: Any, index: Array, values: Array, like: Array = None, *, output_first_dim: int = 0) -> Array:
    """Rows of values added up at their indices; the number of rows is that of a third input, or the least possible."""
    expect("float32 int32 int64", values)
    require(index.ndim == 1 and values.ndim > 0, f"indices {index.shape} are no vector, or the values are no rows")
    require(index.size == values.shape[0], f"there are {index.size} indices for {values.shape[0]} rows of values")
    count = output_first_dim or (int(index.max()) + 1 if index.size else 0)
    if like is not None:
        require(output_first_dim <= 0 and like.ndim > 0, "the number of rows is given twice, or by a scalar")
        count = like.shape[0]
    require_indices(index, count)
    dense = xp.zeros((count, *values.shape[1:]), dtype=values.dtype)
    add_at(xp, dense, index, values)
    return dense


@kernel("SparseToDenseMask")
def sparse_to_dense_mask(
    xp: Any,
    ids: Array,
    values: Array,
    default: Array,
    lengths: Array = None,
    *,
    ctx: Context,
    mask: list[int],
    return_presence_mask: int = 0,
    max_skipped_indices: int = 5,
) -> tuple[Array, Any]:
    """A column for each id in `mask`, a row for each segment; the last value of an id counts, others are default."""
    require(ids.ndim == 1 and values.ndim > 0, f"ids {ids.shape} are no vector, or the values are no rows")
    require(ids.size == values.shape[0], f"there are {ids.size} ids for {values.shape[0]} rows of values")
    require(default.shape == values.shape[1:], f"a default of shape {default.shape} does not fit values {values.shape}")
    require_same_dtype(values, default)
    found, row, column = _cells(ids, lengths, mask)
    skipped = sum(each < 0 for each in ids.tolist()) + ctx.state.get("skipped", 0)
    ctx.state["skipped"] = skipped
    require(skipped == 0 or skipped < max_skipped_indices, f"{skipped} negative ids are too many to skip")
    rows = 1 if lengths is None else lengths.size
    dense = namespace(xp, values).empty((rows, len(mask), *default.shape), dtype=values.dtype)
    dense[...] = default
    present = xp.zeros((rows, len(mask)), dtype=bool)
    if found:
        dense[row, column] = values[found]
        present[row, column] = True
    if lengths is None:
        dense, present = dense[0], present[0]
    return dense, present if return_presence_mask else None


@kernel("SparseToDenseMaskGradient")
def sparse_to_dense_mask_gradient(xp: Any, ids: Array, dy: Array, lengths: Array = None, *, mask: list[int]) -> Array:
    """Only the value that counted gets a gradient."""
    lead = (len(mask),) if lengths is None else (lengths.size, len(mask))
    require(dy.shape[: len(lead)] == lead, f"the gradient has shape {dy.shape} where {lead} lead")
    found, row, column = _cells(ids, lengths, mask)
    cells = dy.reshape(1, *dy.shape) if lengths is None else dy
    dx = xp.zeros((ids.size, *dy.shape[len(lead) :]), dtype=dy.dtype)
    if found:
        dx[found] = cells[row, column]
    return dx


def _cells(ids: Array, lengths: Array, mask: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Which ids count (the last of each cell), and the row and column of each."""
    expect("int32 int64", ids)
    require(len(mask) > 0 and min(mask) >= 0, f"mask {mask} must name ids that are not negative")
    columns = {id: column for column, id in enumerate(mask)}
    require(len(columns) == len(mask), f"an id stands twice in mask {mask}")
    sizes = [ids.size] if lengths is None else lengths_of(lengths)
    require(sum(sizes) <= ids.size, f"the lengths add up to {sum(sizes)}, but there are {ids.size} ids")
    known = ids.tolist()
    last: dict[tuple[int, int], int] = {}
    place = 0
    for row, size in enumerate(sizes):
        for id in known[place : place + size]:
            if id in columns:
                last[row, columns[id]] = place
            place += 1
    return list(last.values()), [row for row, _ in last], [column for _, column in last]


@kernel("BatchSparseToDense")
def batch_sparse_to_dense(
    xp: Any,
    lengths: Array,
    index: Array,
    values: Array,
    like: Array = None,
    *,
    dense_last_dim: int = -1,
    default_value: float = 0.0,
) -> Array:
    """A matrix with a row for each length; what no index names has the default value."""
    expect("float32", values)
    require(index.size == values.size, f"there are {index.size} indices for {values.size} values")
    if like is not None:
        require(like.ndim == 2, f"the shape comes from a matrix, not from rank {like.ndim}")
        require(dense_last_dim in {-1, like.shape[1]}, f"dense_last_dim {dense_last_dim} is not that of {like.shape}")
        dense_last_dim = like.shape[1]
    require(dense_last_dim > 0, f"dense_last_dim {dense_last_dim} must be positive")
    row = _rows_of(xp, lengths, index, dense_last_dim)
    dense = xp.full((lengths.size, dense_last_dim), default_value, dtype=values.dtype)
    dense[row, index] = values.reshape(-1)
    return dense


@kernel("BatchDenseToSparse")
def batch_dense_to_sparse(xp: Any, lengths: Array, index: Array, dense: Array) -> Array:
    expect("float32", dense)
    require(dense.ndim == 2 and dense.shape[0] == lengths.size, f"{lengths.size} lengths do not fit {dense.shape}")
    return dense[_rows_of(xp, lengths, index, dense.shape[1]), index]


def _rows_of(xp: Any, lengths: Array, index: Array, columns: int) -> Array:
    """The row of each index."""
    expect("int64", lengths, index)
    require(index.ndim == 1, f"indices are a vector, not of rank {index.ndim}")
    sizes = integers(lengths)
    require(min(sizes, default=0) >= 0 and sum(sizes) == index.size, f"lengths {sizes} do not fit {index.size} indices")
    require_indices(index, columns)
    return xp.repeat(xp.arange(len(sizes)), sizes)


# One-hot codes and buckets.

operator("OneHot", inputs=2, outputs=1, gradient=NONE)
operator("SegmentOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchOneHot", inputs=3, outputs=1, gradient=NONE)
operator("BatchBucketOneHot", inputs=3, outputs=1)
operator("BucketBatchOneHot", checked=False, runs=False, gradient=NONE)
operator("BatchBucketize", inputs=4, outputs=1, gradient=NONE)


@kernel("OneHot")
def one_hot(xp: Any, index: Array, size: Array) -> Array:
    require(index.ndim == 1, f"indices are a vector, not of rank {index.ndim}")
    return _ones_at(xp, index.size, xp.arange(index.size), index, size)


@kernel("SegmentOneHot")
def segment_one_hot(xp: Any, lengths: Array, index: Array, size: Array) -> Array:
    """A row for each segment, with a one for each of its indices."""
    sizes = lengths_of(lengths)
    require(index.ndim == 1 and sum(sizes) <= index.size, f"the lengths add up to {sum(sizes)} of {index.size} indices")
    rows = xp.repeat(xp.arange(len(sizes)), sizes)
    return _ones_at(xp, len(sizes), rows, index[: sum(sizes)], size)


def _ones_at(xp: Any, rows: int, row: Array, index: Array, size: Array) -> Array:
    expect("int64", index, size)
    require(size.size == 1 and int(size.reshape(())) > 0, "the number of columns is one positive number")
    columns = int(size.reshape(()))
    require_indices(index, columns)
    codes = xp.zeros((rows, columns), dtype=xp.float32)
    codes[row, index] = 1
    return codes


@kernel("BatchOneHot")
def batch_one_hot(xp: Any, data: Array, lengths: Array, values: Array) -> Array:
    """Each column is compared with its own values."""
    expect("int32 int64", data)
    require_same_dtype(data, values)
    columns, sizes = _columns_and_lengths(data, lengths, values)
    return (xp.repeat(columns, sizes, axis=1) == values.reshape(-1)).astype(data.dtype)


@kernel("BatchBucketOneHot")
def batch_bucket_one_hot(xp: Any, data: Array, lengths: Array, boundaries: Array) -> Array:
    """Each column is put into buckets between its own boundaries, which belong to the bucket below."""
    expect("float32", data, boundaries)
    columns, sizes = _columns_and_lengths(data, lengths, boundaries)
    require(min(sizes, default=1) > 0, "a column has no boundary")
    starts = starts_of(sizes)
    codes = [
        xp.searchsorted(boundaries[starts[j] : starts[j + 1]], columns[:, j])[:, None] == xp.arange(sizes[j] + 1)
        for j in range(len(sizes))
    ]
    return xp.concatenate(codes, axis=1).astype(data.dtype)


def _columns_and_lengths(data: Array, lengths: Array, values: Array) -> tuple[Array, list[int]]:
    require(data.ndim > 0, "a scalar has no columns")
    columns = data.reshape(data.shape[0], prod(data.shape[1:]))
    sizes = lengths_of(lengths, values.size)
    require(len(sizes) == columns.shape[1], f"there are {len(sizes)} lengths for {columns.shape[1]} columns")
    return columns, sizes


@kernel("BatchBucketize")
def batch_bucketize(xp: Any, features: Array, index: Array, boundaries: Array, lengths: Array) -> Array:
    """The bucket of some columns; a boundary belongs to the bucket below."""
    expect("float32", features, boundaries)
    expect("int32", index)
    require(features.ndim == 2, f"a matrix is wanted, not rank {features.ndim}")
    require_indices(index, features.shape[1])
    sizes, chosen = lengths_of(lengths, boundaries.size), integers(index)
    require(len(sizes) == len(chosen), f"there are {len(sizes)} lengths for {len(chosen)} columns")
    starts = starts_of(sizes)
    buckets = [
        xp.searchsorted(boundaries[starts[j] : starts[j + 1]], features[:, column]) for j, column in enumerate(chosen)
    ]
    return xp.stack(buckets, axis=1).astype(xp.int32)


# Keys spread over shards: a key goes to the shard that it leaves as remainder.

operator("Partition", inputs=(1, MANY), arities=_each_split_alike, args="pack_first_input", gradient=NONE)
operator("LengthsPartition", inputs=(2, MANY), arities=_each_split_alike, args="pack_first_input", gradient=NONE)
operator("GatherByKey", inputs=(2, MANY), outputs=1, gradient=_gather_by_key_gradient)


@kernel("Partition")
def partition(xp: Any, *inputs: Array, ctx: Context, pack_first_input: int = 0) -> tuple[Array, ...]:
    """For each shard its keys, then the rows of the other inputs that stand beside them."""
    return tuple(array for shard in _shards(inputs, ctx.outputs // len(inputs), pack_first_input) for array in shard)


@kernel("LengthsPartition")
def lengths_partition(
    xp: Any, lengths: Array, *inputs: Array, ctx: Context, pack_first_input: int = 0
) -> tuple[Array, ...]:
    """The same for segments: each shard also gets the lengths that its keys leave."""
    require(inputs[0].ndim == 1, f"keys are a vector, not of rank {inputs[0].ndim}")
    count = ctx.outputs // (len(inputs) + 1)
    if count == 1:
        return (lengths, *inputs)
    sizes = lengths_of(lengths, inputs[0].size)
    segment = xp.repeat(xp.arange(len(sizes)), sizes)
    outputs: list[Array] = []
    for shard, arrays in enumerate(_shards(inputs, count, pack_first_input)):
        left = xp.bincount(segment[inputs[0] % count == shard], minlength=len(sizes))
        outputs += [left.astype(xp.int32), *arrays]
    return tuple(outputs)


def _shards(inputs: tuple[Array, ...], count: int, pack: int) -> list[list[Array]]:
    keys = inputs[0]
    expect("int32 int64", keys)
    fit = all(other.shape[: keys.ndim] == keys.shape for other in inputs)
    require(fit, f"the shapes of the other inputs do not start as that of the keys, {keys.shape}")
    flat = keys.reshape(-1)
    rows = [other.reshape(flat.size, *other.shape[keys.ndim :]) for other in inputs[1:]]
    shards = []
    for shard in range(count):
        mine = flat % count == shard
        kept = flat[mine]
        shards.append([(kept - shard) // count if pack else kept, *(row[beside(row, mine)] for row in rows)])
    return shards


@kernel("GatherByKey")
def gather_by_key(xp: Any, keys: Array, *shards: Array) -> Array:
    """The opposite of a partition: rows of the shards, in the order of the keys."""
    expect("int32 int64", keys)
    require(keys.ndim == 1, f"keys are a vector, not of rank {keys.ndim}")
    fit = all(shard.dtype == shards[0].dtype and shard.shape[1:] == shards[0].shape[1:] for shard in shards)
    require(fit, "the shards have different dtypes or rows")
    gathered = namespace(xp, *shards).empty((keys.size, *shards[0].shape[1:]), dtype=shards[0].dtype)
    for number, shard in enumerate(shards):
        mine = keys % len(shards) == number
        require(
            int(mine.sum()) == shard.shape[0], f"shard {number} has {shard.shape[0]} rows for {int(mine.sum())} keys"
        )
        gathered[beside(shard, mine)] = shard
    return gathered


# Lists of ids.

operator("Unique", inputs=1, outputs=(1, 2), gradient=SHOULD_NOT)
operator("FindDuplicateElements", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Find", inputs=2, outputs=1, args="missing_value")
operator("KeySplit", inputs=1, outputs=(1, MANY))
operator("KeySplitOp", checked=False, runs=False, gradient=NONE)
operator("MergeIdLists", inputs=(2, MANY), outputs=2, arities=lambda n, _: n % 2 == 0, gradient=NONE)
operator("DenseVectorToIdList", inputs=1, outputs=2, gradient=NONE)
operator("NGramFromCategorical", inputs=1, outputs=1, gradient=NONE)
operator("IndexHash", inputs=1, outputs=1, inplace=[(0, 0)], args="seed modulo", gradient=SHOULD_NOT)
operator("UnsafeCoalesce", arities=lambda n_in, n_out: n_out == n_in + 1, inplace="one_to_one")


@kernel("Unique")
def unique(xp: Any, ids: Array) -> tuple[Array, Array]:
    """The different ids in order, and where each input id stands among them."""
    expect("int32 int64", ids)
    require(ids.ndim == 1, f"a vector is wanted, not rank {ids.ndim}")
    different, places = xp.unique(ids, return_inverse=True)
    return different, places.reshape(ids.shape).astype(xp.int32)


@kernel("FindDuplicateElements")
def find_duplicate_elements(xp: Any, elements: Array) -> Array:
    """The indices of elements that have been there before."""
    expect("int32 int64 float32 float64 bool string", elements)
    require(elements.ndim == 1, f"a vector is wanted, not rank {elements.ndim}")
    first = namespace(xp, elements).unique(elements, return_index=True)[1]
    is_new = xp.zeros(elements.shape, dtype=bool)
    is_new[xp.asarray(first)] = True
    return xp.flatnonzero(~is_new).astype(xp.int64)


@kernel("Find")
def find(xp: Any, index: Array, wanted: Array, *, missing_value: int = -1) -> Array:
    """Where each wanted number stands (last) in the index."""
    expect("int32 int64", index)
    require_same_dtype(index, wanted)
    if index.size == 0:
        return xp.full(wanted.shape, missing_value, dtype=index.dtype)
    flat = index.reshape(-1)
    order = xp.argsort(flat, kind="stable")
    ranked = flat[order]
    rank = xp.maximum(xp.searchsorted(ranked, wanted.reshape(-1), side="right") - 1, 0)
    found = xp.where(ranked[rank] == wanted.reshape(-1), order[rank], missing_value)
    return found.astype(index.dtype).reshape(wanted.shape)


@kernel("KeySplit")
def key_split(xp: Any, keys: Array, *, ctx: Context, categorical_limit: int = 0) -> tuple[Array, ...]:
    """For each key from 0 up to the limit the places where it stands."""
    expect("int64", keys)
    require(ctx.outputs == categorical_limit, f"there are {ctx.outputs} outputs for a limit of {categorical_limit}")
    require_indices(keys, categorical_limit)
    return tuple(xp.flatnonzero(keys == key).astype(xp.int32) for key in range(categorical_limit))


@kernel("MergeIdLists")
def merge_id_lists(xp: Any, *lengths_and_ids: Array) -> tuple[Array, Array]:
    """For each row the union of its lists, in order."""
    first = lengths_and_ids[1]
    expect("int32 int64", first)
    merged: list[set[int]] = [set() for _ in range(lengths_and_ids[0].size)]
    for lengths, ids in zip(lengths_and_ids[::2], lengths_and_ids[1::2], strict=True):
        require_same_dtype(first, ids)
        sizes, known = lengths_of(lengths, ids.size), integers(ids)
        require(len(sizes) == len(merged), f"there are {len(sizes)} rows where {len(merged)} are wanted")
        starts = starts_of(sizes)
        for row, union in enumerate(merged):
            union.update(known[starts[row] : starts[row + 1]])
    ordered = [id for union in merged for id in sorted(union)]
    return xp.asarray([len(union) for union in merged], dtype=xp.int32), xp.asarray(ordered, dtype=first.dtype)


@kernel("DenseVectorToIdList")
def dense_vector_to_id_list(xp: Any, x: Array) -> tuple[Array, Array]:
    """For each row the columns whose number rounds to other than 0."""
    expect("float32", x)
    require(x.ndim == 2, f"a matrix is wanted, not rank {x.ndim}")
    named = xp.trunc(x + 0.5) != 0
    return named.sum(axis=1).astype(xp.int32), xp.nonzero(named)[1].astype(xp.int32)


@kernel("NGramFromCategorical")
def ngram_from_categorical(
    xp: Any, features: Array, *, col_ids: list[int], categorical_limits: list[int], vals: list[int]
) -> Array:
    """One number for the categories of several columns together, the first column varying fastest."""
    expect("float32", features)
    require(len(col_ids) == len(categorical_limits), "there must be a limit for each column")
    require(sum(categorical_limits) == len(vals), f"there are {len(vals)} values for limits {categorical_limits}")
    columns = features.reshape(features.shape[0], prod(features.shape[1:]))
    require(all(0 <= column < columns.shape[1] for column in col_ids), f"columns {col_ids} are not all there")
    number = xp.zeros(columns.shape[0], dtype=xp.int64)
    starts, base = starts_of(categorical_limits), 1
    for column, limit, start in zip(col_ids, categorical_limits, starts, strict=False):
        category = columns[:, column].astype(xp.int64)
        for value, rank in {value: rank for rank, value in enumerate(vals[start : start + limit])}.items():
            number += xp.where(category == value, rank * base, 0)
        base *= limit
    return number


@kernel("IndexHash")
def index_hash(xp: Any, ids: Array, *, seed: int = 0, modulo: int = 0) -> Array:
    """A hash of the bytes of each id, in arithmetic that wraps around at the size of the id."""
    expect("int32 int64", ids)
    limit = 2 ** (8 * ids.dtype.itemsize - 1)
    require(0 < modulo < limit, f"modulo {modulo} must be positive and fit {ids.dtype}")
    start = (seed * 0xDEADBEEF + limit) % (2 * limit) - limit
    hashed = xp.full(ids.shape, start, dtype=ids.dtype)
    octets = xp.ascontiguousarray(ids).reshape(-1).view(xp.int8).reshape(*ids.shape, ids.dtype.itemsize)
    for i in range(ids.dtype.itemsize):
        hashed = hashed * ids.dtype.type(65537) + octets[..., i]
    return (hashed.astype(xp.int64) % modulo).astype(ids.dtype)


@kernel("UnsafeCoalesce")
def unsafe_coalesce(xp: Any, *inputs: Array) -> tuple[Array, ...]:
    """The inputs themselves, and all their elements in one vector."""
    require(len(inputs) > 0, "there is nothing to put together")
    require(all(each.dtype == inputs[0].dtype for each in inputs), "inputs have different dtypes")
    return (*inputs, namespace(xp, *inputs).concatenate([each.reshape(-1) for each in inputs]))
