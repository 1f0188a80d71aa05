"""A platform with tenants; on it, a shop, and a magazine with drafts that expire."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from keyfold.cli._demo.data_set import DataGenerator, DataSet
from keyfold.designs import letsgo
from keyfold.designs.letsgo import (
    ActiveIssuer,
    AnyItem,
    Identity,
    IdentityTenant,
    Invitation,
    Issuer,
    Subject,
    Tenant,
    TenantIdentity,
)
from keyfold.designs.letsgo.shop import (
    Customer,
    CustomerOrder,
    Order,
    orders_of_customer,
    place_order,
)
from keyfold.errors import AlreadyExists, NotFound, TransactionFailed
from keyfold.keys import Ulid
from keyfold.model import Entity

_AUTHORS, _CUSTOMERS, _IDENTITIES = 40, 20, 60
_TENANTS = (
    "acme", "blue-bottle", "contoso", "dunder", "estuary", "fabrikam", "globex", "hooli",
    "initech", "juniper", "krusty", "lumon", "monsters", "northwind", "oceanic", "pied-piper",
)  # fmt: skip
_SUBJECTS = ("Rivers", "Bridges", "Bread", "Clocks", "Sails", "Maps", "Bees", "Glass")
_ISSUERS = tuple(f"https://{name}.letsgo.example/" for name in ("one", "two"))
_OPERATOR = Subject(iss=_ISSUERS[0], sub="operator")
_DAY, _YEAR = timedelta(days=1), timedelta(days=365)


def make_data_set(generator: DataGenerator) -> DataSet:
    """Return the items, and the results that the patterns must return."""
    data = DataSet(letsgo.table, generator.now, _expiry_of)
    data.load(_make_magazine(generator))
    data.load(_make_shop(generator))
    data.load(_make_platform(generator))
    _expect_items(data)
    _expect_orders(data)
    _expect_tenants(data)
    _expect_issuers(data)
    _expect_invitations(data, generator)
    return data


def _expiry_of(item: Any) -> datetime | None:
    return item.expires if isinstance(item, Invitation) else getattr(item, "ttl", None)


def _make_magazine(generator: DataGenerator) -> list[Entity]:
    items: list[Entity] = []
    for number in range(1, _AUTHORS + 1):
        author = f"author-{number:03}"
        items.append(AnyItem.of("author", author, joined=_day(generator.ago(_YEAR))))
        for written in range(generator.random.randint(4, 14)):
            article = f"article-{number:03}-{written:02}"
            title = f"{generator.random.choice(_SUBJECTS)}, part {written + 1}"
            words = generator.random.randint(300, 4000)
            items.append(AnyItem.of("article", article, title=title, words=words))
            items.append(AnyItem.of("author-article", f"/{author}/{article}"))
        for draft in range(generator.random.randint(2, 8)):
            # A draft is kept for a week, and half of the drafts are older.
            expiry = generator.expired() if draft % 2 else generator.ahead(7 * _DAY)
            items.append(AnyItem.of("draft", f"/{author}/draft-{draft:02}", ttl=expiry))
    return items


def _make_shop(generator: DataGenerator) -> list[Entity]:
    items: list[Entity] = []
    for number in range(1, _CUSTOMERS + 1):
        customer = f"customer-{number:03}"
        items.append(Customer(customer_id=customer, name=f"Name {number}"))
        for placed in range(generator.random.randint(3, 12)):
            order = f"order-{number:03}-{placed:02}"
            total = Decimal(generator.random.randint(100, 9900)) / 100
            items.append(Order(order_id=order, total=total))
            items.append(CustomerOrder(customer_id=customer, order_id=order))
    return items


def _make_platform(generator: DataGenerator) -> list[Entity]:
    items: list[Entity] = [Issuer(issuer=url, created_at=generator.ago(_YEAR)) for url in _ISSUERS]
    items.append(ActiveIssuer(issuer=_ISSUERS[0], modified_at=generator.now))
    identities = [f"identity-{number:03}" for number in range(1, _IDENTITIES + 1)]
    items.extend(
        Identity(
            identity_id=identity,
            user={"name": f"User {identity[-3:]}"},
            updated_at=generator.now,
        )
        for identity in identities
    )
    for tenant in _TENANTS:
        created = generator.ago(_YEAR)
        deleted = generator.now - _DAY if tenant == "dunder" else None
        items.append(
            Tenant(
                tenant_id=tenant,
                created_at=created,
                created_by=_OPERATOR,
                updated_at=generator.now,
                deleted_at=deleted,
            )
        )
        for identity in sorted(
            generator.random.sample(identities, generator.random.randint(3, 12))
        ):
            items.append(TenantIdentity(tenant_id=tenant, identity_id=identity))
            items.append(IdentityTenant(tenant_id=tenant, identity_id=identity))
        for number in range(6):
            # Invitations last 24 hours, and half of them are older.
            made = generator.ago(_DAY) if number % 2 else generator.expired() - _DAY
            items.append(
                Invitation(
                    tenant_id=tenant,
                    invitation_id=f"inv-{generator.ulid(Ulid, made)}",
                    created_at=made,
                    expires=made + letsgo.INVITATION_LASTS,
                    expires_at=made + letsgo.INVITATION_LASTS,
                )
            )
    return items


def _day(time: datetime) -> str:
    return time.date().isoformat()


def _items_of(data: DataSet, category: str, prefix: str = "") -> list[AnyItem]:
    items = [each for each in data.find(AnyItem) if each.category == category]
    return [each for each in items if each.key.startswith(prefix)]


def _expect_items(data: DataSet) -> None:
    article = _items_of(data, "article")[0]
    expired = next(each for each in data.find_expired(AnyItem) if each.category == "draft")
    data.expect(letsgo.get_item, article, category="article", key=article.key)
    data.expect(letsgo.get_item, None, category="draft", key=expired.key)
    note = AnyItem.of("note", "note-1", text="Call the printer.", ttl=data.now + _DAY)
    data.expect(letsgo.put_item, note, item=note)
    data.put(note)
    changed = AnyItem.of("note", "note-1", text="Call the baker.", stars=2)
    changes = {"text": "Call the baker.", "stars": 2, "ttl": None}
    data.expect(letsgo.update_item, changed, category="note", key="note-1", changes=changes)
    data.expect(letsgo.update_item, NotFound, category="note", key="note-2", changes=changes)
    data.put(changed)
    old = _items_of(data, "author-article")[-1]
    data.expect(letsgo.delete_item, old, category="author-article", key=old.key)
    data.expect(letsgo.delete_item, None, category="author-article", key=old.key)
    data.drop(old)
    # About every second draft is expired: the query must read past those.
    drafts = _items_of(data, "draft")
    data.expect(letsgo.list_items, drafts[:10], category="draft", limit=10)
    articles = _items_of(data, "author-article", "/author-007/")
    data.expect(letsgo.list_items, articles, category="author-article", key_prefix="/author-007/")


def _expect_orders(data: DataSet) -> None:
    orders = [each for each in data.find(Order) if each.order_id.startswith("order-012-")]
    data.expect(orders_of_customer, orders, customer_id="customer-012")
    data.expect(orders_of_customer, orders[:2], customer_id="customer-012", limit=2)
    data.expect(orders_of_customer, [], customer_id="customer-01")
    new = Order(order_id="order-new", total=Decimal("12.50"))
    link = CustomerOrder(customer_id="customer-012", order_id="order-new")
    data.expect(place_order, [None, new, link], customer_id="customer-012", order=new)
    data.expect(place_order, TransactionFailed, customer_id="customer-none", order=new)
    data.put(new, link)


def _expect_tenants(data: DataSet) -> None:
    tenants = {each.tenant_id: each for each in data.find(Tenant)}
    new = Tenant(tenant_id="quarry", created_at=data.now, created_by=_OPERATOR, updated_at=data.now)
    data.expect(letsgo.create_tenant, new, tenant=new)
    data.expect(letsgo.create_tenant, AlreadyExists, tenant=tenants["dunder"])
    data.put(new)
    data.expect(letsgo.get_tenant, tenants["acme"], tenant_id="acme")
    data.expect(letsgo.get_tenant, None, tenant_id="dunder")
    renamed = tenants["acme"].model_copy(update={"display_name": "Acme Inc."})
    data.expect(letsgo.update_tenant, renamed, tenant_id="acme", display_name="Acme Inc.")
    data.put(renamed)
    gone = tenants["krusty"].model_copy(update={"deleted_at": data.now, "deleted_by": _OPERATOR})
    data.expect(letsgo.delete_tenant, gone, tenant_id="krusty", deleted_by=_OPERATOR)
    data.put(gone)
    identity = data.find(Identity)[0].model_copy(update={"user": {"name": "Ada"}})
    data.expect(letsgo.put_identity, identity, identity=identity)
    data.put(identity)
    data.expect(letsgo.get_identity, identity, identity_id=identity.identity_id)
    link = {"tenant_id": "quarry", "identity_id": identity.identity_id}
    added = [TenantIdentity(**link), IdentityTenant(**link)]
    data.expect(letsgo.add_identity_to_tenant, [None, *added], **link)
    data.expect(letsgo.add_identity_to_tenant, TransactionFailed, **{**link, "tenant_id": "dunder"})
    data.put(*added)
    _expect_memberships(data, identity.identity_id)


def _expect_memberships(data: DataSet, identity: str) -> None:
    forward = [each for each in data.find(TenantIdentity) if each.tenant_id == "acme"]
    leaving = forward[0].identity_id
    data.expect(
        letsgo.remove_identity_from_tenant, [None, None], tenant_id="acme", identity_id=leaving
    )
    data.drop(forward[0], IdentityTenant(tenant_id="acme", identity_id=leaving))
    data.expect(letsgo.list_identities_of_tenant, forward[1:], tenant_id="acme")
    data.expect(letsgo.get_membership, None, tenant_id="acme", identity_id=leaving)
    staying = forward[1]
    data.expect(letsgo.get_membership, staying, tenant_id="acme", identity_id=staying.identity_id)
    backward = [each for each in data.find(IdentityTenant) if each.identity_id == identity]
    data.expect(letsgo.list_tenants_of_identity, backward, identity_id=identity)


def _expect_issuers(data: DataSet) -> None:
    first = {each.issuer: each for each in data.find(Issuer)}[_ISSUERS[0]]
    new = Issuer(issuer="https://three.letsgo.example/", created_at=data.now)
    data.expect(letsgo.create_issuer, new, issuer=new)
    data.expect(letsgo.create_issuer, AlreadyExists, issuer=first)
    data.put(new)
    data.expect(letsgo.get_issuer, first, issuer=first.issuer)
    active = ActiveIssuer(issuer=new.issuer, modified_at=data.now)
    data.expect(letsgo.activate_issuer, [None, active], issuer=new.issuer)
    data.expect(letsgo.activate_issuer, TransactionFailed, issuer="https://no.letsgo.example/")
    data.put(active)
    data.expect(letsgo.get_active_issuer, new)


def _expect_invitations(data: DataSet, generator: DataGenerator) -> None:
    invitation_id = f"inv-{generator.ulid(Ulid, data.now)}"
    given = Invitation(tenant_id="acme", invitation_id=invitation_id, created_at=data.now)
    expiry = (data.now + letsgo.INVITATION_LASTS).replace(microsecond=0)
    made = given.model_copy(update={"expires": expiry, "expires_at": expiry})
    data.expect(letsgo.create_invitation, made, invitation=given)
    data.put(made)
    live = [each for each in data.find(Invitation) if each.tenant_id == "acme"]
    expired = next(each for each in data.find_expired(Invitation) if each.tenant_id == "acme")
    data.expect(letsgo.list_invitations, live, tenant_id="acme")
    data.expect(
        letsgo.revoke_invitation, live[0], tenant_id="acme", invitation_id=live[0].invitation_id
    )
    data.drop(live[0])
    link = {"tenant_id": "acme", "identity_id": "identity-new"}
    links = [TenantIdentity(**link), IdentityTenant(**link)]
    data.expect(
        letsgo.accept_invitation, [None, None, *links], invitation_id=made.invitation_id, **link
    )
    data.expect(
        letsgo.accept_invitation, TransactionFailed, invitation_id=expired.invitation_id, **link
    )
    data.drop(made)
    data.put(*links)
