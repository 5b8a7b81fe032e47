"""One operator, run from a test in one line."""

from gradviz.execute.operator import run_op
from gradviz.ops.arguments import arg
from gradviz.proto import OperatorDef


def definition(type, count, outputs=1, names=None, **args):
    """An operator with inputs `x0`, `x1`, ... (or `names`) and outputs `y0`, `y1`, ... (or a list of names)."""
    op = OperatorDef(type=type, input=names or [f"x{i}" for i in range(count)])
    op.output.extend([f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs)
    op.arg.extend(arg(name, value) for name, value in args.items())
    return op


def run(type, *inputs, outputs=1, seed=None, **args):
    """All outputs of an operator; the one output itself where there is one."""
    made = run_op(definition(type, len(inputs), outputs, **args), list(inputs), seed=seed)
    return made[0] if len(made) == 1 else made
