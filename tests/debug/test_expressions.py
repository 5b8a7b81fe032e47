"""Conditions over events: what they mean, what they refuse, and that no text breaks them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gradviz
from gradviz.debug import Breakpoint, Session, saved
from gradviz.debug.breakpoints import parse
from gradviz.debug.expressions import FIELDS, condition
from gradviz.errors import GradvizError

TRACE = gradviz.trace(gradviz.load("shared_weights"), ["loss"])
SPARSE = gradviz.trace(gradviz.load("embedding"), ["loss"])
FAILED = gradviz.trace(gradviz.load("version_mismatch"), ["loss"])


def op_of(trace, event):
    return None if event.op_index is None else trace.recording.ops[event.op_index]


def found(text, trace=TRACE):
    asked = condition(text)
    return [event for event in trace.events if asked.holds(event, op_of(trace, event))]


def where(keep, trace=TRACE):
    return [event for event in trace.events if keep(event)]


MEANINGS = {
    'kind == "rename"': lambda e: e.kind == "rename",
    "kind == 'rename' and blob == 'w'": lambda e: e.kind == "rename" and e.blob == "w",
    'kind == "rename" or kind == "accumulate"': lambda e: e.kind in ("rename", "accumulate"),
    'kind in ("rename", "accumulate")': lambda e: e.kind in ("rename", "accumulate"),
    'kind in ["rename", "accumulate",]': lambda e: e.kind in ("rename", "accumulate"),
    'kind not in ("play", "check")': lambda e: e.kind not in ("play", "check"),
    'not kind == "play"': lambda e: e.kind != "play",
    'not not kind == "play"': lambda e: e.kind == "play",
    'not (kind == "play" or phase == "check")': lambda e: e.kind != "play" and e.phase != "check",
    "op_index in (0, 2)": lambda e: e.op_index in (0, 2),
    "op_index < 1": lambda e: e.op_index is not None and e.op_index < 1,
    "op_index >= 2": lambda e: e.op_index is not None and e.op_index >= 2,
    "op_index == none": lambda e: e.op_index is None,
    "op_index != none": lambda e: e.op_index is not None,
    "op_index > -1": lambda e: e.op_index is not None,
    "2 == op_index": lambda e: e.op_index == 2,
    '"w" in blobs': lambda e: "w" in e.blobs,
    '"w" not in blobs': lambda e: "w" not in e.blobs,
    'blobs.startswith("left")': lambda e: any(b.startswith("left") for b in e.blobs),
    'blobs.contains("_code")': lambda e: any("_code" in b for b in e.blobs),
    'kind.endswith("e") and not phase.contains("play")': lambda e: e.kind.endswith("e") and "play" not in e.phase,
    '"oll" in phase': lambda e: "oll" in e.phase,
    'op_type == "FC" and phase == "accumulate"': lambda e: e.op_index in (0, 1) and e.phase == "accumulate",
    'name == "w_grad"': lambda e: e.kind == "check" and e.name == "w_grad",
    'name.startswith("_w_grad")': lambda e: e.kind == "rename" and e.new.startswith("_w_grad"),
    'kind == "dense" and version == 0': lambda e: e.kind == "dense" and e.version == 0,
    # `and` binds closer than `or`, `not` closer than both
    'kind == "seed" or kind == "rename" and blob == "w"': lambda e: (
        e.kind == "seed" or (e.kind == "rename" and e.blob == "w")
    ),
    'not kind == "play" and op_index == 0': lambda e: e.kind != "play" and e.op_index == 0,
}


@pytest.mark.parametrize("text", MEANINGS)
def test_what_a_condition_means(text):
    assert found(text) == where(MEANINGS[text])


@pytest.mark.parametrize("text", [t for t in MEANINGS if "name ==" not in t])
def test_each_of_them_tells_events_apart(text):
    assert 0 < len(found(text)) < len(TRACE.events)


def test_a_gradient_is_asked_by_its_name_and_a_sparse_one_by_both():
    dense = found('gradient == "w_grad"')
    assert {event.kind for event in dense} >= {"dense", "accumulate", "map"}
    event = next(e for e in SPARSE.events if isinstance(getattr(e, "gradient", None), gradviz.GradientSlice))
    asked = f'gradient == "{event.gradient.indices},{event.gradient.values}"'
    assert event in found(asked, SPARSE)
    assert len(found(asked, SPARSE)) < len(found("gradient != none", SPARSE))


def test_a_failure_can_be_asked_for_its_blob():
    assert [e.kind for e in found('kind == "fail" and blobs.contains("h")', FAILED)] == ["fail"]


def test_every_field_can_be_asked_of_every_event():
    for trace in (TRACE, SPARSE, FAILED):
        for event in trace.events:
            for name, field in FIELDS.items():
                value = field.ask(event, op_of(trace, event))
                wanted = {"text": str, "number": int, "texts": tuple}[field.kind]
                assert value is None or isinstance(value, wanted), (name, event)


def test_escapes():
    odd = "a\"b\\c\nd\x1be'f\u202e"
    net = gradviz.NetBuilder("n")
    net.add("Relu", odd, "y")
    trace = gradviz.trace(net.net, ["y"])
    written = r""""a\"b\\c\nd\x1be\'f\u202e" in blobs"""
    assert len(found(written, trace)) == len([e for e in trace.events if odd in e.blobs]) > 0


ERRORS = [
    ("", 1, "missing"),
    ('kind = "rename"', 6, "write =="),
    ('kind == "rename', 9, "closing"),
    ("kind == 'a", 9, "closing"),
    ("knd == 3", 1, "no field knd"),
    ("kind == rename", 9, "texts stand in quotes"),
    ('kind == "a" blob == "b"', 13, "more than one condition"),
    ('kind == "a" and', 16, "missing before the end"),
    ('kind == "a" & 3', 13, "write `and`"),
    ('(kind == "a"', 13, "`)` is missing"),
    ("()", 2, "nothing between"),
    ("kind", 1, "no yes or no"),
    ("blobs", 1, "no yes or no"),
    ("not op_index", 5, "no yes or no"),
    ('op_index == "3"', 10, "a number is not compared with a text"),
    ("kind < 3", 6, "a text is not compared with a number"),
    ('blobs == "w"', 1, 'write "w" in blobs'),
    ('kind.upper("a")', 6, "no method"),
    ("op_index.startswith('a')", 10, "asked of a text"),
    ("kind.startswith(3)", 17, "takes a text"),
    ("kind.startswith('a', 'b')", 20, "`)` is missing"),
    ("3 in blobs", 3, "cannot be in there"),
    ('kind in ("a", 3)', 9, "texts, or numbers"),
    ("kind not 3", 10, "`in` is missing"),
    ("kind in op_index", 9, "looks into"),
    ("__import__('os')", 1, "no field __import__"),
    ("kind.__class__", 6, "no method"),
    ("1 < 2 < 3", 7, "more than one"),
    ("(" * 60 + "1 == 1" + ")" * 60, 41, "parentheses"),
]


@pytest.mark.parametrize(("text", "column", "says"), ERRORS)
def test_a_mistake_names_its_column(text, column, says):
    with pytest.raises(GradvizError) as error:
        condition(text)
    assert f"column {column}: " in str(error.value)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_too_long_is_refused():
    with pytest.raises(GradvizError, match="shorter"):
        condition("not " * 1000 + "1 == 1")
    assert condition("not " * 400 + "1 == 1").holds(TRACE.events[0])


WORDS = [
    *FIELDS,
    "and",
    "or",
    "not",
    "in",
    "none",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "==",
    "!=",
    "<",
    ">=",
    '"w"',
    "'x",
    "1",
]
WORDS += ["startswith", "contains", "-3", "9" * 1999, "\\", "é", "٣", "²", "\x00", "if", "when:", "op:", "type:FC"]


@settings(max_examples=300, deadline=None)
@given(st.text() | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text("()[]not .'\"=", max_size=300))
@example("(" * 1999)
@example("[" * 1999)
@example("٣ == 1")
@example("²")
@example("op:²")
@example("9" * 5000)
def test_no_text_raises_anything_but_our_error(text):
    for make in (condition, parse):
        try:
            made = make(text)
        except GradvizError as error:
            assert "\n" not in str(error) or "\n" in text
            continue
        for event in TRACE.events:
            if make is condition:
                assert made.holds(event, op_of(TRACE, event)) in (True, False)
            else:
                assert made.matches(event, op_of(TRACE, event)) in (True, False)


# Breakpoints on conditions.


@pytest.mark.parametrize(
    ("text", "kind", "value", "asked"),
    [
        ('kind == "rename"', "when", 'kind == "rename"', ""),
        ('when: kind == "rename"', "when", 'kind == "rename"', ""),
        ("version > 0", "when", "version > 0", ""),
        ("not(1 == 2) or 1 == 1", "when", "not(1 == 2) or 1 == 1", ""),
        ("blob:w if version > 0", "blob", "w", "version > 0"),
        ('w if kind == "rename"', "blob", "w", 'kind == "rename"'),
        ("type:FC if op_index < 3", "type", "FC", "op_index < 3"),
        ("7 if 1 == 1", "op", 7, "1 == 1"),
        ('error if "w" in blobs', "error", "", '"w" in blobs'),
        ("blob:a == b", "blob", "a == b", ""),
        ("what if not", "blob", "what if not", ""),
        ("version", "blob", "version", ""),
        ("kind_of", "blob", "kind_of", ""),
    ],
)
def test_as_they_are_typed(text, kind, value, asked):
    made = parse(text)
    assert (made.kind, made.value, made.condition) == (kind, value, asked)
    assert parse(made.written) == made


@pytest.mark.parametrize("text", ["", "  ", "when:", 'w if kind = "x"', "kind == rename", "op:9999999999999999999999"])
def test_what_makes_no_breakpoint(text):
    with pytest.raises(GradvizError):
        parse(text)


def test_running_stops_where_a_condition_holds_forwards_and_back():
    session = Session(TRACE)
    session.toggle(parse('kind == "rename" and op_type == "FC" and blob == "w"'))
    stops = []
    while session.run().reason == "breakpoint":
        stops.append(session.position)
    assert stops == [i for i, e in enumerate(TRACE.events) if e.kind == "rename" and e.blob == "w"]
    back = []
    while session.run_back().reason == "breakpoint":
        back.append(session.position)
    assert back == stops[::-1]
    assert session.breakpoints[0].hits == 2 * len(stops)


def test_a_condition_narrows_another_breakpoint():
    session = Session(TRACE)
    session.toggle(parse('blob:w if phase == "accumulate"'))
    assert session.run().reason == "breakpoint"
    assert (session.event.phase, "w" in session.event.blobs) == ("accumulate", True)
    assert session.position == next(i for i, e in enumerate(TRACE.events) if e.phase == "accumulate" and "w" in e.blobs)


def test_a_walk_that_left_the_first_ops_out_still_knows_the_types():
    trace = gradviz.trace(gradviz.load("shared_weights"), ["loss"], skip=1)
    session = Session(trace)
    session.toggle(parse('op_type == "SquaredL2Distance" and kind == "make"'))
    assert session.run().reason == "breakpoint"
    assert session.event.op.type == "SquaredL2Distance"


def test_conditions_are_saved(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session(TRACE)
    session.breakpoints = [parse('kind == "rename"'), Breakpoint("blob", "w", False, 2, 1, "version > 0")]
    saved.save(session)
    again = saved.load(TRACE.model).breakpoints
    assert list(again) == session.breakpoints
    assert again[1].condition == "version > 0"
    assert any(each.matches(event) for event in TRACE.events for each in again[:1])


def test_a_saved_condition_that_cannot_be_read_spoils_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = Session(TRACE)
    session.breakpoints = [parse('kind == "rename"')]
    path = saved.save(session)
    path.write_text(path.read_text().replace("kind ==", "knd =="))
    assert saved.load(TRACE.model) is None
