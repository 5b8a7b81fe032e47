"""Nets for pictures, small enough to run at once: LeNet, a SqueezeNet, ResNet-20."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_nets.layers import Layers

if TYPE_CHECKING:
    from gradviz.nets import Model

CLASSES = 10


def lenet() -> Model:
    """LeNet for 28x28 digits."""
    layers = Layers("lenet", ["data", "label"])
    conv1 = layers.conv("data", "conv1", (1, 20), 5)
    pool1 = layers.net.add("MaxPool", conv1, "pool1", kernel=2, stride=2)
    conv2 = layers.conv(pool1, "conv2", (20, 50), 5)
    pool2 = layers.net.add("MaxPool", conv2, "pool2", kernel=2, stride=2)
    fc3 = layers.relu(layers.fc(pool2, "fc3", 50 * 4 * 4, 500))
    layers.classify(layers.fc(fc3, "pred", 500, CLASSES))
    return layers.model()


def squeezenet() -> Model:
    """A SqueezeNet for 32x32 pictures: fire modules, each of which squeezes the channels and expands them twice."""
    layers = Layers("squeezenet", ["data", "label"])
    x = layers.relu(layers.conv("data", "conv1", (3, 16), 3, pad=1))
    x = layers.net.add("MaxPool", x, "pool1", kernel=3, stride=2)
    x = _fire(layers, x, "fire2", 16, 8, 16)
    x = _fire(layers, x, "fire3", 32, 8, 16)
    x = layers.net.add("MaxPool", x, "pool3", kernel=3, stride=2)
    x = _fire(layers, x, "fire4", 32, 16, 32)
    x, _ = layers.net.add("Dropout", x, ["fire4/dropout", "_fire4/mask"], ratio=0.5, is_test=0)
    x = layers.relu(layers.conv(x, "conv5", (64, CLASSES), 1))
    x = layers.net.add("AveragePool", x, "pool5", global_pooling=1)
    layers.classify(layers.net.add("Squeeze", x, "scores", dims=[2, 3]))
    return layers.model()


def _fire(layers: Layers, x: str, name: str, size_in: int, squeeze: int, expand: int) -> str:
    squeezed = layers.relu(layers.conv(x, f"{name}/squeeze1x1", (size_in, squeeze), 1))
    narrow = layers.relu(layers.conv(squeezed, f"{name}/expand1x1", (squeeze, expand), 1))
    wide = layers.relu(layers.conv(squeezed, f"{name}/expand3x3", (squeeze, expand), 3, pad=1))
    joined, _ = layers.net.add("Concat", [narrow, wide], [f"{name}/concat", f"_{name}/split"], axis=1)
    return joined


def resnet20() -> Model:
    """ResNet-20 for 32x32 pictures: three stages of three blocks, each block two convolutions and a shortcut."""
    layers = Layers("resnet20", ["data", "label"])
    x = layers.relu(_normalized(layers, "data", "conv1", (3, 16), 3, pad=1))
    size = 16
    for stage, wider in enumerate((16, 32, 64)):
        for block in range(3):
            x = _block(layers, x, f"stage{stage + 1}/block{block + 1}", size, wider)
            size = wider
    x = layers.net.add("AveragePool", x, "pool", global_pooling=1)
    layers.classify(layers.fc(x, "pred", 64, CLASSES))
    return layers.model()


def _block(layers: Layers, x: str, name: str, size_in: int, size_out: int) -> str:
    """Where a block widens, it halves the picture, and its shortcut is a convolution too."""
    stride = 1 if size_in == size_out else 2
    inner = layers.relu(_normalized(layers, x, f"{name}/conv1", (size_in, size_out), 3, pad=1, stride=stride))
    inner = _normalized(layers, inner, f"{name}/conv2", (size_out, size_out), 3, pad=1)
    shortcut = x if stride == 1 else _normalized(layers, x, f"{name}/shortcut", (size_in, size_out), 1, stride=stride)
    return layers.relu(layers.net.add("Sum", [inner, shortcut], f"{name}/sum"))


def _normalized(layers: Layers, x: str, name: str, channels: tuple[int, int], kernel: int, **args: int) -> str:
    """A convolution without bias, and batch normalization, whose running figures are updated in place."""
    convolved = layers.conv(x, name, channels, kernel, bias=False, **args)
    y = f"{name}_bn"
    for parameter, value in (("scale", 1.0), ("bias", 0.0), ("mean", 0.0), ("var", 1.0)):
        layers.constant(f"{y}_{parameter}", [channels[1]], value)
    layers.net.add(
        "SpatialBN",
        [convolved, f"{y}_scale", f"{y}_bias", f"{y}_mean", f"{y}_var"],
        [y, f"{y}_mean", f"{y}_var", f"{y}_saved_mean", f"{y}_saved_var"],
        is_test=0,
        epsilon=1e-5,
        momentum=0.9,
    )
    return y
