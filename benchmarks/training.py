"""Nets as they are trained: what `benchmarks.execute` runs forward and backward, with feeds for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sample_nets.layers import Layers
from sample_nets.vision import lenet as lenet_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradviz.nets import Model

Feeds = dict[str, Any]

CLASSES = 1000
STEPS, FEATURES, UNITS = 32, 128, 256
ROWS, WIDTH, IDS = 100_000, 64, 20
FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""Channels of SqueezeNet's fire modules: squeezed, and each of the two expanded."""
POOLED = (0, 2, 4)
"""Before which fire modules SqueezeNet pools."""
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Narrow channels and blocks of ResNet-50's stages; the blocks' outputs are four times as wide."""


@dataclass(frozen=True)
class Case:
    """A net with a batch.

    Attributes:
        net: name of the net, in `NETS` and in `peer.STEPS`.
        batch: rows, or pictures.
        convolutional: whether the goal for convolutional nets holds for it.
        random: whether a step draws random numbers, so that its results are its own.
    """

    net: str
    batch: int
    convolutional: bool = False
    random: bool = False

    def model(self) -> Model:
        return NETS[self.net][0](self.batch)

    def feeds(self) -> Feeds:
        return NETS[self.net][1](np.random.default_rng(3), self.batch)


CASES = {
    "mlp": Case("MLP", 64),
    "lenet": Case("LeNet", 64, convolutional=True),
    "lstm": Case("LSTM", 32),
    "embedding": Case("embedding", 64),
    "squeezenet1": Case("SqueezeNet 1.1", 1, convolutional=True, random=True),
    "squeezenet8": Case("SqueezeNet 1.1", 8, convolutional=True, random=True),
    "resnet1": Case("ResNet-50", 1, convolutional=True),
    "resnet8": Case("ResNet-50", 8, convolutional=True),
}


def mlp(batch: int) -> Model:
    """64 features, two hidden layers of 128, ten classes: small enough for overhead to rule."""
    layers = Layers("mlp", ["data", "label"])
    x = layers.relu(layers.fc("data", "fc1", 64, 128))
    x = layers.relu(layers.fc(x, "fc2", 128, 128))
    layers.classify(layers.fc(x, "pred", 128, 10))
    return layers.model()


def lenet(batch: int) -> Model:
    return lenet_model()


def squeezenet(batch: int) -> Model:
    """SqueezeNet 1.1 for 224x224 pictures."""
    layers = Layers("squeezenet11", ["data", "label"])
    x, size = layers.relu(layers.conv("data", "conv1", (3, 64), 3, stride=2)), 64
    for i, (squeeze, expand) in enumerate(FIRES):
        if i in POOLED:
            x = layers.net.add("MaxPool", x, f"pool{i}", kernel=3, stride=2)
        x, size = _fire(layers, x, f"fire{i}", size, squeeze, expand), 2 * expand
    x, _ = layers.net.add("Dropout", x, ["dropped", "_mask"], ratio=0.5, is_test=0)
    x = layers.relu(layers.conv(x, "last", (size, CLASSES), 1))
    x = layers.net.add("AveragePool", x, "pool", global_pooling=1)
    layers.classify(layers.net.add("Squeeze", x, "scores", dims=[2, 3]))
    return layers.model()


def _fire(layers: Layers, x: str, name: str, size: int, squeeze: int, expand: int) -> str:
    squeezed = layers.relu(layers.conv(x, f"{name}_squeeze", (size, squeeze), 1))
    narrow = layers.relu(layers.conv(squeezed, f"{name}_narrow", (squeeze, expand), 1))
    wide = layers.relu(layers.conv(squeezed, f"{name}_wide", (squeeze, expand), 3, pad=1))
    return layers.net.add("Concat", [narrow, wide], [f"{name}_joined", f"_{name}_split"], axis=1)[0]


def resnet(batch: int) -> Model:
    """ResNet-50 for 224x224 pictures; where a block halves the picture, its 3x3 convolution does."""
    layers = Layers("resnet50", ["data", "label"])
    x = layers.relu(_normalized(layers, "data", "conv1", (3, 64), 7, stride=2, pad=3))
    x, size = layers.net.add("MaxPool", x, "pool1", kernel=3, stride=2, pad=1), 64
    for stage, (narrow, blocks) in enumerate(STAGES):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x, size = _bottleneck(layers, x, f"s{stage}b{block}", size, narrow, stride), 4 * narrow
    x = layers.net.add("AveragePool", x, "pool", global_pooling=1)
    layers.classify(layers.fc(x, "pred", size, CLASSES))
    return layers.model()


def _bottleneck(layers: Layers, x: str, name: str, size: int, narrow: int, stride: int) -> str:
    inner = layers.relu(_normalized(layers, x, f"{name}c1", (size, narrow), 1))
    inner = layers.relu(_normalized(layers, inner, f"{name}c2", (narrow, narrow), 3, pad=1, stride=stride))
    inner = _normalized(layers, inner, f"{name}c3", (narrow, 4 * narrow), 1)
    if size != 4 * narrow:
        x = _normalized(layers, x, f"{name}c0", (size, 4 * narrow), 1, stride=stride)
    return layers.relu(layers.net.add("Sum", [inner, x], inner))


def _normalized(layers: Layers, x: str, name: str, channels: tuple[int, int], kernel: int, **args: int) -> str:
    convolved = layers.conv(x, name, channels, kernel, bias=False, **args)
    y = f"{name}_bn"
    for parameter, value in (("scale", 1.0), ("bias", 0.0), ("mean", 0.0), ("var", 1.0)):
        layers.constant(f"{y}_{parameter}", [channels[1]], value)
    inputs = [convolved, *(f"{y}_{parameter}" for parameter in ("scale", "bias", "mean", "var"))]
    outputs = [y, f"{y}_mean", f"{y}_var", f"{y}_saved_mean", f"{y}_saved_inverse"]
    layers.net.add("SpatialBN", inputs, outputs, is_test=0, epsilon=1e-5, momentum=0.9)
    return y


def lstm(batch: int) -> Model:
    """An LSTM of 256 units over 32 steps, unrolled: the input's share of the gates first, as one product."""
    layers = Layers("lstm", ["data", "label"])
    for blob in ("hidden_0", "cell_0"):
        layers.constant(blob, [1, batch, UNITS], 0.0)
    layers.init.add("ConstantFill", [], "lengths", shape=[batch], value=STEPS, dtype=2)
    shares = layers.fc("data", "input", FEATURES, 4 * UNITS, axis=2)
    layers.net.add("Split", shares, [f"share_{step}" for step in range(STEPS)], axis=0)
    layers.init.add("XavierFill", [], "state_w", shape=[4 * UNITS, UNITS])
    layers.constant("state_b", [4 * UNITS], 0.0)
    for step in range(STEPS):
        _lstm_step(layers, step)
    layers.net.add("ZeroGradient", f"cell_{STEPS}", [])  # LSTMUnit wants gradients of both its outputs
    layers.classify(layers.fc(layers.net.add("Squeeze", f"hidden_{STEPS}", "last", dims=[0]), "pred", UNITS, 10))
    return layers.model()


def _lstm_step(layers: Layers, step: int) -> None:
    layers.init.add("GivenTensorIntFill", [], f"step_{step}", shape=[1], values=[step])
    own = layers.net.add("FC", [f"hidden_{step}", "state_w", "state_b"], f"own_{step}", axis=2)
    gates = layers.net.add("Sum", [own, f"share_{step}"], f"gates_{step}")
    before, after = ([f"hidden_{i}", f"cell_{i}"] for i in (step, step + 1))
    layers.net.add("LSTMUnit", [*before, gates, "lengths", f"step_{step}"], after, forget_bias=0.0)


def embedding(batch: int) -> Model:
    """Two tables of 100,000 rows: sums of 20 rows each, side by side into two layers."""
    layers = Layers("embedding", ["left_ids", "right_ids", "lengths", "label"])
    sums = []
    for side in ("left", "right"):
        layers.init.add("XavierFill", [], side, shape=[ROWS, WIDTH])
        sums.append(layers.net.add("SparseLengthsSum", [side, f"{side}_ids", "lengths"], f"{side}_sum"))
    x = layers.net.add("Concat", sums, ["joined", "_split"], axis=1)[0]
    x = layers.relu(layers.fc(x, "fc1", 2 * WIDTH, 128))
    layers.classify(layers.fc(x, "pred", 128, 10))
    return layers.model()


def _rows(random: np.random.Generator, batch: int) -> Feeds:
    return {"data": _normal(random, batch, 64), "label": _labels(random, batch, 10)}


def _digits(random: np.random.Generator, batch: int) -> Feeds:
    return {"data": _normal(random, batch, 1, 28, 28), "label": _labels(random, batch, 10)}


def _pictures(random: np.random.Generator, batch: int) -> Feeds:
    return {"data": _normal(random, batch, 3, 224, 224), "label": _labels(random, batch, CLASSES)}


def _sequences(random: np.random.Generator, batch: int) -> Feeds:
    return {"data": _normal(random, STEPS, batch, FEATURES), "label": _labels(random, batch, 10)}


def _ids(random: np.random.Generator, batch: int) -> Feeds:
    ids = {f"{side}_ids": random.integers(0, ROWS, batch * IDS) for side in ("left", "right")}
    return {**ids, "lengths": np.full(batch, IDS, np.int32), "label": _labels(random, batch, 10)}


def _normal(random: np.random.Generator, *shape: int) -> Any:
    return random.standard_normal(shape, np.float32)


def _labels(random: np.random.Generator, batch: int, classes: int) -> Any:
    return random.integers(0, classes, batch).astype(np.int32)


NETS: dict[str, tuple[Callable[[int], Model], Callable[[np.random.Generator, int], Feeds]]] = {
    "MLP": (mlp, _rows),
    "LeNet": (lenet, _digits),
    "LSTM": (lstm, _sequences),
    "embedding": (embedding, _ids),
    "SqueezeNet 1.1": (squeezenet, _pictures),
    "ResNet-50": (resnet, _pictures),
}
