"""`keyfold sql`: run one PartiQL statement."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import Annotated, Any, cast

import typer

from keyfold.cli._options import AsJson, Database

EXAMPLES = (
    """keyfold sql "SELECT * FROM orders WHERE pk = 'U#7'" --db shop.db""",
    """keyfold sql "SELECT sk FROM orders WHERE pk = ?" --param '"U#7"' --db shop.db""",
    """keyfold sql "UPDATE orders SET paid = true WHERE pk = 'U#7' AND sk = 'O#1'" --db shop.db""",
    """keyfold sql 'SELECT * FROM "orders"."by_day"' --limit 20 --json --db shop.db""",
)

# A JSON object whose only member has one of these names is a value in DynamoDB JSON.
_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})
_NO = frozenset({"ConditionalCheckFailedException", "DuplicateItemException"})


def sql(
    statement: Annotated[
        str, typer.Argument(help="A PartiQL statement for DynamoDB.", metavar="STATEMENT")
    ],
    *,
    db: Database,
    param: Annotated[
        list[str] | None,
        typer.Option(
            help="The value of a ? placeholder, as JSON; repeat the option for each ?, in order. "
            """'{"SS": ["a"]}' is DynamoDB JSON, for types such as sets.""",
            metavar="JSON",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Read at most N items, and show a token for the next ones.", min=1, metavar="N"
        ),
    ] = None,
    next_token: Annotated[
        str | None,
        typer.Option(
            "--next", help="Continue after the page that gave this token.", metavar="TOKEN"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one PartiQL statement; show its items and what it cost.

    SELECT reads a table, or an index as "table"."index"; without --limit, all matching items.
    INSERT, UPDATE and DELETE write one item.

    Exits with 1 if a condition fails, or if an inserted item already exists.
    """
    from keyfold.cli._errors import print_error, to_json
    from keyfold.cli._statements import print_items, run_statement, to_json_text
    from keyfold.cli._terminal import make_console, make_progress_console
    from keyfold.connect import open_executor
    from keyfold.errors import ServiceError

    request: dict[str, Any] = {"Statement": statement}
    if param:
        request["Parameters"] = [_read_parameter(text) for text in param]
    if limit is not None:
        request["Limit"] = limit
    if next_token is not None:
        request["NextToken"] = next_token
    with (
        open_executor(db, keeps_expired=True) as executor,
        make_progress_console().status("running"),
    ):
        try:
            result = run_statement(executor, db, request)
        except ServiceError as error:
            if error.type not in _NO:
                raise
            # A failed condition is a result: with --json it goes to standard output.
            if as_json:
                print(json.dumps(to_json(error), indent=2))
            else:
                print_error(error, as_json=False)
            raise typer.Exit(1) from None
    if as_json:
        print(to_json_text(result.to_json()))
        return
    print_items(make_console(), result.items)
    print(result.cost, file=sys.stderr)
    if result.token is not None:
        print(f"There are more items: --next {result.token}", file=sys.stderr)


def _read_parameter(text: str) -> dict[str, Any]:
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse_constant
        )
    except ValueError:
        advice = f"""{text} is not JSON. A string needs its own quotes: '"text"'."""
        raise typer.BadParameter(advice, param_hint="--param") from None
    return _to_attribute(value)


def _refuse_constant(name: str) -> Any:
    """Raise ValueError for NaN and Infinity, which Python accepts but JSON does not have."""
    raise ValueError(name)


def _to_attribute(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case Decimal():
            return {"N": str(value)}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [_to_attribute(each) for each in cast("list[Any]", value)]}
        case _:
            members = cast("dict[str, Any]", value)
            if len(members) == 1 and _TYPES.issuperset(members):
                return _as_given(members)
            return {"M": {name: _to_attribute(each) for name, each in members.items()}}


def _as_given(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value in DynamoDB JSON, with its numbers as strings."""
    return json.loads(json.dumps(value, default=str))
