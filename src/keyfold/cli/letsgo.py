"""`keyfold letsgo`: list, read, write and remove items of a LetsGo table."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from keyfold.cli._options import AsJson, Database, show_examples

if TYPE_CHECKING:
    # At run time these wait until a command runs, so that help loads no engine.
    from keyfold import Entity, RawItem, Store
    from keyfold.designs.letsgo import AnyItem

app = typer.Typer(
    name="letsgo",
    help="List, read, write and remove items of a LetsGo table.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Category = Annotated[str, typer.Argument(help="The category.", metavar="CATEGORY")]
_Key = Annotated[str, typer.Argument(help="The key within the category.", metavar="KEY")]
_FILE = "letsgo.db"


def _show_examples(*examples: str) -> str:
    return show_examples(f"keyfold letsgo {each}" for each in examples)


@app.command(
    epilog=_show_examples(
        "ls order",
        "ls customer-order /customer-123/ --full",
        "ls order --limit 20 --json",
    )
)
def ls(
    category: _Category,
    prefix: Annotated[str, typer.Argument(help="Only keys that start so.", metavar="PREFIX")] = "",
    *,
    full: Annotated[bool, typer.Option("--full", help="Show whole items, not keys.")] = False,
    limit: Annotated[
        int | None, typer.Option(help="Show so many, and how to go on.", min=1, metavar="N")
    ] = None,
    next_token: Annotated[
        str | None,
        typer.Option("--next", help="Go on where a list with this token ended.", metavar="TOKEN"),
    ] = None,
    db: Database = _FILE,
    as_json: AsJson = False,
) -> None:
    """List the items of a category, in the order of their keys.

    Without a limit, all of them. What has expired is not among them.
    """
    from keyfold.designs.letsgo import list_items

    query = list_items(category, prefix, limit, next_token)
    with _open(db) as store:
        if limit is None:
            items, cursor = list(store.iterate(query)), None
        else:
            page = store.run(query)
            items, cursor = list(page), page.cursor
    if as_json:
        shown = [_to_plain(item) if full else _to_key(item) for item in items]
        _print_json({"items": shown, "next": cursor})
        return
    for item in items:
        print(_to_text(_to_plain(item)) if full else _to_key(item)["key"])
    if cursor is not None:
        print(f"There are more: --next {cursor}", file=sys.stderr)


@app.command(epilog=_show_examples("get order order-123", "get order order-123 --json"))
def get(category: _Category, key: _Key, *, db: Database = _FILE, as_json: AsJson = False) -> None:
    """Show one item; exits with 1 if it is not there, or has expired."""
    from keyfold.designs.letsgo import get_item

    with _open(db) as store:
        item = store.run(get_item(category, key, consistent=True))
    if as_json:
        _print_json({"item": None if item is None else _to_plain(item)})
    elif item is None:
        print(f"There is no {key!r} in {category!r}.", file=sys.stderr)
    else:
        for name, value in _to_plain(item).items():
            print(f"{name}: {value if isinstance(value, str) else _to_text(value)}")
    raise typer.Exit(1 if item is None else 0)


@app.command(
    epilog=_show_examples(
        """put '{"category": "order", "key": "order-123", "total": 9.5}'""", "put - < order.json"
    )
)
def put(
    item: Annotated[
        str,
        typer.Argument(
            help="The item as a JSON object with category and key; - reads standard input.",
            metavar="JSON",
        ),
    ],
    *,
    db: Database = _FILE,
    as_json: AsJson = False,
) -> None:
    """Write an item, in place of what has its key; the file is made if it is not there.

    `ttl`, if it is there, is when the item expires: seconds since 1970. Categories that start
    with letsgo are the platform's, and refused.
    """
    from keyfold.designs.letsgo import put_item

    request = put_item(_read_item(sys.stdin.read() if item == "-" else item))
    with _open(db, make=True) as store:
        written = store.run(request)
    if as_json:
        _print_json({"item": _to_plain(written)})
    else:
        print(f"Put {written.key!r} into {written.category!r}.")


@app.command(epilog=_show_examples("rm order order-123"))
def rm(category: _Category, key: _Key, *, db: Database = _FILE, as_json: AsJson = False) -> None:
    """Remove an item; one that is not there is no error."""
    from keyfold.designs.letsgo import delete_item

    request = delete_item(category, key)
    with _open(db) as store:
        removed = store.run(request)
    if as_json:
        _print_json({"removed": None if removed is None else _to_plain(removed)})
    elif removed is None:
        print(f"There was no {key!r} in {category!r}.")
    else:
        print(f"Removed {key!r} from {category!r}.")


def _open(db: str, *, make: bool = False) -> Store:
    from keyfold.cli._databases import open_store
    from keyfold.designs.letsgo import table

    # What does not fit the platform's own types is shown as well.
    return open_store(table, db, makes=make, on_invalid="raw")


# Items as JSON, digit for digit: orjson's fragments print numbers as they are written.


def _read_item(text: str) -> AnyItem:
    from datetime import UTC, datetime

    from pydantic import ValidationError

    from keyfold.designs.letsgo import AnyItem

    try:
        read: Any = json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except ValueError as error:
        raise typer.BadParameter(f"it is no JSON: {error}.", param_hint="JSON") from None
    if not isinstance(read, dict):
        raise typer.BadParameter("an item is a JSON object.", param_hint="JSON")
    item = cast(dict[str, Any], read)
    if "ttl" in item:
        try:
            item["ttl"] = datetime.fromtimestamp(int(item["ttl"]), UTC)
        except (ArithmeticError, OSError, TypeError, ValueError):
            raise typer.BadParameter(
                "ttl is a number of seconds since 1970.", param_hint="JSON"
            ) from None
    try:
        return AnyItem.model_validate(item)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        raise typer.BadParameter(f"{problems}.", param_hint="JSON") from None


def _to_key(item: Entity | RawItem) -> dict[str, Any]:
    plain = _to_plain(item)
    return {"category": plain["category"], "key": plain["key"]}


def _to_plain(item: Entity | RawItem) -> dict[str, Any]:
    """Return an item of any type as JSON has it, with the names that it is stored under."""
    from keyfold import Entity, RawItem
    from keyfold.cli._plain import attribute_to_plain

    if isinstance(item, RawItem):
        stored = dict(item.item)
    else:
        # Not the item's own put, which refuses the platform's categories: nothing is written here.
        stored = Entity.put(item).to_dynamodb()["Item"]
    first = {name: stored[name] for name in ("category", "key", "ttl") if name in stored}
    return {name: attribute_to_plain(value) for name, value in {**first, **stored}.items()}


def _to_text(value: Any) -> str:
    from keyfold.cli._plain import to_json_text

    return to_json_text(value, indent=False)


def _print_json(value: Any) -> None:
    from keyfold.cli._plain import to_json_text

    print(to_json_text(value))
