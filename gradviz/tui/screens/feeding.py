"""The part of the Values screen that asks for feeds: by shape, from a seed, or out of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.screen import Screen

from gradviz.errors import GradvizError
from gradviz.tui import words
from gradviz.tui.rows import pad

if TYPE_CHECKING:
    from textual.binding import BindingType

    from gradviz.execute.missing import Missing
    from gradviz.tui.rows import Row

SEED = 0
"""Of everything random in a run."""


class Feeding(Screen["int | None"]):
    """Holds the feeds, and what is known of the missing ones.

    Attributes:
        feeds: arrays by name.
        missing: what has to be given before the net can run.
        asked: everything that was ever missing.
        texts: what was typed for a missing feed: a shape or a file.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fill", "Fill feeds", id="values.fill", tooltip="Fill the missing feeds from a seed, and run"),
        Binding("l", "load", "Load feeds", id="values.load", tooltip="Read feeds from a .npz or .pb file, and run"),
    ]

    feeds: dict[str, Any]
    missing: tuple[Missing, ...] = ()
    asked: tuple[Missing, ...] = ()
    texts: dict[str, str]

    def action_run(self) -> None:
        """Run the net."""
        raise NotImplementedError

    def show_all(self) -> None:
        """Draw what there is: the table, or what is missing."""
        raise NotImplementedError

    def tell(self, text: str) -> None:
        """Say something in the line below the table."""
        raise NotImplementedError

    def describe_missing(self, each: Any, width: int) -> Row:
        given = self.texts.get(each.blob)
        known: Row = [("✓ ", "good")] if given else [("? ", "warn")]
        text = given or (each.feed.partition("=")[2] if each.example is not None else "shape?")
        return [
            *known,
            (pad(words.blob(each.blob, None, 24), 24), "strong"),
            (f" {pad(words.shown(text), 22)}", "" if given else "dim"),
            (f" {each.dtype}, read by op {each.op_index} ", "dim"),
            (words.shown(each.op.type), "kind"),
        ]

    def all_feeds(self) -> dict[str, Any]:
        from gradviz.execute.feeds import parse_feeds

        made = parse_feeds([f"{name}={text}" for name, text in self.texts.items()], SEED)
        return {**self.feeds, **made}

    def action_fill(self) -> None:
        if not self.missing:
            self.missing = self.asked
            self.show_all()
            return
        unknown = [each for each in self.missing if each.example is None and each.blob not in self.texts]
        if unknown:
            names = ", ".join(words.blob(each.blob, None, 24) for each in unknown[:4])
            self.tell(f"no shape is known for {names}: enter on the line sets one")
            return
        for each in self.missing:
            self.texts.setdefault(each.blob, each.feed.partition("=")[2])
        self.action_run()

    def action_load(self) -> None:
        from gradviz.tui.screens.prompt import Prompt

        self.app.push_screen(
            Prompt("feeds from", hint="a .npz file, or .pb with tensors", check=self._check), self._load
        )

    def _check(self, text: str) -> str:
        from gradviz.execute.feeds import parse_feeds

        try:
            parse_feeds([text], SEED)
        except GradvizError as error:
            return str(error)
        return ""

    def _load(self, text: str | None) -> None:
        from gradviz.execute.feeds import parse_feeds

        if text:
            self.feeds.update(parse_feeds([text], SEED))
            self.action_run()

    def _set_shape(self, each: Missing) -> None:
        from gradviz.tui.screens.prompt import Prompt

        hint = "a shape such as 8x1x28x28, with :int32 or another dtype behind it · or a .npy file"
        value = self.texts.get(each.blob) or (each.feed.partition("=")[2] if each.example is not None else "")
        prompt = Prompt(
            f"feed {words.shown(each.blob)}",
            value=value,
            hint=hint,
            check=lambda text: self._check(f"{each.blob}={text}"),
        )
        self.app.push_screen(prompt, lambda text: self._shaped(each.blob, text))

    def _shaped(self, blob: str, text: str | None) -> None:
        if text:
            self.texts[blob] = text
            self.show_all()
