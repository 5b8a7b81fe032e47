"""Ranks, order statistics and histograms: ties, NaN, padding, accumulation, and what is refused."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run
from tests.ops.slopes import check_slopes

NAN = math.nan


def f32(*values):
    return np.array(values, "float32")


def test_arg_max_takes_the_first_that_ties_and_skips_nan():
    assert run("ArgMax", f32(1, 3, 3), keepdims=0).tolist() == 1
    assert run("ArgMax", f32(1, NAN, 2)).tolist() == [2]
    assert run("ArgMax", f32(NAN, 5)).tolist() == [0]
    assert run("ArgMin", np.array([[2, 1], [0, 1]]), axis=0).tolist() == [[1, 0]]
    assert run("ArgMax", f32(1, 2)).dtype == np.int64


def test_top_k_is_sorted_and_stable():
    values, indices, flat = run("TopK", f32(1, 5, 5, 3, 9, 9).reshape(2, 3), k=2, outputs=3)
    assert values.tolist() == [[5, 5], [9, 9]]
    assert indices.tolist() == [[1, 2], [1, 2]]
    assert flat.tolist() == [1, 2, 4, 5]


def test_top_k_along_another_axis_and_beyond_its_end():
    values, indices, flat = run("TopK", f32(1, 5, 7, 3).reshape(2, 2), k=3, axis=0, outputs=3)
    assert values.tolist() == [[7, 5], [1, 3], [0, 0]]
    assert indices.tolist() == [[1, 0], [0, 1], [-1, -1]]
    assert flat.tolist() == [2, 1, 0, 3, -1, -1]


def test_top_k_reads_k_from_an_input():
    values, _ = run("TopK", f32(3, 1, 2), np.array([2], "int32"), outputs=2)
    assert values.tolist() == [3, 2]


@pytest.mark.parametrize(("args", "said"), [({}, "at least 1"), ({"k": 1, "axis": -2}, "from the front")])
def test_top_k_refuses(args, said):
    with pytest.raises(ExecutionError, match=said):
        run("TopK", f32(1, 2).reshape(1, 2), outputs=2, **args)


def test_gradients_go_back_to_where_the_largest_were():
    d_values, indices = f32(7, 8, 9).reshape(1, 3), np.array([[2, 0, -1]])
    assert run("TopKGradient", d_values, indices, f32(0, 0, 0).reshape(1, 3)).tolist() == [[8, 0, 7]]
    d_values, indices = f32(7, 8), np.array([[1], [0]])
    assert run("TopKGradient", d_values.reshape(2, 1), indices, np.zeros((2, 1), "float32"), axis=0).tolist() == [
        [8],
        [7],
    ]


def test_flexible_top_k_takes_as_many_as_each_row_says():
    x, k = f32(1, 3, 2, 6, 5, 4).reshape(2, 3), np.array([1, 2])
    values, indices = run("FlexibleTopK", x, k, outputs=2)
    assert (values.tolist(), indices.tolist()) == ([3, 6, 5], [1, 0, 1])
    assert run("FlexibleTopKGradient", x, k, f32(7, 8, 9), indices).tolist() == [[0, 7, 0], [8, 9, 0]]
    with pytest.raises(ExecutionError, match="between 1 and 3"):
        run("FlexibleTopK", x, np.array([0, 2]), outputs=2)


def test_quantile():
    x = f32(*range(1, 101))
    assert run("Quantile", x, quantile=0.0).tolist() == [1]
    assert run("Quantile", x, quantile=1.0).tolist() == [100]
    assert 50 <= run("Quantile", x, quantile=0.5)[0] < 51
    assert run("Quantile", -x, quantile=1.0).tolist() == [100]
    assert run("Quantile", -x, quantile=1.0, abs=0).tolist() == [-1]
    with pytest.raises(ExecutionError, match="quantile"):
        run("Quantile", x)


def test_percentiles_are_interpolated():
    table = f32(10, 0.1, 20, 0.5, 5, 0.9).reshape(3, 2)
    lengths = np.array([2, 1], "int32")
    x = f32(5, 4, 10, 5, 15, 6, 30, 5).reshape(4, 2)
    np.testing.assert_allclose(run("Percentile", x, table, lengths), [[0, 0], [0.1, 0.9], [0.3, 1], [1, 0.9]], 1e-5)
    with pytest.raises(ExecutionError, match="add up"):
        run("Percentile", x, table, np.array([1, 1], "int32"))


def test_percentiles_by_bisection():
    tables = {
        "percentile_raw": [10.0, 20.0],
        "percentile_mapping": [0.4, 0.8],
        "percentile_lower": [0.3, 0.7],
        "percentile_upper": [0.5, 0.9],
    }
    found = run("BisectPercentile", f32(5, 10, 15, 20, 25).reshape(5, 1), lengths=[2], **tables)
    np.testing.assert_allclose(found[:, 0], [0, 0.4, 0.6, 0.8, 1], 1e-5)
    with pytest.raises(ExecutionError, match="lengths"):
        run("BisectPercentile", f32(5).reshape(1, 1), lengths=[1], **tables)


def test_histogram_counts_what_lies_between_its_edges():
    found = run("Histogram", f32(-1, 0, 0.5, 1, 2, 3), f32(0.5), bin_edges=[0.0, 1.0, 2.0])
    assert found.dtype == np.int64 and found.tolist() == [3, 1]
    with pytest.raises(ExecutionError, match="at least two"):
        run("Histogram", f32(1), bin_edges=[0.0])
    with pytest.raises(ExecutionError, match="strictly"):
        run("Histogram", f32(1), bin_edges=[0.0, 0.0])


def test_accumulated_histogram_keeps_what_lies_outside_at_its_ends():
    counts, total = run("AccumulateHistogram", f32(-1, 0, 0.4, 0.5, 1), num_buckets=2, outputs=2)
    assert counts.tolist() == total.tolist() == [1, 2, 1, 1]


def test_self_binning_histogram():
    edges, counts = run("SelfBinningHistogram", f32(0, 1, 2), num_bins=2, outputs=2)
    np.testing.assert_allclose(edges, [0, 1.0001, 2.0002], 1e-5)
    assert counts.tolist() == [2, 1, 0]
    _, counts = run("SelfBinningHistogram", f32(3, 3), num_bins=2, outputs=2)
    assert counts.tolist() == [2, 0, 0]
    edges, _ = run("SelfBinningHistogram", f32(1, 100), num_bins=2, bin_spacing="logarithmic", outputs=2)
    np.testing.assert_allclose(edges, [1, 10, 100], 1e-3)
    edges, counts = run("SelfBinningHistogram", np.zeros(0), num_bins=1, outputs=2)
    assert (edges.tolist(), counts.tolist(), edges.dtype) == ([0, 0], [0, 0], np.float64)


def test_slopes():
    x = np.array([[0.3, 2.1, -1.0], [4.0, 0.2, 1.5]])
    check_slopes("TopK", x, k=2, outputs=2)
    check_slopes("TopK", x, k=1, axis=0, outputs=2)
    check_slopes("FlexibleTopK", x, np.array([2, 1]), outputs=2)
