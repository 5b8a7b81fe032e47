"""Writing files: formats by suffix, whole or not at all."""

import json
import os
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from google.protobuf import text_format

import gradviz
from gradviz.errors import GradvizError
from gradviz.proto import NetDef
from gradviz.render import export, files, image
from gradviz.render.files import FORMATS
from gradviz.render.image import Drawing
from tests.render import nets


@pytest.fixture
def trace() -> gradviz.Trace:
    return nets.walked(nets.shared_weights())


@pytest.mark.parametrize("suffix", [each for each in FORMATS if each != ".pdf"])
def test_each_suffix_writes_one_file(trace: gradviz.Trace, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"net{suffix}"
    written = export(trace, path, at=40)
    assert written.path == path
    assert not written.note
    assert path.stat().st_size > 100
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".dot", ".svg", ".json", ".mmd", ".md", ".html", ".pbtxt"])
def test_a_forward_net_can_be_written_too(tmp_path: Path, suffix: str) -> None:
    assert export(nets.mlp(), tmp_path / f"net{suffix}").path.exists()


def test_nets_hold_the_gradient_operators_of_the_event(trace: gradviz.Trace, tmp_path: Path) -> None:
    binary = NetDef.FromString(export(trace, tmp_path / "net.pb").path.read_bytes())
    assert list(binary.op) == [*trace.net.op, *trace.gradient_ops]
    assert list(binary.external_output) == ["loss"]
    early = text_format.Parse(export(trace, tmp_path / "net.pbtxt", at=40).path.read_text(), NetDef())
    assert list(early.op) == [*trace.net.op, *trace.gradient_ops_at(40)]
    assert len(early.op) < len(binary.op)


def test_graphml_and_html_parse(tmp_path: Path) -> None:
    odd = nets.net("odd \x00<&>", ("FC", "x w b", "<y>&\x1b"), outputs=["<y>&\x1b"])
    trace = gradviz.trace(odd)
    root = ElementTree.parse(export(trace, tmp_path / "net.graphml").path).getroot()
    found = [each.get("id") for each in root.iter("{http://graphml.graphdrawing.org/xmlns}node")]
    assert "op_0" in found
    page = export(trace, tmp_path / "net.html").path.read_text()
    stack: list[str] = []

    class Checked(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link"):
                stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            assert stack.pop() == tag

    Checked().feed(page)
    assert not stack
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", ""), "nothing is fetched from elsewhere"


def test_json_has_the_documented_keys(trace: gradviz.Trace, tmp_path: Path) -> None:
    made = json.loads(export(trace, tmp_path / "net.json", at=10).path.read_text())
    assert list(made) == ["schema", "version", "gradviz", "net", "ys", "event", "nodes", "edges", "clusters"]
    assert made["event"]["index"] == 10
    assert json.loads(export(nets.mlp(), tmp_path / "net.json").path.read_text())["event"] is None


def test_unknown_suffixes_and_places_are_refused(trace: gradviz.Trace, tmp_path: Path) -> None:
    for name, words in (("net.jpg", ".jpg is no format"), ("net", "no suffix"), ("no/net.svg", "there is no folder")):
        with pytest.raises(GradvizError, match=words):
            export(trace, tmp_path / name)
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(GradvizError, match="is a folder"):
        export(trace, tmp_path / "folder.svg")
    with pytest.raises(GradvizError, match="a net is written whole"):
        export(trace, tmp_path / "net.pb", focus="w")
    assert [each.name for each in tmp_path.iterdir()] == ["folder.svg"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(trace: gradviz.Trace, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(GradvizError, match="read-only"):
            export(trace, tmp_path / "net.svg")
    finally:
        tmp_path.chmod(0o755)


def test_nothing_is_written_over_the_opened_file(tmp_path: Path) -> None:
    path = tmp_path / "net.pb"
    path.write_bytes(nets.mlp().SerializeToString())
    before = path.read_bytes()
    with pytest.raises(GradvizError, match="the file that was opened"):
        export(gradviz.trace(gradviz.load(path), ["loss"]), path)
    assert path.read_bytes() == before


def test_a_failure_leaves_the_old_file(trace: gradviz.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.svg"
    path.write_text("old")
    with pytest.raises(GradvizError, match="no layout engine"):
        export(trace, path, drawing=Drawing(engine="magic"))
    assert path.read_text() == "old"
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(GradvizError, match="cannot be written: no space"):
        export(trace, path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def _full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_too_many_nodes_are_refused_with_advice(trace: gradviz.Trace, tmp_path: Path) -> None:
    with pytest.raises(GradvizError, match=r"more than 10.*--focus.*--fold.*--max-nodes"):
        export(trace, tmp_path / "net.svg", drawing=Drawing(max_nodes=10))
    assert export(trace, tmp_path / "net.dot", drawing=Drawing(max_nodes=10)).path.exists()
    assert "Left out" in export(trace, tmp_path / "net.html", drawing=Drawing(max_nodes=10)).path.read_text()


def test_without_any_program_there_is_dot_text_and_advice(
    trace: gradviz.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "_located", lambda name: None)
    written = export(trace, tmp_path / "net.svg")
    assert written.path.name == "net.gv"
    assert "pip install graphviz-pure" in written.note
    assert written.path.read_text().startswith("digraph")
    again = export(trace, tmp_path / "net.png")
    assert again.path.name == "net.png.gv", "a file that is there is not replaced by one that was not asked for"
    assert "Left out" in export(trace, tmp_path / "net.html").path.read_text()


def test_pdf_is_the_business_of_a_system_dot(trace: gradviz.Trace, tmp_path: Path) -> None:
    with pytest.raises(GradvizError, match="graphviz-pure does not draw PDF"):
        export(trace, tmp_path / "net.pdf", drawing=Drawing(program="graphviz-pure"))
    written = export(trace, tmp_path / "net.pdf")
    if image._located("dot") is None:
        assert "install Graphviz" in written.note
    else:
        assert written.path.read_bytes().startswith(b"%PDF")


def test_formats_are_all_told_in_the_docstring() -> None:
    assert files.export.__doc__ is not None
    for suffix in FORMATS:
        assert f"`{suffix}`" in files.export.__doc__


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for dot is a shell script")
def test_pdf_by_a_system_dot(trace: gradviz.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tmp_path / "bin" / "dot"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\necho "%PDF-1.7 $*"\ncat\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    made = export(trace, tmp_path / "net.pdf").path.read_bytes()
    assert made.startswith(b"%PDF-1.7 -Kdot -Tpdf")
    assert b"digraph" in made, "the DOT text came in by stdin"
