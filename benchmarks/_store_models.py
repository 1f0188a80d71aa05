"""An order of twelve attributes and about 400 bytes, as three libraries declare it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import orjson
from pydantic import BaseModel

from benchmarks._orders import PER_CUSTOMER, TABLE, make_key
from keyfold.engine import Engine
from keyfold.model import Entity, Key, Table, attr, part
from keyfold.values import Item

shop = Table(TABLE, key=Key("pk", "sk"))
typed_shop = Table(TABLE, key=Key("pk", "sk"))


class Order(Entity, table=shop, key=("{pk}", "{sk}")):
    """Ours, declared like the others: keys are text that the caller composes."""

    pk: str
    sk: str
    gsi1pk: str
    gsi1sk: str
    gsi2pk: str
    gsi2sk: str
    kind: str
    amount: Decimal
    quantity: int
    paid: bool
    tags: set[str]
    note: str


class TypedOrder(
    Entity, table=typed_shop, key=("CUSTOMER#{customer:010}", "ORDER#{day}#{slot:06}")
):
    """Ours, as our users declare it: the key is rendered from fields and checked on reading."""

    customer: int = part()
    day: date = part()
    slot: int = part()
    product: str = attr("gsi1pk")
    product_order: str = attr("gsi1sk")
    courier: str = attr("gsi2pk")
    courier_order: str = attr("gsi2sk")
    kind: str
    amount: Decimal
    quantity: int
    paid: bool
    tags: set[str]
    note: str


def text_parts(number: int) -> dict[str, Any]:
    """Return the fields of an Order's key."""
    return {name: value["S"] for name, value in make_key(number).items()}


def typed_parts(number: int) -> dict[str, Any]:
    """Return the fields of a TypedOrder's key."""
    slot = number % PER_CUSTOMER
    return {"customer": number // PER_CUSTOMER, "day": date(2026, 11, slot + 1), "slot": slot}


class PlainOrder(BaseModel):
    """A pydantic model without a library, for conversion with boto3's serializers."""

    pk: str
    sk: str
    gsi1pk: str
    gsi1sk: str
    gsi2pk: str
    gsi2sk: str
    kind: str
    amount: Decimal
    quantity: int
    paid: bool
    tags: set[str]
    note: str


def plain_codec() -> tuple[Callable[[PlainOrder], Item], Callable[[Item], PlainOrder]]:
    """Return functions from a PlainOrder to an item and back, with boto3's serializers."""
    types: Any = import_module("boto3.dynamodb.types")
    serialize, deserialize = types.TypeSerializer().serialize, types.TypeDeserializer().deserialize

    def encode(order: PlainOrder) -> Item:
        return {name: serialize(value) for name, value in order.model_dump().items()}

    def decode(item: Item) -> PlainOrder:
        return PlainOrder.model_validate({name: deserialize(value) for name, value in item.items()})

    return encode, decode


class Transport:
    """An engine that records the last request, below a store or in place of botocore."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.last: tuple[str, dict[str, Any]] = ("", {})

    def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Execute one call."""
        self.last = (operation, request)
        return self.engine.execute(operation, request)


def make_pynamodb_model(transport: Transport | None = None, host: str | None = None) -> Any:
    """Return PynamoDB's model of an order, which calls an engine or a server."""
    # By name: it may not be installed.
    attributes: Any = import_module("pynamodb.attributes")
    models: Any = import_module("pynamodb.models")
    texts = ("gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "kind", "note")
    model: Any = type(models.Model)(
        "Order",
        (models.Model,),
        {
            "Meta": type("Meta", (), {"table_name": TABLE, "region": "us-east-1", "host": host}),
            "pk": attributes.UnicodeAttribute(hash_key=True),
            "sk": attributes.UnicodeAttribute(range_key=True),
            **{name: attributes.UnicodeAttribute() for name in texts},
            "amount": attributes.NumberAttribute(),
            "quantity": attributes.NumberAttribute(),
            "paid": attributes.BooleanAttribute(),
            "tags": attributes.UnicodeSetAttribute(),
        },
    )
    if transport is not None:
        model._get_connection().connection._make_api_call = transport.execute  # noqa: SLF001 - the call into botocore
    return model


def make_boto3_table(transport: Transport) -> Any:
    """Return boto3's table resource, which calls an engine."""
    boto3: Any = import_module("boto3")
    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "none")
    table = boto3.resource("dynamodb", region_name="us-east-1", **keys).Table(TABLE)

    def answer(model: Any, params: dict[str, Any], **_: object) -> tuple[Any, dict[str, Any]]:
        # The body is what would go over the wire.
        response = transport.execute(model.name, orjson.loads(params["body"]))
        return SimpleNamespace(status_code=200), response

    table.meta.client.meta.events.register("before-call.dynamodb", answer)
    return table
