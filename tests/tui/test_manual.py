"""docs/debugger.md lists the keys, the fields and the forms of breakpoints that there are."""

import re
from pathlib import Path

import pytest

from gradviz.debug.breakpoints import parse
from gradviz.debug.expressions import FIELDS
from gradviz.tui import keys, rebinding

from .nets import app, session

PAGE = (Path(__file__).parents[2] / "docs" / "debugger.md").read_text("utf-8")


def table(name):
    """The cells of the table between two comments, without its head."""
    part = PAGE.split(f"<!-- {name}: ")[1].split(f"<!-- end of {name} -->")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_key_stands_in_the_table_and_no_other():
    listed = [(each.replace("`", ""), what, id.strip("`")) for each, what, id in table("keys")]
    assert sorted(listed) == sorted((key.written, key.tooltip, key.id) for key in keys.KEYS)


def test_the_ids_are_those_of_the_bindings():
    assert {row[2].strip("`") for row in table("keys")} == {binding.id for binding in keys.BINDINGS}


def test_every_field_of_a_condition_stands_in_the_table():
    wanted = [[f"`{name}`", field.kind, field.meaning] for name, field in FIELDS.items()]
    assert table("fields") == wanted


def test_breakpoints_as_the_page_writes_them():
    section = PAGE.split("| written | stops |")[1].split("### Conditions")[0]
    texts = [text for row in section.splitlines() if row.startswith("| `") for text in re.findall("`([^`]+)`", row)]
    kinds = [parse(text).kind for text in texts if text != "if"]
    assert kinds == ["op", "op", "type", "blob", "blob", "phase", "event", "error", "when", "when", "blob"]


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    rebinding.path().parent.mkdir(parents=True, exist_ok=True)
    return rebinding.path()


@pytest.mark.parametrize(("key", "moved"), [("n", 0), ("j", 1), ("space", 1), ("k", -1), ("N", 0), ("o", 9)])
async def test_keys_are_bound_anew_as_the_page_says(config, key, moved):
    config.write_text(PAGE.split("```json")[1].split("```")[0])
    made = app("lenet", 60)
    rebinding.rebind(made)
    async with made.run_test() as pilot:
        await pilot.press(key)
        wanted = session("lenet", 60)
        wanted.step_op() if key == "o" else wanted.goto(60 + moved)
        assert made.session.position == wanted.position


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "no object"),
        ('{"debug.stop": "j"}', "did you mean debug.step"),
        ('{"debug.step": 3}', "as text"),
        ("\xff", "cannot be read"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_sentence(config, text, says):
    config.write_bytes(text.encode("latin-1"))
    taken, wrong = rebinding.read()
    assert taken == {}
    assert len(wrong) == 1 and says in wrong[0] and "\n" not in wrong[0]


def test_no_file_is_no_news(config):
    assert rebinding.read() == ({}, [])
