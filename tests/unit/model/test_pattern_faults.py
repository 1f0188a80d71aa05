"""Explaining a pattern finds its faults, and tells them from what a placeholder cannot do."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from keyfold.errors import (
    FieldUnknown,
    IndexPartsUnknown,
    PatternFailed,
    PatternUnexplained,
    QueryInvalid,
    WriteRefused,
)
from keyfold.model import Entity, Expiry, Index, Key, Table, attr, transaction
from tests.unit.model.shop import Address, OrderId, Rate, Ticket, by_base

by_day = Index("ByDay", key=Key("day_pk", "day_sk"))
by_state = Index("ByState", key=Key("state", "pk"), project="keys")
plan = Table("Plan", key=Key("pk"), indexes=[by_day, by_state], ttl="ttl")


class Job(
    Entity, table=plan, key="JOB#{code}", indexes={by_day: ("{team}#{day}", "{rank:03}#{code}")}
):
    code: str
    team: str
    day: str
    rank: int = 0
    state: str | None = None
    expires: Expiry | None = attr("ttl", default=None)


class State(Enum):
    OPEN = "open"


class Search(BaseModel):
    words: list[str] = Field(max_length=3)


Make = Callable[[Any], Any]


def explain(make: Make) -> Any:
    return Table("Own", key=Key("pk")).pattern("name")(make).explain()


def misspelt_keyword(base: str) -> Any:
    return Rate.query(by_base, base=base).limit(cuont=3)  # type: ignore[call-arg]


def misspelt_attribute(ticket: Ticket) -> Any:
    return Ticket.get(team=ticket.team, number=ticket.nmuber)  # type: ignore[attr-defined]


def of_none(base: str) -> Any:
    made: Any = {"base": None}
    return Rate.query(by_base, base=base + made["base"].upper())


def missing_key(base: str) -> Any:
    return Rate.query(by_base, base={"base": base}["bsae"])


def unknown_name(base: str) -> Any:
    return Rate.query(by_base, base=bsae)  # type: ignore[name-defined]  # noqa: F821


def adds_types(base: str) -> Any:
    return Rate.query(by_base, base=base).limit(1 + "2")  # type: ignore[operator]


def own_value(base: str) -> Any:
    return Rate.query(by_base, base=base).limit(int("three"))


def invalid_model(base: str) -> Any:
    return Rate.query(by_base, base=base).limit(len(Search(words=["a"] * 4).words))


BUGS: list[tuple[Make, str]] = [
    (misspelt_keyword, "TypeError"),
    (misspelt_attribute, "AttributeError"),
    (of_none, "AttributeError"),
    (missing_key, "KeyError"),
    (unknown_name, "NameError"),
    (adds_types, "TypeError"),
    (own_value, "ValueError"),
    (invalid_model, "ValidationError"),
    (lambda base: Rate.query(by_base, bsae=base), "FieldUnknown"),
    (lambda base: Rate.get(base=base), "MissingKeyPart"),
    (lambda base: Rate.query(by_base, base=base).limit(0), "QueryInvalid"),
    (lambda base: 1 / 0, "ZeroDivisionError"),
]


@pytest.mark.parametrize(("make", "error"), BUGS)
def test_a_bug_in_a_pattern_is_reported_as_that_bug(make: Any, error: str) -> None:
    with pytest.raises(PatternFailed, match=f"^pattern 'name': it raises {error}: ") as caught:
        explain(make)
    cause = caught.value.__cause__
    assert cause is not None
    assert type(cause).__name__ == error
    # The traceback leads to the line in the pattern.
    frames = [each.name for each in traceback.extract_tb(cause.__traceback__)]
    assert make.__name__ in frames


def test_a_misspelt_field_names_the_known_ones() -> None:
    with pytest.raises(PatternFailed, match="unknown field 'bsae'; known fields: base") as caught:
        explain(lambda base: Rate.query(by_base, bsae=base))
    assert isinstance(caught.value.__cause__, FieldUnknown)
    assert str(caught.value).endswith(". [pattern-failed]")


LIMITS: list[Make] = [
    lambda day: Job.query(by_day, team="a", day=date.fromisoformat(day).isoformat()),
    lambda day: Job.query(by_day, team="a", day=datetime.fromisoformat(day).isoformat()),
    lambda amount: Job.get(code=str(Decimal(amount))),
    lambda code: Job.get(code=UUID(code).hex),
    lambda state: Job.get(code=State(state).value),
    lambda count: Job.get(code=f"{int(count)}"),
    lambda ids: Job.get(code="#".join(ids)),
    lambda code: Job.get(code={"a": "b"}[code]),
    lambda order: Job.get(code=OrderId(order)),
    lambda count: Job.get(code="a") if count > 3 else None,
    lambda city: Job.get(code=Address(city=city).city),
    lambda words: Job.get(code=Search(words=[words]).words[0]),
    lambda count: Job.get(code="a" * round(count)),
]


@pytest.mark.parametrize("make", LIMITS)
def test_what_a_placeholder_cannot_do_asks_for_an_example(make: Any) -> None:
    with pytest.raises(PatternUnexplained, match="Declare it with example="):
        explain(make)


# Requests that cannot run.


def test_an_update_whose_index_parts_are_unknown_is_found() -> None:
    def put_off(day: str) -> Any:
        return Job.update(code="a").set(Job.f.day, day)

    with pytest.raises(PatternFailed, match=r"'day_pk' is also built from team\. Use") as caught:
        explain(put_off)
    assert isinstance(caught.value.__cause__, IndexPartsUnknown)
    explain(lambda day: Job.update(code="a").set(Job.f.day, day).knowing(team="b"))


def test_the_members_of_a_transaction_are_checked_too() -> None:
    def move(day: str) -> Any:
        return transaction(Job.delete(code="a"), Job.update(code="b").set(Job.f.day, day))

    with pytest.raises(PatternFailed, match="IndexPartsUnknown"):
        explain(move)


def test_the_next_step_of_a_chain_is_checked_too() -> None:
    def move(day: str) -> Any:
        return Job.get(code="a").then(lambda job: Job.update(code=job.code).set(Job.f.day, day))

    with pytest.raises(PatternFailed, match="IndexPartsUnknown"):
        explain(move)


REFUSED: list[tuple[Make, str, str]] = [
    (lambda code: Job.update(code=code), "UpdateInvalid", "changes nothing"),
    (lambda state: Job.query(by_state, state=state), QueryInvalid.__name__, "holds only some"),
    (lambda state: Job.query(by_state, state=state).first(), "QueryInvalid", "holds only some"),
    (
        lambda state: Job.query(by_state, state=state).refs().where(Job.f.team.eq("a")),
        "QueryInvalid",
        "does not hold team",
    ),
    (lambda state: Job.query(by_state, state=state).count(), "QueryInvalid", "be counted"),
    (lambda code: Job.check(Job.f.rank > 1, code=code), WriteRefused.__name__, "on its own"),
]


@pytest.mark.parametrize(("make", "error", "match"), REFUSED)
def test_a_request_that_would_be_refused_is_found(make: Any, error: str, match: str) -> None:
    with pytest.raises(PatternFailed, match=f"it raises {error}: .*{match}"):
        explain(make)


def test_what_can_run_is_explained() -> None:
    explained = explain(lambda state: Job.query(by_state, state=state).refs())
    assert [step.index for step in explained.steps] == ["ByState"]
    explain(lambda state: Job.query(by_state, state=state).include_expired().count())
