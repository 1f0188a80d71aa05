"""Hostile clients: one function for each kind of attack.

An attack gets the address of a server, and attacks until its process is ended. It is one client: most have
one connection. `ATTACKS` has them by name; add a function with `@attack` to have another one measured.
"""

from __future__ import annotations

import gzip
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple, NoReturn

from tests.hostile.load.data import LISTS, TABLE
from tests.hostile.load.neighbour import NICENESS
from tests.hostile.load.parents import end_with_parent
from tests.unit.wire.server.http import ask, head, write_request

Address = tuple[str, int]
Attack = Callable[[Address], NoReturn]

KIB, MIB = 1 << 10, 1 << 20
_TIMEOUT_SECONDS = 30.0


class Kind(NamedTuple):
    """An attack, and the server that it needs."""

    run: Attack
    descriptors: int | None
    tls: bool


ATTACKS: dict[str, Kind] = {}


def attack(*, descriptors: int | None = None, tls: bool = False) -> Callable[[Attack], Attack]:
    """Register an attack; the server may have few descriptors, or serve HTTPS."""

    def register(run: Attack) -> Attack:
        ATTACKS[run.__name__.replace("_", " ")] = Kind(run, descriptors, tls)
        return run

    return register


def repeat(address: Address, *requests: bytes) -> NoReturn:
    """Send requests over and over, each after the answer to the one before."""
    while True:
        with suppress(OSError), socket.create_connection(address, _TIMEOUT_SECONDS) as line:
            while True:
                for request in requests:
                    line.sendall(request)
                    read_answer(line)


def read_answer(line: socket.socket) -> None:
    """Read one answer; raises OSError if the server hangs up."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _receive(line)
    start, _, body = received.partition(b"\r\n\r\n")
    left = int(start.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(_receive(line))


def _receive(line: socket.socket) -> bytes:
    data = line.recv(1 << 18)
    if not data:
        raise ConnectionResetError
    return data


def send_for_ever(address: Address, start: bytes, more: bytes) -> NoReturn:
    """Send something, and then more and more of something else, until the server hangs up; again."""
    while True:
        with suppress(OSError), socket.create_connection(address, _TIMEOUT_SECONDS) as line:
            line.sendall(start)
            while True:
                line.sendall(more)


def gzipped(operation: str, body: bytes) -> bytes:
    return write_request(head(operation, Content_Encoding="gzip"), gzip.compress(body, 9))


def query(**more: Any) -> bytes:
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "long"}} | more.pop("values", {}),
    }
    return ask("Query", request | more)


@attack()
def gzip_members(address: Address) -> NoReturn:
    members = gzip.compress(b"", mtime=0) * 250
    nested = gzip.compress(gzip.compress(gzip.compress(b"", mtime=0) * 100_000))
    repeat(
        address,
        write_request(head("ListTables", Content_Encoding="gzip"), members),
        write_request(head("ListTables", Content_Encoding="gzip, gzip, gzip"), nested),
    )


@attack()
def partiql_digits(address: Address) -> NoReturn:
    statement = f"SELECT * FROM {TABLE} WHERE pk = {'1' * 8_000}x"
    repeat(address, ask("ExecuteStatement", {"Statement": statement}))


@attack()
def contains(address: Address) -> NoReturn:
    own = [{"S": f"value {number}"} for number in range(1_000)]
    values = {f":v{number}": {"L": [*own, {"N": str(number)}]} for number in range(60)}
    filters = " OR ".join(f"contains(numbers, {name})" for name in values)
    repeat(address, query(FilterExpression=filters, values=values))


@attack()
def list_append(address: Address) -> NoReturn:
    changes = ", ".join(f"l{number} = list_append(numbers, numbers)" for number in range(40))
    update = {
        "TableName": TABLE,
        "Key": {"pk": {"S": "long"}, "sk": {"S": LISTS[0]}},
        "UpdateExpression": f"SET {changes}",
    }
    repeat(address, ask("UpdateItem", update))


@attack()
def pipelined_queries(address: Address) -> NoReturn:
    while True:
        with suppress(OSError), socket.create_connection(address, _TIMEOUT_SECONDS) as line:
            while True:
                line.sendall(query(Limit=100) * 30)
                for _ in range(30):
                    read_answer(line)


@attack()
def tiny_pipelined_requests(address: Address) -> NoReturn:
    while True:
        with suppress(OSError), socket.create_connection(address, _TIMEOUT_SECONDS) as line:
            line.setblocking(True)
            count = 256 * KIB // 18
            while True:
                line.sendall(b"GET / HTTP/1.1\r\n\r\n" * count)
                for _ in range(count // 1_000):
                    _receive(line)


@attack()
def large_transactions(address: Address) -> NoReturn:
    get = {"Get": {"TableName": TABLE, "Key": {"pk": {"S": "x" * 150_000}, "sk": {"S": "a"}}}}
    repeat(address, ask("TransactGetItems", {"TransactItems": [get] * 100}))


@attack()
def gzipped_quotes(address: Address) -> NoReturn:
    body = b'{"TableName":"' + b'\\"' * (4 * MIB) + b'"}'
    repeat(address, gzipped("DescribeTable", body), gzipped("DescribeTable", body[: 512 * KIB]))


@attack()
def nested_json(address: Address) -> NoReturn:
    deep = b"[" * 8_000 + b"]" * 8_000
    flat = b"[" + b"[]," * 5_000 + b"[]]"
    large = b"[" + b"[]," * 600_000 + b"[]]"
    requests = [write_request(head("ListTables"), body) for body in (deep, flat, large)]
    repeat(address, *requests)


@attack()
def attribute_updates(address: Address) -> NoReturn:
    updates = {f"name{number}": {"Action": "PUT", "Value": {"N": "1"}} for number in range(240_000)}
    key = {"pk": {"S": "long"}, "sk": {"S": "a"}}
    request = {"TableName": TABLE, "Key": key, "AttributeUpdates": updates}
    repeat(address, ask("UpdateItem", request))


def _chunked(end: bytes) -> bytes:
    return write_request(head("ListTables", Transfer_Encoding="chunked"), b"2\r\n{}\r\n" + end)


@attack()
def trailers(address: Address) -> NoReturn:
    send_for_ever(address, _chunked(b"0\r\n"), b"trailer: x\r\n" * 20_000)


@attack()
def short_chunks(address: Address) -> NoReturn:
    send_for_ever(address, _chunked(b""), b"2\r\n  \r\n" * 40_000)


@attack()
def pipelined_bodies(address: Address) -> NoReturn:
    body = ask("PutItem", {"Text": "x" * 15 * MIB})
    send_for_ever(address, b"", body)


@attack()
def unread_answers(address: Address) -> NoReturn:
    lines: list[socket.socket] = []
    while True:
        with suppress(OSError):
            line = socket.create_connection(address, _TIMEOUT_SECONDS)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            line.sendall(query() * 10)
            lines.append(line)
        if len(lines) > 400:
            lines.pop(0).close()
        time.sleep(0.005)


@attack(descriptors=1_024)
def many_connections(address: Address) -> NoReturn:
    while True:
        lines: list[socket.socket] = []
        for _ in range(1_500):
            with suppress(OSError):
                lines.append(socket.create_connection(address, _TIMEOUT_SECONDS))
        time.sleep(0.5)
        for line in lines:
            line.close()


@attack(tls=True, descriptors=1_024)
def unfinished_handshakes(address: Address) -> NoReturn:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    lines: list[socket.socket] = []
    while True:
        with suppress(OSError):
            line = socket.create_connection(address, _TIMEOUT_SECONDS)
            greeting = ssl.MemoryBIO()
            with suppress(ssl.SSLWantReadError):
                context.wrap_bio(ssl.MemoryBIO(), greeting).do_handshake()
            line.sendall(greeting.read())
            lines.append(line)
        if len(lines) > 500:
            lines.pop(0).close()


@attack()
def slow_searches(address: Address) -> NoReturn:
    values = {f":v{number}": {"S": f"no {number}"} for number in range(90)}
    filters = " OR ".join(f"contains(words, {name})" for name in values)
    request = query(FilterExpression=filters, values=values)
    while True:
        with suppress(OSError), ExitStack() as stack:
            lines = [
                stack.enter_context(socket.create_connection(address, _TIMEOUT_SECONDS))
                for _ in range(8)
            ]
            while True:
                for line in lines:
                    line.sendall(request)
                for line in lines:
                    read_answer(line)


@attack()
def long_writes(address: Address) -> NoReturn:
    item = {"pk": {"S": "other"}, "sk": {"S": "a"}, "t": {"S": "x" * 390_000}}
    requests = [{"PutRequest": {"Item": item | {"sk": {"S": str(n)}}}} for n in range(25)]
    repeat(address, ask("BatchWriteItem", {"RequestItems": {TABLE: requests}}))


def main() -> None:
    """Run the attack that the arguments name, on a host and port."""
    name, host, port = sys.argv[1:]
    # The polite client goes first on the processor: it is the server that is measured.
    os.nice(NICENESS)
    end_with_parent()
    ATTACKS[name].run((host, int(port)))


if __name__ == "__main__":
    main()
