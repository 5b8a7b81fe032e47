"""What stands in a node and what a tooltip says of it, as plain text; each format adds its own markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.autodiff.events import versioned
from gradviz.render.escape import label, shortened, visible
from gradviz.render.style import CHANGES, GLYPHS, WORDS

if TYPE_CHECKING:
    from gradviz.render.graph import Graph


def heading(data: dict[str, Any], *, ticks: bool = True) -> str:
    """The first line: an operator's type, or a blob with its version as a subscript; before it the glyph of its state.

    Args:
        data: attributes of the node.
        ticks: whether operators that are done get a tick; when all are, it goes without saying.
    """
    change = CHANGES.get(data.get("change", ""), "")
    if "type" not in data:
        glyph = change or (GLYPHS["current"] if data["state"] == "current" else "")
        return (glyph + " " if glyph else "") + blob_name(data)
    unsaid = data["state"] == "done" and (data["part"] == "gradient" or not ticks)
    glyph = change or ("" if unsaid else GLYPHS.get(data["state"], ""))
    summing = "Σ" if data["kind"] == "sum" else ""
    return " ".join(each for each in (glyph, summing, label(data["type"])) if each)


def under_way(graph: Graph) -> bool:
    """Whether the walk is neither at its end nor absent, so that ticks tell something."""
    return any(data["state"] in ("waiting", "current") for _, data in graph.nodes(data=True) if "type" in data)


def blob_name(data: dict[str, Any], most: int = 40) -> str:
    """A blob's name, shortened, with its version; a gradient that has one version goes without."""
    name = label(data["name"], most)
    return name if data["part"] == "gradient" and not data["several"] else versioned(name, data["version"])


_MOST_CHANGES = 3


def notes(data: dict[str, Any]) -> list[str]:
    """The small lines below."""
    found = _operator_notes(data) if "type" in data else _blob_notes(data)
    if data.get("changes"):
        found += [label(each, 36) for each in data["changes"].split("\n")[:_MOST_CHANGES]]
    if data.get("more"):
        found.append(f"… {data['more']} more")
    return found


def _operator_notes(data: dict[str, Any]) -> list[str]:
    if data["kind"] == "scope":
        return [f"{data['ops']} ops", shortened(data["arguments"], 36)]
    number = f"op {data['index']}" if data["part"] == "forward" else f"gradient op {data['index']}"
    first = [number]
    if data["name"]:
        first.append(label(data["name"], 24))
    second = [word for word in (WORDS.get(data["state"], ""), data["device"]) if word]
    if data["in_place"] and data["kind"] != "sum":
        second.insert(0, "in place")
    return [" · ".join(each) for each in (first, second) if each]


def _blob_notes(data: dict[str, Any]) -> list[str]:
    words = []
    if data["half"]:
        words.append(f"sparse {data['half']}")
    if data["renamed_from"]:
        words.append(f"was {label(data['renamed_from'], 32)}")
    if data["role"] == "given":
        words.append("given")
    if data["state"] == "failed":
        words.append("× failed")
    if data["y"]:
        words.append("y")
    if data["shape"]:
        words.append(data["shape"])
    return words


def tooltip(data: dict[str, Any]) -> str:
    """Everything about a node in a few lines, with names in full."""
    changes = [data["change"], *map(visible, data["changes"].split("\n"))] if data.get("change") else []
    return "\n".join([*(_operator_tooltip if "type" in data else _blob_tooltip)(data), *filter(None, changes)])


def _blob_tooltip(data: dict[str, Any]) -> list[str]:
    lines = [visible(data["name"]) or "(empty name)", f"version {data['version']}", data["role"]]
    if data["shape"]:
        lines.append(f"shape {data['shape']}")
    if data["in_place"]:
        lines.append("written in place")
    return lines + [note for note in _blob_notes(data) if note != data["shape"]]


def _operator_tooltip(data: dict[str, Any]) -> list[str]:
    what = {"op": "forward op", "gradient_op": "gradient op", "sum": "accumulation", "scope": "scope"}[data["kind"]]
    lines = [f"{visible(data['type'])} ({what} {data['index']})"]
    if data["kind"] == "scope":
        lines = [f"{visible(data['type'])} ({data['ops']} ops)"]
    for name in ("name", "state", "engine", "device", "arguments"):
        if data[name]:
            lines.append(f"{name}: {shortened(visible(data[name]), 400)}")
    if data.get("owner", -1) >= 0:
        lines.append(f"made at op {data['owner']}")
    if data["in_place"]:
        lines.append("works in place")
    return lines
