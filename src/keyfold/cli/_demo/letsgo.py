"""A platform with tenants, and on it a magazine: authors, their articles, drafts that expire."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from keyfold.cli._demo.world import Draws, World
from keyfold.designs import letsgo
from keyfold.designs.letsgo import (
    ActiveIssuer,
    AnyItem,
    Identity,
    IdentityTenant,
    Invitation,
    Issuer,
    Tenant,
    TenantIdentity,
)
from keyfold.errors import AlreadyExists, TransactionFailed
from keyfold.keys import Ulid
from keyfold.model import Entity

_AUTHORS, _IDENTITIES = 40, 60
_TENANTS = (
    "acme", "blue-bottle", "contoso", "dunder", "estuary", "fabrikam", "globex", "hooli",
    "initech", "juniper", "krusty", "lumon", "monsters", "northwind", "oceanic", "pied-piper",
)  # fmt: skip
_SUBJECTS = ("Rivers", "Bridges", "Bread", "Clocks", "Sails", "Maps", "Bees", "Glass")
_ISSUERS = tuple(f"https://{name}.letsgo.example/" for name in ("one", "two"))
_DAY, _YEAR = timedelta(days=1), timedelta(days=365)


def make_world(draws: Draws) -> World:
    """Return the items, and what the patterns must return of them."""
    world = World(letsgo.table, draws.now, _expiry_of)
    world.load(_make_magazine(draws))
    world.load(_make_platform(draws))
    _expect_items(world)
    _expect_tenants(world)
    _expect_issuers(world)
    _expect_invitations(world, draws)
    return world


def _expiry_of(item: Any) -> datetime | None:
    return item.expires if isinstance(item, Invitation) else getattr(item, "ttl", None)


def _make_magazine(draws: Draws) -> list[Entity]:
    items: list[Entity] = []
    for number in range(1, _AUTHORS + 1):
        author = f"author-{number:03}"
        items.append(AnyItem.of("author", author, joined=_day(draws.ago(_YEAR))))
        for written in range(draws.random.randint(4, 14)):
            article = f"article-{number:03}-{written:02}"
            title = f"{draws.random.choice(_SUBJECTS)}, part {written + 1}"
            words = draws.random.randint(300, 4000)
            items.append(AnyItem.of("article", article, title=title, words=words))
            items.append(AnyItem.of("author-article", f"/{author}/{article}"))
        for draft in range(draws.random.randint(2, 8)):
            # A draft is kept for a week, and half of them are older.
            expiry = draws.ago(7 * _DAY) if draft % 2 else draws.ahead(7 * _DAY)
            items.append(AnyItem.of("draft", f"/{author}/draft-{draft:02}", ttl=expiry))
    return items


def _make_platform(draws: Draws) -> list[Entity]:
    items: list[Entity] = [Issuer(issuer=url, created_at=draws.ago(_YEAR)) for url in _ISSUERS]
    items.append(ActiveIssuer(issuer=_ISSUERS[0]))
    identities = [f"identity-{number:03}" for number in range(1, _IDENTITIES + 1)]
    items.extend(
        Identity(identity_id=identity, iss=_ISSUERS[0], sub=f"sub-{identity[-3:]}")
        for identity in identities
    )
    for tenant in _TENANTS:
        created = draws.ago(_YEAR)
        deleted = draws.now - _DAY if tenant == "dunder" else None
        items.append(
            Tenant(
                tenant_id=tenant, created_at=created, created_by=identities[0], deleted_at=deleted
            )
        )
        for identity in sorted(draws.random.sample(identities, draws.random.randint(3, 12))):
            items.append(TenantIdentity(tenant_id=tenant, identity_id=identity))
            items.append(IdentityTenant(tenant_id=tenant, identity_id=identity))
        for number in range(6):
            # The older half is past its 24 hours.
            made = draws.ago(_DAY) if number % 2 else draws.ago(2 * _DAY) - _DAY
            items.append(
                Invitation(
                    tenant_id=tenant,
                    invitation_id=draws.ulid(Ulid, made),
                    created_at=made,
                    expires=made + letsgo.INVITATION_LASTS,
                )
            )
    return items


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _items_of(world: World, category: str, prefix: str = "") -> list[AnyItem]:
    items = [each for each in world.find(AnyItem) if each.category == category]
    return [each for each in items if each.key.startswith(prefix)]


def _expect_items(world: World) -> None:
    article = _items_of(world, "article")[0]
    expired = next(each for each in world.find_expired(AnyItem) if each.category == "draft")
    world.expect(letsgo.get_item, article, category="article", key=article.key)
    world.expect(letsgo.get_item, None, category="draft", key=expired.key)
    note = AnyItem.of("note", "note-1", text="Call the printer.", ttl=world.now + _DAY)
    world.expect(letsgo.put_item, note, item=note)
    world.put(note)
    old = _items_of(world, "author-article")[-1]
    world.expect(letsgo.delete_item, old, category="author-article", key=old.key)
    world.expect(letsgo.delete_item, None, category="author-article", key=old.key)
    world.drop(old)
    # Half the drafts between the first and the tenth are expired, and read past.
    drafts = _items_of(world, "draft")
    world.expect(letsgo.list_items, drafts[:10], category="draft", limit=10)
    articles = _items_of(world, "author-article", "/author-007/")
    world.expect(letsgo.list_items, articles, category="author-article", key_prefix="/author-007/")


def _expect_tenants(world: World) -> None:
    tenants = {each.tenant_id: each for each in world.find(Tenant)}
    new = Tenant(tenant_id="quarry", created_at=world.now, created_by="identity-001")
    world.expect(letsgo.create_tenant, new, tenant=new)
    world.expect(letsgo.create_tenant, AlreadyExists, tenant=tenants["dunder"])
    world.put(new)
    world.expect(letsgo.get_tenant, tenants["acme"], tenant_id="acme")
    world.expect(letsgo.get_tenant, None, tenant_id="dunder")
    gone = tenants["krusty"].model_copy(update={"deleted_at": world.now, "deleted_by": "ops"})
    world.expect(letsgo.delete_tenant, gone, tenant_id="krusty", deleted_by="ops")
    world.put(gone)
    identity = world.find(Identity)[0].model_copy(update={"sub": "sub-new"})
    world.expect(letsgo.put_identity, identity, identity=identity)
    world.put(identity)
    world.expect(letsgo.get_identity, identity, identity_id=identity.identity_id)
    link = {"tenant_id": "quarry", "identity_id": identity.identity_id}
    added = [TenantIdentity(**link), IdentityTenant(**link)]
    world.expect(letsgo.add_identity_to_tenant, [None, *added], **link)
    world.expect(
        letsgo.add_identity_to_tenant, TransactionFailed, **{**link, "tenant_id": "dunder"}
    )
    world.put(*added)
    _expect_memberships(world, identity.identity_id)


def _expect_memberships(world: World, identity: str) -> None:
    forward = [each for each in world.find(TenantIdentity) if each.tenant_id == "acme"]
    leaving = forward[0].identity_id
    world.expect(
        letsgo.remove_identity_from_tenant, [None, None], tenant_id="acme", identity_id=leaving
    )
    world.drop(forward[0], IdentityTenant(tenant_id="acme", identity_id=leaving))
    world.expect(letsgo.list_identities_of_tenant, forward[1:], tenant_id="acme")
    backward = [each for each in world.find(IdentityTenant) if each.identity_id == identity]
    world.expect(letsgo.list_tenants_of_identity, backward, identity_id=identity)


def _expect_issuers(world: World) -> None:
    first = {each.issuer: each for each in world.find(Issuer)}[_ISSUERS[0]]
    new = Issuer(issuer="https://three.letsgo.example/", created_at=world.now)
    world.expect(letsgo.create_issuer, new, issuer=new)
    world.expect(letsgo.create_issuer, AlreadyExists, issuer=first)
    world.put(new)
    world.expect(letsgo.get_issuer, first, issuer=first.issuer)
    active = ActiveIssuer(issuer=new.issuer)
    world.expect(letsgo.activate_issuer, [None, active], issuer=new.issuer)
    world.expect(letsgo.activate_issuer, TransactionFailed, issuer="https://no.letsgo.example/")
    world.put(active)
    world.expect(letsgo.get_active_issuer, new)


def _expect_invitations(world: World, draws: Draws) -> None:
    invitation_id = draws.ulid(Ulid, world.now)
    given = Invitation(tenant_id="acme", invitation_id=invitation_id, created_at=world.now)
    made = given.model_copy(update={"expires": world.now + letsgo.INVITATION_LASTS})
    world.expect(letsgo.create_invitation, made, invitation=given)
    world.put(made)
    live = [each for each in world.find(Invitation) if each.tenant_id == "acme"]
    expired = next(each for each in world.find_expired(Invitation) if each.tenant_id == "acme")
    world.expect(letsgo.list_invitations, live, tenant_id="acme")
    world.expect(
        letsgo.revoke_invitation, live[0], tenant_id="acme", invitation_id=live[0].invitation_id
    )
    world.drop(live[0])
    link = {"tenant_id": "acme", "identity_id": "identity-new"}
    links = [TenantIdentity(**link), IdentityTenant(**link)]
    world.expect(
        letsgo.accept_invitation, [None, None, *links], invitation_id=made.invitation_id, **link
    )
    world.expect(
        letsgo.accept_invitation, TransactionFailed, invitation_id=expired.invitation_id, **link
    )
    world.drop(made)
    world.put(*links)
