"""What the panes say at an event, without a terminal."""

import pytest

from gradviz.debug import Breakpoint
from gradviz.tui.desk import Desk
from gradviz.tui.panes.algorithm import VISIT_PHASES, lines
from gradviz.tui.panes.forward import operator_row
from gradviz.tui.panes.gradient import gradient_row
from gradviz.tui.panes.graph import _Painter, gradient_ops_of
from gradviz.tui.panes.happened import short
from gradviz.tui.panes.header import y_text
from gradviz.tui.panes.sentence import reason
from gradviz.tui.panes.state import TABS
from gradviz.tui.panes.timeline import Track
from gradviz.tui.rows import width_of

from .nets import NETS, at_kind, long, session


def text(row):
    return "".join(part for part, _ in row)


def desk_at(name, kind="", nth=0):
    return Desk(session(name, at_kind(name, kind, nth) if kind else None))


def tab_text(desk, name, width=60):
    tab = TABS[name][1](desk)
    return [text(tab[line].row(width)) for line in range(len(tab))]


def picture(desk):
    canvas = _Painter(desk).paint()
    return [text(canvas.row(y, canvas.left, canvas.right - canvas.left)).rstrip() for y in range(canvas.height)]


# The forward net.


def test_operators_show_versions_and_state():
    desk = desk_at("lenet", "enter", 4)
    op = desk.current_op
    rows = [text(operator_row(desk, i, 60)) for i in range(11)]
    assert op == 5
    assert rows[5].split() == ["▶", "5", "Relu", "fc3₀", "→", "fc3₁"]
    assert rows[4].split()[0] == "·"
    assert rows[6].split()[0] == "✓"
    assert rows[8].split()[0] == "–"
    assert rows[8].endswith("no gradient")


def test_before_it_is_played_an_operator_has_no_versions():
    desk = Desk(session("lenet", 2))
    assert "₀" in text(operator_row(desk, 1, 60))
    assert "₀" not in text(operator_row(desk, 3, 60))


def test_a_failed_operator_is_marked_where_the_walk_stands():
    desk = desk_at("mismatch")
    assert text(operator_row(desk, 1, 60)).split()[0] == "✗"
    desk.session.back()
    assert text(operator_row(desk, 1, 60)).split()[0] == "▶"


def test_the_gutter_shows_breakpoints_and_whether_they_are_on():
    desk = desk_at("lenet", "enter")
    assert text(operator_row(desk, 3, 60))[0] == " "
    desk.session.toggle(Breakpoint("op", 3))
    assert text(operator_row(desk, 3, 60))[0] == "●"
    desk.session.breakpoints[0].enabled = False
    assert text(operator_row(desk, 3, 60))[0] == "○"


@pytest.mark.parametrize("width", [20, 38, 60, 120])
@pytest.mark.parametrize("name", NETS)
def test_rows_fit_their_pane(name, width):
    desk = desk_at(name)
    for op in range(len(desk.recording.ops)):
        assert width_of(operator_row(desk, op, width)) <= width
    for op in range(len(desk.recording.gradient_ops)):
        assert width_of(gradient_row(desk, op, width)) <= max(width, 24)


# The algorithm.


def test_the_current_step_is_the_event_at_the_cursor_at_every_event():
    for name in NETS:
        made = session(name, 0)
        desk = Desk(made)
        for position in range(made.last + 1):
            made.goto(position)
            held = [line for line in lines(desk) if line.event == position]
            assert len(held) == 1, (name, position)


def test_phases_that_are_yet_to_come_say_what_they_are_for():
    desk = desk_at("lenet", "make", 2)
    by_phase = {line.phase: line for line in lines(desk)}
    assert by_phase["frontier"].note
    assert by_phase["frontier"].event is None
    assert by_phase["enter"].event is not None


def test_a_phase_without_events_is_a_dash_once_it_is_over():
    desk = desk_at("lenet", "frontier", 2)
    assert {line.phase: line.note for line in lines(desk)}["merge"] == "–"


def test_a_failure_leaves_later_phases_unreached():
    desk = desk_at("mismatch")
    notes = {line.phase: line.note for line in lines(desk)}
    assert notes["merge"] != "–"
    assert lines(desk)[-1].event == desk.position


def test_folding_leaves_one_line_of_a_phase():
    desk = desk_at("lenet", "frontier", 8)
    unfolded = [line for line in lines(desk) if line.phase == "check"]
    desk.folded.add("check")
    folded = [line for line in lines(desk) if line.phase == "check"]
    assert len(unfolded) > 1
    assert len(folded) == 1
    assert folded[0].note == f"▸ {len(unfolded)} events"


def test_every_event_says_something_short():
    for name in NETS:
        for event in session(name).trace.events:
            assert text(short(event)).strip()


def test_checks_say_which_versions_they_compared():
    good = session("lenet", at_kind("lenet", "check")).event
    assert text(short(good)) == "✓ xent input 0 = 0"
    bad = [e for e in session("mismatch").trace.events if e.kind == "check"][-1]
    assert text(short(bad)) == "✗ s output 0 ≠ 1"


def test_visit_phases_are_the_phases_of_visits():
    from gradviz.autodiff.events import PHASES

    assert set(VISIT_PHASES) == set(PHASES) - {"play", "seed", "end"}


# The state.


def test_locals_show_gradients_of_outputs_and_inputs():
    desk = desk_at("lenet", "local", 3)
    assert tab_text(desk, "locals")[:3] == ["g_output", "  pred                 pred_grad", "g_input"]
    assert any("locally generated" in line for line in tab_text(desk, "locals"))


def test_locals_outside_of_a_visit_show_the_play_or_the_ys():
    assert tab_text(Desk(session("lenet", 3)), "locals")[0] == "reads"
    assert tab_text(Desk(session("lenet", 11)), "locals")[0] == "ys"


def test_the_frontier_marks_what_changed_since_the_last_stop():
    desk = desk_at("lenet", "frontier", 2)
    desk.session.back()
    before = desk.position
    desk.arrived(desk.session.step(), before)
    moved = desk.event.blob
    marked = [line for line in tab_text(desk, "frontier") if line.startswith("+")]
    assert marked
    assert all(moved in line for line in marked)


def test_the_frontier_holds_versions_and_gradient_versions():
    desk = desk_at("lenet")
    row = next(line for line in tab_text(desk, "frontier") if line.split()[:1] == ["fc3"])
    assert row.split()[1:] == ["1", "0"]


def test_generators_of_an_input_are_counted_against_its_uses():
    desk = desk_at("shared", "verify", 9)
    found = tab_text(desk, "generators")
    assert any(line.split()[:4] == ["w₀", "3", "of", "3"] for line in found)
    assert any("all, newest first · " in line for line in found)


def test_sparse_generators_name_both_halves():
    desk = desk_at("embedding")
    assert any("sparse" in line and "passed on" in line for line in tab_text(desk, "generators"))


def test_the_map_shows_none_as_a_dash():
    desk = desk_at("lenet")
    assert any(line.split() == ["label", "–"] for line in tab_text(desk, "map"))


def test_versions_tell_who_wrote_and_who_read():
    desk = desk_at("mismatch")
    found = tab_text(desk, "versions")
    assert found[0] == "s"
    told = [" ".join(line.split("∂")[0].split()) for line in found[1:]]
    assert told == [
        "▶ ₀ written by op 1 Sigmoid",
        "₀ read by op 2 Relu",
        "₁ written by op 2 Relu",
        "₁ read by op 3 FC",
    ]
    assert "∂ newest gradient" in found[1]


def test_watches_show_old_and_new_where_they_fired():
    desk = desk_at("shared", "seed")
    desk.session.watch("w")
    desk.arrived(desk.session.run(), desk.position)
    assert any("→" in line for line in tab_text(desk, "watches"))
    assert "w changed" in reason(desk)


@pytest.mark.parametrize("tab", TABS)
def test_tabs_can_be_drawn_at_every_event(tab):
    for name in NETS:
        made = session(name, 0)
        desk = Desk(made)
        for position in range(made.last + 1):
            desk.arrived(made.goto(position), position - 1)
            assert all(line for line in tab_text(desk, tab, 30) or ["-"])


# The gradient net and the graph.


def test_renames_are_shown_as_old_and_new():
    desk = desk_at("shared")
    rows = [text(gradient_row(desk, op, 120)) for op in range(desk.state.gradient_op_count)]
    assert any("w_grad → _w_grad_autosplit_0" in row for row in rows)
    assert any(row.startswith("╂") and "Sum" in row for row in rows)


def test_renames_are_not_shown_before_they_happen():
    desk = desk_at("shared", "rename")
    desk.session.back()
    assert not any("autosplit" in text(gradient_row(desk, op, 120)) for op in range(desk.state.gradient_op_count))


def test_the_graph_has_the_forward_op_above_and_its_gradient_below():
    desk = desk_at("shared", "local", 3)
    assert desk.current_op == 1
    drawn = picture(desk)
    forward = next(i for i, line in enumerate(drawn) if "▶(1 FC)" in line)
    gradient = next(i for i, line in enumerate(drawn) if "FCGradient)◀" in line)
    assert forward < gradient
    assert "◀═" in drawn[gradient]


def test_the_graph_shows_sums_with_heavy_lines_and_slices_with_dashes():
    desk = desk_at("shared")
    desk.op = 0
    assert any("╂" in line and "━" in line for line in picture(desk))
    desk = desk_at("embedding")
    desk.op = 0
    assert any("┄" in line for line in picture(desk))


def test_more_hops_reach_further():
    desk = desk_at("lenet", "enter", 3)
    sizes = []
    for desk.hops in range(5):
        sizes.append(len(_Painter(desk).paint().nodes))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_nothing_in_a_picture_overlaps():
    for name in NETS:
        made = session(name)
        desk = Desk(made)
        for op in range(len(made.trace.ops)):
            desk.op = op
            for desk.hops in (0, 1, 3):
                taken = set()
                for node in _Painter(desk).paint().nodes:
                    cells = {(x, node.y) for x in range(node.x, node.x + node.width)}
                    assert not cells & taken
                    taken |= cells


def test_gradient_ops_of_an_op_are_those_of_its_visit_so_far():
    desk = desk_at("shared")
    assert gradient_ops_of(desk, 0)[-1] == desk.state.gradient_op_count - 1
    desk = desk_at("shared", "enter")
    assert gradient_ops_of(desk, 4) == []


def test_who_made_this_finds_the_event():
    for name in NETS:
        desk = desk_at(name)
        for op in range(len(desk.recording.gradient_ops)):
            event = desk.recording.events[desk.index.maker(op)]
            made = getattr(event, "ops", None) or getattr(event, "gradient_ops", None) or (event.op,)
            assert desk.recording.gradient_ops[op] in made


# The timeline and the rest.


def test_the_timeline_travels_to_what_it_shows():
    from gradviz.autodiff import trace
    from gradviz.debug import Session

    for made in (session("lenet"), session("mismatch"), Session(trace(long(400)))):
        desk = Desk(made)
        for width in (20, 80, 200):
            track = Track(desk, width)
            for column in range(width):
                position = track.event(column)
                assert 0 <= position <= made.last
            for visit in range(len(made.trace.recording.visits)):
                assert track.play <= track.column(visit) < width


def test_ys_are_written_as_they_are_typed():
    from gradviz.ops.records import GradientSlice

    assert y_text("loss", None) == "loss"
    assert y_text("y", "y_grad") == "y=y_grad"
    assert y_text("w", GradientSlice("i", "v")) == "w=i,v"
