"""Pictures from DOT: by the `graphviz-pure` program that comes with gradviz, else by a `dot` of the system.

`graphviz-pure` is a wheel with a program and no Python code; it draws SVG and PNG, no PDF.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from gradviz.errors import GradvizError
from gradviz.render.escape import visible

OWN, SYSTEM = "graphviz-pure", "dot"
PROGRAMS = (OWN, SYSTEM)
FORMATS = {OWN: frozenset({"svg", "png"}), SYSTEM: frozenset({"svg", "png", "pdf"})}
ENGINES = ("dot", "neato", "fdp", "sfdp", "circo", "twopi", "osage", "patchwork")
SECONDS = 120.0
_DAYS = 1e6
MAX_NODES = 1500

_PNG_INCHES = 125
"""The longer side of a PNG, at 96 dots an inch 12,000 dots; what is larger is scaled down, for memory's sake."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a picture is drawn.

    Attributes:
        engine: the layout, one of `ENGINES`.
        program: `graphviz-pure` or `dot`; None is who can.
        seconds: after so long the program is stopped.
        max_nodes: pictures with more nodes are refused by those that write files.
    """

    engine: str = "dot"
    program: str | None = None
    seconds: float = SECONDS
    max_nodes: int = MAX_NODES


class NoProgramError(GradvizError):
    """Nothing on this machine draws the picture that was asked for."""


def program_for(format: str, wanted: str | None = None) -> str:
    """The path of a program that draws a format.

    Args:
        format: `svg`, `png` or `pdf`.
        wanted: `graphviz-pure` or `dot`; None is the first of them that there is and that can.

    Raises:
        NoProgramError: there is none.
        GradvizError: the program is unknown, or does not draw this format.
    """
    if wanted is not None and wanted not in PROGRAMS:
        raise GradvizError(f"pictures are drawn by {' or '.join(PROGRAMS)}, not by {wanted!r}")
    if wanted is not None and format not in FORMATS[wanted]:
        raise GradvizError(f"{wanted} does not draw {format.upper()}: leave the choice to gradviz, or write .svg")
    for name in PROGRAMS if wanted is None else (wanted,):
        path = _located(name) if format in FORMATS[name] else None
        if path is not None:
            return path
    raise NoProgramError(f"{_lacking(format, wanted)} draws {format.upper()} on this machine: {_help(format)}")


def _lacking(format: str, wanted: str | None) -> str:
    able = [name for name in PROGRAMS if format in FORMATS[name]] if wanted is None else [wanted]
    return f"no {' and no '.join(able)}"


def _help(format: str) -> str:
    system = "install Graphviz (apt install graphviz, brew install graphviz, winget install graphviz)"
    return system if format == "pdf" else f"pip install graphviz-pure, or {system}"


def _located(name: str) -> str | None:
    """The program beside the running Python first, so that the version that gradviz depends on is found."""
    if name == OWN:
        beside = shutil.which(name, path=sysconfig.get_path("scripts"))
        if beside is not None:
            return beside
    return shutil.which(name)


def draw(source: str, format: str, how: Drawing | None = None) -> bytes:
    """Lay out DOT text and draw it.

    Args:
        source: DOT text.
        format: `svg`, `png` or `pdf`.
        how: engine, program and seconds.

    Raises:
        NoProgramError: nothing on this machine draws this format.
        GradvizError: the engine is unknown, the program failed, or it took too long.
    """
    how = how or Drawing()
    if how.engine not in ENGINES:
        raise GradvizError(f"there is no layout engine {how.engine!r}: take one of {', '.join(ENGINES)}")
    if not how.seconds > 0:  # NaN is not, either
        raise GradvizError(f"seconds must be more than 0, not {how.seconds:g}")
    command = [program_for(format, how.program), f"-K{how.engine}", f"-T{format}", "-q2"]
    if format == "png":
        command.append(f"-Gsize={_PNG_INCHES},{_PNG_INCHES}")
    return _run(command, source.encode("utf-8", "replace"), format, min(how.seconds, _DAYS))


def _run(command: list[str], source: bytes, format: str, seconds: float) -> bytes:
    name = Path(command[0]).stem
    try:
        # The environment may hold settings of a Graphviz that is not this one.
        environment = {key: value for key, value in os.environ.items() if key != "GVBINDIR"}
        done = subprocess.run(command, input=source, capture_output=True, timeout=seconds, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise GradvizError(
            f"{name} was stopped after {seconds:g} seconds: show less (--focus BLOB, --fold DEPTH), "
            "or give it longer (--seconds)"
        ) from None
    except OSError as error:
        raise GradvizError(f"{name} cannot be started: {error.strerror or error}") from error
    if done.returncode != 0 or not done.stdout:
        said = visible(done.stderr.decode("utf-8", "replace").strip().replace("\n", "; "))[:300]
        raise GradvizError(
            f"{name} could not draw {format.upper()} (exit {done.returncode}): {said or 'it said nothing'}"
        )
    return done.stdout
