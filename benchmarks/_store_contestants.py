"""The contestants of bench_store: how each converts an order, and gets, puts and queries it.

A contestant's call is paired with the engine call that it makes. The difference is the cost of the
library. The requests of these engine calls are recorded as they are sent, and are themselves
compared with the plainest ones that do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import count
from typing import Any

from benchmarks._orders import (
    PER_CUSTOMER,
    Draw,
    Request,
    customer_of,
    make_get,
    make_order,
    make_put,
    make_query,
)
from benchmarks._rounds import Row, Target
from benchmarks._store_models import (
    Order,
    Transport,
    TypedOrder,
    make_boto3_table,
    make_pynamodb_model,
    plain_codec,
    shop,
    text_parts,
    typed_parts,
    typed_shop,
)
from keyfold.engine import Engine
from keyfold.store import Executor, Store, StoreSettings
from keyfold.values import Item

ITEMS = 50 * PER_CUSTOMER
# How many times as long PynamoDB takes, and a library's request in the engine beside a plain one.
LIBRARY_TARGET = Target(2.0, is_least=True)
REQUEST_TARGET = Target(1.3)


@dataclass(frozen=True, slots=True)
class StoreContestant:
    """How a contestant prepares its argument from a draw, and what it does with it."""

    prepare: Callable[[Draw], Any]
    call: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class StoreCase:
    """What is measured; the time of a contestant's pair, if any, is subtracted from its own."""

    row: Row
    contestants: dict[str, StoreContestant]
    pairs: dict[str, StoreContestant] = field(default_factory=dict[str, StoreContestant])

    @property
    def name(self) -> str:
        """The name of the row."""
        return str(self.row.labels["name"])


@contextmanager
def open_cases() -> Generator[tuple[list[StoreCase], list[StoreCase]]]:
    """Fill a table in memory; yield the cases measured on it: of libraries, and of requests."""
    with Engine.open(":memory:") as engine:
        Store(engine, StoreSettings([shop])).create_table(shop)
        for number in range(ITEMS):
            engine.execute("PutItem", make_put(Draw(number)))
        transport = Transport(engine)
        model = make_pynamodb_model(transport)
        cases = [*_make_conversions(engine, model), *_make_calls(engine, model, transport)]
        requests = _make_requests(transport)
        _check_agreement(cases)
        _check_requests(requests)
        yield cases, requests


# Conversions.


def _make_conversions(engine: Engine, model: Any) -> list[StoreCase]:
    plain_encode, plain_decode = plain_codec()

    def read(draw: Draw) -> Item:
        return engine.execute("GetItem", make_get(draw))["Item"]

    def read_all(draw: Draw) -> list[Item]:
        return engine.execute("Query", make_query(draw))["Items"]

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
        StoreCase(
            _make_row("item to entity"),
            {name: StoreContestant(read, each) for name, each in decoders.items()},
        ),
        StoreCase(
            _make_row("20 items to entities"),
            {name: StoreContestant(read_all, _each(decode)) for name, decode in decoders.items()},
        ),
        StoreCase(
            _make_row("entity to item"),
            {
                name: StoreContestant(_made_by(decoders[name]), encode)
                for name, encode in encoders.items()
            },
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


def _make_row(name: str) -> Row:
    # No target: PynamoDB neither validates the value of an update nor works out what has changed.
    target = None if name in ("change", "validated set") else LIBRARY_TARGET
    return Row({"name": name}, ("pynamodb", "keyfold"), target)


# Calls.


def _our_calls(executor: Executor) -> dict[str, dict[str, StoreContestant]]:
    """Return the calls of our stores on an executor, by contestant and case."""
    settings = (StoreSettings([each], cursor_key=b"benchmark" * 2) for each in (shop, typed_shop))
    store, typed_store = (Store(executor, each) for each in settings)
    changes = {
        name: StoreContestant(
            _reader(executor, _our_decoder(entity)),
            lambda order, run=each.run: run(order.change(quantity=_next_quantity(order))),
        )
        for name, entity, each in (
            ("keyfold", Order, store),
            ("typed", TypedOrder, typed_store),
        )
    }
    return {
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
            "create": StoreContestant(
                _made_by(_our_decoder(Order)), lambda order: store.run(order.create())
            ),
            "validated set": StoreContestant(
                lambda draw: (text_parts(draw.number), draw.edition),
                lambda given: store.run(Order.update(**given[0]).set(Order.f.quantity, given[1])),
            ),
            "change": changes["keyfold"],
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
            "validated set": StoreContestant(
                lambda draw: (typed_parts(draw.number), draw.edition),
                lambda given: typed_store.run(
                    TypedOrder.update(**given[0]).set(TypedOrder.f.quantity, given[1])
                ),
            ),
            "change": changes["typed"],
        },
    }


def _reader(executor: Executor, decode: Callable[[Item], Any]) -> Callable[[Draw], Any]:
    """Return a function that reads an order, another one each time: a change needs the current one."""
    numbers = count()

    def read(draw: Draw) -> Any:
        current = replace(draw, number=next(numbers) % ITEMS)
        return decode(executor.execute("GetItem", make_get(current))["Item"])

    return read


def _next_quantity(order: Any) -> int:
    return 1 + order.quantity % 12


def _make_calls(engine: Engine, model: Any, transport: Transport) -> list[StoreCase]:
    pynamodb = {
        "get": StoreContestant(
            lambda draw: text_parts(draw.number).values(), lambda given: model.get(*given)
        ),
        "put": StoreContestant(_made_by(model.from_raw_data), lambda order: order.save()),
        "query of 20": StoreContestant(
            lambda draw: customer_of(draw.number), lambda pk: list(model.query(pk))
        ),
        "validated set": StoreContestant(
            lambda draw: (model(**text_parts(draw.number)), draw.edition),
            lambda given: given[0].update(actions=[model.quantity.set(given[1])]),
        ),
        "change": StoreContestant(
            _reader(engine, model.from_raw_data),
            lambda order: order.update(
                actions=[model.quantity.set(_next_quantity(order))],
                condition=model.quantity == order.quantity,
            ),
        ),
    }
    timed = {**_our_calls(engine), "pynamodb": pynamodb}
    recorded = {**_our_calls(transport), "pynamodb": pynamodb}
    return [
        StoreCase(
            _make_row(name),
            {contestant: calls[name] for contestant, calls in timed.items()},
            {contestant: _repeat(calls[name], transport) for contestant, calls in recorded.items()},
        )
        for name in pynamodb
    ]


def _repeat(contestant: StoreContestant, transport: Transport) -> StoreContestant:
    """Return the bare engine call that a contestant makes."""

    def prepare(draw: Draw) -> tuple[str, Request]:
        given = contestant.prepare(draw)
        quantity = getattr(given, "quantity", None)  # before the call, as PynamoDB changes it
        contestant.call(given)
        operation, request = transport.last
        if operation == "UpdateItem":
            _undo(transport.engine, request, quantity)
        return operation, request

    return StoreContestant(prepare, lambda last: transport.engine.execute(*last))


def _undo(engine: Engine, request: Request, quantity: int | None) -> None:
    """Give an order its quantity back, so that the request of a change can be run again."""
    if quantity is None:
        return
    item = engine.execute("GetItem", {name: request[name] for name in ("TableName", "Key")})["Item"]
    put = {**item, "quantity": {"N": str(quantity)}}
    engine.execute("PutItem", {"TableName": request["TableName"], "Item": put})


# Requests.


def _make_requests(transport: Transport) -> list[StoreCase]:
    """Return the requests that libraries send, with the plainest ones that do the same."""
    table = make_boto3_table(transport)
    condition: Any = import_module("boto3.dynamodb.conditions").Key("pk")
    resource = StoreContestant(
        lambda draw: customer_of(draw.number),
        lambda pk: table.query(KeyConditionExpression=condition.eq(pk)),
    )
    plain: dict[str, tuple[str, Callable[[Draw], Request]]] = {
        "query of 20": ("Query", make_query),
        "get": ("GetItem", make_get),
        "put": ("PutItem", make_put),
        "create": ("PutItem", _make_plain_create),
    }
    ours = _our_calls(transport)["keyfold"]
    sent = [("store.run", name, ours[name]) for name in plain]
    sent.append(("boto3's resource", "query of 20", resource))
    # New orders stay in the table, behind those that the other cases use.
    new = count(ITEMS)

    def record(name: str, contestant: StoreContestant) -> StoreContestant:
        # Plain requests are recorded, too: what is recorded has been executed once, and is warm.
        repeated = _repeat(contestant, transport)
        if name != "create":
            return repeated

        def prepare(draw: Draw) -> tuple[str, Request]:
            draw = Draw(next(new), draw.edition)
            request = repeated.prepare(draw)
            transport.engine.execute("DeleteItem", make_get(draw))
            return request

        return replace(repeated, prepare=prepare)

    return [
        StoreCase(
            Row(
                {"name": f"{sender}, {name}"},
                ("sent", "plain"),
                REQUEST_TARGET if name == "query of 20" else None,
            ),
            {
                "sent": record(name, contestant),
                "plain": record(name, _send(transport, *plain[name])),
            },
        )
        for sender, name, contestant in sent
    ]


def _make_plain_create(draw: Draw) -> Request:
    return {**make_put(draw), "ConditionExpression": "attribute_not_exists(pk)"}


def _send(transport: Transport, operation: str, make: Callable[[Draw], Request]) -> StoreContestant:
    return StoreContestant(make, lambda request: transport.execute(operation, request))


def _check_requests(cases: list[StoreCase]) -> None:
    """Check that the requests that are compared do the same."""
    for case in cases:
        sent, plain = (each.call(each.prepare(Draw(7))) for each in case.contestants.values())
        sent.pop("ConsumedCapacity", None)
        assert sent == plain, case.name


def _check_agreement(cases: list[StoreCase]) -> None:
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
