"""`keyfold verify`: check the integrity of a database file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import AsJson
from keyfold.cli._quantities import count_of

EXAMPLES = ("keyfold verify shop.db", "keyfold verify shop.db --json")


def verify(
    file: Annotated[Path, typer.Argument(help="The database file.", metavar="FILE")],
    *,
    as_json: AsJson = False,
) -> None:
    """Check the integrity of a database file.

    Checks the file's structure. For every row, checks that its item can be decoded, that it
    matches its key and its recorded size, and that every index has its entries. Changes nothing.

    Exits with 1 if there are problems.
    """
    from keyfold.engine import Engine
    from keyfold.engine.storage import require_file
    from keyfold.errors import FileDamaged

    require_file(file)
    try:
        # Without upkeep: checking a file must not delete its expired items.
        with Engine.open(file, upkeep_seconds=None) as engine:
            problems = [str(problem) for problem in engine.verify()]
    except FileDamaged as damage:
        # A file too damaged to open is a result of the check, not a usage error.
        problems = [str(damage)]
    if as_json:
        print(json.dumps({"file": str(file), "problems": problems}, indent=2))
    else:
        for problem in problems:
            print(problem)
        print(f"{file}: {count_of(len(problems), 'problem') if problems else 'no problems'}")
    raise typer.Exit(1 if problems else 0)
