"""The `keyfold` command: one module for each subcommand.

Every command takes `--json`, shows examples in its help, and exits with 0, with 1 when
the answer is no, or with 2 when it could not be asked: bad usage, a missing file.
"""

from __future__ import annotations

from keyfold.cli._app import app, main

__all__ = ["app", "main"]
