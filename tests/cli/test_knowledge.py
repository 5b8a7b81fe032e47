"""`gradviz ops`, `gradviz samples`, `gradviz conformance`."""

import base64
import json
from pathlib import Path

import pytest

from gradviz.nets.samples import SAMPLES
from gradviz.ops.registry import operators
from gradviz.proto import OperatorDef


def test_ops_lists_every_type(gradviz) -> None:
    result = gradviz("ops", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["type"] for row in rows] == sorted(operators())
    relu = next(row for row in rows if row["type"] == "Relu")
    assert relu == {
        "type": "Relu",
        "family": "activations",
        "inputs": [1, 1],
        "outputs": [1, 1],
        "gradient": "rule",
        "kernel": True,
        "why_no_kernel": "",
    }
    assert f"{len(rows)} of {len(rows)} operator types" in result.stderr


def test_ops_filters(gradviz) -> None:
    lines = gradviz("ops", "softmax").stdout.splitlines()
    assert lines[0].split() == ["type", "family", "in", "out", "gradient", "runs"]
    assert all("softmax" in line.lower() for line in lines[1:])
    rows = [json.loads(line) for line in gradviz("ops", "--family", "losses", "--json").stdout.splitlines()]
    assert {row["family"] for row in rows} == {"losses"}
    rows = [json.loads(line) for line in gradviz("ops", "--gradient", "should_not", "--json").stdout.splitlines()]
    assert {row["gradient"] for row in rows} == {"should_not"}
    rows = [json.loads(line) for line in gradviz("ops", "--missing", "--json").stdout.splitlines()]
    assert not any(row["kernel"] for row in rows)
    assert gradviz("ops", "--family", "nothing").exit_code == 2


def test_samples(gradviz) -> None:
    rows = [json.loads(line) for line in gradviz("samples", "--json").stdout.splitlines()]
    assert [row["name"] for row in rows] == [each.name for each in SAMPLES]
    assert all(Path(row["file"]).is_file() for row in rows)
    lines = gradviz("samples").stdout.splitlines()
    assert len(lines) == len(SAMPLES) + 1


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """One vector that agrees and one that does not."""
    op = OperatorDef(type="Relu", input=["x"], output=["y"])
    answer = OperatorDef(type="ReluGradient", name="", input=["y", "y_grad"], output=["x_grad"], is_gradient_op=True)
    row = {
        "note": "",
        "op": {},
        "op_b64": base64.b64encode(op.SerializeToString()).decode(),
        "g_output": ["y_grad"],
        "g_input": ["x_grad"],
        "grad_ops_b64": [base64.b64encode(answer.SerializeToString()).decode()],
    }
    (tmp_path / "good.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "bad.jsonl").write_text(json.dumps(row | {"g_input": ["other"]}) + "\n")
    return tmp_path


def test_conformance(gradviz, vectors: Path) -> None:
    good = gradviz("conformance", str(vectors / "good.jsonl"))
    assert good.exit_code == 0
    assert good.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped, in 1 files"
    both = gradviz("conformance", str(vectors), "--json")
    assert both.exit_code == 1
    report = json.loads(both.stdout)
    assert (report["passed"], report["failed"], report["ok"]) == (1, 1, False)
    assert "bad.jsonl" in gradviz("conformance", str(vectors)).stdout
    assert gradviz("conformance", "nowhere").exit_code == 2
