"""Arithmetic, comparisons and logic between arrays, with legacy and modern broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, operator
from gradviz.ops.rules import GI, GO, I, O, emit, pass_through
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker, Rule
    from gradviz.proto import Argument


def _all_inputs(maker: Maker) -> list[str]:
    """Gradients for every input."""
    return [maker.GI(i) for i in range(len(maker.op.inputs))]


def extremum_rule(type: str) -> Rule:
    """Max and Min: the gradient operator compares the output with every input."""

    def rule(maker: Maker) -> list[GradientOp]:
        return [maker.make(type, [maker.O(0), maker.GO(0), *maker.op.inputs], _all_inputs(maker))]

    return rule


def mean_rule(maker: Maker) -> list[GradientOp]:
    """Every input gets its share of the output's gradient."""
    return [maker.make("MeanGradient", [maker.GO(0)], _all_inputs(maker))]


def weighted_sum_rule(maker: Maker) -> list[GradientOp]:
    """Inputs alternate between arrays and weights; weights get a gradient where `grad_on_w` asks, behind the arrays."""
    count = len(maker.op.inputs)
    outputs = [maker.GI(i) for i in range(0, count, 2)]
    if maker.args.flag("grad_on_w"):
        outputs += [maker.GI(i) for i in range(1, count, 2)]
    return [maker.make("WeightedSumGradient", [maker.GO(0), *maker.op.inputs], outputs)]


def pow_rule(maker: Maker) -> list[GradientOp]:
    """A number as exponent (the argument decides, an exponent input then is not looked at), or an array."""
    if "exponent" in maker.args:
        return _pow_number(maker, maker.args.real("exponent"))
    if maker.O(0) in (maker.I(0), maker.I(1)):
        maker.refuse("it runs in place, and the gradient needs both inputs", blob=maker.O(0))
    return _pow_array(maker)


def _pow_number(maker: Maker, exponent: float) -> list[GradientOp]:
    """A x^(a-1) dy; in place only x^a is left, and x^(a-1) is its power (a-1)/a."""
    power = arg("exponent", exponent - 1)
    if maker.I(0) == maker.O(0):
        if not abs(exponent) > 1e-12:
            maker.refuse("with the exponent 0 it cannot run in place", blob=maker.I(0))
        power.f = power.f / exponent  # both rounded to single precision, as upstream computes it
    dx, dy = maker.GI(0), maker.GO(0)
    return [
        maker.make("Pow", [maker.I(0)], [dx], power, copied=None),
        maker.make("Mul", [dx, dy], [dx], copied=None),
        maker.make("Scale", [dx], [dx], arg("scale", exponent), copied=None),
    ]


def _pow_array(maker: Maker) -> list[GradientOp]:
    """A x^(a-1) dy for the base, log(x) x^a dy for the exponent, summed down to its shape where it was broadcast."""
    x, a, y, dy, dx, da = maker.I(0), maker.I(1), maker.O(0), maker.GO(0), maker.GI(0), maker.GI(1)
    before = da + "_autogen_pre_red"
    broadcast = _broadcast_arguments(maker)
    last = before if broadcast else da

    def make(type: str, inputs: list[str], output: str, *own: Argument) -> GradientOp:
        return maker.make(type, inputs, [output], *own, copied=None)

    ops = [
        make("ConstantFill", [a], da, arg("value", 1.0)),
        make("Sub", [a, da], da),
        make("Pow", [x, da], dx, *broadcast),
        make("Mul", [dx, dy], dx),
        make("Mul", [dx, a], dx, *broadcast),
        make("Log", [x], before),
        make("Mul", [before, y], before),
        make("Mul", [before, dy], last),
    ]
    if broadcast:
        ops.append(make("SumReduceLike", [before, a], da, *broadcast[1:]))
    return ops


def _broadcast_arguments(maker: Maker) -> list[Argument]:
    """`broadcast` and its companions, completed by their defaults; nothing where `broadcast` is not there at all."""
    if "broadcast" not in maker.args:
        return []
    defaults: dict[str, int | str] = {"broadcast": 0, "axis": -1, "axis_str": "", "order": "NCHW"}
    return [maker.args.get(name) or arg(name, value) for name, value in defaults.items()]


def row_mul_rule(maker: Maker) -> list[GradientOp]:
    """The weights' gradient is the product, summed over each row."""
    dy, dw = maker.GO(0), maker.GI(1)
    products = dw + "before_aggregate"
    return [
        maker.make("RowMul", [dy, maker.I(1)], [maker.GI(0)]),
        maker.make("Mul", [dy, maker.I(0)], [products]),
        maker.make("ReduceTailSum", [products], [dw]),
    ]


operator(
    "Add",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("AddGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("AddGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Sub",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("SubGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("SubGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Mul",
    inputs=2,
    outputs=1,
    inplace=[(0, 0), (1, 0)],
    args="broadcast axis",
    gradient=emit("MulGradient", [GO(0), I(0), I(1)], [GI(0), GI(1)]),
)
operator("MulGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator(
    "Div",
    inputs=2,
    outputs=1,
    inplace=[(0, 0)],
    args="broadcast axis",
    gradient=emit("DivGradient", [GO(0), I(0), I(1), O(0)], [GI(0), GI(1)]),
)
operator("DivGradient", inputs=(3, 4), outputs=2, inplace=[(0, 0)])
operator("Sum", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=pass_through())
operator("SumInt", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("SumRelu", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("Max", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=extremum_rule("MaxGradient"))
operator("MaxGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Min", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=extremum_rule("MinGradient"))
operator("MinGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Mean", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=mean_rule)
operator("MeanGradient", inputs=1, outputs=(1, MANY), inplace=[(0, 0)])
operator(
    "WeightedSum",
    outputs=1,
    arities=lambda i, o: i >= 2 and i % 2 == 0 and o == 1,
    inplace=[(0, 0)],
    gradient=weighted_sum_rule,
)
operator(
    "WeightedSumGradient",
    outputs=(1, MANY),
    arities=lambda i, o: i % 2 == 1 and o >= 1,
)
operator("Scale", inputs=1, outputs=1, inplace=[(0, 0)], args="scale", gradient=emit("Scale", [GO(0)], [GI(0)]))
operator("Negative", inputs=1, outputs=1, inplace=[(0, 0)], gradient=emit("Negative", [GO(0)], [GI(0)]))
operator("And", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Or", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Xor", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("Not", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("BitwiseAnd", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("BitwiseOr", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("BitwiseXor", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=SHOULD_NOT)
operator("EQ", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("NE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("LT", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("LE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("GT", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("GE", inputs=2, outputs=1, args="broadcast axis", gradient=SHOULD_NOT)
operator("Mod", inputs=1, outputs=1, inplace=[(0, 0)], args="divisor sign_follow_divisor")
operator("ModOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("Where", inputs=3, outputs=1, gradient=SHOULD_NOT)
operator("Pow", inputs=(1, 2), outputs=1, inplace=[(0, 0), (1, 0)], args="exponent axis broadcast", gradient=pow_rule)
operator("RowMul", inputs=2, outputs=1, gradient=row_mul_rule)
operator("SumReduceLike", inputs=2, outputs=1, args="axis axis_str order")
operator("ScaleBlobs", inputs=(1, MANY), outputs=(1, MANY), inplace="any", args="scale")
operator("IsMemberOf", inputs=1, outputs=1, args="value dtype", gradient=SHOULD_NOT)
operator(
    "ElementwiseLinear",
    inputs=3,
    outputs=1,
    args="axis",
    gradient=emit("ElementwiseLinearGradient", [GO(0), I(0), I(1)], [GI(0), GI(1), GI(2)]),
)
operator("ElementwiseLinearGradient", inputs=3, outputs=3)
operator("StumpFunc", inputs=1, outputs=1, gradient=NONE)
operator("StumpFuncIndex", inputs=1, outputs=2, gradient=NONE)
operator("Assert", inputs=1, outputs=0, args="error_msg")
operator("ReplaceNaN", inputs=1, outputs=1, inplace=[(0, 0)], args="value (optional)", gradient=SHOULD_NOT)
operator("IsNaN", inputs=1, outputs=1)
operator("BatchBoxCox", inputs=3, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
