"""What does not fit the memory is refused, and nothing is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradviz import NetBuilder
from gradviz.cli import bounds

pytestmark = pytest.mark.skipif(bounds.free_memory() is None, reason="the system does not tell how much memory is free")


def test_an_array_beyond_the_free_memory_is_refused_inside_only() -> None:
    code = (
        "import numpy, resource\n"
        "from gradviz.cli.bounds import within_memory\n"
        "before = resource.getrlimit(resource.RLIMIT_DATA)\n"
        "with within_memory(2**28):\n"
        "    numpy.ones(2**20)\n"
        "    try: numpy.ones(2**26)\n"
        "    except MemoryError: print('refused')\n"
        "print(before == resource.getrlimit(resource.RLIMIT_DATA), numpy.ones(2**26).size)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"refused\nTrue {2**26}\n"


def test_a_control_group_bounds_the_free_memory(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "max").write_text("3000000\n")
    (tmp_path / "current").write_text("1000000\n")
    monkeypatch.setattr(bounds, "_GROUP_LIMITS", ((tmp_path / "max", tmp_path / "current"),))
    assert bounds.free_memory() == 1900000
    (tmp_path / "max").write_text("max\n")
    assert bounds.free_memory() > 1900000


def test_a_system_that_tells_nothing_is_let_be(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(bounds, "_MEMORY", tmp_path / "none")
    assert bounds.free_memory() is None
    with bounds.within_memory():
        pass


def test_a_net_that_needs_more_than_there_is(tmp_path: Path, gradviz) -> None:
    made = NetBuilder("huge")
    free = bounds.free_memory()
    assert free is not None
    made.add("ConstantFill", [], "x", shape=[free // 4], value=1.0)
    made.add("Relu", "x", "y")
    file = tmp_path / "huge.pb"
    file.write_bytes(made.net.SerializeToString())
    code = (
        "import sys, gradviz.cli.bounds as b\n"
        "b.free_memory = lambda: 2**28\n"
        "from gradviz.cli import cli\n"
        f"cli.main(['run', {str(file)!r}, '--no-gradients'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "op 0 ConstantFill (x): there is not enough memory for what it computes" in done.stderr
    assert "Traceback" not in done.stderr
