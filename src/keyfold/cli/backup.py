"""`keyfold backup`: copy a database file while it is in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import AsJson
from keyfold.cli._quantities import show_size

EXAMPLES = (
    "keyfold backup shop.db backups/shop-monday.db",
    "keyfold backup shop.db shop-latest.db --overwrite",
)


def backup(
    file: Annotated[Path, typer.Argument(help="The database file.", metavar="FILE")],
    target: Annotated[Path, typer.Argument(help="The file to write.", metavar="TARGET")],
    *,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace TARGET if it exists.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a database file, which may be in use, and verify the copy.

    The copy has the state of one moment; servers and programs go on writing meanwhile. TARGET
    appears only once it is complete, verified and on the disk.

    `keyfold restore` puts it back. To back up a table of any database, use `keyfold dump`.
    """
    from keyfold.engine import backup_file

    copy = backup_file(file, target, overwrite=overwrite)
    if as_json:
        print(json.dumps({"file": str(target), "size_bytes": copy.size_bytes}, indent=2))
    else:
        print(f"{target}: {show_size(copy.size_bytes)}, no problems")
