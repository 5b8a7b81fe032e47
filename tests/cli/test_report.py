"""`gradviz report`."""

import pytest

from gradviz.cli import cli


@pytest.fixture
def invoke(tmp_path):
    from click.testing import CliRunner

    return lambda *args: CliRunner().invoke(cli, ["report", *args])


def test_writes_one_page(invoke, tmp_path):
    page = tmp_path / "mlp.html"
    done = invoke("mlp", "-o", str(page))
    assert done.exit_code == 0
    assert done.stdout == ""
    text = page.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_values_of_a_run(invoke, tmp_path):
    page = tmp_path / "mlp.html"
    assert invoke("mlp", "-o", str(page), "--run").exit_code == 0
    assert "float32" in page.read_text(encoding="utf-8")


def test_failed_walks_are_reported_too(invoke, tmp_path):
    page = tmp_path / "failed.html"
    done = invoke("version_mismatch", "-o", str(page))
    assert done.exit_code == 0
    assert "the walk failed" in done.stderr
    assert page.exists()


def test_folder_that_is_not_there(invoke, tmp_path):
    done = invoke("mlp", "-o", str(tmp_path / "nowhere" / "page.html"))
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []
