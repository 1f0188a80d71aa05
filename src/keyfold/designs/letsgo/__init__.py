"""LetsGo: items in categories, typed or free-form, and relationships listed by key prefix.

>>> import keyfold
>>> from keyfold import part
>>> from keyfold.designs import letsgo
>>> class Purchase(letsgo.Item, category="buyer-purchase", key="/{buyer}/{purchase}"):
...     buyer: str = part()
...     purchase: str = part()
>>> with keyfold.open(letsgo.table, ":memory:") as store:
...     _ = store.run(letsgo.put_item(Purchase(buyer="buyer-1", purchase="purchase-2")))
...     [found] = store.run(letsgo.list_items("buyer-purchase", "/buyer-1/"))
>>> found
Purchase(ttl=None, buyer='buyer-1', purchase='purchase-2')
"""

from __future__ import annotations

from keyfold.designs.letsgo._examples import make_examples
from keyfold.designs.letsgo._identities import Subject, make_identity_id, read_identity_id
from keyfold.designs.letsgo._items import (
    RESERVED_PREFIX,
    AnyItem,
    Item,
    ManyToMany,
    check_exists,
    delete_item,
    get_item,
    list_items,
    put_item,
    table,
    update_item,
)
from keyfold.designs.letsgo._platform import (
    INVITATION_LASTS,
    ActiveIssuer,
    Identity,
    IdentityTenant,
    Invitation,
    Issuer,
    PlanChange,
    SubscriptionPlan,
    Tenant,
    TenantIdentity,
    accept_invitation,
    activate_issuer,
    add_identity_to_tenant,
    create_invitation,
    create_issuer,
    create_tenant,
    delete_tenant,
    get_active_issuer,
    get_identity,
    get_issuer,
    get_membership,
    get_tenant,
    list_identities_of_tenant,
    list_invitations,
    list_tenants_of_identity,
    put_identity,
    remove_identity_from_tenant,
    revoke_invitation,
    update_tenant,
)
from keyfold.designs.letsgo._roles import identity, tenant_member

__all__ = [
    "INVITATION_LASTS",
    "RESERVED_PREFIX",
    "ActiveIssuer",
    "AnyItem",
    "Identity",
    "IdentityTenant",
    "Invitation",
    "Issuer",
    "Item",
    "ManyToMany",
    "PlanChange",
    "Subject",
    "SubscriptionPlan",
    "Tenant",
    "TenantIdentity",
    "accept_invitation",
    "activate_issuer",
    "add_identity_to_tenant",
    "check_exists",
    "create_invitation",
    "create_issuer",
    "create_tenant",
    "delete_item",
    "delete_tenant",
    "get_active_issuer",
    "get_identity",
    "get_issuer",
    "get_item",
    "get_membership",
    "get_tenant",
    "identity",
    "list_identities_of_tenant",
    "list_invitations",
    "list_items",
    "list_tenants_of_identity",
    "make_examples",
    "make_identity_id",
    "put_identity",
    "put_item",
    "read_identity_id",
    "remove_identity_from_tenant",
    "revoke_invitation",
    "table",
    "tenant_member",
    "update_item",
    "update_tenant",
]
