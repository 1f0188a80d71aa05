"""`keyfold export iam`: a role as an IAM policy, and where the two differ."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import TableArgument, TableOption
from keyfold.cli._output_files import OutputFile, write_output

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the model.
    from keyfold.model import Table
    from keyfold.policy.iam import Export, Gap

EXAMPLES = (
    "keyfold export iam market --role customer",
    "keyfold export iam market --role customer --region eu-west-1 --account 123456789012",
    "keyfold export iam --table shop.tables:market --role fulfilment --output fulfilment.json",
    "keyfold export iam market --role support --json",
    "keyfold export iam market --role support --role fulfilment",
)

_is_region = re.compile(r"\*|[a-z]{2,}(-[a-z0-9]+)+").fullmatch
_is_account = re.compile(r"\*|[0-9]{12}").fullmatch


def iam(
    name: TableArgument = None,
    *,
    roles: Annotated[
        list[str],
        typer.Option(
            "--role",
            help="A role that the table declares. Repeatable, for principals with several roles.",
            metavar="NAME",
        ),
    ],
    table: TableOption = None,
    region: Annotated[str, typer.Option(help="The region in ARNs; * matches any.")] = "*",
    account: Annotated[str, typer.Option(help="The account in ARNs; * matches any.")] = "*",
    output: OutputFile = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the policy and its gaps as one JSON object.")
    ] = False,
) -> None:
    """Export a role as an AWS IAM policy, and list where the two differ.

    Prints the policy. If it allows more or less than the role, standard error lists the
    differences and what to do about them. The role's tenant becomes ${aws:PrincipalTag/…}; map your identity provider's
    user id to that tag.

    Exits with 1 if nothing of the role can be expressed in IAM.
    """
    from keyfold.cli._tables import find_tables

    if _is_region(region) is None:
        raise typer.BadParameter(f"{region!r} is not a region.", param_hint="--region")
    if _is_account(account) is None:
        fact = f"{account!r} is not an account id; those have 12 digits."
        raise typer.BadParameter(fact, param_hint="--account")
    exports = _export_roles(find_tables(name, table), roles, region, account)
    document = _join(exports)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if output is not None:
        write_output(output, f"{text}\n")
    if as_json:
        gaps = [_to_json(name, gap) for name, export in exports.items() for gap in export.gaps]
        print(json.dumps({"policy": document, "gaps": gaps}, indent=2, ensure_ascii=False))
    elif output is None:
        print(text)
    if not as_json:
        _show_gaps(exports)
    raise typer.Exit(0 if document["Statement"] else 1)


def _export_roles(
    tables: list[Table], roles: list[str], region: str, account: str
) -> dict[str, Export]:
    """Return the policy of the roles for each table that declares one of them."""
    from keyfold.policy.iam import export_policy

    known = sorted({name for table in tables for name in table.roles})
    for role in roles:
        if role not in known:
            names = ", ".join(table.name for table in tables)
            declares = f"declares {', '.join(known)}" if known else "declares none"
            fact = f"there is no role {role!r}; {names} {declares}."
            raise typer.BadParameter(fact, param_hint="--role")
    exports: dict[str, Export] = {}
    for table in tables:
        declared = [table.roles[role] for role in roles if role in table.roles]
        if declared:
            exports[table.name] = export_policy(
                table.layout, *declared, region=region, account=account
            )
    return exports


def _join(exports: dict[str, Export]) -> dict[str, Any]:
    """Return one policy document for all tables, with the table's name in statement ids."""
    documents = {name: export.document for name, export in exports.items()}
    if len(documents) == 1:
        return next(iter(documents.values()))
    statements = [
        {**statement, "Sid": re.sub(r"[^A-Za-z0-9]", "", name) + statement["Sid"]}
        for name, document in documents.items()
        for statement in document["Statement"]
    ]
    return {"Version": "2012-10-17", "Statement": statements}


_HEADINGS = {
    "wider": "The policy allows what the role does not:",
    "narrower": "The policy denies what the role allows:",
    "same": "Notes:",
}


def _show_gaps(exports: dict[str, Export]) -> None:
    gaps = [gap for export in exports.values() for gap in export.gaps]
    has_several = len({gap.role for gap in gaps}) > 1
    for direction, heading in _HEADINGS.items():
        listed = [gap for gap in gaps if gap.direction == direction]
        if not listed:
            continue
        print(heading, file=sys.stderr)
        for gap in listed:
            whose = f"{gap.role}: " if has_several and gap.role else ""
            print(f"  {whose}{gap.subject}: {gap.fact}. [{gap.kind}]", file=sys.stderr)
            if gap.advice:
                print(f"    {gap.advice}", file=sys.stderr)


def _to_json(table: str, gap: Gap) -> dict[str, Any]:
    return {
        "table": table,
        "role": gap.role or None,
        "kind": gap.kind,
        "direction": gap.direction,
        "actions": sorted(gap.actions),
        "subject": gap.subject,
        "index": gap.index_name,
        "fact": gap.fact,
        "advice": gap.advice,
    }
