"""Names that a careless screen would obey, hide or choke on."""

import pytest

from gradviz.autodiff import trace
from gradviz.debug import Session
from gradviz.tui.app import GradvizApp
from gradviz.tui.screens.ys import YsScreen

from .nets import NASTY, app, nasty


def seen(made):
    """What stands on the screen, as text."""
    return "\n".join("".join(segment.text for segment in strip) for strip in made.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_nasty_names_are_drawn_at_many_events_and_do_nothing(size):
    made = app("nasty", 0)
    async with made.run_test(size=size) as pilot:
        for name in ("frontier", "generators", "map", "versions", "locals"):
            made.screen.query_one("#state").turn_to(name)
            for _ in range(4):
                await pilot.press("1", "0", "n")
                text = seen(made)
                assert "\x1b" not in text
                assert "\x07" not in text
                assert "\u202e" not in text
        assert made.is_running


async def test_markup_in_names_stays_text():
    made = app("nasty", 0)
    async with made.run_test(size=(200, 60)) as pilot:
        await pilot.press("end")
        assert "[red]w[/red]" in seen(made)
        assert "a\\e[31m\\x07\\nb" in seen(made)


async def test_a_name_of_5000_letters_keeps_its_ends():
    made = app("nasty", 0)
    async with made.run_test(size=(120, 40)) as pilot:
        op = list(NASTY).index("long")
        await pilot.press(str(op), "g")
        text = seen(made)
        assert "x…x" in text
        assert "x" * 121 not in text


async def test_dialogs_take_nasty_names(tmp_path):
    made = app("nasty", 30)
    async with made.run_test(size=(120, 40)) as pilot:
        for key in ("y", "B", "e", "question_mark", "G", "w"):
            await pilot.press(key)
            await made.workers.wait_for_complete()
            await pilot.pause()
            assert "\x1b" not in seen(made)
            await pilot.press("escape")
        await pilot.press("slash", *"[", "enter", "escape", "alt+1", "b", "p", "alt+4", "p", "alt+3", "p")
        assert made.is_running


async def test_nasty_ys_can_be_chosen():
    made = app("nasty", 30)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("y")
        screen = made.screen
        assert isinstance(screen, YsScreen)
        lines = screen.query_one("Lines")
        for name in (NASTY["markup"], NASTY["control"]):
            lines.select(lines.things.index(name))
            await pilot.press("space")
        await pilot.press("enter")
        await made.workers.wait_for_complete()
        await pilot.pause()
        assert list(made.debug_screen.session.trace.ys) == ["loss", NASTY["markup"], NASTY["control"]]


async def test_a_failure_with_nasty_names_is_diagnosed():
    net = nasty()
    net.op[0].type = "Sigmoid"
    del net.op[0].input[1:]
    net.op.add(type="Relu", input=[NASTY["markup"]], output=[NASTY["markup"]])
    made = Session(trace(net, ["loss"]))
    made.to_end()
    assert made.trace.error is not None
    running = GradvizApp(made)
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        assert "[red]w[/red]" in seen(running)


async def test_an_empty_net_opens():
    from gradviz.proto import NetDef

    running = GradvizApp(Session(trace(NetDef())))
    async with running.run_test(size=(80, 24)) as pilot:
        letters = [*"nNoOsSfFcCbzpt"]
        panes = [f"alt+{digit}" for digit in range(1, 7)]
        keys = [*letters, "plus", "minus", *panes, "up", "down", "enter", "end", "home"]
        await pilot.press(*keys, "escape", "y", "escape", "G")
        await running.workers.wait_for_complete()
        await pilot.press("escape", "x")
        await running.workers.wait_for_complete()
        await pilot.press("escape")
        assert running.is_running
