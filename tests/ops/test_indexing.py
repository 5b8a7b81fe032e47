"""Gathering, scattering and masking by hand; rules of Gather, SequenceMask and CopyRowsToTensor."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import GradientSlice, Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64
inf = float("inf")
rows = f4([[1, 2], [3, 4], [5, 6]])


def test_gather_takes_rows_and_wraps_on_axis_0():
    assert run("Gather", rows, i4([2, -3])).tolist() == [[5, 6], [1, 2]]
    assert run("Gather", rows, i8([[0, 1]])).shape == (1, 2, 2)
    assert run("Gather", rows, i8([1, 1, 0]), axis=1).tolist() == [[2, 2, 1], [4, 4, 3], [6, 6, 5]]
    assert run("Gather", np.array([b"a", b"b"], object), i4([1, 0])).tolist() == [b"b", b"a"]


@pytest.mark.parametrize(
    ("index", "args"), [([3], {}), ([-4], {}), ([-1], {"axis": 1}), ([-1], {"wrap_indices": 0}), ([0], {"axis": 2})]
)
def test_gather_refuses_what_is_out_of_range(index, args):
    with pytest.raises(ExecutionError, match="Gather"):
        run("Gather", rows, i4(index), **args)


def test_gather_wraps_elsewhere_when_asked():
    assert run("Gather", rows, i4([-1]), axis=1, wrap_indices=1).tolist() == [[2], [4], [6]]


def test_gather_of_no_rows_keeps_the_shape():
    assert run("Gather", np.zeros((0, 3), f4), i4([])).shape == (0, 3)


def test_gather_with_indices_of_their_own_for_each_row():
    data = np.arange(12, dtype=f4).reshape(2, 3, 2)
    index = i4([[2, 0], [1, 1]])
    wanted = [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]
    assert run("Gather", data, index, axis=1, match_outer=1).tolist() == wanted
    assert run("BatchGather", data, index, match_outer=1).tolist() == wanted
    with pytest.raises(ExecutionError, match="match"):
        run("BatchGather", data, i4([[0]]), match_outer=1)


@pytest.mark.parametrize("args", [{}, {"match_outer": 1}, {"axis": 2}, {"axis": 2, "match_outer": 1}])
def test_batch_gather_gradient_is_the_transpose(args):
    random = np.random.default_rng(3)
    data = random.standard_normal((2, 3, 4)).astype(f4)
    shape = {(1, 0): (5,), (1, 1): (2, 5), (2, 0): (5,), (2, 1): (2, 3, 5)}[
        args.get("axis", 1), args.get("match_outer", 0)
    ]
    index = random.integers(0, 3, shape).astype(i4)
    y = run("Gather", data, index, **{"axis": 1, **args})
    dy = random.standard_normal(y.shape).astype(f4)
    dx = run("BatchGatherGradient", data, index, dy, **args)
    assert np.isclose((dx * data).sum(), (dy * y).sum(), rtol=1e-4)


def test_gather_fused_rows_end_in_scale_and_bias():
    packed = np.concatenate([np.uint8([[2, 4]]), f4([[0.5, 1]]).view(np.uint8)], axis=1)
    assert run("GatherFused8BitRowwise", packed, i4([0, 0])).tolist() == [[2, 3], [2, 3]]


def test_batch_permutation_and_back():
    order = i4([2, 0, 1])
    y = run("BatchPermutation", rows, order)
    assert y.tolist() == [[5, 6], [1, 2], [3, 4]]
    assert np.array_equal(run("BatchPermutationGradient", order, y), rows)


def test_remove_data_blocks_removes_each_once():
    assert run("RemoveDataBlocks", rows, i4([1, 1])).tolist() == [[1, 2], [5, 6]]
    with pytest.raises(ExecutionError, match="out of range"):
        run("RemoveDataBlocks", rows, i4([3]))


def in_place(type, *inputs, **args):
    from gradviz.execute.operator import run_op

    op = definition(type, len(inputs), ["x0"], **args)
    before = inputs[0].copy()
    (made,) = run_op(op, list(inputs))
    assert np.array_equal(inputs[0], before)
    return made


def test_scatter_along_an_axis():
    assert run("Scatter", np.zeros((2, 3), f4), i4([[2], [0]]), f4([[7], [8]])).tolist() == [[0, 0, 7], [8, 0, 0]]
    assert run("Scatter", np.zeros((3, 2), f4), i8([[2, 0]]), f4([[7, 8]]), axis=0).tolist() == [[0, 8], [0, 0], [7, 0]]


def test_scatter_assign_writes_rows_whatever_their_shape():
    assert in_place("ScatterAssign", rows, i4([1]), f4([9, 8])).tolist() == [[1, 2], [9, 8], [5, 6]]
    with pytest.raises(ExecutionError, match="elements"):
        in_place("ScatterAssign", rows, i4([1, 2]), f4([9, 8]))


def test_scatter_weighted_sum_scales_once_for_each_index():
    one, half = f4([1]), f4(0.5)
    assert in_place("ScatterWeightedSum", rows, one, i8([0, 0]), f4([[1, 1], [1, 1]]), f4([2])).tolist()[0] == [5, 6]
    assert in_place("ScatterWeightedSum", rows, half, i8([0, 0, 2]), np.zeros((3, 2), f4), one).tolist() == [
        [0.25, 0.5],
        [3, 4],
        [2.5, 3],
    ]


def test_copy_rows_writes_one_row_to_many_places():
    assert in_place("CopyRowsToTensor", rows, i8([0, 2]), f4([7, 8])).tolist() == [[7, 8], [3, 4], [7, 8]]


def test_boolean_mask_and_its_odd_gradient():
    mask = np.array([True, False, True])
    kept, places = run("BooleanMask", rows, mask, outputs=2)
    assert kept.tolist() == [[1, 2], [5, 6]] and places.tolist() == [0, 2] and places.dtype == i8
    assert run("BooleanMaskGradient", mask, f4([3, 4])).tolist() == [3, 0, 4]
    assert run("BooleanMaskGradient", mask, f4([[3, 4], [5, 6]])).tolist() == [3, 0, 4]
    assert run("BooleanMaskLengths", i4([2, 0, 1]), mask).tolist() == [1, 0, 1]


def test_boolean_unmask_takes_the_first_true_mask():
    first, second = np.array([True, False]), np.array([True, True])
    assert run("BooleanUnmask", first, f4([1]), second, f4([2])).tolist() == [1, 2]
    with pytest.raises(ExecutionError, match="values are wanted"):
        run("BooleanUnmask", first, f4([1]), second, f4([2, 2]))
    with pytest.raises(ExecutionError, match="no mask is true"):
        run("BooleanUnmask", first, f4([1]), first, f4([]))


@pytest.mark.parametrize(
    ("mode", "limits", "wanted"),
    [
        ("sequence", [1, 3, 0], [[1, -inf], [1, 1], [-inf, -inf]]),
        ("window", [0, 1, 3], [[1, 1], [1, 1], [-inf, -inf]]),
        ("upper", None, [[1, -inf], [1, 1], [1, 1]]),
        ("lower", None, [[1, 1], [-inf, 1], [-inf, -inf]]),
        ("upperdiag", None, [[-inf, -inf], [1, -inf], [1, 1]]),
        ("lowerdiag", None, [[-inf, 1], [-inf, -inf], [-inf, -inf]]),
    ],
)
def test_sequence_mask_modes(mode, limits, wanted):
    inputs = [np.ones((3, 2), f4), *([] if limits is None else [i4(limits)])]
    assert run("SequenceMask", *inputs, mode=mode, radius=1).tolist() == wanted


def test_sequence_mask_repeats_and_batches():
    x = np.ones((2, 2, 2), f4)
    repeated = run("SequenceMask", x, i4([1, 2]), mode="sequence", axis=1, repeat_from_axis=2, fill_val=0.0)
    assert repeated.tolist() == [[[1, 1], [0, 0]], [[1, 1], [1, 1]]]
    batched = run("SequenceMask", x, i4([1, 2]), mode="sequence", axis=2, batch=0, grad=1)
    assert batched.tolist() == [[[1, 0], [1, 1]]] * 2
    for bad in ({"mode": "sequence"}, {"mode": "middle"}, {"mode": "upper", "repeat_from_axis": 1}):
        with pytest.raises(ExecutionError, match="SequenceMask"):
            run("SequenceMask", x, **bad)


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [([3], [0, 1, 2]), ([2, 5], [2, 3, 4]), ([1, 9, 3], [1, 4, 7]), ([0, -5, -2], [0, -2]), ([5, 2], [])],
)
def test_range(ends, wanted):
    assert run("Range", *map(i8, ends)).tolist() == wanted


def test_range_of_floats_rounds_up():
    assert run("Range", f4(0), f4(1), f4(0.3)).size == 4
    with pytest.raises(ExecutionError, match="step"):
        run("Range", f4(0), f4(1), f4(0))


def gradient(op, *g_output):
    ops, g_input = make_gradient(Op(op), g_output)
    return [made.to_proto() for made in ops], list(g_input)


def test_gather_gradient_is_a_slice_of_names():
    assert gradient(definition("Gather", 2), "g") == ([], [GradientSlice("x1", "g"), None])
    (dense,), g_input = gradient(definition("Gather", 2, dense_gradient=1), "g")
    assert (dense.type, list(dense.input), g_input) == ("SparseToDense", ["x1", "g", "x0"], ["x0_grad", None])
    (batch,), _ = gradient(definition("Gather", 2, axis=-1, dense_gradient=1), "g")
    assert batch.type == "BatchGatherGradient" and [arg.name for arg in batch.arg] == ["axis", "axis", "dense_gradient"]


def test_gather_gradient_reads_its_arguments_strictly():
    with pytest.raises(GradientError):
        gradient(definition("Gather", 2, axis="1"), "g")


def test_sequence_mask_gradient_appends_grad():
    (made,), _ = gradient(definition("SequenceMask", 2, mode="upper"), "g")
    assert [arg.name for arg in made.arg] == ["mode", "grad"] and list(made.input) == ["g", "x1"]


def test_copy_rows_gradient_takes_both_halves_of_a_slice():
    op = definition("CopyRowsToTensor", 3, ["x0"])
    made, g_input = gradient(op, GradientSlice("idx", "val"))
    assert [list(each.input) for each in made] == [["idx"], ["val"]]
    assert g_input[0] == GradientSlice("x0_grad_indices", "x0_grad_values")
