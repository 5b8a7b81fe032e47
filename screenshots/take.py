"""Take the README's pictures from the running app: `python -m screenshots.take [NAME ...]`.

The app runs on the sample nets without a terminal, keys are pressed as a user presses them, and what stands on the
screen then is written as SVG (by Textual) and as PNG (by resvg, with a monospaced font of this machine).
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradviz
from gradviz.nets import samples
from gradviz.tui.app import GradvizApp

if TYPE_CHECKING:
    from textual.pilot import Pilot

HERE = Path(__file__).parent
FONTS = ("DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Menlo", "Consolas", "Courier New")
"""Monospaced fonts with box-drawing characters, one of which every system has."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture.

    Attributes:
        name: of the files.
        sample: the sample net.
        kind: the kind of event at which the cursor stands.
        op: of the forward operator with this index; None: of any.
        keys: what is pressed then.
        size: columns and lines.
        theme: the theme of Textual.
    """

    name: str
    sample: str
    kind: str
    op: int | None = None
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (120, 36)
    theme: str = "textual-dark"


SHOTS = (
    Shot("debug", "lenet", "dense", op=6),
    Shot("sum", "shared_weights", "accumulate", keys=("alt+3", "right", "right")),
    Shot("mismatch", "version_mismatch", "fail"),
    Shot("diagnosis", "version_mismatch", "fail", keys=("enter",)),
    Shot("values", "lenet", "finish", keys=("x",)),
    Shot("ys", "lenet", "seed", keys=("y",), size=(100, 28)),
    Shot("narrow", "embedding", "accumulate", size=(80, 24)),
    Shot("light", "resnet20", "accumulate", keys=("alt+5", "plus"), theme="textual-light"),
)


def session(shot: Shot) -> gradviz.Session:
    """A session on the sample, at the event of the shot."""
    sample, path = samples.get(shot.sample), samples.find(shot.sample)
    if sample is None or path is None:
        raise SystemExit(f"there is no sample {shot.sample}; python -m sample_nets.build writes them")
    trace = gradviz.trace(gradviz.load(path), sample.ys)
    made = gradviz.Session(trace)
    found = (i for i, event in enumerate(trace.events) if event.kind == shot.kind and shot.op in (None, event.op_index))
    made.goto(next(found))
    return made


def feeds(shot: Shot) -> dict[str, Any]:
    """Values for the inputs of the sample."""
    from gradviz.execute.feeds import parse_feeds

    sample = samples.get(shot.sample)
    return parse_feeds([f"{name}={what}" for name, what in sample.feeds.items()]) if sample else {}


async def take(shot: Shot) -> str:
    """The picture as SVG text."""
    app = GradvizApp(session(shot), feeds=feeds(shot))
    app.theme = shot.theme
    async with app.run_test(size=shot.size) as pilot:
        await pilot.pause()
        await pilot.press(*shot.keys)
        await _settle(pilot)
        return app.export_screenshot(title=f"gradviz open {shot.sample}")


async def _settle(pilot: Pilot[Any]) -> None:
    """Wait for threads, and for what they tell the screen."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.2)
    pilot.app.clear_notifications()
    await pilot.pause(0.1)


def to_png(svg: str) -> bytes:
    """Draw an SVG of Textual, at twice the size of its characters."""
    import resvg_py

    fonts = ", ".join(FONTS)
    text = svg.replace("Fira Code, monospace", f"{fonts}, monospace").replace("Fira Code", FONTS[0])
    return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2, monospace_family=FONTS[0]))


def main(names: list[str]) -> int:
    """Take the pictures of these names, all if there are none."""
    unknown = set(names) - {shot.name for shot in SHOTS}
    if unknown:
        print(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SHOTS)}")
        return 2
    for shot in SHOTS:
        if not names or shot.name in names:
            svg = asyncio.run(take(shot))
            (HERE / f"{shot.name}.svg").write_text(svg, "utf-8")
            (HERE / f"{shot.name}.png").write_bytes(to_png(svg))
            print(f"{shot.name}.svg {shot.name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
