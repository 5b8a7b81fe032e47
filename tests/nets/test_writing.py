"""What stands where a file is to be written: regular files are replaced, everything else is left alone."""

import os
import socket
import stat
from pathlib import Path

import pytest

import gradviz as library
from gradviz.errors import GradvizError
from gradviz.nets.files import replacing, write_atomically
from tests.render import nets

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pytest.fixture(params=["pipe", "socket", "link to a pipe"])
def special(request, tmp_path: Path):
    """Something that is no regular file, as devices are none; real devices are never touched by tests."""
    path = tmp_path / "special.pb"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
            yield path
        return
    pipe = tmp_path / "pipe" if request.param == "link to a pipe" else path
    os.mkfifo(pipe)
    if pipe != path:
        path.symlink_to(pipe)
    yield path


def kind_of(path: Path) -> int:
    return stat.S_IFMT(path.stat().st_mode)


def test_no_file_takes_the_place_of_a_device_or_a_pipe(special: Path) -> None:
    before = kind_of(special), sorted(special.parent.iterdir())
    net = nets.mlp()
    for write in (
        lambda: write_atomically(special, b"x"),
        lambda: library.save(net, special),
        lambda: library.render.export(library.trace(net), special),
        lambda: library.render.report(library.trace(net), special),
    ):
        with pytest.raises(GradvizError, match="it is a device or a pipe"):
            write()
    assert (kind_of(special), sorted(special.parent.iterdir())) == before


def test_nothing_is_left_of_a_file_that_could_not_be_filled(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(GradvizError, match="cannot be written: disk"), replacing(tmp_path / "old") as scratch:
        scratch.write_bytes(b"half")
        raise OSError(28, "Disk full")
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_a_link_stays_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "link").symlink_to("file")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
