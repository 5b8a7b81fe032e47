"""Exporting: a path whose suffix says the format. Errors are shown on the line below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from gradviz.errors import GradvizError
from gradviz.tui import words

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gradviz.tui.desk import Desk

FORMATS = ".svg .png .pdf .dot pictures · .html .md pages · .mmd .json .graphml graphs · .pb .pbtxt the net"


def proposed(desk: Desk) -> str:
    """A name for the file: the net's, with the event where the cursor stands."""
    model = desk.trace.model
    stem = model.path.stem if model.path else model.name
    safe = "".join(each if each.isalnum() or each in "-_." else "_" for each in stem)[:60] or "net"
    return f"{safe}-{desk.position}.svg"


class ExportScreen(ModalScreen["str | None"]):
    """Says what was written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", id="export.close", tooltip="Back, nothing is written")
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._sure = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Export at event {self.desk.position}"
            dialog.border_subtitle = "enter: write · esc: back"
            yield Input(proposed(self.desk), compact=True)
            yield Static(FORMATS, markup=False, classes="note")
            yield Static("", markup=False, classes="error")

    def _tell(self, text: str) -> None:
        self.query_one(".error", Static).update(words.prose(text, 90))

    def on_input_changed(self) -> None:
        self._tell("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if not text or self._busy:
            return
        path = Path(text).expanduser()
        if self._is_opened(path):
            self._tell(f"{path} is the file that is open; nothing is written over it: choose another name")
        elif path.exists() and self._sure != text:
            self._sure = text
            self._tell(f"{path} exists: enter again writes over it")
        else:
            self._busy = True
            self._tell("writing …")
            self.run_worker(lambda: self._write(path), thread=True, exit_on_error=False)

    def _is_opened(self, path: Path) -> bool:
        opened = [each for each in (self.desk.trace.model.path, self.desk.trace.model.init_path) if each is not None]
        return any(each.exists() and path.exists() and each.samefile(path) for each in opened)

    def _write(self, path: Path) -> None:
        from gradviz.render import export

        try:
            made = export(self.desk.trace, path, at=self.desk.position)
        except (GradvizError, OSError) as error:
            self.app.call_from_thread(self._failed, str(error))
        except Exception as error:  # noqa: BLE001  (whatever goes wrong in there belongs on the screen)
            self.app.call_from_thread(self._failed, f"{type(error).__name__}: {error}")
        else:
            said = f"wrote {made.path}" + (f": {made.note}" if made.note else "")
            self.app.call_from_thread(self.dismiss, said)

    def _failed(self, text: str) -> None:
        self._busy = False
        self._sure = ""
        self._tell(text)

    def action_close(self) -> None:
        self.dismiss(None)
