"""How every command ends: with an exit code, and without a traceback where the input is to blame."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import rich_click as click

from gradviz.cli.talk import say
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from collections.abc import Sequence

BAD_NEWS, BAD_QUESTION, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


class _ReaderGone(Exception):  # noqa: N818
    """Whoever read stdout went away."""


class _Interrupted(Exception):  # noqa: N818
    """Ctrl-C was pressed."""


class Commands(click.RichGroup):
    """A group whose commands return an exit code (None is 0) and may raise the errors of gradviz."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they were added: what is needed most stands first."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what Click would answer in its own way is hidden from it."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _ReaderGone from error
        except KeyboardInterrupt as error:
            raise _Interrupted from error
        return code

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and exit."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # names may hold what the terminal cannot show
        sys.exit(self._code(args, prog_name, complete_var, extra))

    def _code(
        self, args: Sequence[str] | None, prog_name: str | None, complete_var: str | None, extra: dict[str, Any]
    ) -> int:
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt, _Interrupted):
            say("interrupted")
            return INTERRUPTED
        except (BrokenPipeError, _ReaderGone):
            _close_stdout()
            return BROKEN_PIPE
        except GradvizError as error:
            say(str(error))
            return BAD_QUESTION
        except OSError as error:
            say(_of_system(error))
            return BAD_QUESTION
        except MemoryError:
            say("there is not enough memory for that")
            return BAD_QUESTION
        return code if isinstance(code, int) else 0


def _of_system(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{(error.strerror or str(error)).lower()}"


def _close_stdout() -> None:
    """Point stdout elsewhere, so that Python does not meet the broken pipe again when it exits."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
