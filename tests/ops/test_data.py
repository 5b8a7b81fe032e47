"""Datasets, windows and indexes, which need neither files nor threads."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run

FIELDS = ["id", "tags:lengths", "tags:values", "tags:parts:lengths", "tags:parts:values"]
COLUMNS = [
    np.array([1, 2, 3], "int64"),
    np.array([1, 0, 2], "int32"),
    np.array([7, 8, 9], "float32"),
    np.array([2, 0, 1], "int32"),
    np.array([1, 2, 3], "float32"),
]


def test_columns_must_fit_together():
    run("CheckDatasetConsistency", *COLUMNS, outputs=0, fields=FIELDS)
    with pytest.raises(ExecutionError, match="tags:values has 2 rows where 3"):
        run("CheckDatasetConsistency", *COLUMNS[:2], COLUMNS[2][:2], *COLUMNS[3:], outputs=0, fields=FIELDS)
    with pytest.raises(ExecutionError, match="4 columns for 5 fields"):
        run("CheckDatasetConsistency", *COLUMNS[:4], outputs=0, fields=FIELDS)


def test_batches_follow_the_lengths():
    cursor = run("CreateTreeCursor", fields=FIELDS)
    first = run("ReadNextBatch", cursor, *COLUMNS, outputs=5, batch_size=2)
    assert [each.tolist() for each in first] == [[1, 2], [1, 0], [7], [2], [1, 2]]
    second = run("ReadNextBatch", cursor, *COLUMNS, outputs=5, batch_size=2)
    assert [each.tolist() for each in second] == [[3], [2], [8, 9], [0, 1], [3]]
    assert [each.size for each in run("ReadNextBatch", cursor, *COLUMNS, outputs=5)] == [0] * 5
    run("ResetCursor", cursor, outputs=0)
    assert run("ReadNextBatch", cursor, *COLUMNS, outputs=5)[0].tolist() == [1]


def test_window_is_a_ring():
    from gradviz.execute.operator import run_op
    from tests.ops.running import definition

    op = definition("LastNWindowCollector", 0, ["w", "n"], names=["w", "n", "x"], num_to_collect=3)
    window, place = np.zeros(0, "float32"), np.array(0, "int32")
    seen = []
    for rows in ([1, 2], [3, 4], [5, 6, 7, 8]):
        window, place = run_op(op, [window, place, np.array(rows, "float32")])
        seen.append((window.tolist(), int(place)))
    assert seen == [([1, 2], 2), ([4, 2, 3], 1), ([8, 6, 7], 1)]


def test_index_numbers_keys_from_one():
    index = run("StringIndexCreate", max_elements=4)
    keys = np.array([[b"a", b"b"], [b"a", b"c"]], object)
    assert run("IndexGet", index, keys).tolist() == [[1, 2], [1, 3]]
    assert run("IndexStore", index).tolist() == [b"a", b"b", b"c"] and int(run("IndexSize", index)) == 4
    with pytest.raises(ExecutionError, match="full"):
        run("IndexGet", index, np.array([b"d"], object))
    index.frozen = True
    assert run("IndexGet", index, np.array([b"d"], object)).tolist() == [0]


def test_what_needs_files_or_threads_says_so():
    with pytest.raises(ExecutionError, match="feed its blobs instead"):
        run("CreateBlobsQueue")
    with pytest.raises(ExecutionError, match="reads or writes files"):
        run("CreateDB")
