"""Changes that a handler cannot take: tried again, parked, and handed out in order after all."""

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
from tests.unit.store.store_kinds import START, Kind, Side, side_on
from tests.unit.store.test_following import follow, put


class Moody:
    """A handler that fails for some balances, until it is told not to."""

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
    """The table is every test's; its handlers are those of one."""
    yield
    ledger.handlers.by_name.clear()


@pytest.fixture
def engine(transport: Transport, clock: Clock) -> Iterator[Database]:
    with open_database(transport, clock=clock, shard_records=8) as engine:
        yield engine


@pytest.fixture
def store(kind: Kind, engine: Database, clock: Clock) -> Iterator[Side]:
    side = side_on(kind, engine, [ledger], clock=clock, moves_clock=True, is_embedded=True)
    side.create_table(ledger)
    yield side
    side.close()


def use(handler: Moody, name: str = "moody") -> Moody:
    ledger.on_change(Account, name=name)(handler)
    return handler


def test_a_handler_that_fails_is_called_again(store: Side) -> None:
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


def test_a_change_that_cannot_be_handled_is_parked_with_its_error(store: Side) -> None:
    moody = use(Moody(2))
    put(store, 1, 2, name="ada")
    put(store, 3, name="bob")
    assert follow(store, attempts=3) == Followed(records=3, handled=2, dead_letters=1)
    assert moody.calls == [1, 2, 2, 2, 3]
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.handler, dead_letters.kind, dead_letters.state) == (
        "moody",
        "changed",
        "failed",
    )
    assert (dead_letters.key, dead_letters.attempts) == ("pk='A#ada' sk='ACCOUNT'", 3)
    assert dead_letters.error == "ValueError: no 2, please"
    assert dead_letters.parked_at >= START


def test_a_parked_change_has_the_time_at_which_it_was_made(store: Side, clock: Clock) -> None:
    use(Moody(2))
    put(store, 2)
    clock.advance(60)
    follow(store, attempts=1)
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.changed_at, dead_letters.parked_at) == (
        START,
        START + timedelta(minutes=1),
    )


def test_later_changes_of_the_same_item_wait_behind(store: Side) -> None:
    moody = use(Moody(2))
    calm = use(Moody(), "calm")
    put(store, 1, 2, 3, name="ada")
    put(store, 3, name="bob")
    assert follow(store, attempts=1) == Followed(records=4, handled=6, dead_letters=2)
    # Another item goes on, and so does another handler.
    assert moody.seen.of("ada") == [1]
    assert moody.seen.of("bob") == [3]
    assert calm.seen.of("ada") == [1, 2, 3]
    assert [each.state for each in store.dead_letters(ledger)] == ["failed", "waiting"]
    # They wait in the next run, too.
    put(store, 4, name="ada")
    assert follow(store, attempts=1) == Followed(records=1, handled=1, dead_letters=1)
    assert [each.state for each in store.dead_letters(ledger)] == ["failed", "waiting", "waiting"]


def test_parked_changes_are_handed_out_again_in_order(store: Side) -> None:
    moody = use(Moody(2))
    put(store, 1, 2, 3)
    follow(store, attempts=1)
    assert store.retry_dead_letters(ledger) == 1
    assert store.retry_dead_letters(ledger) == 0
    # In vain.
    assert follow(store, attempts=1) == Followed()
    [failed, waiting] = store.dead_letters(ledger)
    assert (failed.state, failed.attempts, waiting.state) == ("failed", 2, "waiting")
    # Successfully, and what has come meanwhile after it.
    moody.failing.clear()
    put(store, 4)
    store.retry_dead_letters(ledger)
    follow(store, attempts=1)
    assert moody.seen.of("ada") == [1, 2, 3, 4]
    assert store.dead_letters(ledger) == []
    put(store, 5)
    follow(store)
    assert moody.seen.of("ada") == [1, 2, 3, 4, 5]


def test_one_handlers_changes_can_be_tried_again_alone(store: Side) -> None:
    handlers = [use(Moody(1), name) for name in ("one", "two")]
    put(store, 1)
    follow(store, attempts=1)
    for handler in handlers:
        handler.failing.clear()
    assert store.retry_dead_letters(ledger, handler="two") == 1
    follow(store)
    assert [handler.seen.of("ada") for handler in handlers] == [[], [1]]


def test_requests_that_fail_are_the_handlers_failure(store: Side) -> None:
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


def test_a_handler_that_is_gone_leaves_its_changes_parked(store: Side) -> None:
    use(Moody(1))
    put(store, 1)
    follow(store, attempts=1)
    ledger.handlers.by_name.clear()
    use(Moody(), "another")
    store.retry_dead_letters(ledger)
    follow(store)
    [dead_letters] = store.dead_letters(ledger)
    assert dead_letters.error == "LookupError: Ledger has no handler 'moody' any longer"


def test_a_large_change_is_parked_whole(store: Side, engine: Database) -> None:
    told: list[Any] = []
    images: list[Any] = []

    @ledger.on_change(name="all")
    def pick(change: Change[Any]) -> None:
        told.append(change)
        images.append((change.old, change.new))
        if len(told) < 3:
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


def test_a_change_that_is_parked_twice_is_parked_once(store: Side, engine: Database) -> None:
    use(Moody(1))
    put(store, 1)
    follow(store, attempts=2)
    # As if the worker had died before it wrote down how far it was.
    for item in engine.execute("Scan", {"TableName": "Ledger-leases"})["Items"]:
        if "checkpoint" in item:
            del item["checkpoint"]
            engine.execute("PutItem", {"TableName": "Ledger-leases", "Item": item})
    assert follow(store) == Followed(records=1, dead_letters=1)
    [dead_letters] = store.dead_letters(ledger)
    assert (dead_letters.state, dead_letters.attempts) == ("failed", 2)


def test_a_list_that_lacks_what_was_parked_earlier_does_not_break_the_order(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    class Late:
        """A service whose list of the parked was begun before the first of them was written."""

        is_late = False

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            response = engine.execute(operation, request)
            if self.is_late and operation == "Query" and "#DEAD" in str(request):
                self.is_late = False
                assert response["Items"].pop(0)["state"] == {"S": "failed"}
            return response

    service = Late()
    side = side_on(kind, service, [ledger], clock=clock, moves_clock=True, is_embedded=True)
    side.create_table(ledger)
    moody = use(Moody(2))
    put(side, 1, 2, 3)
    follow(side, attempts=1)
    service.is_late = True
    follow(side, attempts=1)
    assert not service.is_late
    assert moody.seen.of("ada") == [1]
    assert [each.state for each in side.dead_letters(ledger)] == ["failed", "waiting"]
    side.close()


def test_a_creation_of_which_nothing_is_known_is_made_once(
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

    side = side_on(kind, Failing(), [ledger], clock=clock)
    side.create_table(ledger)
    account = Account(name="ada", balance=1)
    assert side.run(account.create().or_get()) == account
    side.close()
