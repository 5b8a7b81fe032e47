"""The first screen without a net: recent ones, samples, files; what cannot be opened is explained."""

from pathlib import Path

import pytest

import gradviz
from gradviz.debug import saved
from gradviz.nets import samples
from gradviz.tui.debug import DebugScreen
from gradviz.tui.screens.opening import OpeningApp, OpeningScreen, prepared


def leave_a_session(path):
    session, _ = prepared(path)
    session.goto(9)
    saved.save(session)


def chosen(app, name, label):
    view = app.screen.query_one(name)
    view.focus()
    view.select(next(at for at, each in enumerate(view.things) if each.label == label))


def said(app):
    return str(app.screen.query_one("#said").render())


async def settled(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_a_sample_is_opened_with_its_ys_and_feeds():
    app = OpeningApp()
    async with app.run_test(size=(120, 40)) as pilot:
        assert isinstance(app.screen, OpeningScreen)
        known = app.screen.query_one("#known").things
        assert {each.label for each in known if each.kind == "sample"} == {each.name for each in samples.SAMPLES}
        chosen(app, "#known", "two_losses")
        await pilot.pause()
        assert "how much each of them counts" in said(app)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, DebugScreen)
        assert app.session.trace.ys == {"class_loss": "class_weight", "value_loss": "value_weight"}
        assert set(app.feeds) == {"x", "label", "target"}
        await pilot.press("n")


async def test_nets_that_were_left_come_first_and_stand_where_they_were(tmp_path):
    net = gradviz.NetBuilder("mine")
    net.add("FC", ["x", "w", "b"], "y")
    net.add("AveragedLoss", "y", "loss")
    gradviz.save(net.net, tmp_path / "mine.pb")
    leave_a_session(tmp_path / "mine.pb")
    app = OpeningApp()
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.screen.query_one("#known")
        assert (view.thing.kind, view.thing.label) == ("recent", "mine.pb")
        assert "event 9" in view.thing.note
        await pilot.press("enter")
        await settled(pilot)
        assert app.session.position == 9


def test_recent_nets_are_those_whose_files_are_there_each_once(tmp_path):
    assert saved.recent() == []
    for name in ("a", "b"):
        net = gradviz.NetBuilder(name)
        net.add("Relu", "x", name)
        gradviz.save(net.net, tmp_path / f"{name}.pb")
        leave_a_session(tmp_path / f"{name}.pb")
    assert {each.net for each in saved.recent()} == {"a", "b"}
    assert len(saved.recent(1)) == 1
    changed = gradviz.NetBuilder("a")
    changed.add("Sigmoid", "x", "a")
    gradviz.save(changed.net, tmp_path / "a.pb")
    leave_a_session(tmp_path / "a.pb")
    (tmp_path / "b.pb").unlink()
    (saved.folder() / "broken.json").write_text("{")
    assert [each.path for each in saved.recent()] == [tmp_path / "a.pb"]


async def test_a_wrong_file_is_explained_and_the_next_one_opens(tmp_path):
    (tmp_path / "notes.txt").write_text("root: not a net\n")
    (tmp_path / "inner").mkdir()
    net = gradviz.NetBuilder("good")
    net.add("Relu", "x", "y")
    gradviz.save(net.net, tmp_path / "inner" / "good.pb")
    app = OpeningApp(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        chosen(app, "#files", "notes.txt")
        await pilot.press("enter")
        await settled(pilot)
        assert "notes.txt" in said(app) and "Choose another" in said(app)
        assert app.screen.query_one("#said").has_class("-wrong")
        chosen(app, "#files", "inner")
        await pilot.press("enter")
        assert [each.label for each in app.screen.query_one("#files").things] == ["..", "good.pb"]
        await pilot.press("u")
        assert app.screen.query_one("#files").thing.label == "inner"
        await pilot.press("enter")
        chosen(app, "#files", "good.pb")
        await pilot.press("enter")
        await settled(pilot)
        assert app.session.trace.model.name == "good"


async def test_a_path_can_be_typed(tmp_path):
    (tmp_path / "inner").mkdir()
    app = OpeningApp(tmp_path)
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.press("slash", *"inner", "enter")
        assert app.screen.folder == tmp_path / "inner"
        await pilot.press("slash")
        app.screen.query_one("#path").value = "nowhere\x00.pb"
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen.query_one("#said").has_class("-wrong")
        await pilot.press("escape", "slash")
        app.screen.query_one("#path").value = "lenet"
        await pilot.press("enter")
        await settled(pilot)
        assert app.session.trace.model.name == "lenet"


async def test_a_file_with_several_nets_offers_them(tmp_path):
    from gradviz.proto import PlanDef

    plan = PlanDef(name="plan")
    for name in ("train", "test"):
        made = gradviz.NetBuilder(name)
        made.add("Relu", "x", "y")
        made.add("Relu", "y", "z")
        plan.network.add().CopyFrom(gradviz.proto.NetDef.FromString(made.net.SerializeToString()))
    (tmp_path / "plan.pb").write_bytes(plan.SerializeToString())
    app = OpeningApp(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        chosen(app, "#files", "plan.pb")
        await pilot.press("enter")
        await settled(pilot)
        offered = app.screen.query_one("#known").things
        assert [each.label for each in offered] == ["train", "test"]
        await pilot.press("escape")
        assert app.screen.query_one("#known").things[0].label == "Recent"
        chosen(app, "#files", "plan.pb")
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press("down", "enter")
        await settled(pilot)
        assert app.session.trace.model.name == "test"
    saved.save(app.session)
    assert [(each.path, each.chosen) for each in saved.recent()] == [(tmp_path / "plan.pb", "test")]


async def test_names_of_files_are_drawn_harmlessly(tmp_path):
    for name in ("[red]a[bold]", "\x1b[31mb", "漢字" * 30, "c\nd"):
        (tmp_path / name).write_text("")
    app = OpeningApp(Path(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        assert len(app.screen.query_one("#files").things) >= 5
        await pilot.press("tab", "down", "enter")
        await settled(pilot)
        await pilot.press("down", "down", "down", "enter", "tab", "h")
        await settled(pilot)


async def test_q_leaves():
    app = OpeningApp()
    async with app.run_test() as pilot:
        await pilot.press("q")
    assert app.return_code == 0
    assert not app.debugging


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_picture(snap_compare, tmp_path, size):
    (tmp_path / "files" / "inner").mkdir(parents=True)
    (tmp_path / "files" / "net.pb").write_bytes(b"x" * 1234)
    assert snap_compare(OpeningApp(Path("files")), terminal_size=size)
