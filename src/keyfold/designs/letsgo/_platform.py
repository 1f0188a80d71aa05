"""The platform's own categories: tenants, identities, issuers and invitations."""

from __future__ import annotations

from datetime import datetime, timedelta

from keyfold import (
    Chain,
    Check,
    Delete,
    Entity,
    Expiry,
    First,
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

INVITATION_LASTS = timedelta(hours=24)


class Tenant(Entity, table=table, key=("letsgo-tenant", "{tenant_id}"), extra="allow"):
    """Who uses the platform. Deletion is logical: the item stays, and its id stays taken."""

    tenant_id: str = attr("tenantId")
    created_at: datetime = attr("createdAt")
    created_by: str | None = attr("createdBy", default=None)
    deleted_at: datetime | None = attr("deletedAt", default=None)
    deleted_by: str | None = attr("deletedBy", default=None)


class Identity(Entity, table=table, key=("letsgo-identity", "{identity_id}"), extra="allow"):
    """Somebody, as an issuer knows them: `sub` is theirs at `iss`."""

    identity_id: str = attr("identityId")
    iss: str
    sub: str


class TenantIdentity(
    Entity, table=table, key=("letsgo-tenant-identity", "/{tenant_id}/{identity_id}")
):
    """An identity of a tenant."""

    tenant_id: str = attr("tenantId")
    identity_id: str = attr("identityId")


class IdentityTenant(
    Entity, table=table, key=("letsgo-identity-tenant", "/{identity_id}/{tenant_id}")
):
    """A tenant of an identity."""

    identity_id: str = attr("identityId")
    tenant_id: str = attr("tenantId")


class Issuer(Entity, table=table, key=("letsgo-issuer", "{issuer}"), extra="allow"):
    """Who signs access tokens, by URL."""

    issuer: str
    created_at: datetime = attr("createdAt")


class ActiveIssuer(Entity, table=table, key=("letsgo-issuer-active", "/")):
    """The one issuer that signs at present; there is one such item."""

    issuer: str


class Invitation(Entity, table=table, key=("letsgo-invitation", "/{tenant_id}/{invitation_id}")):
    """An offer to join a tenant, good for 24 hours."""

    tenant_id: str = attr("tenantId")
    invitation_id: Ulid = attr("invitationId", default_factory=Ulid.new)
    created_at: datetime = attr("createdAt")
    created_by: str | None = attr("createdBy", default=None)
    expires: Expiry | None = attr("ttl", default=None)


memberships = ManyToMany(TenantIdentity, IdentityTenant)

# Entities validate their fields, so the arguments that become fields need texts for examples.
_TENANT = {"tenant_id": "{tenant_id}"}
_MEMBERSHIP = {**_TENANT, "identity_id": "{identity_id}"}


# Tenants.


@table.pattern("create_tenant")
def create_tenant(tenant: Tenant) -> Put[Tenant]:
    """Write a new tenant; raises AlreadyExists for an id that is taken, by a deleted one too."""
    return tenant.create()


@table.pattern("get_tenant")
def get_tenant(
    tenant_id: str, *, consistent: bool = False, include_deleted: bool = False
) -> First[Tenant]:
    """One tenant; None for a deleted one, unless deleted ones are asked for."""
    query = Tenant.query(tenant_id=tenant_id)
    if not include_deleted:
        query = query.where(Tenant.f.deleted_at.not_exists())
    return (query.consistent() if consistent else query).first()


@table.pattern("delete_tenant")
def delete_tenant(tenant_id: str, deleted_by: str | None = None) -> Update[Tenant]:
    """Mark a tenant as deleted; raises NotFound, or ConditionFailed if it is so already."""
    deletion = Tenant.update(tenant_id=tenant_id).set(Tenant.f.deleted_at, now)
    if deleted_by is not None:
        deletion = deletion.set(Tenant.f.deleted_by, deleted_by)
    return deletion.where(Tenant.f.deleted_at.not_exists())


def _check_tenant(tenant_id: str) -> Check:
    is_there = Tenant.f.tenant_id.exists() & Tenant.f.deleted_at.not_exists()
    return Tenant.check(is_there, tenant_id=tenant_id)


# Identities, and which tenants they belong to.


@table.pattern("put_identity")
def put_identity(identity: Identity) -> Put[Identity]:
    """Write an identity, in place of what was known of it."""
    return identity.put()


@table.pattern("get_identity")
def get_identity(identity_id: str) -> Get[Identity]:
    """One identity."""
    return Identity.get(identity_id=identity_id)


@table.pattern("add_identity_to_tenant", example=_MEMBERSHIP)
def add_identity_to_tenant(tenant_id: str, identity_id: str) -> Transaction:
    """Make an identity one of a tenant's, both ways; fails for a tenant that is not there."""
    links = memberships.link(tenant_id=tenant_id, identity_id=identity_id)
    return transaction(_check_tenant(tenant_id), *links.requests)


@table.pattern("remove_identity_from_tenant")
def remove_identity_from_tenant(tenant_id: str, identity_id: str) -> Transaction:
    """Undo a membership, both ways; none there is no error."""
    return memberships.unlink(tenant_id=tenant_id, identity_id=identity_id)


@table.pattern("list_identities_of_tenant")
def list_identities_of_tenant(tenant_id: str) -> Query[TenantIdentity]:
    """The memberships of a tenant, which name its identities."""
    return TenantIdentity.query(tenant_id=tenant_id)


@table.pattern("list_tenants_of_identity")
def list_tenants_of_identity(identity_id: str) -> Query[IdentityTenant]:
    """The memberships of an identity, which name its tenants, deleted ones included."""
    return IdentityTenant.query(identity_id=identity_id)


# Issuers.


@table.pattern("create_issuer")
def create_issuer(issuer: Issuer) -> Put[Issuer]:
    """Write a new issuer; raises AlreadyExists."""
    return issuer.create()


@table.pattern("get_issuer")
def get_issuer(issuer: str) -> Get[Issuer]:
    """One issuer, by its URL."""
    return Issuer.get(issuer=issuer)


@table.pattern("activate_issuer", example={"issuer": "{issuer}"})
def activate_issuer(issuer: str) -> Transaction:
    """Make an issuer the active one; fails for one that is not there."""
    is_there = Issuer.check(Issuer.f.issuer.exists(), issuer=issuer)
    return transaction(is_there, ActiveIssuer(issuer=issuer).put())


@table.pattern("get_active_issuer")
def get_active_issuer() -> Chain[Issuer | None]:
    """The active issuer: the singleton, and then the issuer that it names."""
    return ActiveIssuer.get().then(lambda active: Issuer.get(issuer=active.issuer))


# Invitations.


@table.pattern("create_invitation")
def create_invitation(invitation: Invitation) -> Put[Invitation]:
    """Write a new invitation, which expires 24 hours after it has run."""
    return invitation.create().expiring_in(INVITATION_LASTS)


@table.pattern("list_invitations")
def list_invitations(tenant_id: str) -> Query[Invitation]:
    """A tenant's invitations that can still be accepted, oldest first."""
    return Invitation.query(tenant_id=tenant_id)


@table.pattern("revoke_invitation")
def revoke_invitation(tenant_id: str, invitation_id: Ulid) -> Delete[Invitation]:
    """Take an invitation back; none there is no error."""
    return Invitation.delete(tenant_id=tenant_id, invitation_id=invitation_id)


@table.pattern("accept_invitation", example=_MEMBERSHIP)
def accept_invitation(tenant_id: str, invitation_id: Ulid, identity_id: str) -> Transaction:
    """Use an invitation up for a membership, both ways.

    Fails when the invitation is gone or has expired, stored or not, and when the tenant is
    not there.
    """
    used_up = Invitation.delete(tenant_id=tenant_id, invitation_id=invitation_id)
    links = memberships.link(tenant_id=tenant_id, identity_id=identity_id)
    return transaction(
        used_up.where(Invitation.f.invitation_id.exists()),
        _check_tenant(tenant_id),
        *links.requests,
    )
