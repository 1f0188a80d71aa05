"""The tables that the matrix is about: what there is in them, whose, and who asks for it."""

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
    Place,
    calls_on_items,
    case_of,
    queries,
    text,
    transact,
)
from tests.tenants.enforcement_points import Somebody
from tests.unit.policy.clinic import (
    File,
    Member,
    Note,
    Setting,
    Topic,
    by_key,
    by_owner,
    by_text,
    ward,
)

ULID = "01JZ10H7X367VB2NF4YQ973DH"
NAMED = ("text", "state", "rank")
SIDES = {"own": "ada", "foreign": "bob"}


@dataclass(frozen=True)
class Design:
    """A table, those who use it, and what they try."""

    table: Table
    people: list[Somebody]
    places: list[Place]
    # Partitions of indexes, by what to call them.
    partitions: dict[str, tuple[str, Item]]
    requests: dict[str, Request[Any]]
    # What else is tried, of calls on items.
    calls: dict[str, Call]

    @property
    def items(self) -> list[Item]:
        return [place.item for place in self.places]

    def cases(self) -> Iterator[Case]:
        """Yield all that is about partitions."""
        for place in self.places:
            beside = next(each for each in self.places if each.side != "foreign")
            for case in calls_on_items(self.table.name, place, beside):
                yield case._replace(name=f"{place.name}: {case.name}")
            partition = {"pk": place.key["pk"]}
            for case in queries(self.table.name, partition, None, place.changed):
                yield case._replace(name=f"{place.name}: {case.name}")
        for name, (index, partition) in self.partitions.items():
            for case in queries(self.table.name, partition, index, "sk"):
                yield case._replace(name=f"{name}: {case.name}")
        for name, request in self.requests.items():
            yield case_of(name, request)
        for name, call in self.calls.items():
            yield Case(name, call)


def place_of(side: str, area: str, entity: Entity, changed: str) -> Place:
    item = item_of(entity)
    key = {name: item.pop(name) for name in ("pk", "sk")}
    return Place(area, side, key, item, changed)


def item_of(entity: Entity) -> Item:
    """Return what is stored of an entity."""
    create: Any = entity.create()
    return dict(create.item)


def requests_for(
    side: str, entity: Any, parts: dict[str, Any], field: str
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
        "update blindly": update.returning_nothing(),
        "update if": update.where(path.exists()),
        "delete": kind.delete(**parts),
        "delete blindly": kind.delete(**parts).returning_nothing(),
        "check": transaction(check),
        "create in a transaction": transaction(entity.create()),
        "delete in a transaction": transaction(kind.delete(**parts)),
        "get in a transaction": transaction(kind.get(**parts)),
        "get in a batch": batch([kind.get(**parts)]),
    }
    if not kind.keyfold_schema().unique:
        made |= {
            "put": entity.put(),
            "put blindly": entity.put().returning_nothing(),
            "replace": entity.replace(),
            "put in a batch": batch([entity.put()]),
            "delete in a batch": batch([kind.delete(**parts)]),
        }
    for name, request in made.items():
        yield f"{side} {kind.__name__}: {name}", request


def somebody(table: Table, role: str) -> Somebody:
    found = table.roles[role]
    return Somebody(found, {} if found.tenant is None else {found.tenant: "ada"})


def calls_on_note(side: str, note: Item) -> Iterator[tuple[str, Call]]:
    """Yield calls on what roles may not see or not change, and into index partitions of others."""
    key = {name: note[name] for name in ("pk", "sk")}
    keyed = {"TableName": ward.name, "Key": key}

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
        "get what is hidden": ("GetItem", {**keyed, "ProjectionExpression": "secret"}),
        "get what is not declared": ("GetItem", {**keyed, "ProjectionExpression": "undeclared"}),
        "get a part of what is hidden": ("GetItem", {**keyed, "ProjectionExpression": "secret.x"}),
        "change what is hidden": update("SET secret = :v", v="x"),
        "copy what is hidden": update("SET #text = secret"),
        "copy a part of what is hidden": update("SET #text = if_not_exists(secret.x, :v)", v="x"),
        "change what is fixed": update("SET #state = :v", v="x"),
        "remove what is fixed": update("REMOVE #state"),
        "delete if what is hidden is so": (
            "DeleteItem",
            {**keyed, "ConditionExpression": "attribute_exists(secret)"},
        ),
        "copy what is fixed": update("SET #rank = #state"),
        "let it compute whose it is": update("SET owner_pk = #text"),
        "take it out of an index": update("REMOVE owner_pk"),
    }
    for user in SIDES.values():
        for name, value in (("owner_pk", f"O#{user}"), ("pair_user", f"P#{user}")):
            tried[f"update {name} to {user}'s"] = update(f"SET {name} = :v", v=value)
            item = {**note, name: text(value)}
            tried[f"put {name} of {user}'s"] = ("PutItem", {"TableName": ward.name, "Item": item})
            writes = [{"PutRequest": {"Item": item}}]
            batched = {"RequestItems": {ward.name: writes}}
            tried[f"put {name} of {user}'s in a batch"] = ("BatchWriteItem", batched)
            put = {"Put": {"TableName": ward.name, "Item": item}}
            tried[f"put {name} of {user}'s in a transaction"] = transact("TransactWriteItems", put)
        moved = {**note, "sk": text(f"MEMBER#{user}")}
        tried[f"put under the key of {user}'s"] = (
            "PutItem",
            {"TableName": ward.name, "Item": moved},
        )
    for name, call in tried.items():
        yield f"{side} note: {name}", call


def make_ward() -> Design:
    places: list[Place] = []
    partitions: dict[str, tuple[str, Item]] = {
        "everybody's, by state": ("ByState", {"state": text("new")})
    }
    calls: dict[str, Call] = {}
    requests: dict[str, Request[Any]] = {
        "scan of all": ward.scan(),
        "scan of notes by owner": Note.scan(by_owner),
        "query of a topic": Topic.query(topic="flu"),
    }
    for side, user in SIDES.items():
        note = Note(user=user, id="1", text=user, secret="hush", state="new", rank="1", topic="flu")
        plain = Note(user=user, id="2", text=user)
        member = Member(user=user, email=f"{user}@x", age=3)
        file = File(user=user, box="left", name="scan", size=3)
        places += [
            place_of(side, "notes", note, "text"),
            place_of(side, "plain notes", plain, "text"),
            place_of(side, "members", member, "age"),
            place_of(side, "files", file, "size"),
        ]
        calls |= calls_on_note(side, item_of(note))
        partitions |= {
            f"{side} owner": ("ByOwner", {"owner_pk": text(f"O#{user}")}),
            f"{side} mix": ("ByMix", {"mix": text(f"M#{user}")}),
            f"{side} pair": ("ByPair", {"pair_user": text(f"P#{user}"), "pair_topic": text("flu")}),
            f"{side} texts": ("ByText", {"pk": text(f"U#{user}")}),
            f"{side} member by key": ("ByKey", {"sk": text(f"MEMBER#{user}")}),
        }
        requests |= dict(requests_for(side, note, {"user": user, "id": "1"}, "text"))
        requests |= dict(requests_for(side, plain, {"user": user, "id": "2"}, "text"))
        requests |= dict(requests_for(side, member, {"user": user}, "email"))
        requests |= dict(
            requests_for(side, file, {"user": user, "box": "left", "name": "scan"}, "size")
        )
        requests |= {
            f"{side} notes": Note.query(user=user),
            f"{side} notes by owner": Note.query(by_owner, user=user),
            f"{side} notes by text": Note.query(by_text, user=user),
            f"{side} member by key": Member.query(by_key, user=user),
        }
    topic, setting = Topic(topic="flu", title="Flu"), Setting(name="hours", value="9 to 5")
    places += [
        place_of("shared", "catalog", topic, "title"),
        place_of("shared", "settings", setting, "v"),
        Place("unique values", "foreign", unique_key("bob@x"), {"guards": text("x")}, "guards"),
        Place("nothing", "shared", {"pk": text("X"), "sk": text("Y")}, {"a": text("x")}, "a"),
        Place("empty user", "foreign", {"pk": text("U#"), "sk": text("N#1")}, {}, "text"),
    ]
    requests |= dict(requests_for("shared", topic, {"topic": "flu"}, "title"))
    requests |= dict(requests_for("shared", setting, {"name": "hours"}, "value"))
    people = [somebody(ward, role) for role in ward.roles]
    return Design(ward, people, places, partitions, requests, calls)


def unique_key(email: str) -> Item:
    return {"pk": text(f"keyfold#unique#Member#email#S#{email}"), "sk": text("keyfold#unique")}


def make_market() -> Design:
    places: list[Place] = []
    partitions: dict[str, tuple[str, Item]] = {}
    requests: dict[str, Request[Any]] = {"scan of all": market.table.scan()}
    price = Decimal("0.3")
    for side, user in SIDES.items():
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
            places.append(place_of(side, area, entity, field))
            requests |= dict(requests_for(side, entity, {"user": user, **parts}, field))
        partitions |= {
            f"{side} user by key": ("ReverseIndex", {"sk": text(f"U#{user}")}),
            f"{side} order by key": ("ReverseIndex", {"sk": text(str(order))}),
            f"{side} user by id": ("IdLookupIndex", {"id": text(f"{user}@x")}),
        }
        requests |= {
            f"{side} orders": market.last_orders(user, 3),
            f"{side} rewards": market.bonuses(user),
            f"{side} payments": market.payments(user),
        }
    account = market.AccountId(f"A#{ULID}W")
    number = market.OrderNumber(id="2026-1", user="bob", order=market.OrderId(f"O#{ULID}B"))
    places += [
        place_of("shared", "accounts", market.Account(account=account, name="x"), "name"),
        place_of("shared", "order numbers", number, "user"),
    ]
    people = [somebody(market.table, role) for role in market.table.roles]
    return Design(market.table, people, places, partitions, requests, {})
