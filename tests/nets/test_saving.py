"""Nets are written whole or not at all, and read back as they were."""

import errno
import os
from pathlib import Path

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from gradviz import GradvizError
from gradviz.nets import Model, load, save
from gradviz.nets.saving import to_bytes
from gradviz.proto import Argument, NetDef
from tests.nets.making import lamp, lamp_init

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(width=32, allow_nan=False) | st.just(float("nan"))  # text has one NaN only
ARGUMENTS = st.one_of(
    st.builds(Argument, name=NAMES, f=FLOATS),
    st.builds(Argument, name=NAMES, i=st.integers(-(2**63), 2**63 - 1)),
    st.builds(Argument, name=NAMES, s=st.binary(max_size=8)),
    st.builds(Argument, name=NAMES, floats=st.lists(FLOATS, max_size=4)),
    st.builds(Argument, name=NAMES, strings=st.lists(st.binary(max_size=4), max_size=3)),
)


@st.composite
def nets(draw):
    net = NetDef(name=draw(NAMES), external_input=draw(st.lists(NAMES, max_size=3)))
    for _ in range(draw(st.integers(1, 4))):
        blobs = st.lists(NAMES, max_size=3)
        op = net.op.add(type=draw(NAMES), input=draw(blobs), output=draw(blobs))
        op.arg.extend(draw(st.lists(ARGUMENTS, max_size=3)))
    return net


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@given(nets())
def test_text_keeps_everything(net):
    back = text_format.Parse(to_bytes(net, text=True).decode(), NetDef())
    assert to_bytes(back, text=False) == to_bytes(net, text=False)


@pytest.mark.parametrize("name", ["a.pb", "a.PB", "a.pbtxt", "a.txt", "a.prototxt"])
def test_the_suffix_chooses_the_format(tmp_path, name):
    path = save(Model(lamp(), init=lamp_init()), tmp_path / name)
    assert load(path).net == lamp()
    assert load(path).format == ("binary" if name.lower().endswith(".pb") else "text")
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a", "a.png", "a.pb.gz"])
def test_a_suffix_that_says_no_format_is_refused(tmp_path, name):
    with pytest.raises(GradvizError, match=r"end the name in \.pb \(binary\) or \.pbtxt"):
        save(lamp(), tmp_path / name)


def test_text_is_readable(tmp_path):
    net = lamp()
    net.name = "grün"
    assert 'name: "grün"' in save(net, str(tmp_path / "a.pbtxt")).read_text(encoding="utf-8")


def test_a_file_is_replaced_and_keeps_its_rights(tmp_path):
    path = tmp_path / "a.pb"
    path.write_bytes(b"old")
    path.chmod(0o640)
    save(lamp(), path)
    assert load(path).net == lamp()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "a.pb").symlink_to(tmp_path / "real" / "b.pb")
    save(lamp(), tmp_path / "a.pb")
    assert (tmp_path / "a.pb").is_symlink()
    assert load(tmp_path / "real" / "b.pb").net == lamp()


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pb"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GradvizError, match=r"a\.pb cannot be written: no space left on device"):
        save(lamp(), path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.pb"]


def test_a_folder_that_takes_no_files(tmp_path, monkeypatch):
    def deny(path, flags, mode=0o777):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(GradvizError, match="cannot be written: permission denied"):
        save(lamp(), tmp_path / "a.pb")


@pytest.mark.parametrize("path", ["nowhere/a.pb", "a.pb/b.pb", "a\0b.pb"])
def test_places_that_do_not_exist(tmp_path, path):
    (tmp_path / "a.pb").write_bytes(b"")
    with pytest.raises(GradvizError, match="cannot be written"):
        save(lamp(), Path(tmp_path, path))
    (tmp_path / "d.pb").mkdir()
    with pytest.raises(GradvizError, match="cannot be written"):
        save(lamp(), tmp_path / "d.pb")
    assert names(tmp_path) == ["a.pb", "d.pb"]
