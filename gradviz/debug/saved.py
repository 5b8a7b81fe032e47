"""Saved sessions: where a session on a net stood, for the next time that net is opened.

A session is found by the content of the net, not by its path, so that it survives a move and not a change. Files are
JSON with a version, written whole or not at all, in the user's state folder (XDG_STATE_HOME on Linux).
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradviz.debug.breakpoints import Breakpoint, Watch
from gradviz.errors import GradvizError
from gradviz.ops.records import GradientSlice

if TYPE_CHECKING:
    from gradviz.autodiff.trace import Trace
    from gradviz.debug.session import Session
    from gradviz.nets import Model
    from gradviz.ops.records import Gradient

_SOME = 1000
VERSION = 1
"""Version of the format; files of another are left alone."""

_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading a file raises that somebody else wrote, or that was cut short."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a session leaves behind.

    Attributes:
        ys: what the gradient was asked of.
        chosen: how the ys came about.
        position: the event at the cursor.
        events: how many events the walk had, 0 where it was left before its end; a position counts only in a walk of
            the same length.
        breakpoints: with their hits.
        watches: watched blobs.
    """

    ys: dict[str, Gradient]
    chosen: str
    position: int
    events: int
    breakpoints: tuple[Breakpoint, ...]
    watches: tuple[Watch, ...]


@dataclass(frozen=True, slots=True)
class Recent:
    """A net that was debugged before.

    Attributes:
        net: its name.
        path: its file.
        chosen: which net of the file, empty where it holds one only.
        position: the event where it was left.
        breakpoints: how many were set.
        when: when it was left, in seconds since 1970.
    """

    net: str
    path: Path
    chosen: str
    position: int
    breakpoints: int
    when: float


def recent(most: int = 12) -> list[Recent]:
    """The nets that were debugged last and whose files are still there, newest first, each file once."""
    found: dict[tuple[Path, str], Recent] = {}
    for _, path in sorted(_written(), reverse=True):
        each = _recent(path)
        if each is not None and each.path.is_file():
            found.setdefault((each.path, each.chosen), each)
        if len(found) == most:
            break
    return list(found.values())


def _written() -> list[tuple[float, Path]]:
    """The saved sessions, with the time at which each was written."""
    try:
        return [(each.stat().st_mtime, each) for each in folder().glob("*.json")]
    except OSError:
        return []


def _recent(path: Path) -> Recent | None:
    """What a session's file says of its net; None where it says nothing of a file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["version"] != VERSION or not found.get("path"):
            return None
        file, chosen = Path(str(found["path"])), str(found.get("chosen_net", ""))
        place = int(found["position"]), len(found["breakpoints"])
        return Recent(str(found["net"]), file, chosen, *place, path.stat().st_mtime)
    except _UNREADABLE:
        return None


def folder() -> Path:
    """Where sessions are kept."""
    from platformdirs import user_state_path

    return user_state_path("gradviz", appauthor=False) / "sessions"


def path_of(model: Model) -> Path:
    """The file of a net's session, named after the content of the net."""
    return folder() / (sha256(model.net.SerializeToString(deterministic=True)).hexdigest()[:32] + ".json")


def load(model: Model) -> Saved | None:
    """The session on this net that was saved last; None without one, or where it cannot be read."""
    try:
        found = json.loads(path_of(model).read_text("utf-8"))
        return _saved(found) if found["version"] == VERSION else None
    except (*_UNREADABLE, GradvizError):
        return None


def save(session: Session) -> Path | None:
    """Keep where a session stands; gives the file, or None where nothing can be written."""
    path = path_of(session.trace.model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, json.dumps(_document(session), indent=1))
    except (OSError, ValueError):
        return None
    return path


def restore(session: Session, saved: Saved) -> None:
    """Put breakpoints and watches back, and the cursor where the walk is the same one."""
    session.breakpoints = list(saved.breakpoints)
    session.watches = list(saved.watches)
    if session.trace.ys == saved.ys and _same_walk(session.trace, saved):
        session.goto(saved.position)


def _same_walk(trace: Trace, saved: Saved) -> bool:
    """Whether a walk holds the saved position; one that has not come so far goes on until it has."""
    while not trace.finished and len(trace.events) <= saved.position:
        trace.advance(_SOME)
    if trace.finished and saved.events:
        return len(trace.events) == saved.events
    return len(trace.events) > saved.position


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a file beside it takes its place when it is complete."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _document(session: Session) -> dict[str, Any]:
    trace = session.trace
    return {
        "version": VERSION,
        "net": trace.model.name,
        "path": str(trace.model.path.absolute()) if trace.model.path else "",
        "chosen_net": trace.model.net.name if trace.model.format.startswith(("plan", "metanet", "minidb")) else "",
        "ys": [[name, list(g) if isinstance(g, GradientSlice) else g] for name, g in trace.ys.items()],
        "chosen": trace.chosen,
        "position": session.position,
        "events": len(trace.events) if trace.finished else 0,
        "breakpoints": [
            {
                "kind": b.kind,
                "value": b.value,
                "enabled": b.enabled,
                "ignore": b.ignore,
                "hits": b.hits,
                "condition": b.condition,
            }
            for b in session.breakpoints
        ],
        "watches": [{"blob": watch.blob, "enabled": watch.enabled} for watch in session.watches],
    }


def _saved(found: dict[str, Any]) -> Saved:
    ys = {str(name): GradientSlice(*g) if isinstance(g, list) else g for name, g in found["ys"]}
    if not all(map(_is_gradient, ys.values())):
        raise ValueError("a gradient is a name, a slice or nothing")
    return Saved(
        ys=ys,
        chosen=str(found["chosen"]),
        position=int(found["position"]),
        events=int(found["events"]),
        breakpoints=tuple(_breakpoint(each) for each in found["breakpoints"]),
        watches=tuple(Watch(str(each["blob"]), bool(each["enabled"])) for each in found["watches"]),
    )


def _is_gradient(found: Any) -> bool:
    if isinstance(found, GradientSlice):
        return isinstance(found.indices, str) and isinstance(found.values, str)
    return isinstance(found, str | None)


def _breakpoint(found: dict[str, Any]) -> Breakpoint:
    value = int(found["value"]) if found["kind"] == "op" else str(found["value"])
    condition = str(found.get("condition", ""))  # sessions of before had none
    hits = int(found["ignore"]), int(found["hits"])
    return Breakpoint(str(found["kind"]), value, bool(found["enabled"]), *hits, condition)
