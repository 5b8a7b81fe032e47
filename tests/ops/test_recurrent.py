"""Recurrent cells against central differences, decoders by hand."""

import numpy as np
import pytest

from gradviz.errors import ExecutionError, GradientError
from gradviz.ops.dtypes import float64_for_float32
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition, run

BATCH, SIZE = 3, 2
LENGTHS, STEP = np.array([0, 1, 5], "int32"), np.array([1], "int32")


def states(width, seed):
    return np.random.default_rng(seed).normal(size=(1, BATCH, width))


@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("lengths", [[], [LENGTHS]])
@pytest.mark.parametrize(("type", "inputs", "outputs"), [("LSTMUnit", (1, 1, 4), 2), ("GRUUnit", (1, 3), 1)])
def test_gradients_of_cells_agree_with_differences(type, inputs, outputs, lengths, drop):
    args = {"drop_states": drop, "sequence_lengths": int(bool(lengths))}
    if type == "LSTMUnit":
        args["forget_bias"] = 0.5
    xs = [states(SIZE * times, i) for i, times in enumerate(inputs)]
    rest = [*lengths, STEP]
    dys = [states(SIZE, 10 + i) for i in range(outputs)]

    def value(xs):
        ys = run(type, *xs, *rest, outputs=outputs, **args)
        return sum((y * dy).sum() for y, dy in zip(ys if outputs > 1 else [ys], dys, strict=True))

    with float64_for_float32():
        ys = run(type, *xs, *rest, outputs=outputs, **args)
        ys = ys if outputs > 1 else [ys]
        made = run(f"{type}Gradient", *xs, *rest, *ys, *dys, outputs=len(inputs), **args)
        for i, x in enumerate(xs):
            if type == "GRUUnit" and i == 1:
                assert (made[i][..., :SIZE] == 0).all()
            for place in np.ndindex(x.shape):
                step = np.zeros_like(x)
                step[place] = 1e-5
                around = [value([*xs[:i], x + sign * step, *xs[i + 1 :]]) for sign in (1, -1)]
                # The old hidden state of an LSTM that still runs acts through the gates, which are an input here.
                assert made[i][place] == pytest.approx((around[0] - around[1]) / 2e-5, abs=1e-6)


def test_past_its_end_a_sequence_keeps_or_drops_its_state():
    h, c, gates = (states(SIZE * times, times).astype("float32") for times in (1, 2, 4))
    c = c[..., :SIZE].copy()
    kept, _ = run("LSTMUnit", h, c, gates, LENGTHS, STEP, outputs=2)
    assert (kept[0, :2] == h[0, :2]).all() and (kept[0, 2] != h[0, 2]).all()
    dropped, _ = run("LSTMUnit", h, c, gates, LENGTHS, STEP, outputs=2, drop_states=1)
    assert (dropped[0, :2] == 0).all()
    with pytest.raises(ExecutionError, match="lengths are missing"):
        run("LSTMUnit", h, c, gates, STEP, outputs=2)
    with pytest.raises(ExecutionError, match="4 times as wide"):
        run("LSTMUnit", h, c, gates[..., 1:].copy(), LENGTHS, STEP, outputs=2)


def test_greedy_decoder_merges_and_leaves_blanks_out():
    frames = np.zeros((5, 1, 3), "float32")
    for step, letter in enumerate([1, 1, 0, 1, 2]):
        frames[step, 0, letter] = 1
    counts, letters = run("CTCGreedyDecoder", frames, outputs=2)
    assert counts.tolist() == [3] and letters.tolist() == [1, 1, 2]
    counts, letters = run("CTCGreedyDecoder", frames, np.array([2], "int32"), outputs=2, merge_repeated=0)
    assert counts.tolist() == [2] and letters.tolist() == [1, 1]


def test_beam_search_adds_up_the_ways_to_a_text():
    frames = np.array([[[0.6, 0.4]], [[0.6, 0.4]]], "float32")
    counts, letters, chances = run("CTCBeamSearchDecoder", frames, outputs=3, num_candidates=2)
    # One letter comes out of three of the four paths; the likeliest single path is the empty one.
    assert counts.tolist() == [1, 0] and letters.tolist() == [1]
    assert chances == pytest.approx([0.64, 0.36])


def test_best_path_may_forgo_the_best_label():
    scores = np.array([[1, 0], [0, 0.5]], "float32")
    stay = np.array([[0, -9], [-9, 0]], "float32")
    assert run("ViterbiPath", scores, stay).tolist() == [0, 0]
    assert run("SwapBestPath", scores, np.array([0, 0], "int32")).tolist() == [[1, 0], [0.5, 0]]


def network(**args):
    defaults = {"outputs_with_grads": [1], "param": [2], "initial_recurrent_state_ids": [1]}
    return Op(definition("RecurrentNetwork", 4, 3, **{**defaults, **args}))


def test_gradient_of_a_network_takes_its_order_from_the_arguments():
    made, g_input = make_gradient(network(), [None, "y1_grad", None])
    assert list(made[0].inputs) == ["y1_grad", "x0", "x1", "x2", "x3", "y0", "y1", "y2"]
    assert list(made[0].outputs) == ["x0_grad", "x2_grad", "x1_grad"]
    assert g_input == ["x0_grad", "x1_grad", "x2_grad", None]


@pytest.mark.parametrize("args", [{"outputs_with_grads": []}, {"param": [-1]}, {"param": [4]}, {"param": [2**40]}])
def test_gradient_of_a_network_refuses_arguments_that_name_nothing(args):
    with pytest.raises(GradientError):
        make_gradient(network(**args), [None, "y1_grad", None])
