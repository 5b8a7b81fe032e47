"""Nets of any size: each shape stresses another part of the walk."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from gradviz.proto import NetDef
from gradviz.proto.arguments import arg

if TYPE_CHECKING:
    from collections.abc import Callable


def chain(size: int) -> tuple[NetDef, list[str]]:
    """Each operator reads what the one before wrote."""
    net = NetDef(name="chain")
    for i in range(size):
        net.op.add(type="Relu", input=[f"x{i}"], output=[f"x{i + 1}"], name="")
    return net, [f"x{size}"]


def fan_out(size: int) -> tuple[NetDef, list[str]]:
    """All operators read one blob, and every output is a y: one sum of `size` gradients."""
    net = NetDef(name="fan_out")
    for i in range(size):
        net.op.add(type="Relu", input=["x"], output=[f"y{i}"], name="")
    return net, [f"y{i}" for i in range(size)]


def random_dag(size: int) -> tuple[NetDef, list[str]]:
    """Two-input operators that read blobs of the recent past: many small sums."""
    chosen = random.Random(1)
    net = NetDef(name="random_dag")
    for i in range(size):
        past = f"x{max(0, i - chosen.randrange(1, 20))}"
        net.op.add(type="Mul", input=[past, f"x{i}"], output=[f"x{i + 1}"], name="")
    return net, [f"x{size}"]


def deep_residual(size: int) -> tuple[NetDef, list[str]]:
    """Blocks of convolution, normalisation, rectification and a shortcut."""
    net = NetDef(name="deep_residual")
    for i in range(size // 4):
        x = f"x{i}"
        net.op.add(type="Conv", input=[x, f"w{i}"], output=[f"c{i}"], name="", arg=[arg("kernel", 3), arg("pad", 1)])
        stats = [f"{name}{i}" for name in ("s", "b", "m", "v")]
        outputs = [f"n{i}", stats[2], stats[3], f"sm{i}", f"sv{i}"]
        net.op.add(type="SpatialBN", input=[f"c{i}", *stats], output=outputs, name="", arg=[arg("is_test", 0)])
        net.op.add(type="Relu", input=[f"n{i}"], output=[f"r{i}"], name="")
        net.op.add(type="Sum", input=[f"r{i}", x], output=[f"x{i + 1}"], name="")
    return net, [f"x{size // 4}"]


def shared_parameters(size: int) -> tuple[NetDef, list[str]]:
    """One weight and one bias serve every layer: two sums of `size` gradients."""
    net = NetDef(name="shared_parameters")
    for i in range(size):
        net.op.add(type="FC", input=[f"x{i}", "w", "b"], output=[f"x{i + 1}"], name="")
    return net, [f"x{size}"]


def nested(size: int) -> tuple[NetDef, list[str]]:
    """Every operator is a Do around a net of its own."""
    body = NetDef(name="body")
    body.op.add(type="Mul", input=["a", "b"], output=["t"], name="")
    body.op.add(type="Relu", input=["t"], output=["y"], name="")
    args = [arg("net", body), arg("inner_blobs", ["a", "b", "y"]), arg("outer_blobs_idx", [0, 1, 2])]
    net = NetDef(name="nested")
    for i in range(size):
        net.op.add(type="CreateScope", output=[f"scope{i}"], name="")
        blobs = [f"x{i}", f"w{i}", f"scope{i}"]
        net.op.add(type="Do", input=blobs, output=[f"x{i + 1}", f"scope{i}"], name="", arg=args)
    return net, [f"x{size}"]


SHAPES: dict[str, Callable[[int], tuple[NetDef, list[str]]]] = {
    "chain": chain,
    "fan-out": fan_out,
    "random DAG": random_dag,
    "deep residual": deep_residual,
    "shared parameters": shared_parameters,
    "nested nets": nested,
}
