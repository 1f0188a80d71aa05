"""The scenario, run with aiodynamo over either of the HTTP libraries it supports."""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import yarl
from aiodynamo.client import Client, Table
from aiodynamo.credentials import Credentials
from aiodynamo.errors import AIODynamoError, ItemNotFound, TransactionCanceled
from aiodynamo.expressions import F, HashKey, RangeKey
from aiodynamo.models import (
    BatchGetRequest,
    BatchWriteRequest,
    GlobalSecondaryIndex,
    KeySchema,
    KeySpec,
    KeyType,
    LocalSecondaryIndex,
    PayPerRequest,
    Projection,
    ProjectionType,
    ReturnValues,
)
from aiodynamo.operations import ConditionCheck, Delete, Get, Put, Update
from reporting import EVERY_TYPE, TABLE, TOKEN, URL, Report, from_wire, plain

report = Report()

PK, SK = KeySpec("pk", KeyType.string), KeySpec("sk", KeyType.number)
OWNER, RANK = KeySpec("owner", KeyType.string), KeySpec("rank", KeyType.number)
EVERYTHING = Projection(ProjectionType.all)


def key(pk: str, sk: int) -> dict[str, Any]:
    return {"pk": pk, "sk": sk}


def sort_keys(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["sk"]) for item in items]


async def error_of(call: Any) -> dict[str, Any]:
    """Return the error of a call, as the client shows it."""
    try:
        await call
    except AIODynamoError as error:
        (body,) = error.args
        seen = {
            "code": body["__type"].partition("#")[2],
            "message": body.get("message", body.get("Message", "")),
        }
        if isinstance(error, TransactionCanceled):
            seen["reasons"] = [
                ["None", None] if one is None else [one.code, one.message]
                for one in error.cancellation_reasons
            ]
        return seen
    return {"code": "none"}


async def create(table: Table) -> None:
    await table.create(
        PayPerRequest(),
        KeySchema(PK, SK),
        gsis=[GlobalSecondaryIndex("by_owner", KeySchema(OWNER, SK), EVERYTHING, None)],
        lsis=[LocalSecondaryIndex("by_rank", KeySchema(PK, RANK), EVERYTHING)],
        wait_for_active=True,
    )


async def tables(client: Client, table: Table) -> None:
    await create(table)
    # By its types parts of a description may be absent; those used here are present.
    description: Any = await table.describe()
    report.add("tables.status", description.status.value)
    report.add(
        "tables.keys",
        {
            "HASH": description.key_schema.hash_key.name,
            "RANGE": description.key_schema.range_key.name,
        },
    )
    attributes = {name: kind.value for name, kind in description.attributes.items()}
    report.add("tables.attributes", attributes)
    report.add("tables.billing", description.throughput.MODE)
    await table.time_to_live.enable("expires")
    report.add("tables.expiry", (await table.time_to_live.describe()).attribute)


async def items(client: Client, table: Table) -> None:
    await table.put_item({name: from_wire(value) for name, value in EVERY_TYPE.items()})
    got = await table.get_item(key("types", 1), consistent_read=True)
    report.add("items.stored", plain(got))
    try:
        report.add("items.absent", await table.get_item(key("types", 2)))
    except ItemNotFound:
        report.add("items.absent", None)
    got = await table.get_item(
        key("types", 1), projection=F("text") & F("map", "inner") & F("list", 1)
    )
    report.add("items.projected", plain(got))
    updated = await table.update_item(
        key("counter", 1),
        F("owner").set("ada") & F("count").add(2) & F("tags").add({"x"}),
        return_values=ReturnValues.all_new,
    )
    report.add("items.updated", plain(updated))
    updated = await table.update_item(
        key("counter", 1),
        F("count").change(3) & F("tags").remove(),
        return_values=ReturnValues.updated_new,
    )
    report.add("items.incremented", plain(updated))
    deleted = await table.delete_item(key("counter", 1), return_values=ReturnValues.all_old)
    report.add("items.deleted", plain(deleted))


async def conditions(client: Client, table: Table) -> None:
    created = {**key("condition", 1), "owner": "ada"}
    absent = F("pk").does_not_exist()
    await table.put_item(created, condition=absent)
    report.add(
        "conditions.unmet",
        await error_of(table.put_item({**created, "owner": "bob"}, condition=absent)),
    )
    await table.update_item(
        key("condition", 1),
        F("owner").set("cy"),
        condition=F("owner").equals("ada") & F("sk").exists(),
    )
    report.add("conditions.met", plain(await table.get_item(key("condition", 1))))


async def batches(client: Client, table: Table) -> None:
    numbers = range(30)
    for chunk in (numbers[:25], numbers[25:]):
        puts = BatchWriteRequest(items_to_put=[_paged(i) for i in chunk])
        assert await client.batch_write({TABLE: puts}) == {}
    keys = [key("paged", i) for i in (3, 29, 77, 12)]
    response = await client.batch_get({TABLE: BatchGetRequest(keys)})
    report.add("batches.read", sorted(sort_keys(response.items[TABLE])))
    deletes = BatchWriteRequest(keys_to_delete=[key("paged", i) for i in range(10, 30)])
    await client.batch_write({TABLE: deletes})
    report.add("batches.left", await table.count(HashKey("pk", "paged")))


def _paged(i: int) -> dict[str, Any]:
    return {**key("paged", i), "owner": "even" if i % 2 == 0 else "odd", "rank": 100 - i}


async def queries(client: Client, table: Table) -> None:
    paged = HashKey("pk", "paged")
    pages: list[list[int]] = []
    start = None
    while True:
        page = await table.query_single_page(paged, limit=4, start_key=start)
        pages.append(sort_keys(page.items))
        if page.is_last_page:
            break
        start = page.last_evaluated_key
    report.add("queries.pages", pages)
    report.add("queries.walked", sort_keys([one async for one in table.query(paged)]))
    last = [one async for one in table.query(paged, scan_forward=False, limit=3)]
    report.add("queries.descending", sort_keys(last))
    between = [one async for one in table.query(paged & RangeKey("sk").between(3, 5))]
    report.add("queries.between", sort_keys(between))
    odd = table.query(paged, filter_expression=F("owner").equals("odd"))
    report.add("queries.filtered", sort_keys([one async for one in odd]))
    owned = table.query(HashKey("owner", "even") & RangeKey("sk").gt(2), index="by_owner")
    report.add("queries.by_owner", sort_keys([one async for one in owned]))
    ranked = table.query(paged, index="by_rank", limit=3)
    report.add("queries.by_rank", sort_keys([one async for one in ranked]))
    scanned = table.scan(filter_expression=F("pk").equals("paged"))
    report.add("queries.scanned", sorted(sort_keys([one async for one in scanned])))


async def transactions(client: Client, table: Table) -> None:
    await table.put_item({**key("account", 1), "balance": 10})
    await table.put_item({**key("account", 2), "balance": 0})
    await table.put_item(key("account", 3))
    moves = [
        Update(TABLE, key("account", 1), F("balance").change(-4), F("balance").gte(4)),
        Update(TABLE, key("account", 2), F("balance").change(4)),
        Delete(TABLE, key("account", 3)),
        Put(TABLE, key("account", 4)),
    ]
    for _ in range(2):
        await client.transact_write_items(moves, request_token=TOKEN)
    report.add("transactions.read", await _read(client, 1, 2, 4))
    too_much = [
        ConditionCheck(TABLE, key("account", 4), F("pk").exists()),
        Update(TABLE, key("account", 1), F("balance").change(-40), F("balance").gte(40)),
        Update(TABLE, key("account", 2), F("balance").change(40)),
    ]
    report.add("transactions.cancelled", await error_of(client.transact_write_items(too_much)))
    report.add("transactions.unchanged", await _read(client, 1, 2))
    mismatch = await error_of(client.transact_write_items(moves[:2], request_token=TOKEN))
    report.add("transactions.mismatch", mismatch["code"])


async def _read(client: Client, *numbers: int) -> list[dict[str, Any] | None]:
    got = await client.transact_get_items([Get(TABLE, key("account", sk)) for sk in numbers])
    return [plain(one) for one in got]


async def errors(client: Client, table: Table) -> None:
    missing = client.table(f"{TABLE}-missing")
    report.add("errors.no_table", await error_of(missing.get_item(key("a", 1))))
    report.add("errors.table_in_use", await error_of(create(table)))
    report.add("errors.empty_key", await error_of(table.put_item(key("", 1))))
    no_index = table.query_single_page(HashKey("pk", "a"), index="by_nothing")
    report.add("errors.no_index", await error_of(no_index))
    report.add("errors.wrong_type", await error_of(table.put_item({"pk": "a", "sk": "1"})))


async def end(client: Client, table: Table) -> None:
    await table.delete(wait_for_disabled=True)
    report.add("tables.deleted", await error_of(table.describe()))


@asynccontextmanager
async def open_http(library: str) -> AsyncIterator[Any]:
    """Open the HTTP session that sends the client's requests."""
    if library == "httpx":
        import httpx
        from aiodynamo.http.httpx import HTTPX

        async with httpx.AsyncClient() as session:
            yield HTTPX(session)
    else:
        import aiohttp
        from aiodynamo.http.aiohttp import AIOHTTP

        async with aiohttp.ClientSession() as session:
            yield AIOHTTP(session)


async def main(library: str) -> None:
    async with open_http(library) as http:
        client = Client(
            http, Credentials.auto(), "us-east-1", endpoint=yarl.URL(URL), numeric_type=Decimal
        )
        table = client.table(TABLE)
        for part in (tables, items, conditions, batches, queries, transactions, errors, end):
            await part(client, table)
    report.print()


asyncio.run(main(sys.argv[3]))
