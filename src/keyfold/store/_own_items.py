"""Items that Keyfold keeps in a table for itself: guards of unique values, and records of requests.

Their partition keys start with `keyfold#`. They are of no entity: reads, handlers, inference and
backfills pass over them, and no role reaches them but one with rights on EVERYTHING.
"""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.model._keys import Key, TableLike
from keyfold.policy import OWN_START
from keyfold.values import AttributeValue, Item

# The prefix of the partitions of records of requests with an idempotency key.
IDEMPOTENCY_START = f"{OWN_START}idempotency#"

# The attributes of these records: a hash of the request, who runs it and until when it may, when
# the record expires, and the sealed answer. The table's TTL attribute comes on top.
REQUEST, OWNER, LEASE, EXPIRY, ANSWER = (
    "keyfold_request",
    "keyfold_request_owner",
    "keyfold_request_lease",
    "keyfold_request_expiry",
    "keyfold_request_answer",
)
_RECORD_ATTRIBUTES = frozenset({REQUEST, OWNER, LEASE, EXPIRY, ANSWER})


def own_key(key: Key, start: str, rest: str, sort_kind: str = "S") -> Item:
    """Return the key of an own item, whose partition key is `start` and `rest`.

    The partition key has to be text; `sort_kind` is the type of the sort key.

    >>> own_key(Key("pk", "sk"), "keyfold#unique#", "Member.email#S#ada")
    {'pk': {'S': 'keyfold#unique#Member.email#S#ada'}, 'sk': {'S': 'keyfold#unique'}}
    """
    item: Item = {key.partition[0]: {"S": f"{start}{rest}"}}
    if key.sort:
        text = start.rstrip("#")
        values: dict[str, AttributeValue] = {"N": {"N": "0"}, "B": {"B": text.encode()}}
        item[key.sort[0]] = values.get(sort_kind, {"S": text})
    return item


def is_own_item(table: TableLike, item: Mapping[str, AttributeValue]) -> bool:
    """Return whether an item, or a key, is one that Keyfold keeps for itself."""
    return _starts_with(table, item, OWN_START)


def is_request_record(table: TableLike, item: Mapping[str, AttributeValue]) -> bool:
    """Return whether an item is the record of a request with an idempotency key."""
    return _starts_with(table, item, IDEMPOTENCY_START)


def find_own_item_fault(table: TableLike, item: Mapping[str, AttributeValue]) -> str | None:
    """Return why a server refuses an own item that is not for unique values; None for a record."""
    attributes = item.keys() - {*table.key.names, table.ttl}
    if is_request_record(table, item) and REQUEST in attributes <= _RECORD_ATTRIBUTES:
        return None
    return "its key is reserved for Keyfold's own items"


def _starts_with(table: TableLike, item: Mapping[str, AttributeValue], start: str) -> bool:
    text = item.get(table.key.partition[0], {}).get("S")
    return text is not None and text.startswith(start)
