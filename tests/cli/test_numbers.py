"""Every option that takes a number, given numbers of all kinds: an answer or one line, never a traceback or a hang."""

import pytest

ODD = (
    "-1",
    "0",
    "999999999999999999999",
    "-999999999999999999999",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "",
    "x",
    "９",
)
COMMANDS = {
    "trace --at": ("trace", "mlp", "--at"),
    "trace --op": ("trace", "mlp", "--op"),
    "dot --at": ("dot", "mlp", "--at"),
    "dot --hops": ("dot", "mlp", "--focus", "loss", "--hops"),
    "dot --fold": ("dot", "mlp", "--fold"),
    "dot --from": ("dot", "mlp", "--from"),
    "dot --to": ("dot", "mlp", "--to"),
    "dot --max-nodes": ("dot", "mlp", "-o", "out.svg", "--max-nodes"),
    "dot --seconds": ("dot", "mlp", "-o", "out.svg", "--seconds"),
    "why --op": ("why", "mlp", "--op"),
    "mend --remedy": ("mend", "version_mismatch", "--remedy"),
    "run --seed": ("run", "mlp", "--seed"),
    "run --until": ("run", "mlp", "--until"),
    "report --seed": ("report", "mlp", "-o", "out.html", "--run", "--seed"),
    "conformance --show": ("conformance", "none.npz", "--show"),
}


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_odd_numbers(gradviz, command, number) -> None:
    result = gradviz(*command, number)
    assert result.exit_code in (0, 1, 2)
    if result.exit_code == 2:
        assert result.stdout == ""
        assert result.stderr.strip()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_no_time_to_draw(gradviz, seconds) -> None:
    result = gradviz("dot", "mlp", "-o", "out.svg", "--seconds", seconds)
    assert result.exit_code == 2
    assert "seconds must be more than 0" in result.stderr


def test_any_time_to_draw(gradviz) -> None:
    assert gradviz("dot", "mlp", "-o", "out.svg", "--seconds", "1e300").exit_code == 0
