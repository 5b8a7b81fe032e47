"""Operators in other words: the same results, and gradients that agree with central differences."""

import numpy as np
import pytest

import gradviz
from gradviz.autodiff import proves
from tests.autodiff.nets import net_of

RANDOM = np.random.default_rng(3)


def array(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "feeds", "result"),
    [
        ("MergeDim x -> y", {"x": array(2, 3, 4, 5)}, lambda x: x.reshape(6, 4, 5)),
        ("SumRelu a b -> y", {"a": array(2, 3), "b": array(2, 3)}, lambda a, b: np.maximum(a + b, 0)),
        ("FC x w -> y", {"x": array(2, 3), "w": array(4, 3)}, lambda x, w: x @ w.T),
        ("ResizeLike x l -> y", {"x": array(2, 6), "l": array(3, 4)}, lambda x, _: x.reshape(3, 4)),
        ("SumSqrElements x -> y", {"x": array(2, 3)}, lambda x: (x**2).sum()),
        ("Where c a b -> y", {"c": np.array([True, False]), "a": array(2), "b": array(2)}, np.where),
        ("UpsampleNearest x -> y; scale=2", {"x": array(1, 1, 2, 2)}, lambda x: x.repeat(2, 2).repeat(2, 3)),
        ("CopyFromCPUInput x -> y", {"x": array(3)}, lambda x: x),
    ],
)
def test_the_same_in_other_words(op, feeds, result):
    net = net_of(op)
    remedy = next(each for each in gradviz.trace(net, ["y"]).error.remedies if each.title.startswith("Replace"))
    proof = proves(remedy, net, ["y"])
    assert proof, proof.trace.error
    made = gradviz.run(proof.model, feeds=feeds, ys=())["y"]
    np.testing.assert_allclose(made, result(*feeds.values()), rtol=1e-5)
    floats = [name for name, value in feeds.items() if value.dtype == np.float32 and name != "l"]
    assert gradviz.check_gradients(proof.model, feeds, ys=["y"], wrt=floats).ok


def test_gather_by_batch_gather():
    net = net_of("FC x w b -> v", "SumElements v -> one", "Gather v i -> s", "SumElements s -> two", "Add one two -> y")
    remedy = next(each for each in gradviz.trace(net, ["y"]).error.remedies if "BatchGather" in each.title)
    feeds = {"x": array(4, 3), "w": array(2, 3), "b": array(2), "i": np.array([2, 0, 2], dtype=np.int64)}
    mended = remedy.apply(net)
    before, after = (gradviz.run(each, feeds=feeds, ys=())["y"] for each in (net, mended))
    np.testing.assert_allclose(after, before, rtol=1e-5)
    assert gradviz.check_gradients(mended, feeds, ys=["y"], wrt=["w"]).ok


@pytest.mark.parametrize("value", ["x", 1.5, [1, 2], ["a"], []])
@pytest.mark.parametrize("type", ["Glu", "UpsampleNearest", "SpatialBN", "MergeDim", "Gather", "Cast"])
def test_odd_arguments_do_not_keep_remedies_from_being_found(type, value):
    net = gradviz.NetBuilder("odd")
    inputs = {"SpatialBN": 5, "Gather": 2}.get(type, 1)
    odd = dict.fromkeys(("dim", "scale", "epsilon", "order", "axis", "to", "is_test"), value)
    net.add(type, [f"x{i}" for i in range(inputs)], "y", **odd)
    net.add("AveragedLoss", "y", "loss")
    trace = gradviz.trace(net.net, ["loss"])
    for remedy in trace.error.remedies if trace.error is not None else ():
        remedy.apply(trace.model)
