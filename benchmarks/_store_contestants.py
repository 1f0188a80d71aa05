"""The sides of bench_store: what each does to convert an order, and to get, put and query it.

A side of a call is paired with the call of the engine that it makes. The difference is what the
library costs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks._orders import PER_CUSTOMER, TABLE, Draw, customer_of, make_key, make_order
from benchmarks._store_models import (
    Order,
    Transport,
    TypedOrder,
    make_pynamodb_model,
    plain_codec,
    shop,
    text_parts,
    typed_parts,
    typed_shop,
)
from keyfold.engine import Engine
from keyfold.store import Store, StoreSettings
from keyfold.values import Item

ITEMS = 50 * PER_CUSTOMER


@dataclass(frozen=True, slots=True)
class Side:
    """From a draw to what a side is given, and what it does with that."""

    prepare: Callable[[Draw], Any]
    call: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured; the sides that have a pair are measured beside it, and it is subtracted."""

    name: str
    sides: dict[str, Side]
    pairs: dict[str, Side]


@contextmanager
def open_cases() -> Generator[list[Case]]:
    """Fill a table in memory, and give what is measured on it."""
    with Engine.open(":memory:") as engine:
        Store(engine, StoreSettings([shop])).create_table(shop)
        for number in range(ITEMS):
            engine.execute("PutItem", {"TableName": TABLE, "Item": make_order(Draw(number))})
        transport = Transport(engine)
        model = make_pynamodb_model(transport)
        cases = [*_make_conversions(engine, model), *_make_calls(engine, model, transport)]
        _check_agreement(cases)
        yield cases


# Conversions.


def _make_conversions(engine: Engine, model: Any) -> list[Case]:
    plain_encode, plain_decode = plain_codec()

    def read(draw: Draw) -> Item:
        return engine.execute("GetItem", {"TableName": TABLE, "Key": make_key(draw.number)})["Item"]

    def read_all(draw: Draw) -> list[Item]:
        return engine.execute("Query", _query_request(draw))["Items"]

    decoders: dict[str, Callable[[Item], Any]] = {
        "keyfold": _our_decoder(Order),
        "typed": _our_decoder(TypedOrder),
        "pynamodb": model.from_raw_data,
        "pydantic": plain_decode,
    }
    encoders: dict[str, Callable[[Any], Any]] = {
        "keyfold": Order.keyfold_schema().encode,
        "typed": TypedOrder.keyfold_schema().encode,
        "pynamodb": lambda order: order.serialize(),
        "pydantic": plain_encode,
    }
    return [
        Case("item to entity", {name: Side(read, each) for name, each in decoders.items()}, {}),
        Case(
            "20 items to entities",
            {name: Side(read_all, _each(decode)) for name, decode in decoders.items()},
            {},
        ),
        Case(
            "entity to item",
            {name: Side(_made_by(decoders[name]), encode) for name, encode in encoders.items()},
            {},
        ),
    ]


def _our_decoder(entity: type[Order | TypedOrder]) -> Callable[[Item], Any]:
    """Return what the store does with an item that it has read."""
    schema = entity.keyfold_schema()
    return lambda item: schema.decode(item, schema.read_keys(item))


def _each(decode: Callable[[Item], Any]) -> Callable[[list[Item]], Any]:
    return lambda items: [decode(item) for item in items]


def _made_by(decode: Callable[[Item], Any]) -> Callable[[Draw], Any]:
    return lambda draw: decode(make_order(draw))


def _query_request(draw: Draw) -> dict[str, Any]:
    # As the store asks for it: its pages carry the capacity.
    query = Order.query(pk=customer_of(draw.number)).to_dynamodb()
    return {**query, "ReturnConsumedCapacity": "TOTAL"}


# Calls.


def _make_calls(engine: Engine, model: Any, transport: Transport) -> list[Case]:
    store = Store(engine, StoreSettings([shop], cursor_key=b"benchmark" * 2))
    typed_store = Store(engine, StoreSettings([typed_shop], cursor_key=b"benchmark" * 2))
    calls: dict[str, tuple[str, Callable[[Draw], dict[str, Any]]]] = {
        "get": ("GetItem", lambda draw: Order.get(**text_parts(draw.number)).to_dynamodb()),
        "put": ("PutItem", lambda draw: {"TableName": TABLE, "Item": make_order(draw)}),
        "query of 20": ("Query", _query_request),
    }
    sides = {
        "keyfold": {
            "get": Side(
                lambda draw: text_parts(draw.number), lambda parts: store.run(Order.get(**parts))
            ),
            "put": Side(_made_by(_our_decoder(Order)), lambda order: store.run(order.put())),
            "query of 20": Side(
                lambda draw: customer_of(draw.number), lambda pk: store.run(Order.query(pk=pk))
            ),
        },
        "typed": {
            "get": Side(
                lambda draw: typed_parts(draw.number),
                lambda parts: typed_store.run(TypedOrder.get(**parts)),
            ),
            "put": Side(
                _made_by(_our_decoder(TypedOrder)), lambda order: typed_store.run(order.put())
            ),
            "query of 20": Side(
                lambda draw: draw.number // PER_CUSTOMER,
                lambda customer: typed_store.run(TypedOrder.query(customer=customer)),
            ),
        },
        "pynamodb": {
            "get": Side(
                lambda draw: text_parts(draw.number).values(), lambda given: model.get(*given)
            ),
            "put": Side(_made_by(model.from_raw_data), lambda order: order.save()),
            "query of 20": Side(
                lambda draw: customer_of(draw.number), lambda pk: list(model.query(pk))
            ),
        },
    }

    def repeat(side: Side) -> Side:
        """Return the bare call that a side of PynamoDB makes."""

        def prepare(draw: Draw) -> tuple[str, dict[str, Any]]:
            side.call(side.prepare(draw))
            return transport.last

        return Side(prepare, lambda last: engine.execute(*last))

    return [
        Case(
            name,
            {side: made[name] for side, made in sides.items()},
            {
                "keyfold": _bare(engine, *calls[name]),
                "typed": _bare(engine, *calls[name]),
                "pynamodb": repeat(sides["pynamodb"][name]),
            },
        )
        for name in calls
    ]


def _bare(engine: Engine, operation: str, make: Callable[[Draw], dict[str, Any]]) -> Side:
    return Side(make, lambda request: engine.execute(operation, request))


def _check_agreement(cases: list[Case]) -> None:
    """Let every side do everything once, and compare what it is about."""
    draw = Draw(7)
    for case in cases:
        results = [side.call(side.prepare(draw)) for side in case.sides.values()]
        match case.name:
            case "20 items to entities" | "query of 20":
                seen = {tuple(each.note for each in found) for found in results}
            case "item to entity" | "get":
                seen = {(found.note, found.quantity, frozenset(found.tags)) for found in results}
            case "entity to item":
                seen = {
                    repr(sorted((name, *value) for name, value in item.items())) for item in results
                }
            case _:
                continue
        assert len(seen) == 1, case.name
