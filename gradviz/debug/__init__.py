"""A debugger with no screen: cursor, breakpoints, watches, saved sessions."""

from gradviz.debug.breakpoints import Breakpoint, Watch
from gradviz.debug.session import Session, Stop

__all__ = ["Breakpoint", "Session", "Stop", "Watch"]
