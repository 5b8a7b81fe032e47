"""Reductions over segments: folds, gradients, and what is refused."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import GradientSlice, Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

X = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], "float32")
LENGTHS = np.array([1, 0, 3], "int32")
IDS = np.array([0, 2, 2, 2], "int32")
SORTED = np.array([0, 1, 1, 1], "int32")
W = np.array([1, 2, 3, 4], "float32")


@pytest.mark.parametrize(
    ("fold", "by_length"),
    [("Sum", [[1, 2], [0, 0], [15, 18]]), ("Mean", [[1, 2], [0, 0], [5, 6]])],
)
def test_folds_agree_however_segments_are_given(fold, by_length):
    assert run(f"Lengths{fold}", X, LENGTHS).tolist() == by_length
    assert run(f"UnsortedSegment{fold}", X, IDS).tolist() == by_length
    assert run(f"UnsortedSegment{fold}", X, IDS, num_segments=4).tolist() == [*by_length, [0, 0]]
    assert run(f"SortedSegment{fold}", X, SORTED).tolist() == [by_length[0], by_length[2]]
    rows = np.array([3, 2, 1, 0], "int64")
    assert run(f"SparseLengths{fold}", X[::-1].copy(), rows, LENGTHS).tolist() == by_length


def test_max_of_an_empty_segment_is_zero():
    assert run("LengthsMax", -X, LENGTHS).tolist() == [[-1, -2], [0, 0], [-3, -4]]


def test_weights():
    assert run("LengthsWeightedSum", X, W, LENGTHS).tolist() == [[1, 2], [0, 0], [49, 58]]
    dy = np.array([[1, 1], [9, 9], [2, 0]], "float32")
    dx, dw = run("LengthsWeightedSumWithMainInputGradient", W, dy, LENGTHS, X, outputs=2)
    assert dx.tolist() == [[1, 1], [4, 0], [6, 0], [8, 0]] and dw.tolist() == [3, 6, 10, 14]
    with pytest.raises(ExecutionError, match="3 weights for 4 rows"):
        run("LengthsWeightedSum", X, W[:3], LENGTHS)


def test_log_sum_exp_does_not_overflow():
    x = np.array([1000, 1000, -1000], "float32")
    ids = np.array([0, 0, 1], "int32")
    assert run("SortedSegmentRangeLogSumExp", x, ids) == pytest.approx([1000 + np.log(2), -1000])
    assert run("SortedSegmentRangeLogMeanExp", x, ids) == pytest.approx([1000, -1000])


def test_every_tied_element_gets_the_gradient_of_the_max():
    x, ids = np.array([2, 2, 1], "float32"), np.array([0, 0, 0], "int32")
    y, dy = np.array([2], "float32"), np.array([5], "float32")
    assert run("SortedSegmentRangeMaxGradient", x, y, dy, ids).tolist() == [5, 5, 0]


def test_top_k_pads_short_segments():
    values, indices = run("LengthsTopK", np.array([1, 5, 5, 2], "float32"), LENGTHS, outputs=2, k=2)
    assert values.tolist() == [[1, 0], [0, 0], [5, 5]] and indices.tolist() == [[0, -1], [-1, -1], [0, 1]]
    dx = run("LengthsTopKGradient", LENGTHS, indices, np.array([[1, 9], [9, 9], [2, 3]], "float32"), k=2)
    assert dx.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("type", "inputs", "said"),
    [
        ("LengthsSum", [X, np.array([1, 2], "int32")], "sum up to 3"),
        ("LengthsSum", [X, np.array([5, -1], "int32")], "negative"),
        ("LengthsSum", [X, LENGTHS.astype("int64")], "int64"),
        ("LengthsSum", [X.astype("int32"), LENGTHS], "float32"),
        ("SparseLengthsSum", [X, np.array([0, 4, 1, 1], "int32"), LENGTHS], "outside of the 4 rows"),
        ("SparseLengthsSum", [X, np.array([0, -1, 1, 1], "int32"), LENGTHS], "outside of the 4 rows"),
        ("SortedSegmentSum", [X, IDS], "no gaps"),
        ("SortedSegmentSum", [X, SORTED + np.int32(1)], "start at 0"),
        ("SortedSegmentSumGradient", [X, SORTED], "4 gradients for 2 segments"),
        ("UnsortedSegmentSum", [X, np.array([0, -1, 0, 0], "int32")], "from 0 to 0"),
        ("LengthsToShape", [LENGTHS], "must be equal"),
        ("SegmentIdsToLengths", [np.array([1, 0], "int32")], "sorted"),
    ],
)
def test_refuses(type, inputs, said):
    with pytest.raises(ExecutionError, match=said):
        run(type, *inputs)


def test_lengths_translate():
    assert run("LengthsToSegmentIds", LENGTHS).tolist() == [0, 2, 2, 2]
    assert run("LengthsToRanges", LENGTHS).tolist() == [[0, 1], [1, 0], [1, 3]]
    assert run("LengthsToOffsets", LENGTHS, include_last_offset=1).tolist() == [0, 1, 1, 4]
    assert run("SegmentIdsToLengths", IDS, np.zeros(4, "float32")).tolist() == [1, 0, 3, 0]
    assert run("LengthsSplit", np.array([5, 4], "int32"), n_split=2).tolist() == [3, 2, 2, 2]


def test_ranges_become_dense():
    data, key = np.arange(5, dtype="int64"), np.array([4, 3, 2, 1, 0], "int64")
    ranges = np.array([[[0, 2], [4, 1]], [[3, 1], [0, 0]]], "int32")
    assert [each.tolist() for each in run("GatherRanges", data, ranges, outputs=2)] == [[0, 1, 4, 3], [3, 1]]
    first, second = run("GatherRangesToDense", data, ranges, key, outputs=2, lengths=[2, 1])
    assert first.tolist() == [[1, 0], [0, 0]] and second.tolist() == [[4], [0]]
    with pytest.raises(ExecutionError, match="too many mismatched ranges for output 0"):
        run("GatherRangesToDense", data, ranges, outputs=2, lengths=[2, 1], min_observation=1)


def test_gradient_of_rows_is_a_slice_at_the_indices():
    op = Op(definition("SparseLengthsWeightedSum", 4, grad_on_weights=1))
    made, g_input = make_gradient(op, ["y0_grad"])
    assert made[0].type == "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient"
    assert g_input == [GradientSlice("x2", "x0_grad_values"), "x1_grad", None, None]


def test_gradient_on_weights_is_refused_for_segment_ids():
    with pytest.raises(GradientError, match="grad_on_weights"):
        make_gradient(Op(definition("SortedSegmentWeightedSum", 3, grad_on_weights=1)), ["y0_grad"])
