"""Row-wise quantised tables: layout, exactness, sums over segments."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from tests.ops.running import run

X = np.array([[0, 1, 2, 3, 4, 5, 6, 15], [-8, -7, -6, -5, -4, -3, -2, 7]], "float32")


@pytest.mark.parametrize(
    ("to", "back", "width"),
    [
        ("FloatToFused8BitRowwiseQuantized", "Fused8BitRowwiseQuantizedToFloat", 8 + 8),
        (
            "FloatToFused8BitRowwiseQuantizedHalfScaleBias",
            "Fused8BitRowwiseQuantizedHalfScaleBiasToFloat",
            8 + 4,
        ),
        ("FloatToFused4BitRowwiseQuantized", "Fused4BitRowwiseQuantizedToFloat", 4 + 4),
    ],
)
def test_there_and_back(to, back, width):
    fused = run(to, X)
    assert fused.dtype == np.uint8 and fused.shape == (2, width)
    assert run(back, fused) == pytest.approx(X, abs=0.05)


def test_first_value_is_in_the_lowest_bits():
    four = run("FloatToFused4BitRowwiseQuantized", X)
    assert four[0, :4].tolist() == [0x10, 0x32, 0x54, 0xF6]
    assert four[0, 4:].view("float16").tolist() == [1, 0]
    two = run("FloatToFused2BitRowwiseQuantized", np.array([[0, 1, 2, 3]], "float32"))
    assert two[0, 0] == 0b11_10_01_00
    with pytest.raises(ExecutionError, match="multiple of 4"):
        run("FloatToFused2BitRowwiseQuantized", X[:, :6])


def test_constant_rows_come_back_exactly():
    fused = run("FloatToFused8BitRowwiseQuantized", np.full((1, 3), 2.5, "float32"))
    assert run("Fused8BitRowwiseQuantizedToFloat", fused).tolist() == [[2.5, 2.5, 2.5]]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("fold", ["Sum", "Mean"])
def test_sums_read_fused_rows(bits, fold):
    fused = run(f"FloatToFused{bits}BitRowwiseQuantized", X)
    indices, lengths = np.array([1, 0, 1], "int64"), np.array([2, 0, 1], "int32")
    made = run(f"SparseLengths{fold}Fused{bits}BitRowwise", fused, indices, lengths)
    assert made == pytest.approx(run(f"SparseLengths{fold}", X, indices, lengths), abs=0.1)


def test_pruned_rows_count_as_zeros():
    fused = run("FloatToFused8BitRowwiseQuantized", X)
    indices, lengths = np.array([2, 0], "int32"), np.array([2], "int32")
    mapping = np.array([-1, 0, 1], "int32")
    made = run("SparseLengthsSum8BitRowwiseSparse", fused, indices, lengths, mapping)
    assert made == pytest.approx(X[1:], abs=0.1)
    kept, counts = run("SparseLengthsSumSparseLookup", indices, lengths, mapping, outputs=2)
    assert kept.tolist() == [1] and counts.tolist() == [1]
    with pytest.raises(ExecutionError, match="from 0 to 2"):
        run("SparseLengthsSum8BitRowwiseSparse", fused, np.array([3, 0], "int32"), lengths, mapping)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_random_rounding_has_the_right_mean(bits):
    x = np.full((1, 4000), 0.3, "float32")
    x[0, :2] = 0, 1
    fused = run("FloatToFusedRandRowwiseQuantized", x, bitwidth=bits, random=1, seed=1)
    assert fused.shape == (1, 10 + 500 * bits)
    assert run("FusedRandRowwiseQuantizedToFloat", fused).mean() == pytest.approx(0.3, abs=0.03)


def test_integer_arithmetic_says_why_it_does_not_run():
    with pytest.raises(ExecutionError, match="inference on integers"):
        run("Int8Relu", X)
