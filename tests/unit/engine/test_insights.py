"""Contributor insights: enabling, disabling and describing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ResourceNotFoundException, ValidationException
from tests.unit.engine.clocks import Clock
from tests.unit.engine.test_usage import CREATE, TABLE


@pytest.fixture
def clock() -> Clock:
    return Clock(1_700_000_000.5)


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        yield engine


def _update(engine: Engine, action: str, **more: Any) -> dict[str, Any]:
    request = {"TableName": TABLE, "ContributorInsightsAction": action, **more}
    return engine.execute("UpdateContributorInsights", request)


def _describe(engine: Engine, **more: Any) -> dict[str, Any]:
    return engine.execute("DescribeContributorInsights", {"TableName": TABLE, **more})


def test_insights_are_off_until_they_are_enabled(engine: Engine, clock: Clock) -> None:
    assert _describe(engine) == {
        "TableName": TABLE,
        "ContributorInsightsStatus": "DISABLED",
        "ContributorInsightsRuleList": [],
    }
    assert _update(engine, "ENABLE") == {
        "TableName": TABLE,
        "ContributorInsightsStatus": "ENABLING",
        "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS",
    }
    assert _describe(engine) == {
        "TableName": TABLE,
        "ContributorInsightsStatus": "ENABLED",
        "ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS",
        "ContributorInsightsRuleList": [
            f"DynamoDBContributorInsights-{kind}-Music-1700000000500"
            for kind in ("PKC", "SKC", "PKT", "SKT")
        ],
        "LastUpdateDateTime": 1_700_000_000.5,
    }
    clock.let_pass(1)
    assert _update(engine, "DISABLE") == {
        "TableName": TABLE,
        "ContributorInsightsStatus": "DISABLING",
    }
    assert _describe(engine)["LastUpdateDateTime"] == 1_700_000_001.5


def test_an_index_has_its_own_rules(engine: Engine) -> None:
    answer = _update(
        engine, "ENABLE", IndexName="ByGenre", ContributorInsightsMode="THROTTLED_KEYS"
    )
    assert (answer["IndexName"], answer["ContributorInsightsMode"]) == ("ByGenre", "THROTTLED_KEYS")
    # Its key has no sort key, and only throttled requests are counted.
    assert _describe(engine, IndexName="ByGenre")["ContributorInsightsRuleList"] == [
        "DynamoDBContributorInsights-PKT-Music-ByGenre-1700000000500"
    ]
    assert _describe(engine)["ContributorInsightsStatus"] == "DISABLED"


def test_missing_tables_and_indexes_have_no_insights(engine: Engine) -> None:
    with pytest.raises(ResourceNotFoundException):
        _describe(engine, TableName="Absent")
    with pytest.raises(ResourceNotFoundException):
        _describe(engine, IndexName="Absent")
    with pytest.raises(ResourceNotFoundException):
        _update(engine, "ENABLE", IndexName="Absent")


def test_insights_are_listed_a_page_at_a_time(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "TableName": "Other"})
    _update(engine, "ENABLE", IndexName="ByGenre")
    engine.execute(
        "UpdateContributorInsights", {"TableName": "Other", "ContributorInsightsAction": "ENABLE"}
    )
    listed: list[dict[str, Any]] = []
    token: dict[str, Any] = {}
    while True:
        page = engine.execute("ListContributorInsights", {"MaxResults": 1, **token})
        listed += page["ContributorInsightsSummaries"]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert [
        (each["TableName"], each.get("IndexName"), each["ContributorInsightsStatus"])
        for each in listed
    ] == [
        ("Music", None, "DISABLED"),
        ("Music", "ByGenre", "ENABLED"),
        ("Other", None, "ENABLED"),
    ]
    own = engine.execute("ListContributorInsights", {"TableName": "Other"})
    assert own == {"ContributorInsightsSummaries": listed[2:]}
    with pytest.raises(ValidationException, match="Invalid NextToken"):
        engine.execute("ListContributorInsights", {"NextToken": "x"})


def test_rule_names_are_never_too_long(engine: Engine) -> None:
    long = "T" * 255
    engine.execute("CreateTable", {**CREATE, "TableName": long})
    request = {"TableName": long, "ContributorInsightsAction": "ENABLE"}
    engine.execute("UpdateContributorInsights", request)
    rules = _describe(engine, TableName=long)["ContributorInsightsRuleList"]
    assert all(len(rule) <= 128 for rule in rules)
