"""Sparse forms by hand: dense and back, one-hot codes, partitions, lists of ids, and their gradient rules."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.records import GradientSlice, Op
from gradviz.ops.registry import lookup, make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64


def lists(arrays):
    return [array.tolist() for array in arrays]


def test_sparse_to_dense_adds_up():
    assert run("SparseToDense", i4([2, 0, 2]), f4([1, 2, 3])).tolist() == [2, 0, 4]
    assert run("SparseToDense", i4([0]), f4([[1, 2]]), np.zeros((3, 9), f4)).tolist() == [[1, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize("inputs", [(i4([3]), f4([1]), f4([0])), (i4([-1]), f4([1])), (i4([0]), np.float64([1]))])
def test_sparse_to_dense_refuses(inputs):
    with pytest.raises(ExecutionError, match="SparseToDense"):
        run("SparseToDense", *inputs)


def test_dense_mask_keeps_the_last_value_of_an_id():
    ids, values, default, lengths = i8([5, 1, 5, 7]), f4([1, 2, 3, 4]), f4(-1), i4([3, 1])
    dense, present = run(
        "SparseToDenseMask", ids, values, default, lengths, outputs=2, mask=[5, 7], return_presence_mask=1
    )
    assert dense.tolist() == [[3, -1], [-1, 4]] and present.tolist() == [[True, False], [False, True]]
    assert run("SparseToDenseMask", ids, values, default, mask=[5, 7]).tolist() == [3, 4]
    dx = run("SparseToDenseMaskGradient", ids, f4([[10, 20], [30, 40]]), lengths, mask=[5, 7])
    assert dx.tolist() == [0, 0, 10, 40]


def test_dense_mask_skips_few_negative_ids_and_no_more():
    inputs = i4([-1, 2]), f4([1, 2]), f4(0)
    assert run("SparseToDenseMask", *inputs, mask=[2]).tolist() == [2]
    with pytest.raises(ExecutionError, match="too many"):
        run("SparseToDenseMask", *inputs, mask=[2], max_skipped_indices=1)
    with pytest.raises(ExecutionError, match="twice"):
        run("SparseToDenseMask", *inputs, mask=[2, 2])


def test_batch_sparse_to_dense_and_back():
    lengths, index, values = i8([2, 0, 1]), i8([0, 2, 1]), f4([1, 2, 3])
    dense = run("BatchSparseToDense", lengths, index, values, dense_last_dim=3, default_value=9.0)
    assert dense.tolist() == [[1, 9, 2], [9, 9, 9], [9, 3, 9]]
    assert run("BatchDenseToSparse", lengths, index, dense).tolist() == [1, 2, 3]
    assert run("BatchSparseToDense", lengths, index, values, np.zeros((3, 4), f4)).shape == (3, 4)
    for bad in ({}, {"dense_last_dim": 2}):
        with pytest.raises(ExecutionError):
            run("BatchSparseToDense", lengths, index, values, **bad)


def test_one_hot_codes():
    assert run("OneHot", i8([1, 0]), i8([2])).tolist() == [[0, 1], [1, 0]]
    assert run("SegmentOneHot", i4([2, 0]), i8([0, 2]), i8(3)).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert run("BatchOneHot", i4([[1, 5], [2, 5]]), i4([2, 1]), i4([1, 2, 5])).tolist() == [[1, 0, 1], [0, 1, 1]]
    with pytest.raises(ExecutionError, match="out of range"):
        run("OneHot", i8([2]), i8([2]))


def test_buckets_include_their_upper_boundary():
    data = f4([[2, 3], [4, 1]])
    codes = run("BatchBucketOneHot", data, i4([1, 2]), f4([2, 1, 3]))
    assert codes.tolist() == [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0]]
    assert run("BatchBucketize", data, i4([1, 0]), f4([1, 3, 2]), i4([2, 1])).tolist() == [[1, 0], [0, 1]]


def test_partition_and_gather_by_key_undo_each_other():
    keys, rows = i8([-3, 4, 7, 0]), f4([[1], [2], [3], [4]])
    even, even_rows, odd, odd_rows = run("Partition", keys, rows, outputs=4)
    assert lists([even, odd, odd_rows]) == [[4, 0], [-3, 7], [[1], [3]]]
    assert np.array_equal(run("GatherByKey", keys, even_rows, odd_rows), rows)
    assert lists(run("Partition", keys, outputs=2, pack_first_input=1)) == [[2, 0], [-2, 3]]
    with pytest.raises(ExecutionError, match="shard 0"):
        run("GatherByKey", keys, odd_rows[:1], odd_rows)


def test_lengths_partition_shares_lengths_out():
    outputs = run("LengthsPartition", i4([2, 0, 1]), i4([1, 2, 3]), outputs=4)
    assert lists(outputs) == [[1, 0, 0], [2], [1, 0, 1], [1, 3]]


def test_finding():
    different, places = run("Unique", i8([3, 1, 3]), outputs=2)
    assert lists([different, places]) == [[1, 3], [1, 0, 1]] and places.dtype == i4
    assert run("FindDuplicateElements", np.array([b"a", b"b", b"a", b"a"], object)).tolist() == [2, 3]
    assert run("Find", i4([4, 9, 4]), i4([4, 5, 9])).tolist() == [2, -1, 1]
    assert run("Find", i4([]), i4([4]), missing_value=7).tolist() == [7]


def test_lists_of_ids():
    assert lists(run("KeySplit", i8([1, 0, 1]), outputs=2, categorical_limit=2)) == [[1], [0, 2]]
    merged = run("MergeIdLists", i4([1, 1]), i8([7, 1]), i4([0, 2]), i8([1, 0]), outputs=2)
    assert lists(merged) == [[1, 2], [7, 0, 1]]
    assert lists(run("DenseVectorToIdList", f4([[0, 0.6], [0.4, 2]]), outputs=2)) == [[1, 1], [1, 1]]
    assert run(
        "NGramFromCategorical", f4([[7, 2], [8, 1]]), col_ids=[0, 1], categorical_limits=[2, 2], vals=[7, 8, 1, 2]
    ).tolist() == [2, 1]


def test_unsafe_coalesce_keeps_inputs_and_joins_them():
    a, b = f4([[1]]), f4([2, 3])
    outputs = run("UnsafeCoalesce", a, b, outputs=3)
    assert lists(outputs) == [[[1]], [2, 3], [1, 2, 3]]


def test_index_hash_wraps_around_as_recorded_arithmetic_does():
    """One id by the definition: from the lowest byte on, times 65537 plus the signed byte, in 32 bits."""
    hashed = 0
    for octet in np.int32(-5).tobytes():
        hashed = hashed * 65537 + (octet - 256 if octet > 127 else octet)
    hashed = (hashed + 2**31) % 2**32 - 2**31
    assert run("IndexHash", i4([-5]), modulo=1000).tolist() == [hashed % 1000]
    with pytest.raises(ExecutionError, match="modulo"):
        run("IndexHash", i4([1]))


@pytest.mark.parametrize(
    ("type", "fits", "fails"),
    [
        ("Partition", [(1, 1), (2, 26), (13, 13)], [(2, 3), (2, 0), (3, 2)]),
        ("LengthsPartition", [(2, 2), (20, 40)], [(1, 1), (2, 3)]),
        ("BooleanUnmask", [(2, 1), (30, 1)], [(0, 1), (3, 1), (2, 2)]),
        ("ScatterWeightedSum", [(5, 1), (31, 1)], [(3, 1), (6, 1)]),
        ("UnsafeCoalesce", [(0, 1), (40, 41)], [(2, 2)]),
        ("MergeIdLists", [(2, 2), (30, 2)], [(3, 2)]),
    ],
)
def test_open_counts_follow_a_rule(type, fits, fails):
    def violation(counts):
        names = [[f"{letter}{i}" for i in range(n)] for letter, n in zip("xy", counts, strict=True)]
        if type == "ScatterWeightedSum":
            names[1][:1] = names[0][:1]
        return lookup(type).schema.violation(Op(definition(type, 0, names[1], names[0])))

    assert all(violation(counts) is None for counts in fits)
    assert all(violation(counts) is not None for counts in fails)


def gradient(op, *g_output):
    ops, g_input = make_gradient(Op(op), g_output)
    return [made.to_proto() for made in ops], list(g_input)


def test_gather_by_key_gradient_is_a_partition():
    (made,), g_input = gradient(definition("GatherByKey", 3), "g")
    assert list(made.output) == ["_x1_grad_keys", "x1_grad", "_x2_grad_keys", "x2_grad"]
    assert g_input == [None, "x1_grad", "x2_grad"]
    (made,), g_input = gradient(definition("GatherByKey", 2), GradientSlice("idx", "val"))
    assert list(made.input) == ["x0", "idx", "val"]
    assert list(made.output) == ["_x1_grad_indices_keys", "x1_grad_indices", "x1_grad_values"]
