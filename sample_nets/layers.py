"""A net and its init net, grown together: each layer adds its operator to one and its parameters to the other."""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING, Any

from gradviz.nets import Model, NetBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Layers:
    """Builds a net of usual layers.

    Args:
        name: of the net; the init net is called `<name>_init`.
        inputs: the blobs to feed.
    """

    def __init__(self, name: str, inputs: Iterable[str]) -> None:
        self.net = NetBuilder(name, inputs=inputs)
        self.init = NetBuilder(f"{name}_init")

    def model(self) -> Model:
        """The net as it is now, with its init net where that fills anything."""
        init = self.init.net
        return Model(self.net.net, init=init if init.op else None)

    def constant(self, blob: str, shape: Sequence[int], value: float) -> str:
        """Let the init net fill a blob with one value."""
        return self.init.add("ConstantFill", [], blob, shape=list(shape), value=value)

    def given(self, blob: str, shape: Sequence[int], seed: int) -> str:
        """Let the init net fill a blob with values that stand in it: small ones, drawn from `seed`."""
        drawn = random.Random(seed)
        values = [round(drawn.uniform(-0.5, 0.5), 3) for _ in range(prod(shape))]
        return self.init.add("GivenTensorFill", [], blob, shape=list(shape), values=values)

    def fc(self, x: str, y: str, size_in: int, size_out: int, **args: Any) -> str:
        """A fully connected layer with parameters `<y>_w` and `<y>_b`."""
        self.init.add("XavierFill", [], f"{y}_w", shape=[size_out, size_in])
        self.constant(f"{y}_b", [size_out], 0.0)
        self.net.add("FC", [x, f"{y}_w", f"{y}_b"], y, **args)
        return y

    def conv(self, x: str, y: str, channels: tuple[int, int], kernel: int, *, bias: bool = True, **args: Any) -> str:
        """A convolution with parameters `<y>_w` and `<y>_b`."""
        self.init.add("MSRAFill", [], f"{y}_w", shape=[channels[1], channels[0], kernel, kernel])
        parameters = [f"{y}_w"]
        if bias:
            parameters.append(self.constant(f"{y}_b", [channels[1]], 0.0))
        self.net.add("Conv", [x, *parameters], y, kernel=kernel, **args)
        return y

    def relu(self, x: str) -> str:
        """A Relu in place."""
        return self.net.add("Relu", x, x)

    def classify(self, scores: str, label: str = "label") -> str:
        """Softmax, cross entropy and their mean, called `loss`."""
        self.net.add("Softmax", scores, "softmax")
        self.net.add("LabelCrossEntropy", ["softmax", label], "xent")
        return self.net.add("AveragedLoss", "xent", "loss")
