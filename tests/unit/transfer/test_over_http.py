"""The same jobs, where one of the databases is a service behind boto3."""

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
from tests.unit.transfer.world import (
    make_orders,
    make_products,
    open_shop,
    options,
    place,
    put_all,
    read_all,
    shop,
)

ITEMS = [*make_orders(60), *make_products(15)]


class Boto:
    """A boto3 client as an executor: its errors are ours."""

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
            told = cast(dict[str, str], cast(Any, error).response["Error"])
            raise getattr(errors, told["Code"])(told["Message"]) from None


@pytest.fixture
def remote() -> Iterator[Boto]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        with Server(engine).running() as url:
            yield Boto(url)
        assert engine.verify() == []


def test_a_file_goes_to_a_service_and_back(tmp_path: Path, remote: Boto) -> None:
    making = options(tmp_path, creates=True)
    with open_shop(items=ITEMS) as first, Engine.open(":memory:", upkeep_seconds=None) as second:
        there = place(remote, "http://localhost")
        assert copy_table(place(first), there, making, declared=shop).is_good
        assert copy_table(there, place(second, "b.db"), making).is_good
        assert read_all(second) == read_all(first) == read_all(remote)


def test_files_are_written_and_read_there_too(tmp_path: Path, remote: Boto) -> None:
    file = tmp_path / "items.jsonl.gz"
    there = place(remote, "http://localhost")
    with open_shop(items=ITEMS) as source:
        dump_table(place(source), file, options(tmp_path))
        assert load_table(file, there, options(tmp_path, creates=True), declared=shop).is_good
        assert read_all(remote) == read_all(source)
    assert dump_table(there, tmp_path / "back", options(tmp_path), form="export").items == 75


def test_a_backfill_is_done_there_too(tmp_path: Path, remote: Boto) -> None:
    remote.execute("CreateTable", shop.to_dynamodb())
    stale = [item | {"city_sk": {"S": "old"}} for item in make_orders(20)]
    put_all(remote, stale)
    summary = backfill_table(place(remote, "http://localhost"), shop, options(tmp_path))
    assert summary.changed == {"Order": 20}
    with open_shop(items=make_orders(20)) as wanted:
        assert read_all(remote) == read_all(wanted)
