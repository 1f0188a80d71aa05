"""Who may run the patterns of LetsGo: ada, a member of acme, and what belongs to zoo or to bob."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold import Request
from keyfold.designs import letsgo
from keyfold.designs.letsgo import AnyItem, Identity, Invitation, Issuer, SubscriptionPlan, Tenant
from tests.tenants.patterns.rows import Column, PatternTable, Row

ISSUER = "https://issuer.example.com/"
COLUMNS = {
    "member": Column(("tenant-member",), {"tenant_id": "acme"}),
    "identity": Column(("identity",), {"identity_id": "ada"}),
    "ada": Column(("tenant-member", "identity"), {"tenant_id": "acme", "identity_id": "ada"}),
}


def stored() -> Iterator[Request[Any]]:
    for identity in ("ada", "bob"):
        yield letsgo.put_identity(Identity(identity_id=identity))
    for tenant in ("acme", "zoo"):
        yield letsgo.create_tenant(Tenant(tenant_id=tenant))
        for identity in ("ada", "bob"):
            yield letsgo.add_identity_to_tenant(tenant, identity)
        yield letsgo.create_invitation(Invitation(tenant_id=tenant, invitation_id="inv-1"))
    yield letsgo.create_issuer(Issuer(issuer=ISSUER))
    yield letsgo.activate_issuer(ISSUER)
    yield letsgo.put_item(AnyItem.of("note", "1"))


# Items of categories that the platform does not reserve, and what only the platform does.
ONLY_PLATFORM = [
    Row("get_item", "of a category", lambda: letsgo.get_item("note", "1"), may=""),
    Row("put_item", "of a category", lambda: letsgo.put_item(AnyItem.of("note", "2")), may=""),
    Row(
        "update_item",
        "of a category",
        lambda: letsgo.update_item("note", "1", {"text": "x"}),
        may="",
    ),
    Row("delete_item", "of a category", lambda: letsgo.delete_item("note", "1"), may=""),
    Row("list_items", "of a category", lambda: letsgo.list_items("note"), may=""),
    Row("list_items", "all tenants", lambda: letsgo.list_items("letsgo-tenant"), may=""),
    Row(
        "create_tenant",
        "another",
        lambda: letsgo.create_tenant(Tenant(tenant_id="new")),
        may="",
    ),
    Row(
        "add_identity_to_tenant",
        "to one's tenant",
        lambda: letsgo.add_identity_to_tenant("acme", "eve"),
        may="",
    ),
    Row(
        "accept_invitation",
        "to one's tenant",
        lambda: letsgo.accept_invitation("acme", "inv-1", "eve"),
        may="",
    ),
    Row(
        "create_issuer",
        "another",
        lambda: letsgo.create_issuer(Issuer(issuer="https://other.example.com/")),
        may="",
    ),
    Row("get_issuer", "one", lambda: letsgo.get_issuer(ISSUER), may=""),
    Row("activate_issuer", "one", lambda: letsgo.activate_issuer(ISSUER), may=""),
    Row("get_active_issuer", "the one", letsgo.get_active_issuer, may=""),
]

OF_TENANTS = [
    Row("get_tenant", "own", lambda: letsgo.get_tenant("acme"), may="member"),
    Row("get_tenant", "another", lambda: letsgo.get_tenant("zoo"), may=""),
    Row("update_tenant", "own name", lambda: letsgo.update_tenant("acme", "Acme"), may="member"),
    Row("update_tenant", "another's name", lambda: letsgo.update_tenant("zoo", "Zoo"), may=""),
    Row(
        "update_tenant",
        "own plan",
        lambda: letsgo.update_tenant("acme", plan=SubscriptionPlan(plan_id="business")),
        may="",
    ),
    Row("delete_tenant", "own", lambda: letsgo.delete_tenant("acme"), may="member"),
    Row("delete_tenant", "another", lambda: letsgo.delete_tenant("zoo"), may=""),
    Row(
        "get_membership",
        "in one's tenant",
        lambda: letsgo.get_membership("acme", "bob"),
        may="member",
    ),
    Row("get_membership", "in another tenant", lambda: letsgo.get_membership("zoo", "ada"), may=""),
    Row(
        "list_identities_of_tenant",
        "own",
        lambda: letsgo.list_identities_of_tenant("acme"),
        may="member",
    ),
    Row(
        "list_identities_of_tenant",
        "another's",
        lambda: letsgo.list_identities_of_tenant("zoo"),
        may="",
    ),
    Row(
        "remove_identity_from_tenant",
        "from one's tenant",
        lambda: letsgo.remove_identity_from_tenant("acme", "bob"),
        may="member",
    ),
    Row(
        "remove_identity_from_tenant",
        "oneself from another tenant",
        lambda: letsgo.remove_identity_from_tenant("zoo", "ada"),
        may="",
    ),
    Row(
        "create_invitation",
        "to one's tenant",
        lambda: letsgo.create_invitation(Invitation(tenant_id="acme", invitation_id="inv-2")),
        may="member",
    ),
    Row(
        "create_invitation",
        "to another tenant",
        lambda: letsgo.create_invitation(Invitation(tenant_id="zoo", invitation_id="inv-2")),
        may="",
    ),
    Row("list_invitations", "own", lambda: letsgo.list_invitations("acme"), may="member"),
    Row("list_invitations", "another's", lambda: letsgo.list_invitations("zoo"), may=""),
    Row(
        "revoke_invitation", "own", lambda: letsgo.revoke_invitation("acme", "inv-1"), may="member"
    ),
    Row("revoke_invitation", "another's", lambda: letsgo.revoke_invitation("zoo", "inv-1"), may=""),
]

OF_IDENTITIES = [
    Row("get_identity", "oneself", lambda: letsgo.get_identity("ada"), may="identity"),
    Row("get_identity", "another", lambda: letsgo.get_identity("bob"), may=""),
    Row(
        "put_identity",
        "oneself",
        lambda: letsgo.put_identity(Identity(identity_id="ada", user={"name": "Ada"})),
        may="identity",
    ),
    Row(
        "put_identity",
        "another",
        lambda: letsgo.put_identity(Identity(identity_id="bob")),
        may="",
    ),
    Row(
        "list_tenants_of_identity",
        "own",
        lambda: letsgo.list_tenants_of_identity("ada"),
        may="identity",
    ),
    Row(
        "list_tenants_of_identity",
        "another's",
        lambda: letsgo.list_tenants_of_identity("bob"),
        may="",
    ),
]

PATTERNS = PatternTable(
    letsgo.table,
    COLUMNS,
    stored,
    [*ONLY_PLATFORM, *OF_TENANTS, *OF_IDENTITIES],
    foreign={"acme": "zoo", "ada": "bob"},
)
