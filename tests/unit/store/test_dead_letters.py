"""Dead letters: changes that a handler failed on, and their retries in order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from keyfold.errors import InternalServerError
from keyfold.model import Change, Request
from keyfold.store import Followed
from keyfold.testing import Clock
from tests.transports import Database, Transport, open_database
from tests.unit.model.shop import Rate
from tests.unit.store.ledger import Account, Receipt, Seen, ledger
from tests.unit.store.store_kinds import START, AnyStore, Kind, any_store_on
from tests.unit.store.test_following import follow, put


class FailingHandler:
    """A handler that fails for the balances in `failing`."""

    def __init__(self, *failing: int) -> None:
        self.failing = set(failing)
        self.calls: list[int | None] = []
        self.seen = Seen()

    def __call__(self, change: Change[Account]) -> None:
        self.calls.append(None if change.new is None else change.new.balance)
        if change.new is not None and change.new.balance in self.failing:
            raise ValueError(f"no {change.new.balance},\nplease")
        self.seen.note(change)


@pytest.fixture(autouse=True)
def no_handlers() -> Iterator[None]:
    """Remove the handlers that a test added; the table is shared by all tests."""
    yield
    ledger.handlers.by_name.clear()


@pytest.fixture
def engine(transport: Transport, clock: Clock) -> Iterator[Database]:
    with open_database(transport, clock=clock, shard_records=8) as engine:
        yield engine


@pytest.fixture
def store(kind: Kind, engine: Database, clock: Clock) -> Iterator[AnyStore]:
    store = any_store_on(kind, engine, [ledger], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(ledger)
    yield store
    store.close()


def use(handler: FailingHandler, name: str = "flaky") -> FailingHandler:
    ledger.on_change(Account, name=name)(handler)
    return handler


def test_a_handler_that_fails_is_called_again(store: AnyStore) -> None:
    calls: list[int] = []

    @ledger.on_change(Account)
    def third_time_lucky(change: Change[Account]) -> None:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("away")

    put(store, 1)
    assert follow(store) == Followed(records=1, handled=1)
    assert len(calls) == 3
    assert store.pauses == [0.1, 0.2]
    assert third_time_lucky.name == "third_time_lucky"


def test_a_change_that_cannot_be_handled_becomes_a_dead_letter_with_its_error(
    store: AnyStore,
) -> None:
    flaky = use(FailingHandler(2))
    put(store, 1, 2, name="ada")
    put(store, 3, name="bob")
    assert follow(store, attempts=3) == Followed(records=3, handled=2, dead_letters=1)
    assert flaky.calls == [1, 2, 2, 2, 3]
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.handler, dead_letters.kind, dead_letters.state) == (
        "flaky",
        "changed",
        "failed",
    )
    assert (dead_letters.key, dead_letters.attempts) == ("pk='A#ada' sk='ACCOUNT'", 3)
    assert dead_letters.error == "ValueError: no 2, please"
    assert dead_letters.added_at >= START


def test_a_dead_letter_has_the_time_at_which_its_change_was_made(
    store: AnyStore, clock: Clock
) -> None:
    use(FailingHandler(2))
    put(store, 2)
    clock.advance(60)
    follow(store, attempts=1)
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.changed_at, dead_letters.added_at) == (
        START,
        START + timedelta(minutes=1),
    )


def test_later_changes_of_the_same_item_wait_behind_a_dead_letter(store: AnyStore) -> None:
    flaky = use(FailingHandler(2))
    calm = use(FailingHandler(), "calm")
    put(store, 1, 2, 3, name="ada")
    put(store, 3, name="bob")
    assert follow(store, attempts=1) == Followed(records=4, handled=6, dead_letters=2)
    # Another item is handled, and so is this one by another handler.
    assert flaky.seen.of("ada") == [1]
    assert flaky.seen.of("bob") == [3]
    assert calm.seen.of("ada") == [1, 2, 3]
    assert [each.state for each in store.dead_letters(ledger)] == ["failed", "waiting"]
    # They also wait in the next run.
    put(store, 4, name="ada")
    assert follow(store, attempts=1) == Followed(records=1, handled=1, dead_letters=1)
    assert [each.state for each in store.dead_letters(ledger)] == ["failed", "waiting", "waiting"]


def test_dead_letters_are_retried_in_order(store: AnyStore) -> None:
    flaky = use(FailingHandler(2))
    put(store, 1, 2, 3)
    follow(store, attempts=1)
    assert store.retry_dead_letters(ledger) == 1
    assert store.retry_dead_letters(ledger) == 0
    # The retry fails again.
    assert follow(store, attempts=1) == Followed()
    [failed, waiting] = store.dead_letters(ledger)
    assert (failed.state, failed.attempts, waiting.state) == ("failed", 2, "waiting")
    # The retry succeeds, and handles the changes that waited behind it.
    flaky.failing.clear()
    put(store, 4)
    store.retry_dead_letters(ledger)
    follow(store, attempts=1)
    assert flaky.seen.of("ada") == [1, 2, 3, 4]
    assert store.dead_letters(ledger) == []
    put(store, 5)
    follow(store)
    assert flaky.seen.of("ada") == [1, 2, 3, 4, 5]


def test_dead_letters_of_one_handler_can_be_retried_alone(store: AnyStore) -> None:
    handlers = [use(FailingHandler(1), name) for name in ("one", "two")]
    put(store, 1)
    follow(store, attempts=1)
    for handler in handlers:
        handler.failing.clear()
    assert store.retry_dead_letters(ledger, handler="two") == 1
    follow(store)
    assert [handler.seen.of("ada") for handler in handlers] == [[], [1]]


def test_a_handler_fails_if_a_request_that_it_returned_fails(store: AnyStore) -> None:
    @ledger.on_change(Account)
    def fails(change: Change[Account]) -> Request[Any]:
        return Receipt(name="ada", number=1).replace()

    @ledger.on_change(Account)
    def strays(change: Change[Account]) -> Request[Any]:
        return Rate.get(base="USD", target="EUR")

    @ledger.on_change(Account)
    def errs(change: Change[Account]) -> Any:
        return ["not a request"]

    put(store, 1)
    follow(store, attempts=1)
    errors = {each.handler: each.error for each in store.dead_letters(ledger)}
    assert errors["fails"].startswith("NotFound: Receipt pk='R#ada'")
    assert errors["strays"].startswith("WrongTable: store of Ledger")
    assert errors["errs"] == (
        "QueryInvalid: a handler: it returned 'not a request'. Return requests, or None. "
        "[query-invalid]"
    )
    assert {fails.name, strays.name, errs.name} == errors.keys()


def test_dead_letters_of_a_removed_handler_stay(store: AnyStore) -> None:
    use(FailingHandler(1))
    put(store, 1)
    follow(store, attempts=1)
    ledger.handlers.by_name.clear()
    use(FailingHandler(), "another")
    store.retry_dead_letters(ledger)
    follow(store)
    [dead_letters] = store.dead_letters(ledger)
    assert dead_letters.error == "LookupError: Ledger no longer has a handler 'flaky'"


def test_a_dead_letter_keeps_a_large_change_whole(store: AnyStore, engine: Database) -> None:
    changes: list[Any] = []
    images: list[Any] = []

    @ledger.on_change(name="all")
    def pick(change: Change[Any]) -> None:
        changes.append(change)
        images.append((change.old, change.new))
        if len(changes) < 3:
            raise ValueError("too heavy")

    import random

    def item(seed: int) -> dict[str, Any]:
        noise = random.Random(seed).randbytes(390_000)
        return {
            "pk": {"S": "A#ada"},
            "sk": {"S": "ACCOUNT"},
            "balance": {"N": str(seed)},
            "noise": {"M": {"bytes": {"B": noise}, "set": {"BS": [b"\0", b"\xff"]}}},
        }

    for seed in (1, 2):
        engine.execute("PutItem", {"TableName": "Ledger", "Item": item(seed)})
    follow(store, attempts=1)
    leases = engine.execute("Scan", {"TableName": "Ledger-leases"})
    store.retry_dead_letters(ledger)
    follow(store, attempts=1)
    store.retry_dead_letters(ledger)
    follow(store, attempts=1)
    assert store.dead_letters(ledger) == []
    assert images[-1] == (Account(name="ada", balance=1), Account(name="ada", balance=2))
    left = engine.execute("Scan", {"TableName": "Ledger-leases"})
    assert not [each for each in left["Items"] if "#P" in each["pk"]["S"]]
    assert leases["Count"] > 0
    assert pick.entities == ()


def test_a_change_that_fails_twice_makes_one_dead_letter(store: AnyStore, engine: Database) -> None:
    use(FailingHandler(1))
    put(store, 1)
    follow(store, attempts=2)
    # As if the worker had died before it wrote its checkpoint.
    for item in engine.execute("Scan", {"TableName": "Ledger-leases"})["Items"]:
        if "checkpoint" in item:
            del item["checkpoint"]
            engine.execute("PutItem", {"TableName": "Ledger-leases", "Item": item})
    assert follow(store) == Followed(records=1, dead_letters=1)
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.state, dead_letters.attempts) == ("failed", 2)


def test_a_stale_list_of_dead_letters_does_not_break_the_order(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    class StaleListing:
        """A service whose list of dead letters lacks the first one, once."""

        is_stale = False

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            response = engine.execute(operation, request)
            if self.is_stale and operation == "Query" and "#DEAD" in str(request):
                self.is_stale = False
                assert response["Items"].pop(0)["state"] == {"S": "failed"}
            return response

    service = StaleListing()
    store = any_store_on(kind, service, [ledger], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(ledger)
    flaky = use(FailingHandler(2))
    put(store, 1, 2, 3)
    follow(store, attempts=1)
    service.is_stale = True
    follow(store, attempts=1)
    assert not service.is_stale
    assert flaky.seen.of("ada") == [1]
    assert [each.state for each in store.dead_letters(ledger)] == ["failed", "waiting"]
    store.close()


def test_create_or_get_with_an_unknown_outcome_creates_once(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    class Failing:
        failures = 1

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            response = engine.execute(operation, request)
            if operation == "PutItem" and self.failures:
                self.failures -= 1
                raise InternalServerError
            return response

    store = any_store_on(kind, Failing(), [ledger], clock=clock)
    store.create_table(ledger)
    account = Account(name="ada", balance=1)
    assert store.run(account.create().or_get()) == account
    store.close()
