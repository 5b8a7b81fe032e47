"""Small nets that several tests run."""

import numpy as np

from gradviz.nets import Model, NetBuilder


def mlp():
    """x -> FC -> Relu in place -> FC -> mean of squares."""
    net = NetBuilder("mlp")
    net.add("FC", ["x", "w1", "b1"], "h")
    net.add("Relu", "h", "h")
    net.add("FC", ["h", "w2", "b2"], "y")
    net.add("Sqr", "y", "s")
    net.add("AveragedLoss", "s", "loss")
    return net.net


def mlp_feeds(batch=3):
    random = np.random.default_rng(0)
    shapes = {"x": (batch, 4), "w1": (5, 4), "b1": (5,), "w2": (2, 5), "b2": (2,)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def filled_mlp():
    """The same with an init net for all but x."""
    init = NetBuilder("init")
    for name, shape in (("w1", [5, 4]), ("w2", [2, 5])):
        init.add("GaussianFill", [], name, shape=shape)
    for name, shape in (("b1", [5]), ("b2", [2])):
        init.add("ConstantFill", [], name, shape=shape, value=0.5)
    return Model(net=mlp(), init=init.net)


def in_place():
    """x is doubled in place three times."""
    net = NetBuilder()
    for _ in range(3):
        net.add("Add", ["x", "x"], "x")
    return net.net
