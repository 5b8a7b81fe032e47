"""Dropout and sampling: what holds whatever is drawn, and that a seed draws it again."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64


def test_dropout_scales_up_what_it_keeps():
    x = np.ones(2000, f4)
    y, mask = run("Dropout", x, outputs=2, seed=3, is_test=0, ratio=0.25)
    assert np.allclose(y, mask * f4(1 / 0.75)) and 0.7 < mask.mean() < 0.8
    again, _ = run("Dropout", x, outputs=2, seed=3, is_test=0, ratio=0.25)
    assert np.array_equal(again, y)
    assert np.array_equal(run("DropoutGrad", x, mask, is_test=0, ratio=0.25), y)


def test_dropout_of_a_test_lets_all_pass():
    x = f4([1, 2])
    assert run("Dropout", x, is_test=1).tolist() == [1, 2] == run("DropoutGrad", x, is_test=1).tolist()


@pytest.mark.parametrize("ratio", [1.0, -0.5])
def test_dropout_refuses_a_ratio(ratio):
    with pytest.raises(ExecutionError, match="ratio"):
        run("Dropout", f4([1]), outputs=2, is_test=0, ratio=ratio)


def test_dropout_wants_to_know_whether_it_is_a_test():
    with pytest.raises(ExecutionError, match="is_test"):
        run("Dropout", f4([1]))


def test_weighted_sample_never_draws_weight_zero():
    weights = np.tile(f4([0, 3, 0, 1]), (400, 1))
    column, value = run("WeightedSample", weights, weights * 2, outputs=2, seed=1)
    assert column.dtype == i4 and set(column.ravel()) == {1, 3} and set(value.ravel()) == {2, 6}
    assert 0.65 < (column == 1).mean() < 0.85


def test_weighted_multi_sampling_follows_the_cumulative_sums():
    drawn = run("WeightedMultiSampling", f4([0, 0.5, 0.5, 1]), seed=1, num_samples=400)
    assert set(drawn) == {1, 3} and drawn.dtype == i4
    assert run("WeightedMultiSampling", f4([1]), np.zeros((2, 3))).tolist() == [[0] * 3] * 2
    with pytest.raises(ExecutionError, match="number of samples"):
        run("WeightedMultiSampling", f4([1]), np.zeros(3), num_samples=3)


def test_sparse_dropout_replaces_whole_segments():
    ids, lengths = i8([1, 2, 3]), i4([2, 1])
    kept = run("SparseDropoutWithReplacement", ids, lengths, outputs=2, ratio=0.0)
    gone = run("SparseDropoutWithReplacement", ids, lengths, outputs=2, ratio=1.0, replacement_value=-1)
    assert [each.tolist() for each in (*kept, *gone)] == [[1, 2, 3], [2, 1], [-1, -1], [1, 1]]


def gradient(op, *g_output):
    ops, _ = make_gradient(Op(op), g_output)
    return [list(made.inputs) for made in ops]


def test_dropout_gradient_reads_the_mask_in_training_only():
    assert gradient(definition("Dropout", 1, outputs=2, is_test=0), "g", None) == [["g", "y1"]]
    assert gradient(definition("Dropout", 1, outputs=2, is_test=1), "g", None) == [["g"]]
    with pytest.raises(GradientError, match="output 1"):
        gradient(definition("Dropout", 1, is_test=0), "g")
    with pytest.raises(GradientError) as refused:
        gradient(definition("Dropout", 1), "g")
    assert refused.value.kind == "schema"
