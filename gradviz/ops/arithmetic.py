"""Arithmetic, comparisons and logic between arrays, with legacy and modern broadcasting."""

from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("Add", inputs=2, outputs=1, inplace=[(0, 0), (1, 0)], args="broadcast axis", gradient=TODO)
operator("AddGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator("Sub", inputs=2, outputs=1, inplace=[(0, 0), (1, 0)], args="broadcast axis", gradient=TODO)
operator("SubGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator("Mul", inputs=2, outputs=1, inplace=[(0, 0), (1, 0)], args="broadcast axis", gradient=TODO)
operator("MulGradient", inputs=3, outputs=2, inplace=[(0, 0), (0, 1)])
operator("Div", inputs=2, outputs=1, inplace=[(0, 0)], args="broadcast axis", gradient=TODO)
operator("DivGradient", inputs=(3, 4), outputs=2, inplace=[(0, 0)])
operator("Sum", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("SumInt", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("SumRelu", inputs=(1, MANY), outputs=1, inplace=[(0, 0)])
operator("Max", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("MaxGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Min", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("MinGradient", inputs=(3, MANY), outputs=(1, MANY))
operator("Mean", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("MeanGradient", inputs=1, outputs=(1, MANY), inplace=[(0, 0)])
operator(
    "WeightedSum",
    outputs=1,
    arities=[(2, 1), (4, 1), (6, 1), (8, 1), (10, 1), (12, 1), (14, 1), (16, 1), (18, 1), (20, 1), (22, 1), (24, 1)],
    inplace=[(0, 0)],
    gradient=TODO,
)
operator(
    "WeightedSumGradient",
    outputs=(1, MANY),
    arities=[
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 5),
        (1, 6),
        (1, 7),
        (1, 8),
        (1, 9),
        (1, 10),
        (1, 11),
        (1, 12),
        (3, 1),
        (3, 2),
        (3, 3),
        (3, 4),
        (3, 5),
        (3, 6),
        (3, 7),
        (3, 8),
        (3, 9),
        (3, 10),
        (3, 11),
        (3, 12),
        (5, 1),
        (5, 2),
        (5, 3),
        (5, 4),
        (5, 5),
        (5, 6),
        (5, 7),
        (5, 8),
        (5, 9),
        (5, 10),
        (5, 11),
        (5, 12),
        (7, 1),
        (7, 2),
        (7, 3),
        (7, 4),
        (7, 5),
        (7, 6),
        (7, 7),
        (7, 8),
        (7, 9),
        (7, 10),
        (7, 11),
        (7, 12),
        (9, 1),
        (9, 2),
        (9, 3),
        (9, 4),
        (9, 5),
        (9, 6),
        (9, 7),
        (9, 8),
        (9, 9),
        (9, 10),
        (9, 11),
        (9, 12),
        (11, 1),
        (11, 2),
        (11, 3),
        (11, 4),
        (11, 5),
        (11, 6),
        (11, 7),
        (11, 8),
        (11, 9),
        (11, 10),
        (11, 11),
        (11, 12),
    ],
)
operator("Scale", inputs=1, outputs=1, inplace=[(0, 0)], args="scale", gradient=TODO)
operator("Negative", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
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
operator("Pow", inputs=(1, 2), outputs=1, inplace=[(0, 0), (1, 0)], args="exponent axis broadcast", gradient=TODO)
operator("RowMul", inputs=2, outputs=1, gradient=TODO)
operator("SumReduceLike", inputs=2, outputs=1, args="axis axis_str order")
operator("ScaleBlobs", inputs=(1, MANY), outputs=(1, MANY), inplace="any", args="scale")
operator("IsMemberOf", inputs=1, outputs=1, args="value dtype", gradient=SHOULD_NOT)
operator("ElementwiseLinear", inputs=3, outputs=1, args="axis", gradient=TODO)
operator("ElementwiseLinearGradient", inputs=3, outputs=3)
operator("StumpFunc", inputs=1, outputs=1, gradient=NONE)
operator("StumpFuncIndex", inputs=1, outputs=2, gradient=NONE)
operator("Assert", inputs=1, outputs=0, args="error_msg")
operator("ReplaceNaN", inputs=1, outputs=1, inplace=[(0, 0)], args="value (optional)", gradient=SHOULD_NOT)
operator("IsNaN", inputs=1, outputs=1)
operator("BatchBoxCox", inputs=3, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
