"""`python -m gradviz` is `gradviz`."""

from __future__ import annotations

from gradviz.cli import main

if __name__ == "__main__":
    main()
