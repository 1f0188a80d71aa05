"""The contestants of bench_store: how each converts an order, and gets, puts and queries it.

A contestant's call is paired with the engine call that it makes. The difference is the cost of the
library.
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
class StoreContestant:
    """How a contestant prepares its argument from a draw, and what it does with it."""

    prepare: Callable[[Draw], Any]
    call: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured; the time of a contestant's pair, if any, is subtracted from its own."""

    name: str
    contestants: dict[str, StoreContestant]
    pairs: dict[str, StoreContestant]


@contextmanager
def open_cases() -> Generator[list[Case]]:
    """Fill a table in memory, and yield the cases that are measured on it."""
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
        Case(
            "item to entity",
            {name: StoreContestant(read, each) for name, each in decoders.items()},
            {},
        ),
        Case(
            "20 items to entities",
            {name: StoreContestant(read_all, _each(decode)) for name, decode in decoders.items()},
            {},
        ),
        Case(
            "entity to item",
            {
                name: StoreContestant(_made_by(decoders[name]), encode)
                for name, encode in encoders.items()
            },
            {},
        ),
    ]


def _our_decoder(entity: type[Order | TypedOrder]) -> Callable[[Item], Any]:
    """Return a function that decodes an item as the store does after a read."""
    schema = entity.keyfold_schema()
    return lambda item: schema.decode(item, schema.read_keys(item))


def _each(decode: Callable[[Item], Any]) -> Callable[[list[Item]], Any]:
    return lambda items: [decode(item) for item in items]


def _made_by(decode: Callable[[Item], Any]) -> Callable[[Draw], Any]:
    return lambda draw: decode(make_order(draw))


def _query_request(draw: Draw) -> dict[str, Any]:
    # As the store sends it: its pages report the capacity.
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
    contestants = {
        "keyfold": {
            "get": StoreContestant(
                lambda draw: text_parts(draw.number), lambda parts: store.run(Order.get(**parts))
            ),
            "put": StoreContestant(
                _made_by(_our_decoder(Order)), lambda order: store.run(order.put())
            ),
            "query of 20": StoreContestant(
                lambda draw: customer_of(draw.number), lambda pk: store.run(Order.query(pk=pk))
            ),
        },
        "typed": {
            "get": StoreContestant(
                lambda draw: typed_parts(draw.number),
                lambda parts: typed_store.run(TypedOrder.get(**parts)),
            ),
            "put": StoreContestant(
                _made_by(_our_decoder(TypedOrder)), lambda order: typed_store.run(order.put())
            ),
            "query of 20": StoreContestant(
                lambda draw: draw.number // PER_CUSTOMER,
                lambda customer: typed_store.run(TypedOrder.query(customer=customer)),
            ),
        },
        "pynamodb": {
            "get": StoreContestant(
                lambda draw: text_parts(draw.number).values(), lambda given: model.get(*given)
            ),
            "put": StoreContestant(_made_by(model.from_raw_data), lambda order: order.save()),
            "query of 20": StoreContestant(
                lambda draw: customer_of(draw.number), lambda pk: list(model.query(pk))
            ),
        },
    }

    def repeat(contestant: StoreContestant) -> StoreContestant:
        """Return the bare engine call that a PynamoDB contestant makes."""

        def prepare(draw: Draw) -> tuple[str, dict[str, Any]]:
            contestant.call(contestant.prepare(draw))
            return transport.last

        return StoreContestant(prepare, lambda last: engine.execute(*last))

    return [
        Case(
            name,
            {contestant: made[name] for contestant, made in contestants.items()},
            {
                "keyfold": _bare(engine, *calls[name]),
                "typed": _bare(engine, *calls[name]),
                "pynamodb": repeat(contestants["pynamodb"][name]),
            },
        )
        for name in calls
    ]


def _bare(
    engine: Engine, operation: str, make: Callable[[Draw], dict[str, Any]]
) -> StoreContestant:
    return StoreContestant(make, lambda request: engine.execute(operation, request))


def _check_agreement(cases: list[Case]) -> None:
    """Run every case once with every contestant, and compare the results."""
    draw = Draw(7)
    for case in cases:
        results = [
            contestant.call(contestant.prepare(draw)) for contestant in case.contestants.values()
        ]
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
