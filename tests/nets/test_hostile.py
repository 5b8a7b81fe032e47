"""Whatever the bytes: a Model or a LoadError of one line, quickly."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz import LoadError
from gradviz.nets import Model, load
from gradviz.proto import PlanDef
from tests.nets.making import as_text, lamp, lamp_init, wire
from tests.nets.test_minidb import export

SEEDS = [
    lamp().SerializeToString(),
    as_text(lamp()).encode(),
    PlanDef(network=[lamp(), lamp_init()]).SerializeToString(),
    as_text(PlanDef(network=[lamp(), lamp_init()])).encode(),
    export(),
    b'op { type: "A" device_option { cuda_gpu_id: 1 } arg { name: "b" i: True } }',
    b'layer { name: "x" }',
]
SECONDS = 5
"""Each takes less than a second on a usual machine, and would take minutes if the time grew with the square."""


@st.composite
def mutated(draw):
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0:
                del data[at:]
            case 1:
                data[at : at + 1] = draw(st.binary(max_size=2))
            case 2:
                del data[at : at + draw(st.integers(1, 20))]
            case _:
                other = draw(st.integers(0, len(data)))
                data[at:at] = data[other : other + draw(st.integers(1, 60))]
    return bytes(data)


@settings(max_examples=400, deadline=2000)
@given(st.one_of(mutated(), st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / f"hostile-{os.getpid()}.pb"
    path.write_bytes(data)
    try:
        model = load(path)
    except LoadError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(model, Model)
        assert model.net.ListFields(), "bytes that say nothing are no net"
        for op in model.net.op:
            assert all(
                isinstance(name, str) for name in (op.type, *op.input, *op.output, *(arg.name for arg in op.arg))
            )


@settings(max_examples=200, deadline=2000)
@given(st.integers(0, 10**6), st.sampled_from(SEEDS[:2]))
def test_a_cut_file_is_said_to_be_cut(tmp_path_factory, size, seed):
    path = tmp_path_factory.getbasetemp() / f"cut-{os.getpid()}.pb"
    path.write_bytes(seed[: size % len(seed)])
    try:
        model = load(path)
    except LoadError as error:
        assert "cut short" in str(error) or len(path.read_bytes()) < 12
    else:
        whole = lamp()
        assert list(model.net.op) == list(whole.op)[: len(model.net.op)], "what opens is whole as far as it goes"


def nested(depth):
    net = wire(2, wire(4, b"A"))
    for _ in range(depth):
        net = wire(2, wire(4, b"If") + wire(5, wire(1, b"n") + wire(8, net)))
    return net


@pytest.mark.parametrize(
    "data",
    [
        b'"' * 200_000,
        b'name: "' + b'\\"' * 100_000,
        b"op {" * 50_000,
        b" " * 200_000,
        b"op { arg { i: True } } " * 5_000,
        b"<!-- --> " * 20_000,
        b"\x12\0" * 100_000,
        b"\x0a\0" * 100_000,
        wire(2, wire(4, b"A") + wire(99, 1)) * 20_000,
        wire(2, wire(4, b"A") + wire(4, 1)) * 20_000,
        nested(300),
        nested(20)[:-1],
    ],
    ids=lambda data: repr(data[:12]),
)
def test_long_nonsense_takes_no_long_time(tmp_path, data):
    path = tmp_path / "long"
    path.write_bytes(data)
    begin = time.process_time()
    try:
        load(path)
    except LoadError as error:
        assert len(str(error)) < 2000
    assert time.process_time() - begin < SECONDS


def test_deep_but_lawful_nets_open(tmp_path):
    path = tmp_path / "deep.pb"
    path.write_bytes(nested(20))
    assert load(path).net.op[0].type == "If"
