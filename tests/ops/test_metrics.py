"""Measures of quality: ties, classes without examples, and a buffer that fills."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.metrics import ap_meter
from tests.ops.running import run

f4, i4 = np.float32, np.int32


def test_accuracy_counts_the_first_of_equal_scores():
    x = f4([[0.5, 0.5, 0], [0.1, 0.2, 0.7]])
    assert run("Accuracy", x, i4([0, 2])).item() == 1
    assert run("Accuracy", x, i4([1, 2])).item() == 0.5
    assert run("Accuracy", x, i4([1, 1]), top_k=2).item() == 1
    assert run("Accuracy", x, i4([1, 2])).shape == ()


@pytest.mark.parametrize("label", [i4([0, 3]), i4([0, -1]), i4([0]), np.int64([0, 0])])
def test_accuracy_refuses_labels_that_do_not_fit(label):
    with pytest.raises(ExecutionError):
        run("Accuracy", np.zeros((2, 3), f4), label)


def test_accuracy_by_class():
    x = f4([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    accuracies, amounts = run("MultiClassAccuracy", x, i4([0, 1, 1]), outputs=2)
    assert accuracies.tolist() == [1, 0.5, 0] and amounts.tolist() == [1, 2, 0]
    assert amounts.dtype == np.int32


class Surroundings:
    def __init__(self):
        self.state = {}


def test_average_precision_over_a_buffer():
    scores, labels = f4([[0.9], [0.8], [0.7]]), i4([[1], [0], [1]])
    assert run("APMeter", scores, labels).item() == pytest.approx((1 + 2 / 3) / 2)
    around = Surroundings()
    assert ap_meter(np, scores, labels, ctx=around, buffer_size=3).item() == pytest.approx((1 + 2 / 3) / 2)
    # One more pushes out the best: 0.8 (no), 0.7 (yes), 0.6 (no) are left.
    assert ap_meter(np, f4([[0.6]]), i4([[0]]), ctx=around, buffer_size=3).item() == pytest.approx(1 / 2)
