"""Every walk against the one that Caffe2 1.8.1 took: state after every step, operators, map, errors."""

import gzip
import json
from pathlib import Path

import pytest

from gradviz.autodiff.replay import check_trace, register_recorded_types
from gradviz.ops import registry

TRACES = Path(__file__).parents[1] / "data" / "traces"
COUNTS = {"core_gradients": 27, "fuzz": 150, "handmade": 145, "models": 78, "tests": 79}


@pytest.fixture(autouse=True)
def recorded_types():
    register_recorded_types()
    yield
    for type in ("Direct", "UseOutput", "UseInput", "Nogradient", "Scripted"):
        registry.unregister(type)


def records(group):
    with gzip.open(TRACES / f"{group}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("group", COUNTS)
def test_walks_agree(group):
    found = records(group)
    assert len(found) == COUNTS[group]
    assert {record["name"]: differences for record in found if (differences := check_trace(record))} == {}


def test_the_comparison_notices_a_wrong_version():
    record = next(each for each in records("core_gradients") if each["steps"] and each["steps"][0]["in_versions"])
    blob = next(iter(record["steps"][0]["in_versions"]))
    record["steps"][0]["in_versions"][blob] += 1
    assert check_trace(record)


def test_the_comparison_notices_another_error():
    record = next(each for each in records("handmade") if each["error"])
    record["error"]["kind"] = "ys_type"
    assert check_trace(record)


def test_the_comparison_notices_a_missing_gradient():
    record = next(each for each in records("models") if each["input_to_grad"])
    record["input_to_grad"].popitem()
    assert check_trace(record)
