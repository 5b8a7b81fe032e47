"""Memory: what does not fit is refused, where the system would otherwise kill the process.

Linux hands out more memory than there is, and kills whoever uses it. Under a limit of its own a process is told at once
that an array does not fit, and says so.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARE = 0.95
_STATUS, _MEMORY = Path("/proc/self/status"), Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_GROUP_LIMITS = (
    (_GROUP / "memory.max", _GROUP / "memory.current"),
    (_GROUP / "memory/memory.limit_in_bytes", _GROUP / "memory/memory.usage_in_bytes"),
)


@contextmanager
def within_memory(free: int | None = None) -> Iterator[None]:
    """Inside, an allocation beyond the free memory raises MemoryError; nothing happens where it can't be told.

    Args:
        free: bytes that may be taken in addition; measured if left out.
    """
    free = free_memory() if free is None else free
    used = _kilobytes(_STATUS, "VmData")
    if free is None or used is None:
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = (used + free, *(each for each in (before, hard) if each != resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def free_memory() -> int | None:
    """How many bytes a process can take without harm; None where the system doesn't tell."""
    available = _kilobytes(_MEMORY, "MemAvailable")
    if available is None:
        return None
    for limit, usage in _GROUP_LIMITS:
        most, now = _number(limit), _number(usage)
        if most is not None and now is not None:
            available = min(available, max(most - now, 0))
    return int(_SHARE * available)


def _kilobytes(file: Path, name: str) -> int | None:
    """The bytes of a line such as `MemAvailable:  1234 kB`."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith(f"{name}:")]
    return int(found[0][1]) * 1024 if found else None


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # no such file, or the word `max`
        return None
