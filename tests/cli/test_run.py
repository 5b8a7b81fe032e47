"""`gradviz run`."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

FEEDS = ("--feed", "x=2x4", "--feed", "label=2:int32")


@pytest.fixture
def labels(tmp_path: Path) -> str:
    np.savez(tmp_path / "feeds.npz", label=np.array([0, 2], np.int32))
    return str(tmp_path / "feeds.npz")


def test_a_table_of_values_and_gradients(gradviz, mlp, labels) -> None:
    result = gradviz("run", mlp, "--feed", "x=2x4", "--feed", labels)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    heads = "blob version shape dtype min max mean std NaN Inf gradient grad min grad max grad L2"
    assert lines[0].split() == heads.split()
    weight = next(line for line in lines if line.startswith("w1 "))
    assert "5×4" in weight
    assert "w1_grad" in weight
    assert "ys: loss" in result.stderr


def test_json_and_npz_agree(gradviz, mlp, labels, tmp_path: Path) -> None:
    result = gradviz("run", mlp, "--feed", "x=2x4", "--feed", labels, "--json", "--npz", "out.npz")
    rows = {(row["blob"], row["version"]): row for row in map(json.loads, result.stdout.splitlines())}
    saved = np.load(tmp_path / "out.npz")
    assert rows["loss", 0]["mean"] == pytest.approx(float(saved["loss"]))
    assert rows["w2", 0]["gradient_figures"]["l2"] == pytest.approx(float(np.linalg.norm(saved["w2_grad"])), rel=1e-5)
    assert {"h", "h_grad", "p"} <= set(saved.files)
    assert (("h", 0) in rows) and (("h", 1) in rows)


def test_the_same_seed_gives_the_same_values(gradviz, mlp, labels) -> None:
    first, same, other = (
        gradviz("run", mlp, "--feed", "x=2x4", "--feed", labels, "--seed", seed).stdout for seed in ("1", "1", "2")
    )
    assert first == same != other


def test_until_keep_and_no_gradients(gradviz, mlp, labels) -> None:
    feeds = ("--feed", "x=2x4", "--feed", labels)
    rows = [json.loads(line) for line in gradviz("run", mlp, *feeds, "--json", "--no-gradients").stdout.splitlines()]
    assert not any(row["gradient"] for row in rows)
    rows = [json.loads(line) for line in gradviz("run", mlp, *feeds, "--json", "--until", "y").stdout.splitlines()]
    assert {row["blob"] for row in rows if row["op"] is not None} == {"h", "y"}
    rows = [json.loads(line) for line in gradviz("run", mlp, *feeds, "--json", "--keep", "p").stdout.splitlines()]
    assert {row["blob"] for row in rows} == {"p"}


def test_missing_feeds_are_asked_for_by_name_and_shape(gradviz, mlp) -> None:
    result = gradviz("run", mlp)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "2 blobs have no value: x (" in result.stderr
    assert "--feed label=" in result.stderr.splitlines()[-1]


def test_a_missing_init_net_is_named(gradviz, mlp) -> None:
    (Path(mlp).parent / "mlp_init.pb").unlink()
    result = gradviz("run", mlp, *FEEDS)
    assert result.exit_code == 2
    assert "w1" in result.stderr
    assert result.stderr.count("\n") <= 2


def test_a_failed_walk(gradviz, failing) -> None:
    feeds = ("--feed", "x=2x3", "--feed", "w=4x3", "--feed", "b=4", "--feed", "scale=2x4")
    result = gradviz("run", failing, *feeds)
    assert result.exit_code == 0, "nobody asked for gradients outright"
    assert "no gradients" in result.stderr or "without gradients" in result.stderr
    result = gradviz("run", failing, *feeds, "--ys", "loss")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "the walk failed: MulGradient" in result.stderr


def test_bad_values_are_told(gradviz, mlp, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", x=np.full((2, 4), np.nan, "f4"), label=np.array([0, 1], np.int32))
    result = gradviz("run", mlp, "--feed", "bad.npz")
    assert result.exit_code == 0
    assert "NaN or Inf from the start in x" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--feed", "x=2xq"), "no shape"),
        (("--feed", "nothing.npz"), "is no file"),
        (("--until", "nobody", *FEEDS), "no op of the run writes nobody"),
        (("--no-gradients", "--ys", "loss"), "contradict"),
        (("--npz", "nowhere/out.npz", *FEEDS), "there is no folder"),
        (("--feed", "x=2x9", "--feed", "label=2:int32"), "sizes do not fit"),
    ],
)
def test_bad_questions(gradviz, mlp, options, words) -> None:
    result = gradviz("run", mlp, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr.splitlines()[-1]


def test_an_npz_is_written_whole_or_not_at_all(gradviz, mlp, labels, tmp_path: Path, monkeypatch) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    (tmp_path / "out.npz").write_text("old")
    result = gradviz("run", mlp, "--feed", "x=2x4", "--feed", labels, "--npz", "out.npz")
    assert result.exit_code == 2
    assert "out.npz cannot be written: no space left" in result.stderr
    assert (tmp_path / "out.npz").read_text() == "old"
    assert not list(tmp_path.glob(".*.part"))


def test_samples_bring_their_feeds(gradviz) -> None:
    result = gradviz("run", "mlp", "--json")
    assert result.exit_code == 0
    assert "feeds of this sample" in result.stderr
    assert "loss" in result.stdout


def test_an_npz_never_takes_the_place_of_a_pipe_or_of_the_net(gradviz, mlp, labels, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = Path(mlp).read_bytes()
    for target, why in ((tmp_path / "pipe", "is a device or a pipe"), (mlp, "is the file that was opened")):
        result = gradviz("run", mlp, "--feed", "x=2x4", "--feed", labels, "--npz", str(target))
        assert result.exit_code == 2
        assert why in result.stderr
        assert result.stdout == ""
    assert (tmp_path / "pipe").is_fifo()
    assert Path(mlp).read_bytes() == before
