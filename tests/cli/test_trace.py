"""`gradviz trace`."""

import json

import pytest

import gradviz as library
from tests.cli.conftest import BAD, bad_file, write
from tests.render import nets


def test_every_event_is_a_line_and_talk_is_elsewhere(gradviz, mlp) -> None:
    result = gradviz("trace", mlp)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    trace = library.trace(library.load(mlp))
    assert len(lines) == len(trace.events) + 1
    assert lines[1].split()[:3] == ["0", "play", "op"]
    assert lines[-1].endswith(trace.events[-1].sentence())
    assert result.stderr == "gradviz: ys: loss (external outputs; choose others with --ys)\n"


def test_json_lines(gradviz, mlp) -> None:
    result = gradviz("trace", mlp, "--json", "--ys", "loss")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["index"] for event in events] == list(range(len(events)))
    assert events[-1]["kind"] == "finish"
    assert result.stderr == ""


def test_a_failed_walk_is_exit_code_1_with_its_sentence(gradviz, failing) -> None:
    result = gradviz("trace", failing)
    assert result.exit_code == 1
    assert "Failed: MulGradient" in result.stdout.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("gradviz: the walk failed at event 40: MulGradient")
    last = json.loads(gradviz("trace", failing, "--json").stdout.splitlines()[-1])
    assert last["error"]["kind"] == "input_overwritten"


def test_up_to_an_event_with_the_state(gradviz, failing) -> None:
    result = gradviz("trace", failing, "--at", "20")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:22]] == [str(i) for i in range(21)]
    assert lines[22] == ""
    assert lines[23].startswith("State after event 20 of 40")
    state = json.loads(gradviz("trace", failing, "--at", "error", "--json").stdout.splitlines()[-1])
    assert state["kind"] == "state"
    assert state["index"] == 40
    assert state["gradient_ops"] == 4


def test_filters(gradviz, mlp) -> None:
    lines = gradviz("trace", mlp, "--phase", "check", "--op", "FC").stdout.splitlines()[1:]
    assert len(lines) == 6
    assert all(" check " in line and ("op 0" in line or "op 2" in line) for line in lines)
    for options, words in ((("--phase", "chek"), "no phase"), (("--op", "Fc"), "did you mean FC")):
        result = gradviz("trace", mlp, *options)
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stdout == ""


def test_summary(gradviz, failing, mlp) -> None:
    result = gradviz("trace", failing, "--summary")
    assert result.exit_code == 1
    assert "1 waiting, 1 failed, 1 skipped, 1 stopped, 2 done" in result.stdout
    made = json.loads(gradviz("trace", mlp, "--summary", "--json").stdout)
    assert made["input_to_grad"]["w1"] == "w1_grad"
    assert made["chosen"] == "external outputs"


@pytest.mark.parametrize("command", [("trace",), ("dot",), ("dot", "-o", "x.svg"), ("run",)])
@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_net_gets_one_line_and_exit_code_2(gradviz, tmp_path, kind, command) -> None:
    result = gradviz(*command, bad_file(kind, tmp_path))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("gradviz: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "x.svg").exists()


def test_a_typo_names_line_and_column(gradviz, tmp_path) -> None:
    assert "line 3, column 3" in gradviz("trace", bad_file("typo", tmp_path)).stderr


@pytest.mark.parametrize("event", ["41", "-42", "soon", "1.5", ""])
def test_events_that_are_none(gradviz, failing, event) -> None:
    result = gradviz("trace", failing, "--at", event)
    assert result.exit_code == 2
    assert result.stdout == ""


class TestYs:
    """`--ys`."""

    def test_unknown(self, gradviz, mlp) -> None:
        result = gradviz("trace", mlp, "--ys", "los")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr == "gradviz: the net has no blob 'los' to ask a gradient of; nearest: loss\n"

    def test_given_dense_and_sparse(self, gradviz, tmp_path) -> None:
        path = write(tmp_path / "n.pb", nets.net("n", ("FC", "x w b", "y"), ("Relu", "y", "z"), outputs=["z"]))
        dense = [json.loads(line) for line in gradviz("trace", path, "--ys", "z=dz", "--json").stdout.splitlines()]
        assert dense[2]["gradient"] == "dz"
        sparse = gradviz("trace", path, "--ys", "w=rows,vals", "--ys", "z", "--json")
        seeds = [each for each in map(json.loads, sparse.stdout.splitlines()) if each["kind"] == "seed"]
        assert [each["blob"] for each in seeds] == ["w", "z"]
        assert seeds[0]["gradient"] == {"indices": "rows", "values": "vals"}

    def test_names_with_signs_in_them(self, gradviz, tmp_path) -> None:
        path = write(tmp_path / "n.pb", nets.net("n", ("Relu", "a", "y=1,2"), outputs=[]))
        assert gradviz("trace", path, "--ys", "y=1,2").exit_code == 0
        seed = gradviz("trace", path, "--ys", "y=1,2=g", "--json", "--phase", "seed").stdout
        assert json.loads(seed)["gradient"] == "g"

    @pytest.mark.parametrize("text", ["loss=", "loss=,v", "loss=i,", "loss=i,v,w"])
    def test_written_wrongly(self, gradviz, mlp, text) -> None:
        result = gradviz("trace", mlp, "--ys", text)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"gradviz: --ys {text}: ")

    def test_without_external_outputs(self, gradviz, tmp_path) -> None:
        path = write(tmp_path / "n.pb", nets.net("n", ("Relu", "a", "b"), ("Relu", "b", "c"), outputs=[]))
        assert "ys: c (unread outputs" in gradviz("trace", path).stderr


def test_many_warnings_are_cut_short_and_the_summary_has_them_all(gradviz, tmp_path, monkeypatch) -> None:
    nine = [f"number {i}" for i in range(9)]
    monkeypatch.setattr("gradviz.autodiff.explain.surprises.warnings_about", lambda trace: nine)
    path = write(tmp_path / "n.pb", nets.mlp())
    result = gradviz("trace", path, "--summary")
    assert [line for line in result.stderr.splitlines() if "warning" in line] == [
        *(f"gradviz: warning: number {i}" for i in range(3)),
        "gradviz: warning: and 6 more; `gradviz trace MODEL --summary` lists them all",
    ]
    assert sum(line.startswith("warning ") for line in result.stdout.splitlines()) == 9


def test_a_sample_is_opened_by_name_with_its_ys(gradviz) -> None:
    from gradviz.nets import samples

    sample = samples.get("two_losses")
    assert sample is not None
    result = gradviz("trace", "two_losses", "--phase", "seed", "--json")
    assert [json.loads(line)["gradient"] for line in result.stdout.splitlines()] == list(dict(sample.ys).values())
    assert "what this sample is about" in result.stderr
