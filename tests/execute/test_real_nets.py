"""Nets found in public repositories, run with their init nets, against the sums that Caffe2 1.8.1 came to."""

import json
from pathlib import Path

import numpy as np
import pytest

import gradviz
from gradviz.execute import run

NETS = Path(__file__).parents[3] / "shared" / "nets"
pytestmark = [pytest.mark.shared]


def entries():
    for manifest in sorted(NETS.glob("*/manifest.json")):
        for entry in json.loads(manifest.read_text()).get("nets", ()):
            if entry.get("run_with_init", {}).get("outcome") == "ok":
                yield manifest.parent, entry


FOUND = list(entries())
if not FOUND:
    pytest.skip(f"needs the nets in {NETS}, which are not there", allow_module_level=True)


def fed(record):
    shape = record["fed_shape"]
    if shape is None:
        return None
    n = np.arange(np.prod(shape))
    flat = (n % 251).astype(np.uint8) if "uint8" in record["feed"] else (n % 17 / 17 - 0.4).astype(np.float32)
    return flat.reshape(shape)


@pytest.mark.parametrize(("folder", "entry"), FOUND, ids=[entry["file"] for _, entry in FOUND])
def test_a_net_comes_to_the_same_sum(folder, entry):
    record = entry["run_with_init"]
    model = gradviz.load(str(folder / entry["file"]), init=str(folder / entry["init_net"]["file"]))
    feeds = {name: fed(record) for name in record["inputs_to_feed"]}
    output = run(model, feeds, ys=(), seed=0, keep=[record["output"]])[record["output"]]
    assert list(output.shape) == record["output_shape"]
    noisy = any("Stylizer" in op.type for op in model.net.op)  # it adds random noise to the picture
    assert float(output.astype(np.float64).sum()) == pytest.approx(record["output_sum"], rel=5e-3 if noisy else 1e-4)
