"""The tutorial: each step is done by the keys that its card names, and by nothing less."""

import pytest

from gradviz.debug import saved
from gradviz.tui.screens.opening import OpeningApp, OpeningScreen
from gradviz.tui.screens.tutorial import DONE, STEPS, Card, TutorialApp, TutorialScreen

TYPED = {'kind == "rename"': list('kind == "rename"')}


def keys_of(step):
    """The keys that a card names."""
    text = step.press
    for phrase in TYPED:
        text = text.replace(phrase, f" {phrase.replace(' ', '~')} ")
    for word in text.split():
        phrase = word.replace("~", " ")
        yield TYPED[phrase] if phrase in TYPED else [{"esc": "escape"}.get(word, word)]


def tutorial(app):
    return next(each for each in app.screen_stack if isinstance(each, TutorialScreen))


def card(app):
    return str(tutorial(app).query_one(Card).render())


async def do(pilot, step):
    for keys in keys_of(step):
        await pilot.press(*({" ": "space", "=": "equals_sign", '"': "quotation_mark"}.get(k, k) for k in keys))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_ten_steps_are_done_as_the_cards_say(size):
    assert len(STEPS) == 10
    app = TutorialApp()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for number, step in enumerate(STEPS):
            screen = tutorial(app)
            assert (screen.number, screen.step) == (number, step)
            shown = card(app)
            assert f"{number + 1}/10" in shown and step.press in shown
            await do(pilot, step)
            if step.screen == "WhyScreen":
                assert screen.number == number, "it waits until the user comes back"
                await pilot.press("escape")
                await pilot.pause()
        assert isinstance(app.screen, TutorialScreen)
        assert app.screen.step is DONE
        assert app.screen.session.trace.error is None
        assert "That is all" in card(app)
        await pilot.press("escape")
    assert app.return_code == 0
    assert saved.recent() == []


async def test_other_keys_do_not_advance():
    app = TutorialApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("N", "home", "5", "b", "w", "escape")
        await pilot.pause()
        assert app.screen.number == 0
        await pilot.press("end", "home")
        assert app.screen.number == 0


async def test_every_step_can_be_shown():
    app = TutorialApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for number in range(len(STEPS)):
            assert app.screen.number == number
            await pilot.press("ctrl+n")
            await pilot.pause()
        assert app.screen.step is DONE
        await pilot.press("ctrl+n")


async def test_the_opening_screen_leads_there_and_back():
    app = OpeningApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, TutorialScreen)
        await pilot.press("tab", "escape")
        assert isinstance(app.screen, TutorialScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, OpeningScreen)


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (44, 14)])
async def test_card_panes_and_hints_are_seen(size):
    app = TutorialApp()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "1/10" in card(app)
        *_, above, hints = sorted(app.screen.children, key=lambda each: each.region.y)
        assert isinstance(above, Card) and hints.id == "hints"
        assert above.region.height >= 2
        assert hints.region.bottom == size[1]
        assert app.screen.query_one("#algorithm").region.height >= 3
        assert app.screen.query_one("#algorithm").parent.id == "panes"
        await pilot.press("n")
        await pilot.pause()
        assert app.screen.number == 1


def test_picture(snap_compare):
    assert snap_compare(TutorialApp(), terminal_size=(120, 40), press=["n"])
