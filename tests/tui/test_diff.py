"""The Diff screen draws what was compared, and leads to the event that made a difference."""

import pytest

from gradviz.debug.compare_states import Moment
from gradviz.tui.screens.diff import DiffScreen

from .nets import app, at_kind, session


async def settled(made, pilot):
    await made.workers.wait_for_complete()
    await pilot.pause()
    await pilot.pause()


def told(made):
    return str(made.screen.query_one("#told").render())


def lines(made):
    view = made.screen.query_one("#changes")
    return ["".join(text for text, _ in view.row(i, 118)) for i in range(view.count)]


async def opened(made, pilot, *keys):
    await pilot.press(*keys, "d")
    await settled(made, pilot)
    assert isinstance(made.screen, DiffScreen)
    return made.screen


async def test_without_a_mark_the_last_stop_is_compared_with_now():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        screen = await opened(made, pilot, "2", "o")
        assert (screen.one.position, screen.other.position) == (60, made.session.position)
        assert "added" in told(made)
        await pilot.press("s")
        assert "no moment is marked" in told(made)


async def test_at_the_first_stop_nothing_differs_and_the_way_on_is_told():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        await opened(made, pilot)
        assert "the same event" in told(made)
        assert lines(made) == []
        await pilot.press("enter", "n", "N")
        assert isinstance(made.screen, DiffScreen)


async def test_a_rename_is_shown_with_both_names():
    start = at_kind("shared", "rename") - 1
    made = app("shared", start)
    async with made.run_test(size=(120, 40)) as pilot:
        await opened(made, pilot, "n")
        (title, row) = lines(made)
        assert title.startswith("Gradient net · 1 renamed")
        event = made.session.event
        assert row.startswith("~ ")
        left, right = row.split(" │ ")
        assert event.old in left
        assert event.new in right


async def test_enter_travels_to_the_event_that_made_a_row():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        screen = await opened(made, pilot, "m", "end")
        view = screen.query_one("#changes")
        wanted = next(i for i, line in enumerate(view.things) if line.change and line.change.blob == "conv1_w")
        view.select(wanted)
        event = view.thing.change.event
        await pilot.press("enter")
        assert made.screen is made.debug_screen
        assert made.session.position == event
        assert "conv1_w" in made.session.event.blobs


async def test_sections_are_walked_with_n_and_back_with_shift():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        screen = await opened(made, pilot, "m", "end")
        view = screen.query_one("#changes")
        parts = [view.thing.section.part]
        for _ in range(9):
            await pilot.press("n")
            parts.append(view.thing.section.part)
        assert list(dict.fromkeys(parts)) == ["gradient ops", "gradient frontier", "generators", "gradient map"]
        await pilot.press(*"NNN")
        assert view.thing.section.part == "gradient ops"


async def test_s_switches_between_mark_and_last_stop_x_swaps_and_g_takes_any_event():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        screen = await opened(made, pilot, "m", "3", "o", "o")
        marked = lines(made)
        assert screen.one == Moment(made.session.trace, 60)
        await pilot.press("s")
        await settled(made, pilot)
        assert screen.one.position > 60
        assert len(lines(made)) < len(marked)
        await pilot.press("s", "x")
        await settled(made, pilot)
        assert screen.other.position == 60
        assert any(line.startswith("− ") for line in lines(made))
        assert not any(line.startswith("+ ") for line in lines(made))
        await pilot.press("g", *"9999", "enter")
        assert "an event by its number" in str(made.screen.query_one("#hint").render())
        made.screen.query_one("Input").value = "0"
        await pilot.press("enter")
        await settled(made, pilot)
        assert (screen.one.position, screen.other.position) == (0, made.session.position)
        assert any(line.startswith("Versions") for line in lines(made))


async def test_a_mark_outlives_another_walk():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("end", "m")
        other = session("shared")
        made.debug_screen.open(other)
        screen = await opened(made, pilot)
        assert screen.one.trace is not screen.other.trace
        assert any(line.startswith("− ") for line in lines(made))
        assert any(line.startswith("+ ") for line in lines(made))
        await pilot.press("enter")
        assert "different walks" in told(made)
        await pilot.press("escape")
        assert made.screen is made.debug_screen


async def test_nasty_names_are_drawn_harmlessly():
    made = app("nasty", 5)
    async with made.run_test(size=(80, 24)) as pilot:
        await opened(made, pilot, "m", "end")
        await pilot.press("end", "pageup", "home")
        for line in lines(made):
            assert "\x1b" not in line
            assert len(line) < 400


async def test_help_and_palette_know_the_keys():
    made = app("lenet", 60)
    async with made.run_test(size=(120, 40)) as pilot:
        screen = await opened(made, pilot, "o")
        offered = [each for _, _, bindings in screen.offered() for each in bindings]
        assert len({each.id for each in offered}) == len(offered)
        assert all(each.tooltip and each.id for each in offered)
        titles = [command.title for command in made.get_system_commands(screen)]
        assert any(title.startswith("Swap") for title in titles)
        await pilot.press("question_mark")
        assert any(left == "s" for _, left, _ in made.screen.query_one("Lines").things)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_picture(snap_compare, size):
    async def press(pilot):
        await pilot.press("m", *"25o", "d")
        await pilot.app.workers.wait_for_complete()
        pilot.app.clear_notifications()
        await pilot.pause()
        await pilot.pause()

    assert snap_compare(app("shared", at_kind("shared", "seed")), terminal_size=size, run_before=press)
