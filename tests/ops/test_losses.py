"""Losses: by hand, at their edges, and their gradients against differences."""

import math

import numpy as np
import pytest

from gradviz.errors import ExecutionError
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from gradviz.proto.hsm import HierarchyProto, TreeProto
from tests.ops.running import definition, run

f4, i4 = np.float32, np.int32


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(f4)


def chances(*shape, seed=0):
    raw = np.exp(normal(*shape, seed=seed))
    return raw / raw.sum(axis=-1, keepdims=True)


def agrees(function, x, dy, gradient, step=1e-2):
    """The gradient tells how <function, dy> changes along some direction."""
    direction = normal(*x.shape, seed=9)
    ahead, behind = (np.asarray(function((x + sign * step * direction).astype(f4)), "f8") for sign in (1, -1))
    assert ((ahead - behind) * dy).sum() / (2 * step) == pytest.approx((gradient * direction).sum(), rel=2e-2, abs=1e-2)


def test_cross_entropies_by_hand():
    x = f4([[0.5, 0.25, 0.25], [0, 1, 0]])
    np.testing.assert_allclose(run("LabelCrossEntropy", x, i4([1, 1])), [math.log(4), 0], rtol=1e-6)
    np.testing.assert_allclose(run("CrossEntropy", x, f4([[0, 1, 0], [0, 1, 0]])), [math.log(4), 0], rtol=1e-6)
    np.testing.assert_allclose(run("LabelCrossEntropy", x[0], i4([0])), [math.log(2)], rtol=1e-6)


def test_cross_entropy_clamps_chances_of_nothing():
    x, label = f4([[0, 1]]), i4([0])
    assert run("LabelCrossEntropy", x, label)[0] == pytest.approx(46.0517, rel=1e-5)
    dx = run("LabelCrossEntropyGradient", x, label, f4([1]))
    assert dx[0, 0] == pytest.approx(-1e20, rel=1e-5) and dx[0, 1] == 0


def test_cross_entropy_gradients():
    x, label, dy = chances(3, 4), i4([1, 3, 0]), normal(3, seed=2)
    small = 1e-3
    agrees(
        lambda x: run("LabelCrossEntropy", x, label), x, dy, run("LabelCrossEntropyGradient", x, label, dy), step=small
    )
    soft = chances(3, 4, seed=5)
    agrees(lambda x: run("CrossEntropy", x, soft), x, dy, run("CrossEntropyGradient", x, soft, dy), step=small)


@pytest.mark.parametrize("label", [i4([0, 3]), i4([-1, 0]), np.int64([0, 1]), i4([0, 1, 2])])
def test_labels_must_be_int32_and_in_range(label):
    with pytest.raises(ExecutionError, match=r"label|int"):
        run("LabelCrossEntropy", chances(2, 3), label)
    with pytest.raises(ExecutionError, match=r"label|int"):
        run("SoftmaxWithLoss", normal(2, 3), label, outputs=2)


SOFTMAX = [
    ({}, None),
    ({"scale": 2.0}, None),
    ({}, f4([1, 0.5, 2])),
    ({"average_by_batch_size": 1}, f4([1, 0.5, 2])),
    ({"label_prob": 1}, None),
]


@pytest.mark.parametrize(("args", "weights"), SOFTMAX)
def test_softmax_with_loss(args, weights):
    x = normal(3, 4)
    label = chances(3, 4, seed=3) if "label_prob" in args else i4([1, 3, 0])
    given = [label] if weights is None else [label, weights]
    y, loss = run("SoftmaxWithLoss", x, *given, outputs=2, **args)
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-5)
    hot = label if "label_prob" in args else np.eye(4)[label]
    each = -(hot * np.log(y)).sum(axis=1)
    w = np.ones(3) if weights is None else weights
    total = 3 if "average_by_batch_size" in args else w.sum()
    assert loss.shape == () and loss == pytest.approx(args.get("scale", 1) * (each * w).sum() / total, rel=1e-4)
    dx = run("SoftmaxWithLossGradient", x, *given, y, f4(0.7), **args)
    agrees(lambda x: run("SoftmaxWithLoss", x, *given, outputs=2, **args)[1], x, 0.7, dx)


def test_softmax_with_loss_of_no_weight_is_zero():
    x, label, none = normal(2, 3), i4([0, 1]), f4([0, 0])
    y, loss = run("SoftmaxWithLoss", x, label, none, outputs=2)
    assert loss == 0 and not run("SoftmaxWithLossGradient", x, label, none, y, f4(1)).any()


def test_label_chances_must_be_chances():
    with pytest.raises(ExecutionError, match="sum to 1"):
        run("SoftmaxWithLoss", normal(1, 2), f4([[0.5, 0.6]]), outputs=2, label_prob=1)
    with pytest.raises(ExecutionError, match="negative"):
        run("SoftmaxWithLoss", normal(1, 2), f4([[-0.5, 1.5]]), outputs=2, label_prob=1)


def test_spatial_softmax_does_not_care_for_negative_labels():
    x, label = normal(2, 3, 2, 2), i4([[[0, 1], [-1, 2]], [[-1, -1], [1, 1]]])
    y, loss = run("SpatialSoftmaxWithLoss", x, label, outputs=2)
    picked = [-math.log(y[n, label[n, i, j], i, j]) for n, i, j in np.argwhere(label >= 0)]
    assert loss == pytest.approx(np.mean(picked), rel=1e-4)
    dx = run("SpatialSoftmaxWithLossGradient", x, label, y, f4(1))
    assert not dx[0, :, 1, 0].any() and not dx[1, :, 0].any()
    agrees(lambda x: run("SpatialSoftmaxWithLoss", x, label, outputs=2)[1], x, 1, dx)


@pytest.mark.parametrize("args", [{}, {"log_D_trick": 1}, {"unjoined_lr_loss": 1}])
def test_sigmoid_cross_entropy(args):
    x, target, dy = normal(3, 4), f4(np.random.default_rng(1).integers(0, 2, (3, 4))), normal(3, seed=2)
    y = run("SigmoidCrossEntropyWithLogits", x, target, **args)
    assert y.shape == (3,)
    if not args:
        p = 1 / (1 + np.exp(-x))
        np.testing.assert_allclose(y, -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean(axis=1), rtol=1e-4)
    dx = run("SigmoidCrossEntropyWithLogitsGradient", dy, x, target, **args)
    agrees(lambda x: run("SigmoidCrossEntropyWithLogits", x, target, **args), x, dy, dx)


def test_weighted_sigmoid_cross_entropy():
    x, target, weights, dy = normal(3, 4), chances(3, 4), chances(3, 4, seed=1), normal(3, seed=2)
    type = "WeightedSigmoidCrossEntropyWithLogits"
    agrees(lambda x: run(type, x, target, weights), x, dy, run(type + "Gradient", dy, x, target, weights))


def test_criteria_by_hand():
    s, y = f4([0.3, 0.3, 0.1]), i4([1, -1, -1])
    np.testing.assert_allclose(run("CosineEmbeddingCriterion", s, y, margin=0.2), [0.7, 0.1, 0], rtol=1e-5)
    assert run("CosineEmbeddingCriterionGradient", s, y, f4([1, 2, 3]), margin=0.2).tolist() == [-1, 2, 0]
    x1, x2, y = f4([3, 3, 0]), f4([1, 1, 0]), i4([1, -1, 1])
    assert run("MarginRankingCriterion", x1, x2, y).tolist() == [0, 3, 1]
    d1, d2 = run("MarginRankingCriterionGradient", x1, x2, y, f4([5, 6, 7]), outputs=2)
    assert d1.tolist() == [0, 6, -7] and d2.tolist() == [0, -6, 7]


def test_bernoulli_jsd():
    p, q, dy = f4([0.2, 0.7, 0]), f4([0.4, 0.7, 0]), f4([1, 1, 1])
    y = run("BernoulliJSD", p, q)
    assert y[0] > 0 and y[1] == pytest.approx(0, abs=1e-6) and y[2] == 0
    dx = run("BernoulliJSDGradient", dy[:2], p[:2], q[:2])
    agrees(lambda x: run("BernoulliJSD", x, q[:2]), p[:2], dy[:2], dx, step=1e-3)


def test_pair_wise_loss_counts_pairs_with_different_labels():
    x, label = f4([1, 3, 2]), f4([0, 1, 1])
    want = (math.log(1 + math.exp(1 - 3)) + math.log(1 + math.exp(1 - 2))) / 2
    assert run("PairWiseLoss", x, label)[0] == pytest.approx(want, rel=1e-5)
    y = run("PairWiseLoss", x, label, i4([1, 2]))
    assert y.tolist() == [0, 0]
    dx = run("PairWiseLossGradient", x, label, f4([2]))
    agrees(lambda x: run("PairWiseLoss", x, label), x, f4([2]), dx)
    with pytest.raises(ExecutionError, match="lengths"):
        run("PairWiseLoss", x, label, i4([1, 1]))


@pytest.mark.parametrize("args", [{"use_ndcg_as_loss": 1, "use_exp_gain": 0, "use_idcg_normalization": 0}, {}])
def test_lambda_rank(args):
    y, relevance, lengths = f4([3, 1, 2, 0.5]), f4([1, 2, 0, 0]), i4([3, 1])
    losses, dy = run("LambdaRankNdcg", y, relevance, lengths, outputs=2, **args)
    assert losses[1] == 0 and dy[3] == 0
    if args:
        ideal, actual = 2 + 1 / math.log2(3), 1 + 2 / math.log2(4)
        assert losses[0] == pytest.approx(ideal - actual, rel=1e-5)
    # Lifting what is relevant lowers the loss.
    assert dy[1] < 0 < dy[2]
    dx = run("LambdaRankNdcgGradient", y, lengths, dy, f4([2, 3]))
    np.testing.assert_allclose(dx, dy * f4([2, 2, 2, 3]))


def small_hierarchy():
    made = HierarchyProto(size=3)
    for word, turns in enumerate([[(0, 2, 0)], [(0, 2, 1), (2, 2, 0)], [(0, 2, 1), (2, 2, 1)]]):
        path = made.paths.add(word_id=word)
        for index, length, target in turns:
            path.path_nodes.add(index=index, length=length, target=target)
    return made.SerializeToString()


def test_hierarchical_softmax_is_a_distribution():
    hierarchy, x, w, b = small_hierarchy(), normal(1, 3), normal(4, 3, seed=1), normal(4, seed=2)
    costs = [run("HSoftmax", x, w, b, i4([word]), outputs=2, hierarchy=hierarchy)[0][0] for word in range(3)]
    assert sum(math.exp(-cost) for cost in costs) == pytest.approx(1, rel=1e-5)
    with pytest.raises(ExecutionError, match="no way to label 7"):
        run("HSoftmax", x, w, b, i4([7]), outputs=2, hierarchy=hierarchy)


def test_hierarchical_softmax_gradient():
    args, label, dy = {"hierarchy": small_hierarchy()}, i4([2, 0]), f4([0.5, 2])
    x, w, b = normal(2, 3), normal(4, 3, seed=1), normal(4, seed=2)
    _, kept = run("HSoftmax", x, w, b, label, outputs=2, **args)
    assert kept.shape == (2 * 2 * 2 + 2 * 2,)
    dx, dw, db, dkept = run("HSoftmaxGradient", x, w, b, label, kept, dy, outputs=4, **args)
    assert dkept.shape == kept.shape
    agrees(lambda x: run("HSoftmax", x, w, b, label, outputs=2, **args)[0], x, dy, dx)
    agrees(lambda w: run("HSoftmax", x, w, b, label, outputs=2, **args)[0], w, dy, dw)
    agrees(lambda b: run("HSoftmax", x, w, b, label, outputs=2, **args)[0], b, dy, db)


def test_hierarchical_search_finds_the_likeliest():
    tree = TreeProto()
    tree.root_node.offset, tree.root_node.name = 0, "root"
    tree.root_node.word_ids.append(0)
    child = tree.root_node.children.add(offset=2, name="left")
    child.word_ids.extend([1, 2])
    x, w, b = np.zeros((1, 3), f4), np.zeros((4, 3), f4), f4([1, 0, 0, 2])
    names, scores = run("HSoftmaxSearch", x, w, b, outputs=2, tree=tree.SerializeToString(), beam=9.0, topN=5)
    assert names.tolist() == [[b"left", b"2", b"0", b"1", b""]]
    assert scores[0, 0] == pytest.approx(math.log(1 + math.exp(-1)), rel=1e-5) and scores[0, 4] == 0


def test_huffman_tree_puts_frequent_labels_near_the_root():
    tree = TreeProto.FromString(run("HuffmanTreeHierarchy", np.array([0, 0, 0, 1, 2]), num_classes=3)[0])
    assert list(tree.root_node.word_ids) == [0] and list(tree.root_node.children[0].word_ids) == [1, 2]
    with pytest.raises(ExecutionError, match="label"):
        run("HuffmanTreeHierarchy", np.array([3]), num_classes=3)


def test_perplexity_of_even_chances_is_their_number():
    assert run("Perplexity", f4([0.25] * 6)) == pytest.approx(4, rel=1e-5)


@pytest.mark.parametrize(("p", "row"), [(1.0, [0.9, -0.9, 0]), (2.0, [0.9, -0.9, 0.045])])
def test_sparse_regularizer(p, row):
    param = f4([[1, -1, 0.05], [1, 1, 1]])
    op = definition("SparseLpRegularizer", 2, names=["p", "i"], outputs=["p"], p=p, reg_lambda=0.1)
    from gradviz.execute.operator import run_op

    np.testing.assert_allclose(run_op(op, [param, np.array([0])])[0], [row, [1, 1, 1]], rtol=1e-5, atol=1e-8)


def test_rules_ignore_what_they_do_not_use():
    op = definition("SoftmaxWithLoss", 3, names=["x", "t", "w"], outputs=["p", "l"])
    made, g_input = make_gradient(Op(op), [None, "l_grad"])
    assert repr(made[0]) == "SoftmaxWithLossGradient(x, t, w, p, l_grad) -> (x_grad)"
    assert list(g_input) == ["x_grad", None, None]
    op = definition("HSoftmax", 4, names=["x", "w", "b", "t"], outputs=["y", "k"])
    made, g_input = make_gradient(Op(op), ["y_grad", "k_grad"])
    assert repr(made[0]) == "HSoftmaxGradient(x, w, b, t, k, y_grad) -> (x_grad, w_grad, b_grad, k_grad)"
    assert list(g_input) == ["x_grad", "w_grad", "b_grad", None]
