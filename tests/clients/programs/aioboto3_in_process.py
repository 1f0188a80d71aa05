"""Clients of aioboto3 on `keyfold.testing`, in the same process.

Run by pytest in the environment that has aioboto3; see ../test_clients.py.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest

from keyfold.testing import FaultProfile, dynamodb
from tests.unit.testing.tables import CREATE, TABLE, key_of, make_item


def make_session() -> Any:
    return import_module("aioboto3").Session()


def test_a_client_of_aioboto3_uses_the_engine() -> None:
    async def use() -> None:
        async with make_session().client("dynamodb") as client:
            await client.create_table(**CREATE)
            await (client.get_waiter("table_exists")).wait(TableName=TABLE)
            for song in "abcde":
                await client.put_item(TableName=TABLE, Item=make_item(song))
            found = await client.get_item(TableName=TABLE, Key=key_of("a"))
            assert found["Item"] == make_item("a")
            with pytest.raises(client.exceptions.ConditionalCheckFailedException):
                await client.put_item(
                    TableName=TABLE,
                    Item=make_item("a"),
                    ConditionExpression="attribute_not_exists(artist)",
                )
            pages = client.get_paginator("scan").paginate(
                TableName=TABLE, PaginationConfig={"PageSize": 2}
            )
            assert [page["Count"] async for page in pages] == [2, 2, 1]

    with dynamodb():
        asyncio.run(use())


def test_a_resource_of_aioboto3_uses_the_engine() -> None:
    async def use() -> None:
        async with make_session().resource("dynamodb") as resource:
            table = await resource.create_table(**CREATE)
            async with table.batch_writer() as batch:
                for number in range(30):
                    await batch.put_item(Item={"artist": "Nina", "song": str(number)})
            assert (await table.scan())["Count"] == 30
            assert await table.table_status == "ACTIVE"

    with dynamodb():
        asyncio.run(use())


def test_a_client_of_aioboto3_created_before_uses_the_engine() -> None:
    async def use() -> None:
        options = {"region_name": "eu-west-1", "aws_access_key_id": "a"}
        async with make_session().client(
            "dynamodb", aws_secret_access_key="b", **options
        ) as client:
            with dynamodb():
                assert (await client.list_tables())["TableNames"] == []

    asyncio.run(use())


def test_a_client_of_aiobotocore_is_subject_to_faults() -> None:
    async def use() -> None:
        session = import_module("aiobotocore.session").get_session()
        async with session.create_client("dynamodb") as client:
            await client.create_table(**CREATE)
            service.faults = FaultProfile(throttling=1.0)
            with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
                await client.get_item(TableName=TABLE, Key=key_of("a"))

    with dynamodb() as service:
        asyncio.run(use())
