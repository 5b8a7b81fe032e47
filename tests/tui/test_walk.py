"""A long random walk of keys: it never raises, and leaves the screen as one drawn from scratch at the same place."""

import random

import pytest

from gradviz.debug import Session
from gradviz.tui.app import GradvizApp

from .nets import app

KEYS = [
    *"nNoOsSfFcCbztp",
    *("space", "left", "right", "home", "end", "up", "down", "plus", "minus", "tab", "shift+tab", "asterisk"),
    *("number_sign", "pageup", "pagedown", "1", "2", "5", "0", "i", "u"),
    *("alt+1", "alt+2", "alt+3", "alt+4", "alt+5", "alt+6", "escape"),
]
FEWER = ["enter", "escape"]


def picture(made):
    return [
        [(segment.text, segment.style) for segment in strip.simplify()]
        for strip in made.screen._compositor.render_strips()
    ]


def differences(one, other):
    """Lines that are not alike: where their pieces differ."""
    return [
        (y, [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]] or (len(left), len(right)))
        for y, (left, right) in enumerate(zip(picture(one), picture(other), strict=True))
        if left != right
    ]


def drawn_anew(made):
    """An app that starts where `made` stands."""
    old = made.debug_screen
    session = Session(old.session.trace)
    session.breakpoints, session.watches = old.session.breakpoints, old.session.watches
    session.goto(old.session.position)
    fresh = GradvizApp(session)
    desk = fresh.debug_screen.desk
    desk.before, desk.stop = old.desk.before, old.desk.stop
    desk.folded, desk.hops = old.desk.folded, old.desk.hops
    return fresh


@pytest.mark.parametrize(
    ("name", "size", "seed"),
    [("lenet", (120, 40), 1), ("shared", (80, 24), 2), ("mismatch", (120, 40), 3), ("nasty", (40, 12), 4)],
)
async def test_random_keys(name, size, seed):
    choose = random.Random(seed)
    made = app(name, 0)
    async with made.run_test(size=size) as pilot:
        for _ in range(2):
            for _ in range(15):
                key = choose.choice(KEYS)
                await pilot.press(key)
                if made.screen is not made.debug_screen:
                    await pilot.press("escape")
            await pilot.press("escape", "escape", "n")
            made.clear_notifications()
            await pilot.pause()
            assert made.screen is made.debug_screen
            if size[0] < 60:
                continue
            fresh = drawn_anew(made)
            async with fresh.run_test(size=size) as other:
                state = fresh.screen.query_one("#state")
                state.turn_to(made.screen.query_one("#state").name_of_tab)
                shown = made.screen.query_one("#panes").has_class("-graph")
                if shown:
                    fresh.debug_screen.show_pane("graph", focus=False)
                await other.pause()
                await other.pause()
                assert differences(made, fresh) == []
