"""PynamoDB and Keyfold read, write and lock the same items, as the guide to PynamoDB says."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import Base64Bytes, BaseModel, Json

import keyfold
from keyfold import Codec, Entity, Expiry, Index, Key, Table, Version, attr, part
from keyfold.deploy import plan
from keyfold.errors import VersionConflict
from keyfold.wire.client import Client, Credentials
from tests.clients.conftest import ACCESS_KEY, SECRET, TOKEN
from tests.clients.environments import FOLDER, Unavailable, make_python
from tests.clients.test_clients import client_variables

PROGRAM = FOLDER / "programs" / "pynamodb_beside_keyfold.py"
FORMAT = "%Y-%m-%dT%H:%M:%S.%f%z"


def to_text(time: datetime) -> str:
    return time.astimezone(UTC).strftime(FORMAT)


def from_text(text: str) -> datetime:
    return datetime.strptime(text, FORMAT)  # noqa: DTZ007 - the format has %z


PYNAMODB_TIME = Codec(encode=to_text, decode=from_text)

by_status = Index("StatusIndex", key=Key("status_pk", "placed"))
shop = Table(
    "BesideKeyfold", key=Key("pk", "sk"), indexes=[by_status], ttl="ttl", type_attribute="cls"
)


class Address(BaseModel):
    city: str
    zip: str | None = None


class Order(
    Entity,
    table=shop,
    key=("CUSTOMER#{customer}", "ORDER#{order:06}"),
    indexes={by_status: ("STATUS#{status}", "{placed}")},
    kind="order",
):
    customer: str = part()
    order: int = part()
    status: str = "open"
    placed: datetime = attr(codec=PYNAMODB_TIME)
    number: int
    share: float
    is_paid: bool
    expires: Expiry = attr("ttl")
    version: Version = 0
    raw: bytes
    encoded: Base64Bytes
    document: Json[Any]
    words: set[str]
    numbers: set[int]
    hashes: set[bytes]
    things: list[Any]
    addresses: list[Address]
    # Neither is declared here, and both must survive: address, free.
    note: str | None = None


def run(phase: str, url: str, home: Path) -> str:
    try:
        interpreter = make_python("current")
    except Unavailable as reason:
        # Only where the package registry cannot be reached.
        pytest.skip(f"PynamoDB: {reason}")
    finished = subprocess.run(
        [interpreter, "-X", "utf8", PROGRAM, url, shop.name, phase],
        env=client_variables(url, home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def test_both_read_and_write_the_same_items(url: str, tmp_path: Path) -> None:
    run("write", url, tmp_path)
    credentials = Credentials(ACCESS_KEY, SECRET, TOKEN)
    with Client(url, credentials=credentials) as client:
        [planned] = plan(client, [shop])
    assert [step.operation for step in planned.steps] == ["UpdateTimeToLive"]

    with keyfold.open(shop, url, credentials=credentials) as store:
        [order] = store.run(Order.query(by_status, status="open"))
        assert order == Order(
            customer="ada",
            order=1,
            placed=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
            number=5,
            share=0.1,
            is_paid=True,
            expires=datetime(2096, 3, 1, tzinfo=UTC),
            version=1,
            raw=b"\x00\xff",
            encoded=b"AP8=",
            document='{"a": [1, null]}',
            words={"a", "b"},
            numbers={1, 2},
            hashes={b"a"},
            things=["a", 1, {"x": None}],
            addresses=[Address(city="Bonn")],
        )
        written = store.run(order.model_copy(update={"status": "paid", "number": 6}).put())
        assert json.loads(run("read", url, tmp_path)) == {
            "pk": "CUSTOMER#ada",
            "sk": "ORDER#000001",
            "cls": "Order",
            "status_pk": "STATUS#paid",
            "status": "paid",
            "placed": "2026-03-01T09:30:00+00:00",
            "number": 6,
            "share": 0.1,
            "is_paid": True,
            "expires": "2096-03-01T00:00:00+00:00",
            "version": 2,
            "raw": "00ff",
            "encoded": "00ff",
            "document": {"a": [1, None]},
            "words": ["a", "b"],
            "numbers": [1, 2],
            "hashes": ["61"],
            "things": ["a", 1, {"x": None}],
            "addresses": [{"city": "Bonn"}],
            "address": {"city": "Delft"},
            "free": {"k": "v", "n": 1},
            "reads our times": False,
        }
        # PynamoDB has saved it since.
        with pytest.raises(VersionConflict) as conflict:
            store.run(written.change(number=7))
        assert isinstance(conflict.value.found, Order)
        assert conflict.value.found.version == 3
