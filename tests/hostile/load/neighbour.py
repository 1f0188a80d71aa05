"""An ordinary neighbour: an application that keeps the server busy, with requests as applications send them.

It has a few connections, as the pool of a web application has, and sends the next request when it has the
answer to the last. It reads single items and pages of a partition, puts and updates items of about a kilobyte, and
now and then writes a batch of 25, reads a batch of 25, or makes a small transaction. Nothing here is chosen to
be slow: there are no filters over long items, and nothing is anywhere near a limit of DynamoDB, except for the
number of items in a batch.
"""

from __future__ import annotations

import itertools
import os
import ssl
import sys
import threading
from collections.abc import Iterator
from typing import Any

from tests.fuzz.talking import Line
from tests.hostile.load.data import TABLE
from tests.hostile.load.parents import end_with_parent
from tests.unit.wire.server.http import ask

NICENESS = 10
_CONNECTIONS = 8
_CUSTOMERS = 40
_ORDERS = 25


def _order(customer: int, order: int, total: int) -> dict[str, Any]:
    return {
        "pk": {"S": f"customer {customer}"},
        "sk": {"S": f"order {order:03}"},
        "total": {"N": str(total)},
        "state": {"S": "open"},
        "lines": {
            "L": [
                {"M": {"sku": {"S": f"sku-{line}"}, "count": {"N": str(line)}}} for line in range(5)
            ]
        },
        "address": {"S": "x" * 500},
    }


def _requests(connection: int) -> Iterator[bytes]:
    """Yield the requests of one connection, for ever."""
    for number in itertools.count():
        customer = (number * _CONNECTIONS + connection) % _CUSTOMERS
        items = [_order(customer, order, number) for order in range(_ORDERS)]
        item = items[number % _ORDERS]
        keys = [{name: each[name] for name in ("pk", "sk")} for each in items]
        key = keys[number % _ORDERS]
        one = {"TableName": TABLE, "Key": key}
        page = {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p AND begins_with(sk, :o)",
            "ExpressionAttributeValues": {":p": item["pk"], ":o": {"S": "order"}},
        }
        update = one | {
            "UpdateExpression": "SET #s = :s ADD payments :one",
            "ExpressionAttributeNames": {"#s": "state"},
            "ExpressionAttributeValues": {":s": {"S": "paid"}, ":one": {"N": "1"}},
        }
        for _ in range(5):
            yield ask("GetItem", one)
            yield ask("PutItem", {"TableName": TABLE, "Item": item})
            yield ask("Query", page | {"Limit": 10, "ScanIndexForward": False})
            yield ask("UpdateItem", update)
        yield ask("Query", page)
        puts = [{"PutRequest": {"Item": each}} for each in items]
        yield ask("BatchWriteItem", {"RequestItems": {TABLE: puts}})
        yield ask("BatchGetItem", {"RequestItems": {TABLE: {"Keys": keys}}})
        transaction = [{"Update": update}, {"Put": {"TableName": TABLE, "Item": items[-1]}}]
        if key != keys[-1]:
            yield ask("TransactWriteItems", {"TransactItems": transaction})


def _run(address: tuple[str, int], tls: ssl.SSLContext | None, connection: int) -> None:
    line = Line(address, tls)
    for request in _requests(connection):
        if line.ask(request).status != 200:
            os._exit(1)


def main() -> None:
    """Run on a host and port; with the path of a certificate, by TLS."""
    host, port, *certificates = sys.argv[1:]
    os.nice(NICENESS)
    end_with_parent()
    tls = ssl.create_default_context(cafile=certificates[0]) if certificates else None
    for connection in range(_CONNECTIONS):
        address = (host, int(port))
        threading.Thread(target=_run, args=(address, tls, connection), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
