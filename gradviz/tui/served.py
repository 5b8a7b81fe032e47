"""What `gradviz serve` runs for each visitor: the debugger, drawn to a browser instead of a terminal."""

from __future__ import annotations

import sys


def main() -> int:
    """Debug the net that the command line names; let the visitor choose where it names none."""
    from gradviz.tui.app import GradvizApp, keep
    from gradviz.tui.rebinding import rebind
    from gradviz.tui.screens import opening

    if len(sys.argv) < 2:
        return opening.run()
    session, feeds = opening.prepared(sys.argv[1])
    app = GradvizApp(session, feeds=feeds)
    app.alone = True
    app.notices = [*session.trace.model.notices, *session.trace.warnings][:5]
    rebind(app)
    code = app.run()
    keep(app.debug_screen.session)
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
