"""A table with system keys, and patterns that fail in many ways."""

from __future__ import annotations

from keyfold import (
    ALL,
    EVERYTHING,
    READ,
    WRITE,
    Entity,
    Get,
    Key,
    Put,
    Query,
    Role,
    Table,
    Transaction,
    Ulid,
    part,
    transaction,
)
from keyfold.errors import TransactionInvalid

kiosk = Table("Kiosk", key=Key("pk", "sk"))
stalls = kiosk.shard("STALL#{user}", name="stalls")


class ItemId(Ulid, prefix="item", separator="_", is_system_key=True): ...


class Item(Entity, table=kiosk, key=(stalls, "{item}")):
    user: str = part()
    item: ItemId = part()
    price: int = 1


kiosk.add_role(Role("buyer", tenant="user", can={stalls: READ | WRITE}, is_end_user=True))
kiosk.add_role(
    Role(
        "owner",
        can={EVERYTHING: ALL},
        operations=["DescribeTable", "ExecuteStatement", "ListTables"],
        is_end_user=True,
    )
)


@kiosk.pattern("Add")
def add(user: str, item: ItemId, price: int = 1) -> Put[Item]:
    return Item(user=user, item=item, price=price).create()


@kiosk.pattern("Get")
def get(user: str, item: ItemId) -> Get[Item]:
    return Item.get(user=user, item=item)


@kiosk.pattern("Break")
def break_it(item: ItemId) -> Get[Item]:
    raise ValueError(f"no {item}")


@kiosk.pattern("Validate")
def validate(user: str, item: ItemId) -> Get[Item]:
    Item.model_validate({"user": user, "item": item, "price": f"{item}"})
    return Item.get(user=user, item=item)


@kiosk.pattern("Refuse")
def refuse(item: ItemId) -> Get[Item]:
    raise TransactionInvalid(f"{item} is empty", "Fill it.")


@kiosk.pattern("Twice")
def twice(user: str, item: ItemId) -> Transaction:
    request = Item.get(user=user, item=item)
    return transaction(request, request)


@kiosk.pattern("Cheap")
def cheap(user: str, item: ItemId) -> Query[Item]:
    return Item.query(user=user).where(Item.f.price < 3)
