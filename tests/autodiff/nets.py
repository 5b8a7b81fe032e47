"""Small nets for tests of the walk, and random ones."""

from hypothesis import strategies as st

from gradviz.ops.arguments import arg
from gradviz.proto import NetDef


def net_of(*ops, name="net", external_output=()):
    """A net from lines such as `FC x w b -> y` or `Gather w i -> e; axis=0`."""
    net = NetDef(name=name, external_output=external_output)
    for line in ops:
        text, _, arguments = line.partition(";")
        left, _, outputs = text.partition("->")
        type, *inputs = left.split()
        op = net.op.add(type=type, input=inputs, output=outputs.split(), name="")
        for pair in arguments.split():
            key, _, value = pair.partition("=")
            op.arg.append(arg(key, int(value) if value.lstrip("-").isdigit() else value))
    return net


SHARED_WEIGHTS = ("FC a w b -> p", "FC c w b -> q", "SquaredL2Distance p q -> d", "AveragedLoss d -> loss")
IN_PLACE_DROPOUT = ("FC x w b -> h", "Relu h -> h", "Sqr h -> h", "FC h v c -> y")
TWO_GATHERS = ("Gather w i -> e", "Gather w j -> f", "Mul e f -> m", "AveragedLoss m -> loss")


@st.composite
def random_nets(draw):
    """Nets of elementwise, sparse, stopping and unknown operators, in place or not, with any ys."""
    blobs = ["a", "b", "w"]
    net = NetDef(name="random")
    for index in range(draw(st.integers(0, 12))):
        type, arity = draw(st.sampled_from(_KINDS))
        inputs = [draw(st.sampled_from(blobs)) for _ in range(arity)]
        output = draw(st.sampled_from([*blobs, f"x{index}"]))
        op = net.op.add(type=type, input=inputs, output=[output], name="")
        if draw(st.booleans()) and draw(st.booleans()):
            op.device_option.device_type = 1
            op.device_option.device_id = draw(st.integers(0, 1))
        if output not in blobs:
            blobs.append(output)
    ys = draw(st.lists(st.sampled_from([*blobs, "nowhere"]), unique=True, max_size=3))
    given = {y: draw(st.sampled_from([None, f"{y}_given", ("i", "v")])) for y in ys}
    return net, given


_KINDS = (
    ("Relu", 1),
    ("Sqr", 1),
    ("Sigmoid", 1),
    ("Mul", 2),
    ("Add", 2),
    ("Sum", 2),
    ("Sum", 3),
    ("Gather", 2),
    ("EnsureDense", 1),
    ("StopGradient", 1),
    ("Copy", 1),
    ("MatMul", 2),
    ("ArgMax", 1),
    ("NoSuchType", 1),
)
