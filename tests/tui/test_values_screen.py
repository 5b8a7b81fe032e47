"""The Values screen looks into tensors, and holds a run against differences and against other runs."""

import numpy as np
import pytest

from gradviz.tui.screens.figures import COLUMNS, VERDICT, ulps
from gradviz.tui.tensor import Window, bars, element, histogram, parse_index, remarkable

from .nets import app

SEED = 7


def made(name="shared", at=40, **changed):
    """An app on a net with feeds from a seed."""
    random = np.random.default_rng(SEED)
    shapes = {"x1": (2, 3), "x2": (2, 3), "w": (3, 3), "b": (3,)}
    feeds = {blob: random.standard_normal(shape).astype("float32") for blob, shape in shapes.items()}
    return app(name, at, feeds={**feeds, **changed})


def told(app):
    return str(app.screen.query_one("#told").render())


async def settled(app, pilot):
    await app.workers.wait_for_complete()
    await pilot.pause()
    await pilot.pause()


async def opened(app, pilot, *keys):
    await pilot.press("x")
    await settled(app, pilot)
    for key in keys:
        await pilot.press(key)
        await settled(app, pilot)
    return app.screen


def text_of(pane):
    return ["".join(text for text, _ in row) for row in pane.rows(pane.content_size.width)]


# Histograms.


@pytest.mark.parametrize("seed", range(5))
def test_a_histogram_counts_every_finite_element_once(seed):
    random = np.random.default_rng(seed)
    array = random.standard_normal(random.integers(1, 500)).astype("float32")
    found = histogram(array, 17)
    counts, edges = np.histogram(array.astype("float64"), 17)
    assert sum(found.counts) == array.size
    assert (found.low, found.high) == (array.min(), array.max())
    if array.size > 1:
        assert np.abs(np.subtract(found.counts, counts)).sum() <= 2  # an element on an edge may round either way
        assert edges[0] == found.low


def test_histograms_of_what_cannot_be_counted_say_why():
    assert histogram(np.array([np.nan, np.inf]), 4).why == "no finite element"
    assert histogram(np.array([np.nan, 1.0]), 4).left_out == 1
    assert histogram(np.zeros((0, 3)), 4).why == "no elements"
    assert histogram(np.array([b"a"]), 4).why
    assert histogram("no array", 4).why
    assert sum(histogram(np.full(9, 2.5), 4).counts) == 9
    assert sum(histogram(np.array([True, False, True]), 4).counts) == 3
    assert sum(histogram(np.array([-1.7e308, 1.7e308]), 4).counts) == 2


def test_large_tensors_are_sampled():
    found = histogram(np.zeros(2_500_000, "float32"), 4)
    assert found.stride == 3
    assert sum(found.counts) == -(-2_500_000 // 3)


def test_bars_are_as_high_as_their_counts_and_never_empty_where_something_is():
    assert bars((0, 1, 4, 8), 1) == [" ▁▄█"]
    assert bars((0, 8, 16), 2) == ["  █", " ██"]
    assert bars((1, 10_000), 2) == [" █", "▁█"]
    assert bars((), 2) == ["", ""]


# The window.


def test_every_element_can_be_reached_and_the_edges_hold():
    window = Window((2, 3, 4))
    window.move(99, 99)
    window.step(99)
    assert window.index == [1, 2, 3]
    window.move(-99, -99)
    window.step(-99)
    assert window.index == [0, 0, 0]


def test_turning_goes_through_all_pairs_of_axes_and_back():
    window = Window((2, 3, 4))
    seen = []
    for _ in range(6):
        seen.append((window.down, window.across))
        assert window.fixed in window.others
        window.turn()
    assert seen[0] == (window.down, window.across) == (1, 2)
    assert len(set(seen)) == 6


def test_scalars_vectors_and_empty_tensors_stand_still():
    for shape in ((), (3,), (0,), (2, 0)):
        window = Window(shape)
        for step in (window.turn, window.choose, lambda w=window: w.move(1, 1), lambda w=window: w.step(1)):
            step()
        assert len(window.index) == len(shape)
        assert all(0 <= i < max(size, 1) for i, size in zip(window.index, shape, strict=True))


def test_indices_are_read_as_they_are_typed():
    assert parse_index("[1, -1]", (2, 3)) == (1, 2)
    assert parse_index("", ()) == ()
    for text, shape in (("1", (2, 3)), ("2,0", (2, 3)), ("0,-4", (2, 3)), ("a,b", (2, 3))):
        with pytest.raises(ValueError, match=r"axes|axis|index"):
            parse_index(text, shape)


def test_what_is_remarkable():
    assert remarkable(np.array([[1.0, -9.0], [3.0, 4.0]]))[0] == (0, 1)
    assert remarkable(np.array([1.0, np.nan, 99.0]))[0] == (1,)
    assert remarkable(np.array([-(2**31), 5], "int32"))[0] == (0,)
    assert remarkable(np.array([b"x"])) is None
    assert remarkable(np.zeros(0)) is None


def test_elements_are_written_with_their_digits():
    assert element(np.float32(1 / 3), 3) == "0.333"
    assert element(np.int32(123456), 2) == "123456"
    assert element(b"abc", 3) == "abc"
    assert ulps(2**62) == "5e+18"
    assert all(len(ulps(each)) <= 7 for each in (None, 0, 999_999, 1_000_000, 2**62))


# The keys.


async def test_v_shows_what_is_in_a_value_where_there_is_room_for_both():
    made_app = made()
    async with made_app.run_test(size=(120, 24)) as pilot:
        screen = await opened(made_app, pilot)
        assert not screen.query_one("#look").display
        await pilot.press("v")
        await pilot.pause()
        assert screen.query_one("#histogram").display
        assert screen.query_one("#slice").display
        assert any("█" in line for line in text_of(screen.query_one("#histogram")))
        await pilot.press("v")
        assert not screen.query_one("#look").display


async def test_v_shows_one_after_the_other_in_a_small_terminal():
    made_app = made()
    async with made_app.run_test(size=(80, 24)) as pilot:
        screen = await opened(made_app, pilot)
        shown = []
        for _ in range(4):
            await pilot.press("v")
            look = screen.query_one("#look")
            shown.append([each.id for each in look.children if look.display and each.display])
            assert screen.query_one("#figures").size.height > 4
        assert shown == [["histogram"], ["slice"], [], ["histogram"]]


async def test_the_window_walks_with_keys_and_shows_what_is_there():
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 3, 4)).astype("float32")
    made_app = app("logarithm", 20, feeds={"x": x})
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot, "tab")
        pane = screen.query_one("#slice")
        assert pane.has_focus
        await pilot.press("down", "right", "right", "full_stop")
        assert pane.window.index == [1, 1, 2]
        assert f"= {x[1, 1, 2]:.9g}" in text_of(pane)[0]
        await pilot.press("end", "pagedown")
        assert pane.window.index == [1, 2, 3]
        await pilot.press("home", "pageup", "comma")
        assert pane.window.index == [0, 0, 0]
        await pilot.press("left", "up")
        assert pane.window.index == [0, 0, 0]
        assert f"{x[0, 1, 1]:.4g}" in " ".join(text_of(pane))
        await pilot.press("plus", "plus")
        assert f"{x[0, 1, 1]:.6g}" in " ".join(text_of(pane))
        await pilot.press("minus", "minus", "minus")
        assert pane.window.digits == 3
        await pilot.press("t")
        assert (pane.window.down, pane.window.across, pane.window.fixed) == (0, 2, 1)
        await pilot.press("a", "full_stop")
        assert pane.window.index == [0, 1, 0]
        await pilot.press("escape")
        assert screen.query_one("#figures").has_focus


async def test_i_goes_to_an_index_and_w_to_the_worst_element():
    x = np.ones((2, 5), "float32")
    x[1, 3] = np.nan
    made_app = app("logarithm", 20, feeds={"x": x})
    async with made_app.run_test(size=(80, 24)) as pilot:
        screen = await opened(made_app, pilot)
        await pilot.press("i")
        field = made_app.screen.query_one("Input")
        field.value = "9,9"
        await pilot.press("enter")
        assert "axis 0 has 2 elements" in str(made_app.screen.query_one("#hint").render())
        field.value = "1,-1"
        await pilot.press("enter")
        pane = screen.query_one("#slice")
        assert pane.window.index == [1, 4]
        await pilot.press("w")
        assert pane.window.index == [1, 3]
        assert "not finite: [1, 3]" in told(made_app)


async def test_d_looks_at_the_gradient():
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot)
        table = screen.query_one("#figures")
        table.select(next(i for i, each in enumerate(table.things) if each.gradient == "w_grad"))
        await pilot.pause()
        await pilot.press("d")
        pane = screen.query_one("#slice")
        assert np.array_equal(pane.array, screen.values.workspace.value("w_grad"))
        assert sum(line.count("mean") for line in text_of(screen.query_one("#histogram"))) == 2
        table.select(next(i for i, each in enumerate(table.things) if not each.gradient))
        await pilot.pause()
        await pilot.press("d")
        assert "no gradient belongs" in told(made_app)


async def test_clicks_put_the_cursor_on_an_element():
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot)
        pane = screen.query_one("#slice")
        before = [*pane.window.index]
        line = text_of(pane)[3]
        column = len(line.rstrip()) - 1
        await pilot.click("#slice", offset=(column, 3))
        assert pane.window.index == [1, 2] != before


async def test_text_and_odd_values_are_shown_harmlessly():
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot)
        from gradviz.tui.panes.look import Sample

        for value in (np.array([b"[red]\x1b"], object), np.zeros((0, 4)), np.float32(3).reshape(()), {"no": "array"}):
            sample = Sample("[/]\x1b", value, None)
            screen.query_one("#slice").draw(sample)
            screen.query_one("#histogram").draw([sample], 0)
            await pilot.pause()
            assert all("\x1b" not in line for line in text_of(screen.query_one("#slice")))


# Checks and comparisons.


async def test_g_checks_the_gradients_and_says_what_agrees():
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot, "g")
        assert "gradient check: all of" in told(made_app)
        judged = {each.blob: each.verdict for each in screen.values.figures if each.verdict is not None}
        assert {"w", "b", "x1", "x2"} <= set(judged)
        assert all(each.ok for each in judged.values())
        assert screen.seen(118)[0][0] == VERDICT
        await pilot.press("r")
        await settled(made_app, pilot)
        assert screen.judgement is None
        assert all(COLUMNS[i].title != "verdict" for i, _ in screen.seen(118))


async def test_a_gradient_that_is_off_comes_first(monkeypatch):
    from gradviz.execute import gradcheck

    right = gradcheck._Function.analytic

    def wrong(self, blob, shape):
        gradient = right(self, blob, shape)
        if blob == "w":
            gradient = gradient.copy()
            gradient[1, 2] += 1
        return gradient

    monkeypatch.setattr(gradcheck._Function, "analytic", wrong)
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot, "g")
        assert "1 of 4 gradients differs" in told(made_app)
        first = screen.query_one("#figures").things[0]
        assert (first.blob, first.verdict.ok, first.verdict.worst) == ("w", False, (1, 2))
        await pilot.press("w")
        assert screen.side == 1
        assert screen.query_one("#slice").window.index == [1, 2]


async def test_c_compares_with_a_file_and_what_differs_comes_first(tmp_path):
    made_app = made()
    async with made_app.run_test(size=(80, 24)) as pilot:
        screen = await opened(made_app, pilot)
        workspace = screen.values.workspace
        other = {name: np.array(workspace.value(name)) for name in ("w", "h1", "s", "w_grad")}
        other["s"][1, 0] += 0.5
        np.savez(tmp_path / "other.npz", **other, more=np.ones(1))
        await pilot.press("c", *"nothing", "enter")
        assert "there is no file nothing" in str(made_app.screen.query_one("#hint").render())
        made_app.screen.query_one("Input").value = "other.npz"
        await pilot.press("enter")
        await settled(made_app, pilot)
        assert "against other.npz: 1 of 4 values differs" in told(made_app)
        first = screen.query_one("#figures").things[0]
        assert (first.blob, first.verdict.worst, first.verdict.ok) == ("s", (1, 0), False)
        assert first.verdict.max_abs == pytest.approx(0.5, rel=1e-4)
        await pilot.press("down", "up")
        assert "1 of 6 elements differ" in told(made_app)
        ok = {each.blob for each in screen.values.figures if each.verdict is not None and each.verdict.ok}
        assert ok == {"w", "h1", "w_grad"}


async def test_a_saved_run_is_compared_version_by_version(tmp_path):
    x = np.array([3.0, -1.0], "float32")
    feeds = {"x": np.ones((1, 2), "float32"), "w": np.ones((2, 2), "float32"), "b": x, "w2": np.eye(2, dtype="f")}
    made_app = app("mismatch", 5, feeds={**feeds, "b2": x})
    async with made_app.run_test(size=(80, 24)) as pilot:
        screen = await opened(made_app, pilot)
        screen.values.workspace.save(tmp_path / "run.npz", every_version=True)
        await pilot.press("c")
        made_app.screen.query_one("Input").value = "run.npz"
        await pilot.press("enter")
        await settled(made_app, pilot)
        verdicts = {(each.blob, each.version): each.verdict for each in screen.values.figures}
        assert verdicts["s", 0].ok
        assert verdicts["s", 1].ok
        assert "agree" in told(made_app)
        await pilot.press("g")
        assert "the walk failed" in told(made_app)


async def test_a_check_can_be_cancelled_and_files_that_are_none_are_refused_in_a_line(tmp_path, monkeypatch):
    import threading

    started = threading.Event()
    made_app = made()
    (tmp_path / "bad.npz").write_text("no archive")
    async with made_app.run_test(size=(80, 24)) as pilot:
        screen = await opened(made_app, pilot)

        def slow(*args, progress, cancel, **options):
            from gradviz.execute.gradcheck import GradientReport

            progress(0, 3, "w")
            started.set()
            assert cancel.wait(20)
            return GradientReport(notices=["cancelled after 0 of 3 blobs"])

        monkeypatch.setattr("gradviz.execute.check_gradients", slow)
        await pilot.press("g")
        started.wait(20)
        await pilot.press("escape")
        await settled(made_app, pilot)
        assert not screen.busy
        assert "cancelled" in told(made_app)
        await pilot.press("c")
        made_app.screen.query_one("Input").value = "bad.npz"
        await pilot.press("enter")
        await settled(made_app, pilot)
        assert "bad.npz" in told(made_app)


def test_check_gradients_tells_how_far_it_is_and_stops_when_it_is_told():
    import threading

    from gradviz.execute import check_gradients

    from .nets import shared

    feeds = made().feeds
    seen = []
    whole = check_gradients(shared(), feeds, progress=lambda *each: seen.append(each))
    assert seen[0][:2] == (0, len(whole.rows))
    assert seen[-1][:2] == (len(whole.rows), len(whole.rows))
    cancel = threading.Event()
    part = check_gradients(shared(), feeds, cancel=cancel, progress=lambda done, *_: done == 1 and cancel.set())
    assert part.rows == whole.rows[:1]
    assert f"cancelled after 1 of {len(whole.rows)} blobs" in part.notices


# Help and palette.


async def test_help_and_palette_know_the_keys():
    made_app = made()
    async with made_app.run_test(size=(120, 40)) as pilot:
        screen = await opened(made_app, pilot)
        offered = [each for _, _, bindings in screen.offered() for each in bindings]
        assert len({each.id for each in offered}) == len(offered)
        assert all(each.tooltip and each.id for each in offered)
        titles = [command.title for command in made_app.get_system_commands(screen)]
        assert any("Check gradients  g" in title for title in titles)
        assert any("Slice behind  ." in title for title in titles)
        command = next(each for each in made_app.get_system_commands(screen) if "Next axis" in each.title)
        await command.callback()
        await pilot.press("question_mark")
        lines = made_app.screen.query_one("Lines").things
        assert any(left == "v" for _, left, _ in lines)
        assert any("In the elements" in text for _, _, text in lines)


# Pictures.


def _run(*keys):
    async def press(pilot):
        await pilot.press("x")
        for key in (None, *keys):
            if key is not None:
                await pilot.press(key)
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
            await pilot.pause()

    return press


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("both", (120, 40), ("down", "down")),
        ("histogram", (80, 24), ("down", "down", "v")),
        ("slice", (80, 24), ("down", "down", "v", "v", "right", "d")),
        ("check", (100, 30), ("g", "v")),
    ],
)
def test_pictures(snap_compare, name, size, keys):
    assert snap_compare(made(), terminal_size=size, run_before=_run(*keys))
