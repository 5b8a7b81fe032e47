"""Saved sessions: found by the content of the net, whole or not at all, and never in the way."""

import json

import pytest

import gradviz
from gradviz.debug import Breakpoint, Session, saved

WHOLE = {"version": 1, "ys": [], "chosen": "", "position": 0, "events": 1, "breakpoints": [], "watches": []}


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def make(last="Relu", ys=None):
    net = gradviz.NetBuilder("net")
    net.add("FC", ["x", "w", "b"], "h")
    net.add(last, "h", "y")
    return Session(gradviz.trace(net.net, ys))


def test_what_was_set_comes_back():
    session = make(ys={"y": "g", "h": gradviz.GradientSlice("i", "v")})
    session.goto(9)
    session.breakpoints = [Breakpoint("op", 1, False, 2, 3), Breakpoint("type", "FC"), Breakpoint("error")]
    session.watch("w")
    saved.save(session)
    found = saved.load(session.trace.model)
    assert found.ys == {"y": "g", "h": gradviz.GradientSlice("i", "v")}
    again = make(ys=found.ys)
    saved.restore(again, found)
    assert again.position == 9
    assert again.breakpoints == session.breakpoints
    assert again.breakpoints[0].hits == 3
    assert [watch.blob for watch in again.watches] == ["w"]


def test_another_net_has_another_session():
    saved.save(make())
    assert saved.load(make("Sigmoid").trace.model) is None
    assert saved.load(make().trace.model) is not None


def test_the_cursor_stays_where_the_walk_is_another_one():
    session = make()
    session.to_end()
    saved.save(session)
    other = make(ys=["h"])
    saved.restore(other, saved.load(session.trace.model))
    assert other.position == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        '{"version": 2}',
        '{"version": 1}',
        json.dumps({**WHOLE, "ys": [["y", 3]]}),
        json.dumps({**WHOLE, "ys": [["y", [["i"], ["v"]]]]}),
        json.dumps({**WHOLE, "position": "x"}),
        '{"version": 1, "ys": [], "chosen": "", "position": 1e999, "events": 1, "breakpoints": [], "watches": []}',
        json.dumps({**WHOLE, "events": {}}),
        "[" * 100_000,
        "\\ud800",
        json.dumps({**WHOLE, "breakpoints": [{"kind": "no", "value": ""}]}),
    ],
)
def test_a_broken_file_is_as_good_as_none(text):
    session = make()
    path = saved.save(session)
    path.write_text(text)
    assert saved.load(session.trace.model) is None
    assert saved.recent() == []


def test_the_same_file_unbroken_is_read():
    session = make()
    saved.save(session).write_text(json.dumps(WHOLE))
    assert saved.load(session.trace.model) is not None


def test_nothing_half_written_is_left_behind(monkeypatch):
    session = make()
    path = saved.save(session)
    before = path.read_text()
    session.goto(3)

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    assert saved.save(session) is None
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_text() == before


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert saved.save(make()) is None


def test_names_of_any_kind_survive():
    net = gradviz.NetBuilder("n\x1b")
    net.add("Relu", "a\n\u202e", "🔥[red]")
    session = Session(gradviz.trace(net.net, ["🔥[red]"]))
    session.watch("a\n\u202e")
    path = saved.save(session)
    json.loads(path.read_text("utf-8"))
    found = saved.load(session.trace.model)
    assert list(found.ys) == ["🔥[red]"]
    assert found.watches[0].blob == "a\n\u202e"
