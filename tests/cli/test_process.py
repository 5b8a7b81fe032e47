"""The real process: exit codes, broken pipes, full disks, interrupts, terminals, help."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradviz as library
from tests.cli.conftest import bad_file
from tests.cli.conftest import write as write_net
from tests.render import nets


def run(*args: str, cwd: Path | None = None, env: dict[str, str] | None = None, **more) -> subprocess.CompletedProcess:
    environment = {**os.environ, **(env or {})}
    command = [sys.executable, "-m", "gradviz", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, **more)


@pytest.fixture
def long_net(tmp_path: Path) -> str:
    ops = [("Relu", f"h{i}", f"h{i + 1}") for i in range(3000)]
    return write_net(tmp_path / "long.pb", nets.net("long", *ops, ("AveragedLoss", "h3000", "loss")))


def test_version_and_help() -> None:
    assert run("--version").stdout == f"gradviz {library.__version__}\n"
    shown = run("--help", env={"NO_COLOR": "1"})
    assert shown.returncode == 0
    for command in ("open", "trace", "dot", "run", "ops", "samples", "conformance"):
        assert command in shown.stdout
        assert run(command, "--help").returncode == 0
    assert "\x1b[" not in shown.stdout


def test_help_imports_no_heavy_library() -> None:
    heavy = ("numpy", "networkx", "textual")
    code = f"import sys; from gradviz.cli import cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_trace_imports_neither_networkx_nor_textual(mlp) -> None:
    code = (
        "import sys; from gradviz.cli import cli\n"
        f"try: cli.main(['trace', {mlp!r}])\n"
        "except SystemExit: print([m for m in ('networkx','textual') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("[]\n")


@pytest.mark.parametrize("args", [(), ("frobnicate",), ("trace",), ("trace", "--nope", "x")])
def test_usage_errors_are_exit_code_2_on_stderr(args) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == (not args), "without arguments it is the help that was asked for"
    assert bool(done.stderr) == bool(args)


def test_open_without_a_terminal_names_trace(mlp) -> None:
    done = run("open", mlp, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"gradviz: the debugger needs a terminal; `gradviz trace {mlp}` prints the events instead\n"


@pytest.mark.parametrize("kind", ["empty", "random", "half", "typo"])
def test_bad_files(tmp_path: Path, kind: str) -> None:
    done = run("trace", bad_file(kind, tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_a_reader_that_goes_away_is_no_news(long_net) -> None:
    done = subprocess.run(
        f"{sys.executable} -m gradviz trace --ys loss {long_net} | head -1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 141
    assert done.stdout.startswith("event")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["trace", "dot"])
def test_a_full_disk_is_one_line(mlp, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gradviz", command, "--ys", "loss", mlp],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "gradviz: no space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_is_exit_code_130(long_net) -> None:
    import signal
    import time

    command = [sys.executable, "-m", "gradviz", "trace", "--ys", "loss", long_net]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it prints, and soon waits for a reader
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said == "gradviz: interrupted\n"


def test_terminals_that_cannot_show_subscripts(mlp) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gradviz", "trace", "--ys", "loss", mlp],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0
    assert b"\\u2080" in done.stdout


def test_a_folder_that_cannot_be_written(mlp, tmp_path: Path) -> None:
    target = Path("/proc/gradviz.svg") if Path("/proc/version").exists() else tmp_path / "no" / "x.svg"
    for args in (("dot", mlp, "-o", str(target)), ("run", mlp, "--npz", str(target.with_suffix(".npz")))):
        done = run(*args)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert not target.exists()
