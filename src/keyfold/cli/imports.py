"""`keyfold import`: a table of another source as a Python module."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import show_examples
from keyfold.cli._output_files import OutputFile, write_output

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the model.
    from keyfold.imports import InferredTable

app = typer.Typer(
    name="import",
    help="Import a table from elsewhere as a Python module: a live table, or a model of other tools.",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    rich_markup_mode=None,
)

AsOneObject = Annotated[
    bool,
    typer.Option("--json", help="Print the module and what was found as one JSON object."),
]
_DEFAULT_LIMIT = 10_000

DYNAMODB = (
    "keyfold import dynamodb shop.db --name Orders --output orders.py",
    "keyfold import dynamodb dynamodb://eu-west-1 --name Orders --limit 50000",
    "keyfold import dynamodb http://localhost:8000 --name Orders --json",
)
WORKBENCH = (
    "keyfold import workbench shop.json",
    "keyfold import workbench shop.json --output shop_tables.py",
)
AWS_SCHEMA = (
    "keyfold import aws-schema schema.json",
    "keyfold import aws-schema schema.json --output shop_tables.py",
)


@app.command(epilog=show_examples(*DYNAMODB))
def dynamodb(
    url: Annotated[
        str, typer.Argument(help="The database: a file, or the URL of a service.", metavar="URL")
    ],
    *,
    name: Annotated[
        str | None,
        typer.Option(help="The table; by default the only one of the database.", metavar="NAME"),
    ] = None,
    limit: Annotated[
        int, typer.Option(help="Read at most this many items.", min=1, metavar="ITEMS")
    ] = _DEFAULT_LIMIT,
    output: OutputFile = None,
    as_json: AsOneObject = False,
) -> None:
    """Infer the declaration of a live table from its items.

    Items are grouped into entities by the shapes of their keys and by their attributes. Comments say
    how sure the result is of each entity: the number of items, those that fit, and what else is
    possible. The table is only read.

    Exits with 1 if items do not fit the declaration.
    """
    from keyfold.cli._transfers import choose_table, open_source
    from keyfold.imports import import_dynamodb

    with open_source(url) as database:
        table = choose_table(name, None, database, url)
        found = import_dynamodb(database, table, url=url, limit=limit)
    _print([found], f"The table {found.name}, inferred from its items.", output, as_json=as_json)
    evidence = [each.evidence for each in found.entities if each.evidence is not None]
    raise typer.Exit(any(each.fitting < each.items for each in evidence))


FileArgument = Annotated[Path, typer.Argument(help="The file to import.", metavar="FILE")]


@app.command(epilog=show_examples(*WORKBENCH))
def workbench(
    file: FileArgument, *, output: OutputFile = None, as_json: AsOneObject = False
) -> None:
    """Import the tables of a data model of NoSQL Workbench.

    A facet is an entity. Aliases of its key attributes are key templates if they have braces, as
    keyfold export workbench writes them; otherwise, sample data shows the templates, and the types of
    fields. A table without facets is inferred from its sample data.
    """
    from keyfold.imports import import_workbench

    _print(import_workbench(file), f"The tables of {file.name}.", output, as_json=as_json)


@app.command("aws-schema", epilog=show_examples(*AWS_SCHEMA))
def aws_schema(
    file: FileArgument, *, output: OutputFile = None, as_json: AsOneObject = False
) -> None:
    """Import the tables of a schema.json of the AWS DynamoDB MCP server.

    Its entities have key templates and fields with types. What the format has no place for, such as
    the width of a number in a key, is read from keyfold export aws-schema, or assumed: a comment says
    so. Access patterns are those that the keys allow.
    """
    from keyfold.imports import import_aws_schema

    _print(import_aws_schema(file), f"The tables of {file.name}.", output, as_json=as_json)


def _print(
    tables: Sequence[InferredTable], title: str, output: Path | None, *, as_json: bool
) -> None:
    from keyfold.imports import write_module

    text = write_module(tables, title=title)
    if output is not None:
        write_output(output, text)
    if as_json:
        shown = {"module": text, "tables": [table.to_json() for table in tables]}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    if output is None:
        print(text, end="")
        return
    for table in tables:
        _print_summary(table)


def _print_summary(table: InferredTable) -> None:
    count = len(table.entities)
    print(f"{table.name}: {count} {'entity' if count == 1 else 'entities'}", file=sys.stderr)
    for entity in table.entities:
        found = entity.evidence
        shown = (
            "" if found is None else f"  {found.certainty}: {found.fitting:,} of {found.items:,}"
        )
        print(f"  {entity.name}  {' '.join(entity.key)}{shown}", file=sys.stderr)
    for gap in table.gaps:
        print(f"  {gap}", file=sys.stderr)
