"""Files that users hand over, good and bad."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from google.protobuf import text_format

from gradviz.cli import cli
from gradviz.proto import NetDef
from tests.render import nets


@pytest.fixture
def gradviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command line in an empty folder; no traceback may ever show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*args: str) -> Result:
        result = CliRunner().invoke(cli, list(args))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return call


def write(path: Path, net: NetDef, *, text: bool = False) -> str:
    path.write_bytes(text_format.MessageToString(net).encode() if text else net.SerializeToString())
    return str(path)


@pytest.fixture
def mlp(tmp_path: Path) -> str:
    """A net with its init net beside it; x and label must be fed."""
    made = nets.mlp()
    init = NetDef(name="init")
    for name, shape in (("w1", [5, 4]), ("b1", [5]), ("w2", [3, 5]), ("b2", [3])):
        fill = init.op.add(type="UniformFill", output=[name])
        fill.arg.add(name="shape", ints=shape)
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    write(folder / "mlp_init.pb", init)
    return write(folder / "mlp.pb", made)


@pytest.fixture
def failing(tmp_path: Path) -> str:
    return write(tmp_path / "failing.pbtxt", nets.overwritten(), text=True)


BAD = ("empty", "random", "half", "typo", "missing", "folder")


def bad_file(kind: str, folder: Path) -> str:
    """A file that is no net, of some kind."""
    whole = nets.mlp().SerializeToString()
    contents = {
        "empty": b"",
        "random": random.Random(7).randbytes(500),
        "half": whole[: len(whole) // 2 + 3],
        "typo": b'name: "n"\nop {\n  typ: "Relu"\n}\n',
    }
    path = folder / f"{kind}.pb"
    if kind in contents:
        path.write_bytes(contents[kind])
    elif kind == "folder":
        path.mkdir()
    return str(path)
