"""Activations: one array in, one of the same shape out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.registry import operator
from gradviz.ops.rules import GI, GO, I, O, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def softsign_rule(maker: Maker) -> list[GradientOp]:
    """The gradient reads the input, which an in-place Softsign has overwritten: refused."""
    if maker.I(0) == maker.O(0):
        maker.refuse("it runs in place, and the gradient needs the input that it overwrites", blob=maker.I(0))
    return [maker.make("SoftsignGradient", [maker.I(0), maker.GO(0)], [maker.GI(0)])]


operator("Relu", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("ReluGradient", [O(0), GO(0)], [GI(0)]))
operator("ReluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator(
    "ReluN", inputs=1, outputs=1, inplace=[(0, 0)], args="n", gradient=emit("ReluNGradient", [O(0), GO(0)], [GI(0)])
)
operator("ReluNGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="n")
operator(
    "LeakyRelu",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="alpha",
    gradient=emit("LeakyReluGradient", [O(0), GO(0)], [GI(0)]),
)
operator("LeakyReluGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="alpha")
operator(
    "PRelu",
    inputs=2,
    outputs=1,
    inplace=[(0, 0)],
    gradient=emit("PReluGradient", [O(0), GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("PReluGradient", inputs=4, outputs=2)
operator(
    "Elu", inputs=1, outputs=1, inplace=[(0, 0)], args="alpha", gradient=emit("EluGradient", [O(0), GO(0)], [GI(0)])
)
operator("EluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator(
    "Selu",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="alpha scale",
    gradient=emit("SeluGradient", [O(0), GO(0)], [GI(0)]),
)
operator("SeluGradient", inputs=2, outputs=1, inplace=[(1, 0)], args="alpha scale")
operator("Sigmoid", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("SigmoidGradient", [O(0), GO(0)], [GI(0)]))
operator("SigmoidGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Tanh", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("TanhGradient", [O(0), GO(0)], [GI(0)]))
operator("TanhGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Softplus", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("SoftplusGradient", [O(0), GO(0)], [GI(0)]))
operator("SoftplusGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Softsign", inputs=1, outputs=1, inplace=[(0, 0)], gradient=softsign_rule)
operator("SoftsignGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Swish", inputs=1, outputs=1, gradient=emit("SwishGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("SwishGradient", inputs=3, outputs=1, inplace=[(2, 0)])
operator("Gelu", inputs=1, outputs=1, args="fast_gelu", gradient=emit("GeluGradient", [GO(0), I(0)], [GI(0)]))
operator("GeluGradient", inputs=2, outputs=1)
operator(
    "HardSigmoid",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="alpha beta",
    gradient=emit("HardSigmoidGradient", [O(0), GO(0)], [GI(0)]),
)
operator("HardSigmoidGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Mish", inputs=1, outputs=1, gradient=emit("MishGradient", [I(0), O(0), GO(0)], [GI(0)]))
operator("MishGradient", inputs=3, outputs=1)
operator(
    "ThresholdedRelu",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="alpha",
    gradient=emit("ThresholdedReluGradient", [O(0), GO(0)], [GI(0)]),
)
operator("ThresholdedReluGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator(
    "Logit",
    inputs=1,
    outputs=1,
    inplace=[(0, 0)],
    args="eps (optional)",
    gradient=emit("LogitGradient", [I(0), GO(0)], [GI(0)]),
)
operator("LogitGradient", inputs=2, outputs=1, args="eps")
operator("Softmax", inputs=1, outputs=1, args="axis", gradient=emit("SoftmaxGradient", [O(0), GO(0)], [GI(0)]))
operator("SoftmaxGradient", inputs=2, outputs=1)
operator("SoftmaxFp16", checked=False, runs=False, gradient=emit("SoftmaxFp16Gradient", [O(0), GO(0)], [GI(0)]))
operator("Glu", inputs=1, outputs=1)
operator("MakeTwoClass", inputs=1, outputs=1, gradient=emit("MakeTwoClassGradient", [GO(0)], [GI(0)]))
operator("MakeTwoClassGradient", inputs=1, outputs=1)
