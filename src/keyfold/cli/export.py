"""`keyfold export`: a declaration as a deployment file, a model for other tools, types or a policy."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli import _export_iam
from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import OneTableArgument, TableArgument, TableOption, show_examples
from keyfold.cli._output_files import OutputFile, write_output

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the model.
    from keyfold.export import ExportedDocument, ExportGap
    from keyfold.model import Table

app = typer.Typer(
    name="export",
    help="Export a table to other formats: deployment files, models, types, OpenAPI, IAM policies.",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    rich_markup_mode=None,
)

AsOneObject = Annotated[
    bool,
    typer.Option("--json", help="Print the document and its gaps as one JSON object."),
]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format that tables are exported to; its function is `export_NAME` of a package."""

    name: str
    help: str
    file: str
    takes_several: bool = True
    package: str = "keyfold.export"

    def export(self, tables: Sequence[Table]) -> ExportedDocument:
        """Return the tables in this format."""
        package = import_module(self.package)
        function = getattr(package, f"export_{self.name.replace('-', '_')}")
        return function(*tables)

    @property
    def examples(self) -> tuple[str, ...]:
        """Command lines for the help."""
        return (
            f"keyfold export {self.name} market",
            f"keyfold export {self.name} --table shop.tables:market --output {self.file}",
            f"keyfold export {self.name} market --json",
        )


_GAPS = "What the format cannot express is listed on standard error."

FORMATS = (
    ExportFormat(
        "cloudformation",
        """Export tables as a CloudFormation template.

        It has keys, indexes, billing, TTL, stream, deletion protection and tags as declared. Tables
        are retained when their stack is deleted.""",
        "market.template.json",
    ),
    ExportFormat(
        "cdk",
        """Export tables as a stack of the AWS CDK, in Python.

        It synthesises to the resources of keyfold export cloudformation. Its attributes are the
        tables, by which other constructs are granted rights.""",
        "market_stack.py",
    ),
    ExportFormat(
        "terraform",
        """Export tables as a Terraform configuration in JSON syntax.

        Needs version 6.29 of the AWS provider, the first with key_schema, by which an index key
        has several attributes. Terraform refuses to destroy the tables.""",
        "market.tf.json",
    ),
    ExportFormat(
        "create-table",
        """Export a table as the input of CreateTable.

        For aws dynamodb create-table --cli-input-json file://FILE, and for SDKs.""",
        "market.json",
        takes_several=False,
    ),
    ExportFormat(
        "workbench",
        """Export tables as a data model for NoSQL Workbench, version 3.0.

        Entities are facets: their key templates are the aliases of the key attributes, and the
        table's example entities are the sample data. The description lists the access patterns.""",
        "market.workbench.json",
    ),
    ExportFormat(
        "aws-schema",
        """Export tables as schema.json of the AWS DynamoDB MCP server.

        That server generates code from it. A field has the name of its attribute. Patterns of
        several requests are left out, but for transactions.""",
        "schema.json",
    ),
    ExportFormat(
        "jsonschema",
        """Export entities as JSON Schema.

        It describes the JSON of entities, as model_dump_json writes it with aliases. Extensions
        say where the table stores it: x-dynamodb for keys, x-dynamodb-attribute for fields.""",
        "market.schema.json",
    ),
    ExportFormat(
        "typescript",
        """Export entities as TypeScript: types and key builders.

        The types are those of the entities' JSON. A key builder renders the key of an entity, or
        its key in an index, from its fields.""",
        "market.ts",
    ),
    ExportFormat(
        "openapi",
        """Export the access patterns of a table as an OpenAPI 3.1 document.

        It is the document that keyfold api serves at /openapi.json: every pattern with its
        parameters, results and problems, and the service's own paths.""",
        "market.openapi.json",
        takes_several=False,
        package="keyfold.service",
    ),
    ExportFormat(
        "client",
        """Export a typed Python client of the service of a table.

        It is one module, which needs pydantic and does not import Keyfold: models of entities and
        arguments, and a method for each access pattern, with pages, retries and idempotency keys.""",
        "market_client.py",
        takes_several=False,
        package="keyfold.service",
    ),
)


def _make_command(form: ExportFormat) -> Callable[..., None]:
    """Return the command of a format."""

    def export_several(
        name: TableArgument = None,
        *,
        table: TableOption = None,
        output: OutputFile = None,
        as_json: AsOneObject = False,
    ) -> None:
        from keyfold.cli._tables import find_tables

        _print(form.export(find_tables(name, table)), output, as_json=as_json)

    def export_one(
        name: OneTableArgument = None,
        *,
        table: TableOption = None,
        output: OutputFile = None,
        as_json: AsOneObject = False,
    ) -> None:
        from keyfold.cli._tables import find_table

        _print(form.export([find_table(name, table)]), output, as_json=as_json)

    return export_several if form.takes_several else export_one


for each in FORMATS:
    _help = f"{inspect.cleandoc(each.help)}\n\n{_GAPS}"
    app.command(each.name, help=_help, epilog=show_examples(*each.examples))(_make_command(each))
app.command(epilog=show_examples(*_export_iam.EXAMPLES))(_export_iam.iam)


def _print(document: ExportedDocument, output: OutputFile, *, as_json: bool) -> None:
    text = document.to_text()
    if output is not None:
        write_output(output, text)
    if as_json:
        gaps = [_to_json(gap) for gap in document.gaps]
        shown = {"document": document.content, "gaps": gaps}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    if output is None:
        print(text, end="")
    if document.gaps:
        print("Not in the document:", file=sys.stderr)
    for gap in document.gaps:
        print(f"  {gap.subject}: {gap.fact}.", file=sys.stderr)
        if gap.advice:
            print(f"    {gap.advice}", file=sys.stderr)


def _to_json(gap: ExportGap) -> dict[str, str]:
    return {"subject": gap.subject, "fact": gap.fact, "advice": gap.advice}
