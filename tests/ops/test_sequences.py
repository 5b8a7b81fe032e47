"""Sequences of unequal lengths: packed, padded and back, by hand; rules of the paddings."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4, i4, i8 = np.float32, np.int32, np.int64
inf = float("inf")


def lists(arrays):
    return [array.tolist() for array in arrays]


def test_pack_segments_fills_up_and_cuts_off():
    lengths, data = i4([2, 0, 3]), f4([1, 2, 3, 4, 5])
    packed, present = run("PackSegments", lengths, data, outputs=2, return_presence_mask=1)
    assert packed.tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5]] and present.sum() == 5
    assert run("UnpackSegments", lengths, packed).tolist() == data.tolist()
    cut = run("PackSegments", lengths, data, max_length=2)
    assert cut.tolist() == [[1, 2], [0, 0], [3, 4]]
    assert run("UnpackSegments", lengths, cut, max_length=2).tolist() == [1, 2, 3, 4]
    assert run("PackSegments", lengths, data, pad_minf=1)[1].tolist() == [-inf] * 3


def test_pack_segments_takes_text_and_nothing():
    words = np.array([b"a", b"b"], object)
    assert run("PackSegments", i8([0, 2]), words).tolist() == [[b"", b""], [b"a", b"b"]]
    assert run("PackSegments", i4([]), f4([])).shape == (0, 0)


@pytest.mark.parametrize("inputs", [(i4([1]), f4([1, 2])), (i4([-1, 3]), f4([1, 2])), (f4([2]), f4([1, 2]))])
def test_pack_segments_refuses_lengths_that_do_not_fit(inputs):
    with pytest.raises(ExecutionError, match="PackSegments"):
        run("PackSegments", *inputs)


def test_unpack_segments_refuses_what_is_not_there():
    with pytest.raises(ExecutionError, match="longer"):
        run("UnpackSegments", i4([3]), f4([[1, 2]]))
    with pytest.raises(ExecutionError, match="max_length"):
        run("UnpackSegments", i4([1]), f4([[1, 2]]), max_length=3)


def test_rnn_sequences_have_time_first():
    values, lengths = f4([[1], [2], [3]]), i4([1, 2])
    packed = run("PackRNNSequence", values, lengths)
    assert packed.tolist() == [[[1], [2]], [[0], [3]]]
    assert run("UnpackRNNSequence", packed, lengths).tolist() == values.tolist()
    assert run("PackRNNSequence", np.zeros((0, 5), f4), i4([])).shape == (0, 0, 5)


def test_reversing_keeps_what_lies_behind():
    data = np.arange(6, dtype=f4).reshape(3, 2, 1)
    turned = run("ReversePackedSegs", data, i4([2, 3]))
    assert turned[:, :, 0].tolist() == [[2, 5], [0, 3], [4, 1]]
    assert np.array_equal(run("ReversePackedSegs", turned, i4([2, 3])), data)
    assert run("VariableLengthSequencePadding", data, i4([1, 2]))[:, :, 0].tolist() == [[0, 1], [0, 3], [0, 0]]


def test_lengths_pad():
    assert run("LengthsPad", f4([1, 2, 3]), i4([2, 1]), target_length=2, padding_value=9.0).tolist() == [1, 2, 3, 9]
    with pytest.raises(ExecutionError, match="longer"):
        run("LengthsPad", f4([1, 2, 3]), i4([2, 1]), target_length=1)


def test_padding_goes_around_each_segment():
    data, lengths = f4([1, 2, 3]), i4([2, 1])
    padded, longer = run("AddPadding", data, lengths, f4(7), f4(9), outputs=2, padding_width=2, end_padding_width=1)
    assert lists([padded, longer]) == [[7, 7, 1, 2, 9, 7, 7, 3, 9], [5, 4]]
    args = {"padding_width": 2, "end_padding_width": 1}
    assert lists(run("RemovePadding", padded, longer, outputs=2, **args)) == [[1, 2, 3], [2, 1]]
    assert lists(run("GatherPadding", padded, longer, outputs=2, **args)) == [28, 18]
    assert run("GatherPadding", padded, longer, **args) == 46


def test_padding_defaults():
    assert run("AddPadding", f4([5])).tolist() == [0, 5, 0]
    assert run("AddPadding", i4([5]), i4([1]), i4(3)).tolist() == [3, 5, 3]
    nothing = run("GatherPadding", np.float64([1, 2]), i4([2]), padding_width=0)
    assert nothing == 0 and nothing.dtype == i8
    with pytest.raises(ExecutionError, match="shorter"):
        run("RemovePadding", f4([5]))


def test_empty_samples_get_a_row_of_zeros():
    outputs = run("PadEmptySamples", i4([1, 0]), i8([[4]]), np.array([b"w"], object), outputs=3)
    assert lists(outputs) == [[1, 1], [[4], [0]], [b"w", b""]]


def test_positions_are_encoded_by_the_first_column():
    codes = run("SinusoidPositionEncoding", i4([[1, 5]]), embedding_size=2, alpha=100.0, amplitude=2.0)
    assert codes.shape == (1, 2, 2) and np.array_equal(codes[:, 0], codes[:, 1])
    assert np.allclose(codes[0, 0], [2 * np.sin(1), 2 * np.cos(0.1)])
    assert np.isnan(run("SinusoidPositionEncoding", i4([[0]]), embedding_size=3)).tolist() == [[[True, True, False]]]


def gradient(op, *g_output):
    ops, g_input = make_gradient(Op(op), g_output)
    return [made.to_proto() for made in ops], list(g_input)


@pytest.mark.parametrize(("count", "made"), [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_add_padding_gradient_gathers_what_paddings_there_are(count, made):
    ops, g_input = gradient(definition("AddPadding", count, outputs=2), "g", None)
    assert [op.type for op in ops] == ["RemovePadding", "GatherPadding"][:made]
    assert list(ops[0].input) == (["g"] if count == 1 else ["g", "y1"])
    assert g_input == [name for i, name in enumerate(["x0_grad", None, "x2_grad", "x3_grad"]) if i < count]


@pytest.mark.parametrize("type", ["AddPadding", "RemovePadding"])
def test_padding_gradients_want_the_new_lengths(type):
    with pytest.raises(GradientError):
        gradient(definition(type, 2), "g")
