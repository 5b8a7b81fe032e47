"""An operator's gradient, rule and kernels together, against central differences in double precision."""

import numpy as np

from gradviz.execute.operator import run_op
from gradviz.ops.dtypes import float64_for_float32
from gradviz.ops.records import Op
from gradviz.ops.registry import make_gradient
from tests.ops.running import definition

STEP = 1e-4


def _run(op, inputs):
    """Outputs that the kernel itself makes single are widened: the check has no use for their noise."""
    return [y.astype("float64") if y.dtype == np.float32 else y for y in run_op(op, inputs)]


def gradients(op, inputs, output_gradients):
    """What the gradient operators compute for each input; None where the rule gives it no gradient."""
    blobs = dict(zip(op.input, inputs, strict=True))
    blobs |= dict(zip(op.output, _run(op, inputs), strict=True))
    names = [f"{name}_grad" for name in op.output]
    blobs |= dict(zip(names, output_gradients, strict=True))
    made, g_input = make_gradient(Op(op), names)
    for each in made:
        proto = each.to_proto()
        blobs |= dict(zip(proto.output, _run(proto, [blobs[name] for name in proto.input]), strict=True))
    return [None if name is None else blobs[name] for name in g_input]


def check_slopes(type, *inputs, outputs=1, wrt=None, rtol=1e-4, atol=1e-5, **args):
    """Compare the gradients of the inputs `wrt` (all that have one, if left out) with differences."""
    op = definition(type, len(inputs), outputs, **args)
    inputs = [x.astype("float64") if x.dtype.kind == "f" else x for x in inputs]
    random = np.random.default_rng(0)
    with float64_for_float32():
        weights = [random.uniform(0.5, 1.5, y.shape) for y in _run(op, inputs)]
        found = gradients(op, inputs, weights)
        chosen = [i for i, x in enumerate(found) if x is not None] if wrt is None else wrt
        for i in chosen:
            np.testing.assert_allclose(found[i], _differences(op, inputs, i, weights), rtol, atol, err_msg=f"input {i}")


def _differences(op, inputs, i, weights):
    slopes = np.zeros_like(inputs[i])
    for at in np.ndindex(inputs[i].shape):
        ends = []
        for step in (STEP, -STEP):
            moved = [x.copy() for x in inputs]
            moved[i][at] += step
            ends.append(sum((y * w).sum() for y, w in zip(_run(op, moved), weights, strict=True)))
        slopes[at] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes
