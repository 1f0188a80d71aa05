"""Key fields with validators: what is asked for is normalised like what is written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, ValidationInfo, field_validator

from keyfold.errors import KeyPartInvalid
from keyfold.model import Entity, Index, Key, Request, Table, now, part


def drop_fraction(time: datetime) -> datetime:
    return time.replace(microsecond=0)


by_place = Index("ByPlace", key=Key("place", "at"))
visits = Table("Visits", key=Key("pk", "sk"), indexes=[by_place])


class Visit(Entity, table=visits, key=("{email}", "{at}#{seat:02}")):
    email: str = part()
    at: Annotated[datetime, AfterValidator(drop_fraction)]
    seat: int = part()
    place: str

    @field_validator("email", "place")
    @classmethod
    def lower(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it is blank")
        return text.strip().lower()

    @field_validator("seat")
    @classmethod
    def after_the_others(cls, seat: int, info: ValidationInfo) -> int:
        assert "email" in info.data
        return seat


NOON = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
VISIT = Visit(email=" Ada@Example.com", at=NOON, seat=1, place="Graz")
KEY = {"pk": {"S": "ada@example.com"}, "sk": {"S": "2026-01-31T12:00:00.000000Z#01"}}
HERS: dict[str, Any] = {"email": "ADA@example.com ", "at": NOON, "seat": 1}


@pytest.mark.parametrize("make", [Visit.get, Visit.delete])
def test_a_key_is_normalised_as_the_entity_is(make: Any) -> None:
    assert VISIT.put().item_key == KEY
    request = make(**HERS).to_dynamodb()
    assert request["Key"] == KEY


@pytest.mark.parametrize(
    "request_",
    [
        Visit.query(email="ADA@example.com", at=NOON),
        Visit.query(email="ADA@example.com").between(NOON, NOON),
        Visit.query(by_place, place="GRAZ", at=NOON),
    ],
)
def test_a_query_is_normalised_as_the_entity_is(request_: Request[Any]) -> None:
    values = request_.to_dynamodb()["ExpressionAttributeValues"]
    texts = [each["S"] for each in values.values()]
    assert texts[0] in ("ada@example.com", "graz")
    assert all(each.startswith("2026-01-31T12:00:00.000000Z") for each in texts[1:])


def test_a_value_that_a_validator_refuses_is_refused() -> None:
    with pytest.raises(KeyPartInvalid, match="it is blank"):
        Visit.get(email="  ", at=NOON, seat=1)


def test_a_moment_is_left_to_the_store() -> None:
    assert (
        "<" in Visit.query(email="ada").until(now).to_dynamodb(now=NOON)["KeyConditionExpression"]
    )


def test_text_of_a_field_whose_validator_looks_at_others_is_converted_by_its_type() -> None:
    assert Visit.get(email="ada@example.com", at=NOON, seat="1").to_dynamodb()["Key"] == KEY
