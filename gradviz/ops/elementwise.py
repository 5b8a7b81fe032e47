"""Functions of one array, element by element."""

from gradviz.ops.registry import NONE, NOT_IMPLEMENTED, SHOULD_NOT, TODO, operator
from gradviz.ops.schema import MANY

operator("Abs", inputs=1, outputs=1, gradient=TODO)
operator("AbsGradient", inputs=2, outputs=1)
operator("Acos", inputs=1, outputs=1, gradient=TODO)
operator("AcosGradient", inputs=2, outputs=1)
operator("Asin", inputs=1, outputs=1, gradient=TODO)
operator("AsinGradient", inputs=2, outputs=1)
operator("Atan", inputs=1, outputs=1, gradient=TODO)
operator("AtanGradient", inputs=2, outputs=1)
operator("Cbrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("CbrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Ceil", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator("Clip", inputs=1, outputs=1, inplace=[(0, 0)], args="min max", gradient=TODO)
operator("ClipGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Cos", inputs=1, outputs=1, gradient=TODO)
operator("CosGradient", inputs=2, outputs=1)
operator("Cosh", inputs=1, outputs=1, gradient=TODO)
operator("CoshGradient", inputs=2, outputs=1)
operator("Cube", inputs=1, outputs=1, gradient=TODO)
operator("CubeGradient", inputs=2, outputs=1)
operator("Erf", inputs=1, outputs=1, gradient=TODO)
operator("ErfGradient", inputs=2, outputs=1)
operator("Exp", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("Floor", inputs=1, outputs=1, inplace=[(0, 0)], gradient=NOT_IMPLEMENTED)
operator("Log", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("Reciprocal", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("ReciprocalGradient", inputs=2, outputs=1, inplace=[(1, 0)])
operator("Rsqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("RsqrtGradient", inputs=2, outputs=1, inplace=[(0, 0)])
operator("Sign", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("Sin", inputs=1, outputs=1, gradient=TODO)
operator("SinGradient", inputs=2, outputs=1)
operator("Sinh", inputs=1, outputs=1, gradient=TODO)
operator("SinhGradient", inputs=2, outputs=1)
operator("Sqr", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("Sqrt", inputs=1, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("Tan", inputs=1, outputs=1, gradient=TODO)
operator("TanGradient", inputs=2, outputs=1)
operator("Cast", inputs=1, outputs=1, args="to", gradient=TODO)
operator("HalfToFloat", inputs=1, outputs=1, gradient=TODO)
operator("FloatToHalf", inputs=1, outputs=1, gradient=TODO)
operator("NanCheck", inputs=(1, MANY), outputs=1, inplace=[(0, 0)], gradient=TODO)
operator("Bucketize", inputs=1, outputs=1, args="boundaries")
operator("BucketizeOp", checked=False, runs=False, gradient=NONE)
operator("SquareRootDivide", inputs=2, outputs=1, inplace=[(0, 0)], gradient=TODO)
operator(
    "PiecewiseLinearTransform", inputs=(1, 4), outputs=1, args="bounds slopes intercepts binary", gradient=SHOULD_NOT
)
operator(
    "QuantDecode",
    arities=[
        (2, 1),
        (3, 2),
        (4, 3),
        (5, 4),
        (6, 5),
        (7, 6),
        (8, 7),
        (9, 8),
        (10, 9),
        (11, 10),
        (12, 11),
        (13, 12),
        (14, 13),
        (15, 14),
        (16, 15),
        (17, 16),
        (18, 17),
        (19, 18),
        (20, 19),
        (21, 20),
        (22, 21),
        (23, 22),
        (24, 23),
    ],
    gradient=TODO,
)
operator(
    "QuantDecodeGradient",
    outputs=1,
    arities=[(3, 1), (5, 1), (7, 1), (9, 1), (11, 1), (13, 1), (15, 1), (17, 1), (19, 1), (21, 1), (23, 1)],
)
operator("EnforceFinite", inputs=1, outputs=0, gradient=SHOULD_NOT)
operator("EnsureClipped", inputs=(1, 3), outputs=1, inplace=[(0, 0)], gradient=SHOULD_NOT)
operator("ClipTensorByScaling", inputs=(2, 3), outputs=1, inplace=[(0, 0)], args="threshold", gradient=SHOULD_NOT)
