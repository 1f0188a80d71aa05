"""`run_until` repeats a read until its result is as awaited, such as that of an index that lags."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from keyfold.errors import AccessDenied, OptionInvalid, ResultAwaited
from keyfold.model import transaction
from keyfold.testing import FaultProfile, Service, dynamodb
from tests.transports import Database
from tests.unit.model.shop import Rate, by_base, rates
from tests.unit.policy.clinic import Note, clinic
from tests.unit.store.clinic_notes import fill, note
from tests.unit.store.store_kinds import AnyStore, OpenStore, any_store_on


def rate(target: str = "EUR") -> Rate:
    return Rate.model_validate({"base": "USD", "target": target, "rate": 1, "at": 0})


OF_DOLLARS = Rate.query(by_base, base="USD")


@pytest.fixture
def rates_store(engine: Database, make_store: OpenStore) -> AnyStore:
    store = make_store(engine, [rates])
    store.create_table(rates)
    return store


def test_a_result_that_is_as_awaited_is_returned_at_once(rates_store: AnyStore) -> None:
    rates_store.run(rate().put())
    rates_store.calls.clear()
    assert rates_store.run_until(Rate.get(base="USD", target="EUR"), bool) == rate()
    assert [each.operation for each in rates_store.calls] == ["GetItem"]
    assert rates_store.pauses == []


def test_a_request_runs_again_until_its_result_is_as_awaited(rates_store: AnyStore) -> None:
    seen: list[object] = []

    def is_third(result: object) -> bool:
        seen.append(result)
        return len(seen) == 3

    assert rates_store.run_until(Rate.get(base="USD", target="EUR"), is_third) is None
    assert seen == [None, None, None]
    assert rates_store.pauses == [0.05, 0.1], "as between retries"


def test_attempts_end_with_an_error_that_has_the_last_result(rates_store: AnyStore) -> None:
    rates_store.run(rate().put())
    with pytest.raises(ResultAwaited, match=r"tried 3 times; the last result was Rate\(") as raised:
        rates_store.run_until(Rate.get(base="USD", target="EUR"), lambda _: False, attempts=3)
    assert isinstance(raised.value, TimeoutError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert rates_store.pauses == [0.05, 0.1]
    with pytest.raises(ResultAwaited, match="tried 10 times"):
        rates_store.run_until(OF_DOLLARS, lambda _: False)


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5, "3"])
def test_the_number_of_attempts_is_checked(rates_store: AnyStore, attempts: Any) -> None:
    with pytest.raises(OptionInvalid, match="attempts: got"):
        rates_store.run_until(OF_DOLLARS, bool, attempts=attempts)


@pytest.mark.parametrize(
    "write",
    [
        rate().put(),
        Rate.delete(base="USD", target="EUR"),
        transaction(rate().put()),
        Rate.get(base="USD", target="GBP").then(lambda found: found.delete()),
    ],
    ids=["put", "delete", "transaction", "chain"],
)
def test_a_request_that_writes_is_refused(rates_store: AnyStore, write: Any) -> None:
    rates_store.run(rate("GBP").put())
    with pytest.raises(OptionInvalid, match="Give a request that only reads"):
        rates_store.run_until(write, bool)
    found = rates_store.run(rates.scan())
    assert list(found) == [rate("GBP")], "nothing was written"


def test_a_principal_waits_for_what_it_may_read(open_store: OpenStore) -> None:
    store = fill(open_store([clinic]))
    store.run(note("ada", "mine").put())
    ada = store.as_principal("patient", user="ada")
    assert ada.run_until(Note.get(user="ada", id="mine"), bool) == note("ada", "mine")
    with pytest.raises(AccessDenied):
        ada.run_until(Note.get(user="bob", id="his"), bool)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_index_that_lags_is_waited_for(kind: Any) -> None:
    with dynamodb(faults=FaultProfile(index_lag=1.0, lag_writes=2)) as service:
        store = any_store_on(kind, _Calls(service), [rates])
        store.create_table(rates)
        for target in ("EUR", "GBP", "JPY"):
            store.run(rate(target).put())
        assert len(store.run(OF_DOLLARS)) == 1
        found = store.run_until(OF_DOLLARS, lambda page: len(page) == 3)
        assert {each.target for each in found} == {"EUR", "GBP", "JPY"}
        assert store.pauses == [0.05]
        store.close()


class _Calls:
    def __init__(self, service: Service) -> None:
        self._service = service

    def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        return self._service.execute(operation, request)
