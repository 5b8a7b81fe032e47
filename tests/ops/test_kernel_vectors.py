"""Kernels against what Caffe2 1.8.1's CPU operators computed, type by type: a sample, and all cases where they are."""

import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gradviz.conformance import check_file, check_kernel
from gradviz.ops import registry
from gradviz.proto import OperatorDef

SAMPLE = Path(__file__).parents[1] / "data" / "operators" / "sample.npz"
ALL = Path(__file__).parents[3] / "shared" / "vectors" / "operators"


@cache
def sample() -> tuple[dict, dict[str, list]]:
    """The arrays, and by type the operators with their rows."""
    import base64

    with np.load(SAMPLE, allow_pickle=False) as file:
        arrays = dict(file)
    found = defaultdict(list)
    for row in json.loads(bytes(arrays["manifest"])):
        op = OperatorDef.FromString(base64.b64decode(row["op_b64"]))
        found[op.type].append((op, row))
    return arrays, dict(found)


def skip_without_kernel(type: str) -> None:
    known = registry.lookup(type)
    if known is None or known.kernel is None:
        pytest.skip(f"{type} has no kernel{': ' + known.why_no_kernel if known and known.why_no_kernel else ''}")


@pytest.mark.parametrize("type", sorted(sample()[1]))
def test_kernel_computes_as_recorded(type):
    skip_without_kernel(type)
    arrays, cases = sample()
    differences = {row["case"]: found for op, row in cases[type] if (found := check_kernel(op, row, arrays))}
    assert differences == {}


@pytest.mark.shared
@pytest.mark.parametrize("type", sorted(file.stem for file in ALL.glob("*.npz")))
def test_kernel_computes_as_recorded_in_every_case(type):
    skip_without_kernel(type)
    outcomes = check_file(ALL / f"{type}.npz", kinds=("kernels",))
    assert {outcome.place: outcome.differences for outcome in outcomes if outcome.differences} == {}
