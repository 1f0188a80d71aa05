"""The roles of LetsGo: what members of a tenant and users of the platform may do, and what not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold import Request, Store
from keyfold.designs import letsgo
from keyfold.designs.letsgo import AnyItem, Identity, Invitation, SubscriptionPlan, Tenant
from keyfold.errors import AccessDenied
from keyfold.policy.iam import export_policy
from tests.unit.designs.stale_databases import LATE_EXPIRY, database


@pytest.fixture
def store() -> Iterator[Store]:
    with database(letsgo.table, LATE_EXPIRY) as db:
        for tenant in ("acme", "zoo"):
            db.run(letsgo.create_tenant(Tenant(tenant_id=tenant)))
            for identity in ("ada", "bob"):
                db.run(letsgo.add_identity_to_tenant(tenant, identity))
        yield db.store


def requests_of(tenant: str) -> list[Request[Any]]:
    """Return what a member may do in its own tenant."""
    return [
        letsgo.get_tenant(tenant),
        letsgo.list_identities_of_tenant(tenant),
        letsgo.get_membership(tenant, "ada"),
        letsgo.create_invitation(Invitation(tenant_id=tenant, invitation_id="inv-1")),
        letsgo.list_invitations(tenant),
        letsgo.list_items("letsgo-invitation", f"/{tenant}/"),
        letsgo.revoke_invitation(tenant, "inv-1"),
        letsgo.remove_identity_from_tenant(tenant, "bob"),
        letsgo.update_tenant(tenant, "New name"),
        letsgo.delete_tenant(tenant),
    ]


NOT_FOR_MEMBERS: list[Request[Any]] = [
    letsgo.create_tenant(Tenant(tenant_id="acme")),
    letsgo.update_tenant("acme", plan=SubscriptionPlan(plan_id="business")),
    letsgo.add_identity_to_tenant("acme", "eve"),
    letsgo.accept_invitation("acme", "inv-1", "eve"),
    letsgo.list_items("letsgo-tenant-identity"),
    letsgo.list_items("letsgo-tenant-identity", "/"),
    letsgo.list_items("letsgo-tenant-identity", "/acme"),
    letsgo.list_items("letsgo-tenant", "acme"),
    letsgo.list_tenants_of_identity("ada"),
    letsgo.get_identity("ada"),
    letsgo.get_active_issuer(),
    letsgo.list_items("note"),
    letsgo.put_item(AnyItem.of("note", "1")),
    letsgo.table.scan(),
]


@pytest.mark.parametrize("number", range(len(requests_of("acme"))))
def test_members_manage_their_own_tenant_alone(store: Store, number: int) -> None:
    member = store.as_principal("tenant-member", tenant_id="acme")
    member.run(requests_of("acme")[number])
    with pytest.raises(AccessDenied):
        member.run(requests_of("zoo")[number])
    with pytest.raises(AccessDenied):
        member.run(requests_of("acm")[number])


@pytest.mark.parametrize("request_", NOT_FOR_MEMBERS, ids=repr)
def test_the_platform_does_what_members_may_not(store: Store, request_: Request[Any]) -> None:
    member = store.as_principal("tenant-member", tenant_id="acme")
    with pytest.raises(AccessDenied):
        member.run(request_)


def test_users_see_their_own_profile_and_memberships(store: Store) -> None:
    ada = store.as_principal("identity", identity_id="ada")
    profile = ada.run(letsgo.put_identity(Identity(identity_id="ada", user={"name": "Ada"})))
    assert ada.run(letsgo.get_identity("ada")) == profile
    mine = ada.run(letsgo.list_tenants_of_identity("ada"))
    assert [each.tenant_id for each in mine] == ["acme", "zoo"]
    for request in (
        letsgo.put_identity(Identity(identity_id="bob")),
        letsgo.get_identity("bob"),
        letsgo.list_tenants_of_identity("bob"),
        letsgo.list_items("letsgo-identity"),
        letsgo.add_identity_to_tenant("acme", "ada"),
        letsgo.get_tenant("acme"),
    ):
        with pytest.raises(AccessDenied):
            ada.run(request)


def test_a_user_who_is_a_member_has_both_roles(store: Store) -> None:
    ada = store.as_principal("identity", "tenant-member", identity_id="ada", tenant_id="acme")
    assert len(ada.run(letsgo.list_tenants_of_identity("ada"))) == 2
    assert ada.run(letsgo.get_tenant("acme")) is not None
    with pytest.raises(AccessDenied):
        ada.run(letsgo.get_tenant("zoo"))


@pytest.mark.parametrize("role", [letsgo.tenant_member, letsgo.identity])
def test_iam_cannot_express_the_roles(role: Any) -> None:
    export = export_policy(letsgo.table.layout, role)
    assert export.document["Statement"] == []
    assert {gap.kind for gap in export.gaps} == {"sort-keys", "nothing"}


def test_a_category_may_have_several_entities() -> None:
    class Letter(letsgo.Item, category="mail", key="letter/{id}"):
        id: str

    class Parcel(letsgo.Item, category="mail", key="parcel/{id}"):
        id: str

    letsgo.table.check()
    assert letsgo.table.layout.areas["mail"].entities == ("Letter", "Parcel")
    assert Letter.get(id="1").key != Parcel.get(id="1").key
