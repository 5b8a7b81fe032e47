"""Schemas whose counts are open: rules, not lists as far as someone probed."""

import pytest

from gradviz.errors import ExecutionError
from gradviz.ops import registry
from gradviz.ops.records import Op
from tests.ops.running import definition, run


def violation(type, names, outputs):
    return registry.lookup(type).schema.violation(Op(definition(type, 0, outputs, names=names)))


def blobs(count, letter="b"):
    return [f"{letter}{i}" for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 40])
def test_outputs_are_the_inputs_after_the_first(count):
    assert violation("Allreduce", ["world", *blobs(count)], blobs(count)) is None
    assert "must be the same blob" in violation("Allreduce", ["world", *blobs(count)], [*blobs(count - 1), "other"])
    assert "not allowed" in violation("Allreduce", ["world", *blobs(count + 1)], blobs(count))


def test_none_at_all_is_not_allowed():
    assert "not allowed" in violation("Allreduce", ["world"], [])


@pytest.mark.parametrize(("type", "allowed"), [("NCCLReduce", True), ("Allgather", False)])
def test_in_place(type, allowed):
    assert (violation(type, blobs(9), ["b8"]) is None) == allowed


def test_talking_to_other_machines_is_left_out():
    with pytest.raises(ExecutionError, match="other machines"):
        run("CreateCommonWorld", size=2, rank=0)
