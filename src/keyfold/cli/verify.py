"""`keyfold verify`: check every invariant of a file."""

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
    """Check that a database file is sound.

    Checks the file's structure, and of every row that its item can be read, is where its
    key says, has the size it says, and has its place in every index. Exits with 1 when
    something is wrong; nothing is changed.
    """
    from keyfold.engine import Engine
    from keyfold.engine.storage import require_file
    from keyfold.errors import FileDamaged

    require_file(file)
    try:
        # Without upkeep: checking a file must not delete what has expired in it.
        with Engine.open(file, upkeep_seconds=None) as engine:
            problems = [str(problem) for problem in engine.verify()]
    except FileDamaged as damage:
        # Too damaged to open is an answer here, not a failure to find one.
        problems = [str(damage)]
    if as_json:
        print(json.dumps({"file": str(file), "problems": problems}, indent=2))
    else:
        for problem in problems:
            print(problem)
        print(f"{file}: {count_of(len(problems), 'problem') if problems else 'no problems'}")
    raise typer.Exit(1 if problems else 0)
