"""`keyfold restore`: put a copy of a database file back in place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import AsJson
from keyfold.cli._quantities import show_size

EXAMPLES = (
    "keyfold restore backups/shop-monday.db shop.db",
    "keyfold restore backups/shop-monday.db shop.db --force",
)


def restore(
    backup: Annotated[Path, typer.Argument(help="The copy to put in place.", metavar="BACKUP")],
    file: Annotated[Path, typer.Argument(help="The database file to replace.", metavar="FILE")],
    *,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace FILE even if it is in use, or not a Keyfold database."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replace a database file by a copy of it, together with its write-ahead log.

    BACKUP is copied and verified first, and stays as it is. FILE is replaced at once, and need not
    exist. Everything that was written to it after the backup is gone.

    Stop the processes that use FILE first; otherwise the command refuses. With --force, they fail
    with file-replaced, and servers answer 503, until they are restarted.
    """
    from keyfold.engine import restore_file

    copy = restore_file(backup, file, force=force)
    if as_json:
        print(json.dumps({"file": str(file), "size_bytes": copy.size_bytes}, indent=2))
    else:
        print(f"{file}: {show_size(copy.size_bytes)}, no problems")
