"""Shapes and layout: what the kernels compute by hand, what they refuse, and rules that branch."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.arguments import values
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64
grid = np.arange(24, dtype=f4).reshape(2, 3, 4)


def text(*words):
    return np.array([word.encode() for word in words], object)


@pytest.mark.parametrize(
    ("shape", "wanted"), [([4, 6], (4, 6)), ([0, -1], (2, 12)), ([-1], (24,)), ([0, 0, 2, 2], (2, 3, 2, 2))]
)
def test_reshape_copies_and_infers_sizes(shape, wanted):
    y, old = run("Reshape", grid, outputs=2, shape=shape)
    assert y.shape == wanted and old.tolist() == [2, 3, 4] and old.dtype == i8


def test_reshape_by_an_input_keeps_its_dtype_for_the_old_shape():
    y, old = run("Reshape", grid, i4([6, 4]), outputs=2)
    assert y.shape == (6, 4) and old.dtype == i4


def test_reshape_of_nothing_infers_nothing():
    assert run("Reshape", np.ones((0, 3), f4), outputs=2, shape=[0, -1])[0].shape == (0, 0)


@pytest.mark.parametrize("shape", [[5, 5], [-1, -1], [-2, 12], [2, 0, 0, 0, 7]])
def test_reshape_refuses_what_does_not_fit(shape):
    with pytest.raises(ExecutionError, match="Reshape"):
        run("Reshape", grid, outputs=2, shape=shape)


def test_reshape_refuses_two_shapes():
    with pytest.raises(ExecutionError, match="leave one out"):
        run("Reshape", grid, i8([24]), outputs=2, shape=[24])


@pytest.mark.parametrize(("axis", "wanted"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1))])
def test_flatten(axis, wanted):
    assert run("Flatten", grid, axis=axis).shape == wanted


def test_dims_are_sorted_counted_in_the_result_and_never_negative():
    assert run("ExpandDims", grid, dims=[3, 0]).shape == (1, 2, 3, 1, 4)
    assert run("Squeeze", np.ones((1, 2, 1), f4), dims=[2, 0]).shape == (2,)
    for type in ("ExpandDims", "Squeeze"):
        with pytest.raises(ExecutionError, match="must not be negative"):
            run(type, np.ones((1, 1), f4), dims=[-1])
    with pytest.raises(ExecutionError):
        run("Squeeze", grid, dims=[0])


def test_prepend_and_merge_are_inverse():
    x = np.arange(12, dtype=f4).reshape(6, 2)
    apart = run("PrependDim", x, dim_size=3)
    assert apart.shape == (3, 2, 2) and np.array_equal(run("MergeDim", apart), x)


def test_shape_size_and_emptiness():
    assert run("Shape", grid, axes=[2, 0]).tolist() == [4, 2]
    assert run("Size", grid) == 24 and run("Size", grid).shape == ()
    assert run("IsEmpty", np.ones((0, 2), f4)).dtype == bool


def test_transpose():
    assert np.array_equal(run("Transpose", grid, axes=[2, 0, 1]), grid.transpose(2, 0, 1))
    assert run("Transpose", grid).shape == (4, 3, 2)
    assert run("NCHW2NHWC", grid).shape == (2, 4, 3) and run("NHWC2NCHW", grid).shape == (2, 4, 3)
    with pytest.raises(ExecutionError, match="bool"):
        run("Transpose", np.ones((2, 2), bool))


def test_concat_and_split_undo_each_other():
    parts = [grid[:, :1], grid[:, 1:]]
    whole, sizes = run("Concat", *parts, outputs=2, axis=1)
    assert sizes.tolist() == [1, 2] and sizes.dtype == i4
    assert all(np.array_equal(a, b) for a, b in zip(run("Split", whole, sizes, outputs=2, axis=1), parts, strict=True))
    stacked, ones = run("Concat", grid, grid, outputs=2, axis=-1, add_axis=1)
    assert stacked.shape == (2, 3, 4, 2) and ones.tolist() == [1, 1]
    assert run("Split", stacked, outputs=2, axis=-1, add_axis=1)[1].shape == (2, 3, 4)


def test_concat_joins_channels_by_default_and_text_too():
    x = np.ones((1, 2, 3, 4), f4)
    assert run("Concat", x, x, outputs=2)[0].shape == (1, 4, 3, 4)
    assert run("DepthConcat", x, x, outputs=2, order="NHWC")[0].shape == (1, 2, 3, 8)
    assert run("Concat", text("a"), text("bc"), outputs=2, axis=0)[0].tolist() == [b"a", b"bc"]


@pytest.mark.parametrize("args", [{"axis": 1, "order": "NCHW"}, {"axis": 7}, {"order": "NCWH"}])
def test_concat_refuses_doubtful_axes(args):
    with pytest.raises(ExecutionError):
        run("Concat", grid, grid, outputs=2, **args)


@pytest.mark.parametrize("args", [{"axis": 2, "split": [1, 1]}, {"axis": 2, "split": [4]}, {"axis": 1}])
def test_split_refuses_sizes_that_do_not_fit(args):
    with pytest.raises(ExecutionError, match="Split"):
        run("Split", grid, outputs=2, **args)


def test_split_by_lengths_shares_lengths_out_and_scales_them():
    x = np.arange(12, dtype=f4)
    plain = run("SplitByLengths", x, i4([1, 2, 4, 5]), outputs=2, axis=0)
    assert [part.size for part in plain] == [3, 9]
    scaled = run("SplitByLengths", x, i4([1, 2]), outputs=2, axis=0, use_scaling_lengths=1)
    assert [part.size for part in scaled] == [4, 8]


@pytest.mark.parametrize(
    ("starts", "ends", "wanted"),
    [
        ([0, 1], [-1, 3], grid[:, 1:3]),
        ([0, -2], [-1, -1], grid[:, 2:]),
        ([1], [99], grid[1:]),
        ([0, 2], [2, 2], grid[:, :0]),
    ],
)
def test_slice(starts, ends, wanted):
    assert np.array_equal(run("Slice", grid, starts=starts, ends=ends), wanted)
    assert np.array_equal(run("Slice", grid, i8(starts), i8(ends)), wanted)


@pytest.mark.parametrize("bounds", [([0, 1], [1, 2]), ([1], [0]), ([-4], [-1]), ([0], [1, 1]), ([0] * 4, [-1] * 4)])
def test_slice_refuses(bounds):
    with pytest.raises(ExecutionError, match="Slice"):
        run("Slice", grid, starts=bounds[0], ends=bounds[1])


def test_slice_gradient_is_zero_outside():
    dy = np.ones((2, 1, 4), f4)
    dx = run("SliceGradient", grid, dy, starts=[0, 1], ends=[-1, 2])
    assert dx[:, 1].tolist() == [[1] * 4] * 2 and dx.sum() == 8


def test_tile_and_its_gradient():
    x = i4([[1, 2]])
    assert run("Tile", x, tiles=2, axis=1).tolist() == [[1, 2, 1, 2]]
    assert run("Tile", x, i4([2]), i4([0])).tolist() == [[1, 2], [1, 2]]
    summed = run("TileGradient", i4([[1, 2, 3, 4]]), tiles=2, axis=-1)
    assert summed.tolist() == [[4, 6]] and summed.dtype == i4
    assert run("Tile", text("a", "b"), tiles=2, axis=0).tolist() == [b"a", b"b"] * 2
    with pytest.raises(ExecutionError, match="tiles and axis"):
        run("Tile", x, tiles=2)


def test_tile_takes_int64_tiles_for_the_axis_too():
    assert run("Tile", np.ones((2, 2), f4), i8([1]), axis=0).shape == (2, 2)
    with pytest.raises(ExecutionError):
        run("Tile", np.ones((2, 2), f4), i8([3]), axis=0)


def test_numpy_tile_wants_a_number_for_each_dimension():
    assert run("NumpyTile", f4([[1], [2]]), i8([1, 2])).tolist() == [[1, 1], [2, 2]]
    with pytest.raises(ExecutionError):
        run("NumpyTile", f4([[1], [2]]), i8([2]))


def test_expand_and_its_gradient():
    x = f4([[1], [2]])
    y = run("Expand", x, i8([3, 1, 2]))
    assert y.shape == (3, 2, 2) and y[0].tolist() == [[1, 1], [2, 2]]
    assert run("ExpandGradient", np.ones_like(y), x).tolist() == [[6], [6]]
    assert run("Expand", x, i8([0, -1])).shape == (2, 1)
    with pytest.raises(ExecutionError, match="does not expand"):
        run("Expand", x, i8([3, 1]))


def test_lengths_tile():
    assert run("LengthsTile", f4([1, 2, 3]), i4([2, 0, 1])).tolist() == [1, 1, 3]
    for lengths in (i4([1, 1]), i4([1, -1, 1]), i8([1, 1, 1])):
        with pytest.raises(ExecutionError):
            run("LengthsTile", f4([1, 2, 3]), lengths)


def gradient(op, *g_output):
    ops, g_input = make_gradient(Op(op), g_output)
    return [made.to_proto() for made in ops], list(g_input)


@pytest.mark.parametrize(("axes", "inverse"), [([2, 0, 1], [1, 2, 0]), ([1, 0], [1, 0]), ([3, 1, 0, 2], [2, 1, 3, 0])])
def test_transpose_gradient_inverts_the_axes_in_their_place(axes, inverse):
    (made,), g_input = gradient(definition("Transpose", 1, other=1, axes=axes, last="z"), "g")
    assert [argument.name for argument in made.arg] == ["other", "axes", "last"]
    assert values(made)["axes"] == inverse and g_input == ["x0_grad"]


def test_transpose_gradient_refuses_what_is_no_permutation():
    with pytest.raises(GradientError, match="no permutation"):
        gradient(definition("Transpose", 1, axes=[0, 2]), "g")


def test_split_gradient_leaves_missing_parts_out():
    (made,), g_input = gradient(definition("Split", 2, outputs=3, axis=1), None, "b", "c")
    assert (made.type, list(made.input), list(made.output)) == ("Concat", ["b", "c"], ["x0_grad", "_x0_grad_dims"])
    assert g_input == ["x0_grad", None]
    assert gradient(definition("Split", 1, outputs=2), None, None) == ([], [None])


def test_concat_gradient_of_nothing_is_nothing():
    assert gradient(definition("Concat", 3, outputs=2), None, "d") == ([], [None] * 3)


def test_slice_gradient_wants_both_bounds():
    (made,), _ = gradient(definition("Slice", 3), "g")
    assert list(made.input) == ["x0", "x1", "x2", "g"]
    with pytest.raises(GradientError):
        gradient(definition("Slice", 2), "g")
