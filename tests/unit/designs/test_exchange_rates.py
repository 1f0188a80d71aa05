"""Each access pattern of the exchange rates, with consistent and with stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import keyfold
from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import ISO_4217, ExchangeRates, Rate
from keyfold.engine import Engine
from keyfold.errors import ItemInvalid, KeyPartInvalid, NotFound, ValueInvalid
from keyfold.testing import Clock
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS, START, Database, database

DAY = timedelta(days=1)

USD_EUR = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=START)
USD_GBP = Rate(base="USD", target="GBP", rate=Decimal("0.75"), at=START)
EUR_GBP = Rate(base="EUR", target="GBP", rate=Decimal("0.88"), at=START)


def example(base: str, target: str, rate: str) -> dict[str, dict[str, object]]:
    """Return an example item of the document as DynamoDB stores it, with another time."""
    return {
        "PK": {"S": f"RATE#{base}#{target}"},
        "Base": {"S": base},
        "Target": {"S": target},
        "Rate": {"N": rate},
        "Timestamp": {"N": "4102444800"},
        "Stale": {"BOOL": False},
        "ttl": {"N": "4102531200"},
    }


@pytest.fixture(params=[LATE_EXPIRY, STALE_READS], ids=["consistent", "stale"])
def rates(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database(exchange_rates.table, request.param) as rates:
        for each in (USD_EUR, USD_GBP, EUR_GBP):
            rates.run(exchange_rates.save(each, DAY))
        yield rates


def test_get(rates: Database) -> None:
    request = exchange_rates.get("USD", "EUR")
    found = rates.run_until(request, bool)
    assert found == USD_EUR.model_copy(update={"expires": START + DAY})
    rates.run(exchange_rates.mark_stale("USD", "EUR"))
    flagged = rates.run_until(request, lambda rate: rate is not None and rate.stale)
    assert flagged is not None
    assert flagged.stale, "a live rate has its flag as stored"
    rates.clock.advance(DAY)
    assert len(rates.stored(exchange_rates.table)) == 3
    assert rates.run(request) is None
    assert rates.run(exchange_rates.get("USD", "JPY")) is None


def test_get_by_base(rates: Database) -> None:
    request = exchange_rates.get_by_base("USD")
    found = rates.run_until(request, lambda page: len(page) == 2)
    assert {each.target for each in found} == {"EUR", "GBP"}
    assert list(rates.run_until(exchange_rates.get_by_base("EUR"), bool)) == [
        EUR_GBP.model_copy(update={"expires": START + DAY})
    ]
    rates.clock.advance(timedelta(hours=12))
    rates.run(exchange_rates.save(USD_GBP, DAY))
    rates.clock.advance(timedelta(hours=12))
    left = rates.run_until(request, lambda page: len(page) == 1)
    assert [each.target for each in left] == ["GBP"]


def test_save(rates: Database) -> None:
    stored = sorted(rates.stored(exchange_rates.table), key=lambda item: item["PK"]["S"])
    assert stored == [
        example("EUR", "GBP", "0.88"),
        example("USD", "EUR", "0.85"),
        example("USD", "GBP", "0.75"),
    ]
    better = USD_EUR.model_copy(update={"rate": Decimal("0.86")})
    assert rates.run(exchange_rates.save(better, DAY)).expires == START + DAY
    found = rates.run_until(
        exchange_rates.get("USD", "EUR"), lambda rate: rate is not None and rate.rate > USD_EUR.rate
    )
    assert found is not None
    assert found.rate == Decimal("0.86")


def test_delete(rates: Database) -> None:
    for _ in range(2):
        rates.run(exchange_rates.delete("USD", "EUR"))
        assert rates.run_until(exchange_rates.get("USD", "EUR"), lambda rate: rate is None) is None
    assert len(rates.stored(exchange_rates.table)) == 2


def test_get_stale(rates: Database) -> None:
    repository = ExchangeRates(rates.store)
    rates.run(exchange_rates.mark_stale("USD", "GBP"))
    request = exchange_rates.get_stale("USD", "GBP")
    rates.run_until(request, lambda rate: rate is not None and rate.stale)
    fresh, flagged = repository.get_stale("USD", "EUR"), repository.get_stale("USD", "GBP")
    assert fresh is not None
    assert flagged is not None
    assert (fresh.stale, flagged.stale) == (False, True)
    rates.clock.advance(DAY)
    expired = repository.get_stale("USD", "EUR")
    assert expired is not None
    assert (expired.stale, expired.rate) == (True, Decimal("0.85"))
    stored = exchange_rates.Rate.get(base="USD", target="EUR").include_expired()
    assert rates.run(stored) == fresh, "it is not stored as stale"


def test_an_expired_rate_that_was_deleted_is_not_returned_as_stale(rates: Database) -> None:
    rates.clock.advance(timedelta(days=4))
    request = exchange_rates.get_stale("USD", "EUR")
    assert rates.run_until(request, lambda rate: rate is None) is None


def test_mark_stale(rates: Database) -> None:
    assert rates.run(exchange_rates.mark_stale("USD", "EUR")).stale
    with pytest.raises(NotFound):
        rates.run(exchange_rates.mark_stale("USD", "JPY"))
    rates.clock.advance(DAY)
    with pytest.raises(NotFound):
        rates.run(exchange_rates.mark_stale("USD", "GBP"))


def test_the_repository_has_every_operation(rates: Database) -> None:
    repository = ExchangeRates(rates.store)
    saved = repository.save(USD_EUR, DAY)
    rates.clock.advance(1)
    assert repository.get("USD", "EUR") == saved
    assert len(repository.get_by_base("USD")) == 2
    assert repository.mark_stale("USD", "EUR").stale
    repository.delete("USD", "EUR")
    assert repository.get_stale("USD", "JPY") is None


def test_every_pattern_explains_itself() -> None:
    steps = {
        name: [(step.operation, step.index, step.key) for step in pattern.explain().steps]
        for name, pattern in exchange_rates.table.patterns.items()
    }
    pair = "PK='RATE#{base}#{target}'"
    assert steps == {
        "Get": [("GetItem", None, pair)],
        "GetByBase": [("Query", "BaseCurrencyIndex", "Base = '{base}'")],
        "Save": [("PutItem", None, "PK='RATE#{rate.base}#{rate.target}'")],
        "Delete": [("DeleteItem", None, pair)],
        "GetStale": [("GetItem", None, pair)],
        "MarkStale": [("UpdateItem", None, pair)],
    }
    assert all(pattern.description for pattern in exchange_rates.table.patterns.values())


def test_the_reserved_word_base_reaches_the_engine_only_behind_a_placeholder(
    rates: Database,
) -> None:
    rates.run(exchange_rates.get_by_base("USD"))
    rates.run(Rate.scan().where(Rate.f.base.eq("USD")))
    rates.run(exchange_rates.mark_stale("USD", "EUR"))
    rates.run(USD_EUR.put().where(Rate.f.base.eq("USD")))
    rates.run(exchange_rates.get("USD", "EUR").only(Rate))
    expressions = [
        (text, request.get("ExpressionAttributeNames", {}))
        for _, request in rates.calls
        for name, text in request.items()
        if name.endswith("Expression")
    ]
    assert len(expressions) >= 6
    for text, names in expressions:
        assert "base" not in text.lower()
        assert all(placeholder.startswith("#") for placeholder in names)
    queries = [request for operation, request in rates.calls if operation == "Query"]
    assert queries[0]["KeyConditionExpression"] == "#0 = :0"
    assert queries[0]["ExpressionAttributeNames"] == {"#0": "Base"}


def test_the_table_matches_the_document() -> None:
    assert exchange_rates.table.to_dynamodb() == {
        "TableName": "ExchangeRates",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "Base", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "BaseCurrencyIndex",
                "KeySchema": [{"AttributeName": "Base", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }
    assert exchange_rates.table.ttl == "ttl"


@pytest.mark.parametrize(
    "text",
    ["0.85", "150", "0.00000000012345", "12345678901234567890.123456789012345678", "1E-30"],
)
def test_a_rate_comes_back_digit_for_digit(rates: Database, text: str) -> None:
    rate = Rate(base="USD", target="XTS", rate=Decimal(text), at=START)
    rates.run(exchange_rates.save(rate, DAY))
    found = rates.run_until(exchange_rates.get("USD", "XTS"), bool)
    assert found is not None
    assert found.rate == Decimal(text)
    assert found.rate.as_tuple().digits == Decimal(text).as_tuple().digits


@pytest.mark.parametrize("rate", [0, -1, Decimal("-0.85"), Decimal("NaN"), Decimal("Infinity")])
def test_a_rate_that_is_not_positive_is_refused(rate: Decimal) -> None:
    with pytest.raises(ValidationError):
        Rate(base="USD", target="EUR", rate=rate, at=START)


@pytest.mark.parametrize(
    "code", ["usd", "US", "USDX", "US1", "", "US#", "ÄÖÜ", "USD\n", "ZZZ", "BTC", "DEM", "BGN"]
)
def test_a_code_that_iso_4217_does_not_have_is_refused(code: str) -> None:
    with pytest.raises(ValidationError):
        Rate(base=code, target="EUR", rate=Decimal(1), at=START)
    with pytest.raises(KeyPartInvalid):
        exchange_rates.get(code, "EUR")
    with pytest.raises(KeyPartInvalid):
        exchange_rates.get_by_base(code)
    with pytest.raises(KeyPartInvalid) as refused:
        exchange_rates.delete("EUR", code)
    assert str(refused.value).endswith(
        f"{code!r} is not a currency of ISO 4217 (2026-01-01). To allow a private code, name it in "
        "the environment: KEYFOLD_PRIVATE_CURRENCIES=BTC,ETH. [key-part-invalid]"
    )


def test_the_list_has_every_active_code_with_funds_metals_and_tests() -> None:
    assert len(ISO_4217) == 178
    assert all(len(code) == 3 and code.isascii() and code.isupper() for code in ISO_4217)
    assert {"USD", "EUR", "CHE", "CLF", "XAU", "XDR", "XTS", "XXX", "XCG", "ZWG"} <= ISO_4217
    assert not {"HRK", "BGN", "ANG", "CUC", "SLL", "ZWL"} & ISO_4217


def test_private_codes_are_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFOLD_PRIVATE_CURRENCIES", "BTC, USDT,")
    rate = Rate(base="BTC", target="USDT", rate=Decimal(100_000), at=START)
    with keyfold.open(exchange_rates.table, ":memory:") as store:
        store.run(exchange_rates.save(rate, DAY))
        found = store.run(exchange_rates.get("BTC", "USDT"))
        assert found is not None
        assert [each.rate for each in store.run(exchange_rates.get_by_base("BTC"))] == [found.rate]
        with pytest.raises(KeyPartInvalid, match="'ETH' is not a currency"):
            exchange_rates.get("BTC", "ETH")
        monkeypatch.delenv("KEYFOLD_PRIVATE_CURRENCIES")
        with pytest.raises(KeyPartInvalid, match="'BTC' is not a currency"):
            exchange_rates.get_by_base("BTC")
        # What is stored is reported, not lost.
        everything = store.run(Rate.scan())
        assert list(everything) == []
        assert [each.key for each in everything.invalid] == [{"PK": {"S": "RATE#BTC#USDT"}}]


@pytest.mark.parametrize("text", ["btc", "B#C", "BTC;ETH", "B"])
def test_a_private_code_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KEYFOLD_PRIVATE_CURRENCIES", text)
    with pytest.raises(KeyPartInvalid) as refused:
        exchange_rates.get("BTC", "EUR")
    fact = f"KEYFOLD_PRIVATE_CURRENCIES has {text!r}; a code has 2 to 12 capital letters and digits"
    assert fact in str(refused.value)
    exchange_rates.get("USD", "EUR")


@pytest.mark.parametrize(
    ("key", "changed", "reason"),
    [
        ("RATE#USD#JPY", {"Rate": {"N": "0"}}, "rate: Input should be greater than 0"),
        ("RATE#USD#JPY", {"Rate": {"S": "?"}}, "rate: Input should be a valid decimal"),
        ("RATE#USD#JPY", {"Target": {"S": "CHF"}}, "its fields make the key PK='RATE#USD#CHF'"),
        ("RATE#CHF#JPY", {}, "its fields make the key PK='RATE#USD#JPY'"),
        ("RATE#USD#JPY", {"Target": {"S": "???"}}, "target: '???' is not a currency of ISO 4217"),
    ],
)
def test_a_rate_that_is_wrong_is_reported_and_the_others_are_returned(
    rates: Database, key: str, changed: dict[str, Any], reason: str
) -> None:
    item = {**example("USD", "JPY", "150"), "PK": {"S": key}, **changed}
    rates.store.execute("PutItem", {"TableName": "ExchangeRates", "Item": item})
    page = rates.run_until(exchange_rates.get_by_base("USD"), lambda page: bool(page.invalid))
    assert {each.target for each in page} == {"EUR", "GBP"}
    [wrong] = page.invalid
    assert (wrong.key, wrong.entity) == ({"PK": {"S": key}}, "Rate")
    assert wrong.reason.startswith(reason)
    base, target = key.split("#")[1:]
    for pattern in (exchange_rates.get, exchange_rates.get_stale):
        with pytest.raises(ItemInvalid, match=f"^item PK='{key}' of ExchangeRates: "):
            rates.run(pattern(base, target))


def test_a_wrong_rate_is_replaced_by_saving_another(rates: Database) -> None:
    wrong = {**example("USD", "EUR", "0"), "Target": {"S": "CHF"}}
    rates.store.execute("PutItem", {"TableName": "ExchangeRates", "Item": wrong})
    rates.run(exchange_rates.save(USD_EUR, DAY))
    found = rates.run_until(exchange_rates.get("USD", "EUR"), bool)
    assert found is not None
    assert found.rate == USD_EUR.rate


def test_a_rate_needs_a_positive_time_to_live() -> None:
    with pytest.raises(ValueInvalid):
        exchange_rates.save(USD_EUR, timedelta())


@pytest.mark.parametrize(
    ("now", "ttl", "expires"),
    [(0.0, 3_600.0, 3_600), (0.9, 3_600.0, 3_600), (0.9, 3_600.1, 3_601), (0.4, 0.5, 0)],
)
def test_the_ttl_is_the_time_of_the_request_plus_ttl_rounded_down(
    now: float, ttl: float, expires: int
) -> None:
    clock = Clock(START + timedelta(seconds=now))
    with keyfold.open(exchange_rates.table, ":memory:", clock=clock, upkeep_seconds=None) as store:
        saved = store.run(exchange_rates.save(USD_EUR, timedelta(seconds=ttl)))
        assert saved.expires == START + timedelta(seconds=expires)
        [item] = store.execute("Scan", {"TableName": "ExchangeRates"})["Items"]
        assert item["ttl"] == {"N": str(4_102_444_800 + expires)}
        if expires:
            clock.set(START + timedelta(seconds=expires - 0.001))
            assert store.run(exchange_rates.get("USD", "EUR")) == saved
            clock.set(START + timedelta(seconds=expires))
        stale = store.run(exchange_rates.get_stale("USD", "EUR"))
        assert store.run(exchange_rates.get("USD", "EUR")) is None
        assert stale is not None
        assert stale.stale


def test_an_expired_rate_stays_in_a_file_for_two_days(tmp_path: Path) -> None:
    clock = Clock(START)
    path = tmp_path / "rates.db"
    with (
        keyfold.open(exchange_rates.table, path, clock=clock, upkeep_seconds=None) as store,
        Engine.open(path, clock=clock, upkeep_seconds=None) as engine,
    ):
        store.run(exchange_rates.save(USD_EUR, DAY))
        for hours in (24, 47):
            clock.advance(timedelta(hours=hours))
            assert engine.run_upkeep() == 0
            assert store.run(exchange_rates.get("USD", "EUR")) is None
            stale = store.run(exchange_rates.get_stale("USD", "EUR"))
            assert stale is not None
            assert (stale.stale, stale.rate) == (True, USD_EUR.rate)
        clock.advance(timedelta(hours=2))
        assert engine.run_upkeep() == 1
        assert store.run(exchange_rates.get_stale("USD", "EUR")) is None


def test_a_timestamp_has_whole_seconds() -> None:
    moment = START.replace(microsecond=999_999)
    rate = Rate(base="USD", target="EUR", rate=Decimal(1), at=moment)
    assert rate.at == START
    assert rate.put().to_dynamodb()["Item"]["Timestamp"] == {"N": "4102444800"}
