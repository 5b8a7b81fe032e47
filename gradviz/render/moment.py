"""Which event a user means by a number, `last` or `error`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.autodiff.trace import Trace


def moment(trace: Trace, at: int | str | None) -> int:
    """Index of an event.

    Args:
        trace: the walk.
        at: a number (negative: from the end), the same as text, `last` or `error`; None is the last event.

    Raises:
        GradvizError: there is no such event.
    """
    count = len(trace.events)
    if at is None or at == "last":
        return count - 1
    if at == "error":
        if trace.error is None:
            raise GradvizError(f"the walk did not fail, so there is no error to look at; its last event is {count - 1}")
        return count - 1
    try:
        return range(count)[int(at)]
    except ValueError:
        raise GradvizError(f"an event is a number, `last` or `error`, not {at!r}") from None
    except IndexError:
        raise GradvizError(f"there is no event {at}: events go from 0 to {count - 1}") from None
