"""Small nets, one idea each: sums of gradients, sparse gradients, given gradients, control flow, recurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.nets import NetBuilder
from sample_nets.layers import Layers

if TYPE_CHECKING:
    from gradviz.nets import Model

CLASSES = 10
STEPS, BATCH, FEATURES, UNITS = 3, 4, 5, 6


def mlp() -> Model:
    """Two layers, values of the parameters in the init net."""
    layers = Layers("mlp", ["x", "label"])
    for y, shape, seed in (("h", (5, 4), 1), ("y", (CLASSES, 5), 2)):
        layers.given(f"{y}_w", shape, seed)
        layers.constant(f"{y}_b", shape[:1], 0.0)
    layers.net.add("FC", ["x", "h_w", "h_b"], "h")
    layers.net.add("Tanh", "h", "h_act")
    layers.classify(layers.net.add("FC", ["h_act", "y_w", "y_b"], "y"))
    return layers.model()


def inplace_relu() -> Model:
    """Relu writes over its input, which is lawful: its gradient needs only the output."""
    layers = Layers("inplace_relu", ["x", "label"])
    h = layers.relu(layers.fc("x", "h", 4, 8))
    h = layers.relu(layers.fc(h, "g", 8, 8))
    layers.classify(layers.fc(h, "y", 8, CLASSES))
    return layers.model()


def shared_weights() -> Model:
    """Two towers with the same weights, whose gradients are added up."""
    layers = Layers("shared_weights", ["left", "right"])
    layers.given("w", (3, 4), 3)
    layers.constant("b", [3], 0.1)
    towers = [layers.net.add("FC", [side, "w", "b"], f"{side}_code") for side in ("left", "right")]
    layers.net.add("SquaredL2Distance", towers, "distance")
    layers.net.add("AveragedLoss", "distance", "loss")
    return layers.model()


def embedding() -> Model:
    """Two lookups in one table: its gradient is sparse, two slices joined by Concat."""
    layers = Layers("embedding", ["user", "item"])
    layers.given("table", (10, 3), 4)
    rows = [layers.net.add("Gather", ["table", side], f"{side}_row") for side in ("user", "item")]
    layers.net.add("SquaredL2Distance", rows, "distance")
    layers.net.add("AveragedLoss", "distance", "loss")
    return layers.model()


def two_losses() -> Model:
    """One trunk, two heads; how much each loss counts is given as its gradient."""
    layers = Layers("two_losses", ["x", "label", "target", "class_weight", "value_weight"])
    layers.constant("class_weight", [], 1.0)
    layers.constant("value_weight", [], 0.25)
    trunk = layers.relu(layers.fc("x", "trunk", 4, 6))
    layers.net.add("SoftmaxWithLoss", [layers.fc(trunk, "class", 6, CLASSES), "label"], ["class_prob", "class_loss"])
    layers.net.add("SquaredL2Distance", [layers.fc(trunk, "value", 6, 2), "target"], "distance")
    layers.net.add("AveragedLoss", "distance", "value_loss")
    return layers.model()


def lstm_unrolled() -> Model:
    """An LSTM written out step by step: the weights are used in each step, so their gradients are summed."""
    layers = Layers("lstm_unrolled", ["input", "label"])
    for blob in ("hidden_0", "cell_0"):
        layers.constant(blob, [1, BATCH, UNITS], 0.0)
    layers.init.add("GivenTensorIntFill", [], "lengths", shape=[BATCH], values=[3, 3, 2, 1])
    layers.init.add("XavierFill", [], "gates_w", shape=[4 * UNITS, FEATURES + UNITS])
    layers.constant("gates_b", [4 * UNITS], 0.0)
    layers.net.add("Split", "input", [f"x_{step}" for step in range(STEPS)], axis=0)
    for step in range(STEPS):
        _lstm_step(layers, step)
    layers.net.add("ZeroGradient", f"cell_{STEPS}", [])  # LSTMUnit wants gradients of both its outputs
    last = layers.net.add("Squeeze", f"hidden_{STEPS}", "last", dims=[0])
    layers.classify(layers.fc(last, "pred", UNITS, CLASSES))
    return layers.model()


def _lstm_step(layers: Layers, step: int) -> None:
    """The gates see the input and the state before; `step_<n>` holds the number of the step."""
    layers.init.add("GivenTensorIntFill", [], f"step_{step}", shape=[1], values=[step])
    layers.net.add("Concat", [f"x_{step}", f"hidden_{step}"], [f"seen_{step}", f"_seen_{step}_split"], axis=2)
    layers.net.add("FC", [f"seen_{step}", "gates_w", "gates_b"], f"gates_{step}", axis=2)
    layers.net.add(
        "LSTMUnit",
        [f"hidden_{step}", f"cell_{step}", f"gates_{step}", "lengths", f"step_{step}"],
        [f"hidden_{step + 1}", f"cell_{step + 1}"],
        forget_bias=0.0,
    )


def if_else() -> Model:
    """A price that depends on a condition; the gradient of If is an If, with a Do in each branch."""
    layers = Layers("if_else", [])
    for blob, value in (("demand", 5.0), ("limit", 3.0), ("rate", 2.0)):
        layers.constant(blob, [1], value)
    net = layers.net
    net.add("ConstantFill", [], "price", shape=[1], value=0.0)
    busy = net.add("GT", ["demand", "limit"], "busy")
    scopes = [net.add("CreateScope", [], f"{branch}_scope") for branch in ("then", "else")]
    net.add(
        "If",
        [busy, "demand", "rate", *scopes],
        ["price", *scopes],
        then_net=_branch("then", "Mul"),
        else_net=_branch("else", "Add"),
    )
    net.add("AveragedLoss", "price", "loss")
    return layers.model()


def _branch(name: str, operator: str) -> NetBuilder:
    """A branch: a Do, which runs a net in a scope of its own and binds its blobs to those outside."""
    inner = NetBuilder(f"{name}_body")
    inner.add(operator, ["demand", "rate"], "price")
    branch = NetBuilder(f"{name}_branch")
    scope = f"{name}_scope"
    branch.add(
        "Do",
        ["demand", "rate", scope],
        ["price", scope],
        net=inner,
        inner_blobs=["demand", "rate", "price"],
        outer_blobs_idx=[0, 1, 2],
    )
    return branch
