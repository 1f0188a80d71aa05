"""The tables of the matrix: their items, who owns them, and the principals that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from keyfold.designs import market
from keyfold.model import Entity, Request, Table, batch, transaction
from tests.tenants.cases import (
    Call,
    Case,
    Item,
    Target,
    calls_on_items,
    case_of,
    queries,
    text,
    transact,
)
from tests.tenants.enforcement_points import TenantPrincipal
from tests.unit.policy.clinic import (
    File,
    Member,
    Note,
    Setting,
    Topic,
    by_key,
    by_owner,
    by_text,
    clinic,
)

ULID = "01JZ10H7X367VB2NF4YQ973DH"
NAMED = ("text", "state", "rank")
USERS = {"own": "ada", "foreign": "bob"}


@dataclass(frozen=True)
class Design:
    """A table, its principals, and what they try."""

    table: Table
    principals: list[TenantPrincipal]
    targets: list[Target]
    # Partitions of indexes, by label.
    partitions: dict[str, tuple[str, Item]]
    requests: dict[str, Request[Any]]
    # More calls on items, by label.
    calls: dict[str, Call]

    @property
    def items(self) -> list[Item]:
        return [target.item for target in self.targets]

    def cases(self) -> Iterator[Case]:
        """Yield all cases that name partitions."""
        for target in self.targets:
            companion = next(each for each in self.targets if each.owner != "foreign")
            for case in calls_on_items(self.table.name, target, companion):
                yield case._replace(name=f"{target.name}: {case.name}")
            partition = {"pk": target.key["pk"]}
            for case in queries(self.table.name, partition, None, target.changed):
                yield case._replace(name=f"{target.name}: {case.name}")
        for name, (index, partition) in self.partitions.items():
            for case in queries(self.table.name, partition, index, "sk"):
                yield case._replace(name=f"{name}: {case.name}")
        for name, request in self.requests.items():
            yield case_of(name, request)
        for name, call in self.calls.items():
            yield Case(name, call)


def target_for(owner: str, area: str, entity: Entity, changed: str) -> Target:
    item = item_of(entity)
    key = {name: item.pop(name) for name in ("pk", "sk")}
    return Target(area, owner, key, item, changed)


def item_of(entity: Entity) -> Item:
    """Return the item of an entity."""
    create: Any = entity.create()
    return dict(create.item)


def requests_for(
    owner: str, entity: Any, parts: dict[str, Any], field: str
) -> Iterator[tuple[str, Request[Any]]]:
    """Yield requests of each kind on one entity."""
    kind = cast(Any, type(entity))
    path = kind.f[field]
    update = kind.update(**parts).set(path, getattr(entity, field))
    check = kind.check(path.exists(), **parts)
    made: dict[str, Request[Any]] = {
        "get": kind.get(**parts),
        "create": entity.create(),
        "update": update,
        "update returning nothing": update.returning_nothing(),
        "update if": update.where(path.exists()),
        "delete": kind.delete(**parts),
        "delete returning nothing": kind.delete(**parts).returning_nothing(),
        "check": transaction(check),
        "create in a transaction": transaction(entity.create()),
        "delete in a transaction": transaction(kind.delete(**parts)),
        "get in a transaction": transaction(kind.get(**parts)),
        "get in a batch": batch([kind.get(**parts)]),
    }
    if not kind.keyfold_schema().unique:
        made |= {
            "put": entity.put(),
            "put returning nothing": entity.put().returning_nothing(),
            "replace": entity.replace(),
            "put in a batch": batch([entity.put()]),
            "delete in a batch": batch([kind.delete(**parts)]),
        }
    for name, request in made.items():
        yield f"{owner} {kind.__name__}: {name}", request


def principal_of(table: Table, *names: str) -> TenantPrincipal:
    roles = tuple(table.roles[name] for name in names)
    return TenantPrincipal(roles, {role.tenant: "ada" for role in roles if role.tenant is not None})


def calls_on_note(owner: str, note: Item) -> Iterator[tuple[str, Call]]:
    """Yield calls on hidden and fixed attributes, and writes into index partitions of others."""
    key = {name: note[name] for name in ("pk", "sk")}
    keyed = {"TableName": clinic.name, "Key": key}

    def update(text_: str, **values: str) -> Call:
        names = {f"#{name}": name for name in NAMED if f"#{name}" in text_}
        request: Item = {**keyed, "UpdateExpression": text_}
        if names:
            request["ExpressionAttributeNames"] = names
        if values:
            given = {f":{name}": text(value) for name, value in values.items()}
            request["ExpressionAttributeValues"] = given
        return "UpdateItem", request

    tried: dict[str, Call] = {
        "get a hidden attribute": ("GetItem", {**keyed, "ProjectionExpression": "secret"}),
        "get an undeclared attribute": ("GetItem", {**keyed, "ProjectionExpression": "undeclared"}),
        "get a part of a hidden attribute": (
            "GetItem",
            {**keyed, "ProjectionExpression": "secret.x"},
        ),
        "change a hidden attribute": update("SET secret = :v", v="x"),
        "copy a hidden attribute": update("SET #text = secret"),
        "copy a part of a hidden attribute": update(
            "SET #text = if_not_exists(secret.x, :v)", v="x"
        ),
        "change a fixed attribute": update("SET #state = :v", v="x"),
        "remove a fixed attribute": update("REMOVE #state"),
        "delete on condition of a hidden attribute": (
            "DeleteItem",
            {**keyed, "ConditionExpression": "attribute_exists(secret)"},
        ),
        "copy a fixed attribute": update("SET #rank = #state"),
        "compute the owner": update("SET owner_pk = #text"),
        "remove it from an index": update("REMOVE owner_pk"),
    }
    for user in USERS.values():
        for name, value in (("owner_pk", f"O#{user}"), ("pair_user", f"P#{user}")):
            tried[f"update {name} to {user}'s"] = update(f"SET {name} = :v", v=value)
            item = {**note, name: text(value)}
            tried[f"put {name} of {user}'s"] = ("PutItem", {"TableName": clinic.name, "Item": item})
            writes = [{"PutRequest": {"Item": item}}]
            batched = {"RequestItems": {clinic.name: writes}}
            tried[f"put {name} of {user}'s in a batch"] = ("BatchWriteItem", batched)
            put = {"Put": {"TableName": clinic.name, "Item": item}}
            tried[f"put {name} of {user}'s in a transaction"] = transact("TransactWriteItems", put)
        moved = {**note, "sk": text(f"MEMBER#{user}")}
        tried[f"put under the key of {user}'s"] = (
            "PutItem",
            {"TableName": clinic.name, "Item": moved},
        )
    for name, call in tried.items():
        yield f"{owner} note: {name}", call


def make_clinic() -> Design:
    targets: list[Target] = []
    partitions: dict[str, tuple[str, Item]] = {
        "everybody's, by state": ("ByState", {"state": text("new")})
    }
    calls: dict[str, Call] = {}
    requests: dict[str, Request[Any]] = {
        "scan of all": clinic.scan(),
        "scan of notes by owner": Note.scan(by_owner),
        "query of a topic": Topic.query(topic="flu"),
    }
    for owner, user in USERS.items():
        note = Note(user=user, id="1", text=user, secret="hush", state="new", rank="1", topic="flu")
        plain = Note(user=user, id="2", text=user)
        member = Member(user=user, email=f"{user}@x", age=3)
        file = File(user=user, box="left", name="scan", size=3)
        targets += [
            target_for(owner, "notes", note, "text"),
            target_for(owner, "plain notes", plain, "text"),
            target_for(owner, "members", member, "age"),
            target_for(owner, "files", file, "size"),
        ]
        calls |= calls_on_note(owner, item_of(note))
        partitions |= {
            f"{owner} owner": ("ByOwner", {"owner_pk": text(f"O#{user}")}),
            f"{owner} mix": ("ByMix", {"mix": text(f"M#{user}")}),
            f"{owner} pair": (
                "ByPair",
                {"pair_user": text(f"P#{user}"), "pair_topic": text("flu")},
            ),
            f"{owner} texts": ("ByText", {"pk": text(f"U#{user}")}),
            f"{owner} member by key": ("ByKey", {"sk": text(f"MEMBER#{user}")}),
        }
        requests |= dict(requests_for(owner, note, {"user": user, "id": "1"}, "text"))
        requests |= dict(requests_for(owner, plain, {"user": user, "id": "2"}, "text"))
        requests |= dict(requests_for(owner, member, {"user": user}, "email"))
        requests |= dict(
            requests_for(owner, file, {"user": user, "box": "left", "name": "scan"}, "size")
        )
        requests |= {
            f"{owner} notes": Note.query(user=user),
            f"{owner} notes by owner": Note.query(by_owner, user=user),
            f"{owner} notes by text": Note.query(by_text, user=user),
            f"{owner} member by key": Member.query(by_key, user=user),
        }
    topic, setting = Topic(topic="flu", title="Flu"), Setting(name="hours", value="9 to 5")
    targets += [
        target_for("shared", "catalog", topic, "title"),
        target_for("shared", "settings", setting, "v"),
        Target("unique values", "foreign", unique_key("bob@x"), {"guards": text("x")}, "guards"),
        Target("nothing", "shared", {"pk": text("X"), "sk": text("Y")}, {"a": text("x")}, "a"),
        Target("empty user", "foreign", {"pk": text("U#"), "sk": text("N#1")}, {}, "text"),
    ]
    requests |= dict(requests_for("shared", topic, {"topic": "flu"}, "title"))
    requests |= dict(requests_for("shared", setting, {"name": "hours"}, "value"))
    principals = [principal_of(clinic, role) for role in clinic.roles]
    principals += [
        principal_of(clinic, "patient", "nurse"),
        principal_of(clinic, "scribe", "patient"),
        principal_of(clinic, "auditor", "scribe"),
    ]
    return Design(clinic, principals, targets, partitions, requests, calls)


def unique_key(email: str) -> Item:
    return {"pk": text(f"keyfold#unique#Member#email#S#{email}"), "sk": text("keyfold#unique")}


def make_market() -> Design:
    targets: list[Target] = []
    partitions: dict[str, tuple[str, Item]] = {}
    requests: dict[str, Request[Any]] = {"scan of all": market.table.scan()}
    price = Decimal("0.3")
    for owner, user in USERS.items():
        end = user[0].upper()
        order = market.OrderId(f"O#{ULID}{end}")
        reward = market.RewardId(f"R#{ULID}{end}")
        product = market.ProductId(f"I#{ULID}{end}")
        bill, payment = market.BillId(f"B#{ULID}{end}"), market.PaymentId(f"P#{ULID}{end}")
        cart = market.CartId(f"C#{ULID}{end}")
        entities: list[tuple[str, Any, dict[str, Any], str]] = [
            ("profile", market.User(user=user, id=f"{user}@x", name=user), {}, "name"),
            ("profile", market.Cart(user=user, cart=cart), {"cart": cart}, "lines"),
            (
                "orders",
                market.Order(user=user, order=order, total=price),
                {"order": order},
                "total",
            ),
            (
                "rewards",
                market.Reward(user=user, reward=reward, amount=price),
                {"reward": reward},
                "amount",
            ),
            (
                "products",
                market.Product(user=user, product=product, name="x", price=price),
                {"product": product},
                "name",
            ),
            (
                "billing",
                market.Payment(
                    user=user, payment=payment, bill=bill, amount=price, card="hush", holder="x"
                ),
                {"payment": payment},
                "amount",
            ),
        ]
        for area, entity, parts, field in entities:
            targets.append(target_for(owner, area, entity, field))
            requests |= dict(requests_for(owner, entity, {"user": user, **parts}, field))
        partitions |= {
            f"{owner} user by key": ("ReverseIndex", {"sk": text(f"U#{user}")}),
            f"{owner} order by key": ("ReverseIndex", {"sk": text(str(order))}),
            f"{owner} user by id": ("IdLookupIndex", {"id": text(f"{user}@x")}),
        }
        requests |= {
            f"{owner} orders": market.last_orders(user, 3),
            f"{owner} rewards": market.bonuses(user),
            f"{owner} payments": market.payments(user),
        }
    account = market.AccountId(f"A#{ULID}W")
    targets += [
        target_for("shared", "accounts", market.Account(account=account, name="x"), "name"),
    ]
    principals = [principal_of(market.table, role) for role in market.table.roles]
    principals += [
        principal_of(market.table, "customer", "seller"),
        principal_of(market.table, "support", "fulfilment"),
    ]
    return Design(market.table, principals, targets, partitions, requests, {})
