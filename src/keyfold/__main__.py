"""`python -m keyfold` is the `keyfold` command."""

from __future__ import annotations

from keyfold.cli import main

if __name__ == "__main__":
    main()
