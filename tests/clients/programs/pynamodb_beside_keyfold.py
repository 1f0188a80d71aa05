"""PynamoDB's part of `test_pynamodb_beside_keyfold.py`: run as `program.py URL TABLE write`, then `read`.

`write` saves an item with an attribute of every type that the guide to PynamoDB lists. `read` shows
what PynamoDB makes of the item after Keyfold has written it, and saves it once more.
"""

# pyright: basic
# PynamoDB is installed for this program alone, so its classes are unknown to pyright.
# pyright: reportMissingImports=false, reportGeneralTypeIssues=false, reportCallIssue=false
from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from pynamodb.attributes import (
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    DiscriminatorAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

URL, TABLE, PHASE = sys.argv[1:4]


class StatusIndex(GlobalSecondaryIndex[Any]):
    class Meta:
        index_name = "StatusIndex"
        projection = AllProjection()

    status_pk = UnicodeAttribute(hash_key=True)
    placed = UTCDateTimeAttribute(range_key=True)


class Address(MapAttribute[str, Any]):
    city = UnicodeAttribute()
    zip = UnicodeAttribute(null=True)


class Base(Model):
    class Meta:
        table_name = TABLE
        host = URL
        billing_mode = "PAY_PER_REQUEST"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    by_status = StatusIndex()
    cls = DiscriminatorAttribute()


class Order(Base, discriminator="order"):
    status_pk = UnicodeAttribute()
    status = UnicodeAttribute(default="open")
    placed = UTCDateTimeAttribute()
    number = NumberAttribute()
    share = NumberAttribute()
    is_paid = BooleanAttribute()
    expires = TTLAttribute(attr_name="ttl")
    version = VersionAttribute()
    raw = BinaryAttribute(legacy_encoding=False)
    encoded = BinaryAttribute(legacy_encoding=True)
    document = JSONAttribute()
    words = UnicodeSetAttribute()
    numbers = NumberSetAttribute()
    hashes = BinarySetAttribute(legacy_encoding=False)
    things = ListAttribute[Any]()
    addresses = ListAttribute[Address](of=Address)
    address = Address()
    free = MapAttribute[str, Any]()
    note = UnicodeAttribute(null=True)


def write() -> None:
    Base.create_table(wait=True)
    Order(
        "CUSTOMER#ada",
        "ORDER#000001",
        status_pk="STATUS#open",
        placed=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        number=5,
        share=0.1,
        is_paid=True,
        expires=datetime(2096, 3, 1, tzinfo=UTC),
        raw=b"\x00\xff",
        encoded=b"\x00\xff",
        document={"a": [1, None]},
        words={"a", "b"},
        numbers={1, 2},
        hashes={b"a"},
        things=["a", 1, {"x": None}],
        addresses=[Address(city="Bonn")],
        address=Address(city="Delft"),
        free={"k": "v", "n": 1},
    ).save(Order.pk.does_not_exist())


def read() -> None:
    order = Base.get("CUSTOMER#ada", "ORDER#000001")
    assert isinstance(order, Order)
    shown = {name: _show(value) for name, value in order.attribute_values.items()}
    print(json.dumps(shown | {"reads our times": _reads_our_times()}))
    order.save()


def _reads_our_times() -> bool:
    try:
        UTCDateTimeAttribute().deserialize("2026-03-01T09:30:00.000000Z")
    except ValueError:
        return False
    return True


def _show(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case type():
            return value.__name__
        case bytes():
            return value.hex()
        case set():
            return sorted(map(_show, value))
        case MapAttribute():
            return value.as_dict()
        case list():
            return [_show(each) for each in value]
        case _:
            return value


{"write": write, "read": read}[PHASE]()
