"""The program that takes the README's pictures."""

import pytest

from screenshots.take import HERE, SHOTS, main, take, to_png


async def test_a_picture_shows_the_running_app():
    pytest.importorskip("resvg_py")
    svg = await take(next(shot for shot in SHOTS if shot.name == "sum"))
    assert "autosplit" in svg
    png = to_png(svg)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(png) > 20_000


def test_every_picture_is_there_as_svg_and_png():
    for shot in SHOTS:
        assert (HERE / f"{shot.name}.svg").stat().st_size > 10_000
        assert (HERE / f"{shot.name}.png").stat().st_size > 10_000


def test_an_unknown_picture_is_refused(capsys):
    assert main(["nothing"]) == 2
    assert "no picture is called nothing" in capsys.readouterr().out
