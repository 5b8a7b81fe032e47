"""Two moments of a walk compared: every row that differs, and no other."""

import random

import pytest

from gradviz.autodiff import trace
from gradviz.debug.compare_states import ABSENT, PARTS, Moment, OpSeen, compare_states
from gradviz.nets import NetBuilder


def shared(last="y"):
    """One weight read by three operators, so that gradients are renamed and added up."""
    net = NetBuilder("shared")
    net.add("FC", ["x1", "w", "b"], "h1")
    net.add("FC", ["x2", "w", "b"], "h2")
    net.add("Add", ["h1", "h2"], "s")
    net.add("Relu", "s", "s")
    net.add("FC", ["s", "w", "b"], last)
    net.add("AveragedLoss", last, "loss")
    return net.net


def sparse():
    net = NetBuilder("embedding")
    net.add("Gather", ["table", "ids1"], "rows1")
    net.add("Gather", ["table", "ids2"], "rows2")
    net.add("Add", ["rows1", "rows2"], "sum")
    net.add("AveragedLoss", "sum", "loss")
    return net.net


WALKS = {"shared": shared, "sparse": sparse}


def rebuilt(snapshot, difference):
    """The second moment, made of the first one and of what differs."""
    parts = {"frontier": "frontier", "gradient frontier": "gradient_frontier", "gradient map": "gradient_map"}
    made = {name: dict(snapshot[name]) for name in parts.values()}
    flat = {(b, v): tuple(found) for b, by in snapshot["gradient_generators"].items() for v, found in by.items()}
    for section in difference.sections:
        for change in section.changes:
            if section.part == "gradient ops":
                continue
            where = flat if section.part == "generators" else made[parts[section.part]]
            key = (change.blob, change.version) if section.part == "generators" else change.blob
            assert where.get(key, ABSENT) == change.before
            if change.after is ABSENT:
                del where[key]
            else:
                where[key] = change.after
    return made, flat


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("seed", range(20))
def test_one_moment_and_what_differs_make_the_other(name, seed):
    walk = trace(WALKS[name]())
    one, other = random.Random(seed).choices(range(len(walk.events)), k=2)
    difference = compare_states(Moment(walk, one), Moment(walk, other))
    made, flat = rebuilt(walk.state_at(one).snapshot(), difference)
    wanted = walk.state_at(other).snapshot()
    for part, found in made.items():
        assert found == wanted[part]
    assert flat == {(b, v): tuple(found) for b, by in wanted["gradient_generators"].items() for v, found in by.items()}
    assert _names(walk, one, difference) == [walk.state_at(other).outputs_of(i) for i in range(_count(walk, other))]


def _count(walk, position):
    return walk.state_at(position).gradient_op_count


def _names(walk, one, difference):
    names = {i: walk.state_at(one).outputs_of(i) for i in range(_count(walk, one))}
    for change in difference.section("gradient ops").changes:
        if change.after is ABSENT:
            del names[change.before.index]
        else:
            names[change.after.index] = list(change.after.outputs)
    return [names[i] for i in sorted(names)]


@pytest.mark.parametrize("name", WALKS)
def test_there_and_back_are_mirror_images(name):
    walk = trace(WALKS[name]())
    mirror = {"added": "removed", "removed": "added", "changed": "changed"}
    for one, other in ((3, 30), (10, len(walk.events) - 1)):
        there = compare_states(Moment(walk, one), Moment(walk, other))
        back = compare_states(Moment(walk, other), Moment(walk, one))
        for part in PARTS:
            rows = {
                (c.blob, c.version, mirror[c.kind], repr(c.after), repr(c.before)) for c in there.section(part).changes
            }
            assert rows == {
                (c.blob, c.version, c.kind, repr(c.before), repr(c.after)) for c in back.section(part).changes
            }
            assert there.section(part).alike == back.section(part).alike


@pytest.mark.parametrize("name", WALKS)
def test_the_event_of_a_row_is_the_one_that_made_it_so(name):
    walk = trace(WALKS[name]())
    last = len(walk.events) - 1
    difference = compare_states(Moment(walk, 0), Moment(walk, last))
    parts = {"frontier": "frontier", "gradient frontier": "gradient_frontier", "gradient map": "gradient_map"}
    seen = 0
    for section in difference.sections:
        for change in section.changes:
            assert 0 < change.event <= last
            before, after = (walk.state_at(position).snapshot() for position in (change.event - 1, change.event))
            if section.part in parts:
                assert after[parts[section.part]][change.blob] == change.after
                seen += before[parts[section.part]] != after[parts[section.part]]
            elif section.part == "gradient ops" and not change.after.renamed:
                assert before["gradient_op_count"] <= change.after.index < after["gradient_op_count"]
    assert seen


def test_renames_are_rows_and_a_moment_equals_itself():
    walk = trace(shared())
    rename = next(i for i, event in enumerate(walk.events) if event.kind == "rename")
    difference = compare_states(Moment(walk, rename - 1), Moment(walk, rename))
    (change,) = difference.section("gradient ops").changes
    assert change.kind == "changed"
    assert isinstance(change.before, OpSeen)
    assert change.before.outputs != change.after.outputs
    assert change.after.renamed
    assert change.event == rename
    assert [section.part for section in difference.sections if section.changes] == ["gradient ops"]
    assert compare_states(Moment(walk, rename), Moment(walk, rename)).empty


def test_none_is_told_from_nothing():
    walk = trace(sparse())
    difference = compare_states(Moment(walk, 0), Moment(walk, len(walk.events) - 1))
    found = {change.blob: change for change in difference.section("gradient map").changes}
    assert found["ids1"].before is ABSENT
    assert found["ids1"].after is None
    assert found["ids1"].kind == "added"


def test_walks_over_two_nets_are_aligned_by_what_operators_read_and_write():
    one, other = trace(shared()), trace(shared("z"))
    difference = compare_states(Moment(one, len(one.events) - 1), Moment(other, len(other.events) - 1))
    assert not difference.same_walk
    gone = {c.blob for c in difference.section("frontier").changes if c.kind == "removed"}
    come = {c.blob for c in difference.section("frontier").changes if c.kind == "added"}
    assert (gone, come) == ({"y"}, {"z"})
    ops = difference.section("gradient ops")
    assert ops.alike
    assert ops.count("added") == ops.count("removed") > 0
    assert all(change.event is None for section in difference.sections for change in section.changes)
    again = trace(shared())
    assert compare_states(Moment(one, 20), Moment(again, 20)).empty
