"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.ops.arguments import arg
from gradviz.ops.registry import NOT_IMPLEMENTED, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Maker
    from gradviz.proto import Argument


def _flag(maker: Maker, name: str, default: bool = False) -> bool:
    """An argument as these rules read it: as a truth value, false in a wrong field; of doubles the first counts."""
    return next((given.i != 0 for given in maker.op.proto.arg if given.name == name), default)


def _factors(maker: Maker) -> list[tuple[str, str, bool, bool, str]]:
    """The gradients of A and of B as products: left, right, which of them is transposed, where the operand stands.

    With Y = AB, dA is dY·B' and dB is A'·dY; where the operand itself was transposed, the product is turned over.
    """
    a, b, dy = maker.I(0), maker.I(1), maker.GO(0)
    trans_a, trans_b = _flag(maker, "trans_a"), _flag(maker, "trans_b")
    da = (b, dy, trans_b, True, "axis_a") if trans_a else (dy, b, False, not trans_b, "axis_b")
    db = (dy, a, True, trans_a, "axis_b") if trans_b else (a, dy, not trans_a, False, "axis_a")
    return [da, db]


def _transposed(left: bool, right: bool) -> list[Argument]:
    return [arg(name, 1) for name, given in (("trans_a", left), ("trans_b", right)) if given]


def _matmul_gradient(maker: Maker) -> list[GradientOp]:
    """Two products, each with the operand itself as a third input, whose shape the gradient takes."""
    # Upstream reads the axes as truth values too, so that every axis but 0 becomes 1.
    axes = _flag(maker, "axis_b", True), _flag(maker, "axis_a", True)
    made = []
    for i, (left, right, *turned, axis) in enumerate(_factors(maker)):
        own = [*_transposed(*turned), arg(axis, axes[i])]
        made.append(maker.make("MatMul", [left, right, maker.I(i)], [maker.GI(i)], *own, copied=None))
    return made


def _batch_matmul_gradient(maker: Maker) -> list[GradientOp]:
    """Two products; broadcast operands are refused."""
    if _flag(maker, "broadcast"):
        maker.refuse("with broadcast=1 no gradient is implemented upstream")
    made = []
    for i, (left, right, *turned, _) in enumerate(_factors(maker)):
        made.append(maker.make("BatchMatMul", [left, right], [maker.GI(i)], *_transposed(*turned), copied=None))
    return made


operator(
    "FC",
    inputs=3,
    outputs=1,
    args="axis axis_w float16_compute",
    gradient=emit("FCGradient", [I(0), I(1), GO(0)], [GI(1), GI(2), GI(0)]),
)
operator("FCGradient", inputs=3, outputs=(2, 3))
operator(
    "FCTransposed",
    inputs=3,
    outputs=1,
    gradient=emit("FCTransposedGradient", [I(0), I(1), GO(0)], [GI(1), GI(2), GI(0)]),
)
operator("FCTransposedGradient", inputs=3, outputs=(2, 3))
operator("MatMul", inputs=(2, 3), outputs=1, args="axis_a axis_b trans_a trans_b", gradient=_matmul_gradient)
operator("BatchMatMul", inputs=2, outputs=1, args="trans_a trans_b broadcast", gradient=_batch_matmul_gradient)
operator("FbFCPacked", inputs=3, outputs=1)
operator("FbGemmPack", inputs=1, outputs=1, inplace=[(0, 0)])
operator("FbGemmPackTranspose", inputs=1, outputs=1, inplace=[(0, 0)])
operator("TT", inputs=3, outputs=1, args="inp_sizes out_sizes tt_ranks", gradient=NOT_IMPLEMENTED)
operator(
    "TTSparseLengthsSum",
    inputs=5,
    outputs=4,
    args="factor_i factor_j ranks emb_size",
    gradient=emit(
        "TTSparseLengthsSumGradient", [I(0), I(1), I(2), I(4), O(1), O(2), O(3), GO(0)], [GI(0), GI(1), GI(2)]
    ),
)
operator("TTSparseLengthsSumGradient", inputs=8, outputs=3)
operator("ConcatBatchMatMulBatchGatherOp", inputs=(1, MANY), outputs=1)
operator("TTLinearGradient")
