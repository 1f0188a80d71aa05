"""Requests as the bytes that a client sends, prepared beforehand."""

from __future__ import annotations

import random
import time

import orjson

from benchmarks._orders import TABLE, Draw, Request, make_get, make_put, make_query
from keyfold.wire._sigv4 import (
    BegunSignature,
    begin_canonical_request,
    begin_string_to_sign,
    derive_key,
)

# A small table: moto reads all of it for each Query.
SIZE = 2_000
OPERATIONS = ("GetItem", "PutItem", "Query")
# All three in turn.
MIXED = "mixed"

_POOL = 2_000
_REGION = "us-east-1"
_HOST = b"127.0.0.1:8000"
_CONTENT_TYPE = b"application/x-amz-json-1.0"
# As many headers, of the same lengths, as botocore sends.
_HEAD = (
    b"POST / HTTP/1.1\r\n"
    b"Host: %b\r\n"
    b"Accept-Encoding: identity\r\n"
    b"X-Amz-Target: DynamoDB_20120810.%b\r\n"
    b"Content-Type: %b\r\n"
    b"User-Agent: benchmark/1.0 md/keyfold#1.0 ua/2.1 os/linux#6.0 md/arch#x86_64 lang/python#3.11"
    b" md/pyimpl#CPython m/Z,b,D cfg/retry-mode#legacy benchmark/1.0\r\n"
    b"X-Amz-Date: %b\r\n"
    b"Authorization: AWS4-HMAC-SHA256 Credential=%b/%b, "
    b"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=%b\r\n"
    b"amz-sdk-invocation-id: 6f6a1c1e-6d0b-4d2b-9d0b-0d9a6f0f8a11\r\n"
    b"amz-sdk-request: attempt=1\r\n"
    b"Content-Length: %d\r\n"
    b"\r\n"
    b"%b"
)

# What the holders of two access keys may do: everything, or what a policy of tenants allows.
ADMIN, TENANT = "KEYFOLDBENCHMARKADMIN", "KEYFOLDBENCHMARKTENANT"
SECRET = "benchmark" * 4
POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "dynamodb:GetItem",
            "Resource": f"arn:aws:dynamodb:*:*:table/{TABLE}",
            "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["CUSTOMER#*"]}},
        },
    ],
}


def encode_request(operation: str, body: Request, access_key: str = "") -> bytes:
    """Return a whole request, head and body; without an access key its signature is invalid."""
    text, target = orjson.dumps(body), operation.encode()
    timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{timestamp[:8]}/{_REGION}/dynamodb/aws4_request"
    signature = "5e" * 32
    if access_key:
        canonical, _ = begin_canonical_request(
            (
                (b"content-type", _CONTENT_TYPE),
                (b"host", _HOST),
                (b"x-amz-date", timestamp.encode()),
                (b"x-amz-target", b"DynamoDB_20120810." + target),
            )
        )
        key = derive_key(SECRET, timestamp[:8], _REGION, "dynamodb")
        to_sign = begin_string_to_sign(timestamp, scope)
        signature = BegunSignature(key, to_sign, canonical).finish(text)
    credential = (access_key or "KEYFOLDBENCHMARK").encode()
    dated = (timestamp.encode(), credential, scope.encode(), signature.encode())
    return _HEAD % (_HOST, target, _CONTENT_TYPE, *dated, len(text), text)


def make_body(operation: str, draw: Draw) -> Request:
    """Return the request of an operation on an order, or on all orders of its customer."""
    make = {"GetItem": make_get, "PutItem": make_put, "Query": make_query}[operation]
    return make(draw)


def make_pool(operation: str, access_key: str = "") -> list[bytes]:
    """Return requests on random orders, of one operation or of all in turn."""
    source = random.Random(SIZE)
    operations = OPERATIONS if operation == MIXED else [operation]
    return [
        encode_request(each, make_body(each, Draw(source.randrange(SIZE), edition)), access_key)
        for edition in range(_POOL)
        for each in operations
    ]
