"""Deploying declared tables: the planned steps, the applied changes, and what is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold import Entity, Expiry, Index, Key, OnDemand, Provisioned, Table, attr
from keyfold.deploy import Event, apply, plan, read_state
from keyfold.engine import Engine
from keyfold.errors import (
    InternalServerError,
    LimitExceededException,
    ResourceInUseException,
    TableUnsettled,
    ThrottlingException,
    ValidationException,
)

BY_YEAR = Index("ByYear", key=Key("year"))
BY_LABEL = Index("ByLabel", key=Key("label", "year"), project="keys")


@pytest.fixture
def database() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


def declare(
    *indexes: Index, key: Key | None = None, ttl: str | None = None, **options: Any
) -> Table:
    """Declare a table of songs."""
    key = key or Key("artist", "title")
    table = Table("Songs", key=key, indexes=indexes, ttl=ttl, **options)
    templates = tuple(f"{{{name}}}" for name in key.names)

    class Song(Entity, table=table, key=templates if len(templates) > 1 else templates[0]):
        artist: str
        title: str
        year: str = "1965"
        label: str = "Philips"
        expires: Expiry | None = attr("ttl", default=None)
        until: Expiry | None = None

    assert Song
    return table


def texts(database: Engine, table: Table, *, allow_removal: bool = False) -> list[str]:
    (planned,) = plan(database, [table], allow_removal=allow_removal)
    return [step.text for step in planned.steps]


def describe(database: Engine) -> dict[str, Any]:
    return database.execute("DescribeTable", {"TableName": "Songs"})["Table"]


def make(database: Engine, table: Table, **options: Any) -> list[str]:
    """Apply a declaration and return the steps done; check that the table is then as declared."""
    (report,) = apply(database, [table], sleep=no_sleep, **options)
    assert report.is_as_declared
    assert plan(database, [table])[0].is_as_declared
    return [step.text for step in report.done]


def no_sleep(seconds: float) -> None:
    pytest.fail(f"slept for {seconds} seconds")


def test_a_missing_table_is_created(database: Engine) -> None:
    table = declare(
        BY_YEAR,
        ttl="ttl",
        billing=Provisioned(read=3, write=2, indexes={"ByYear": Provisioned(read=7, write=2)}),
        deletion_protection=True,
        tags={"team": "music"},
        stream="new and old",
    )
    expected = ["create table Songs by artist, title with ByYear", "let items expire by ttl"]
    assert texts(database, table) == expected
    assert database.execute("ListTables", {})["TableNames"] == []
    assert make(database, table) == expected
    state = read_state(database, "Songs")
    assert state is not None
    assert (state.ttl, state.is_protected, state.tags) == ("ttl", True, {"team": "music"})
    assert state.billing == Provisioned(3, 2, indexes={"ByYear": Provisioned(7, 2)})
    assert state.stream == "NEW_AND_OLD_IMAGES"


def test_a_table_as_declared_needs_nothing(database: Engine) -> None:
    make(database, declare(BY_YEAR, BY_LABEL))
    assert make(database, declare(BY_YEAR, BY_LABEL)) == []


def test_undeclared_settings_are_left_alone(database: Engine) -> None:
    make(
        database,
        declare(billing=Provisioned(3, 2), deletion_protection=True, tags={"a": "b"}, stream="new"),
    )
    assert make(database, declare()) == []


def test_indexes_are_added_one_at_a_time(database: Engine) -> None:
    make(database, declare())
    item = {"artist": {"S": "Nina"}, "title": {"S": "Sinnerman"}, "year": {"S": "1965"}}
    database.execute("PutItem", {"TableName": "Songs", "Item": item})
    done = make(database, declare(BY_YEAR, BY_LABEL))
    assert done == ["add index ByYear by year", "add index ByLabel by label, year"]
    found = database.execute(
        "Query",
        {
            "TableName": "Songs",
            "IndexName": "ByYear",
            "KeyConditionExpression": "#y = :y",
            "ExpressionAttributeNames": {"#y": "year"},
            "ExpressionAttributeValues": {":y": {"S": "1965"}},
        },
    )
    assert found["Items"] == [item]


def test_an_index_of_a_provisioned_table_gets_units(database: Engine) -> None:
    make(database, declare(billing=Provisioned(3, 2)))
    make(database, declare(BY_YEAR))
    (index,) = describe(database)["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"]["ReadCapacityUnits"] == 3


def test_nothing_is_removed_unless_allowed(database: Engine) -> None:
    make(
        database,
        declare(BY_YEAR, ttl="ttl", deletion_protection=True, tags={"a": "1", "b": "2"}),
    )
    table = declare(deletion_protection=False, tags={"a": "1"})
    (report,) = apply(database, [table], sleep=no_sleep)
    assert (report.done, report.is_as_declared) == ((), False)
    expected = [
        "no longer protect it from deletion",
        "remove index ByYear, which is not declared",
        "no longer expire by ttl",
        "remove the tags b, which are not declared",
    ]
    assert [step.text for step in report.plan.withheld] == expected
    assert describe(database)["DeletionProtectionEnabled"] is True
    assert make(database, table, allow_removal=True) == expected
    assert "GlobalSecondaryIndexes" not in describe(database)


def test_a_different_index_is_recreated_only_if_removal_is_allowed(database: Engine) -> None:
    make(database, declare(Index("ByYear", key=Key("label")), BY_LABEL))
    table = declare(BY_YEAR, BY_LABEL)
    (planned,) = plan(database, [table])
    assert planned.steps == ()
    assert [step.text for step in planned.withheld] == [
        "remove index ByYear (label (S), all attributes), to add it again as declared",
        "add index ByYear by year",
    ]
    assert len(make(database, table, allow_removal=True)) == 2
    state = read_state(database, "Songs")
    assert state is not None
    assert state.indexes["ByYear"].key == (("year", "HASH", "S"),)


def test_the_order_of_projected_names_does_not_matter(database: Engine) -> None:
    make(database, declare(Index("ByYear", key=Key("year"), project=("label", "until"))))
    assert (
        make(database, declare(Index("ByYear", key=Key("year"), project=("until", "label")))) == []
    )
    planned = texts(database, declare(BY_YEAR), allow_removal=True)
    assert planned[0].startswith("remove index ByYear (year (S), with label, until)")


@pytest.mark.parametrize("key", [Key("artist"), Key("title", "artist")])
def test_a_different_key_is_an_obstacle(database: Engine, key: Key) -> None:
    make(database, declare())
    (report,) = apply(database, [declare(key=key)], sleep=no_sleep)
    (obstacle,) = report.plan.obstacles
    assert obstacle.fact.startswith("its key is artist (S), title (S); the declared key is ")
    assert "keyfold copy" in obstacle.advice


def test_a_missing_or_extra_local_index_is_an_obstacle(database: Engine) -> None:
    local = Index("ByYear", key=Key("artist", "year"), local=True)
    make(database, declare())
    (planned,) = plan(database, [declare(local)])
    assert (planned.steps, len(planned.obstacles)) == ((), 1)
    database.execute("DeleteTable", {"TableName": "Songs"})
    make(database, declare(local))
    (planned,) = plan(database, [declare()], allow_removal=True)
    assert planned.steps == ()
    assert "Declare it." in planned.obstacles[0].advice


def test_expiry_is_disabled_before_another_attribute_is_enabled(database: Engine) -> None:
    make(database, declare(ttl="ttl"))
    steps = ["no longer expire by ttl", "let items expire by until"]
    assert texts(database, declare(ttl="until")) == []
    assert make(database, declare(ttl="until"), allow_removal=True) == steps


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("on demand", Provisioned(3, 2), "provision 3 read and 2 write units a second"),
        (Provisioned(3, 2), "on demand", "pay for capacity on demand"),
        (Provisioned(3, 2), Provisioned(3, 4), "provision 3 read and 4 write units a second"),
        (
            Provisioned(3, 2),
            Provisioned(3, 2, indexes={"ByYear": Provisioned(9, 9)}),
            "provision 3 read and 2 write units a second",
        ),
    ],
)
def test_billing_changes_for_the_table_and_its_indexes(
    database: Engine, before: Any, after: Any, text: str
) -> None:
    make(database, declare(BY_YEAR, billing=before))
    assert make(database, declare(BY_YEAR, billing=after)) == [text]


def test_maximums_on_demand_are_set_changed_and_removed(database: Engine) -> None:
    limited = OnDemand(40, 10, indexes={"ByYear": OnDemand(max_read=5)})
    make(database, declare(BY_YEAR, billing=Provisioned(3, 2)))
    assert make(database, declare(BY_YEAR, billing=limited)) == [
        "pay for capacity on demand",
        "limit the table to 40 read and 10 write units a second",
        "limit index ByYear to 5 read and any number of write units a second",
    ]
    assert texts(database, declare(BY_YEAR, billing=limited)) == []
    # It says nothing about maximums.
    assert texts(database, declare(BY_YEAR, billing="on demand")) == []
    assert make(database, declare(BY_YEAR, billing=OnDemand(max_read=40))) == [
        "limit the table to 40 read and any number of write units a second",
        "limit index ByYear to 40 read and any number of write units a second",
    ]
    described = database.execute("DescribeTable", {"TableName": "Songs"})["Table"]
    assert described["OnDemandThroughput"]["MaxReadRequestUnits"] == 40
    make(database, declare(BY_YEAR, billing=OnDemand()))
    assert texts(database, declare(BY_YEAR, billing=OnDemand())) == []


def test_a_new_table_and_a_new_index_have_the_maximums(database: Engine) -> None:
    make(database, declare(billing=OnDemand(max_write=10)))
    make(database, declare(BY_YEAR, billing=OnDemand(max_write=10)))
    described = database.execute("DescribeTable", {"TableName": "Songs"})["Table"]
    (index,) = described["GlobalSecondaryIndexes"]
    for each in (described, index):
        assert each["OnDemandThroughput"]["MaxWriteRequestUnits"] == 10


def test_a_stream_is_disabled_before_another_view_is_enabled(database: Engine) -> None:
    make(database, declare(stream="keys"))
    assert texts(database, declare(stream="new and old")) == []
    assert make(database, declare(stream="new and old"), allow_removal=True) == [
        "turn off its stream of KEYS_ONLY, to turn it on as declared",
        "turn on a stream of NEW_AND_OLD_IMAGES",
    ]


def test_tags_are_added_and_changed(database: Engine) -> None:
    make(database, declare(tags={"a": "1", "b": "2"}))
    assert make(database, declare(tags={"a": "1", "b": "3", "c": "4"})) == ["tag it b=3, c=4"]


class SlowDatabase:
    """A database whose changes take effect slowly, as scripted by a test."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.index_status: list[str] = []
        self.failures: dict[str, list[Exception]] = {}
        self.calls: list[str] = []

    def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        self.calls.append(operation)
        if self.failures.get(operation):
            raise self.failures[operation].pop(0)
        answer = self.engine.execute(operation, request)
        if operation == "DescribeTable" and self.index_status:
            answer["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] = self.index_status.pop(0)
        return answer


def test_each_step_waits_until_the_one_before_has_taken_effect(database: Engine) -> None:
    make(database, declare(BY_YEAR))
    slow, events, slept = SlowDatabase(database), list[Event](), list[float]()
    slow.index_status = ["CREATING", "CREATING", "ACTIVE"]
    (report,) = apply(
        slow, [declare(BY_YEAR, BY_LABEL)], on_event=events.append, sleep=slept.append
    )
    assert report.is_as_declared
    assert len(slept) == 2
    assert slept[1] > slept[0]
    assert [(event.kind, event.text) for event in events] == [
        ("wait", "index ByYear is creating"),
        ("begin", "add index ByLabel by label, year"),
        ("done", "add index ByLabel by label, year"),
    ]


def test_a_change_that_never_takes_effect_ends_with_an_error(database: Engine) -> None:
    make(database, declare(BY_YEAR))
    slow = SlowDatabase(database)
    slow.index_status = ["CREATING"] * 100
    with pytest.raises(
        TableUnsettled, match=r"Songs: a change is still in progress .* apply again"
    ):
        apply(slow, [declare(BY_YEAR)], sleep=lambda _: None, longest_wait_seconds=30)


@pytest.mark.parametrize(
    "error",
    [
        ResourceInUseException("busy"),
        LimitExceededException("many"),
        ThrottlingException("slow down"),
    ],
)
def test_requests_to_a_busy_table_or_account_are_retried(
    database: Engine, error: Exception
) -> None:
    make(database, declare())
    slow, slept = SlowDatabase(database), list[float]()
    slow.failures["UpdateTable"] = [error, error]
    (report,) = apply(slow, [declare(BY_YEAR)], sleep=slept.append)
    assert report.is_as_declared
    assert len(slept) == 2


def test_transient_errors_of_reads_are_retried(database: Engine) -> None:
    make(database, declare())
    slow, slept = SlowDatabase(database), list[float]()
    slow.failures["DescribeTable"] = [ThrottlingException("slow down"), InternalServerError()]
    (report,) = apply(slow, [declare(BY_YEAR)], sleep=slept.append)
    assert report.is_as_declared
    assert len(slept) == 2


def test_a_step_that_may_have_been_carried_out_is_not_repeated(database: Engine) -> None:
    make(database, declare())
    slow = SlowDatabase(database)
    slow.failures["UpdateTable"] = [InternalServerError()]
    with pytest.raises(InternalServerError):
        apply(slow, [declare(BY_YEAR)], sleep=no_sleep)
    assert slow.calls.count("UpdateTable") == 1


def test_apply_waits_for_a_table_that_another_process_is_creating(database: Engine) -> None:
    make(database, declare())

    class StaleDatabase(SlowDatabase):
        """Its first description is from before another process created the table."""

        def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
            if operation == "DescribeTable" and not self.calls:
                self.calls.append(operation)
                return self.engine.execute("DescribeTable", {"TableName": "Nothing"})
            return super().execute(operation, request)

    (report,) = apply(StaleDatabase(database), [declare()], sleep=no_sleep)
    assert report.is_as_declared


def test_a_change_of_expiry_within_an_hour_is_postponed(database: Engine) -> None:
    make(database, declare())
    slow, events = SlowDatabase(database), list[Event]()
    slow.failures["UpdateTimeToLive"] = [
        ValidationException("Time to live has been modified multiple times within a fixed interval")
    ]
    table = declare(BY_YEAR, ttl="ttl", tags={"a": "1"})
    (report,) = apply(slow, [table], on_event=events.append, sleep=no_sleep)
    assert [step.text for step in report.postponed] == ["let items expire by ttl"]
    assert [step.text for step in report.done] == ["add index ByYear by year", "tag it a=1"]
    assert not report.is_as_declared
    assert make(database, table) == ["let items expire by ttl"]


def test_an_interrupted_apply_continues_when_run_again(database: Engine) -> None:
    table = declare(BY_YEAR, BY_LABEL, ttl="ttl", tags={"a": "1"}, stream="new and old")
    make(database, declare())
    whole = len(plan(database, [table])[0].steps)

    def interrupt(event: Event) -> None:
        if event.kind == "done":
            raise KeyboardInterrupt

    for left in reversed(range(whole)):
        with pytest.raises(KeyboardInterrupt):
            apply(database, [table], on_event=interrupt, sleep=no_sleep)
        assert len(plan(database, [table])[0].steps) == left
    assert plan(database, [table])[0].is_as_declared
