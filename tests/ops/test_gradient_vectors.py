"""Every gradient rule against what Caffe2 1.8.1's registry answered, type by type."""

import base64
import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from gradviz.conformance import check_gradient
from gradviz.proto import OperatorDef

VECTORS = Path(__file__).parents[1] / "data" / "gradients" / "vectors.jsonl.gz"


@cache
def rows_by_type() -> dict[str, list[dict]]:
    found = defaultdict(list)
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[OperatorDef.FromString(base64.b64decode(row["op_b64"])).type].append(row)
    return dict(found)


@pytest.mark.parametrize("type", sorted(rows_by_type()))
def test_rule_answers_as_recorded(type):
    differences = {row["note"]: found for row in rows_by_type()[type] if (found := check_gradient(row))}
    assert differences == {}


def test_all_vectors_are_there():
    assert len(rows_by_type()) == 728
    assert sum(map(len, rows_by_type().values())) == 5472
