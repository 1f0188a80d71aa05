"""`keyfold sql`: one PartiQL statement, put to a database."""

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

# A JSON object with one of these names, and no other, is a value in DynamoDB's own form.
_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})
_NO = frozenset({"ConditionalCheckFailedException", "DuplicateItemException"})


def sql(
    statement: Annotated[
        str, typer.Argument(help="A PartiQL statement, as DynamoDB takes it.", metavar="STATEMENT")
    ],
    *,
    db: Database,
    param: Annotated[
        list[str] | None,
        typer.Option(
            help="What a ? stands for, as JSON; one for each, in their order. "
            """'{"SS": ["a"]}' gives DynamoDB's own types.""",
            metavar="JSON",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Look at so many items, and say how to go on.", min=1)
    ] = None,
    next_token: Annotated[
        str | None,
        typer.Option("--next", help="Go on where a page with this token ended.", metavar="TOKEN"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one PartiQL statement, and show its items and what it cost.

    SELECT reads a table, or an index of it as "table"."index"; without a limit, all that there
    is. INSERT, UPDATE and DELETE write one item. Exits with 1 when a condition did not hold, or
    an inserted item exists already.
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
    with open_executor(db) as executor, make_progress_console().status("running"):
        try:
            answer = run_statement(executor, db, request)
        except ServiceError as error:
            if error.type not in _NO:
                raise
            # A no is an answer, and goes where answers do.
            if as_json:
                print(json.dumps(to_json(error), indent=2))
            else:
                print_error(error, as_json=False)
            raise typer.Exit(1) from None
    if as_json:
        print(to_json_text(answer.to_json()))
        return
    print_items(make_console(), answer.items)
    print(answer.cost, file=sys.stderr)
    if answer.token is not None:
        print(f"There are more: --next {answer.token}", file=sys.stderr)


def _read_parameter(text: str) -> dict[str, Any]:
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse_constant
        )
    except ValueError:
        advice = f"""{text} is no JSON. Text needs quotes of its own: '"text"'."""
        raise typer.BadParameter(advice, param_hint="--param") from None
    return _to_attribute(value)


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python reads and JSON does not have."""
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
    """Return a value in DynamoDB's form, with its numbers as the text that they are there."""
    return json.loads(json.dumps(value, default=str))
