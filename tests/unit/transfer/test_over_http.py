"""The same jobs with a database behind HTTP, through boto3."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfold import errors
from keyfold.engine import Engine
from keyfold.transfer import backfill_table, copy_table, dump_table, load_table
from keyfold.wire.server import Server
from tests.unit.transfer.shop import (
    location,
    make_orders,
    make_products,
    open_shop,
    options,
    put_all,
    read_all,
    shop,
)

ITEMS = [*make_orders(60), *make_products(15)]


class BotoExecutor:
    """A boto3 client as an executor that raises our errors."""

    def __init__(self, url: str) -> None:
        self._client: Any = boto3.client(  # pyright: ignore[reportUnknownMemberType] - untyped
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": 1}, max_pool_connections=16),
        )

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            method = re.sub("(?<!^)(?=[A-Z])", "_", operation).lower()
            return getattr(self._client, method)(**request)
        except ClientError as error:
            details = cast(dict[str, str], cast(Any, error).response["Error"])
            raise getattr(errors, details["Code"])(details["Message"]) from None


@pytest.fixture
def remote() -> Iterator[BotoExecutor]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        with Server(engine).running() as url:
            yield BotoExecutor(url)
        assert engine.verify() == []


def test_a_file_can_be_copied_to_a_service_and_back(tmp_path: Path, remote: BotoExecutor) -> None:
    making = options(tmp_path, creates=True)
    with open_shop(items=ITEMS) as first, Engine.open(":memory:", upkeep_seconds=None) as second:
        there = location(remote, "http://localhost")
        assert copy_table(location(first), there, making, declared=shop).is_good
        assert copy_table(there, location(second, "b.db"), making).is_good
        assert read_all(second) == read_all(first) == read_all(remote)


def test_dump_and_load_work_over_http(tmp_path: Path, remote: BotoExecutor) -> None:
    file = tmp_path / "items.jsonl.gz"
    there = location(remote, "http://localhost")
    with open_shop(items=ITEMS) as source:
        dump_table(location(source), file, options(tmp_path))
        assert load_table(file, there, options(tmp_path, creates=True), declared=shop).is_good
        assert read_all(remote) == read_all(source)
    assert dump_table(there, tmp_path / "back", options(tmp_path), form="export").items == 75


def test_backfill_works_over_http(tmp_path: Path, remote: BotoExecutor) -> None:
    remote.execute("CreateTable", shop.to_dynamodb())
    stale = [item | {"city_sk": {"S": "old"}} for item in make_orders(20)]
    put_all(remote, stale)
    summary = backfill_table(location(remote, "http://localhost"), shop, options(tmp_path))
    assert summary.changed == {"Order": 20}
    with open_shop(items=make_orders(20)) as wanted:
        assert read_all(remote) == read_all(wanted)
