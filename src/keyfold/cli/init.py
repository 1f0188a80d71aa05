"""`keyfold init`: start a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli._options import AsJson
from keyfold.cli._output_files import report_unwritable

EXAMPLES = (
    "keyfold init shop",
    "keyfold init shop --design market",
    "keyfold init shop --name Shop --owner Customer --item Order --yes",
)


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the project.", metavar="FOLDER")],
    *,
    design: Annotated[
        str | None,
        typer.Option(help="Start from a design, or a table as the other commands take it."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The table's name; by default that of the folder or design.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="The first entity, such as Customer.", metavar="ENTITY")
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="What belongs to it, such as Order.", metavar="ENTITY")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, and take the defaults.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a project: a module with a table, tests, and a Makefile with tasks.

    Without --design, it asks for the names of the table and of two entities, unless they are given.
    With it, the module declares the keys, indexes and entities of that design, and the patterns that
    the keys allow. No file is replaced.
    """
    from keyfold.cli._tables import find_named_table
    from keyfold.imports import (
        copy_design,
        make_project,
        make_starter,
        name_table,
        write_project,
    )

    if design is not None:
        table = copy_design(find_named_table(design, "--design"), name)
    else:
        asks = not yes and not as_json
        table = make_starter(
            _ask("Name of the table", name, name_table(folder.resolve().name), asks=asks),
            _ask("First entity", owner, "Customer", asks=asks),
            _ask("What belongs to it", item, "Order", asks=asks),
        )
    files = make_project(table)
    with report_unwritable(folder, "FOLDER"):
        write_project(folder, files)
    if as_json:
        entities = [each.name for each in table.entities]
        shown = {
            "folder": str(folder),
            "files": [*files],
            "table": table.name,
            "entities": entities,
        }
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    for each in files:
        print(f"wrote {folder / each}")
    print(f"Next: cd {folder} && make")


def _ask(question: str, given: str | None, default: str, *, asks: bool) -> str:
    if given is not None:
        return given
    return str(typer.prompt(question, default=default)) if asks else default
