"""Optimizers: parameter updates, learning rates, counters."""

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.schema import same

operator("Adadelta", inputs=5, outputs=3, inplace="one_to_one", args="epsilon decay", gradient=SHOULD_NOT)
operator("Adagrad", inputs=4, outputs=(2, 4), inplace=[(0, 0), (1, 1)], args="epsilon decay", gradient=SHOULD_NOT)
operator(
    "Adam", inputs=6, outputs=(3, 4), inplace=[(0, 0), (1, 1), (2, 2)], args="beta1 beta2 epsilon", gradient=SHOULD_NOT
)
operator("Ftrl", inputs=(3, 4), outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("GFtrl", inputs=(3, 4), outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("Iter", inputs=(0, 1), outputs=1, enforced=[(0, 0)], gradient=NONE)
operator("AtomicIter", inputs=2, outputs=1, enforced=[(1, 0)], gradient=NONE)
operator("Lars", inputs=5, outputs=1, args="offset lr_min", gradient=SHOULD_NOT)
operator(
    "LearningRate",
    inputs=1,
    outputs=1,
    args=(
        "base_lr policy power gamma stepsize max_lr active_first active_period inactive_period max_iter "
        "num_iter start_multiplier end_multiplier multiplier multiplier_1 multiplier_2 sub_policy_num_iters "
        "m1 n1 m2 n2 m3 start_warmup_multiplier constant_warmup_num_iter linear_warmup_num_iter "
        "cyclical_max_lr cyclical_step_size cyclical_decay cosine_min_lr cosine_max_lr cosine_period "
        "cosine_t_mult cosine_lr_shrink"
    ),
    gradient=NONE,
)
operator(
    "LearningRateAdaption", inputs=3, outputs=1, inplace=[(0, 0)], args="lr_alpha normalized_lr_adaption", gradient=NONE
)
operator("MomentumSGD", inputs=3, outputs=2, inplace="one_to_one", gradient=SHOULD_NOT)
operator("MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)], gradient=SHOULD_NOT)
operator("FP16MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)])
operator("FP32MomentumSGDUpdate", inputs=4, outputs=3, inplace=[(0, 0), (1, 1), (3, 2)])
operator("RmsProp", inputs=4, outputs=3, inplace="one_to_one", gradient=SHOULD_NOT)
operator("RowWiseSparseAdagrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator(
    "RowWiseSparseAdam",
    inputs=7,
    outputs=(3, 4),
    enforced=[(0, 0), (1, 1), (2, 2)],
    args="beta1 beta2 epsilon",
    gradient=SHOULD_NOT,
)
operator("RowWiseCounter", inputs=4, outputs=2, enforced=same, args="counter_halflife", gradient=SHOULD_NOT)
operator("SparseAdadelta", inputs=6, outputs=3, enforced=same, args="epsilon decay", gradient=SHOULD_NOT)
operator("SparseAdagrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator(
    "SparseAdam",
    inputs=7,
    outputs=(3, 4),
    enforced=[(0, 0), (1, 1), (2, 2)],
    args="beta1 beta2 epsilon enableRAdam",
    gradient=SHOULD_NOT,
)
operator("SparseFtrl", inputs=(4, 5), outputs=2, inplace="one_to_one", enforced=[(0, 0), (1, 1)], gradient=SHOULD_NOT)
operator(
    "SparseMomentumSGDUpdate",
    inputs=5,
    outputs=3,
    inplace=[(0, 0)],
    enforced=[(1, 1), (3, 2)],
    args="momentum nesterov",
    gradient=SHOULD_NOT,
)
operator("SparseStorm", inputs=6, outputs=3, enforced=same, args="momentum beta", gradient=SHOULD_NOT)
operator("SparseWngrad", inputs=5, outputs=2, enforced=same, args="epsilon", gradient=SHOULD_NOT)
operator("Storm", inputs=5, outputs=3, inplace="one_to_one", args="momentum beta", gradient=SHOULD_NOT)
operator("Wngrad", inputs=4, outputs=(2, 4), inplace=[(0, 0), (1, 1)], args="epsilon", gradient=SHOULD_NOT)
operator(
    "YellowFin", inputs=10, outputs=8, args="beta curv_win_width epsilon nesterov zero_debias", gradient=SHOULD_NOT
)
operator("Accumulate", inputs=1, outputs=1, args="gamma", gradient=SHOULD_NOT)
operator("RowWiseSparseAdagradFusedWithSparseLengthsMeanGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsMeanGradientApprox",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsSumGradient",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsSumGradientApprox",
    inputs=6,
    outputs=2,
    enforced=same,
    args="round_option epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradient",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator(
    "RowWiseSparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator("SparseAdagradFusedWithSparseLengthsMeanGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsMeanGradientApprox", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsSumGradient", inputs=6, outputs=2, enforced=same, args="epsilon")
operator("SparseAdagradFusedWithSparseLengthsSumGradientApprox", inputs=6, outputs=2, enforced=same, args="epsilon")
operator(
    "SparseAdagradFusedWithSparseLengthsWeightedSumGradient",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
operator(
    "SparseAdagradFusedWithSparseLengthsWeightedSumGradientApprox",
    inputs=7,
    outputs=3,
    enforced=[(0, 0), (1, 1)],
    args="epsilon",
)
