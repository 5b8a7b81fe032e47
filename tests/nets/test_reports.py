"""Files that users reported as unreadable: each opens, or is named for what it is."""

import json

import pytest

from gradviz import LoadError
from gradviz.nets import load

OPENED = {
    "054": ("predict_net.pb", "text", "text: read as text"),
    "056": (
        "net.pbtxt",
        "plan text",
        "plan of 1 net and 1 execution step: opened is its net porch_light (2 operators)",
    ),
    "070": ("net.pbtxt", "text", "line 16 (argument broadcast of operator #1 (Add)) False, line 20"),
    "071": ("model.pbtxt", "binary", "binary: read as binary"),
}
REFUSED = {
    "052": ("model.pb", ["Git LFS pointer", "6,181,234 bytes", "5e1f0d", "git lfs pull"]),
    "059": ("net.pbtxt", ["Caffe 1", "2 layers: InnerProduct, ReLU", "caffe_translator"]),
    "063": ("model.pb", ["cut short", "byte 56", "operator #1", "#0 FC"]),
}

pytestmark = pytest.mark.shared


def reported(shared, number):
    return next((shared / "cases" / "reports").glob(f"{number}_*"))


@pytest.mark.parametrize("number", OPENED)
def test_what_opens(shared, number):
    file, format, notice = OPENED[number]
    model = load(reported(shared, number) / file)
    assert model.format == format
    assert len(model.notices) == 1
    assert notice in model.notices[0]
    assert len(model.net.op) == 2


@pytest.mark.parametrize("number", REFUSED)
def test_what_is_refused(shared, number):
    file, words = REFUSED[number]
    with pytest.raises(LoadError) as raised:
        load(reported(shared, number) / file)
    assert [word for word in words if word not in str(raised.value)] == []


def test_every_other_reported_net_opens(shared):
    cases = sorted((shared / "cases" / "reports").glob("*/case.json"))
    assert len(cases) > 30
    for case in cases:
        files = json.loads(case.read_text(encoding="utf-8"))["files"]
        if case.parent.name[:3] not in REFUSED:
            model = load(case.parent / files["net"], init=case.parent / files["init"] if "init" in files else None)
            assert model.net.op
            assert (model.init is not None) == ("init" in files)
