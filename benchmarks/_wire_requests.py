"""Requests as the bytes that a client sends, prepared beforehand."""

from __future__ import annotations

import random
from typing import Any

import orjson

from benchmarks._orders import TABLE, Draw, customer_of, make_key, make_order

# A small table: moto reads all of it for each Query.
SIZE = 2_000
OPERATIONS = ("GetItem", "PutItem", "Query")
# All three in turn.
MIXED = "mixed"

_POOL = 2_000
_CREDENTIAL = "KEYFOLDBENCHMARK/20261101/us-east-1/dynamodb/aws4_request"
# As many headers, of the same lengths, as botocore sends. No server here verifies signatures.
_HEAD = (
    b"POST / HTTP/1.1\r\n"
    b"Host: 127.0.0.1:8000\r\n"
    b"Accept-Encoding: identity\r\n"
    b"X-Amz-Target: DynamoDB_20120810.%b\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\n"
    b"User-Agent: benchmark/1.0 md/keyfold#1.0 ua/2.1 os/linux#6.0 md/arch#x86_64 lang/python#3.11"
    b" md/pyimpl#CPython m/Z,b,D cfg/retry-mode#legacy benchmark/1.0\r\n"
    b"X-Amz-Date: 20261101T000000Z\r\n"
    b"Authorization: AWS4-HMAC-SHA256 Credential=%b, "
    b"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=%b\r\n"
    b"amz-sdk-invocation-id: 6f6a1c1e-6d0b-4d2b-9d0b-0d9a6f0f8a11\r\n"
    b"amz-sdk-request: attempt=1\r\n"
    b"Content-Length: %d\r\n"
    b"\r\n"
    b"%b"
)


def encode_request(operation: str, body: dict[str, Any]) -> bytes:
    """Return a whole request, head and body."""
    text = orjson.dumps(body)
    return _HEAD % (operation.encode(), _CREDENTIAL.encode(), b"5e" * 32, len(text), text)


def make_body(operation: str, draw: Draw) -> dict[str, Any]:
    """Return the request of an operation on an order, or on all orders of its customer."""
    match operation:
        case "GetItem":
            return {"TableName": TABLE, "Key": make_key(draw.number)}
        case "PutItem":
            return {"TableName": TABLE, "Item": make_order(draw)}
        case _:
            return {
                "TableName": TABLE,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": customer_of(draw.number)}},
            }


def make_pools() -> dict[str, list[bytes]]:
    """Return requests on random orders, by operation, and with all operations in turn."""
    source = random.Random(SIZE)
    pools = {
        operation: [
            encode_request(operation, make_body(operation, Draw(source.randrange(SIZE), edition)))
            for edition in range(_POOL)
        ]
        for operation in OPERATIONS
    }
    in_turns = zip(*pools.values(), strict=True)
    return {**pools, MIXED: [request for requests in in_turns for request in requests]}
