"""The report: one page, whole in itself, whose state is the walk's at every event. Opened in a headless Chromium."""

import base64
import json
import random
import re
import zlib
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradviz
from gradviz.debug import Session
from gradviz.errors import GradvizError
from gradviz.nets import samples
from gradviz.ops.records import GradientSlice
from gradviz.proto import NetDef, OperatorDef
from gradviz.render.escape import visible
from gradviz.render.page.page import page_of
from gradviz.render.page.record import KINDS, record_of
from tests.render import nets
from tests.render.chromium import DARK, answer, needed

HOSTILE = "</script><script>boom()</script><!-- \"'& {{style}} \u202e\x00 \ud800"


def bags() -> gradviz.Trace:
    """Two sums over rows of one table: halves of slices, renamed and joined."""
    ops = (("SparseLengthsSum", "table ind len", "a"), ("SparseLengthsSum", "table ind2 len2", "c"))
    return gradviz.trace(nets.net("bags", *ops, ("Add", "a c", "m"), ("AveragedLoss", "m", "loss")), ["loss"])


def halves() -> gradviz.Trace:
    """Slices of which a gradient operator makes both halves, by a rule from outside."""

    def rule(op: Any, g_output: list[Any]) -> Any:
        made = [f"{op.input[0]}_ind", f"{op.input[0]}_val"]
        gradient = OperatorDef(type="TwinGradient", input=[g_output[0]], output=made)
        return [gradient], [GradientSlice(*made)]

    return gradviz.trace(nets.net("halves", ("Twin", "x", "y")), {"y": None}, gradient_of=rule)


MORE = {"bags": bags, "halves": halves}
ALL = [*nets.ALL, *MORE, *(each.name for each in samples.SAMPLES)]


def walked(name: str) -> gradviz.Trace:
    if name in MORE:
        return MORE[name]()
    if name in nets.ALL:
        return nets.walked(nets.ALL[name]())
    sample = next(each for each in samples.SAMPLES if each.name == name)
    ys: Any = sample.ys
    return gradviz.trace(gradviz.load(samples.folder() / sample.file), ys)


def written(trace: gradviz.Trace, tmp_path: Path, **options: Any) -> Path:
    return gradviz.render.report(trace, tmp_path / "report.html", **options)


def embedded(page: str) -> dict[str, Any]:
    """The walk that stands in a page."""
    found = re.search(r'<script id="walk" type="([^"]+)">(.*?)</script>', page, re.DOTALL)
    assert found
    if found[1] == "application/json":
        return json.loads(found[2])
    return json.loads(zlib.decompress(base64.b64decode(found[2])))


def chain(count: int) -> NetDef:
    ops = [("FC", f"h{i} {'shared' if i % 50 == 0 else f'w{i}'} b{i}", f"h{i + 1}") for i in range(count)]
    return nets.net("chain", *ops, outputs=[f"h{count}"])


# The page as text.


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", ["mlp", "overwritten", "nested"])
def test_the_page_fetches_nothing(name: str) -> None:
    page = page_of(walked(name))
    for tag, attributes in Tags(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        for attribute in ("src", "href", "xlink:href", "action", "data"):
            assert not attributes.get(attribute) or str(attributes[attribute]).startswith("#")
    assert not re.search(r"@import|url\((?!#)", page)
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in page
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|innerHTML\s*=|eval\(|document\.write", script)


def test_sentences_states_and_diagnosis_are_in_the_page() -> None:
    trace = walked("overwritten")
    page = page_of(trace)
    assert embedded(page)["sentences"] == [event.sentence() for event in trace.events]
    assert trace.error is not None
    for line in (str(trace.error), *trace.error.explanation, *map(str, trace.error.remedies)):
        assert line in unescape(page)


def test_every_kind_of_event_has_a_number() -> None:
    kinds = {event.kind for name in ALL for event in walked(name).events}
    assert kinds == set(KINDS)
    assert len(set(KINDS)) == len(KINDS)


def test_text_from_the_net_stays_text() -> None:
    net = nets.net(HOSTILE.replace("\ud800", ""), ("FC", "x w b", "y"), ("AveragedLoss", "y", "loss"))
    trace = gradviz.trace(net, ["loss"])
    plain, odd = Tags(page_of(nets.walked(nets.mlp()))), Tags(page_of(trace))
    assert [tag for tag, _ in odd.tags].count("script") == [tag for tag, _ in plain.tags].count("script") == 2
    assert "boom" in embedded(page_of(trace))["net"]


def test_large_walks_are_packed_and_small_ones_are_readable() -> None:
    small, large = page_of(walked("mlp")), page_of(gradviz.trace(chain(1000)))
    assert 'type="application/json"' in small
    assert 'type="application/x-deflated-json"' in large
    assert len(embedded(large)["ops"]) == 1000


def test_ten_thousand_operators_make_a_page_of_a_few_megabytes() -> None:
    page = page_of(gradviz.trace(chain(10_000)))
    assert len(page) < 6e6
    assert "pictures here have" in page


def test_a_picture_that_would_be_too_large_is_left_out_with_a_word() -> None:
    assert "more than 10" in page_of(walked("mlp"), picture_nodes=10)
    assert 'id="picture"' not in page_of(walked("mlp"), picture_nodes=10)
    assert 'id="picture"' in page_of(walked("mlp"))


def test_the_picture_has_no_colours_of_its_own() -> None:
    page = page_of(walked("shared_weights"))
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert not re.search(r'(fill|stroke)="#', svg)
    assert "var(--forward-line)" in svg


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(GradvizError, match="no space left"):
        written(walked("mlp"), tmp_path)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_the_net_that_was_opened_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "net.pb"
    gradviz.save(nets.mlp(), path)
    with pytest.raises(GradvizError, match="is the file that was opened"):
        gradviz.render.report(gradviz.trace(gradviz.load(path)), path)


@pytest.mark.parametrize("ys", [[], ["nowhere"]])
def test_a_walk_with_hardly_any_event_has_a_page(ys: list[str]) -> None:
    record = embedded(page_of(gradviz.trace(NetDef(), ys)))
    assert len(record["events"]) == len(ys) + 1


def test_figures_that_are_no_numbers_are_valid_json() -> None:
    net = nets.net("bad", ("Log", "x", "y"), ("AveragedLoss", "y", "loss"))
    workspace = gradviz.run(net, {"x": np.array([-1.0, 0.0], "f")}, ys=["loss"])
    record = record_of(gradviz.trace(net, ["loss"]), workspace)
    json.dumps(record, allow_nan=False)
    row = next(each for each in record["values"] if record["names"][each[0]] == "y")
    figures = dict(zip(record["figures"], row[5:], strict=False))
    assert (figures["nan"], figures["inf"]) == (1, 1)


# The page in a browser: the state.


def expected(trace: gradviz.Trace, position: int) -> dict[str, Any]:
    """The walk's own state as the page spells it."""
    found = trace.state_at(position).snapshot()
    found["renamed"] = {f"{op}:{output}": name for (op, output), name in found["renamed"].items()}
    return json.loads(json.dumps(plain(found)))


def plain(value: Any) -> Any:
    if isinstance(value, GradientSlice):
        return [visible(value.indices), visible(value.values)]
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "gradient"):
        names = ("op", "idx") if value.kind == "dense" else ("op_indices", "idx_indices", "op_values", "idx_values")
        return [plain(value.gradient), *(getattr(value, name) for name in names)]
    return value


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """For every net what the page's own fold makes of it, and where its moves lead: all in one go."""
    traces = {name: walked(name) for name in ALL}
    records = {name: json.dumps(record_of(trace)) for name, trace in traces.items()}
    order = {name: places(trace) for name, trace in traces.items()}
    source = resources.files("gradviz.render.page").joinpath("walk.js").read_text("utf-8")
    script = f"""{source}
        const found = {{}};
        const order = {json.dumps(order)};
        for (const [name, record] of Object.entries({json.dumps(records)})) {{
          const walk = new Walk(JSON.parse(record));
          const at = (position) => {{ walk.goTo(position); return walk; }};
          found[name] = {{ states: order[name].map((position) => at(position).snapshot()), moves: {{}} }};
          for (const move of {json.dumps(list(MOVES))}) {{
            found[name].moves[move] = order[name].map((position) => at(position)[move]());
          }}
        }}
        return found;""".replace("</", "<\\/")
    folder = tmp_path_factory.mktemp("walks")
    found = answer(written(traces["mlp"], folder), script, folder)
    return {name: (trace, order[name], found[name]) for name, trace in traces.items()}


MOVES = {
    "nextOp": Session.step_op,
    "previousOp": Session.back_op,
    "nextPhase": Session.step_phase,
    "previousPhase": Session.back_phase,
    "endOfOp": Session.out,
}


def places(trace: gradviz.Trace) -> list[int]:
    """Both ends, jumps far and near in both directions, and single steps."""
    last = len(trace.events) - 1
    rng = random.Random(trace.model.name)
    jumps = [rng.randint(0, last) for _ in range(30)]
    return [0, last, *jumps, *range(last, max(last - 12, -1), -1), 0]


@needed
@pytest.mark.parametrize("name", ALL)
def test_the_page_folds_the_events_as_the_walk_does(name: str, walks: dict[str, Any]) -> None:
    trace, order, found = walks[name]
    for position, snapshot in zip(order, found["states"], strict=True):
        assert snapshot == expected(trace, position), f"event {position}: {trace.events[position].sentence()}"


@needed
@pytest.mark.parametrize("move", MOVES)
def test_moves_lead_where_the_debugger_leads(move: str, walks: dict[str, Any]) -> None:
    for trace, order, found in walks.values():
        for position, led in zip(order, found["moves"][move], strict=True):
            session = Session(trace, position)
            MOVES[move](session)
            assert led == session.position, f"{trace.model.name}, event {position}"


@needed
def test_operators_that_were_left_out_keep_their_numbers(tmp_path: Path) -> None:
    trace = gradviz.trace(nets.mlp(), ["loss"], skip=2)
    script = """gradviz.goTo(gradviz.last);
        return [gradviz.snapshot(), text("#ops .number"), text("#ops .type")];"""
    state, numbers, types = answer(written(trace, tmp_path), script, tmp_path)
    assert state == expected(trace, -1)
    assert (numbers[0], types[0]) == ("2", "FC")


# Moving.


@needed
def test_keys_move_as_in_the_debugger(tmp_path: Path) -> None:
    trace = walked("shared_weights")
    keys = {
        "n": Session.step,
        "ArrowRight": Session.step,
        "N": Session.back,
        "ArrowLeft": Session.back,
        "o": Session.step_op,
        "O": Session.back_op,
        "s": Session.step_phase,
        "S": Session.back_phase,
        "f": Session.out,
        "F": Session.to_start_of_op,
        "Home": Session.to_start,
        "End": Session.to_end,
    }
    script = f"return {list(keys)}.map((key) => {{ gradviz.goTo(30); press(key); return gradviz.position; }});"
    found = answer(written(trace, tmp_path), script, tmp_path)
    for (key, move), position in zip(keys.items(), found, strict=True):
        session = Session(trace, 30)
        move(session)
        assert position == session.position, key


@needed
def test_the_address_opens_the_page_at_an_event(tmp_path: Path) -> None:
    trace = walked("shared_weights")
    path = written(trace, tmp_path)
    script = 'return [gradviz.position, text("#sentence")[0], document.getElementById("number").value];'
    for fragment, position in (("#event=17", 17), ("#event=-1", len(trace.events) - 1), ("#event=x", 0)):
        found = answer(path, script, tmp_path, fragment)
        assert found == [position, trace.events[position].sentence(), str(position)]


@needed
def test_buttons_slider_number_finder_and_rows_move_too(tmp_path: Path) -> None:
    trace = walked("shared_weights")
    script = """const found = [];
        const set = (id, value, event) => {
          const element = document.getElementById(id);
          element.value = value;
          element.dispatchEvent(event);
        };
        const note = async () => { await pause(); found.push([gradviz.position, text("#sentence")[0]]); };
        document.querySelector("[data-move=last]").click(); await note();
        document.querySelector("[data-move=previous]").click(); await note();
        set("slider", 20, new Event("input")); await note();
        set("number", 31, new Event("change")); await note();
        set("find", "RENAMED", new KeyboardEvent("keydown", { key: "Enter", bubbles: true })); await note();
        set("find", "no such words", new KeyboardEvent("keydown", { key: "Enter", bubbles: true })); await note();
        found.push(text("#found")[0]);
        all("#ops .row")[1].click(); await note();
        all("#events .row").find((row) => row.textContent.includes("is reached")).click(); await note();
        return found;"""
    *moves, by_op, by_event = answer(written(trace, tmp_path), script, tmp_path)
    last = len(trace.events) - 1
    renamed = next(at for at, event in enumerate(trace.events) if event.kind == "rename")
    assert [each[0] for each in moves if isinstance(each, list)] == [last, last - 1, 20, 31, renamed, renamed]
    assert "No event says so." in moves
    for position, sentence in (each for each in (*moves, by_op) if isinstance(each, list)):
        assert sentence == trace.events[position].sentence()
    assert trace.events[by_op[0]].kind == "enter" and trace.events[by_op[0]].op_index == 1
    assert "is reached" in by_event[1]


@needed
def test_letters_are_no_keys_where_one_types_or_where_they_are_switched_off(tmp_path: Path) -> None:
    script = """press("n", document.getElementById("find"));
        const typed = gradviz.position;
        document.getElementById("letters").checked = false;
        press("n");
        press("ArrowRight");
        return [typed, gradviz.position];"""
    assert answer(written(walked("mlp"), tmp_path), script, tmp_path) == [0, 1]


# What is seen.


@needed
def test_only_visible_rows_exist(tmp_path: Path) -> None:
    trace = gradviz.trace(chain(10_000))
    script = """const rows = [];
        for (const at of [gradviz.last >> 1, gradviz.last, 0]) {
          gradviz.goTo(at);
          await pause();
          rows.push([all(".row").length, all("#events .current .flow").map((each) => each.textContent)]);
        }
        document.getElementById("ops").scrollTop = 1e9;
        document.getElementById("ops").dispatchEvent(new Event("scroll"));
        await pause();
        rows.push(text("#ops .number").at(-1));
        return rows;"""
    *found, scrolled = answer(written(trace, tmp_path), script, tmp_path)
    last = len(trace.events) - 1
    for (count, current), position in zip(found, (last // 2, last, 0), strict=True):
        assert 20 < count < 300
        assert current == [trace.events[position].sentence()]
    assert scrolled == "9999"


@needed
def test_panes_show_the_state_at_the_event(tmp_path: Path) -> None:
    trace = walked("shared_weights")
    at = next(i for i, event in enumerate(trace.events) if event.kind == "accumulate")
    script = f"""gradviz.goTo({at});
        const found = {{ phase: text("#phases .current"), made: text("#made")[0] }};
        found.current = all("#ops .row.current .number").map((each) => each.textContent);
        found.locals = text("#locals dd");
        found.gradientOps = text("#gradient-ops .flow");
        for (const part of ["map", "generators", "frontiers"]) {{
          document.getElementById("tab-" + part).click();
          found[part] = text(`#${{part}} .row`);
        }}
        found.here = text("#here .name");
        found.signs = text("#ops .glyph");
        return found;"""
    found = answer(written(trace, tmp_path), script, tmp_path)
    state = trace.state_at(at)
    assert found["phase"] == ["accumulate"]
    assert found["made"] == f"{state.gradient_op_count} of {len(trace.gradient_ops)}"
    assert found["current"] == ["0"]
    assert found["locals"][2] == ", ".join(state.locally_generated_blobs)
    assert len(found["map"]) == len(state.gradient_map)
    assert len(found["frontiers"]) == len(state.frontier)
    assert any("(was " in each for each in found["gradientOps"])
    assert {"FC", "Σ Sum", "FCGradient", "w₀"} <= set(found["here"])
    assert found["signs"][0] == "►" and "√" in found["signs"]


@needed
def test_the_picture_shows_what_there_is_at_the_event(tmp_path: Path) -> None:
    trace = walked("overwritten")
    script = """const found = {};
        for (const at of [0, gradviz.last]) {
          gradviz.goTo(at);
          const looks = (id) => document.querySelector(`#picture [id="${id}"]`).getAttribute("class");
          const wanted = all("#picture g.edge").filter((each) => each.textContent.includes("wanted"));
          found[at] = [looks("op_1"), looks("gop_3"), looks("op_2"), wanted.map((each) => each.getAttribute("class"))];
        }
        return Object.values(found);"""
    first, last = answer(written(trace, tmp_path), script, tmp_path)
    assert first == ["node waiting", "node later", "node waiting", ["edge unseen later"]]
    assert last == ["node failed", "node done", "node skipped", ["edge"]]


@needed
def test_names_are_shown_as_text(tmp_path: Path) -> None:
    blob = '<img src=x onerror="boom()">&amp;\u202eevil'
    net = nets.net("odd", ("Relu", "x", "y"), outputs=["y"])
    net.op[0].output[0] = net.external_output[0] = blob
    script = """gradviz.goTo(gradviz.last - 3);
        return [text("#ops .flow")[0], all("img").length, text("#map .key"), text("#here .name").length];"""
    flow, images, keys, boxes = answer(written(gradviz.trace(net), tmp_path), script, tmp_path)
    assert images == 0
    assert blob.replace("\u202e", "\\u202e") in flow
    assert keys[0].startswith("<img src=x") and "\\u202e" in keys[0]
    assert boxes > 2


@needed
def test_figures_of_a_run_are_shown(tmp_path: Path) -> None:
    net = nets.net("bad", ("Log", "x", "y"), ("AveragedLoss", "y", "loss"))
    workspace = gradviz.run(net, {"x": np.array([-1.0, 0.0, 1.0], "f")}, ys=["loss"])
    page = written(gradviz.trace(net, ["loss"]), tmp_path, workspace=workspace)
    assert "makes NaN or Inf out of finite inputs" in unescape(page.read_text())
    script = """gradviz.goTo(0);
        const rows = all("#values .row").map((row) => [...row.children].map((each) => each.textContent));
        return [rows, text("#here .note")];"""
    rows, notes = answer(page, script, tmp_path)
    x, y = rows[0], next(row for row in rows if row[1] == "y₀")
    assert x[2:6] == ["float32[3]", "-1", "1", "0"]
    assert y[-1] == "1 NaN, 1 Inf" and y[0] == "!"
    assert "3 · 1 NaN · 1 Inf" in notes


@needed
def test_a_nested_walk_is_told(tmp_path: Path) -> None:
    trace = walked("nested")
    at = next(i for i, event in enumerate(trace.events) if event.kind == "make" and event.op_index == 0)
    script = f'gradviz.goTo({at}); return [text("#nested summary"), text("#nested li")];'
    heads, sentences = answer(written(trace, tmp_path), script, tmp_path)
    told = [event.sentence() for _, inner in trace.nested_at(at) for event in inner.events]
    assert len(heads) == 3  # both branches, and the branch of the If within
    assert set(told) <= set(sentences)


@needed
def test_dark_and_light_follow_the_system(tmp_path: Path) -> None:
    path = written(walked("mlp"), tmp_path)
    script = "return getComputedStyle(document.body).backgroundColor;"
    assert answer(path, script, tmp_path) == "rgb(255, 255, 255)"
    assert answer(path, script, tmp_path, "", DARK) == "rgb(21, 24, 28)"


@needed
@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="axe-core-python is not installed")
@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["overwritten", "embedding"])
def test_the_page_is_accessible(name: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    spec = find_spec("axe_core_python")
    assert spec is not None and spec.submodule_search_locations is not None
    axe = Path(spec.submodule_search_locations[0], "axe.min.js").read_text("utf-8").replace("</script", "<\\/script")
    net = nets.ALL[name]()
    trace = nets.walked(net)
    script = """document.getElementById("help").open = true;
        const found = [];
        for (const [at, tab] of [[0, "map"], [gradviz.last >> 1, "generators"], [gradviz.last, "frontiers"]]) {
          gradviz.goTo(at);
          document.getElementById("tab-" + tab).click();
          await pause();
          const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
          const { violations, passes } = await axe.run(document, { runOnly: rules });
          found.push(...violations.map((each) => `${at} ${each.id}: ${each.nodes[0].html}`));
          if (passes.length < 20) found.push("axe looked at nothing");
        }
        return found;"""
    assert answer(written(trace, tmp_path), f"{axe};{script}", tmp_path, "", *flags) == []
