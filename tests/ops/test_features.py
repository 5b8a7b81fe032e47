"""Merging of feature tensors by hand, and that each gradient takes apart what its forward merged."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.records import Op
from gradviz.ops.registry import lookup, make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64


def lists(arrays):
    return [array.tolist() for array in arrays]


def mask(*bits):
    return np.array(bits, bool)


def test_dense_features():
    outputs = run("MergeDenseFeatureTensors", f4([[1, 2], [3, 4]]), mask([1, 0], [1, 1]), outputs=3, feature_ids=[7, 8])
    assert lists(outputs) == [[1, 2], [7, 7, 8], [1, 3, 4]]


def test_single_scalars_and_back():
    a, b = (f4([1, 2]), mask(1, 0)), (f4([3, 4]), mask(1, 1))
    merged = run("MergeSingleScalarFeatureTensors", *a, *b, outputs=3, feature_ids=[7, 8])
    assert lists(merged) == [[2, 1], [7, 8, 8], [1, 3, 4]]
    apart = run("MergeSingleScalarFeatureTensorsGradient", a[1], b[1], merged[2], outputs=2)
    assert lists(apart) == [[1, 0], [3, 4]]


def test_single_lists_and_back():
    a = i4([2, 0]), f4([1, 2]), mask(1, 0)
    b = i4([1, 2]), f4([3, 4, 5]), mask(1, 1)
    merged = run("MergeSingleListFeatureTensors", *a, *b, outputs=4, feature_ids=[7, 8])
    assert lists(merged) == [[2, 1], [7, 8, 8], [2, 1, 2], [1, 2, 3, 4, 5]]
    apart = run("MergeSingleListFeatureTensorsGradient", a[0], a[2], b[0], b[2], merged[3], outputs=2)
    assert lists(apart) == [[1, 2], [3, 4, 5]]


def test_multi_lists_and_back():
    a = i4([1, 1]), i8([5, 6]), i4([2, 1]), f4([1, 2, 3])
    b = i4([0, 1]), i8([7]), i4([2]), f4([4, 5])
    merged = run("MergeMultiListFeatureTensors", *a, *b, outputs=4)
    assert lists(merged) == [[1, 2], [5, 6, 7], [2, 1, 2], [1, 2, 3, 4, 5]]
    apart = run("MergeMultiListFeatureTensorsGradient", a[0], a[2], b[0], b[2], merged[3][::-1].copy(), outputs=2)
    assert lists(apart) == [[5, 4, 3], [2, 1]]


def test_maps_merge_their_own_keys_along():
    a = i4([1]), i8([5]), i4([2]), i8([50, 51]), f4([1, 2])
    b = i4([1]), i8([6]), i4([1]), i8([60]), f4([3])
    assert lists(run("MergeMultiMapFeatureTensors", *a, *b, outputs=5))[3:] == [[50, 51, 60], [1, 2, 3]]
    one = i4([2]), i8([50, 51]), f4([1, 2]), mask(1)
    single = run("MergeSingleMapFeatureTensors", *one, outputs=5, feature_ids=[5])
    assert lists(single) == [[1], [5], [2], [50, 51], [1, 2]]


def test_multi_scalars_interleave_example_by_example():
    merged = run(
        "MergeMultiScalarFeatureTensors",
        i4([1, 1]),
        i8([5, 6]),
        f4([1, 2]),
        i4([1, 1]),
        i8([7, 8]),
        f4([3, 4]),
        outputs=3,
    )
    assert lists(merged) == [[2, 2], [5, 7, 6, 8], [1, 3, 2, 4]]


@pytest.mark.parametrize("values", [f4([1, 2, 3]), np.float64([1, 2])])
def test_what_does_not_fit_is_refused(values):
    with pytest.raises(ExecutionError, match="MergeMultiScalar"):
        run("MergeMultiScalarFeatureTensors", i4([1]), i8([5]), f4([1]), i4([2]), i8([7, 8]), values, outputs=3)


GROUPS = [
    ("MergeSingleScalarFeatureTensors", 2, 3, [1], 0),
    ("MergeSingleListFeatureTensors", 3, 4, [0, 2], 1),
    ("MergeSingleMapFeatureTensors", 4, 5, [0, 3], 2),
    ("MergeMultiScalarFeatureTensors", 3, 3, [0], 2),
    ("MergeMultiListFeatureTensors", 4, 4, [0, 2], 3),
    ("MergeMultiMapFeatureTensors", 5, 5, [0, 2], 4),
]


@pytest.mark.parametrize(("type", "size", "outputs", "reads", "values"), GROUPS)
@pytest.mark.parametrize("groups", [1, 30])
def test_counts_and_gradients_go_by_groups_however_many(type, size, outputs, reads, values, groups):
    op = Op(definition(type, size * groups, outputs))
    (made,), g_input = make_gradient(op, [None] * (outputs - 1) + ["g"])
    assert list(made.inputs) == [f"x{size * k + i}" for k in range(groups) for i in reads] + ["g"]
    assert [i for i, g in enumerate(g_input) if g] == [size * k + values for k in range(groups)]
    assert lookup(type + "Gradient").schema.violation(Op(made.to_proto())) is None
    for wrong in (Op(definition(type, size * groups + 1, outputs)), Op(definition(type, 0, outputs))):
        assert lookup(type).schema.violation(wrong) is not None
