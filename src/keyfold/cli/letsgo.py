"""`keyfold letsgo`: list, read, write, update and delete items of a LetsGo table."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import AsJson, Database, show_examples

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the engine.
    from keyfold import Entity, RawItem, Store
    from keyfold.designs.letsgo import AnyItem

app = typer.Typer(
    name="letsgo",
    help="List, read, write, update and delete items of a LetsGo table.",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    rich_markup_mode=None,
)

_Category = Annotated[str, typer.Argument(help="The category.", metavar="CATEGORY")]
_Key = Annotated[str, typer.Argument(help="The key within the category.", metavar="KEY")]
_FILE = "letsgo.db"


@app.command(
    epilog=show_examples(
        "keyfold letsgo ls order",
        "keyfold letsgo ls customer-order /customer-123/ --full",
        "keyfold letsgo ls order --limit 20 --json",
    )
)
def ls(
    category: _Category,
    prefix: Annotated[
        str, typer.Argument(help="Only keys with this prefix.", metavar="PREFIX")
    ] = "",
    *,
    full: Annotated[bool, typer.Option("--full", help="Show whole items instead of keys.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Show at most N items, and a token for the next ones.", min=1, metavar="N"
        ),
    ] = None,
    next_token: Annotated[
        str | None,
        typer.Option(
            "--next", help="Continue after the list that gave this token.", metavar="TOKEN"
        ),
    ] = None,
    db: Database = _FILE,
    as_json: AsJson = False,
) -> None:
    """List the items of a category, in the order of their keys.

    Without --limit, lists all of them. Expired items are left out.
    """
    from keyfold.designs.letsgo import list_items

    query = list_items(category, prefix, limit, next_token)
    with _open(db) as store:
        if limit is None:
            invalid: list[RawItem] = []
            items, cursor = list(store.iterate(query, on_invalid=invalid.append)), None
        else:
            page = store.run(query)
            items, cursor, invalid = list(page), page.cursor, [*page.invalid]
    if as_json:
        show = _to_plain if full else _to_key
        shown = [show(item) for item in items]
        wrong = [{"item": show(each), "reason": each.reason} for each in invalid]
        _print_json({"items": shown, "invalid": wrong, "next": cursor})
        return
    for each in invalid:
        print(f"{_to_key(each)['key']!r} does not fit: {each.reason}.", file=sys.stderr)
    for item in items:
        print(_to_text(_to_plain(item)) if full else _to_key(item)["key"])
    if cursor is not None:
        print(f"There are more items: --next {cursor}", file=sys.stderr)


@app.command(
    epilog=show_examples(
        "keyfold letsgo get order order-123", "keyfold letsgo get order order-123 --json"
    )
)
def get(category: _Category, key: _Key, *, db: Database = _FILE, as_json: AsJson = False) -> None:
    """Show one item; exits with 1 if it does not exist or has expired."""
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
    epilog=show_examples(
        """keyfold letsgo put '{"category": "order", "key": "order-123", "total": 9.5}'""",
        "keyfold letsgo put - < order.json",
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
    """Write an item, replacing any with the same key.

    The optional `ttl` is the time when the item expires, in seconds since 1970. Categories that
    start with letsgo are reserved for the platform and refused. The database file is created if
    it does not exist.
    """
    from keyfold.designs.letsgo import put_item

    request = put_item(_read_item(sys.stdin.read() if item == "-" else item))
    with _open(db, create=True) as store:
        written = store.run(request)
    if as_json:
        _print_json({"item": _to_plain(written)})
    else:
        print(f"Wrote {written.key!r} to {written.category!r}.")


@app.command(
    epilog=show_examples(
        """keyfold letsgo update order order-123 '{"total": 12.5, "note": null}'""",
        "keyfold letsgo update order order-123 - < changes.json",
    )
)
def update(
    category: _Category,
    key: _Key,
    changes: Annotated[
        str,
        typer.Argument(
            help="The attributes to change as a JSON object; - reads standard input.",
            metavar="JSON",
        ),
    ],
    *,
    db: Database = _FILE,
    as_json: AsJson = False,
) -> None:
    """Change some attributes of an item, and leave the others as they are.

    A null removes an attribute; an object or a list replaces the one that is stored. Exits with 1
    if the item does not exist or has expired.
    """
    from keyfold.designs.letsgo import update_item
    from keyfold.errors import NotFound

    given = _read_object(sys.stdin.read() if changes == "-" else changes)
    request = update_item(category, key, given)
    written, is_found = None, True
    with _open(db) as store:
        try:
            written = store.run(request)
        except NotFound:
            is_found = False
    if as_json:
        _print_json({"item": None if written is None else _to_plain(written)})
    elif not is_found:
        print(f"There is no {key!r} in {category!r}.", file=sys.stderr)
    else:
        expired = ", which has expired now" if written is None else ""
        print(f"Updated {key!r} in {category!r}{expired}.")
    raise typer.Exit(0 if is_found else 1)


@app.command(epilog=show_examples("keyfold letsgo rm order order-123"))
def rm(category: _Category, key: _Key, *, db: Database = _FILE, as_json: AsJson = False) -> None:
    """Delete an item; a missing item is not an error."""
    from keyfold.designs.letsgo import delete_item

    request = delete_item(category, key)
    with _open(db) as store:
        removed = store.run(request)
    if as_json:
        _print_json({"removed": None if removed is None else _to_plain(removed)})
    elif removed is None:
        print(f"There was no {key!r} in {category!r}.")
    else:
        print(f"Deleted {key!r} from {category!r}.")


def _open(db: str, *, create: bool = False) -> Store:
    from keyfold.cli._databases import open_store
    from keyfold.designs.letsgo import table

    return open_store(table, db, creates=create)


# Items as JSON, with the exact digits of numbers: orjson prints fragments verbatim.


def _read_item(text: str) -> AnyItem:
    from pydantic import ValidationError

    from keyfold.designs.letsgo import AnyItem

    try:
        return AnyItem.model_validate(_read_object(text))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        raise typer.BadParameter(f"{problems}.", param_hint="JSON") from None


def _read_object(text: str) -> dict[str, Any]:
    """Return the attributes in a JSON object, with `ttl` as a time; raises BadParameter."""
    from datetime import UTC, datetime

    try:
        read: Any = json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except ValueError as error:
        raise typer.BadParameter(f"it is not JSON: {error}.", param_hint="JSON") from None
    if not isinstance(read, dict):
        raise typer.BadParameter("it must be a JSON object.", param_hint="JSON")
    item = cast(dict[str, Any], read)
    if item.get("ttl") is not None:
        try:
            item["ttl"] = datetime.fromtimestamp(int(item["ttl"]), UTC)
        except (ArithmeticError, OSError, TypeError, ValueError):
            raise typer.BadParameter(
                "ttl must be a number of seconds since 1970.", param_hint="JSON"
            ) from None
    return item


def _to_key(item: Entity | RawItem) -> dict[str, Any]:
    plain = _to_plain(item)
    return {"category": plain["category"], "key": plain["key"]}


def _to_plain(item: Entity | RawItem) -> dict[str, Any]:
    """Return an item of any type as a JSON object, with the stored attribute names."""
    from keyfold import RawItem
    from keyfold.cli._plain import attribute_to_plain

    if isinstance(item, RawItem):
        stored = dict(item.item)
    else:
        # Only encoded: a put would refuse the platform's categories.
        stored = type(item).keyfold_schema().encode(item)
    first = {name: stored[name] for name in ("category", "key", "ttl") if name in stored}
    return {name: attribute_to_plain(value) for name, value in {**first, **stored}.items()}


def _to_text(value: Any) -> str:
    from keyfold.cli._plain import to_json_text

    return to_json_text(value, indent=False)


def _print_json(value: Any) -> None:
    from keyfold.cli._plain import to_json_text

    print(to_json_text(value))
