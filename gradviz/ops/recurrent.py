"""Recurrent networks and their cells, decoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._arrays import keep_where, sigmoid
from gradviz.ops._checks import require
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NONE, SHOULD_NOT, kernel, no_kernel, operator
from gradviz.ops.rules import GI, GO, I, Maker, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Rule


def _recurrent_network(m: Maker) -> list[GradientOp]:
    """Gradients go to the first input, the step net's parameters and the initial states, in this order.

    The nets for the steps back travel along as arguments: the operator computes them, not this rule.
    """
    asked = m.args.integers("outputs_with_grads")
    if not asked:
        m.refuse("the argument outputs_with_grads does not say which outputs have gradients")
    wanted = [0, *m.args.integers("param"), *m.args.integers("initial_recurrent_state_ids")]
    if min(*asked, *wanted) < 0:
        m.refuse("an argument counts inputs or outputs with a negative number")
    inputs = [*(m.GO(i) for i in asked), *m.op.inputs, *m.op.outputs]
    return [m.make("RecurrentNetworkGradient", inputs, [m.GI(i) for i in wanted])]


def _by_lengths(with_lengths: Rule, without: Rule) -> Rule:
    """Cells read the sequences' lengths unless `sequence_lengths` is 0."""

    def rule(m: Maker) -> list[GradientOp]:
        return with_lengths(m) if m.args.flag("sequence_lengths", True) else without(m)

    return rule


operator("RecurrentNetwork", inputs=(1, MANY), outputs=(2, MANY), gradient=_recurrent_network)
operator("RecurrentNetworkGradient")
operator("RecurrentNetworkBlobFetcher", inputs=1, outputs=1, args="prefix", gradient=SHOULD_NOT)
operator("rnn_internal_accumulate_gradient_input", inputs=3, outputs=(1, MANY), enforced=[(2, 0)])
operator("rnn_internal_apply_link", inputs=2, outputs=2, enforced=[(1, 1)])
operator(
    "LSTMUnit",
    inputs=(4, 5),
    outputs=2,
    args="forget_bias sequence_lengths",
    gradient=_by_lengths(
        emit("LSTMUnitGradient", [I(0), I(1), I(2), I(3), I(4), O(0), O(1), GO(0), GO(1)], [GI(0), GI(1), GI(2)]),
        emit("LSTMUnitGradient", [I(0), I(1), I(2), I(3), O(0), O(1), GO(0), GO(1)], [GI(0), GI(1), GI(2)]),
    ),
)
operator("LSTMUnitGradient", inputs=(8, 9), outputs=3, args="sequence_lengths")
operator(
    "GRUUnit",
    inputs=(3, 4),
    outputs=1,
    args="drop_states sequence_lengths",
    gradient=_by_lengths(
        emit("GRUUnitGradient", [I(0), I(1), I(2), I(3), O(0), GO(0)], [GI(0), GI(1)]),
        emit("GRUUnitGradient", [I(0), I(1), I(2), O(0), GO(0)], [GI(0), GI(1)]),
    ),
)
operator("GRUUnitGradient", inputs=(5, 6), outputs=2, args="sequence_lengths")
operator(
    "Recurrent",
    inputs=4,
    outputs=5,
    gradient=emit(
        "RecurrentGradient", [I(0), I(1), I(2), I(3), O(3), O(0), GO(0)], [GI(0), GI(1), GI(2), GI(3), O(4), O(3)]
    ),
)
operator("RecurrentGradient", inputs=7, outputs=6)
operator("RecurrentParamGet", inputs=2, outputs=1, args="param_type input_type layer")
operator("RecurrentParamSet", inputs=3, outputs=1, enforced=[(1, 0)], args="param_type input_type layer")
operator(
    "InferenceLSTM", inputs=(1, MANY), outputs=3, args="num_layers has_biases batch_first bidirectional", gradient=NONE
)
operator("CTCBeamSearchDecoder", inputs=(1, 2), outputs=(2, 3), args="beam_width prune_threshold", gradient=SHOULD_NOT)
operator("CTCGreedyDecoder", inputs=(1, 2), outputs=2, args="merge_repeated", gradient=SHOULD_NOT)
operator("ViterbiPath", inputs=2, outputs=1, gradient=NONE)
operator("SwapBestPath", inputs=2, outputs=1, gradient=NONE)


def _running(xp: Any, lengths_and_timestep: Sequence[Any], sequence_lengths: int, batch: int) -> Any:
    """Which sequences of the batch still run in this step, as a column; None where no lengths are read, and all do."""
    if not sequence_lengths:
        return None
    require(len(lengths_and_timestep) == 2, "the lengths are missing: give them, or set sequence_lengths to 0")
    lengths, timestep = lengths_and_timestep
    expect("int32", lengths, timestep)
    require(lengths.size == batch, f"there are {lengths.size} lengths for {batch} sequences")
    return (timestep.reshape(-1)[0] < lengths).reshape(batch, 1)


def _gates(gates: Any, state: Any, count: int) -> list[Any]:
    """The gates as views of the state's shape, out of the last dimension."""
    size = state.shape[-1]
    require(
        state.ndim == 3 and gates.shape == (*state.shape[:2], count * size),
        f"the gates must be {count} times as wide as the state, but have the shapes {gates.shape} and {state.shape}",
    )
    return [gates[..., i * size : (i + 1) * size] for i in range(count)]


def _lstm_gates(xp: Any, gates: Any, state: Any, forget_bias: float) -> tuple[Any, Any]:
    """What input, forget and output gate let through, (3, 1, batch, size), and the candidate."""
    *valves, candidate = _gates(gates, state, 4)
    opened = xp.negative(xp.stack(valves))
    opened[1] -= state.dtype.type(forget_bias)
    xp.exp(opened, out=opened)
    opened += 1
    return xp.divide(1, opened, out=opened), xp.tanh(candidate)


@kernel("LSTMUnit")
def lstm_unit(
    xp: Any,
    hidden: Any,
    cell: Any,
    gates: Any,
    *lengths_and_timestep: Any,
    forget_bias: float = 0.0,
    drop_states: int = 0,
    sequence_lengths: int = 1,
) -> tuple[Any, Any]:
    """One step of an LSTM; past a sequence's end the states are kept, or zero with `drop_states`.

    States have the shape (1, batch, size), the gates (input, forget, output, candidate) are four times as wide.
    """
    expect("float32", hidden, cell, gates)
    running = _running(xp, lengths_and_timestep, sequence_lengths, cell.shape[1])
    (into, forget, out), candidate = _lstm_gates(xp, gates, cell, forget_bias)
    new_cell = forget * cell
    new_cell += into * candidate
    new_hidden = xp.tanh(new_cell)
    new_hidden *= out
    if running is None:
        return new_hidden, new_cell
    old_hidden, old_cell = (xp.zeros_like(hidden), xp.zeros_like(cell)) if drop_states else (hidden, cell)
    return xp.where(running, new_hidden, old_hidden), xp.where(running, new_cell, old_cell)


@kernel("LSTMUnitGradient")
def lstm_unit_gradient(
    xp: Any,
    hidden: Any,
    cell: Any,
    gates: Any,
    *rest: Any,
    forget_bias: float = 0.0,
    drop_states: int = 0,
    sequence_lengths: int = 1,
) -> tuple[Any, Any, Any]:
    """Gradients of the old states and of the gates; the old hidden state counts only past a sequence's end."""
    *lengths_and_timestep, _, new_cell, d_hidden, d_cell = rest
    expect("float32", hidden, cell, gates, new_cell, d_hidden, d_cell)
    running = _running(xp, lengths_and_timestep, sequence_lengths, cell.shape[1])
    opened, candidate = _lstm_gates(xp, gates, cell, forget_bias)
    into, forget, out = opened
    squashed = xp.tanh(new_cell)
    d_inner = (1 - squashed * squashed) * out
    d_inner *= d_hidden
    d_inner += d_cell
    d_gates = xp.empty(gates.shape, gates.dtype)
    d_into, d_forget, d_out, d_candidate = _gates(d_gates, cell, 4)
    slopes = opened * (1 - opened)
    xp.multiply(d_inner * candidate, slopes[0], out=d_into)
    xp.multiply(d_inner * cell, slopes[1], out=d_forget)
    xp.multiply(d_hidden * squashed, slopes[2], out=d_out)
    xp.multiply(d_inner * into, 1 - candidate * candidate, out=d_candidate)
    d_inner *= forget
    if running is None:
        return xp.zeros_like(hidden), d_inner, d_gates
    zero = xp.zeros_like(hidden)
    kept_hidden, kept_cell = (zero, zero) if drop_states else (d_hidden, d_cell)
    return (
        keep_where(~running, kept_hidden),
        xp.where(running, d_inner, kept_cell),
        keep_where(running, d_gates),
    )


@kernel("GRUUnit")
def gru_unit(
    xp: Any,
    hidden: Any,
    gates: Any,
    *lengths_and_timestep: Any,
    drop_states: int = 0,
    sequence_lengths: int = 1,
) -> Any:
    """One step of a GRU out of its (reset, update, output) gates; the reset gate has done its work before."""
    expect("float32", hidden, gates)
    running = _running(xp, lengths_and_timestep, sequence_lengths, hidden.shape[1])
    _, update, output = _gates(gates, hidden, 3)
    keep = sigmoid(xp, update)
    new = hidden * keep + xp.tanh(output) * (1 - keep)
    return new if running is None else xp.where(running, new, xp.zeros_like(hidden) if drop_states else hidden)


@kernel("GRUUnitGradient")
def gru_unit_gradient(
    xp: Any, hidden: Any, gates: Any, *rest: Any, drop_states: int = 0, sequence_lengths: int = 1
) -> tuple[Any, Any]:
    """Gradients of the old state and of the gates; the reset gate's is zero."""
    *lengths_and_timestep, _, d_new = rest
    expect("float32", hidden, gates, d_new)
    running = _running(xp, lengths_and_timestep, sequence_lengths, hidden.shape[1])
    _, update, output = _gates(gates, hidden, 3)
    keep, candidate = sigmoid(xp, update), xp.tanh(output)
    zero = xp.zeros_like(hidden)
    d_update = d_new * (hidden - candidate) * keep * (1 - keep)
    d_output = d_new * (1 - keep) * (1 - candidate * candidate)
    d_gates, d_hidden = xp.concatenate([zero, d_update, d_output], axis=2), d_new * keep
    if running is None:
        return d_hidden, d_gates
    return xp.where(running, d_hidden, zero if drop_states else d_new), keep_where(running, d_gates)


def _frames(activations: Any, lengths: Any | None) -> Iterable[list[list[float]]]:
    """For each sequence of the batch its steps, each a list with an activation for each letter."""
    steps, batch, _ = activations.shape
    counts = [steps] * batch if lengths is None else lengths.tolist()
    require(len(counts) == batch and max(counts, default=0) <= steps, "a length is larger than the number of steps")
    for i, count in enumerate(counts):
        yield activations[:count, i].tolist()


@kernel("CTCGreedyDecoder")
def ctc_greedy_decoder(xp: Any, activations: Any, lengths: Any = None, *, merge_repeated: int = 1) -> tuple[Any, Any]:
    """The likeliest letter of each step, without blanks (letter 0) and, if merged, without repetitions.

    Takes activations of shape (steps, batch, letters); gives the texts' lengths and all letters in one list.
    """
    expect("float32", activations)
    counts: list[int] = []
    letters: list[int] = []
    for frames in _frames(activations, lengths):
        before, start = 0, len(letters)
        for frame in frames:
            letter = frame.index(max(frame))
            if letter != 0 and not (merge_repeated and letter == before):
                letters.append(letter)
            before = letter
        counts.append(len(letters) - start)
    return xp.asarray(counts, dtype="int32"), xp.asarray(letters, dtype="int32")


@kernel("CTCBeamSearchDecoder")
def ctc_beam_search_decoder(
    xp: Any,
    activations: Any,
    lengths: Any = None,
    *,
    beam_width: int = 10,
    num_candidates: int = 1,
    prune_threshold: float = 0.001,
) -> tuple[Any, Any, Any]:
    """The best texts that prefix beam search finds.

    Takes probabilities of shape (steps, batch, letters); gives for each candidate its length, all letters in one list,
    and for each candidate its probability.
    """
    expect("float32", activations)
    counts: list[int] = []
    letters: list[int] = []
    chances: list[float] = []
    for frames in _frames(activations, lengths):
        found = _beam_search(frames, beam_width, prune_threshold)[:num_candidates]
        missing = num_candidates - len(found)
        counts += [len(text) for text, _ in found] + [0] * missing
        chances += [chance for _, chance in found] + [0.0] * missing
        for text, _ in found:
            letters += text
    made = xp.asarray(counts, dtype="int32"), xp.asarray(letters, dtype="int32")
    return (*made, xp.asarray(chances, dtype="float32"))


Text = tuple[int, ...]


def _beam_search(frames: list[list[float]], width: int, threshold: float) -> list[tuple[Text, float]]:
    """Texts with their probabilities, the likeliest first; among equals the first in the order of letters.

    After Hannun et al., First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional Recurrent DNNs.
    """
    blank: dict[Text, float] = {(): 1.0}  # probability of a text whose last step was a blank
    letter: dict[Text, float] = {}  # and of one whose last step was its last letter
    beam: set[Text] = {()}
    ranked: list[tuple[Text, float]] = []
    for frame in frames:
        blank, letter = _extend(frame, beam, blank, letter, threshold)
        texts = sorted(blank.keys() | letter.keys())
        scored = [(text, blank.get(text, 0.0) + letter.get(text, 0.0)) for text in texts]
        ranked = sorted(scored, key=lambda each: -each[1])
        beam = {text for text, _ in ranked[:width]}
    return ranked


def _extend(
    frame: list[float], beam: set[Text], blank: dict[Text, float], letter: dict[Text, float], threshold: float
) -> tuple[dict[Text, float], dict[Text, float]]:
    """Probabilities after one more step, of the beam's texts and of those one letter longer."""
    alphabet = [c for c, chance in enumerate(frame) if chance > threshold] or range(len(frame))
    next_blank: dict[Text, float] = {}
    next_letter: dict[Text, float] = {}

    def add(table: dict[Text, float], text: Text, chance: float) -> None:
        table[text] = table.get(text, 0.0) + chance

    for text in sorted(beam):
        after_blank, after_letter = blank.get(text, 0.0), letter.get(text, 0.0)
        for c in alphabet:
            if c == 0:
                add(next_blank, text, frame[0] * (after_blank + after_letter))
                continue
            longer = (*text, c)
            repeats = text[-1:] == (c,)
            add(next_letter, longer, frame[c] * (after_blank if repeats else after_blank + after_letter))
            if repeats:
                add(next_letter, text, frame[c] * after_letter)
            if longer not in beam:
                add(next_blank, longer, frame[0] * (blank.get(longer, 0.0) + letter.get(longer, 0.0)))
                add(next_letter, longer, frame[c] * letter.get(longer, 0.0))
    return next_blank, next_letter


@kernel("ViterbiPath")
def viterbi_path(xp: Any, predictions: Any, transitions: Any) -> Any:
    """The best path of labels through scores of shape (steps, labels) and transitions of shape (labels, labels)."""
    expect("float32", predictions, transitions)
    labels = predictions.shape[1]
    require(transitions.shape == (labels, labels), f"the transitions must have the shape ({labels}, {labels})")
    score, best_before = predictions[0], []
    for step in predictions[1:]:
        through = score[:, None] + transitions
        best_before.append(through.argmax(axis=0))
        score = through.max(axis=0) + step
    path = [int(score.argmax())]
    for before in reversed(best_before):
        path.append(int(before[path[-1]]))
    return xp.asarray(path[::-1], dtype="int32")


@kernel("SwapBestPath")
def swap_best_path(xp: Any, scores: Any, path: Any) -> Any:
    """In each step the path's label trades its score with the best label."""
    expect("float32", scores)
    expect("int32", path)
    require(path.shape == scores.shape[:1], "there must be one label for each step")
    steps, best, swapped = xp.arange(path.size), scores.argmax(axis=1), scores.copy()
    swapped[steps, best] = scores[steps, path]
    swapped[steps, path] = scores[steps, best]
    return swapped


no_kernel("upstream runs it by cuDNN only", "Recurrent", "RecurrentGradient", "RecurrentParamGet", "RecurrentParamSet")
no_kernel(
    "RecurrentNetwork does its work by itself",
    "RecurrentNetworkBlobFetcher",
    "rnn_internal_accumulate_gradient_input",
    "rnn_internal_apply_link",
)
no_kernel("it runs whole trained layers for inference, with weights in an order of its own", "InferenceLSTM")
