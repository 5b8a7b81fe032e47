"""Operators without a gradient, written in other words that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.autodiff.mending import edits
from gradviz.ops.arguments import real, values, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradviz.autodiff.mending.workshop import Workshop
    from gradviz.autodiff.remedies import Remedy
    from gradviz.ops.records import Op
    from gradviz.proto import OperatorDef

Rewriting = "tuple[str, str, list[OperatorDef]]"
_INT64 = 10
_FLOAT = 1


def substitutes(shop: Workshop, index: int) -> Iterator[Remedy]:
    """Remedies that put other operators in the place of one, with the same result."""
    op = shop.scene.op(index)
    rewrite = _REWRITINGS.get(op.type)
    made = rewrite(shop, op) if rewrite is not None else None
    if made is None:
        return
    title, explanation, ops = made
    if op.proto.HasField("device_option"):
        for each in ops:
            each.device_option.CopyFrom(op.proto.device_option)
    yield shop.remedy(
        f"Replace {shop.scene.named(index)} by {title}", explanation, lambda net: edits.replace(net, index, *ops)
    )


def _merge_dim(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    source, target = op.inputs[0], op.outputs[0]
    words = ("shape", "tail", "minus_one", "new_shape", "old_shape", "split")
    shape, tail, open_, wanted, old, split = (shop.fresh(f"{target}_{word}") for word in words)
    ops = [
        edits.make_op("Shape", [source], [shape]),
        edits.make_op("Slice", [shape], [tail], starts=[2], ends=[-1]),
        edits.make_op("ConstantFill", [], [open_], shape=[1], value=-1, dtype=_INT64),
        edits.make_op("Concat", [open_, tail], [wanted, split], axis=0),
        edits.make_op("Reshape", [source, wanted], [target, old]),
    ]
    explanation = (
        "The gradient of Reshape is a Reshape back to the old shape. Where the shape is known, Reshape with "
        "shape=[-1, ...] alone does the same; for three dimensions so does Flatten with axis=2."
    )
    return "Reshape, its new shape worked out when the net runs", explanation, ops


def _resize_like(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return None
    shape, old = shop.fresh(f"{op.outputs[0]}_shape"), shop.fresh(f"{op.outputs[0]}_old_shape")
    ops = [
        edits.make_op("Shape", [op.inputs[1]], [shape]),
        edits.make_op("Reshape", [op.inputs[0], shape], [op.outputs[0], old]),
    ]
    return "Shape and Reshape", "The gradient of Reshape is a Reshape back to the old shape.", ops


def _sum_relu(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    total = shop.fresh(f"{op.outputs[0]}_sum")
    ops = [edits.make_op("Sum", op.inputs, [total]), edits.make_op("Relu", [total], op.outputs)]
    return "Sum and Relu", "SumRelu is the two in one, made for running without gradients.", ops


def _conv_relu(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    inner = shop.fresh(f"{op.outputs[0]}_conv")
    conv = edits.make_op("Conv", op.inputs, [inner])
    conv.arg.extend(op.proto.arg)
    ops = [conv, edits.make_op("Relu", [inner], op.outputs)]
    return "Conv and Relu", "ConvRelu is the two in one, made for running without gradients.", ops


def _glu(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    left, right, gate = (shop.fresh(f"{op.outputs[0]}_{word}") for word in ("left", "right", "gate"))
    ops = [
        edits.make_op("Split", op.inputs, [left, right], axis=whole(values(op.proto), "dim", -1)),
        edits.make_op("Sigmoid", [right], [gate]),
        edits.make_op("Mul", [left, gate], op.outputs),
    ]
    return "Split, Sigmoid and Mul", "A gated linear unit is one half times the sigmoid of the other.", ops


def _sum_of_squares(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    squares = shop.fresh(f"{op.outputs[0]}_squares")
    total = edits.make_op("SumElements", [squares], op.outputs)
    total.arg.extend(op.proto.arg)
    return (
        "Sqr and SumElements",
        "The two do the same and have gradients.",
        [
            edits.make_op("Sqr", op.inputs, [squares]),
            total,
        ],
    )


def _where(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    if len(op.inputs) != 3 or len(op.outputs) != 1 or op.proto.arg:
        return None
    condition, yes, no = op.inputs
    out = op.outputs[0]
    mask, other, others, left, right = (shop.fresh(f"{out}_{word}") for word in ("mask", "not", "unmask", "yes", "no"))
    ops = [
        edits.make_op("Cast", [condition], [mask], to=_FLOAT),
        edits.make_op("StopGradient", [mask], [mask]),
        edits.make_op("Not", [condition], [other]),
        edits.make_op("Cast", [other], [others], to=_FLOAT),
        edits.make_op("StopGradient", [others], [others]),
        edits.make_op("Mul", [yes, mask], [left]),
        edits.make_op("Mul", [no, others], [right]),
        edits.make_op("Sum", [left, right], [out]),
    ]
    explanation = (
        "The condition becomes a mask of ones and zeros. NaN and infinity in the branch not taken get through."
    )
    return "sums of masked branches", explanation, ops


def _renamed_to(type: str, explanation: str, inputs: int) -> Callable[..., tuple[str, str, list[OperatorDef]] | None]:
    def rewrite(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
        if len(op.inputs) < inputs or set(op.inputs[:inputs]) & set(op.outputs):
            return None
        return type, explanation, [edits.make_op(type, op.inputs[:inputs], op.outputs)]

    return rewrite


def _upsample(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    scale = real(values(op.proto), "scale", 2)
    made = edits.make_op("ResizeNearest", op.inputs, op.outputs, width_scale=scale, height_scale=scale)
    explanation = "UpsampleNearest belongs to an add-on library; ResizeNearest does the same and has a gradient here."
    return f"ResizeNearest with width_scale and height_scale {scale:g}", explanation, [made]


def _matmul_for_fc(shop: Workshop, op: Op) -> tuple[str, str, list[OperatorDef]] | None:
    if len(op.inputs) != 2 or len(op.outputs) != 1 or op.proto.arg:
        return None
    return (
        "MatMul with trans_b=1",
        "FC needs a bias; without one it is this product, for inputs of two dimensions.",
        [edits.make_op("MatMul", op.inputs, op.outputs, trans_b=1)],
    )


def frozen_batch_norm(shop: Workshop, index: int) -> Iterator[Remedy]:
    """A batch norm in test mode as AffineChannel, whose factor and offset are worked out from the statistics."""
    op = shop.scene.op(index)
    if len(op.inputs) != 5 or len(op.outputs) != 1:
        return
    source, scale, bias, mean, variance = op.inputs
    given = values(op.proto)
    epsilon = real(given, "epsilon", 1e-5)
    order = {"order": given["order"]} if isinstance(given.get("order"), str) else {}
    words = ("mean", "var", "eps", "var_eps", "inv_std", "factor", "shift", "offset")
    m, v, eps, total, inverse, factor, shift, offset = (shop.fresh(f"{op.outputs[0]}_{word}") for word in words)
    ops = [
        edits.make_op("StopGradient", [mean], [m]),
        edits.make_op("StopGradient", [variance], [v]),
        edits.make_op("ConstantFill", [v], [eps], value=epsilon),
        edits.make_op("Add", [v, eps], [total]),
        edits.make_op("Rsqrt", [total], [inverse]),
        edits.make_op("StopGradient", [inverse], [inverse]),
        edits.make_op("Mul", [scale, inverse], [factor]),
        edits.make_op("Mul", [m, factor], [shift]),
        edits.make_op("Sub", [bias, shift], [offset]),
        edits.make_op("AffineChannel", [source, factor, offset], op.outputs, is_learnable=1, **order),
    ]
    for each in ops if op.proto.HasField("device_option") else ():
        each.device_option.CopyFrom(op.proto.device_option)
    yield shop.remedy(
        f"Replace {shop.scene.named(index)} by AffineChannel, factor and offset worked out from {mean} and {variance}",
        f"The result is the same, and the gradients of {source}, {scale} and {bias} are right.",
        lambda net: edits.replace(net, index, *ops),
    )


_REWRITINGS: dict[str, Callable[..., tuple[str, str, list[OperatorDef]] | None]] = {
    "AliasWithName": _renamed_to("Alias", "Alias shares memory in the same way and passes its gradient on.", 1),
    "ConvRelu": _conv_relu,
    "CopyFromCPUInput": _renamed_to("Copy", "Copy copies too, and has a gradient.", 1),
    "CopyOnDeviceLike": _renamed_to("Copy", "Copy copies too, and has a gradient; the device is its own option.", 1),
    "FC": _matmul_for_fc,
    "Glu": _glu,
    "MergeDim": _merge_dim,
    "ResizeLike": _resize_like,
    "SumRelu": _sum_relu,
    "SumSqrElements": _sum_of_squares,
    "UpsampleNearest": _upsample,
    "Where": _where,
}
