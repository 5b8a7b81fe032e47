"""Long nets are shown before the walk over them has ended, and it goes on while keys are answered."""

import time

from gradviz.autodiff import trace
from gradviz.debug import Breakpoint, Session
from gradviz.tui import app as module
from gradviz.tui.app import GradvizApp, keep, opened

from .nets import long


def lazy(count=4000):
    made = Session(trace(long(count), lazy=True))
    made.goto(made.trace.recording.plays)
    return made


async def finished(made, pilot):
    start = time.monotonic()
    while not made.debug_screen.desk.trace.finished:
        assert time.monotonic() - start < 30
        await pilot.pause(0.02)
    await pilot.pause(0.05)


async def test_the_walk_goes_on_behind_the_screen():
    made = GradvizApp(lazy())
    async with made.run_test(size=(120, 40)) as pilot:
        assert not made.session.trace.finished
        await pilot.press("n", "n", "o")
        assert made.session.event.phase != "end"
        await finished(made, pilot)
        header = "".join(text for row in made.screen.query_one("#header").rows(120) for text, _ in row)
        assert f"/{made.session.last}" in header
        assert "walking" not in header


async def test_running_goes_on_as_the_walk_does():
    made = GradvizApp(lazy())
    made.session.breakpoints.append(Breakpoint("op", 5))
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("c")
        await finished(made, pilot)
        assert (made.session.event.kind, made.session.event.op_index) == ("enter", 5)


async def test_the_end_is_the_end_of_the_whole_walk_unless_something_else_is_pressed():
    made = GradvizApp(lazy())
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("end")
        await finished(made, pilot)
        assert made.session.event.kind == "finish"
    made = GradvizApp(lazy())
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("end", "home")
        await finished(made, pilot)
        assert made.session.position == 0


async def test_an_op_that_was_not_reached_yet_is_travelled_to():
    made = GradvizApp(lazy())
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "g")
        await finished(made, pilot)
        assert (made.session.event.kind, made.session.event.op_index) == ("enter", 3)


async def test_pictures_take_in_what_the_walk_adds():
    made = GradvizApp(lazy())
    async with made.run_test(size=(120, 40)) as pilot:
        before = len(made.debug_screen.desk.index.sums)
        await finished(made, pilot)
        index = made.debug_screen.desk.index
        assert len(index.sums) > before
        last = made.session.trace.recording.gradient_ops[-1].outputs[0]
        assert index.gradient_writer(last, 10**9) is not None


def test_long_nets_are_opened_lazily_and_come_back_where_they_were_left(monkeypatch):
    monkeypatch.setattr(module, "LAZY", 100)
    first = opened(long(400))
    assert not first.trace.finished
    first.trace.advance(50)
    first.goto(500)
    keep(first)
    again = opened(long(400))
    assert again.position == 500
    assert opened(long(400), at="last").event.kind == "finish"
