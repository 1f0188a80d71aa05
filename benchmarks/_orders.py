"""What the benchmarks store: orders of customers, about 400 bytes in twelve attributes each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keyfold.values import Item, encode_partition, prefix_end

Request = dict[str, Any]

TABLE = "shop"
PER_CUSTOMER = 20

_BATCH = 25
_DAYS = 28
_SPREAD = 2_654_435_761  # odd, so that multiplying by it visits every 32-bit number once

_SCHEMA = [
    {"AttributeName": "pk", "KeyType": "HASH"},
    {"AttributeName": "sk", "KeyType": "RANGE"},
]
_INDEXES = [("by_product", "gsi1pk", "gsi1sk"), ("by_courier", "gsi2pk", "gsi2sk")]


@dataclass(frozen=True, slots=True)
class Draw:
    """An order to use: another `edition` has other contents, another `place` other index keys."""

    number: int
    edition: int = 0
    place: int = 0


def create_table_request(*, indexed: bool) -> Request:
    """Return the request for the table, with two global indexes or with none."""
    names = ["pk", "sk"]
    request: Request = {
        "TableName": TABLE,
        "KeySchema": _SCHEMA,
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexed:
        names += ["gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"]
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index,
                "KeySchema": [
                    {"AttributeName": partition, "KeyType": "HASH"},
                    {"AttributeName": sort, "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
            for index, partition, sort in _INDEXES
        ]
    request["AttributeDefinitions"] = [
        {"AttributeName": name, "AttributeType": "S"} for name in names
    ]
    return request


def customer_of(number: int) -> str:
    """Return the partition key of an order."""
    return f"CUSTOMER#{number // PER_CUSTOMER:010d}"


def make_key(number: int) -> Item:
    """Return the key of an order."""
    slot = number % PER_CUSTOMER
    return {
        "pk": {"S": customer_of(number)},
        "sk": {"S": f"ORDER#2026-11-{slot + 1:02d}#{slot:06d}"},
    }


def make_order(draw: Draw) -> Item:
    """Return the whole item of an order."""
    number, edition, place = draw.number, draw.edition, draw.place
    mixed = (number * _SPREAD + place * 40_503) & 0xFFFF_FFFF
    day = 1 + mixed % _DAYS
    return {
        **make_key(number),
        "gsi1pk": {"S": f"PRODUCT#{mixed % 50_021:06d}"},
        "gsi1sk": {"S": f"2026-11-{day:02d}#{number:010d}"},
        "gsi2pk": {"S": f"COURIER#{mixed % 9_973:05d}"},
        "gsi2sk": {"S": f"{place % 7}#2026-11-{day:02d}"},
        "kind": {"S": "order"},
        "amount": {"N": f"{10 + (number + edition) % 990}.{5 + edition % 5}"},
        "quantity": {"N": str(1 + (number + edition) % 12)},
        "paid": {"BOOL": (number + edition) % 3 > 0},
        "tags": {"SS": [f"batch-{edition % 100:02d}", "gift"]},
        "note": {"S": f"Leave it with the neighbour on floor {edition % 10}, please."},
    }


def make_get(draw: Draw) -> Request:
    """Return the GetItem request of an order."""
    return {"TableName": TABLE, "Key": make_key(draw.number)}


def make_put(draw: Draw) -> Request:
    """Return the PutItem request of an order."""
    return {"TableName": TABLE, "Item": make_order(draw)}


def make_query(draw: Draw) -> Request:
    """Return the Query request for all orders of a customer."""
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": customer_of(draw.number)}},
    }


def make_batches(size: int) -> Iterator[Request]:
    """Yield the BatchWriteItem requests that write the first `size` orders."""
    for first in range(0, size, _BATCH):
        numbers = range(first, min(first + _BATCH, size))
        puts = [{"PutRequest": {"Item": make_order(Draw(number))}} for number in numbers]
        yield {"RequestItems": {TABLE: puts}}


def row_key(order: Item) -> bytes:
    """Return the row key of an order in the engine."""
    return encode_partition(order["pk"]["S"].encode()) + order["sk"]["S"].encode()


def row_entries(order: Item) -> tuple[bytes, bytes]:
    """Return the entries of an order in the engine's two indexes."""
    first, second = (
        encode_partition(order[partition]["S"].encode()) + order[sort]["S"].encode()
        for _, partition, sort in _INDEXES
    )
    return first, second


def customer_span(number: int, prefix: str = "") -> tuple[bytes, bytes]:
    """Return the range of row keys of an order's customer, or of those with a sort-key prefix."""
    low = encode_partition(customer_of(number).encode()) + prefix.encode()
    high = prefix_end(low)
    assert high is not None  # it ends in ASCII
    return low, high
