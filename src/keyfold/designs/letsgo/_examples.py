"""Example items: a tenant with a member and an invitation, and items of an application."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from keyfold import Entity
from keyfold.designs.letsgo._identities import Subject, make_identity_id
from keyfold.designs.letsgo._items import AnyItem, table
from keyfold.designs.letsgo._platform import (
    ActiveIssuer,
    Identity,
    IdentityTenant,
    Invitation,
    Issuer,
    SubscriptionPlan,
    Tenant,
    TenantIdentity,
)

_ISSUER = "https://login.example.com/"
_TENANT = "ten-f8a1"
_NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
_EXPIRES = datetime(2030, 1, 2, tzinfo=UTC)


@table.examples
def make_examples() -> list[Entity]:
    """Return one item of each kind; of identities a second one, which is in no tenant."""
    ada = make_identity_id(Subject(iss=_ISSUER, sub="ada"))
    bob = make_identity_id(Subject(iss=_ISSUER, sub="bob"))
    book: dict[str, Any] = {"title": "Emma", "year": 1815}
    return [
        Tenant(
            tenant_id=_TENANT,
            display_name="Analytical Engines",
            plan=SubscriptionPlan(plan_id="business"),
            created_at=_NEW_YEAR,
        ),
        Identity(identity_id=ada, user={"name": "Ada", "email": "ada@example.com"}),
        Identity(identity_id=bob, user={"name": "Bob", "email": "bob@example.com"}),
        TenantIdentity(tenant_id=_TENANT, identity_id=ada),
        IdentityTenant(identity_id=ada, tenant_id=_TENANT),
        Issuer(issuer=_ISSUER, jwks=f"{_ISSUER}.well-known/jwks.json", created_at=_NEW_YEAR),
        ActiveIssuer(issuer=_ISSUER, modified_at=_NEW_YEAR),
        Invitation(tenant_id=_TENANT, invitation_id="inv-1", expires=_EXPIRES, expires_at=_EXPIRES),
        AnyItem(category="books", key="book-123", **book),
        AnyItem(category="author-book", key="/author-1/book-123"),
    ]
