"""`python -m benchmarks [walk] [execute]`: measure, and write the sections of `benchmarks/RESULTS.md`."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

from benchmarks import execute, walk

RESULTS = Path(__file__).with_name("RESULTS.md")
SECTIONS = ("walk", "execute")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"{' or '.join(SECTIONS)}; both if left out")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="operators of the walk's nets")
    parser.add_argument("--seconds", type=float, default=10, help="how long each training step is measured")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]}; there are {' and '.join(SECTIONS)}")
    for name in given.sections or SECTIONS:
        lines = _walk(tuple(given.sizes)) if name == "walk" else execute.section(given.seconds)
        print("\n".join(lines))
        replace_section(f"<!-- {name} -->", f"<!-- /{name} -->", lines)


def _walk(sizes: tuple[int, ...]) -> list[str]:
    return [f"Python {platform.python_version()}, {platform.machine()}.", "", *walk.table(sizes)]


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
