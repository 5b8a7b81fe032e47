"""Matrix products."""

from gradviz.ops.registry import NOT_IMPLEMENTED, TODO, operator
from gradviz.ops.schema import MANY

operator("FC", inputs=3, outputs=1, args="axis axis_w float16_compute", gradient=TODO)
operator("FCGradient", inputs=3, outputs=(2, 3))
operator("FCTransposed", inputs=3, outputs=1, gradient=TODO)
operator("FCTransposedGradient", inputs=3, outputs=(2, 3))
operator("MatMul", inputs=(2, 3), outputs=1, args="axis_a axis_b trans_a trans_b", gradient=TODO)
operator("BatchMatMul", inputs=2, outputs=1, args="trans_a trans_b broadcast", gradient=TODO)
operator("FbFCPacked", inputs=3, outputs=1)
operator("FbGemmPack", inputs=1, outputs=1, inplace=[(0, 0)])
operator("FbGemmPackTranspose", inputs=1, outputs=1, inplace=[(0, 0)])
operator("TT", inputs=3, outputs=1, args="inp_sizes out_sizes tt_ranks", gradient=NOT_IMPLEMENTED)
operator("TTSparseLengthsSum", inputs=5, outputs=4, args="factor_i factor_j ranks emb_size", gradient=TODO)
operator("TTSparseLengthsSumGradient", inputs=8, outputs=3)
operator("ConcatBatchMatMulBatchGatherOp", inputs=(1, MANY), outputs=1)
operator("TTLinearGradient")
