"""Each access pattern of the exchange rates, with consistent and with stale reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import ValidationError

from keyfold.designs import exchange_rates
from keyfold.designs.exchange_rates import ExchangeRates, Rate
from keyfold.errors import KeyPartInvalid, NotFound, ValueInvalid
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


@pytest.mark.parametrize("code", ["usd", "US", "USDX", "US1", "", "US#", "ÄÖÜ", "USD\n"])
def test_a_code_of_other_than_three_capital_letters_is_refused(code: str) -> None:
    with pytest.raises(ValidationError):
        Rate(base=code, target="EUR", rate=Decimal(1), at=START)
    with pytest.raises(KeyPartInvalid):
        exchange_rates.get(code, "EUR")
    with pytest.raises(KeyPartInvalid):
        exchange_rates.get_by_base(code)
    with pytest.raises(KeyPartInvalid, match=r"should match pattern.*\[key-part-invalid\]$"):
        exchange_rates.delete("EUR", code)


def test_a_rate_needs_a_positive_time_to_live() -> None:
    with pytest.raises(ValueInvalid):
        exchange_rates.save(USD_EUR, timedelta())


def test_a_timestamp_has_whole_seconds() -> None:
    moment = START.replace(microsecond=999_999)
    rate = Rate(base="USD", target="EUR", rate=Decimal(1), at=moment)
    assert rate.at == START
    assert rate.put().to_dynamodb()["Item"]["Timestamp"] == {"N": "4102444800"}
