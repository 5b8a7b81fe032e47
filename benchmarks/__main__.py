"""`python -m benchmarks [--sizes 10000 100000]`: measure the walk and write `benchmarks/RESULTS.md`."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

from benchmarks import walk

RESULTS = Path(__file__).with_name("RESULTS.md")
START, END = "<!-- walk -->", "<!-- /walk -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    sizes = tuple(parser.parse_args().sizes)
    lines = [f"Python {platform.python_version()}, {platform.machine()}.", "", *walk.table(sizes)]
    print("\n".join(lines))
    replace_section(START, END, lines)


def replace_section(start: str, end: str, lines: list[str]) -> None:
    """Put `lines` between two markers of RESULTS.md, and leave the rest as it is."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "# Results\n"
    if start not in text:
        text += f"\n{start}\n{end}\n"
    head, _, rest = text.partition(start)
    RESULTS.write_text(
        head + start + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.partition(end)[2], encoding="utf-8"
    )


if __name__ == "__main__":
    main()
