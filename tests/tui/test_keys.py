"""Every key of the debug screen does what the help says."""

from pathlib import Path

from gradviz.debug import Breakpoint
from gradviz.tui import keys
from gradviz.tui.panes.algorithm import AlgorithmPane
from gradviz.tui.panes.graph import GraphPane
from gradviz.tui.panes.state import StatePane
from gradviz.tui.screens.breakpoints import BreakpointsScreen
from gradviz.tui.screens.diagnosis import DiagnosisScreen
from gradviz.tui.screens.diff import DiffScreen
from gradviz.tui.screens.drawing import DrawingScreen
from gradviz.tui.screens.export import ExportScreen
from gradviz.tui.screens.help import HelpScreen
from gradviz.tui.screens.prompt import Prompt
from gradviz.tui.screens.values import ValuesScreen
from gradviz.tui.screens.why import WhyScreen
from gradviz.tui.screens.ys import YsScreen

from .nets import app, at_kind, session

START = 60

MOVES = {
    "n": lambda s: s.step(),
    "space": lambda s: s.step(),
    "right": lambda s: s.step(),
    "N": lambda s: s.back(),
    "left": lambda s: s.back(),
    "s": lambda s: s.step_phase(),
    "S": lambda s: s.back_phase(),
    "o": lambda s: s.step_op(),
    "O": lambda s: s.back_op(),
    "f": lambda s: s.out(),
    "F": lambda s: s.to_start_of_op(),
    "c": lambda s: s.run(),
    "C": lambda s: s.run_back(),
    "home": lambda s: s.to_start(),
    "end": lambda s: s.to_end(),
    "5,n": lambda s: s.step(5),
    "1,0,N": lambda s: s.back(10),
    "2,o": lambda s: s.step_op(2),
    "2,O": lambda s: s.back_op(2),
    "3,s": lambda s: s.step_phase(3),
    "3,S": lambda s: s.back_phase(3),
    "2,f": lambda s: s.out(2),
    "9,9,9,9,9,9,9,9,9,n": lambda s: s.to_end(),
    "7,g": lambda s: s.goto_op(7),
}


async def test_keys_move_as_the_session_does():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        for typed, move in MOVES.items():
            expected = session("lenet", START)
            move(expected)
            made.debug_screen.travel(lambda: made.session.goto(START))
            await pilot.press(*typed.split(","))
            assert (typed, made.session.position) == (typed, expected.position)
            assert made.debug_screen.count == 0


async def test_breakpoints_stop_runs_in_both_directions():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("home", "7", "g", "b", "home", "c")
        screen = made.debug_screen
        assert screen.session.breakpoints == [Breakpoint("op", 7)]
        stopped = screen.session.position
        assert (screen.session.event.kind, screen.session.event.op_index) == ("enter", 7)
        assert "breakpoint op 7" in str(made.screen.query_one("#sentence").render())
        await pilot.press("end", "C")
        assert screen.session.position == stopped
        await pilot.press("b")
        assert screen.session.breakpoints == []


async def test_a_count_repeats_a_run():
    made = app("lenet", 0)
    made.session.breakpoints += [Breakpoint("op", 9), Breakpoint("op", 7), Breakpoint("op", 5)]
    async with made.run_test() as pilot:
        await pilot.press("2", "c")
        assert made.debug_screen.session.event.op_index == 7


async def test_the_breakpoint_list_opens_edits_and_closes():
    made = app("lenet", START)
    made.session.breakpoints += [Breakpoint("op", 9)]
    async with made.run_test() as pilot:
        await pilot.press("B")
        assert isinstance(made.screen, BreakpointsScreen)
        await pilot.press("space", "plus", "plus", "minus")
        assert made.session.breakpoints[0] == Breakpoint("op", 9, enabled=False, ignore=1)
        await pilot.press("a", *"type", "colon", *"FC", "enter")
        assert made.session.breakpoints[1] == Breakpoint("type", "FC")
        await pilot.press("d", "escape")
        assert made.session.breakpoints == [Breakpoint("op", 9, enabled=False, ignore=1)]


async def test_w_watches_a_blob_and_running_stops_where_it_changes():
    made = app("shared", 0)
    async with made.run_test() as pilot:
        await pilot.press("w")
        prompt = made.screen
        assert isinstance(prompt, Prompt)
        prompt.query_one("Input").value = "nothing"
        await pilot.press("enter")
        assert "no blob nothing" in str(prompt.query_one("#hint").render())
        prompt.query_one("Input").value = "w"
        await pilot.press("enter", "c")
        screen = made.debug_screen
        assert [watch.blob for watch in screen.session.watches] == ["w"]
        assert screen.desk.stop.reason == "watch"
        assert "w" in screen.session.event.blobs


async def test_g_asks_where_to_go_and_says_what_is_wrong():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("g", *"99", "enter")
        assert "there is no op 99" in str(made.screen.query_one("#hint").render())
        await pilot.press("backspace", "backspace", *"e33", "enter")
        assert made.debug_screen.session.position == 33
        await pilot.press("g", *"x", "enter")
        assert "an op by its number" in str(made.screen.query_one("#hint").render())
        await pilot.press("escape", "g", *"50", "percent_sign", "enter")
        assert made.debug_screen.session.position == made.session.last // 2


async def test_find_selects_ops_forwards_and_backwards_and_t_runs_there():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("slash", *"conv", "enter")
        desk = made.debug_screen.desk
        first = desk.op
        assert desk.op_record(first).type == "Conv"
        await pilot.press("asterisk")
        second = desk.op
        assert second != first
        await pilot.press("number_sign")
        assert desk.op == first
        assert made.session.position == START
        await pilot.press("t")
        assert made.session.event.op_index == first


async def test_find_says_when_nothing_matches():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("slash", *"zzz", "enter")
        assert "no op matches" in str(made.screen.query_one("#hint").render())
        await pilot.press("escape", "slash", "left_parenthesis", "enter")
        assert "no regular expression" in str(made.screen.query_one("#hint").render())


async def test_enter_opens_the_diagnosis_of_a_failure_and_leads_to_the_op():
    made = app("mismatch")
    async with made.run_test() as pilot:
        await pilot.press("enter")
        assert isinstance(made.screen, DiagnosisScreen)
        lines = made.screen.query_one("Lines")
        writer = next(i for i, part in enumerate(lines.things) if part.op == 2)
        lines.select(writer)
        await pilot.press("enter")
        assert made.screen is made.debug_screen
        assert made.debug_screen.desk.op == 2


async def test_enter_without_a_failure_says_so():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("enter")
        assert made.screen is made.debug_screen


SCREENS = {
    "x": ValuesScreen,
    "y": YsScreen,
    "e": ExportScreen,
    "question_mark": HelpScreen,
    "h": HelpScreen,
    "f1": HelpScreen,
    "G": DrawingScreen,
}


async def test_keys_open_screens_and_esc_closes_them():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        for key, kind in SCREENS.items():
            await pilot.press(key)
            assert isinstance(made.screen, kind)
            await made.workers.wait_for_complete()
            await pilot.pause()
            await pilot.press("escape")
            assert made.screen is made.debug_screen


async def test_p_copies_the_sentence_or_the_selected_op():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("p")
        assert made.clipboard == made.session.event.sentence()
        await pilot.press("alt+1", "p")
        assert 'type: "FC"' in made.clipboard
        await pilot.press("alt+4", "p")
        assert 'type: "FCGradient"' in made.clipboard


async def test_z_folds_the_phase_of_the_cursor():
    made = app("lenet", at_kind("lenet", "check", 4))
    async with made.run_test() as pilot:
        pane = made.screen.query_one(AlgorithmPane)
        before = len(pane.lines)
        await pilot.press("z")
        assert len(pane.lines) < before
        assert any("events" in line.note for line in pane.lines)
        await pilot.press("z")
        assert len(pane.lines) == before


async def test_plus_and_minus_change_how_far_the_graph_reaches():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        pane = made.screen.query_one(GraphPane)
        before = len(pane.canvas.nodes)
        await pilot.press("plus")
        assert len(pane.canvas.nodes) > before
        await pilot.press("minus", "minus")
        assert len(pane.canvas.nodes) < before


async def test_alt_and_a_digit_focus_a_pane_and_esc_leaves_it():
    made = app("lenet", START)
    async with made.run_test(size=(80, 24)) as pilot:
        for digit, pane in enumerate(("forward", "algorithm", "state", "gradient", "graph", "timeline"), 1):
            await pilot.press(f"alt+{digit}")
            assert made.screen.focused.id == pane
            assert made.screen.query_one(f"#{pane}").display
            await pilot.press("escape")
            assert made.screen.focused is None


async def test_tab_goes_round_the_panes():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        seen = []
        for _ in range(7):
            await pilot.press("tab")
            seen.append(made.screen.focused.id)
        assert seen == ["forward", "algorithm", "state", "gradient", "graph", "timeline", "forward"]
        await pilot.press("shift+tab")
        assert made.screen.focused.id == "timeline"


async def test_arrows_home_and_end_belong_to_the_focused_list():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("alt+1", "end")
        desk = made.debug_screen.desk
        assert (desk.op, made.session.position) == (10, START)
        await pilot.press("up", "up")
        assert desk.op == 8
        await pilot.press("home")
        assert desk.op == 0
        await pilot.press("n")
        assert made.session.position == START + 1


async def test_up_and_down_go_to_the_forward_net_from_nowhere():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        here = made.debug_screen.desk.op
        await pilot.press("up")
        assert made.screen.focused.id == "forward"
        assert made.debug_screen.desk.op == here - 1
        await pilot.press("escape")
        assert made.debug_screen.desk.op == here
        await pilot.press("2", "down")
        assert made.debug_screen.desk.op == here + 2


async def test_enter_in_a_list_travels():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("alt+1", "home", "enter")
        assert (made.session.event.kind, made.session.event.op_index) == ("enter", 0)
        await pilot.press("alt+4", "home", "enter")
        assert made.session.event.kind == "seed"
        await pilot.press("end", "alt+2", "down", "enter")
        assert made.session.event.kind == "seed"


async def test_arrows_turn_the_tabs_of_the_state_pane():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        state = made.screen.query_one(StatePane)
        await pilot.press("alt+3", "right", "right")
        assert state.name_of_tab == "generators"
        await pilot.press("left", "alt+3", "alt+3", "alt+3", "alt+3", "alt+3")
        assert state.name_of_tab == "locals"
        assert made.session.position == START


async def test_b_and_w_work_on_the_blob_of_a_state_line():
    made = app("shared", at_kind("shared", "rename"))
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("alt+3", "right", "down", "b")
        assert made.session.breakpoints[0].kind == "blob"
        await pilot.press("w")
        assert made.session.watches[0].blob == made.session.breakpoints[0].value


async def test_i_steps_into_a_nested_net_and_u_out_of_it():
    from gradviz.autodiff import trace
    from gradviz.debug import Session
    from gradviz.nets import NetBuilder
    from gradviz.proto import NetDef
    from gradviz.tui.app import GradvizApp

    body = NetDef(name="body")
    body.op.add(type="Mul", input=["a", "b"], output=["t"])
    body.op.add(type="Relu", input=["t"], output=["y"])
    net = NetBuilder("outer")
    args = {"net": body, "inner_blobs": ["a", "b", "y"], "outer_blobs_idx": [0, 1, 2]}
    net.add("Do", ["A", "B", "scope"], ["Y", "scope"], **args)
    outer = Session(trace(net.net, ["Y"]))
    outer.goto_op(0)
    made = GradvizApp(outer)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("i", "n")
        assert made.debug_screen.session.breadcrumbs == ["outer", "op 0 net"]
        await pilot.press("u")
        assert made.debug_screen.session is outer
        await pilot.press("home", "i")
        assert made.debug_screen.session is outer


async def test_w_tells_why_and_leads_to_an_op():
    made = app("shared", 80)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("W")
        made.screen.query_one("Input").value = "w"
        await pilot.press("enter")
        assert isinstance(made.screen, WhyScreen)
        lines = made.screen.query_one("Lines")
        assert lines.things[0][0] == "w has a gradient: w_grad."
        lines.select(next(i for i, (text, _) in enumerate(lines.things) if "op 1 (FC)" in text))
        await pilot.press("enter")
        assert made.screen is made.debug_screen
        await pilot.press("alt+1", "end", "W", "enter")
        assert made.screen.story.subject == "op 4"
        await pilot.press("escape", "W")
        made.screen.query_one("Input").value = "*"
        await pilot.press("enter")
        assert made.screen.story.subject == "the net"
        await pilot.press("escape", "W")
        made.screen.query_one("Input").value = "op 77"
        await pilot.press("enter")
        assert made.screen is made.debug_screen


async def test_m_marks_an_event_and_d_compares_with_it():
    made = app("lenet", START)
    async with made.run_test(size=(120, 40)) as pilot:
        await pilot.press("m")
        assert made.debug_screen.desk.mark.position == START
        await pilot.press("o", "d")
        assert isinstance(made.screen, DiffScreen)
        assert made.screen.one.position == START
        await pilot.press("escape", "m", "m", "d")
        assert made.debug_screen.desk.mark is None


def test_every_key_is_pressed_here():
    source = Path(__file__).read_text("utf-8")
    for key in keys.KEYS:
        for name in key.keys.split(","):
            assert f'"{name}"' in source or ("alt+{digit}" in source and name.startswith("alt+")), name


async def test_q_leaves():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        await pilot.press("q")
    assert made.return_code == 0


async def test_every_action_is_in_the_palette():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        titles = " ".join(command.title for command in made.get_system_commands(made.screen))
        assert all(key.title in titles for key in keys.KEYS)
        await pilot.press("ctrl+p", *"next phase", "enter", "enter")
        await pilot.pause()
        expected = session("lenet", START)
        expected.step_phase()
        assert made.session.position == expected.position


def test_every_key_has_an_id_of_its_own_and_a_tooltip():
    ids = [key.id for key in keys.KEYS]
    assert len(ids) == len(set(ids))
    assert all(key.tooltip and key.title for key in keys.KEYS)
    typed = [each for key in keys.KEYS for each in key.keys.split(",")]
    assert len(typed) == len(set(typed))


def test_hints_name_actions_that_exist():
    actions = {key.action for key in keys.KEYS}
    assert all(action in actions for _, _, action in (*keys.HINTS, *keys.TAIL))


async def test_keys_can_be_bound_anew_by_their_ids():
    made = app("lenet", START)
    async with made.run_test() as pilot:
        made.set_keymap({"debug.step": "j"})
        await pilot.press("j")
        assert made.session.position == START + 1
