"""Matrix products: folding, transposing, broadcasting, and their gradient rules."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.arguments import values
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

f4 = np.float32


def test_fc_by_hand():
    x, w, b = f4([[1, 2], [3, 4]]), f4([[1, 0], [0, 1], [1, 1]]), f4([10, 20, 30])
    assert run("FC", x, w, b).tolist() == [[11, 22, 33], [13, 24, 37]]
    assert run("FCTransposed", x, w.T.copy(), b).tolist() == [[11, 22, 33], [13, 24, 37]]


def test_fc_folds_at_its_axes():
    x, w = np.ones((2, 3, 4), f4), np.ones((5, 4), f4)
    assert run("FC", x, w, np.zeros(5, f4), axis=2).shape == (2, 3, 5)
    assert run("FC", x, np.ones((5, 2, 6), f4), np.zeros(5, f4)).shape == (2, 5)
    assert run("FC", x, w, np.zeros(5, f4), axis=-1).shape == (2, 3, 5)


def test_fc_of_nothing_is_nothing_and_without_columns_is_the_bias():
    assert run("FC", np.ones((0, 3), f4), np.ones((2, 3), f4), f4([1, 2])).shape == (0, 2)
    assert run("FC", np.ones((2, 0), f4), np.ones((2, 0), f4), f4([1, 2])).tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("x", "w", "b"), [((3, 4), (5, 3), (5,)), ((3, 4), (5, 4), (4,)), ((3, 4), (5, 4), (1, 5)), ((4,), (5, 4), (5,))]
)
def test_fc_refuses_sizes_that_do_not_fit(x, w, b):
    with pytest.raises(ExecutionError, match=r"^FC \(y0\): "):
        run("FC", *(np.ones(shape, f4) for shape in (x, w, b)))


def test_fc_gradient_by_hand():
    x, w, dy = f4([[1, 2], [3, 4]]), f4([[1, 0], [0, 1], [1, 1]]), f4([[1, 0, 0], [0, 0, 1]])
    dw, db, dx = run("FCGradient", x, w, dy, outputs=3)
    assert dw.tolist() == [[1, 2], [0, 0], [3, 4]] and db.tolist() == [1, 0, 1] and dx.tolist() == [[1, 0], [1, 1]]
    dw, db, dx = run("FCTransposedGradient", x, w.T.copy(), dy, outputs=3)
    assert dw.tolist() == [[1, 0, 3], [2, 0, 4]] and db.tolist() == [1, 0, 1] and dx.tolist() == [[1, 0], [1, 1]]


def test_matmul_takes_the_shape_of_a_third_input():
    a, b = np.ones((2, 3), f4), np.ones((3, 4), f4)
    assert run("MatMul", a, b).tolist() == [[3] * 4] * 2
    assert run("MatMul", a, b, np.zeros((2, 2, 2), f4)).shape == (2, 2, 2)
    assert run("MatMul", a, a, trans_b=1).shape == (2, 2)
    with pytest.raises(ExecutionError):
        run("MatMul", a, b, np.zeros((3, 3), f4))


def test_batch_matmul_never_transposes_a_vector():
    vector, matrix = f4([1, 2]), f4([[1, 2, 3], [4, 5, 6]])
    assert run("BatchMatMul", vector, vector, trans_a=1, trans_b=1).tolist() == [5]
    assert run("BatchMatMul", vector, matrix).tolist() == [9, 12, 15]
    assert run("BatchMatMul", np.ones((2, 1, 3, 4), f4), np.ones((5, 4, 2), f4)).shape == (2, 5, 3, 2)


def test_double_precision_is_refused():
    with pytest.raises(ExecutionError, match="float64"):
        run("MatMul", np.ones((2, 2)), np.ones((2, 2)))


def test_concat_batch_matmul_batch_gather_picks_inner_products():
    a, b = f4([[1, 2]]), f4([[3, 4]])
    assert run("ConcatBatchMatMulBatchGatherOp", np.array([0, 1, 3], "int32"), a, b).tolist() == [[5, 11, 25]]


def rule(type, *, g_output=("y_grad",), **args):
    made, g_input = make_gradient(Op(definition(type, 2, names=["a", "b"], **args)), list(g_output))
    return [(repr(op), values(op.to_proto())) for op in made], list(g_input)


def test_the_rule_of_matmul_turns_over_where_an_operand_was_transposed():
    made, g_input = rule("MatMul", trans_a=1, axis_b=5)
    assert g_input == ["a_grad", "b_grad"]
    assert made == [
        ("MatMul(b, y_grad, a) -> (a_grad)", {"trans_b": 1, "axis_a": 1}),
        ("MatMul(a, y_grad, b) -> (b_grad)", {"axis_a": 1}),
    ]


def test_the_rule_of_batch_matmul_refuses_to_broadcast():
    assert len(rule("BatchMatMul", trans_b=1)[0]) == 2
    with pytest.raises(GradientError, match="broadcast"):
        rule("BatchMatMul", broadcast=1)
    with pytest.raises(GradientError, match="not provided"):
        rule("BatchMatMul", g_output=[None])


def train_of_cores():
    random = np.random.default_rng(0)
    cores = [random.normal(size=shape) for shape in ((2, 4), (3, 12), (2, 9))]
    args = {"factor_i": [2, 3, 2], "factor_j": [2, 2, 3], "ranks": [1, 2, 3, 1], "emb_size": 12}
    return cores, np.array([0, 5, 7, 11, 5]), np.array([2, 0, 3], "int32"), args


def test_tensor_train_rows_are_those_of_the_whole_table():
    cores, index, lengths, args = train_of_cores()
    first, second, third = cores[0].reshape(2, 2, 2), cores[1].reshape(3, 2, 2, 3), cores[2].reshape(2, 3, 3)
    table = np.einsum("adr,brjs,csk->abcdjk", first, second, third).reshape(12, 12)
    found = run("TTSparseLengthsSum", *(core.astype(f4) for core in cores), index, lengths, outputs=4, **args)[0]
    want = [table[index[:2]].sum(0), np.zeros(12), table[index[2:]].sum(0)]
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def test_tensor_train_gradients_agree_with_differences():
    cores, index, lengths, args = train_of_cores()
    cores = [core.astype(f4) for core in cores]
    _, first, second, digits = run("TTSparseLengthsSum", *cores, index, lengths, outputs=4, **args)
    dy = np.random.default_rng(1).normal(size=(3, 12)).astype(f4)
    made = run("TTSparseLengthsSumGradient", *cores, lengths, first, second, digits, dy, outputs=3)
    for i, gradient in enumerate(made):
        for at in [(0, 0), (1, 3)]:
            bumped = [core.copy() for core in cores]
            bumped[i][at] += 1
            more = run("TTSparseLengthsSum", *bumped, index, lengths, outputs=4, **args)[0]
            less = run("TTSparseLengthsSum", *cores, index, lengths, outputs=4, **args)[0]
            assert ((more - less) * dy).sum() == pytest.approx(gradient[at], abs=1e-3)
