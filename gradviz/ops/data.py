"""Datasets, databases, queues, readers and indexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradviz.ops import _dataset
from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.schema import MANY, one_ahead, same

if TYPE_CHECKING:
    from collections.abc import Sequence

operator("CheckDatasetConsistency", inputs=(1, MANY), outputs=0, args="fields", gradient=SHOULD_NOT)
operator("Checkpoint", inputs=(1, MANY), outputs=0, args="absolute_path db db_type every", gradient=SHOULD_NOT)
operator("CloseBlobsQueue", inputs=1, outputs=0, gradient=NONE)
operator("CloseRebatchingQueue", inputs=1, outputs=0, gradient=NONE)
operator(
    "CollectTensor",
    outputs=(1, MANY),
    arities=lambda i, o: i == 2 * o,
    enforced=same,
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator("ConcatTensorVector", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CreateBlobsQueue", inputs=0, outputs=1, gradient=NONE)
operator(
    "CreateBlobsQueueDB", inputs=1, outputs=1, args="key_blob_index value_blob_index timeout_secs", gradient=SHOULD_NOT
)
operator("CreateDB", inputs=0, outputs=1, gradient=NONE)
operator("CreateMap", inputs=0, outputs=1, args="key_dtype value_dtype")
operator("CreateRebatchingQueue", inputs=0, outputs=1, args="num_blobs capacity", gradient=NONE)
operator("CreateTensorVector", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("CreateTextFileReader", inputs=0, outputs=1, args="filename num_passes field_types", gradient=NONE)
operator("CreateTreeCursor", inputs=0, outputs=1, args="fields", gradient=SHOULD_NOT)
operator("DBExists", inputs=0, outputs=1, args="absolute_path db_name db_type", gradient=SHOULD_NOT)
operator("DataCouple", enforced=same)
operator("DequeueBlobs", arities=lambda i, o: i == 1 <= o, args="timeout_secs", gradient=NONE)
operator("DequeueRebatchingQueue", inputs=1, outputs=(1, MANY), args="num_elements", gradient=NONE)
operator("EnqueueBlobs", arities=lambda i, o: i == o + 1 >= 2, enforced=one_ahead, gradient=NONE)
operator("EnqueueRebatchingQueue", inputs=(2, MANY), outputs=0, args="enqueue_batch", gradient=NONE)
operator("GetCursorOffset", inputs=1, outputs=1)
operator("HasElements", inputs=(1, MANY), outputs=1, gradient=SHOULD_NOT)
operator("IDEEPCreateBlobsQueueOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("IDEEPSafeEnqueueBlobsOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("IndexFreeze", inputs=1, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
operator("IndexGet", inputs=2, outputs=1)
operator("IndexGetOp", checked=False, runs=False, gradient=NONE)
operator("IndexLoad", inputs=2, outputs=1, enforced=[(0, 0)], args="skip_first_entry", gradient=SHOULD_NOT)
operator("IndexSize", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("IndexStore", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("IntIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("KeyValueToMap", inputs=2, outputs=1)
operator(
    "LastNWindowCollector",
    outputs=(2, 3),
    arities=[(3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (5, 3)],
    enforced=[(0, 0), (1, 1), (4, 2)],
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator(
    "Load",
    args="absolute_path add_prefix strip_prefix db dbs db_type keep_device load_all allow_incomplete source_blob_names",
    gradient=NONE,
)
operator("LongIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("MapToKeyValue", inputs=1, outputs=2)
operator("PackRecords", inputs=(1, MANY), outputs=1, args="fields", gradient=SHOULD_NOT)
operator("ReadNextBatch", inputs=(1, MANY), outputs=(1, MANY), args="batch_size", gradient=SHOULD_NOT)
operator("ReadRandomBatch", inputs=(1, MANY), outputs=(1, MANY), args="batch_size loop_over", gradient=SHOULD_NOT)
operator("ResetCursor", inputs=1, outputs=0, gradient=SHOULD_NOT)
operator("SafeDequeueBlobs", arities=lambda i, o: i == 1 and o >= 2, args="num_records", gradient=NONE)
operator("SafeEnqueueBlobs", arities=lambda i, o: i == o >= 2, enforced=one_ahead, gradient=NONE)
operator(
    "Save",
    inputs=(1, MANY),
    outputs=0,
    args="absolute_path strip_prefix blob_name_overrides db db_type chunk_size",
    gradient=SHOULD_NOT,
)
operator("Snapshot", gradient=SHOULD_NOT)
operator("StringIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("TensorProtosDBInput", inputs=1, outputs=(1, MANY), args="batch_size", gradient=NONE)
operator("TensorVectorSize", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("TextFileReaderRead", inputs=1, outputs=(1, MANY), args="batch_size", gradient=NONE)
operator("TrimDataset", inputs=(1, MANY), outputs=(1, MANY), enforced=same, args="fields")
operator("UnPackRecords", inputs=(1, MANY), outputs=(1, MANY), args="fields", gradient=SHOULD_NOT)
operator(
    "WeightedSampleDequeueBlobs", inputs=(1, MANY), outputs=(2, MANY), args="weights table_idx_blob", gradient=NONE
)


# Datasets.


@kernel("CheckDatasetConsistency")
def check_dataset_consistency(xp: Any, *columns: Any, fields: Sequence[str]) -> tuple[()]:
    """Fails where the columns' numbers of rows do not fit together."""
    _dataset.check(fields, columns)
    return ()


@kernel("TrimDataset")
def trim_dataset(xp: Any, *columns: Any, fields: Sequence[str], multiple_of: int = 1) -> tuple[Any, ...]:
    """The columns without the last rows, so that their number is a multiple."""
    require(multiple_of >= 1, "the argument multiple_of must be positive")
    _dataset.check(fields, columns)
    rows = next(
        column.shape[0] for column, parent in zip(columns, _dataset.parents(fields), strict=True) if parent is None
    )
    ends = _dataset.ends(fields, columns, [0] * len(columns), rows - rows % multiple_of)
    return tuple(column[:end] for column, end in zip(columns, ends, strict=True))


@dataclass(slots=True)
class Cursor:
    """A place in a dataset: in each column the row that is read next."""

    fields: Sequence[str]
    offsets: list[int] = field(default_factory=list)


@kernel("CreateTreeCursor")
def create_tree_cursor(xp: Any, *, fields: Sequence[str]) -> Cursor:
    return Cursor(fields)


@kernel("ResetCursor")
def reset_cursor(xp: Any, cursor: Cursor) -> tuple[()]:
    cursor.offsets = []
    return ()


@kernel("ReadNextBatch")
def read_next_batch(xp: Any, cursor: Cursor, *columns: Any, batch_size: int = 1) -> tuple[Any, ...]:
    """The next rows of all columns; fewer at the end, and none after it."""
    starts = cursor.offsets or [0] * len(columns)
    cursor.offsets = _dataset.ends(cursor.fields, columns, starts, batch_size)
    return tuple(column[i:j] for column, i, j in zip(columns, starts, cursor.offsets, strict=True))


@kernel("HasElements")
def has_elements(xp: Any, *tensors: Any) -> Any:
    """Whether one of the tensors is not empty."""
    return xp.asarray(any(tensor.size for tensor in tensors))


@kernel("DataCouple")
def data_couple(xp: Any, *tensors: Any) -> tuple[Any, ...]:
    """Every tensor as it is; ties their order to one operator."""
    return tensors


@kernel("LastNWindowCollector")
def last_n_window_collector(
    xp: Any, window: Any, place: Any, rows: Any, mutex: Any = None, visited: Any = None, *, num_to_collect: int = -1
) -> tuple[Any, ...]:
    """A ring of the last rows, where its next row goes, and, where asked for, how many rows there were."""
    require(num_to_collect > 0, "the argument num_to_collect must be positive")
    expect("int32", place)
    require(place.ndim == 0, "the place must have rank 0")
    require(rows.ndim > 0, "there must be rows to collect")
    fresh = window.size == 0
    require(fresh or window.shape[1:] == rows.shape[1:], "the rows do not have the shape of those in the window")
    count, start = min(rows.shape[0], num_to_collect), 0 if fresh else int(place)
    old = window.shape[0] if not fresh else 0
    made = xp.zeros((min(num_to_collect, old + count), *rows.shape[1:]), dtype=rows.dtype)
    made[:old] = window[:old] if old else made[:0]
    if count:
        require(start < made.shape[0], f"the place {start} lies outside of the window")
        made[(start + xp.arange(count)) % num_to_collect] = rows[rows.shape[0] - count :]
    seen = None if visited is None else (visited * (0 if fresh else 1) + rows.shape[0]).astype("int64")
    return made, xp.asarray((start + count) % num_to_collect, dtype="int32"), seen


# Lists of tensors.


@kernel("CreateTensorVector")
def create_tensor_vector(xp: Any) -> list[Any]:
    return []


@kernel("TensorVectorSize")
def tensor_vector_size(xp: Any, tensors: list[Any]) -> Any:
    return xp.asarray(len(tensors), dtype="int32")


@kernel("ConcatTensorVector")
def concat_tensor_vector(xp: Any, tensors: list[Any]) -> Any:
    require(len(tensors) > 0, "there is nothing to join")
    return xp.concatenate(tensors)


# Indexes: each new key gets the next number, from 1; 0 is for keys that are not there.


@dataclass(slots=True)
class Index:
    """Numbers of keys, in the order in which they came."""

    dtype: str
    limit: int
    numbers: dict[Any, int] = field(default_factory=dict)
    frozen: bool = False

    def number(self, key: Any) -> int:
        """The number of a key, new if need be."""
        if key not in self.numbers and not self.frozen:
            require(len(self.numbers) + 1 < self.limit, f"the index is full: it has {self.limit} numbers")
            self.numbers[key] = len(self.numbers) + 1
        return self.numbers.get(key, 0)


def _index_create(type: str, dtype: str) -> None:
    def create(xp: Any, *, max_elements: int = 2**31 - 1) -> Index:
        """An empty index."""
        return Index(dtype, max_elements)

    kernel(type)(create)


_index_create("IntIndexCreate", "int32")
_index_create("LongIndexCreate", "int64")
_index_create("StringIndexCreate", "string")


@kernel("IndexGet")
def index_get(xp: Any, index: Index, keys: Any) -> Any:
    """The keys' numbers, as int64 of the same shape; keys that are new are taken in, unless the index is frozen."""
    expect(index.dtype, keys)
    found = [index.number(key) for key in keys.reshape(-1).tolist()]
    return xp.asarray(found, dtype="int64").reshape(keys.shape)


@kernel("IndexLoad")
def index_load(xp: Any, index: Index, keys: Any, *, skip_first_entry: int = 0) -> Index:
    """Fills the index with a list of keys."""
    expect(index.dtype, keys)
    index.numbers = {key: i for i, key in enumerate(keys.reshape(-1).tolist()[bool(skip_first_entry) :], 1)}
    require(len(index.numbers) < index.limit, f"the index is full: it has {index.limit} numbers")
    return index


@kernel("IndexStore")
def index_store(xp: Any, index: Index) -> Any:
    """The keys in the order of their numbers."""
    if index.dtype != "string":
        return xp.asarray(list(index.numbers), dtype=index.dtype)
    import numpy as np

    keys = np.empty(len(index.numbers), dtype=object)
    keys[:] = list(index.numbers)
    return keys


@kernel("IndexFreeze")
def index_freeze(xp: Any, index: Index) -> Index:
    index.frozen = True
    return index


@kernel("IndexSize")
def index_size(xp: Any, index: Index) -> Any:
    """How many numbers there are, the 0 included, as int64 of rank 0."""
    return xp.asarray(len(index.numbers) + 1, dtype="int64")


_QUEUES = (
    "CreateBlobsQueue EnqueueBlobs DequeueBlobs SafeEnqueueBlobs SafeDequeueBlobs CloseBlobsQueue "
    "WeightedSampleDequeueBlobs CreateBlobsQueueDB CreateRebatchingQueue EnqueueRebatchingQueue "
    "DequeueRebatchingQueue CloseRebatchingQueue"
)
_FILES = "Checkpoint CreateDB CreateTextFileReader DBExists Load Save Snapshot TensorProtosDBInput TextFileReaderRead"
_RECORDS = (
    "CollectTensor CreateMap KeyValueToMap MapToKeyValue PackRecords UnPackRecords ReadRandomBatch GetCursorOffset"
)
no_kernel("a queue waits for other threads, and a net runs in one here: feed its blobs instead", *_QUEUES.split())
no_kernel("it reads or writes files: feed its blobs instead", *_FILES.split())
no_kernel("its records and maps have a form of their own upstream", *_RECORDS.split())
