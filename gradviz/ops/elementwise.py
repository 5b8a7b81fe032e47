"""Functions of one array, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import MANY
from gradviz.proto import TensorProto

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker


def sqr_rule(maker: Maker) -> list[GradientOp]:
    """Twice x dy; the incoming gradient is doubled in place, whoever else reads it."""
    x, dy = maker.I(0), maker.GO(0)
    return [maker.make("Scale", [dy], [dy], arg("scale", 2.0)), maker.make("Mul", [dy, x], [maker.GI(0)])]


def sqrt_rule(maker: Maker) -> list[GradientOp]:
    """Half of dy / y."""
    dx = maker.GI(0)
    return [
        maker.make("Scale", [maker.GO(0)], [dx], arg("scale", 0.5)),
        maker.make("Div", [dx, maker.O(0)], [dx]),
    ]


def cast_rule(maker: Maker) -> list[GradientOp]:
    """Cast back; where to is not known from the definition unless `from_type` says so."""
    inputs, outputs = [maker.GO(0)], [maker.GI(0)]
    to = _data_type(maker, "to")
    if not (maker.args.has("from_type", "i") or maker.args.has("from_type", "s")):
        maker.refuse("the argument from_type (an integer or a text) must say what type the input has")
    own = arg("to", _data_type(maker, "from_type")), arg("from_type", to)
    return [maker.make("Cast", inputs, outputs, *own, copied=None)]


def _data_type(maker: Maker, name: str) -> int:
    """The number of the tensor type that an argument names, as a text in any case or as a number."""
    if not maker.args.has(name, "s"):
        return maker.args.integer(name, TensorProto.FLOAT)
    text = maker.args.text(name)
    types = TensorProto.DataType.items()
    found = dict(types).get(text.upper())
    if found is None:
        maker.refuse(f"argument {name} names the tensor type {text}, which does not exist")
    return found


def quant_decode_rule(maker: Maker) -> list[GradientOp]:
    """Reads the codebook, every code and the gradient of every output."""
    gradients = [maker.GO(i) for i in range(len(maker.op.outputs))]
    return [maker.make("QuantDecodeGradient", [*maker.op.inputs, *gradients], [maker.GI(0)])]


operator("Abs", inputs=1, outputs=1, gradient=emit("AbsGradient", [I(0), GO(0)], [GI(0)]))
operator("AbsGradient", inputs=2, outputs=1)
operator("Acos", inputs=1, outputs=1, gradient=emit("AcosGradient", [I(0), GO(0)], [GI(0)]))
operator("AcosGradient", inputs=2, outputs=1)
operator("Asin", inputs=1, outputs=1, gradient=emit("AsinGradient", [I(0), GO(0)], [GI(0)]))
operator("AsinGradient", inputs=2, outputs=1)
operator("Atan", inputs=1, outputs=1, gradient=emit("AtanGradient", [I(0), GO(0)], [GI(0)]))
operator("AtanGradient", inputs=2, outputs=1)
operator("Cbrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("CbrtGradient", [GO(0), O(0)], [GI(0)]))
operator("CbrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Ceil", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator(
    "Clip", inputs=1, outputs=1, inplace=[(0, 0)], args="min max", gradient=emit("ClipGradient", [O(0), GO(0)], [GI(0)])
)
operator("ClipGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Cos", inputs=1, outputs=1, gradient=emit("CosGradient", [I(0), GO(0)], [GI(0)]))
operator("CosGradient", inputs=2, outputs=1)
operator("Cosh", inputs=1, outputs=1, gradient=emit("CoshGradient", [GO(0), I(0)], [GI(0)]))
operator("CoshGradient", inputs=2, outputs=1)
operator("Cube", inputs=1, outputs=1, gradient=emit("CubeGradient", [GO(0), I(0)], [GI(0)]))
operator("CubeGradient", inputs=2, outputs=1)
operator("Erf", inputs=1, outputs=1, gradient=emit("ErfGradient", [I(0), GO(0)], [GI(0)]))
operator("ErfGradient", inputs=2, outputs=1)
operator("Exp", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Mul", [O(0), GO(0)], [GI(0)]))
operator("Floor", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator("Log", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Div", [GO(0), I(0)], [GI(0)]))
operator(
    "Reciprocal", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("ReciprocalGradient", [O(0), GO(0)], [GI(0)])
)
operator("ReciprocalGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Rsqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("RsqrtGradient", [GO(0), O(0)], [GI(0)]))
operator("RsqrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Sign", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Sin", inputs=1, outputs=1, gradient=emit("SinGradient", [I(0), GO(0)], [GI(0)]))
operator("SinGradient", inputs=2, outputs=1)
operator("Sinh", inputs=1, outputs=1, gradient=emit("SinhGradient", [GO(0), I(0)], [GI(0)]))
operator("SinhGradient", inputs=2, outputs=1)
operator("Sqr", inputs=1, outputs=1, inplace=[(0, 0)], gradient=sqr_rule)
operator("Sqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=sqrt_rule)
operator("Tan", inputs=1, outputs=1, gradient=emit("TanGradient", [I(0), GO(0)], [GI(0)]))
operator("TanGradient", inputs=2, outputs=1)
operator("Cast", inputs=1, outputs=1, args="to", gradient=cast_rule)
operator("HalfToFloat", inputs=1, outputs=1, gradient=emit("FloatToHalf", [GO(0)], [GI(0)]))
operator("FloatToHalf", inputs=1, outputs=1, gradient=emit("HalfToFloat", [GO(0)], [GI(0)]))
operator("NanCheck", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=emit("NanCheck", [GO(0)], [GI(0)]))
operator("Bucketize", inputs=1, outputs=1, args="boundaries")
operator("BucketizeOp", checked=False, runs=False, gradient=NONE)
operator(
    "SquareRootDivide", inputs=2, outputs=1, inplace=[(0, 0)], gradient=emit("SquareRootDivide", [GO(0), I(1)], [GI(0)])
)
operator(
    "PiecewiseLinearTransform", inputs=(1, 4), outputs=1, args="bounds slopes intercepts binary", gradient=SHOULD_NOT
)
operator(
    "QuantDecode",
    arities=lambda i, o: i == o + 1 >= 2,
    gradient=quant_decode_rule,
)
operator(
    "QuantDecodeGradient",
    outputs=1,
    arities=lambda i, o: i >= 3 and i % 2 == 1 and o == 1,
)
operator("EnforceFinite", inputs=1, outputs=0, gradient=SHOULD_NOT)
operator("EnsureClipped", inputs=(1, 3), outputs=1, inplace=[(0, 0)], gradient=SHOULD_NOT)
operator("ClipTensorByScaling", inputs=(2, 3), outputs=1, inplace=[(0, 0)], args="threshold", gradient=SHOULD_NOT)
