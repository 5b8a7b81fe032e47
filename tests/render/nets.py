"""Small nets that between them hold everything a picture has to show."""

from collections.abc import Sequence

import gradviz
from gradviz.proto import NetDef


def net(name: str, *ops: tuple[str, str, str], outputs: Sequence[str] = ("loss",)) -> NetDef:
    """A net of (type, inputs, outputs), names separated by spaces."""
    made = NetDef(name=name, external_output=list(outputs))
    for type, reads, writes in ops:
        made.op.add(type=type, input=reads.split(), output=writes.split())
    return made


def mlp() -> NetDef:
    """In-place Relu, a skipped Accuracy, parameters and labels."""
    return net(
        "mlp",
        ("FC", "x w1 b1", "h"),
        ("Relu", "h", "h"),
        ("FC", "h w2 b2", "y"),
        ("Softmax", "y", "p"),
        ("LabelCrossEntropy", "p label", "xent"),
        ("AveragedLoss", "xent", "loss"),
        ("Accuracy", "p label", "acc"),
    )


def shared_weights() -> NetDef:
    """One weight, three readers: renames and Sums."""
    ops = [("FC", f"{x} w b", y) for x, y in (("x", "h"), ("h", "y"), ("y", "z"))]
    return net("shared", *ops, ("AveragedLoss", "z", "loss"))


def embedding() -> NetDef:
    """Two Gathers of one table: slices that pass through, Concats."""
    return net(
        "embedding",
        ("Gather", "table left", "a"),
        ("Gather", "table right", "c"),
        ("Mul", "a c", "m"),
        ("SumElements", "m", "loss"),
    )


def overwritten() -> NetDef:
    """Mul needs h as it was before Relu wrote over it; a StopGradient on the other branch."""
    return net(
        "overwritten",
        ("FC", "x w b", "h"),
        ("Mul", "h scale", "m"),
        ("Relu", "h", "h"),
        ("StopGradient", "h", "stop"),
        ("Add", "m stop", "t"),
        ("AveragedLoss", "t", "loss"),
    )


def scoped() -> NetDef:
    """Two name scopes with several operators each."""
    return net(
        "scoped",
        ("FC", "x a/w a/b", "a/fc"),
        ("Relu", "a/fc", "a/relu"),
        ("FC", "a/relu b/w b/b", "b/fc"),
        ("Relu", "b/fc", "b/relu"),
        ("AveragedLoss", "b/relu", "loss"),
    )


def nested() -> NetDef:
    """An If in the branch of an If: nested nets in both directions."""
    inner = net("then", ("If", "flag x", "y"), outputs=["y"])
    _give(inner, "then_net", net("deep", ("Relu", "x", "y"), outputs=["y"]))
    made = net("nested", ("If", "flag x", "y"), ("AveragedLoss", "y", "loss"))
    _give(made, "then_net", inner)
    _give(made, "else_net", net("else", ("Sigmoid", "x", "y"), outputs=["y"]))
    return made


def _give(outer: NetDef, argument: str, inner: NetDef) -> None:
    inner.external_input.append("x")
    outer.op[0].arg.add(name=argument).n.CopyFrom(inner)


ALL = {each.__name__: each for each in (mlp, shared_weights, embedding, overwritten, scoped, nested)}


def walked(made: NetDef, *ys: str) -> gradviz.Trace:
    return gradviz.trace(made, list(ys or ("loss",)))
