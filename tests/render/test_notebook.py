"""What notebooks show: by calling the methods, and by running a notebook as Jupyter does."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz.execute.compare import Comparison, Row
from gradviz.execute.gradcheck import GradientReport, GradientRow
from gradviz.proto import NetDef
from gradviz.render import image, notebook
from tests.render import nets

ODD = '<img src=x onerror="boom()">&\u202e'


class Page(HTMLParser):
    """Tags and text; every tag that is opened is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def html(shown: Any) -> Page:
    return Page(shown._repr_html_())


def test_a_walk_shows_its_end_gradients_and_picture() -> None:
    page = html(nets.walked(nets.mlp()))
    assert "Trace of mlp" in page.text and "7 gradient ops" in page.text
    assert "w1_grad" in page.text
    assert "svg" in page.tags


def test_a_failed_walk_shows_why_and_what_mends_it() -> None:
    trace = nets.walked(nets.overwritten())
    page = html(trace)
    assert trace.error is not None
    assert f"× The walk failed: {trace.error}" in page.text
    assert str(trace.error.remedies[0]) in page.text


@pytest.mark.parametrize("shown", [nets.walked(nets.mlp()), gradviz.Model(nets.mlp())], ids=["trace", "model"])
def test_pictures_are_svg(shown: Any) -> None:
    root = ElementTree.fromstring(shown._repr_svg_())
    assert root.tag.endswith("svg")
    assert any(each.get("id") == "op_0" for each in root.iter())


def test_a_model_shows_what_it_holds() -> None:
    page = html(gradviz.Model(nets.mlp(), notices=["it was odd"]))
    assert "Model mlp" in page.text and "7 ops" in page.text and "it was odd" in page.text
    assert "LabelCrossEntropy" in page.text


def test_large_nets_go_without_a_picture_and_do_not_wait_for_it() -> None:
    net = nets.net("chain", *(("Relu", f"h{i}", f"h{i + 1}") for i in range(20_000)), outputs=["h20000"])
    trace = gradviz.trace(net)
    assert trace._repr_svg_() is None
    assert "svg" not in html(trace).tags
    assert "20,000 ops" in html(trace).text
    assert gradviz.Model(net)._repr_svg_() is None


def test_where_nothing_draws_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "_located", lambda name: None)
    trace = nets.walked(nets.mlp())
    assert trace._repr_svg_() is None
    assert "Trace of mlp" in html(trace).text


def test_comparisons_show_what_differs_first() -> None:
    a, b = {"x": np.ones(3), "y": np.ones(2)}, {"x": np.ones(3), "y": np.array([1.0, 2.0]), "z": np.ones(1)}
    page = html(gradviz.compare(a, b))
    assert "× 1 differ" in page.text and "1 of 2 elements differ" in page.text
    assert page.text.index("1 of 2 elements") < page.text.index("√")
    assert "Only in the second: z" in page.text
    assert "√ all agree" in html(gradviz.compare(a, a)).text
    assert "nothing is in common" in html(Comparison()).text


def test_gradient_checks_show_what_fails_first() -> None:
    net = nets.net("small", ("FC", "x w b", "y"), ("AveragedLoss", "y", "loss"))
    feeds = {"x": np.ones((2, 3), "f"), "w": np.ones((1, 3), "f"), "b": np.ones(1, "f")}
    found = gradviz.check_gradients(net, feeds, ["loss"])
    page = html(found)
    assert "√ all agree" in page.text and "Gradient check" in page.text
    assert all(row.blob in page.text for row in found.rows)
    bad = GradientReport(
        [GradientRow("fine"), GradientRow("bad", worst_index=(1, 2), reason="it differs")], 1.0, ["hm"]
    )
    text = html(bad).text
    assert "× 1 fail" in text and text.index("bad") < text.index("fine") and "(1, 2)" in text and "hm" in text
    assert "nothing was checked" in html(GradientReport()).text


def test_a_run_shows_its_figures() -> None:
    net = nets.net("bad", ("Log", "x", "y"), ("AveragedLoss", "y", "loss"))
    page = html(gradviz.run(net, {"x": np.array([-1.0, 1.0], "f")}))
    assert "float32[2]" in page.text
    assert "makes NaN or Inf out of finite inputs" in page.text


def test_differences_show_themselves() -> None:
    other = nets.mlp()
    other.op[1].type = "Sigmoid"
    found = gradviz.render.diff(nets.mlp(), other, ys=["loss"])
    page = html(found)
    assert "type Relu → Sigmoid" in page.text and "svg" in page.tags
    assert ElementTree.fromstring(found._repr_svg_() or "").tag.endswith("svg")


def test_long_tables_are_cut() -> None:
    rows = [Row(f"blob{i}", 0) for i in range(100)]
    page = html(Comparison(rows))
    assert page.tags.count("tr") == notebook.MOST_ROWS + 1
    assert "and 70 more" in page.text


@pytest.mark.parametrize("what", ["trace", "model", "comparison", "check", "diff", "workspace"])
def test_names_stay_text(what: str) -> None:
    net = nets.net(ODD, ("Relu", "x", "y"), outputs=["y"])
    net.op[0].output[0] = net.external_output[0] = ODD
    shown: Any = {
        "trace": lambda: gradviz.trace(net),
        "model": lambda: gradviz.Model(net),
        "comparison": lambda: gradviz.compare({ODD: np.ones(1)}, {ODD: np.zeros(1)}),
        "check": lambda: GradientReport([GradientRow(ODD, reason=ODD)], 0.0, [ODD]),
        "diff": lambda: gradviz.render.diff(net, NetDef(), ys=[]),
        "workspace": lambda: gradviz.run(net, {"x": np.ones(1, "f")}),
    }[what]()
    page = html(shown)
    assert "img" not in page.tags
    assert "\u202e" not in page.text
    assert "<img src=x" in page.text


# How the methods come to the classes.


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def test_classes_have_the_methods_as_soon_as_gradviz_gives_them_out() -> None:
    shown = "print([hasattr(each, '_repr_html_') for each in (gradviz.Model, gradviz.Trace, gradviz.Workspace)])"
    assert run(f"import gradviz; {shown}") == "[True, True, True]"


def test_the_folders_alone_load_no_picture_code() -> None:
    code = "import sys, gradviz.autodiff; print([each for each in sys.modules if each.startswith('gradviz.render')])"
    assert run(code) == "[]"


def test_showing_nothing_costs_nothing() -> None:
    code = (
        "import sys, gradviz; gradviz.load; print([each for each in ('networkx', 'graphviz') if each in sys.modules])"
    )
    assert run(code) == "[]"


def test_the_extension_reaches_who_imports_from_the_folders() -> None:
    code = (
        "from gradviz.autodiff import Trace; before = hasattr(Trace, '_repr_html_'); "
        "from gradviz.render.notebook import load_ipython_extension; load_ipython_extension(None); "
        "print(before, hasattr(Trace, '_repr_html_'))"
    )
    assert run(code) == "False True"


def test_methods_of_a_class_of_its_own_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradviz.Trace, "_repr_html_", lambda self: "mine")
    notebook.install(everything=True)
    assert nets.walked(nets.mlp())._repr_html_() == "mine"  # type: ignore[attr-defined]


def test_a_notebook_shows_them() -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "import gradviz\nimport numpy as np\nmodel = gradviz.load('mlp')\nmodel",
        "trace = gradviz.trace(model, ['loss'])\ntrace",
        "a = gradviz.run(model, {'x': np.ones((8, 4), 'f'), 'label': np.zeros(8, 'i')}, ys=['loss'])\na",
        "gradviz.compare(a, a)",
        "gradviz.check_gradients(model, {'x': np.ones((8, 4), 'f'), 'label': np.zeros(8, 'i')}, ['loss'])",
        "gradviz.render.diff(trace, trace, at_a=20)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs[-1]["data"] for cell in book.cells]
    wanted = ["Model mlp", "Trace of mlp", "Workspace", "√ all agree", "√ all agree", "gradient ops"]
    for data, text in zip(shown, wanted, strict=True):
        assert text in data["text/html"]
    assert ["image/svg+xml" in data for data in shown] == [True, True, False, False, False, True]
