"""Roles: what members of a tenant, and users of the platform, may do in its categories.

All tenants share the partition of a category, so rights are for the items whose sort keys have the
tenant. The platform itself has no role: only it creates tenants and accepts invitations.
"""

from __future__ import annotations

from keyfold import ALL, READ, Right, Role
from keyfold.designs.letsgo._items import table

# Members manage their tenant: they invite others, remove them, rename and delete the tenant. Its plan
# is what they pay for, so the platform sets it.
tenant_member = table.add_role(
    Role(
        "tenant-member",
        tenant="tenant_id",
        can={
            "letsgo-tenant": READ | Right.UPDATE,
            "letsgo-tenant-identity": READ | Right.DELETE,
            "letsgo-identity-tenant": Right.DELETE,
            "letsgo-invitation": ALL,
        },
        fixed={"letsgo-tenant": ["tenantId", "plan", "createdAt", "createdBy"]},
    )
)

# Users see and change their own profile, and see the tenants they are members of.
identity = table.add_role(
    Role(
        "identity",
        tenant="identity_id",
        can={"letsgo-identity": READ | Right.CREATE | Right.UPDATE, "letsgo-identity-tenant": READ},
    )
)
