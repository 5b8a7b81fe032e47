"""Nets that the screens are tried on, and how an app is made of them."""

from gradviz.autodiff import trace
from gradviz.debug import Session
from gradviz.nets import NetBuilder
from gradviz.tui.app import GradvizApp

NASTY = {
    "markup": "[red]w[/red]",
    "closing": "[/]",
    "escaped": r"\[bold]",
    "action": "[@click=app.quit]x[/]",
    "control": "a\x1b[31m\x07\nb",
    "emoji": "🔥🔥fire",
    "cjk": "漢字の重み",
    "long": "x" * 5000,
    "turned": "a\u202eb\u200bc",
    "dollars": "$accent {x} %s",
}


def lenet():
    net = NetBuilder("lenet", outputs=["loss"])
    net.add("Conv", ["data", "conv1_w", "conv1_b"], "conv1", kernel=5)
    net.add("MaxPool", "conv1", "pool1", kernel=2, stride=2)
    net.add("Conv", ["pool1", "conv2_w", "conv2_b"], "conv2", kernel=5)
    net.add("MaxPool", "conv2", "pool2", kernel=2, stride=2)
    net.add("FC", ["pool2", "fc3_w", "fc3_b"], "fc3")
    net.add("Relu", "fc3", "fc3")
    net.add("FC", ["fc3", "pred_w", "pred_b"], "pred")
    net.add("Softmax", "pred", "softmax")
    net.add("Accuracy", ["softmax", "label"], "accuracy")
    net.add("LabelCrossEntropy", ["softmax", "label"], "xent")
    net.add("AveragedLoss", "xent", "loss")
    return net.net


def shared():
    """One weight read by three operators: its gradients are added up."""
    net = NetBuilder("shared")
    net.add("FC", ["x1", "w", "b"], "h1")
    net.add("FC", ["x2", "w", "b"], "h2")
    net.add("Add", ["h1", "h2"], "s")
    net.add("FC", ["s", "w", "b"], "y")
    net.add("AveragedLoss", "y", "loss")
    return net.net


def embedding():
    """Two lookups in one table: sparse gradients, concatenated."""
    net = NetBuilder("embedding")
    net.add("Gather", ["table", "ids1"], "rows1")
    net.add("Gather", ["table", "ids2"], "rows2")
    net.add("Add", ["rows1", "rows2"], "sum")
    net.add("AveragedLoss", "sum", "loss")
    return net.net


def mismatch():
    """An output that its gradient needs is overwritten."""
    net = NetBuilder("mismatch")
    net.add("FC", ["x", "w", "b"], "h")
    net.add("Sigmoid", "h", "s")
    net.add("Relu", "s", "s")
    net.add("FC", ["s", "w2", "b2"], "y")
    net.add("AveragedLoss", "y", "loss")
    return net.net


def mixed():
    """Dense and sparse gradients of one blob meet."""
    net = NetBuilder("mixed")
    net.add("Gather", ["table", "ids"], "rows")
    net.add("FC", ["x", "table", "b"], "h")
    net.add("Add", ["rows", "h"], "sum")
    net.add("AveragedLoss", "sum", "loss")
    return net.net


def orphan():
    """A StopGradient that stops nothing: the walk fails before it begins."""
    net = NetBuilder("orphan", outputs=["y"])
    net.add("StopGradient", "x", "dead")
    net.add("Relu", "x", "y")
    return net.net


def logarithm():
    """A net that makes NaN."""
    net = NetBuilder("logarithm")
    net.add("Relu", "x", "r")
    net.add("Negative", "r", "n")
    net.add("Log", "n", "z")
    net.add("AveragedLoss", "z", "loss")
    return net.net


def nasty():
    """Names that a careless screen would obey."""
    net = NetBuilder("[red]net[/]\x1b", outputs=["loss"])
    last = "x"
    for name in NASTY.values():
        net.add("FC", [last, f"{name}_w", f"{name}_b"], name, name=name)
        last = name
    net.add("[bold]Odd\x07Type" * 3, last, "odd")
    net.add("AveragedLoss", last, "loss")
    return net.net


def long(count):
    """A net of so many operators."""
    net = NetBuilder("long", outputs=["loss"])
    last = "x"
    for i in range(count // 2):
        last = net.add("FC", [last, f"w{i % 7}", f"b{i}"], f"h{i}")
        last = net.add("Relu", last, f"r{i}")
    net.add("AveragedLoss", last, "loss")
    return net.net


NETS = {
    "lenet": lenet,
    "shared": shared,
    "embedding": embedding,
    "mismatch": mismatch,
    "mixed": mixed,
    "orphan": orphan,
    "logarithm": logarithm,
    "nasty": nasty,
}


def session(name, at=None, ys=None):
    """A session on one of the nets, at an event (the last one if None)."""
    made = Session(trace(NETS[name](), ys))
    made.goto(made.last if at is None else at)
    return made


def app(name, at=None, **options):
    return GradvizApp(session(name, at), **options)


def at_kind(name, kind, nth=0):
    """The event of a net's walk that is the n-th of its kind."""
    events = trace(NETS[name]()).events
    return [i for i, event in enumerate(events) if event.kind == kind][nth]
