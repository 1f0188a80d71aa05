"""A principal's store checks the known calls of a request at first, and others before each is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.engine import Engine
from keyfold.errors import ProvisionedThroughputExceededException, RequestRefused
from keyfold.model import Put, Request, batch, transaction
from keyfold.model._calls import STORE, ApiCall, Calls
from keyfold.policy import Guard
from keyfold.store import _principals
from tests.unit.policy.clinic import Member, Note, by_key, clinic
from tests.unit.store.clinic_notes import fill, note
from tests.unit.store.store_kinds import AnyStore, OpenStore

Log = list[str]


class Summary(BaseModel):
    text: str


class LoggedEngine:
    """An engine that logs its calls.

    It throttles the next call of an operation, and leaves a batch unprocessed, if told to.
    """

    def __init__(self, engine: Engine, log: Log) -> None:
        self._engine, self._log = engine, log
        self.leaves_unprocessed = False
        self.throttles: str | None = None

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self._log.append(f"made {operation}")
        if operation == self.throttles:
            self.throttles = None
            raise ProvisionedThroughputExceededException("slow down")
        if operation == "BatchWriteItem" and self.leaves_unprocessed:
            self.leaves_unprocessed = False
            return {"UnprocessedItems": request["RequestItems"]}
        return self._engine.execute(operation, request)


@pytest.fixture
def log() -> Log:
    return []


@pytest.fixture
def engine(log: Log) -> Iterator[LoggedEngine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield LoggedEngine(engine, log)


@pytest.fixture
def store(engine: LoggedEngine, make_store: OpenStore) -> AnyStore:
    store = make_store(engine, [clinic])
    store.create_table(clinic)
    return fill(store)


@pytest.fixture
def ada(store: AnyStore, log: Log, monkeypatch: pytest.MonkeyPatch) -> AnyStore:
    """A patient's store, whose checks are logged as well."""
    admits = _principals.admits

    def log_check(guards: dict[str, Guard], call: ApiCall) -> bool:
        if call.authority is not STORE:
            log.append(f"checked {call.operation}")
        return admits(guards, call)

    monkeypatch.setattr(_principals, "admits", log_check)
    log.clear()
    return store.as_principal("patient", user="ada")


def test_a_single_call_is_checked_once(ada: AnyStore, log: Log) -> None:
    ada.run(Note.get(user="ada", id="1"))
    ada.run(note("ada", "1").put())
    ada.run(Note.query(user="ada"))
    assert log == [
        *("checked GetItem", "made GetItem"),
        *("checked PutItem", "made PutItem"),
        *("checked Query", "made Query"),
    ]


def test_all_calls_of_a_batch_are_checked_before_the_first_is_made(ada: AnyStore, log: Log) -> None:
    ada.run(batch([note("ada", str(number)).put() for number in range(60)]))
    assert log == ["checked BatchWriteItem"] * 3 + ["made BatchWriteItem"] * 3


def test_unprocessed_members_are_checked_before_they_are_sent_again(
    ada: AnyStore, engine: LoggedEngine, log: Log
) -> None:
    engine.leaves_unprocessed = True
    ada.run(batch([note("ada", "1").put()]))
    assert log == ["checked BatchWriteItem", "made BatchWriteItem"] * 2


@pytest.mark.parametrize(
    "make",
    [
        # The first page is filled by several calls, since the filter leaves items out.
        lambda: Note.query(user="ada").where(Note.f.text.eq("ada 3")).limit(1),
        lambda: Note.query(user="ada").where(Note.f.text.eq("ada 3")).first(),
    ],
)
def test_a_further_page_is_checked_before_it_is_read(
    ada: AnyStore, log: Log, make: Callable[[], Request[Any]]
) -> None:
    ada.run(make())
    assert log == ["checked Query", "made Query"] * (len(log) // 2)
    assert len(log) > 2


def test_the_next_step_of_a_chain_is_checked_before_it_is_run(ada: AnyStore, log: Log) -> None:
    ada.run(Note.get(user="ada", id="1").then(lambda _: Note.query(user="ada")))
    assert log == ["checked GetItem", "made GetItem", "checked Query", "made Query"]


def test_a_lookup_is_on_the_authority_of_the_store(ada: AnyStore, log: Log) -> None:
    found = clinic.query(by_key, sk="N#1").refs().first()
    ada.run(found.lookup_then(lambda _: Note.get(user="ada", id="1")))
    assert log == ["made Query", "checked GetItem", "made GetItem"]


def test_what_unique_values_need_is_on_the_authority_of_the_store(ada: AnyStore, log: Log) -> None:
    ada.run(Member.update(user="ada").set(Member.f.email, "new@example.com"))
    assert log == ["checked UpdateItem", "made GetItem", "made TransactWriteItems", "made GetItem"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: transaction(
            Member.update(user="ada").set(Member.f.email, "new@example.com"), note("ada", "9").put()
        ),
        lambda: Member.update(user="ada").set(Member.f.email, "new@example.com"),
        lambda: transaction(note("ada", "9").create()),
    ],
)
def test_a_transaction_is_retried_on_the_same_authority(
    ada: AnyStore, engine: LoggedEngine, log: Log, make: Callable[[], Request[Any]]
) -> None:
    engine.throttles = "TransactWriteItems"
    ada.run(make())
    assert log.count("made TransactWriteItems") == 2
    assert len([each for each in log if each.startswith("checked")]) == 1


def test_the_call_that_is_checked_is_the_one_that_is_made(
    ada: AnyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Calls] = []
    build: Any = vars(Put)["calls"]

    def count(self: Put[Any], now: datetime) -> Calls:
        built.append(build(self, now))
        return built[-1]

    monkeypatch.setattr(Put, "calls", count)
    ada.run(note("ada", "1").put())
    ada.run(Member(user="ada", email="ada@example.com").create().or_get())
    assert len(built) == 2


def test_an_invalid_call_is_refused_as_in_a_store_without_principal(
    store: AnyStore, log: Log
) -> None:
    reversed_range = Note.f.text.between("z", "a")
    query = Note.query(user="ada").only(Summary).where(reversed_range)
    with pytest.raises(RequestRefused) as plain:
        store.run(query)
    log.clear()
    with pytest.raises(RequestRefused) as guarded:
        # A scribe may not see everything, so its calls are read in full.
        store.as_principal("scribe", user="ada").run(query)
    assert guarded.value.args == plain.value.args
    assert log == []
