"""Matrix products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import axis_of, require
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import NOT_IMPLEMENTED, kernel, no_kernel, operator
from gradviz.ops.rules import GI, GO, I, O, emit
from gradviz.ops.schema import MANY

if TYPE_CHECKING:
    from gradviz.ops.context import Context
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


def _fold(x: Any, axis: int) -> Any:
    """`x` as a matrix: the dimensions before `axis` are its rows, the rest its columns."""
    if x.ndim == 2 and axis == 1:
        return x
    at = axis_of(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:at]), math.prod(x.shape[at:]))


def _affine(xp: Any, x: Any, weights: Any, bias: Any, axis: int, turned: bool) -> Any:
    """X·W + b with `weights` as inputs times outputs, or the other way round if `turned`.

    Y keeps the dimensions of X before `axis`.
    """
    rows = _fold(x, axis)
    size_in, size_out = weights.shape[::-1] if turned else weights.shape
    if rows.shape[1] != size_in or bias.shape != (size_out,):
        raise ValueError(
            f"sizes do not fit: X has {rows.shape[1]} columns, W takes {size_in} and gives {size_out}, "
            f"the bias has the shape {bias.shape}"
        )
    y = _product_with_bias(xp, rows, weights, bias, turned)
    return y if rows is x else y.reshape(*x.shape[: axis_of(axis, x.ndim)], bias.size)


def _product_with_bias(xp: Any, rows: Any, weights: Any, bias: Any, turned: bool) -> Any:
    """X·W + b; by few rows turned weights are multiplied faster the other way round, and turning Y costs little."""
    if turned and 4 * rows.shape[0] <= bias.size:
        return xp.add((weights @ rows.T).T, bias, out=xp.empty((rows.shape[0], bias.size), rows.dtype))
    y = rows @ (weights.T if turned else weights)
    y += bias
    return y


@kernel("FC")
def fc(xp: Any, x: Any, w: Any, b: Any, *, axis: int = 1, axis_w: int = 1) -> Any:
    """Y = X·Wᵀ + b, with X folded at `axis` and W (outputs, inputs) at `axis_w`."""
    expect("float32", x, w, b)
    return _affine(xp, x, _fold(w, axis_w), b, axis, turned=True)


@kernel("FCTransposed")
def fc_transposed(xp: Any, x: Any, w: Any, b: Any, *, axis: int = 1, axis_w: int = 1) -> Any:
    """Y = X·W + b, with W (inputs, outputs)."""
    expect("float32", x, w, b)
    return _affine(xp, x, _fold(w, axis_w), b, axis, turned=False)


def _affine_gradient(x: Any, weights: Any, dy: Any, axis: int, with_x: bool) -> tuple[Any, Any, Any, Any]:
    """X and dY as matrices, whose product is the gradient of W, and the gradients of b and of X, which may be left out.

    `weights` are inputs times outputs, as in `_affine`.
    """
    rows = _fold(x, axis)
    if rows.shape[1] != weights.shape[0] or dy.size != rows.shape[0] * weights.shape[1]:
        raise ValueError(
            f"sizes do not fit: X has {rows.shape[1]} columns, W takes {weights.shape[0]} and gives "
            f"{weights.shape[1]}, dY has {dy.size} elements for {rows.shape[0]} rows"
        )
    dy = dy.reshape(rows.shape[0], weights.shape[1])
    return rows, dy, dy.sum(axis=0), (dy @ weights.T).reshape(x.shape) if with_x else None


@kernel("FCGradient")
def fc_gradient(xp: Any, x: Any, w: Any, dy: Any, *, axis: int = 1, axis_w: int = 1, ctx: Context) -> Any:
    expect("float32", x, w, dy)
    rows, dy, db, dx = _affine_gradient(x, _fold(w, axis_w).T, dy, axis, ctx.wants(2))
    return (dy.T @ rows).reshape(w.shape), db, dx


@kernel("FCTransposedGradient")
def fc_transposed_gradient(xp: Any, x: Any, w: Any, dy: Any, *, axis: int = 1, axis_w: int = 1, ctx: Context) -> Any:
    expect("float32", x, w, dy)
    rows, dy, db, dx = _affine_gradient(x, _fold(w, axis_w), dy, axis, ctx.wants(2))
    return (rows.T @ dy).reshape(w.shape), db, dx


operator("MatMul", inputs=(2, 3), outputs=1, args="axis_a axis_b trans_a trans_b", gradient=_matmul_gradient)


@kernel("MatMul")
def matmul(
    xp: Any,
    a: Any,
    b: Any,
    like: Any = None,
    *,
    axis_a: int = 1,
    axis_b: int = 1,
    trans_a: int = 0,
    trans_b: int = 0,
) -> Any:
    """A product of matrices, each folded at its axis and maybe transposed; `like` lends the result its shape."""
    expect("float32", a, b)
    left, right = _fold(a, axis_a), _fold(b, axis_b)
    left, right = left.T if trans_a else left, right.T if trans_b else right
    y = left @ right
    return y if like is None else y.reshape(like.shape)


operator("BatchMatMul", inputs=2, outputs=1, args="trans_a trans_b broadcast", gradient=_batch_matmul_gradient)


@kernel("BatchMatMul")
def batch_matmul(xp: Any, a: Any, b: Any, *, trans_a: int = 0, trans_b: int = 0) -> Any:
    """Products of the last two dimensions; those before them broadcast, asked or not. A vector is never transposed."""
    expect("float32", a, b)
    left = a.swapaxes(-1, -2) if trans_a and a.ndim > 1 else a
    right = b.swapaxes(-1, -2) if trans_b and b.ndim > 1 else b
    y = xp.matmul(left, right)
    return y.reshape(1) if a.ndim == b.ndim == 1 else y


operator("FbFCPacked", inputs=3, outputs=1)
operator("FbGemmPack", inputs=1, outputs=1, inplace=[(0, 0)])
operator("FbGemmPackTranspose", inputs=1, outputs=1, inplace=[(0, 0)])
no_kernel(
    "its weights are packed into a form that only the processor library knows; FC computes the same from plain ones",
    "FbFCPacked",
    "FbGemmPack",
    "FbGemmPackTranspose",
)
operator("TT", inputs=3, outputs=1, args="inp_sizes out_sizes tt_ranks", gradient=NOT_IMPLEMENTED)
operator("TTLinearGradient")
no_kernel("upstream's is empty", "TTLinearGradient")


@kernel("TT")
def tt(xp: Any, x: Any, b: Any, cores: Any, *, inp_sizes: list[int], out_sizes: list[int], tt_ranks: list[int]) -> Any:
    """A linear layer whose weights are a tensor train; `cores` holds them one after another, the last one first."""
    expect("float32", x, b, cores)
    y, used = x, 0
    for i in reversed(range(len(inp_sizes))):
        taken, given = inp_sizes[i] * tt_ranks[i + 1], tt_ranks[i] * out_sizes[i]
        core = cores[used : used + taken * given].reshape(taken, given)
        used += taken * given
        y = (y.reshape(-1, taken) @ core).reshape(-1, out_sizes[i]).T
    batch = x.shape[0]
    # Upstream turns the result over with the sizes exchanged: with more than one row, the rows come out mixed.
    return y.reshape(batch, -1).T.reshape(batch, -1) + b


operator(
    "TTSparseLengthsSum",
    inputs=5,
    outputs=4,
    args="factor_i factor_j ranks emb_size",
    gradient=emit(
        "TTSparseLengthsSumGradient",
        [I(0), I(1), I(2), I(4), O(1), O(2), O(3), GO(0)],
        [GI(0), GI(1), GI(2)],
    ),
)
operator("TTSparseLengthsSumGradient", inputs=8, outputs=3)


def _segment_of_row(xp: Any, lengths: Any, rows: int) -> Any:
    """To which segment each of `rows` rows belongs."""
    ends = xp.cumsum(lengths)
    require(int(lengths.sum()) == rows, f"lengths add up to {int(lengths.sum())} where there are {rows} rows")
    return xp.searchsorted(ends, xp.arange(rows), side="right")


def _digits(xp: Any, index: Any, factors: list[int]) -> Any:
    """Indices written in the mixed radix `factors`, highest digit first: (rows, 3)."""
    _, middle, low = factors
    return xp.stack([index // (middle * low), index // low % middle, index % low], axis=1)


@kernel("TTSparseLengthsSum")
def tt_sparse_lengths_sum(
    xp: Any,
    core0: Any,
    core1: Any,
    core2: Any,
    index: Any,
    lengths: Any,
    *,
    factor_i: list[int],
    factor_j: list[int],
    ranks: list[int],
    emb_size: int,
) -> Any:
    """Rows of a table that is stored as a train of three cores, summed over segments.

    Also given out, for the gradient: the two partial products of each row, and its digits in the three cores.
    """
    expect("float32", core0, core1, core2)
    expect("int32", lengths)
    rows = index.size
    digits = _digits(xp, index.astype("int64"), factor_i)
    if rows:
        require(
            int(digits.min()) >= 0 and int(digits[:, 0].max()) < core0.shape[0],
            f"an index is not between 0 and {math.prod(factor_i) - 1}",
        )
    first = core0[digits[:, 0]].reshape(rows, factor_j[0], ranks[1])
    second = first @ core1[digits[:, 1]].reshape(rows, ranks[1], factor_j[1] * ranks[2])
    second = second.reshape(rows, factor_j[0] * factor_j[1], ranks[2])
    found = second @ core2[digits[:, 2]].reshape(rows, ranks[2], factor_j[2])
    y = xp.zeros((lengths.size, emb_size), core0.dtype)
    xp.add.at(y, _segment_of_row(xp, lengths, rows), found.reshape(rows, emb_size))
    return y, first, second, digits


@kernel("TTSparseLengthsSumGradient")
def tt_sparse_lengths_sum_gradient(
    xp: Any,
    core0: Any,
    core1: Any,
    core2: Any,
    lengths: Any,
    first: Any,
    second: Any,
    digits: Any,
    dy: Any,
) -> Any:
    """Gradients of the three cores, dense."""
    rows = digits.shape[0]
    (_, width0, rank1), (_, width01, rank2) = first.shape, second.shape
    dfound = dy[_segment_of_row(xp, lengths, rows)].reshape(rows, width01, -1)
    dcore2 = second.swapaxes(1, 2) @ dfound
    dsecond = dfound @ core2[digits[:, 2]].reshape(rows, rank2, -1).swapaxes(1, 2)
    dsecond = dsecond.reshape(rows, width0, -1)
    dcore1 = first.swapaxes(1, 2) @ dsecond
    dcore0 = dsecond @ core1[digits[:, 1]].reshape(rows, rank1, -1).swapaxes(1, 2)
    gathered = []
    for i, (core, part) in enumerate(((core0, dcore0), (core1, dcore1), (core2, dcore2))):
        whole = xp.zeros_like(core)
        xp.add.at(whole, digits[:, i], part.reshape(rows, *core.shape[1:]))
        gathered.append(whole)
    return tuple(gathered)


operator("ConcatBatchMatMulBatchGatherOp", inputs=(1, MANY), outputs=1)


@kernel("ConcatBatchMatMulBatchGatherOp")
def concat_batch_matmul_batch_gather(xp: Any, indices: Any, *embeddings: Any) -> Any:
    """For each example the inner products of all pairs of its embeddings, and of these the ones at `indices`."""
    expect("float32", *embeddings)
    expect("int32 int64", indices)
    rows = xp.stack([each.reshape(each.shape[0], -1) for each in embeddings], axis=1)
    pairs = (rows @ rows.swapaxes(1, 2)).reshape(rows.shape[0], -1)
    return pairs[:, indices]
