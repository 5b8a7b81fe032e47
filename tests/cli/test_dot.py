"""`gradviz dot`."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import write
from tests.render import nets


def test_dot_goes_to_stdout(gradviz, mlp) -> None:
    result = gradviz("dot", mlp)
    assert result.exit_code == 0
    assert result.stdout.startswith("digraph")
    assert "gop_6" in result.stdout
    assert result.stdout == gradviz("dot", mlp, "-o", "-").stdout


def test_forward_builds_no_gradients(gradviz, failing) -> None:
    result = gradviz("dot", failing, "--forward")
    assert "gop_" not in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("suffix", ["svg", "png", "dot", "mmd", "json", "graphml", "md", "html", "pb", "pbtxt"])
def test_files_by_suffix(gradviz, mlp, tmp_path: Path, suffix) -> None:
    result = gradviz("dot", mlp, "-o", f"out.{suffix}")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == f"gradviz: wrote out.{suffix}"
    assert (tmp_path / f"out.{suffix}").stat().st_size > 100


def test_a_failed_walk_is_drawn_and_told(gradviz, failing, tmp_path: Path) -> None:
    result = gradviz("dot", failing, "-o", "out.svg", "--at", "error")
    assert result.exit_code == 0
    assert "the walk failed: MulGradient" in result.stderr
    assert "× Mul" in (tmp_path / "out.svg").read_text()


def test_options_reach_the_picture(gradviz, tmp_path: Path) -> None:
    path = write(tmp_path / "n.pb", nets.scoped())
    assert "rankdir=LR" in gradviz("dot", path, "--rankdir", "LR").stdout
    assert "#15181c" in gradviz("dot", path, "--dark").stdout
    assert "slanted" not in gradviz("dot", path, "--no-legend").stdout
    assert "scope_op_0" in gradviz("dot", path, "--fold", "1").stdout
    assert "op_4" not in gradviz("dot", path, "--to", "3", "--forward").stdout
    gradviz("dot", path, "-o", "n.json", "--focus", "a/relu", "--hops", "1")
    nodes = {node["id"] for node in json.loads((tmp_path / "n.json").read_text())["nodes"]}
    assert {"op_1", "op_2"} <= nodes
    assert "op_4" not in nodes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "x.jpg"), ".jpg is no format"),
        (("-o", "nowhere/x.svg"), "there is no folder nowhere"),
        (("-o", "x.svg", "--max-nodes", "5"), "more than 5"),
        (("-o", "x.svg", "--engine", "magic"), "no layout engine"),
        (("-o", "x.svg", "--program", "paint"), "not by 'paint'"),
        (("-o", "x.pb", "--fold", "1"), "written whole"),
        (("-o", "x.svg", "--at", "100000"), "no event"),
        (("-o", "x.svg", "--focus", "losss"), "did you mean loss"),
        (("--at", "error"), "did not fail"),
        (("--from", "77"), "no operator lies between"),
    ],
)
def test_bad_options_write_nothing(gradviz, mlp, tmp_path: Path, options, words) -> None:
    before = sorted(each.name for each in tmp_path.iterdir())
    result = gradviz("dot", mlp, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr.splitlines()[-1]
    assert sorted(each.name for each in tmp_path.iterdir()) == before


def test_the_opened_file_is_never_written(gradviz, mlp) -> None:
    before = Path(mlp).read_bytes()
    result = gradviz("dot", mlp, "-o", mlp)
    assert result.exit_code == 2
    assert Path(mlp).read_bytes() == before
