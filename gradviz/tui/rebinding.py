"""Other keys for the same actions: the user's `keys.json`, which maps the ids of bindings to keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gradviz.tui import keys

if TYPE_CHECKING:
    from pathlib import Path

    from gradviz.tui.app import GradvizApp


def path() -> Path:
    """The file, in the user's configuration folder (XDG_CONFIG_HOME on Linux)."""
    from platformdirs import user_config_path

    return user_config_path("gradviz", appauthor=False) / "keys.json"


def read() -> tuple[dict[str, str], list[str]]:
    """The keys by id, and what is wrong with the file, one sentence each; nothing where there is no file."""
    file = path()
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        return {}, [f"{file} cannot be read: {error}; the keys are the usual ones"]
    if not isinstance(found, dict):
        return {}, [f'{file} holds no object such as {{"debug.step": "j"}}; the keys are the usual ones']
    known = {key.id for key in keys.KEYS}
    taken = {id: text for id, text in found.items() if isinstance(text, str) and text and _is_id(id, known)}
    return taken, [f"{file}: {_wrong(id, known)}" for id in found if id not in taken]


def _is_id(id: str, known: set[str]) -> bool:
    """Whether it is an id; those of other screens than the debug screen are taken as they are."""
    return id in known or not id.startswith("debug.")


def _wrong(id: str, known: set[str]) -> str:
    if _is_id(id, known):
        return f"{id} takes a key or keys with commas between, as text"
    from gradviz.autodiff.targets import nearest

    near = nearest(id, known)
    return f"there is no {id}" + (
        f"; did you mean {' or '.join(near)}?" if near else "; docs/debugger.md lists the ids"
    )


def rebind(app: GradvizApp) -> None:
    """Give an app the user's keys; what is wrong with them is told at its start."""
    taken, wrong = read()
    app.set_keymap(taken)
    app.notices = [*wrong, *app.notices]
