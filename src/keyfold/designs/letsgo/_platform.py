"""The reserved categories of the platform: tenants, identities, issuers and invitations."""

from __future__ import annotations

from datetime import datetime, timedelta

from keyfold import (
    Check,
    CreatedAt,
    Delete,
    Entity,
    Expiry,
    Get,
    Put,
    Query,
    Transaction,
    Ulid,
    Update,
    attr,
    now,
    transaction,
)
from keyfold.designs.letsgo._items import ManyToMany, table
from keyfold.requests import Chain, First

INVITATION_LASTS = timedelta(hours=24)


class Tenant(Entity, table=table, key=("letsgo-tenant", "{tenant_id}"), extra="allow"):
    """A tenant of the platform. Deletion is logical: the item remains, and so does its id."""

    tenant_id: str = attr("tenantId")
    created_at: CreatedAt | None = attr("createdAt", default=None)
    created_by: str | None = attr("createdBy", default=None)
    deleted_at: datetime | None = attr("deletedAt", default=None)
    deleted_by: str | None = attr("deletedBy", default=None)


class Identity(Entity, table=table, key=("letsgo-identity", "{identity_id}"), extra="allow"):
    """An identity: the subject `sub` of the issuer `iss`."""

    identity_id: str = attr("identityId")
    iss: str
    sub: str


class TenantIdentity(
    Entity, table=table, key=("letsgo-tenant-identity", "/{tenant_id}/{identity_id}")
):
    """The membership of an identity in a tenant, listed by tenant."""

    tenant_id: str = attr("tenantId")
    identity_id: str = attr("identityId")


class IdentityTenant(
    Entity, table=table, key=("letsgo-identity-tenant", "/{identity_id}/{tenant_id}")
):
    """The membership of an identity in a tenant, listed by identity."""

    identity_id: str = attr("identityId")
    tenant_id: str = attr("tenantId")


class Issuer(Entity, table=table, key=("letsgo-issuer", "{issuer}"), extra="allow"):
    """An issuer of access tokens, identified by its URL."""

    issuer: str
    created_at: CreatedAt | None = attr("createdAt", default=None)


class ActiveIssuer(Entity, table=table, key=("letsgo-issuer-active", "/")):
    """The issuer that currently signs access tokens, in a single item."""

    issuer: str


class Invitation(Entity, table=table, key=("letsgo-invitation", "/{tenant_id}/{invitation_id}")):
    """An invitation to join a tenant, valid for 24 hours."""

    tenant_id: str = attr("tenantId")
    invitation_id: Ulid = attr("invitationId", default_factory=Ulid.new)
    created_at: CreatedAt | None = attr("createdAt", default=None)
    created_by: str | None = attr("createdBy", default=None)
    expires: Expiry | None = attr("ttl", default=None)


memberships = ManyToMany(TenantIdentity, IdentityTenant)

# Entities validate their fields, so arguments that become fields need examples.
_TENANT = {"tenant_id": "{tenant_id}"}
_MEMBERSHIP = {**_TENANT, "identity_id": "{identity_id}"}


# Tenants.


@table.pattern("create_tenant")
def create_tenant(tenant: Tenant) -> Put[Tenant]:
    """Create a tenant; fails with AlreadyExists if the id is taken, even by a deleted tenant."""
    return tenant.create()


@table.pattern("get_tenant")
def get_tenant(
    tenant_id: str, *, consistent: bool = False, include_deleted: bool = False
) -> First[Tenant]:
    """Get one tenant; None for a deleted one, unless `include_deleted` is set."""
    query = Tenant.query(tenant_id=tenant_id)
    if not include_deleted:
        query = query.where(Tenant.f.deleted_at.not_exists())
    return (query.consistent() if consistent else query).first()


@table.pattern("delete_tenant")
def delete_tenant(tenant_id: str, deleted_by: str | None = None) -> Update[Tenant]:
    """Mark a tenant as deleted; fails with NotFound, or ConditionFailed if it is already deleted."""
    deletion = Tenant.update(tenant_id=tenant_id).set(Tenant.f.deleted_at, now)
    if deleted_by is not None:
        deletion = deletion.set(Tenant.f.deleted_by, deleted_by)
    return deletion.where(Tenant.f.deleted_at.not_exists())


def _check_tenant(tenant_id: str) -> Check:
    exists = Tenant.f.tenant_id.exists() & Tenant.f.deleted_at.not_exists()
    return Tenant.check(exists, tenant_id=tenant_id)


# Identities, and their memberships in tenants.


@table.pattern("put_identity")
def put_identity(identity: Identity) -> Put[Identity]:
    """Upsert an identity."""
    return identity.put()


@table.pattern("get_identity")
def get_identity(identity_id: str) -> Get[Identity]:
    """Get one identity."""
    return Identity.get(identity_id=identity_id)


@table.pattern("add_identity_to_tenant", example=_MEMBERSHIP)
def add_identity_to_tenant(tenant_id: str, identity_id: str) -> Transaction:
    """Add an identity to a tenant, in both directions; fails if the tenant does not exist."""
    links = memberships.link(tenant_id=tenant_id, identity_id=identity_id)
    return transaction(_check_tenant(tenant_id), *links.requests)


@table.pattern("remove_identity_from_tenant")
def remove_identity_from_tenant(tenant_id: str, identity_id: str) -> Transaction:
    """Remove an identity from a tenant, in both directions; does nothing if it is not a member."""
    return memberships.unlink(tenant_id=tenant_id, identity_id=identity_id)


@table.pattern("list_identities_of_tenant")
def list_identities_of_tenant(tenant_id: str) -> Query[TenantIdentity]:
    """Query the memberships of a tenant, which have the ids of its identities."""
    return TenantIdentity.query(tenant_id=tenant_id)


@table.pattern("list_tenants_of_identity")
def list_tenants_of_identity(identity_id: str) -> Query[IdentityTenant]:
    """Query the memberships of an identity, which have the ids of its tenants, even deleted ones."""
    return IdentityTenant.query(identity_id=identity_id)


# Issuers.


@table.pattern("create_issuer")
def create_issuer(issuer: Issuer) -> Put[Issuer]:
    """Create an issuer; fails with AlreadyExists if there is one with its URL."""
    return issuer.create()


@table.pattern("get_issuer")
def get_issuer(issuer: str) -> Get[Issuer]:
    """Get one issuer, by its URL."""
    return Issuer.get(issuer=issuer)


@table.pattern("activate_issuer", example={"issuer": "{issuer}"})
def activate_issuer(issuer: str) -> Transaction:
    """Make an issuer the active one; fails if it does not exist."""
    check = Issuer.check(Issuer.f.issuer.exists(), issuer=issuer)
    return transaction(check, ActiveIssuer(issuer=issuer).put())


@table.pattern("get_active_issuer")
def get_active_issuer() -> Chain[Issuer | None]:
    """Get the active issuer: first the item that names it, then the issuer."""
    return ActiveIssuer.get().then(lambda active: Issuer.get(issuer=active.issuer))


# Invitations.


@table.pattern("create_invitation")
def create_invitation(invitation: Invitation) -> Put[Invitation]:
    """Create an invitation, which expires 24 hours after the request runs."""
    return invitation.create().expiring_in(INVITATION_LASTS)


@table.pattern("list_invitations")
def list_invitations(tenant_id: str) -> Query[Invitation]:
    """Query a tenant's invitations that can still be accepted, oldest first."""
    return Invitation.query(tenant_id=tenant_id)


@table.pattern("revoke_invitation")
def revoke_invitation(tenant_id: str, invitation_id: Ulid) -> Delete[Invitation]:
    """Delete an invitation; does nothing if there is none."""
    return Invitation.delete(tenant_id=tenant_id, invitation_id=invitation_id)


@table.pattern("accept_invitation", example=_MEMBERSHIP)
def accept_invitation(tenant_id: str, invitation_id: Ulid, identity_id: str) -> Transaction:
    """Accept an invitation: delete it, and add the identity to the tenant in both directions.

    Fails if the invitation does not exist or has expired, even if it is still stored, and if the
    tenant does not exist.
    """
    acceptance = Invitation.delete(tenant_id=tenant_id, invitation_id=invitation_id)
    links = memberships.link(tenant_id=tenant_id, identity_id=identity_id)
    return transaction(
        acceptance.where(Invitation.f.invitation_id.exists()),
        _check_tenant(tenant_id),
        *links.requests,
    )
