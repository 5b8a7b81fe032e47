"""`gradviz why`, `gradviz lint`, `gradviz mend`."""

import json
from pathlib import Path

import pytest

import gradviz as library
from tests.autodiff.nets import IN_PLACE_DROPOUT, SHARED_WEIGHTS, net_of
from tests.cli.conftest import BAD, bad_file, write


@pytest.fixture
def broken(tmp_path: Path) -> str:
    return write(tmp_path / "broken.pb", net_of(*IN_PLACE_DROPOUT, external_output=["y"]))


@pytest.fixture
def twins(tmp_path: Path) -> str:
    return write(tmp_path / "twins.pbtxt", net_of(*SHARED_WEIGHTS, external_output=["loss"]), text=True)


def test_why_tells_of_blobs_and_operators(gradviz, twins) -> None:
    result = gradviz("why", twins, "--blob", "w", "--op", "3")
    assert result.exit_code == 0
    first, second = result.stdout.split("\n\n")
    assert first.startswith("w has a gradient: w_grad.")
    assert "at op 0 and not earlier" in first
    assert second.startswith("Op 3, AveragedLoss")


def test_why_without_a_blob_tells_of_the_net(gradviz, twins, broken) -> None:
    assert "Trained, 2 parameters" in gradviz("why", twins).stdout
    failed = gradviz("why", broken)
    assert failed.exit_code == 0
    assert "The walk stopped" in failed.stdout


def test_why_as_json(gradviz, twins) -> None:
    result = gradviz("why", twins, "--blob", "w", "--blob", "c", "--json")
    stories = [json.loads(line) for line in result.stdout.splitlines()]
    assert [story["subject"] for story in stories] == ["w", "c"]
    assert stories[0]["paths"] == [{"y": "loss", "ops": [0, 2, 3]}, {"y": "loss", "ops": [1, 2, 3]}]
    assert stories[0]["gradient"] == "w_grad"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--blob", "ww"], "ww is not a blob of this net; did you mean w"),
        (["--op", "9"], "there is no op 9 in this walk"),
        (["--ys", "los"], "the net has no blob 'los'"),
    ],
)
def test_why_of_what_is_not_there(gradviz, twins, args, text) -> None:
    result = gradviz("why", twins, *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert text in result.stderr


def test_lint(gradviz, broken, twins) -> None:
    result = gradviz("lint", broken, "--ys", "y")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error: op 1: op 2 (Sqr) overwrites h₁")
    assert lines[1].startswith("    remedy: Give op 2 (Sqr) an output of its own")
    assert result.stderr.splitlines()[-1].startswith("gradviz: 1 error, ")
    assert gradviz("lint", twins).exit_code == 0


def test_lint_as_json_and_by_severity(gradviz, broken) -> None:
    findings = json.loads(gradviz("lint", broken, "--ys", "y", "--json").stdout)
    assert findings[0]["severity"] == "error"
    assert {"severity", "kind", "op_index", "blob", "message", "remedy"} == set(findings[0])
    only = json.loads(gradviz("lint", broken, "--ys", "y", "--json", "--severity", "error").stdout)
    assert only == [each for each in findings if each["severity"] == "error"]


def test_mend_without_output_lists_and_writes_nothing(gradviz, broken, tmp_path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    result = gradviz("mend", broken)
    assert result.exit_code == 0
    assert "1. Give op 2 (Sqr) an output of its own, h_sqr" in result.stdout
    assert result.stdout.count("[proven: nothing stops the walk then]") >= 2
    assert "Would apply" in result.stdout
    assert "- op 2  Sqr(h) -> h" in result.stdout
    assert "+ op 2  Sqr(h) -> h_sqr" in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["fixed.pb", "fixed.pbtxt"])
def test_mend_writes_a_net_that_walks(gradviz, broken, tmp_path, name) -> None:
    original = Path(broken).read_bytes()
    result = gradviz("mend", broken, "-o", name)
    assert result.exit_code == 0
    assert "wrote" in result.stderr
    assert library.trace(library.load(tmp_path / name)).error is None
    assert Path(broken).read_bytes() == original
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_mend_applies_the_chosen_remedy(gradviz, broken, tmp_path) -> None:
    assert gradviz("mend", broken, "-o", "fixed.pb", "--remedy", "2").exit_code == 0
    assert [list(op.output) for op in library.load(tmp_path / "fixed.pb").net.op][1] == ["h_relu"]
    result = gradviz("mend", broken, "--remedy", "99")
    assert result.exit_code == 2
    assert "there is no remedy 99" in result.stderr


def test_mend_never_writes_over_what_was_opened(gradviz, broken, tmp_path) -> None:
    original = Path(broken).read_bytes()
    link = tmp_path / "link.pb"
    link.symlink_to(broken)
    for target in (broken, str(link), "broken.pb"):
        result = gradviz("mend", broken, "-o", target)
        assert result.exit_code == 2
        assert "never written over" in result.stderr
    assert Path(broken).read_bytes() == original
    assert gradviz("mend", broken, "-o", "fixed.txtpb").exit_code == 2


def test_mend_one_error_after_the_other(gradviz, tmp_path) -> None:
    net = net_of("FC x w b -> h", "Relu h -> h", "Sqr h -> h", "Dropout h -> y m; ratio=1", external_output=["y"])
    path = write(tmp_path / "two.pb", net)
    assert gradviz("mend", path, "-o", "half.pb").exit_code == 1
    result = gradviz("mend", path, "-o", "whole.pb", "--all")
    assert result.exit_code == 0
    assert result.stdout.count("Applied:") == 2
    assert library.trace(library.load(tmp_path / "whole.pb")).error is None


def test_mend_says_what_to_ask_of_the_mended_net(gradviz, tmp_path) -> None:
    net = net_of("AveragedLoss x -> y", "Cast y -> y; to=1", external_output=["y"])
    result = gradviz("mend", write(tmp_path / "cast.pb", net), "-o", "fixed.pb", "--remedy", "2")
    assert "Ask for: --ys y_cast" in result.stdout
    assert "ask it for --ys y_cast" in result.stderr


def test_mend_where_nothing_stops_the_walk(gradviz, tmp_path) -> None:
    net = net_of("FC x w b -> y", external_output=["y"])
    net.external_input.extend(["x", "w"])
    path = write(tmp_path / "fine.pb", net)
    result = gradviz("mend", path)
    assert result.exit_code == 0
    assert "Declare b as external input" in result.stdout
    assert gradviz("mend", path, "-o", "fixed.pb").exit_code == 2
    assert gradviz("mend", path, "-o", "fixed.pb", "--remedy", "1").exit_code == 0
    assert list(library.load(tmp_path / "fixed.pb").net.external_input) == ["x", "w", "b"]


def test_mend_as_json(gradviz, broken) -> None:
    told = json.loads(gradviz("mend", broken, "--json").stdout)
    assert told["remedies"][0]["proven"] is True
    assert told["error_after"] is None
    assert told["applied"]
    assert any(line.startswith("+") for line in told["diff"])


@pytest.mark.parametrize("command", ["why", "lint", "mend"])
@pytest.mark.parametrize("kind", BAD)
def test_files_that_are_no_nets(gradviz, tmp_path, command, kind) -> None:
    result = gradviz(command, bad_file(kind, tmp_path))
    assert result.exit_code in (0, 2) if kind == "empty" else result.exit_code == 2


def test_names_that_are_nasty(gradviz, tmp_path) -> None:
    net = net_of("Relu x -> y", external_output=["y"])
    net.op[0].input[0] = "a\x1b[31m\nb"
    path = write(tmp_path / "nasty.pb", net)
    for command in ("why", "lint", "mend"):
        result = gradviz(command, path)
        assert "\x1b[31m" not in result.stdout + result.stderr
