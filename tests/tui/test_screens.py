"""The screens over the debug screen do what they offer, and say in one line what is wrong."""

import json

from gradviz.debug import Session
from gradviz.tui.app import GradvizApp, keep, opened
from gradviz.tui.screens.diagnosis import parts
from gradviz.tui.screens.figures import COLUMNS, number
from gradviz.tui.screens.ys import candidates, check_gradient, parse_gradient

from .nets import NETS, app, lenet, session


def told(made):
    return str(made.screen.query_one("#told").render())


async def settled(made, pilot):
    await made.workers.wait_for_complete()
    await pilot.pause()
    await pilot.pause()


# Choosing ys.


def test_losses_come_first_then_outputs_then_the_rest():
    desk = app("lenet", 0).debug_screen.desk
    desk.trace.ys.clear()
    assert candidates(desk)[:2] == ["loss", "xent"]
    assert candidates(desk)[-1] == "conv1"


async def test_other_ys_are_walked_anew_and_breakpoints_stay():
    made = app("lenet", 40)
    made.session.watch("fc3")
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("b", "y", "space", "down", "space", "enter")
        await settled(made, pilot)
        new = made.debug_screen.session
        assert list(new.trace.ys) == ["xent"]
        assert new.breakpoints == made.session.breakpoints
        assert [watch.blob for watch in new.watches] == ["fc3"]
        assert "xent" in str(made.screen.query_one("#sentence").render())


async def test_a_y_can_have_a_given_gradient():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("y", "g", *"my", "underscore", *"grad", "enter", "enter")
        await settled(made, pilot)
        assert made.debug_screen.session.trace.ys == {"loss": "my_grad"}


async def test_without_ys_the_chooser_stays():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("y", "space", "enter")
        assert "choose at least one" in str(made.screen.query_one(".note").render())
        await pilot.press("slash", *"conv", "enter")
        assert made.screen.query_one("Lines").things == ["conv2", "conv1"]


def test_given_gradients_are_names_or_slices():
    assert parse_gradient("") is None
    assert parse_gradient(" g ") == "g"
    assert parse_gradient("i, v") == ("i", "v")
    assert check_gradient("i,") != ""
    assert check_gradient("i,v") == check_gradient("g") == check_gradient("") == ""


# Exporting.


async def test_export_writes_at_this_event_and_asks_before_it_overwrites(tmp_path, monkeypatch):
    from gradviz.render.files import Exported

    calls = []
    monkeypatch.setattr(
        "gradviz.render.export", lambda trace, path, at: calls.append((path.name, at)) or Exported(path)
    )
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("e", "enter")
        await settled(made, pilot)
        assert calls == [("lenet-40.svg", 40)]
        (tmp_path / "lenet-40.svg").write_text("there")
        await pilot.press("e", "enter")
        assert "exists" in str(made.screen.query_one(".error").render())
        assert len(calls) == 1
        await pilot.press("enter")
        await settled(made, pilot)
        assert len(calls) == 2


async def test_what_goes_wrong_with_an_export_is_said_in_a_line(tmp_path):
    made = app("lenet", 40)
    made.session.trace.model.path = tmp_path / "open.svg"
    made.session.trace.model.path.write_text("the net")
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("e")
        field = made.screen.query_one("Input")
        field.value = str(tmp_path / "open.svg")
        await pilot.press("enter")
        assert "nothing is written over it" in str(made.screen.query_one(".error").render())
        field.value = str(tmp_path / "missing" / "net.svg")
        await pilot.press("enter")
        await settled(made, pilot)
        message = str(made.screen.query_one(".error").render())
        assert message
        assert "writing" not in message
        assert (tmp_path / "open.svg").read_text() == "the net"


# Values.


async def test_missing_feeds_are_asked_for_and_filled_from_a_seed():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        assert [each.blob for each in made.screen.missing][:3] == ["data", "conv1_w", "conv1_b"]
        shapes = {
            "data": "2x1x28x28",
            "conv1_w": "4x1x5x5",
            "conv1_b": "4",
            "conv2_w": "6x4x5x5",
            "conv2_b": "6",
            "fc3_w": "10x96",
            "fc3_b": "10",
            "pred_w": "10x10",
            "pred_b": "10",
            "label": "2:int32",
        }
        made.screen.texts.update(shapes)
        await pilot.press("f")
        await settled(made, pilot)
        values = made.screen.values
        lines = {(each.blob, each.version): each for each in values.figures}
        assert lines["fc3", 0].health.shape == (2, 10)
        assert lines["fc3", 1].health.min == 0
        assert lines["conv1_w", 0].gradient == "conv1_w_grad"
        assert lines["conv1_w", 0].gradient_health.shape == (4, 1, 5, 5)
        assert "no value has NaN" in told(made)
        await pilot.press("escape", "x")
        assert made.screen.values is values


async def test_a_run_that_fails_says_why_and_leads_back_to_the_feeds():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        made.screen.texts.update({each.blob: "1" for each in made.screen.missing})
        await pilot.press("f")
        await settled(made, pilot)
        assert "Conv" in told(made)
        await pilot.press("f")
        assert made.screen.query_one("#missing").display


async def test_a_shape_is_set_on_its_line_and_a_wrong_one_refused():
    made = app("logarithm", 20)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        await pilot.press("f")
        assert "no shape is known for x" in told(made)
        await pilot.press("enter", *"2y3", "enter")
        assert "no file and no shape" in str(made.screen.query_one("#hint").render())
        await pilot.press("backspace", "backspace", *"x3", "enter", "f")
        await settled(made, pilot)
        assert "first bad: op 2 Log" in told(made)
        await pilot.press("b")
        table = made.screen.query_one("#figures")
        assert table.thing.blob == "z"
        await pilot.press("enter")
        assert made.screen is made.debug_screen
        assert made.debug_screen.desk.op == 2


async def test_values_sort_by_any_column_and_filter():
    import numpy as np

    made = app("logarithm", 20, feeds={"x": np.array([3.0, -1.0, 2.0], "float32")})
    async with made.run_test(size=(80, 24)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        table = made.screen.query_one("#figures")
        order = [each.blob for each in table.things]
        await pilot.press("right", "right", "s")
        highest = [each.health.max for each in table.things if each.health.max is not None]
        assert highest == sorted(highest, reverse=True)
        await pilot.press("s")
        highest = [each.health.max for each in table.things if each.health.max is not None]
        assert highest == sorted(highest)
        await pilot.press("S")
        assert [each.blob for each in table.things] == order
        await pilot.press("slash", *"grad", "enter")
        assert all("grad" in each.blob for each in table.things)
        for _ in COLUMNS:
            await pilot.press("right")
            assert any(i == made.screen.column for i, _ in made.screen.seen(78))
        assert COLUMNS[made.screen.column].title == "∂ Inf"


async def test_a_run_can_be_cancelled():
    import numpy as np

    made = app("logarithm", 20, feeds={"x": np.ones(3, "float32")})
    async with made.run_test(size=(80, 24)) as pilot:
        await pilot.press("x")
        screen = made.screen
        await settled(made, pilot)
        screen.busy = True
        await pilot.press("escape")
        assert made.screen is screen
        assert screen._cancel.is_set()
        screen.busy = False
        await pilot.press("r")
        await settled(made, pilot)
        assert not screen.busy


async def test_feeds_can_be_loaded_from_a_file(tmp_path):
    import numpy as np

    np.savez(tmp_path / "feeds.npz", x=np.ones((2, 2), "float32"))
    made = app("logarithm", 20)
    async with made.run_test(size=(80, 24)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        await pilot.press("l", *"nothing", "full_stop", *"npz", "enter")
        assert "nothing.npz" in str(made.screen.query_one("#hint").render())
        made.screen.query_one("Input").value = "feeds.npz"
        await pilot.press("enter")
        await settled(made, pilot)
        assert made.screen.values.figures[0].health.shape == (2, 2)


async def test_the_forward_net_runs_even_where_its_gradient_fails():
    import numpy as np

    feeds = {"x": np.ones((1, 2), "float32"), "w": np.ones((2, 2), "float32"), "b": np.ones(2, "float32")}
    made = app("mismatch", 5, feeds={**feeds, "w2": feeds["w"], "b2": feeds["b"]})
    async with made.run_test(size=(80, 24)) as pilot:
        await pilot.press("x")
        await settled(made, pilot)
        found = [(each.blob, each.version) for each in made.screen.values.figures]
        assert ("s", 0) in found
        assert ("s", 1) in found


def test_numbers_fit_their_columns():
    for value in (0.0, -1.0, 1e-30, -1.23456e-30, 1e300, 123456.789, -0.000123456):
        assert len(number(value)) <= 9
    assert number(None) == "–"


# The diagnosis.


def test_the_diagnosis_says_what_was_asked_and_found():
    desk = app("mismatch").debug_screen.desk
    text = ["".join(part for part, _ in each.row) for each in parts(desk, desk.trace.error)]
    assert any(line.startswith("asked   ") and "SigmoidGradient" in line for line in text)
    assert any(line.startswith("found   ") and "version 1" in line for line in text)
    assert any("overwrites what is needed" in line and "op 2 Relu" in line for line in text)


def test_every_failure_has_a_diagnosis():
    for name in NETS:
        desk = app(name).debug_screen.desk
        if desk.trace.error is not None:
            assert len(parts(desk, desk.trace.error)) > 2


async def test_a_remedy_is_tried_on_the_spot():
    made = app("mismatch")
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        lines = made.screen.query_one("Lines")
        remedies = [i for i, part in enumerate(lines.things) if part.remedy is not None]
        if not remedies:
            return
        lines.select(remedies[0])
        await pilot.press("enter")
        await settled(made, pilot)
        assert made.debug_screen.session.trace.error is None


# Sessions.


def test_a_session_comes_back_where_it_was_left():
    first = opened(lenet())
    assert first.event.kind == "seed"
    first.goto(77)
    first.watch("fc3")
    keep(first)
    again = opened(lenet())
    assert again.position == 77
    assert [watch.blob for watch in again.watches] == ["fc3"]
    assert opened(lenet(), at=3).position == 3
    assert opened(lenet(), ["xent"]).event.kind == "seed"
    assert opened(lenet(), breakpoints=["type:FC", "7"]).breakpoints[0].value == "FC"


def test_what_is_kept_is_json_with_a_version(tmp_path):
    path = keep(opened(lenet()))
    assert json.loads(path.read_text())["version"] == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]


async def test_a_smaller_terminal_shows_one_pane_and_says_so():
    made = app("lenet", 40)
    async with made.run_test(size=(44, 14)) as pilot:
        await pilot.pause()
        for width in (44, 30):
            await pilot.resize_terminal(width, 14)
            await pilot.pause()
            assert "small" in "".join(text for row in made.screen.query_one("#hints").rows(width) for text, _ in row)
        shown = []
        for _ in range(5):
            await pilot.press("tab")
            shown.append([pane.id for pane in made.screen.query(".pane") if pane.display])
        assert shown == [["forward"], ["algorithm"], ["state"], ["gradient"], ["graph"]]
        await pilot.press("n")
        assert made.session.position == 41


async def test_resizing_keeps_everything_in_sight():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        for size in ((80, 24), (30, 8), (200, 60), (10, 3), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.press("n")
        assert made.session.position == 45


async def test_the_mouse_does_it_too():
    made = app("lenet", 40)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.click("#forward", offset=(10, 3))
        assert made.debug_screen.desk.op == 2
        await pilot.click("#forward", offset=(1, 3))
        assert made.session.breakpoints[0].value == 2
        await pilot.click("#forward", offset=(10, 5), times=2)
        assert made.session.event.op_index == 4
        await pilot.click("#timeline", offset=(119, 0))
        assert made.session.position == made.session.last
        await pilot.click("#timeline", offset=(1, 0))
        assert made.session.position < 3
        await pilot.click("#hints", offset=(2, 0))
        assert made.session.position in (1, 2)


def test_an_app_can_be_made_of_a_session():
    made = Session(session("lenet").trace)
    assert GradvizApp(made).debug_screen.session is made
