"""Several requests at once: transactions, batches, chains and collections, on both stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    DeclarationInvalid,
    IdempotentParameterMismatchException,
    ItemInvalid,
    NotFound,
    ProvisionedThroughputExceededException,
    SizeExceeded,
    TransactionFailed,
    Unavailable,
    VersionConflict,
    WrongTable,
)
from keyfold.model import Collection, Entity, Get, Key, Table, batch, transaction
from keyfold.testing import Clock, FaultProfile, Service, dynamodb
from tests.unit.model.shop import (
    Address,
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    Ticket,
    by_id,
    by_key,
    desk,
    market,
    rates,
)
from tests.unit.store.store_kinds import START, AnyStore, DatabasesByUrl, OpenStore

pytestmark = pytest.mark.all_transports

ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")


def rate(target: str = "EUR", amount: int = 1) -> Rate:
    return Rate(base="USD", target=target, rate=Decimal(amount), at=START)


def get(target: str = "EUR") -> Get[Rate]:
    return Rate.get(base="USD", target=target)


def lines(count: int) -> list[OrderLine]:
    return [OrderLine(user="ada", order=ORDER, line=each, sku="s") for each in range(count)]


def order(**fields: Any) -> Order:
    return Order(user="ada", order=ORDER, total=Decimal(1), **fields)


def test_batches_and_transactions_may_have_binary_fields(open_store: OpenStore) -> None:
    table = Table("Files", key=Key("pk"))

    class File(Entity, table=table, key="{name}"):
        name: str
        data: bytes
        parts: set[bytes]

    store = open_store(table)
    small, other = (File(name=name, data=b"\0\xff", parts={b"1", b"22"}) for name in "ab")
    store.run(batch([small.put()]))
    store.run(transaction(other.put()))
    assert [store.run(File.get(name=name)) for name in "ab"] == [small, other]
    large = small.model_copy(update={"data": bytes(500_000)})
    for request in (batch([large.put()]), transaction(large.put()), large.put()):
        with pytest.raises(SizeExceeded, match="500,000 of them in 'data'"):
            store.run(request)


# Transactions.


def test_a_transaction_takes_effect_as_a_whole(store: AnyStore) -> None:
    store.run(rate("GBP").put())
    store.run(rate("CHF").put())
    ticket = Ticket(team="a", number=1, title="x", opened=START)
    results = store.run(
        transaction(
            rate().create().expiring_in(timedelta(hours=1)),
            Rate.update(base="USD", target="GBP").set(Rate.f.rate, Decimal(7)),
            Rate.delete(base="USD", target="CHF"),
            Rate.check(Rate.f.rate.not_exists(), base="USD", target="JPY"),
            ticket.create(),
        )
    )
    stored = rate().model_copy(update={"expires": START + timedelta(hours=1)})
    assert results == [stored, None, None, None, ticket.model_copy(update={"version": 1})]
    assert store.run(batch([get(), get("GBP"), get("CHF")])) == [stored, rate("GBP", 7), None]
    assert [call.operation for call in store.calls].count("TransactWriteItems") == 1


def test_a_transaction_reads_one_consistent_state(store: AnyStore) -> None:
    store.run(rate().put())
    store.run(order().put())
    found = store.run(
        transaction(get(), get("GBP"), Order.get(user="ada", order=ORDER).consistent())
    )
    assert found == [rate(), None, order()]


def test_a_cancelled_transaction_says_which_requests_failed_and_why(store: AnyStore) -> None:
    store.run(rate().put())
    ticket = store.run(Ticket(team="a", number=1, title="x", opened=START).create())
    store.run(Ticket.update(team="a", number=1).append(Ticket.f.addresses, Address(city="B")))
    with pytest.raises(TransactionFailed) as caught:
        store.run(
            transaction(
                rate("GBP").create(),
                rate().create(),
                Rate.update(base="USD", target="JPY").set(Rate.f.stale, True),
                ticket.replace(),
                Rate.check(Rate.f.rate > 5, base="USD", target="CHF"),
            )
        )
    kinds = [type(reason) for reason in caught.value.reasons]
    assert kinds == [type(None), AlreadyExists, NotFound, VersionConflict, ConditionFailed]
    assert caught.value.reasons[1].found == rate()  # type: ignore[union-attr]
    text = str(caught.value)
    assert text.startswith("transaction: it was not carried out. request 1: Rate PK='RATE#USD#EUR'")
    assert "request 4: Rate PK='RATE#USD#CHF': the condition does not hold" in text
    assert "request 0" not in text
    assert store.run(get("GBP")) is None


def test_a_token_makes_a_transaction_take_effect_once(
    store: AnyStore, clock: Clock, token: str
) -> None:
    counted = Ticket.update(team="a", number=1).increment(Ticket.f.watchers)
    store.run(Ticket(team="a", number=1, title="x", opened=START).create())
    request = transaction(counted, token=token)
    for _ in range(3):
        store.run(request)
        clock.advance(60)
    found = store.run(Ticket.get(team="a", number=1))
    assert found is not None
    assert found.watchers == 1
    with pytest.raises(IdempotentParameterMismatchException):
        store.run(transaction(Ticket.delete(team="a", number=1), token=token))


def test_a_token_lasts_ten_minutes(store: AnyStore, clock: Clock, token: str) -> None:
    store.run(Ticket(team="a", number=1, title="x", opened=START).create())
    counted = Ticket.update(team="a", number=1).increment(Ticket.f.watchers)
    for _ in range(2):
        store.run(transaction(counted, token=token))
        clock.advance(timedelta(minutes=11))
    found = store.run(Ticket.get(team="a", number=1))
    assert found is not None
    assert found.watchers == 2


def test_a_token_covers_values_that_depend_on_the_time(
    store: AnyStore, clock: Clock, token: str
) -> None:
    request = transaction(
        rate("EUR").create().expiring_in(timedelta(hours=1)), rate("GBP").create(), token=token
    )
    store.run(request)
    clock.advance(60)
    results = store.run(request)
    assert results[1] == rate("GBP")
    found = store.run(get("EUR"))
    assert found is not None
    assert found.expires == START + timedelta(hours=1)
    with pytest.raises(TransactionFailed):
        store.run(transaction(rate("EUR").create(), token=token))


# Batches.


def test_a_batch_answers_in_the_order_asked_for(store: AnyStore) -> None:
    made = lines(130)
    assert store.run(batch([each.put() for each in made])) == made
    gets = [OrderLine.get(user="ada", order=ORDER, line=number) for number in (129, 3, 500, 0, 3)]
    assert store.run(batch(gets)) == [made[129], made[3], None, made[0], made[3]]
    everything = [OrderLine.get(user="ada", order=ORDER, line=each.line) for each in made]
    assert store.run(batch(reversed(everything))) == made[::-1]
    deletes = [OrderLine.delete(user="ada", order=ORDER, line=each.line) for each in made]
    assert store.run(batch(deletes)) == [None] * 130
    assert store.run(OrderLine.query(user="ada").count()) == 0


def test_a_batch_is_sent_in_chunks_and_second_writes_wait(store: AnyStore) -> None:
    store.calls.clear()
    made = lines(60)
    store.run(batch([each.put() for each in made]))
    assert [call.operation for call in store.calls] == ["BatchWriteItem"] * 3
    assert all(call.consumed > 0 for call in store.calls)
    store.calls.clear()
    results = store.run(
        batch(
            [
                rate(amount=1).put(),
                rate(amount=2).put(),
                get(),
                Rate.delete(base="USD", target="EUR"),
                get().consistent(),
                rate(amount=3).put().expiring_in(timedelta(hours=1)),
            ]
        )
    )
    assert results[2].rate == 2
    assert results[4] is None
    assert results[5].expires == START + timedelta(hours=1)
    assert [call.operation for call in store.calls] == [
        "BatchWriteItem", "BatchWriteItem", "BatchGetItem", "BatchWriteItem", "BatchGetItem",
        "BatchWriteItem",
    ]  # fmt: skip
    nothing: list[Get[Rate]] = []
    assert store.run(batch(nothing)) == []


def test_a_batch_reads_numbers_as_keys_however_they_are_written(open_store: OpenStore) -> None:
    table = Table("Numbers", key=Key("number"))

    class Number(Entity, table=table, key="{number}"):
        number: Decimal

    store = open_store(table)
    one = Number(number=Decimal("1.50"))
    store.run(batch([one.put(), Number(number=Decimal("1.5")).put()]))
    gets = [Number.get(number=Decimal(text)) for text in ("1.50", "1.5", "15E-1", "2")]
    assert store.run(batch(gets)) == [one, one, one, None]


@pytest.fixture
def service(clock: Clock) -> Any:
    with dynamodb(clock=clock) as found:
        yield found


def test_unprocessed_members_are_retried(make_store: OpenStore, service: Service) -> None:
    store = make_store(service, [market])
    store.create_table(market)
    service.faults = FaultProfile(unprocessed=0.8, seed=3)
    made = lines(200)
    assert store.run(batch([each.put() for each in made])) == made
    gets = [OrderLine.get(user="ada", order=ORDER, line=each.line) for each in made]
    assert store.run(batch(gets)) == made
    assert len(store.pauses) > 8
    assert all(0 < pause <= 2 for pause in store.pauses)
    assert max(call.attempt for call in store.calls) > 3


def test_throttling_is_waited_out_with_longer_pauses(
    make_store: OpenStore, service: Service
) -> None:
    store = make_store(service, [rates, market])
    store.create_table(rates)
    service.faults = FaultProfile(throttling=0.4, conflicts=0.2, seed=11)
    for target in ("EUR", "GBP", "CHF"):
        store.run(rate(target).put())
    store.run(transaction(rate("JPY").put()))
    service.faults = FaultProfile()
    assert store.run(Rate.scan().count()) == 4
    assert store.pauses
    errors = [call for call in store.calls if call.error is not None]
    assert errors
    assert {call.attempt for call in store.calls} >= {1, 2}


class FakeExecutor:
    """An executor whose responses come from a function."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self.answer = answer

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self.answer(operation, request)


def test_a_service_that_never_recovers_is_given_up_on(make_store: OpenStore) -> None:
    def refuse(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        raise ProvisionedThroughputExceededException("slow down")

    store = make_store(FakeExecutor(refuse), [rates])
    with pytest.raises(Unavailable) as caught:
        store.run(get())
    assert str(caught.value) == (
        "GetItem: tried 8 times; ProvisionedThroughputExceededException: slow down. [unavailable]"
    )
    assert store.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0]
    assert [call.attempt for call in store.calls] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_pauses_have_jitter(make_store: OpenStore) -> None:
    def refuse(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        raise ProvisionedThroughputExceededException("slow down")

    store = make_store(FakeExecutor(refuse), [rates], jitter=lambda: 0.5)
    with pytest.raises(Unavailable):
        store.run(get())
    assert store.pauses == [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0]


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
def test_a_batch_without_progress_is_given_up_on(make_store: OpenStore, operation: str) -> None:
    def leave(asked: str, request: dict[str, Any]) -> dict[str, Any]:
        left = "UnprocessedKeys" if asked == "BatchGetItem" else "UnprocessedItems"
        return {"Responses": {}, left: request["RequestItems"]}

    store = make_store(FakeExecutor(leave), [rates])
    request = batch([get()]) if operation == "BatchGetItem" else batch([rate().put()])
    with pytest.raises(
        Unavailable, match=f"{operation}: tried .* 1 of its members are unprocessed"
    ):
        store.run(request)
    assert [call.attempt for call in store.calls] == list(range(1, len(store.calls) + 1))


# Chains and collections.


@pytest.mark.indexes
def test_a_page_makes_the_next_request(store: AnyStore) -> None:
    for each in (order(id="A1"), *lines(3)):
        store.run(each.put())
    refs = OrderLine.query(by_key, order=ORDER, line=1).refs()
    found = store.run_until(refs.then(lambda page: batch([ref.get() for ref in page])), len)
    assert found == [lines(2)[1]]
    nothing = OrderLine.query(by_key, order=ORDER, line=9).refs()
    assert store.run(nothing.then(lambda page: batch([ref.get() for ref in page]))) == []
    whole = OrderLine.query(user="ada", order=ORDER).limit(2)
    assert store.run(whole.then(lambda page: whole.after(page.cursor))) == lines(3)[2:]


def test_a_chain_makes_the_next_request_from_what_is_found(store: AnyStore) -> None:
    for each in (order(id="A1"), *lines(3)):
        store.run(each.put())
    chain = (
        Order.query(by_id, id="A1", tp="order")
        .first()
        .then(lambda found: OrderWithLines.get(user=found.user, order=found.order))
    )
    found = store.run(chain)
    assert found is not None
    assert (found.order, found.lines) == (order(id="A1"), lines(3))
    nothing = Order.query(by_id, id="A2").first().then(lambda _: OrderWithLines.get(user="x"))
    assert store.run(nothing) is None
    three = Order.get(user="ada", order=ORDER).then(
        lambda found: (
            OrderLine.query(user=found.user, order=found.order)
            .first()
            .then(lambda line: OrderLine.delete(user=line.user, order=line.order, line=line.line))
        )
    )
    assert store.run(three) == lines(1)[0]
    assert store.run(OrderLine.query(user="ada").count()) == 2


def test_a_chain_stays_in_the_stores_tables(open_store: OpenStore) -> None:
    store = open_store(market)
    store.run(order().put())
    with pytest.raises(WrongTable, match="store of Market: the request is for table 'Exchange"):
        store.run(Order.get(user="ada", order=ORDER).then(lambda _: get()))


class OrderMaybe(Collection):
    order: Order | None
    lines: list[OrderLine]


def test_a_collection_is_one_query_with_members_of_their_types(store: AnyStore) -> None:
    other = OrderId("O#01JZ10H7X367VB2NF4YQ973DHX")
    for each in (order(), *lines(3), OrderLine(user="ada", order=other, line=0, sku="x")):
        store.run(each.put())
    store.calls.clear()
    found = store.run(OrderWithLines.get(user="ada", order=ORDER))
    assert found is not None
    assert (found.order, found.lines) == (order(), lines(3))
    assert [call.operation for call in store.calls] == ["Query"]
    assert store.run(OrderWithLines.get(user="ada", order=other)) is None
    maybe = store.run(OrderMaybe.get(user="ada", order=other))
    assert maybe is not None
    assert maybe.order is None
    assert [each.sku for each in maybe.lines] == ["x"]
    empty = store.run(OrderMaybe.get(user="bob", order=other))
    assert empty is not None
    assert (empty.order, empty.lines) == (None, [])


def test_a_collection_reads_past_a_page_of_the_service(store: AnyStore) -> None:
    store.run(order().put())
    many = [line.model_copy(update={"sku": "x" * 4000}) for line in lines(400)]
    store.run(batch([each.put() for each in many]))
    store.calls.clear()
    found = store.run(OrderWithLines.get(user="ada", order=ORDER).consistent())
    assert found is not None
    assert len(found.lines) == 400
    assert len(store.calls) == 2


def test_an_invalid_collection_is_refused() -> None:
    class Empty(Collection):
        pass

    class Wrong(Collection):
        order: Order
        orders: list[Order]
        ticket: Ticket
        name: str

    with pytest.raises(DeclarationInvalid, match="Empty: it has no members"):
        Empty.get(user="ada")
    with pytest.raises(DeclarationInvalid) as caught:
        Wrong.get(user="ada")
    assert list(caught.value.problems) == [
        "Wrong.name: <class 'str'> is not a table's entity.",
        "Wrong: order and orders are the same entity.",
        "Wrong: order and ticket are in different tables, so one query cannot read both.",
    ]


def test_members_lie_in_one_partition() -> None:
    table = Table("Apart", key=Key("pk", "sk"))

    class One(Entity, table=table, key=("ONE#{id}", "X#{id}")):
        id: str

    class Other(Entity, table=table, key=("OTHER#{id}", "Y#{id}")):
        id: str

    Both = type("Both", (Collection,), {"__annotations__": {"one": One, "other": Other}})  # noqa: N806 - a class
    with pytest.raises(DeclarationInvalid, match="One and Other are in different partitions"):
        Both.get(id="1")


def test_a_member_that_no_longer_fits_is_reported_with_its_key(
    open_store: OpenStore, databases: DatabasesByUrl, tmp_path: Path
) -> None:
    path = str(tmp_path / "market.db")
    store = open_store(market, path)
    store.run(order().put())
    last = lines(3)[2]
    store.run(last.put())
    pk = {"S": "U#ada#O"}
    databases.put(path, "Market", {"pk": pk, "sk": {"S": f"{ORDER}#001"}})
    databases.put(path, "Market", {"pk": pk, "sk": {"S": f"{ORDER}!"}})
    found = store.run(OrderWithLines.get(user="ada", order=ORDER))
    assert found is not None
    assert (found.order, found.lines) == (order(), [last])
    assert [(each.key["sk"]["S"], each.entity, each.reason) for each in found.invalid] == [
        (f"{ORDER}!", None, "its key matches no entity of the table"),
        (f"{ORDER}#001", "OrderLine", "sku: Field required"),
    ]
    strict = open_store(market, path, on_invalid="raise")
    with pytest.raises(ItemInvalid, match="its key matches no entity"):
        strict.run(OrderWithLines.get(user="ada", order=ORDER))


def test_a_required_member_that_no_longer_fits_raises(
    open_store: OpenStore, databases: DatabasesByUrl, tmp_path: Path
) -> None:
    path = str(tmp_path / "market.db")
    store = open_store(market, path)
    databases.put(path, "Market", {"pk": {"S": "U#ada#O"}, "sk": {"S": str(ORDER)}})
    with pytest.raises(ItemInvalid, match=f"sk='{ORDER}' of Market: total: Field required"):
        store.run(OrderWithLines.get(user="ada", order=ORDER))


def test_an_empty_query_of_the_desk_is_an_empty_page(store: AnyStore) -> None:
    assert list(store.run(desk.query(pk="TEAM#a"))) == []
