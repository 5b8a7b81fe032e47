import pytest

from gradviz.execute.sizes import Window, first_misfit, least_size
from gradviz.nets import NetBuilder
from gradviz.ops.records import Op


def ops(*stated):
    net = NetBuilder()
    for i, (type, args) in enumerate(stated):
        inputs = [f"x{i}", f"w{i}"] if type in {"Conv", "FC"} else [f"x{i}"]
        net.add(type, inputs, f"x{i + 1}", **args)
    return [Op(op) for op in net.net.op]


@pytest.mark.parametrize(
    ("window", "size", "places"),
    [
        (Window(3), 5, 3),
        (Window(3, 2), 6, 2),
        (Window(3, 2, ceil=True), 6, 3),
        (Window(3, 1, 2), 5, 5),
        (Window(3), 2, None),
    ],
)
def test_a_window_over_a_size(window, size, places):
    assert window.over(size) == places


@pytest.mark.parametrize(
    ("stated", "known", "least"),
    [
        ([("Conv", {"kernel": 3}), ("MaxPool", {"kernel": 3, "stride": 2})], {"w0": (1, 1, 3, 3)}, 5),
        ([("Conv", {"kernels": [3, 3], "pads": [1, 1, 1, 1]})], {"w0": (1, 1, 3, 3)}, 1),
        ([("Conv", {"kernel": 3, "dilation": 2})], {"w0": (1, 1, 3, 3)}, 5),
        ([("AveragePool", {"global_pooling": 1})], {}, 1),
        ([("MaxPool", {"kernel": 2, "stride": 2}), ("FC", {})], {"w1": (5, 48)}, 8),
        ([("MaxPool", {"kernel_h": 4, "kernel_w": 2})], {}, 4),
        ([("FC", {})], {"w0": (5, 7)}, None),
    ],
)
def test_the_least_size(stated, known, least):
    assert least_size(ops(*stated), "x0", 3 if "FC" in str(stated) else 1, known) == least


def test_the_first_op_that_does_not_fit():
    chain = ops(("Conv", {"kernel": 3}), ("Relu", {}), ("MaxPool", {"kernel": 3}))
    assert first_misfit(chain, "x0", (1, 1, 4, 4), {"w0": (1, 1, 3, 3)}) == 2
    assert first_misfit(chain, "x0", (1, 1, 5, 5), {"w0": (1, 1, 3, 3)}) is None
