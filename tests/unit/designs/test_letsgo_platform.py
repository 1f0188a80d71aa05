"""The patterns of LetsGo's platform: tenants, identities, issuers and invitations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from keyfold.designs import letsgo
from keyfold.designs.letsgo import Subject
from keyfold.errors import AlreadyExists, ConditionFailed, NotFound, TransactionFailed
from tests.unit.designs.letsgo_keys import stored_keys
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

DAY = timedelta(days=1)
ADA, BOB = (Subject(iss="https://id.example/", sub=name) for name in ("ada", "bob"))
ISSUERS = [letsgo.Issuer(issuer=url, created_at=START) for url in ("https://a/", "https://b/")]


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database(letsgo.table, request.param) as db:
        yield db


@pytest.fixture
def acme(db: Database) -> letsgo.Tenant:
    tenant = letsgo.Tenant(tenant_id="acme", created_at=START, created_by=ADA)
    return db.run(letsgo.create_tenant(tenant))


def test_create_tenant(db: Database, acme: letsgo.Tenant) -> None:
    assert db.stored(letsgo.table) == [
        {
            "category": {"S": "letsgo-tenant"},
            "key": {"S": "acme"},
            "tenantId": {"S": "acme"},
            "createdAt": {"S": "2100-01-01T00:00:00.000000Z"},
            "createdBy": {"M": {"iss": {"S": "https://id.example/"}, "sub": {"S": "ada"}}},
            "updatedAt": {"S": "2100-01-01T00:00:00.000000Z"},
        }
    ]
    with pytest.raises(AlreadyExists):
        db.run(letsgo.create_tenant(acme))


def test_get_tenant(db: Database, acme: letsgo.Tenant) -> None:
    assert db.run_until(letsgo.get_tenant("acme"), bool) == acme
    assert db.run(letsgo.get_tenant("acme", consistent=True)) == acme
    assert db.run(letsgo.get_tenant("zoo")) is None


def test_update_tenant(db: Database, acme: letsgo.Tenant) -> None:
    db.clock.advance(60)
    plan = letsgo.SubscriptionPlan(plan_id="business")
    changed = db.run(letsgo.update_tenant("acme", "Acme Inc.", plan, BOB))
    assert changed == acme.model_copy(
        update={
            "display_name": "Acme Inc.",
            "plan": plan,
            "updated_at": START + timedelta(minutes=1),
            "updated_by": BOB,
        }
    )
    db.run(letsgo.delete_tenant("acme"))
    with pytest.raises(ConditionFailed):
        db.run(letsgo.update_tenant("acme", "Zombie Inc."))
    with pytest.raises(NotFound):
        db.run(letsgo.update_tenant("zoo", "Zoo"))


def test_delete_tenant(db: Database, acme: letsgo.Tenant) -> None:
    db.clock.advance(60)
    deleted = db.run(letsgo.delete_tenant("acme", deleted_by=BOB))
    assert (deleted.deleted_at, deleted.deleted_by) == (START + timedelta(minutes=1), BOB)
    assert db.run_until(letsgo.get_tenant("acme"), lambda tenant: tenant is None) is None
    db.calls.clear()
    assert db.run(letsgo.get_tenant("acme", consistent=True)) is None
    assert [operation for operation, _ in db.calls] == ["GetItem"]
    request = letsgo.get_tenant("acme", include_deleted=True, consistent=True)
    assert db.run(request) == deleted, "deletion is logical"
    with pytest.raises(ConditionFailed):
        db.run(letsgo.delete_tenant("acme"))
    with pytest.raises(NotFound):
        db.run(letsgo.delete_tenant("zoo"))
    with pytest.raises(AlreadyExists):
        db.run(letsgo.create_tenant(acme))


PROFILE = letsgo.Identity(
    identity_id=letsgo.make_identity_id(ADA), user={"name": "Ada"}, updated_at=START
)


def test_put_identity(db: Database) -> None:
    assert db.run(letsgo.put_identity(PROFILE)) == PROFILE
    db.run(letsgo.put_identity(PROFILE.model_copy(update={"user": {"name": "Lovelace"}})))
    assert db.stored(letsgo.table) == [
        {
            "category": {"S": "letsgo-identity"},
            "key": {"S": PROFILE.identity_id},
            "user": {"M": {"name": {"S": "Lovelace"}}},
            "updatedAt": {"S": "2100-01-01T00:00:00.000000Z"},
        }
    ]
    assert PROFILE.subject == ADA


def test_get_identity(db: Database) -> None:
    db.run(letsgo.put_identity(PROFILE))
    assert db.run_until(letsgo.get_identity(PROFILE.identity_id), bool) == PROFILE
    assert db.run(letsgo.get_identity("i-2")) is None


def test_add_identity_to_tenant(db: Database, acme: letsgo.Tenant) -> None:
    db.run(letsgo.add_identity_to_tenant("acme", "ada"))
    assert stored_keys(db) == [
        ("letsgo-identity-tenant", "/ada/acme"),
        ("letsgo-tenant", "acme"),
        ("letsgo-tenant-identity", "/acme/ada"),
    ]
    with pytest.raises(TransactionFailed):
        db.run(letsgo.add_identity_to_tenant("zoo", "ada"))
    db.run(letsgo.delete_tenant("acme"))
    with pytest.raises(TransactionFailed):
        db.run(letsgo.add_identity_to_tenant("acme", "bob"))
    assert len(stored_keys(db)) == 3


def test_remove_identity_from_tenant(db: Database, acme: letsgo.Tenant) -> None:
    db.run(letsgo.add_identity_to_tenant("acme", "ada"))
    for _ in range(2):
        db.run(letsgo.remove_identity_from_tenant("acme", "ada"))
        assert stored_keys(db) == [("letsgo-tenant", "acme")]


def test_get_membership(db: Database, acme: letsgo.Tenant) -> None:
    db.run(letsgo.add_identity_to_tenant("acme", "ada"))
    found = db.run_until(letsgo.get_membership("acme", "ada"), bool)
    assert found == letsgo.TenantIdentity(tenant_id="acme", identity_id="ada")
    assert db.run(letsgo.get_membership("acme", "eve")) is None


def test_list_identities_of_tenant(db: Database, acme: letsgo.Tenant) -> None:
    for identity in ("ada", "bob"):
        db.run(letsgo.add_identity_to_tenant("acme", identity))
    found = db.run_until(letsgo.list_identities_of_tenant("acme"), lambda page: len(page) == 2)
    assert [each.identity_id for each in found] == ["ada", "bob"]
    assert list(db.run(letsgo.list_identities_of_tenant("ac"))) == []


def test_list_tenants_of_identity(db: Database, acme: letsgo.Tenant) -> None:
    db.run(letsgo.create_tenant(letsgo.Tenant(tenant_id="zoo", created_at=START)))
    for tenant in ("zoo", "acme"):
        db.run(letsgo.add_identity_to_tenant(tenant, "ada"))
    found = db.run_until(letsgo.list_tenants_of_identity("ada"), lambda page: len(page) == 2)
    assert [each.tenant_id for each in found] == ["acme", "zoo"]


def test_create_issuer(db: Database) -> None:
    assert db.run(letsgo.create_issuer(ISSUERS[0])) == ISSUERS[0]
    assert stored_keys(db) == [("letsgo-issuer", "https://a/")]
    with pytest.raises(AlreadyExists):
        db.run(letsgo.create_issuer(ISSUERS[0]))


def test_get_issuer(db: Database) -> None:
    db.run(letsgo.create_issuer(ISSUERS[0]))
    assert db.run_until(letsgo.get_issuer("https://a/"), bool) == ISSUERS[0]
    assert db.run(letsgo.get_issuer("https://b/")) is None


def test_activate_issuer(db: Database) -> None:
    for issuer in ISSUERS:
        db.run(letsgo.create_issuer(issuer))
        db.run(letsgo.activate_issuer(issuer.issuer))
    active = [each for each in db.stored(letsgo.table) if each["key"]["S"] == "/"]
    assert active == [
        {
            "category": {"S": "letsgo-issuer-active"},
            "key": {"S": "/"},
            "issuer": {"S": "https://b/"},
            "modifiedAt": {"S": "2100-01-01T00:00:00.000000Z"},
        }
    ]
    with pytest.raises(TransactionFailed):
        db.run(letsgo.activate_issuer("https://c/"))


def test_get_active_issuer(db: Database) -> None:
    request = letsgo.get_active_issuer()
    assert db.run(request) is None
    for issuer in ISSUERS:
        db.run(letsgo.create_issuer(issuer))
        db.run(letsgo.activate_issuer(issuer.issuer))
        assert db.run_until(request, lambda found, wanted=issuer: found == wanted) == issuer


@pytest.fixture
def invitation(db: Database, acme: letsgo.Tenant) -> letsgo.Invitation:
    offer = letsgo.Invitation(tenant_id="acme", created_at=START, created_by=ADA)
    return db.run(letsgo.create_invitation(offer))


def test_create_invitation(db: Database, invitation: letsgo.Invitation) -> None:
    assert invitation.expires == START + timedelta(hours=24)
    key = f"/acme/{invitation.invitation_id}"
    [item] = [each for each in db.stored(letsgo.table) if each["key"]["S"] == key]
    assert (item["category"], item["ttl"]) == ({"S": "letsgo-invitation"}, {"N": "4102531200"})
    assert item["expiresAt"] == {"S": "2100-01-02T00:00:00.000000Z"}
    hour = letsgo.Invitation(tenant_id="acme", expires=START + timedelta(hours=1))
    assert db.run(letsgo.create_invitation(hour)).expires_at == START + timedelta(hours=1)


def test_list_invitations(db: Database, invitation: letsgo.Invitation) -> None:
    request = letsgo.list_invitations("acme")
    assert list(db.run_until(request, bool)) == [invitation]
    assert list(db.run(letsgo.list_invitations("zoo"))) == []
    db.clock.advance(DAY)
    assert list(db.run(request)) == []


def test_revoke_invitation(db: Database, invitation: letsgo.Invitation) -> None:
    for _ in range(2):
        db.run(letsgo.revoke_invitation("acme", invitation.invitation_id))
    assert list(db.run_until(letsgo.list_invitations("acme"), lambda page: not page)) == []
    with pytest.raises(TransactionFailed):
        db.run(letsgo.accept_invitation("acme", invitation.invitation_id, "bob"))


def test_accept_invitation(db: Database, invitation: letsgo.Invitation) -> None:
    db.clock.advance(DAY - timedelta(seconds=1))
    db.run(letsgo.accept_invitation("acme", invitation.invitation_id, "bob"))
    assert stored_keys(db) == [
        ("letsgo-identity-tenant", "/bob/acme"),
        ("letsgo-tenant", "acme"),
        ("letsgo-tenant-identity", "/acme/bob"),
    ]
    with pytest.raises(TransactionFailed):
        db.run(letsgo.accept_invitation("acme", invitation.invitation_id, "eve"))
    assert len(stored_keys(db)) == 3


def test_accepting_an_expired_invitation_fails_while_it_is_still_stored(
    db: Database, invitation: letsgo.Invitation
) -> None:
    db.clock.advance(DAY)
    before = stored_keys(db)
    assert ("letsgo-invitation", f"/acme/{invitation.invitation_id}") in before
    with pytest.raises(TransactionFailed):
        db.run(letsgo.accept_invitation("acme", invitation.invitation_id, "bob"))
    assert stored_keys(db) == before


def test_accepting_fails_for_a_deleted_tenant(db: Database, invitation: letsgo.Invitation) -> None:
    db.run(letsgo.delete_tenant("acme"))
    before = stored_keys(db)
    with pytest.raises(TransactionFailed):
        db.run(letsgo.accept_invitation("acme", invitation.invitation_id, "bob"))
    assert stored_keys(db) == before
