"""Roles: what members of a tenant, and users of the platform, may do in its categories.

All tenants share the partition of a category, so rights are for the items whose sort keys have the
tenant. The platform itself has no role: only it creates tenants and accepts invitations.
"""

from __future__ import annotations

from keyfold import ALL, READ, Right, Role
from keyfold.designs.letsgo._items import table
from keyfold.designs.letsgo._platform import (
    Identity,
    IdentityTenant,
    Invitation,
    Tenant,
    TenantIdentity,
)

# Members manage their tenant: they invite others, remove them, rename and delete the tenant. Its plan
# is what they pay for, so the platform sets it.
tenant_member = table.add_role(
    Role(
        "tenant-member",
        tenant="tenant_id",
        can={
            Tenant: READ | Right.UPDATE,
            TenantIdentity: READ | Right.DELETE,
            IdentityTenant: Right.DELETE,
            Invitation: ALL,
        },
        fixed={Tenant: ["tenantId", "plan", "createdAt", "createdBy"]},
    )
)

# Users see and change their own profile, and see the tenants they are members of.
identity = table.add_role(
    Role(
        "identity",
        tenant="identity_id",
        can={Identity: READ | Right.CREATE | Right.UPDATE, IdentityTenant: READ},
    )
)
