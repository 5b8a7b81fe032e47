"""The README's first screen and its figures are true."""

import gzip
import json
import re
from pathlib import Path

from gradviz.autodiff.replay import check_trace
from gradviz.conformance import check_gradient
from gradviz.ops import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DATA = ROOT / "tests" / "data"


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_figures_are_what_the_vectors_say():
    gradients = rows(DATA / "gradients" / "vectors.jsonl.gz")
    walks = [row for path in sorted((DATA / "traces").glob("*.jsonl.gz")) for row in rows(path)]
    try:
        agree = [sum(not check_gradient(row) for row in gradients), sum(not check_trace(row) for row in walks)]
    finally:
        for type in ("Direct", "UseOutput", "UseInput", "Nogradient", "Scripted"):
            registry.unregister(type)
    assert re.findall(r"\| (\d+) of (\d+) \|", README) == [
        (str(agree[0]), str(len(gradients))),
        (str(agree[1]), str(len(walks))),
    ]


def test_number_of_operator_types():
    from_upstream = [each for each in registry.operators().values() if each.family != "custom"]
    assert f"All {len(from_upstream)} operator types" in README


def test_pictures_and_pages_exist():
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [target for target in linked if "://" not in target and not (ROOT / target).exists()]
    assert missing == []


def test_both_commands_are_on_the_first_screen():
    first_screen = README.splitlines()[:25]
    commands = [line for line in first_screen if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith("gradviz open lenet")
    assert commands[1].endswith("pytest")
