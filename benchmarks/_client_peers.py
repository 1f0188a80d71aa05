"""The clients of bench_client, each called in its own idiom.

A peer runs in its own process, as `python -m benchmarks._client_peers NAME URL`: it reads from
standard input what to measure, and prints the processor time of one call. Each peer imports its
library itself, because the libraries of the others may not be installed next to it.
"""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Any

from benchmarks._orders import (
    PER_CUSTOMER,
    TABLE,
    Draw,
    customer_of,
    make_get,
    make_key,
    make_order,
    make_put,
    make_query,
)

ITEMS = 50 * PER_CUSTOMER
GET, PUT, QUERY = "GetItem", "PutItem", "Query of 20"
CASES = (GET, PUT, QUERY)

_REGION = "us-east-1"

# For each case: a function from an order to the argument of the call, run before the clock starts,
# and the call itself.
Calls = dict[str, tuple[Callable[[Draw], Any], Callable[[Any], Any]]]


def _plain_key(draw: Draw) -> dict[str, Any]:
    return _plain(make_key(draw.number))


def _plain_order(draw: Draw) -> dict[str, Any]:
    return _plain(make_order(draw))


def _customer(draw: Draw) -> str:
    return customer_of(draw.number)


def _low_level(execute: Callable[[str, dict[str, Any]], Any]) -> Calls:
    return {
        GET: (make_get, lambda request: execute(GET, request)),
        PUT: (make_put, lambda request: execute(PUT, request)),
        QUERY: (make_query, lambda request: execute("Query", request)),
    }


def keyfold_client(url: str) -> Calls:
    """Return our client's calls."""
    from keyfold.wire.client import Client  # noqa: PLC0415

    return _low_level(Client(url).execute)


def keyfold_store(url: str) -> Calls:
    """Return the calls of our store on our client, with entities."""
    import keyfold  # noqa: PLC0415
    from benchmarks._store_models import shop  # noqa: PLC0415

    return _stored(keyfold.open(shop, url, cursor_key=b"benchmark" * 2).run)


def _stored(run: Callable[[Any], Any]) -> Calls:
    from benchmarks._store_models import Order, text_parts  # noqa: PLC0415

    decode = Order.keyfold_schema().decode
    return {
        GET: (lambda draw: text_parts(draw.number), lambda parts: run(Order.get(**parts))),
        PUT: (lambda draw: decode(make_order(draw)), lambda order: run(order.put())),
        QUERY: (_customer, lambda customer: run(Order.query(pk=customer))),
    }


def boto3_client(url: str) -> Calls:
    """Return the calls of boto3's client."""
    import boto3  # noqa: PLC0415

    client: Any = boto3.client("dynamodb", endpoint_url=url, region_name=_REGION)
    return {
        GET: (make_get, lambda request: client.get_item(**request)),
        PUT: (make_put, lambda request: client.put_item(**request)),
        QUERY: (make_query, lambda request: client.query(**request)),
    }


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as plain Python values."""
    make: dict[str, Callable[[Any], Any]] = {"N": Decimal, "SS": set}
    return {
        name: make.get(kind, lambda data: data)(data)
        for name, value in item.items()
        for kind, data in value.items()
    }


def boto3_resource(url: str) -> Calls:
    """Return the calls of boto3's table."""
    import boto3  # noqa: PLC0415
    from boto3.dynamodb.conditions import Key  # noqa: PLC0415

    resource: Any = boto3.resource("dynamodb", endpoint_url=url, region_name=_REGION)
    table = resource.Table(TABLE)
    return {
        GET: (_plain_key, lambda key: table.get_item(Key=key)),
        PUT: (_plain_order, lambda order: table.put_item(Item=order)),
        QUERY: (
            _customer,
            lambda customer: table.query(KeyConditionExpression=Key("pk").eq(customer)),
        ),
    }


def pynamodb(url: str) -> Calls:
    """Return the calls of PynamoDB's model, with its entities."""
    from benchmarks._store_models import make_pynamodb_model  # noqa: PLC0415

    model = make_pynamodb_model(host=url)

    def key(draw: Draw) -> list[str]:
        return [value["S"] for value in make_key(draw.number).values()]

    return {
        GET: (key, lambda parts: model.get(*parts)),
        PUT: (lambda draw: model.from_raw_data(make_order(draw)), lambda order: order.save()),
        QUERY: (_customer, lambda customer: list(model.query(customer))),
    }


def pydynox(url: str) -> Calls:
    """Return the calls of pydynox's client, which is written in Rust."""
    from pydynox import DynamoDBClient  # noqa: PLC0415

    client: Any = DynamoDBClient(region=_REGION, endpoint_url=url)

    def query(customer: str) -> list[Any]:
        values = {":pk": customer}
        return list(client.sync_query(TABLE, "pk = :pk", expression_attribute_values=values))

    return {
        GET: (_plain_key, lambda key: client.sync_get_item(TABLE, key)),
        PUT: (_plain_order, lambda order: client.sync_put_item(TABLE, order)),
        QUERY: (_customer, query),
    }


# Async clients.


async def keyfold_async_client(url: str, stack: AsyncExitStack) -> Calls:
    """Return the calls of our async client."""
    from keyfold.wire.client import AsyncClient  # noqa: PLC0415

    return _low_level((await stack.enter_async_context(AsyncClient(url))).execute)


async def keyfold_async_store(url: str, stack: AsyncExitStack) -> Calls:
    """Return the calls of our async store, with entities."""
    import keyfold  # noqa: PLC0415
    from benchmarks._store_models import shop  # noqa: PLC0415

    store = keyfold.open_async(shop, url, cursor_key=b"benchmark" * 2)
    return _stored((await stack.enter_async_context(store)).run)


async def aiodynamo(url: str, stack: AsyncExitStack) -> Calls:
    """Return aiodynamo's calls, over httpx."""
    import ssl  # noqa: PLC0415

    import httpx  # noqa: PLC0415
    import yarl  # noqa: PLC0415
    from aiodynamo.client import Client  # noqa: PLC0415
    from aiodynamo.credentials import Credentials  # noqa: PLC0415
    from aiodynamo.expressions import HashKey  # noqa: PLC0415
    from aiodynamo.http.httpx import HTTPX  # noqa: PLC0415

    trusting = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
    http = await stack.enter_async_context(httpx.AsyncClient(verify=trusting))
    client = Client(HTTPX(http), Credentials.auto(), _REGION, yarl.URL(url))
    table = client.table(TABLE)

    async def query(customer: str) -> list[Any]:
        return [item async for item in table.query(HashKey("pk", customer))]

    return {
        GET: (_plain_key, table.get_item),
        PUT: (_plain_order, table.put_item),
        QUERY: (_customer, query),
    }


async def aioboto3(url: str, stack: AsyncExitStack) -> Calls:
    """Return the calls of aioboto3's client."""
    import aioboto3 as library  # noqa: PLC0415

    session: Any = library.Session()
    making = session.client("dynamodb", endpoint_url=url, region_name=_REGION)
    client = await stack.enter_async_context(making)
    return {
        GET: (make_get, lambda request: client.get_item(**request)),
        PUT: (make_put, lambda request: client.put_item(**request)),
        QUERY: (make_query, lambda request: client.query(**request)),
    }


THREADED: dict[str, Callable[[str], Calls]] = {
    "keyfold": keyfold_client,
    "keyfold store": keyfold_store,
    "boto3": boto3_client,
    "boto3 resource": boto3_resource,
    "PynamoDB": pynamodb,
    "pydynox": pydynox,
}
AWAITED: dict[str, Callable[[str, AsyncExitStack], Awaitable[Calls]]] = {
    "keyfold async": keyfold_async_client,
    "keyfold store async": keyfold_async_store,
    "aiodynamo": aiodynamo,
    "aioboto3": aioboto3,
}
PEERS = (*THREADED, *AWAITED)


def count_found(case: str, answer: Any) -> int:
    """Return how many orders a response of any client has."""
    if case == PUT:
        return 0
    if case == GET:
        return int(bool(answer))
    return len(answer["Items"] if isinstance(answer, dict) else answer)


def main() -> None:
    """Measure the cases read from standard input until it ends."""
    name, url = sys.argv[1:3]
    if name in AWAITED:
        asyncio.run(_serve_awaited(name, url))
        return
    calls = THREADED[name](url)
    for asked in _read():
        call, warm, parts = _prepare(calls, asked)
        _check(asked["case"], [call(given) for given in warm])
        with ThreadPoolExecutor(len(parts)) as threads:
            # Threads are started and connections opened before the clock starts.
            list(threads.map(call, [part[0] for part in parts]))
            start = time.process_time(), time.perf_counter()
            if len(parts) == 1:
                _run(call, parts[0])
            else:
                list(threads.map(_run, [call] * len(parts), parts))
            _answer(start, sum(map(len, parts)))


def _run(call: Callable[[Any], Any], part: list[Any]) -> None:
    for given in part:
        call(given)


async def _serve_awaited(name: str, url: str) -> None:
    async with AsyncExitStack() as stack:
        calls = await AWAITED[name](url, stack)
        for asked in _read():
            call, warm, parts = _prepare(calls, asked)
            _check(asked["case"], [await call(given) for given in warm])

            async def run(part: list[Any], call: Callable[[Any], Any] = call) -> None:
                for given in part:
                    await call(given)

            # As with threads: connections are opened before the clock starts.
            await asyncio.gather(*(call(part[0]) for part in parts))
            start = time.process_time(), time.perf_counter()
            await asyncio.gather(*(run(part) for part in parts))
            _answer(start, sum(map(len, parts)))


def _read() -> Any:
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        yield json.loads(line)


def _prepare(
    calls: Calls, asked: dict[str, Any]
) -> tuple[Callable[[Any], Any], list[Any], list[list[Any]]]:
    """Return a call, its arguments to warm up, and the arguments for each concurrent caller."""
    prepare, call = calls[asked["case"]]
    source = random.Random(asked["seed"])
    draws = [
        Draw(source.randrange(ITEMS), source.randrange(100))
        for _ in range(asked["warm"] + asked["calls"])
    ]
    given = [prepare(draw) for draw in draws]
    rest, hands = given[asked["warm"] :], asked["flight"]
    return call, given[: asked["warm"]], [rest[place::hands] for place in range(hands)]


def _check(case: str, answers: list[Any]) -> None:
    """Check that the responses have the expected number of orders."""
    expected = {GET: 1, PUT: 0, QUERY: PER_CUSTOMER}[case]
    for answer in answers:
        found = count_found(case, answer)
        if found != expected:
            sys.exit(f"{case} found {found} orders in place of {expected}")


def _answer(start: tuple[float, float], calls: int) -> None:
    used, passed = time.process_time() - start[0], time.perf_counter() - start[1]
    figures = {"cpu_us": used / calls * 1e6, "per_second": calls / passed}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
