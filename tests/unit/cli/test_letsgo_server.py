"""LetsGo behind `keyfold serve --table letsgo --auth`: reserved categories, and members, by raw calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.designs import letsgo
from keyfold.designs.letsgo import Tenant
from keyfold.errors import AccessDeniedException, ValidationException
from keyfold.store import Store, StoreSettings
from keyfold.wire.client import Client
from tests.unit.cli.program import Run
from tests.unit.cli.test_serve import add_key, connect, serving

RESERVED = "each category that starts with 'letsgo' is reserved for declared entities"
LETSGO = {"TableName": "letsgo"}


def item(category: str, key: str) -> dict[str, Any]:
    return {"category": {"S": category}, "key": {"S": key}}


def query(category: str, *, prefix: str | None = None) -> dict[str, Any]:
    condition, values = "category = :c", {":c": {"S": category}}
    names: dict[str, Any] = {}
    if prefix is not None:
        condition += " AND begins_with(#k, :k)"
        values[":k"] = {"S": prefix}
        names = {"ExpressionAttributeNames": {"#k": "key"}}
    return {
        **LETSGO,
        **names,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }


def test_reserved_categories_and_members_on_the_wire(run: Run, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    admin = add_key(run, keys, "--name", "platform", "--admin")
    ids = ("--role", "tenant-member", "--id", "tenant_id=acme")
    ada = add_key(run, keys, "--name", "ada", *ids)
    options = ("letsgo.db", "--auth", "keys.toml", "--table", "letsgo")
    with (
        serving(*options, folder=tmp_path) as (_, ready),
        connect(ready["url"], admin) as platform,
        connect(ready["url"], ada) as member,
    ):
        platform.execute("CreateTable", letsgo.table.to_dynamodb())
        store = Store(platform, StoreSettings(tables=(letsgo.table,)))
        for tenant in ("acme", "zoo"):
            store.run(letsgo.create_tenant(Tenant(tenant_id=tenant)))
            store.run(letsgo.add_identity_to_tenant(tenant, "ada"))
        _check_reserved(platform)
        _check_member(member)


def _check_reserved(platform: Client) -> None:
    mine = item("letsgo-mine", "a")
    statement = "INSERT INTO letsgo VALUE {'category': 'letsgo-mine', 'key': 'a'}"
    writes: list[tuple[str, dict[str, Any]]] = [
        ("PutItem", {**LETSGO, "Item": mine}),
        ("UpdateItem", {**LETSGO, "Key": mine}),
        ("BatchWriteItem", {"RequestItems": {"letsgo": [{"PutRequest": {"Item": mine}}]}}),
        ("ExecuteStatement", {"Statement": statement}),
    ]
    for operation, request in writes:
        with pytest.raises(ValidationException, match=RESERVED):
            platform.execute(operation, request)
    platform.execute("PutItem", {**LETSGO, "Item": item("mine", "a")})
    platform.execute("PutItem", {**LETSGO, "Item": item("letsgo-tenant-identity", "/acme/bob")})


def _check_member(member: Client) -> None:
    found = member.execute("Query", query("letsgo-tenant-identity", prefix="/acme/"))
    assert [each["key"]["S"] for each in found["Items"]] == ["/acme/ada", "/acme/bob"]
    for prefix in ("/zoo/", "/acme", "/", None):
        with pytest.raises(AccessDeniedException):
            member.execute("Query", query("letsgo-tenant-identity", prefix=prefix))
    for operation in ("GetItem", "DeleteItem"):
        member.execute(operation, {**LETSGO, "Key": item("letsgo-tenant-identity", "/acme/bob")})
        with pytest.raises(AccessDeniedException):
            member.execute(operation, {**LETSGO, "Key": item("letsgo-tenant-identity", "/zoo/ada")})
    with pytest.raises(AccessDeniedException):
        member.execute("Scan", LETSGO)
    with pytest.raises(AccessDeniedException):
        member.execute("PutItem", {**LETSGO, "Item": item("mine", "a")})
