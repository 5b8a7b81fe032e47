"""Recurrent networks and their cells, decoders."""

from gradviz.ops.registry import NONE, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("RecurrentNetwork", inputs=(1, MANY), outputs=(2, MANY), gradient=TODO)
operator("RecurrentNetworkGradient")
operator("RecurrentNetworkBlobFetcher", inputs=1, outputs=1, args="prefix", gradient=SHOULD_NOT)
operator("rnn_internal_accumulate_gradient_input", inputs=3, outputs=(1, MANY), enforced=[(2, 0)])
operator("rnn_internal_apply_link", inputs=2, outputs=2, enforced=[(1, 1)])
operator("LSTMUnit", inputs=(4, 5), outputs=2, args="forget_bias sequence_lengths", gradient=TODO)
operator("LSTMUnitGradient", inputs=(8, 9), outputs=3, args="sequence_lengths")
operator("GRUUnit", inputs=(3, 4), outputs=1, args="drop_states sequence_lengths", gradient=TODO)
operator("GRUUnitGradient", inputs=(5, 6), outputs=2, args="sequence_lengths")
operator("Recurrent", inputs=4, outputs=5, gradient=TODO)
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
