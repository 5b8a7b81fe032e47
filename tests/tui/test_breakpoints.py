"""The list of breakpoints: conditions, edits, hits to let pass."""

from gradviz.debug import Breakpoint
from gradviz.debug.breakpoints import parse
from gradviz.tui.screens.prompt import Prompt

from .nets import app

RENAME = 'kind == "rename" and blob == "w"'


async def answer(pilot, text):
    assert isinstance(pilot.app.screen, Prompt)
    pilot.app.screen.query_one("Input").value = text
    await pilot.press("enter")


async def test_a_condition_is_added_and_running_stops_there():
    made = app("shared", 0)
    async with made.run_test() as pilot:
        await pilot.press("B", "a")
        await answer(pilot, RENAME)
        assert made.session.breakpoints == [Breakpoint("when", RENAME)]
        await pilot.press("escape", "c")
        assert (made.session.event.kind, made.session.event.blob) == ("rename", "w")
        assert "breakpoint when" in str(made.screen.query_one("#sentence").render())


async def test_a_mistake_is_said_with_its_column_and_can_be_mended():
    made = app("shared", 0)
    async with made.run_test() as pilot:
        await pilot.press("B", "a")
        await answer(pilot, 'kind = "rename"')
        assert isinstance(made.screen, Prompt)
        assert "column 6" in str(made.screen.query_one("#hint").render())
        await answer(pilot, 'kind == "rename"')
        assert [each.kind for each in made.session.breakpoints] == ["when"]


async def test_a_breakpoint_is_edited_and_keeps_what_was_set():
    made = app("shared", 0)
    made.session.breakpoints += [Breakpoint("blob", "w", enabled=False, ignore=3), Breakpoint("op", 2)]
    async with made.run_test() as pilot:
        await pilot.press("B", "e")
        assert made.screen.query_one("Input").value == "blob:w"
        await answer(pilot, "blob:w if version > 0")
        wanted = Breakpoint("blob", "w", enabled=False, ignore=3, condition="version > 0")
        assert made.session.breakpoints == [wanted, Breakpoint("op", 2)]
        await pilot.press("enter")  # opens the same as e
        await answer(pilot, "op:2")  # there is one already: it is no second one
        assert made.session.breakpoints == [Breakpoint("op", 2, enabled=False, ignore=3)]
        await pilot.press("e", "escape")
        assert made.session.breakpoints == [Breakpoint("op", 2, enabled=False, ignore=3)]


async def test_hits_are_let_pass_and_forgotten():
    made = app("shared", 0)
    made.session.breakpoints.append(parse('blob:w if phase == "check"'))
    checks = [i for i, e in enumerate(made.session.trace.events) if e.phase == "check" and "w" in e.blobs]
    async with made.run_test() as pilot:
        await pilot.press("B", "i")
        await answer(pilot, "x")
        assert "a number of hits" in str(made.screen.query_one("#hint").render())
        await answer(pilot, "2")
        await pilot.press("escape", "c")
        assert made.session.position == checks[2]
        await pilot.press("B")
        assert made.session.breakpoints[0].hits == 3
        await pilot.press("r")
        assert made.session.breakpoints[0].hits == 0


async def test_nothing_to_edit_is_no_error():
    made = app("shared", 0)
    async with made.run_test() as pilot:
        await pilot.press("B", "e", "enter", "i", "r", "d", "space", "plus")
        made.session.watch("w")
        await pilot.press("escape", "B", "e", "enter", "i", "r", "plus", "space")
        assert not made.session.watches[0].enabled
