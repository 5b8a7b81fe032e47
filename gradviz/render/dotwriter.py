"""DOT text, statement by statement, with the quoting rules of the `graphviz` package.

The package's own writer takes half a millisecond a statement; nets have a hundred thousand.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import graphviz
from graphviz.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_quoted = lru_cache(maxsize=1 << 14)(quote)


def literal(text: str) -> str:
    """Text for an attribute that Graphviz would read escapes, entities or markup in: taken as it is."""
    made: str = graphviz.escape(text.replace("&", "&amp;").replace("\n", "&#10;"))
    return made


class Dot:
    """DOT text while it is written."""

    def __init__(self, name: str) -> None:
        self._lines = [f"digraph {_quoted(name)} {{"]
        self._indent = "\t"

    def attributes(self, what: str = "", /, **attributes: str) -> None:
        """Attributes of the graph or subgraph that is open; or what nodes or edges have unless they say otherwise."""
        if what:
            self._lines.append(f"{self._indent}{what} [{_listed(attributes)}]")
        else:
            self._lines += [f"{self._indent}{name}={_value(value)}" for name, value in attributes.items()]

    def node(self, name: str, attributes: Mapping[str, str] | None = None) -> None:
        """A node; without attributes only a mention of it."""
        self._lines.append(f"{self._indent}{name}" + (f" [{_listed(attributes)}]" if attributes else ""))

    def edge(self, tail: str, head: str, attributes: Mapping[str, str]) -> None:
        """An edge."""
        self._lines.append(f"{self._indent}{tail} -> {head} [{_listed(attributes)}]")

    @contextmanager
    def subgraph(self, name: str = "") -> Iterator[None]:
        """What is written inside belongs to a subgraph."""
        self.open(name)
        yield
        self.close()

    def open(self, name: str = "") -> None:
        """Begin a subgraph."""
        self._lines.append(f"{self._indent}subgraph {name} {{" if name else f"{self._indent}{{")
        self._indent += "\t"

    def close(self) -> None:
        """End the subgraph that was begun last."""
        self._indent = self._indent[:-1]
        self._lines.append(f"{self._indent}}}")

    def text(self) -> str:
        """The whole text."""
        return "\n".join([*self._lines, "}", ""])


def _listed(attributes: Mapping[str, str]) -> str:
    return " ".join([f"{name}={_value(value)}" for name, value in attributes.items()])


def _value(value: str) -> str:
    return str(quote(value) if type(value) is not str else _quoted(value))
