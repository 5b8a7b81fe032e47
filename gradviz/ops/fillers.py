"""Fillers: arrays out of constants, ranges and random numbers."""

from gradviz.ops.registry import NONE, operator

operator(
    "ConstantFill",
    inputs=(0, 2),
    outputs=1,
    inplace=[(0, 0)],
    args="value dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "GaussianFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="mean std shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniformFill",
    outputs=1,
    arities=[(0, 1), (1, 1), (3, 1)],
    inplace=[(0, 0)],
    args="min max shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniformIntFill",
    outputs=1,
    arities=[(0, 1), (1, 1), (3, 1)],
    inplace=[(0, 0)],
    args="min max shape input_as_shape",
    gradient=NONE,
)
operator(
    "UniqueUniformFill",
    inputs=(0, 2),
    outputs=1,
    inplace=[(0, 0)],
    args="min max dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator(
    "XavierFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], args="shape extra_shape input_as_shape", gradient=NONE
)
operator("MSRAFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], gradient=NONE)
operator(
    "DiagonalFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="value dtype shape extra_shape input_as_shape",
    gradient=NONE,
)
operator("RangeFill", inputs=(0, 1), outputs=1, inplace=[(0, 0)], gradient=NONE)
operator("LengthsRangeFill", inputs=1, outputs=1, gradient=NONE)
operator(
    "GivenTensorFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values dtype shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorBoolFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorByteStringToUInt8Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorDoubleFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorInt16Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorInt64Fill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorIntFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator(
    "GivenTensorStringFill",
    inputs=(0, 1),
    outputs=1,
    inplace=[(0, 0)],
    args="values shape extra_shape input_as_shape",
    required="values",
    gradient=NONE,
)
operator("Float16ConstantFill", inputs=0, outputs=1, args="value shape", gradient=NONE)
operator("Float16UniformFill", inputs=0, outputs=1, args="shape min max", gradient=NONE)
