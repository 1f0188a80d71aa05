"""The reserved categories of the platform: tenants, identities, issuers and invitations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from pydantic import BaseModel, SecretStr

from keyfold import (
    Check,
    CreatedAt,
    Delete,
    Entity,
    Expiry,
    Get,
    Put,
    Query,
    Request,
    Transaction,
    Ulid,
    Update,
    UpdatedAt,
    attr,
    now,
    part,
    transaction,
)
from keyfold.designs.letsgo._identities import Subject, read_identity_id
from keyfold.designs.letsgo._items import ManyToMany, check_exists, table
from keyfold.requests import Chain

INVITATION_LASTS = timedelta(hours=24)


class PlanChange(BaseModel, frozen=True):
    """A change of a tenant's subscription plan; None for the end of the subscription."""

    timestamp: datetime
    updated_by: Subject | None = attr("updatedBy", default=None)
    new_plan_id: str | None = attr("newPlanId", default=None)


class SubscriptionPlan(BaseModel, frozen=True):
    """A tenant's subscription plan, with its history, and what the payment service knows of it."""

    plan_id: str = attr("planId")
    changes: list[PlanChange] = attr(default_factory=list)
    stripe_customer_id: str | None = attr("stripeCustomerId", default=None)
    stripe_subscription: dict[str, Any] | None = attr("stripeSubscription", default=None)


class Tenant(Entity, table=table, key=(table.shard("letsgo-tenant"), "{tenant_id}"), extra="allow"):
    """A tenant of the platform. Deletion is logical: the item remains, and so does its id."""

    tenant_id: str = attr("tenantId")
    display_name: str | None = attr("displayName", default=None)
    plan: SubscriptionPlan | None = None
    created_at: CreatedAt | None = attr("createdAt", default=None)
    created_by: Subject | None = attr("createdBy", default=None)
    updated_at: UpdatedAt | None = attr("updatedAt", default=None)
    updated_by: Subject | None = attr("updatedBy", default=None)
    deleted_at: datetime | None = attr("deletedAt", default=None)
    deleted_by: Subject | None = attr("deletedBy", default=None)


class Identity(
    Entity, table=table, key=(table.shard("letsgo-identity"), "{identity_id}"), extra="allow"
):
    """The profile of an identity: what the issuer of its tokens says about the user."""

    identity_id: str = part()
    user: dict[str, Any] = attr(default_factory=dict)
    updated_at: UpdatedAt | None = attr("updatedAt", default=None)

    @property
    def subject(self) -> Subject | None:
        """The issuer and the subject that its id stands for; None if it is another kind of id."""
        return read_identity_id(self.identity_id)


class TenantIdentity(
    Entity, table=table, key=(table.shard("letsgo-tenant-identity"), "/{tenant_id}/{identity_id}")
):
    """The membership of an identity in a tenant, listed by tenant."""

    tenant_id: str = part()
    identity_id: str = part()


class IdentityTenant(
    Entity, table=table, key=(table.shard("letsgo-identity-tenant"), "/{identity_id}/{tenant_id}")
):
    """The membership of an identity in a tenant, listed by identity."""

    identity_id: str = part()
    tenant_id: str = part()


class Issuer(Entity, table=table, key=(table.shard("letsgo-issuer"), "{issuer}"), extra="allow"):
    """A trusted issuer of access tokens: one with a URL of keys, or a built-in one with a key pair."""

    issuer: str = part()
    created_at: CreatedAt | None = attr("createdAt", default=None)
    jwks: str | None = None
    kid: str | None = None
    public_key: str | None = attr("publicKey", default=None)
    private_key: SecretStr | None = attr("privateKey", default=None)


class ActiveIssuer(Entity, table=table, key=(table.shard("letsgo-issuer-active"), "/")):
    """The issuer that currently signs access tokens, in a single item."""

    issuer: str
    modified_at: UpdatedAt | None = attr("modifiedAt", default=None)


def _new_invitation_id() -> str:
    return f"inv-{Ulid.new()}"


class Invitation(
    Entity, table=table, key=(table.shard("letsgo-invitation"), "/{tenant_id}/{invitation_id}")
):
    """An invitation to join a tenant, valid for 24 hours unless it says when it expires."""

    tenant_id: str = part()
    invitation_id: str = attr("invitationId", default_factory=_new_invitation_id)
    created_at: CreatedAt | None = attr("createdAt", default=None)
    created_by: Subject | None = attr("createdBy", default=None)
    expires: Expiry | None = attr("ttl", default=None)
    expires_at: datetime | None = attr("expiresAt", default=None)

    def before_write(self, now: datetime) -> Self:
        """Return the invitation with its expiry, which the platform also keeps as a text."""
        expires = self.expires or (now + INVITATION_LASTS).replace(microsecond=0)
        return self.model_copy(update={"expires": expires, "expires_at": expires})


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
) -> Request[Tenant | None]:
    """Get one tenant; None for a deleted one, unless `include_deleted` is set."""
    get = Tenant.get(tenant_id=tenant_id)
    if consistent:
        get = get.consistent()
    return get if include_deleted else get.map(_hide_deleted)


def _hide_deleted(tenant: Tenant | None, _now: datetime) -> Tenant | None:
    return None if tenant is None or tenant.deleted_at is not None else tenant


@table.pattern("update_tenant", example={"display_name": "{display_name}"})
def update_tenant(
    tenant_id: str,
    display_name: str | None = None,
    plan: SubscriptionPlan | None = None,
    updated_by: Subject | None = None,
) -> Update[Tenant]:
    """Change a tenant's name or plan; fails with NotFound, or ConditionFailed if it is deleted."""
    changes = {"display_name": display_name, "plan": plan, "updated_by": updated_by}
    update = Tenant.update(tenant_id=tenant_id)
    update = update.set_from({name: each for name, each in changes.items() if each is not None})
    return update.where(Tenant.f.deleted_at.not_exists())


@table.pattern("delete_tenant")
def delete_tenant(tenant_id: str, deleted_by: Subject | None = None) -> Update[Tenant]:
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


@table.pattern("get_membership")
def get_membership(tenant_id: str, identity_id: str) -> Get[TenantIdentity]:
    """Get the membership of an identity in a tenant; None if it is not a member."""
    return TenantIdentity.get(tenant_id=tenant_id, identity_id=identity_id)


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
    return transaction(check_exists("letsgo-issuer", issuer), ActiveIssuer(issuer=issuer).put())


@table.pattern("get_active_issuer")
def get_active_issuer() -> Chain[Issuer | None]:
    """Get the active issuer: first the item that names it, then the issuer."""
    return ActiveIssuer.get().then(lambda active: Issuer.get(issuer=active.issuer))


# Invitations.


@table.pattern("create_invitation")
def create_invitation(invitation: Invitation) -> Put[Invitation]:
    """Create an invitation, which expires 24 hours after the request runs, unless it says when."""
    return invitation.create()


@table.pattern("list_invitations")
def list_invitations(tenant_id: str) -> Query[Invitation]:
    """Query a tenant's invitations that can still be accepted, in the order of their ids."""
    return Invitation.query(tenant_id=tenant_id)


@table.pattern("revoke_invitation")
def revoke_invitation(tenant_id: str, invitation_id: str) -> Delete[Invitation]:
    """Delete an invitation; does nothing if there is none."""
    return Invitation.delete(tenant_id=tenant_id, invitation_id=invitation_id)


@table.pattern("accept_invitation", example=_MEMBERSHIP)
def accept_invitation(tenant_id: str, invitation_id: str, identity_id: str) -> Transaction:
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
