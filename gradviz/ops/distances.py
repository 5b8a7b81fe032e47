"""Distances and likenesses: one number for each pair of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.ops._checks import require, require_same_shape
from gradviz.ops.arguments import arg
from gradviz.ops.dtypes import expect
from gradviz.ops.registry import kernel, operator
from gradviz.ops.rules import GI, GO, I, emit

if TYPE_CHECKING:
    from gradviz.ops.records import GradientOp
    from gradviz.ops.rules import Emit, Maker

LEAST = 1e-12
"""The least squared norm that is divided by, and the least difference that counts."""


def _of_both(type: str) -> Emit:
    """The gradients of both inputs."""
    return emit(type, [I(0), I(1), GO(0)], [GI(0), GI(1)])


def _dot_product_with_padding_gradient(maker: Maker) -> list[GradientOp]:
    """The two arguments are read loosely (of doubles the first, a wrong field as 0) and stated anew."""
    given = {argument.name: argument for argument in reversed(maker.op.proto.arg)}
    pad_value = given["pad_value"].f if "pad_value" in given else 0.0
    replicate = given["replicate"].i != 0 if "replicate" in given else False
    inputs, outputs = [maker.I(0), maker.I(1), maker.GO(0)], [maker.GI(0), maker.GI(1)]
    own = [arg("pad_value", pad_value), arg("replicate", replicate)]
    return [maker.make("DotProductWithPaddingGradient", inputs, outputs, *own)]


operator("SquaredL2Distance", inputs=2, outputs=1, gradient=_of_both("SquaredL2DistanceGradient"))
operator("SquaredL2DistanceGradient", inputs=3, outputs=2)
operator("L1Distance", inputs=2, outputs=1, gradient=_of_both("L1DistanceGradient"))
operator("L1DistanceGradient", inputs=3, outputs=2)
operator("DotProduct", inputs=2, outputs=1, gradient=_of_both("DotProductGradient"))
operator("DotProductGradient", inputs=3, outputs=2)
operator("CosineSimilarity", inputs=2, outputs=1, gradient=_of_both("CosineSimilarityGradient"))
operator("CosineSimilarityGradient", inputs=3, outputs=2)


def _items(x: Any) -> Any:
    """`x` as (items, size); a vector is one number for each item, a scalar one item."""
    n = x.shape[0] if x.ndim else 1
    return x.reshape(n, x.size // n if n else 0)


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    expect("float32", x, y)
    require_same_shape(x, y)
    return _items(x), _items(y)


def _for_each(dz: Any, items: Any) -> Any:
    """The gradient of each item's number, as a column."""
    expect("float32", dz)
    require(dz.size == items.shape[0], f"dZ has {dz.size} elements for {items.shape[0]} items")
    return dz.reshape(-1, 1)


@kernel("SquaredL2Distance")
def squared_l2_distance(xp: Any, x: Any, y: Any) -> Any:
    """Half the squared distance of each item of X from that of Y."""
    a, b = _pair(x, y)
    difference = a - b
    return (difference * difference).sum(axis=1) * x.dtype.type(0.5)


@kernel("SquaredL2DistanceGradient")
def squared_l2_distance_gradient(xp: Any, x: Any, y: Any, dz: Any) -> Any:
    a, b = _pair(x, y)
    dx = ((a - b) * _for_each(dz, a)).reshape(x.shape)
    return dx, -dx


@kernel("L1Distance")
def l1_distance(xp: Any, x: Any, y: Any) -> Any:
    """The sum of the differences' magnitudes."""
    a, b = _pair(x, y)
    return abs(a - b).sum(axis=1)


@kernel("L1DistanceGradient")
def l1_distance_gradient(xp: Any, x: Any, y: Any, dz: Any) -> Any:
    """Differences of at most 1e-12 count as none."""
    a, b = _pair(x, y)
    difference = a - b
    dx = (xp.where(abs(difference) > LEAST, xp.sign(difference), 0) * _for_each(dz, a)).reshape(x.shape)
    return dx, -dx


@kernel("DotProduct")
def dot_product(xp: Any, x: Any, y: Any) -> Any:
    """The inner product of each item of X with that of Y."""
    a, b = _pair(x, y)
    return (a * b).sum(axis=1)


@kernel("DotProductGradient")
def dot_product_gradient(xp: Any, x: Any, y: Any, dz: Any) -> Any:
    a, b = _pair(x, y)
    each = _for_each(dz, a)
    return (b * each).reshape(x.shape), (a * each).reshape(y.shape)


def _cosines(xp: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Inner products, and squared norms of both (at least 1e-12), as columns."""
    least = a.dtype.type(LEAST)
    products, of_a, of_b = ((p * q).sum(axis=1)[:, None] for p, q in ((a, b), (a, a), (b, b)))
    return products, xp.maximum(of_a, least), xp.maximum(of_b, least)


@kernel("CosineSimilarity")
def cosine_similarity(xp: Any, x: Any, y: Any) -> Any:
    """The cosine of the angle between each item of X and that of Y."""
    products, of_x, of_y = _cosines(xp, *_pair(x, y))
    return (products / xp.sqrt(of_x * of_y))[:, 0]


@kernel("CosineSimilarityGradient")
def cosine_similarity_gradient(xp: Any, x: Any, y: Any, dz: Any) -> Any:
    a, b = _pair(x, y)
    products, of_a, of_b = _cosines(xp, a, b)
    each = _for_each(dz, a) / xp.sqrt(of_a * of_b)
    dx, dy = each * (b - a * (products / of_a)), each * (a - b * (products / of_b))
    return dx.reshape(x.shape), dy.reshape(y.shape)


operator(
    "DotProductWithPadding",
    inputs=2,
    outputs=1,
    args="pad_value replicate",
    gradient=_dot_product_with_padding_gradient,
)
operator("DotProductWithPaddingGradient", inputs=3, outputs=2)


def _as_long(xp: Any, short: Any, size: int, pad_value: float, replicate: int) -> Any:
    """Items (n, short) made (n, size), by a value or by repeating them."""
    if not replicate:
        wide = xp.full((short.shape[0], size), pad_value, short.dtype)
        wide[:, : short.shape[1]] = short
        return wide
    require(size % max(1, short.shape[1]) == 0, f"{short.shape[1]} elements cannot be repeated to {size}")
    return xp.tile(short, (1, size // max(1, short.shape[1])))


def _padded_pair(xp: Any, x: Any, y: Any, pad_value: float, replicate: int) -> tuple[Any, Any]:
    expect("float32", x, y)
    a, b = _items(x), _items(y)
    require(a.shape[0] == b.shape[0], f"X has {a.shape[0]} items and Y {b.shape[0]}")
    size = max(a.shape[1], b.shape[1])
    return _as_long(xp, a, size, pad_value, replicate), _as_long(xp, b, size, pad_value, replicate)


@kernel("DotProductWithPadding")
def dot_product_with_padding(xp: Any, x: Any, y: Any, *, pad_value: float = 0.0, replicate: int = 0) -> Any:
    """Inner products, where the shorter of the two is padded with a value or repeated."""
    a, b = _padded_pair(xp, x, y, pad_value, replicate)
    return (a * b).sum(axis=1)


@kernel("DotProductWithPaddingGradient")
def dot_product_with_padding_gradient(
    xp: Any, x: Any, y: Any, dz: Any, *, pad_value: float = 0.0, replicate: int = 0
) -> Any:
    a, b = _padded_pair(xp, x, y, pad_value, replicate)
    each = _for_each(dz, a)
    return tuple(_as_short(wide * each, like, replicate) for wide, like in ((b, x), (a, y)))


def _as_short(gradient: Any, like: Any, replicate: int) -> Any:
    """The reverse of `_as_long`: repeated elements add their gradients, padding has none."""
    size = _items(like).shape[1]
    if replicate:
        return gradient.reshape(gradient.shape[0], -1, size).sum(axis=1).reshape(like.shape)
    return gradient[:, :size].reshape(like.shape)
