"""Which text an error has in each wording, and that it reaches every way to an engine."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from keyfold import Key, Table
from keyfold import open as open_store
from keyfold.api.wordings import ENVELOPE, Wording, check_wording, reword
from keyfold.engine import Engine
from keyfold.errors import (
    OptionInvalid,
    ResourceNotFoundException,
    ServiceError,
    ValidationException,
)
from keyfold.policy.accesses import read_accesses
from keyfold.testing import dynamodb

TABLE = {
    "TableName": "Songs",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
UPDATE = {"TableName": "Songs", "Key": {"pk": {"S": "a"}}, "UpdateExpression": ""}
EMPTY = "Invalid UpdateExpression: The expression can not be empty;"
WORDINGS: dict[Wording, str] = {"2026": ENVELOPE + EMPTY, "2025": EMPTY}

in_both = pytest.mark.parametrize(("wording", "message"), WORDINGS.items())


def message_of(target: Any, operation: str, request: dict[str, Any]) -> str:
    with pytest.raises(ServiceError) as refused:
        target.execute(operation, request)
    return refused.value.message


def test_the_former_validation_has_one_text() -> None:
    error = ValidationException("old", current_message="new")
    assert reword(error, "2026") is error


def test_the_current_validation_has_its_own_text() -> None:
    error = ValidationException("old", current_message="new", validation="current")
    assert (reword(error, "2025"), reword(error, "2026").message) == (error, "new")


def test_an_envelope_contains_the_current_text() -> None:
    error = ValidationException("old", current_message="new", validation="enveloped")
    assert reword(error, "2026").message == ENVELOPE + "new"
    error.is_bare = True
    assert reword(error, "2026").message == "new"


def test_whoever_finds_a_fault_first_says_by_which_validation() -> None:
    error = ValidationException("old")
    error.set_validation("enveloped")
    error.set_validation("current")
    assert error.validation == "enveloped"


def test_an_error_with_two_texts_survives_pickling() -> None:
    error = ValidationException("old", current_message="new", validation="enveloped")
    assert reword(pickle.loads(pickle.dumps(error)), "2026").message == ENVELOPE + "new"


def test_other_errors_stay_as_they_are() -> None:
    error = ResourceNotFoundException("Requested resource not found")
    assert reword(error, "2026") is error


def test_an_unknown_wording_is_refused() -> None:
    with pytest.raises(OptionInvalid, match="wording"):
        check_wording("2024")
    with pytest.raises(OptionInvalid, match="wording"):
        Engine.open(":memory:", wording="today")  # pyright: ignore[reportArgumentType] - refused


@in_both
def test_an_engine_has_one_wording(wording: Wording, message: str) -> None:
    with Engine.open(":memory:", wording=wording) as engine:
        engine.execute("CreateTable", TABLE)
        assert message_of(engine, "UpdateItem", UPDATE) == message


def test_todays_wording_is_the_default() -> None:
    with Engine.open(":memory:") as engine:
        assert engine.wording == "2026"
        assert message_of(engine, "UpdateItem", UPDATE) == ENVELOPE + EMPTY


@in_both
def test_a_service_for_tests_has_one_wording(wording: Wording, message: str) -> None:
    with dynamodb(wording=wording) as service:
        assert message_of(service, "UpdateItem", UPDATE) == message
        service.reset()
        assert message_of(service, "UpdateItem", UPDATE) == message


@in_both
def test_a_request_is_refused_in_the_same_words_before_its_accesses_are_known(
    wording: Wording, message: str
) -> None:
    with pytest.raises(ServiceError) as refused:
        read_accesses("UpdateItem", UPDATE, lambda _: None, wording)
    assert refused.value.message == message


@pytest.mark.parametrize("wording", ["2025", "2026"])
def test_a_fault_that_depends_on_the_table_has_no_envelope(wording: Wording) -> None:
    request = {
        **UPDATE,
        "UpdateExpression": "SET pk = :v",
        "ExpressionAttributeValues": {":v": {"S": "b"}},
    }
    with Engine.open(":memory:", wording=wording) as engine:
        engine.execute("CreateTable", TABLE)
        assert message_of(engine, "UpdateItem", request).startswith("One or more parameter values")


@in_both
def test_a_store_passes_the_wording_to_its_engine(wording: Wording, message: str) -> None:
    songs = Table("Songs", key=Key("pk"))
    with open_store(songs, ":memory:", wording=wording) as store:
        assert message_of(store, "UpdateItem", UPDATE) == message
