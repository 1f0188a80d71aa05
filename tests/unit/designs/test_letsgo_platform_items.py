"""Items as LetsGo's public platform stores them are read without loss, each by its pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from keyfold import Entity, Store
from keyfold.designs import letsgo
from keyfold.designs.letsgo import Subject
from keyfold.model._any_values import decode_any, encode_any
from tests.unit.designs.stale_databases import LATE_EXPIRY, database

FILE = Path(__file__).parents[2] / "seeds" / "letsgo" / "platform.jsonl"
ITEMS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]


@pytest.fixture
def store() -> Iterator[Store]:
    with database(letsgo.table, LATE_EXPIRY) as db:
        for item in ITEMS:
            stored = {name: encode_any(value) for name, value in item.items()}
            db.execute("PutItem", {"TableName": "letsgo", "Item": stored})
        yield db.store


def items_of(category: str) -> list[dict[str, Any]]:
    return [item for item in ITEMS if item["category"] == category]


def normalise(value: Any) -> Any:
    """Return a value without nulls, which are not stored, and with times in milliseconds."""
    match value:
        case dict():
            given = cast(dict[str, Any], value)
            return {name: normalise(each) for name, each in given.items() if each is not None}
        case list():
            return [normalise(each) for each in cast(list[Any], value)]
        case str():
            return re.sub(r"(\.\d{3})000Z$", r"\1Z", value)
        case _:
            return value


@pytest.mark.parametrize("item", ITEMS, ids=[item["category"] for item in ITEMS])
def test_each_item_is_read_without_loss(store: Store, item: dict[str, Any]) -> None:
    found: Entity | None = store.run(letsgo.get_item(item["category"], item["key"]))
    assert found is not None
    assert not isinstance(found, letsgo.AnyItem)
    stored = type(found).keyfold_schema().encode(found)
    assert normalise({name: decode_any(value) for name, value in stored.items()}) == normalise(item)


def test_tenants(store: Store) -> None:
    live, deleted = items_of("letsgo-tenant")
    tenant = store.run(letsgo.get_tenant(live["tenantId"]))
    assert tenant is not None
    assert tenant.display_name == "brave-amber-otter"
    assert tenant.created_at == datetime(2024, 1, 15, 9, 30, 0, 123000, UTC)
    assert tenant.created_by == Subject.model_validate(live["createdBy"])
    assert tenant.plan is not None
    assert [each.new_plan_id for each in tenant.plan.changes] == ["basic", "business"]
    assert tenant.plan.stripe_subscription == live["plan"]["stripeSubscription"]
    assert store.run(letsgo.get_tenant(deleted["tenantId"])) is None
    gone = store.run(letsgo.get_tenant(deleted["tenantId"], include_deleted=True))
    assert gone is not None
    assert gone.plan is not None
    assert gone.plan.changes[-1].new_plan_id is None


def test_identities_and_memberships(store: Store) -> None:
    live, _ = items_of("letsgo-tenant")
    found = store.run(letsgo.list_identities_of_tenant(live["tenantId"]))
    identities = [store.run(letsgo.get_identity(each.identity_id)) for each in found]
    assert sorted(each.user["name"] for each in identities if each) == ["Ada", "Bob Baker"]
    subjects = {each.subject for each in identities if each}
    assert Subject(iss="https://tenants.login.example/", sub="google-oauth2|100200300") in subjects
    bob = letsgo.make_identity_id(
        Subject(iss="https://tenants.login.example/", sub="auth0|bob.baker")
    )
    tenants = store.run(letsgo.list_tenants_of_identity(bob))
    assert {each.tenant_id for each in tenants} == {
        item["tenantId"] for item in items_of("letsgo-tenant")
    }
    assert store.run(letsgo.get_membership(live["tenantId"], bob)) is not None


def test_issuers(store: Store) -> None:
    by_url, built_in = items_of("letsgo-issuer")
    found = store.run(letsgo.get_issuer(by_url["key"]))
    assert found is not None
    assert found.jwks == by_url["jwks"]
    active = store.run(letsgo.get_active_issuer())
    assert active is not None
    assert (active.kid, active.public_key) == (built_in["kid"], built_in["publicKey"])
    assert active.private_key is not None
    assert active.private_key.get_secret_value() == built_in["privateKey"]
    assert "PRIVATE" not in repr(active)
    store.run(letsgo.activate_issuer(by_url["key"]))


def test_invitations(store: Store) -> None:
    [item] = items_of("letsgo-invitation")
    tenant = item["key"].split("/")[1]
    [found] = store.run(letsgo.list_invitations(tenant))
    assert (found.tenant_id, found.invitation_id) == (tenant, item["invitationId"])
    assert found.expires == found.expires_at == datetime(2100, 1, 1, 12, tzinfo=UTC)
    store.run(letsgo.accept_invitation(tenant, found.invitation_id, "idn-00"))
    assert store.run(letsgo.get_membership(tenant, "idn-00")) is not None


@pytest.mark.parametrize(
    "subject", [("https://a.example/", "auth0|1"), ("é:/?#", "a b+c%20"), ("!~*'()", "-_.")]
)
def test_identity_ids_contain_issuer_and_subject(subject: tuple[str, str]) -> None:
    given = Subject(iss=subject[0], sub=subject[1])
    assert letsgo.read_identity_id(letsgo.make_identity_id(given)) == given


@pytest.mark.parametrize("text", ["ada", "idn-", "idn-x", "idn-6161", "idn-ff3aff", "idn-3a3a"])
def test_other_ids_are_no_ids_of_the_platform(text: str) -> None:
    assert letsgo.read_identity_id(text) is None
