"""The first screen where no net was named: recent nets, samples, and files to pick from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Input, Static

from gradviz.debug import saved
from gradviz.errors import GradvizError
from gradviz.nets import SeveralNetsError, load, samples
from gradviz.tui import words
from gradviz.tui.app import GradvizApp, keep, opened
from gradviz.tui.debug import DebugScreen
from gradviz.tui.panes.header import Hints
from gradviz.tui.rebinding import rebind
from gradviz.tui.rows import pad
from gradviz.tui.screens.dialog import Hinted, Lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.debug import Session
    from gradviz.tui.lines import LineView
    from gradviz.tui.rows import Row

HINTS = (("enter", "open", "choose"), ("tab", "other list", "turn"), ("/", "type a path", "path"), ("u", "up", "up"))
HELLO = "Choose a net: enter opens it. / takes a path; a file of any name will do, what it is, its content decides."
MOST_FILES = 5000


@dataclass(frozen=True, slots=True)
class Choice:
    """A line that can be opened.

    Attributes:
        kind: `title`, `recent`, `sample`, `folder`, `file`, `net` (one of several in a file) or `note`.
        label: what it is called.
        path: its file or folder.
        net: which net of the file.
        note: what there is to say about it.
    """

    kind: str
    label: str
    path: Path | None = None
    net: str | None = None
    note: str = ""


def _known() -> list[Choice]:
    """Recent nets, then samples."""
    made = [Choice("title", "Recent")]
    for each in saved.recent():
        stops = f", {words.counted(each.breakpoints, 'breakpoint')}" if each.breakpoints else ""
        note = f"left at event {each.position}{stops} · {each.path.parent}"
        made.append(Choice("recent", each.path.name, each.path, each.chosen or None, note))
    if len(made) == 1:
        made.append(Choice("note", "none yet: nets that you leave are listed here"))
    made += [Choice("note", ""), Choice("title", "Samples")]
    made += [Choice("sample", each.name, samples.find(each.name), None, each.shows) for each in samples.SAMPLES]
    return made


def _files(folder: Path) -> list[Choice]:
    """What is in a folder: the way up, folders, files; what begins with a dot is left out.

    Raises:
        OSError: the folder cannot be read.
    """
    with os.scandir(folder) as found:
        entries = [each for each in found if not each.name.startswith(".")]
    entries.sort(key=lambda each: (not _is_folder(each), each.name.casefold(), each.name))
    made = [Choice("folder", "..", folder.parent)] if folder.parent != folder else []
    for each in entries[:MOST_FILES]:
        kind = "folder" if _is_folder(each) else "file"
        made.append(Choice(kind, each.name, Path(each.path), None, _size(each) if kind == "file" else ""))
    if len(entries) > MOST_FILES:
        made.append(Choice("note", f"and {len(entries) - MOST_FILES:,} more: / takes a path"))
    return made


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> str:
    try:
        size = float(entry.stat().st_size)
    except OSError:
        return ""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _describe(choice: Choice, width: int) -> Row:
    if choice.kind == "title":
        return [(choice.label, "title")]
    if choice.kind == "note":
        return [(words.cut(words.escaped(choice.label), width), "dim")]
    room = max(min(width // 3, 26), 12) if choice.kind in ("recent", "sample") else max(width - 10, 12)
    label = words.shorten(words.escaped(choice.label) + ("/" if choice.kind == "folder" else ""), room)
    role = "accent" if choice.kind == "folder" else "strong" if choice.kind != "file" else ""
    note_role = "bad" if choice.note.startswith("error: ") else "dim"
    return [(pad(label, room), role), ("  ", ""), (words.escaped(choice.note), note_role)]


class KnownList(Lines):
    """Recent nets and samples; the headings above the first one are in sight too."""

    def show_from_top(self) -> None:
        """Scroll no further down than the selected line needs."""
        height = max(self.scrollable_content_region.height, 1)
        self.scroll_to(y=max(self.selected - height + 1, 0), animate=False, force=True)
        self.repaint()


class OpeningScreen(Hinted, Screen[None]):
    """Recent nets, samples and files; one that cannot be opened is explained, and the next one can be tried."""

    SHOWN: ClassVar[tuple[str, ...]] = (
        "Nets that you debugged last, samples with what each of them shows, and the files of a folder.",
        "A file may have any name: its content decides. What is no net is explained below the lists; then try another.",
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", id="opening.open", tooltip="Open the selected net or folder"),
        Binding("tab,shift+tab", "turn", "Other list", id="opening.turn", tooltip="To the other list"),
        Binding("slash", "path", "Type a path", id="opening.path", tooltip="Type the path of a file or folder"),
        Binding("u,backspace", "up", "Folder above", id="opening.up", tooltip="To the folder above"),
        Binding("t", "tutorial", "Tutorial", id="opening.tutorial", tooltip="Learn the debugger in ten steps"),
        Binding(
            "escape", "back", "Back", id="opening.back", tooltip="Leave the path, or the choice among several nets"
        ),
        Binding("question_mark,h,f1", "help", "Help", id="opening.help", tooltip="The keys of this screen"),
        Binding("q", "leave", "Quit", id="opening.leave", tooltip="Leave gradviz"),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#known"
    DEFAULT_CSS = """
    OpeningScreen #title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    OpeningScreen #lists { layout: horizontal; height: 1fr; }
    OpeningScreen .list { border: round $foreground 25%; border-title-color: $text-muted; padding: 0 1; height: 1fr; }
    OpeningScreen #known { width: 3fr; }
    OpeningScreen #files { width: 2fr; }
    OpeningScreen .list:focus { border: heavy $primary; border-title-color: $text; border-title-style: bold; }
    OpeningScreen #lists.-stacked { layout: vertical; }
    OpeningScreen #lists.-stacked .list { width: 1fr; }
    OpeningScreen #path { display: none; height: 1; border: none; padding: 0 1; background: $boost; }
    OpeningScreen #path.-asked { display: block; }
    OpeningScreen #said { height: auto; min-height: 2; max-height: 5; padding: 0 1; }
    OpeningScreen #said.-wrong { color: $text-error; }
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.folder = folder or Path.cwd()
        self._several = False

    def compose(self) -> ComposeResult:
        yield Static("gradviz  open a net", id="title", markup=False)
        with Container(id="lists"):
            yield KnownList(_describe, id="known")
            yield Lines(_describe, id="files")
        yield Input(id="path", placeholder="path of a file or folder, or a sample's name", compact=True)
        yield Static(HELLO, id="said", markup=False)
        yield Hints(id="hints")

    def on_mount(self) -> None:
        for name in ("known", "files"):
            self.query_one(f"#{name}").add_class("list")
        self._show_known(_known())
        self.go(self.folder)
        self.query_one(Hints).draw(
            HINTS, (("t", "tutorial", "tutorial"), ("?", "help", "help"), ("q", "quit", "leave"))
        )

    def on_resize(self) -> None:
        self.query_one("#lists").set_class(self.size.width < 100, "-stacked")

    def _show_known(self, choices: list[Choice], title: str = "Recent nets and samples") -> None:
        known = self.query_one("#known", KnownList)
        known.border_title = title
        first = next((at for at, each in enumerate(choices) if each.kind not in ("title", "note")), 0)
        known.fill(choices, first)
        self.call_after_refresh(known.show_from_top)

    def go(self, folder: Path) -> None:
        """Show the files of a folder."""
        try:
            found = _files(folder)
        except OSError as error:
            self.explain(f"{folder} cannot be read: {(error.strerror or str(error)).lower()}; choose another folder")
            return
        before, self.folder = self.folder, folder
        files = self.query_one("#files", Lines)
        files.border_title = words.shorten(words.escaped(str(folder)), 50)
        files.fill(found, next((at for at, each in enumerate(found) if each.path == before), 0))

    # What is said.

    def say(self, text: str) -> None:
        """Say how things stand."""
        said = self.query_one("#said", Static)
        said.remove_class("-wrong")
        said.update(words.prose(text, 90))

    def explain(self, text: str) -> None:
        """Say what is wrong, and how to go on."""
        said = self.query_one("#said", Static)
        said.add_class("-wrong")
        said.update(words.prose(text, 90) + "\nChoose another one, or t for the tutorial, or q to leave.")

    # Opening.

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        message.stop()
        choice: Choice = message.view.things[message.line] if isinstance(message.view, Lines) else Choice("note", "")
        if choice.kind == "folder" and choice.path is not None:
            self.go(choice.path)
        elif choice.kind in ("recent", "sample", "file", "net"):
            self.open(choice.path or Path(choice.label), choice.net)

    def on_line_view_selected(self, message: LineView.Selected) -> None:
        choice: Choice = message.view.things[message.line] if isinstance(message.view, Lines) else Choice("note", "")
        if choice.kind in ("recent", "sample"):
            self.say(f"{choice.label}: {choice.note}")
        else:
            self.say(HELLO)

    def open(self, path: Path, net: str | None = None) -> None:
        """Open a net beside the screen, which can be used meanwhile."""
        self.say(f"reading {path} …")

        def work() -> None:
            try:
                session, feeds = prepared(path, net)
            except SeveralNetsError as error:
                self.app.call_from_thread(self._offer, path, error)
            except (GradvizError, OSError, ValueError, TypeError) as error:
                self.app.call_from_thread(self.explain, str(error))
            else:
                self.app.call_from_thread(self._opened, session, feeds)

        self.run_worker(work, thread=True, exclusive=True, group="open", exit_on_error=False)

    def _opened(self, session: Session, feeds: Mapping[str, Any] | None) -> None:
        app = self.app
        if isinstance(app, OpeningApp):
            app.take(session, feeds)

    def _offer(self, path: Path, error: SeveralNetsError) -> None:
        """Let the user choose among the nets of a file."""
        self._several = True
        self._show_known([Choice("net", name, path, name) for name in error.names], f"Nets in {path.name[:40]}")
        self.query_one("#known").focus()
        self.say(f"{path.name} holds several nets: choose one; esc goes back")

    # Keys.

    def action_choose(self) -> None:
        focused = self.focused
        if isinstance(focused, Lines):
            focused.action_choose()

    def action_turn(self) -> None:
        known, files = self.query_one("#known"), self.query_one("#files")
        self.set_focus(files if self.focused is known else known)

    def action_up(self) -> None:
        self.query_one("#files").focus()
        self.go(self.folder.parent)

    def action_path(self) -> None:
        asked = self.query_one("#path", Input)
        asked.add_class("-asked")
        asked.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if not text:
            self.action_back()
            return
        path = Path(os.path.expandvars(text)).expanduser()
        path = (
            path
            if path.is_absolute() or (samples.get(text) and not (self.folder / path).exists())
            else self.folder / path
        )
        if _is_there(path):
            self.action_back()
            self.go(path)
            self.query_one("#files").focus()
        else:
            self.open(path)

    def action_back(self) -> None:
        asked = self.query_one("#path", Input)
        if asked.has_class("-asked"):
            asked.remove_class("-asked")
            self.query_one("#known").focus()
        elif self._several:
            self._several = False
            self._show_known(_known())
        self.say(HELLO)

    def action_tutorial(self) -> None:
        from gradviz.tui.screens.tutorial import TutorialScreen

        self.app.push_screen(TutorialScreen())

    def action_leave(self) -> None:
        self.app.exit(0)


def _is_there(path: Path) -> bool:
    """Whether this is a folder; what no system call takes is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def prepared(path: Path | str, net: str | None = None) -> tuple[Session, Mapping[str, Any] | None]:
    """A session on a file with what was left of it, and the feeds of a sample.

    Raises:
        GradvizError: there is no net in it.
    """
    model = load(path, net=net)
    sample = samples.of(model.path)
    ys: Any = None
    if sample is not None and sample.ys is not None and saved.load(model) is None:
        ys = dict(sample.ys) if isinstance(sample.ys, dict) else list(sample.ys)
    feeds = None
    if sample is not None and sample.feeds:
        from gradviz.execute.feeds import parse_feeds

        feeds = parse_feeds([f"{blob}={what}" for blob, what in sample.feeds.items()], 0)
    return opened(model, ys), feeds


class OpeningApp(GradvizApp):
    """The debugger before a net is chosen.

    Attributes:
        debugging: whether one is.
    """

    CSS_PATH = str(Path(__file__).parents[1] / "gradviz.tcss")

    def __init__(self, folder: Path | None = None) -> None:
        super(GradvizApp, self).__init__()  # the rest of it needs a session, which `take` brings
        self.feeds = None
        self.notices: list[str] = []
        self.alone = False
        self.debugging = False
        self._folder = folder

    def on_mount(self, event: Any) -> None:  # type: ignore[override]
        event.prevent_default()
        self.push_screen(self.first_screen())
        self._warn(self.notices)

    def first_screen(self) -> Screen[Any]:
        """What is shown before a net is chosen."""
        return OpeningScreen(self._folder)

    def take(self, session: Session, feeds: Mapping[str, Any] | None) -> None:
        """Debug a net that was chosen."""
        self.session, self.feeds, self.debugging = session, feeds, True
        self.debug_screen = DebugScreen(session)
        self.switch_screen(self.debug_screen)
        self._warn([*session.trace.model.notices, *session.trace.warnings][:5])

    def _warn(self, notices: list[str]) -> None:
        for notice in notices:
            self.notify(words.prose(notice, 80), severity="warning", timeout=10, markup=False)


def run() -> int:
    """Let the user choose a net, then debug it; stays until the user leaves.

    Returns:
        The exit code, 0.
    """
    app = OpeningApp()
    app.alone = True
    rebind(app)
    code = app.run()
    if app.debugging:
        keep(app.debug_screen.session)
    return code or 0
