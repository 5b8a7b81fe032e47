"""Nets whose gradients cannot be built, one mistake each: what the mistake looks like before it is mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_nets.layers import Layers

if TYPE_CHECKING:
    from gradviz.nets import Model

CLASSES = 10


def version_mismatch() -> Model:
    """The cell that adds the first layer was run twice."""
    layers = Layers("version_mismatch", ["x", "label"])
    for _ in range(2):
        layers.net.add("FC", ["x", "h_w", "h_b"], "h")
    layers.init.add("XavierFill", [], "h_w", shape=[8, 4])
    layers.constant("h_b", [8], 0.0)
    layers.classify(layers.fc("h", "y", 8, CLASSES))
    return layers.model()


def overwritten_input() -> Model:
    """Weights are clipped in place after they were used: their old version is gone when the gradient needs it."""
    layers = Layers("overwritten_input", ["x", "label"])
    y = layers.fc("x", "y", 4, CLASSES)
    layers.net.add("Clip", "y_w", "y_w", min=-0.1, max=0.1)
    layers.classify(y)
    return layers.model()


def blob_not_in_scope() -> Model:
    """A given gradient called by two letters is taken apart as the indices and values of a slice."""
    layers = Layers("blob_not_in_scope", ["x", "dy"])
    h = layers.fc("x", "h", 4, 3)
    layers.net.add("EnsureDense", h, "y")
    return layers.model()


def orphan_stop_gradient() -> Model:
    """A frozen branch was made, and then never used."""
    layers = Layers("orphan_stop_gradient", ["x", "label"])
    h = layers.relu(layers.fc("x", "h", 4, 8))
    layers.net.add("StopGradient", h, "h_frozen")
    layers.classify(layers.fc(h, "y", 8, CLASSES))
    return layers.model()


def mixed_sparse_dense() -> Model:
    """One table is looked up and multiplied with: one gradient is sparse, the other dense."""
    layers = Layers("mixed_sparse_dense", ["word", "label"])
    layers.given("table", (CLASSES, 3), 5)
    layers.constant("bias", [CLASSES], 0.0)
    row = layers.net.add("Gather", ["table", "word"], "row")
    layers.classify(layers.net.add("FC", [row, "table", "bias"], "scores"))
    return layers.model()


def no_gradient() -> Model:
    """An operator on the way has no gradient at all."""
    layers = Layers("no_gradient", ["x", "label"])
    h = layers.fc("x", "h", 4, 8)
    gated = layers.net.add("Glu", h, "gated")
    layers.classify(layers.fc(gated, "y", 4, CLASSES))
    return layers.model()
