"""Recurrent networks and their cells, decoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, Maker, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
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
