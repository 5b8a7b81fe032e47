"""Golden pictures of the screens, at the sizes that people have, in dark, light and ansi themes and without colour."""

import pytest

from .nets import app, at_kind

SIZES = {"small": (80, 24), "usual": (120, 40), "large": (200, 60)}


@pytest.mark.parametrize("size", SIZES)
def test_debug_screen_in_mid_walk(snap_compare, size):
    assert snap_compare(app("lenet", at_kind("lenet", "dense", 6)), terminal_size=SIZES[size])


def test_debug_screen_in_a_tiny_terminal(snap_compare):
    assert snap_compare(app("lenet", at_kind("lenet", "dense", 6)), terminal_size=(44, 14))


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark", "ansi-light"])
def test_debug_screen_in_other_themes(snap_compare, theme):
    made = app("shared", at_kind("shared", "accumulate"))
    made.theme = theme
    assert snap_compare(made, terminal_size=(100, 30))


def test_debug_screen_without_colour(snap_compare, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app("shared", at_kind("shared", "accumulate")), terminal_size=(100, 30))


def test_a_failure(snap_compare):
    assert snap_compare(app("mismatch"), terminal_size=(120, 40))


def test_nasty_names(snap_compare):
    assert snap_compare(app("nasty", 120), terminal_size=(120, 40))


@pytest.mark.parametrize("tab", ["frontier", "generators", "map", "versions", "watches"])
def test_tabs_of_the_state(snap_compare, tab):
    made = app("embedding", at_kind("embedding", "accumulate"))
    made.session.watch("table")

    async def turn(pilot):
        pilot.app.screen.query_one("#state").turn_to(tab)

    assert snap_compare(made, terminal_size=(100, 30), run_before=turn)


async def _still(pilot):
    """No cursor blinks in a picture, and threads are done."""
    for field in pilot.app.screen.query("Input"):
        field.cursor_blink = False
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def _pressed(*keys):
    async def press(pilot):
        await pilot.press(*keys)
        await _still(pilot)

    return press


OTHERS = {
    "diagnosis": ("mismatch", None, ["enter"]),
    "diagnosis-mixed": ("mixed", None, ["enter"]),
    "ys": ("lenet", 40, ["y"]),
    "export": ("lenet", 40, ["e"]),
    "help": ("lenet", 40, ["question_mark"]),
    "goto": ("lenet", 40, ["g"]),
    "find": ("lenet", 40, ["slash"]),
    "breakpoints": ("lenet", 40, ["b", "B"]),
    "drawing": ("lenet", 40, ["G"]),
    "feeds": ("logarithm", 20, ["x"]),
}


@pytest.mark.parametrize("screen", OTHERS)
def test_other_screens(snap_compare, screen):
    name, at, keys = OTHERS[screen]
    made = app(name, at)
    if made.session.trace.error is not None:
        made.session.trace.error.examine = None  # which remedies there are is tested elsewhere
    assert snap_compare(made, terminal_size=(100, 30), run_before=_pressed(*keys))


def test_values(snap_compare):
    async def run(pilot):
        await pilot.press("x")
        await _still(pilot)
        await pilot.press("enter")
        await pilot.press(*"2x3", "enter", "f")
        await _still(pilot)
        await pilot.pause(0.1)

    assert snap_compare(app("logarithm", 20), terminal_size=(120, 30), run_before=run)
