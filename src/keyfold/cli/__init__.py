"""The `keyfold` command: one module for each subcommand.

Every command takes `--json`, shows examples in its help, and exits with 0 for success, 1 for a
negative result, such as an item that was not found, or 2 if it could not run: wrong usage, a
missing file.
"""

from __future__ import annotations

from keyfold.cli._app import app, main

__all__ = ["app", "main"]
