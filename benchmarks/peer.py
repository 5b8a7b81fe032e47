"""The training steps of `benchmarks.training` in PyTorch: the same parameters by name, the same maths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.training import FIRES, POOLED, STAGES, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

Tensors = dict[str, torch.Tensor]

_RUNNING = ("_mean", "_var")


class Step:
    """One net ready to be run forward and backward, any number of times.

    Args:
        net: name of the net.
        parameters: its parameters as arrays, by the names that they have in the Caffe2 net.
        feeds: its feeds likewise.
    """

    def __init__(self, net: str, parameters: dict[str, Any], feeds: dict[str, Any]) -> None:
        self._loss = LOSSES[net]
        self.parameters = {name: _tensor(value) for name, value in parameters.items()}
        self.feeds = {name: _tensor(value) for name, value in feeds.items()}
        self.learned = {n: t for n, t in self.parameters.items() if t.is_floating_point() and not n.endswith(_RUNNING)}
        for tensor in self.learned.values():
            tensor.requires_grad_()
        if net == "LSTM":
            self.parameters["lstm"] = _lstm_of(self.parameters)  # type: ignore[assignment]

    def run(self) -> float:
        """Forward and backward; the loss."""
        for tensor in self.learned.values():
            tensor.grad = None
        loss = self._loss(self.parameters, self.feeds)
        loss.backward()
        return float(loss.detach())

    def gradients(self) -> dict[str, Any]:
        """The gradients of the last run, by parameter; a sparse one as a dense array."""
        if "lstm" in self.parameters:
            return _lstm_gradients(self.parameters)
        found = {name: tensor.grad for name, tensor in self.learned.items() if tensor.grad is not None}
        return {n: (g.to_dense() if g.is_sparse else g).numpy() for n, g in found.items()}


def _tensor(value: Any) -> torch.Tensor:
    """A copy as a tensor; labels must be int64 there."""
    return torch.tensor(value, dtype=torch.int64 if value.dtype.kind == "i" else None)


def _fc(p: Tensors, x: torch.Tensor, name: str) -> torch.Tensor:
    return functional.linear(x, p[f"{name}_w"], p[f"{name}_b"])


def _conv(p: Tensors, x: torch.Tensor, name: str, **args: int) -> torch.Tensor:
    return functional.conv2d(x, p[f"{name}_w"], p.get(f"{name}_b"), **args)  # type: ignore[arg-type]


def _mlp(p: Tensors, feeds: Tensors) -> torch.Tensor:
    x = torch.relu_(_fc(p, feeds["data"], "fc1"))
    x = torch.relu_(_fc(p, x, "fc2"))
    return functional.cross_entropy(_fc(p, x, "pred"), feeds["label"])


def _lenet(p: Tensors, feeds: Tensors) -> torch.Tensor:
    x = functional.max_pool2d(_conv(p, feeds["data"], "conv1"), 2, 2)
    x = functional.max_pool2d(_conv(p, x, "conv2"), 2, 2)
    x = torch.relu_(_fc(p, x.flatten(1), "fc3"))
    return functional.cross_entropy(_fc(p, x, "pred"), feeds["label"])


def _squeezenet(p: Tensors, feeds: Tensors) -> torch.Tensor:
    x = torch.relu_(_conv(p, feeds["data"], "conv1", stride=2))
    for i in range(len(FIRES)):
        if i in POOLED:
            x = functional.max_pool2d(x, 3, 2)
        x = torch.relu_(_conv(p, x, f"fire{i}_squeeze"))
        narrow = torch.relu_(_conv(p, x, f"fire{i}_narrow"))
        x = torch.cat([narrow, torch.relu_(_conv(p, x, f"fire{i}_wide", padding=1))], 1)
    x = torch.relu_(_conv(p, functional.dropout(x, 0.5), "last"))
    return functional.cross_entropy(functional.adaptive_avg_pool2d(x, 1).flatten(1), feeds["label"])


def _resnet(p: Tensors, feeds: Tensors) -> torch.Tensor:
    x = torch.relu_(_normalized(p, feeds["data"], "conv1", stride=2, padding=3))
    x = functional.max_pool2d(x, 3, 2, 1)
    for stage, (_, blocks) in enumerate(STAGES):
        for block in range(blocks):
            x = _bottleneck(p, x, f"s{stage}b{block}", 2 if stage and not block else 1)
    return functional.cross_entropy(_fc(p, functional.adaptive_avg_pool2d(x, 1).flatten(1), "pred"), feeds["label"])


def _bottleneck(p: Tensors, x: torch.Tensor, name: str, stride: int) -> torch.Tensor:
    inner = torch.relu_(_normalized(p, x, f"{name}c1"))
    inner = torch.relu_(_normalized(p, inner, f"{name}c2", padding=1, stride=stride))
    inner = _normalized(p, inner, f"{name}c3")
    if f"{name}c0_w" in p:
        x = _normalized(p, x, f"{name}c0", stride=stride)
    return torch.relu_(inner.add_(x))


def _normalized(p: Tensors, x: torch.Tensor, name: str, **args: int) -> torch.Tensor:
    mean, var, scale, bias = (p[f"{name}_bn_{part}"] for part in ("mean", "var", "scale", "bias"))
    return functional.batch_norm(
        _conv(p, x, name, **args), mean, var, scale, bias, training=True, momentum=0.1, eps=1e-5
    )


_ORDER = (0, 1, 3, 2)
"""Caffe2's gates are input, forget, output, candidate; PyTorch's have the candidate before the output."""


def _turned(rows: Any) -> Any:
    """Gates from one order into the other."""
    return np.concatenate([rows[i * UNITS : (i + 1) * UNITS] for i in _ORDER])


def _lstm_of(p: Tensors) -> torch.nn.LSTM:
    module = torch.nn.LSTM(p["input_w"].shape[1], UNITS)
    for own, name in zip(module.parameters(), ("input_w", "state_w", "input_b", "state_b"), strict=True):
        own.data = torch.tensor(_turned(p[name].detach().numpy()))
    module.flatten_parameters()
    return module


def _lstm_gradients(p: Any) -> dict[str, Any]:
    names = ("input_w", "state_w", "input_b", "state_b")
    turned = {n: _turned(w.grad.numpy()) for n, w in zip(names, p["lstm"].parameters(), strict=True)}
    return {**turned, **{name: p[name].grad.numpy() for name in ("pred_w", "pred_b")}}


def _lstm(p: Any, feeds: Tensors) -> torch.Tensor:
    p["lstm"].zero_grad()
    states, _ = p["lstm"](feeds["data"])
    return functional.cross_entropy(_fc(p, states[-1], "pred"), feeds["label"])


def _embedding(p: Tensors, feeds: Tensors) -> torch.Tensor:
    offsets = torch.cumsum(feeds["lengths"], 0) - feeds["lengths"]
    sums = [
        functional.embedding_bag(feeds[f"{s}_ids"], p[s], offsets, mode="sum", sparse=True) for s in ("left", "right")
    ]
    x = torch.relu_(_fc(p, torch.cat(sums, 1), "fc1"))
    return functional.cross_entropy(_fc(p, x, "pred"), feeds["label"])


LOSSES: dict[str, Callable[[Any, Tensors], torch.Tensor]] = {
    "MLP": _mlp,
    "LeNet": _lenet,
    "LSTM": _lstm,
    "embedding": _embedding,
    "SqueezeNet 1.1": _squeezenet,
    "ResNet-50": _resnet,
}
