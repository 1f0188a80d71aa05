"""Messages for clients of an API have no keys, no stored values and nothing of the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import keyfold
from keyfold import Entity, Key, Table, transaction
from keyfold.errors import (
    AccessDenied,
    AlreadyExists,
    ClientClosed,
    InternalServerError,
    KeyfoldError,
    TransactionFailed,
    UniqueTaken,
    ValueInvalid,
)
from keyfold.errors._base import TemplatedError
from tests.unit.errors.test_errors import OWN

# The facts that a public message may have: names of entities and fields.
NAMES = {"entity", "field", "owner", "part", "kind"}
# These are about values that the client sent, and may quote them.
ABOUT_INPUT = {
    # What is wrong with a token, a key, or the claims of a token; never the token itself.
    "CallerRefused": {"fact", "advice"},
    # What the declaration lacks.
    "ChangesUnavailable": {"fact", "advice"},
    "AnswerNotKept": {"status"},
    "IdInvalid": {"kind", "fact", "received"},
    "IdempotencyKeyInvalid": {"fact"},
    "KeyPartInvalid": {"owner", "part", "fact", "received"},
    "KeyRangeInvalid": {"owner", "fact"},
    "PreconditionFailed": {"header", "fact"},
    "PreconditionInvalid": {"header", "fact", "advice"},
    "RequestInProgress": {"seconds"},
    "SizeExceeded": {"entity", "fact"},
    "RateLimited": {"seconds"},
    "TransactionInvalid": {"fact"},
    "Unauthenticated": {"fact", "advice"},
    "ValueInvalid": {"subject", "fact"},
}


@pytest.mark.parametrize("kind", [each for each in OWN if each is not TransactionFailed])
def test_a_public_message_has_only_names_and_input(kind: type[TemplatedError]) -> None:
    facts: dict[str, Any] = {
        name: () if name in ("problems", "fields", "known", "given") else f"<{name}>"
        for name in kind.__match_args__
    }
    if "waited_seconds" in facts:
        facts["waited_seconds"] = 1.0
    error = kind(**facts)
    shown = {name for name in facts if f"<{name}>" in error.public}
    assert shown <= ABOUT_INPUT.get(kind.__name__, NAMES)
    assert error.code not in error.public
    assert error.public.removesuffix("<advice>").rstrip().endswith(".")


def test_the_reasons_of_a_transaction_are_told_once_each() -> None:
    taken = UniqueTaken("User", "pk='U#ada'", "taken by bob", field="email")
    failed = TransactionFailed((None, taken, taken, AlreadyExists("Order", "pk='O#1'", "exists")))
    assert failed.public == "User: this email is already taken. Order already exists."
    assert TransactionFailed((None,)).public == "The request could not be carried out."


def test_errors_that_are_not_about_a_request_say_nothing() -> None:
    for error in (ClientClosed("http://internal:8000"), InternalServerError("at 10.0.0.1")):
        assert error.public == "The request could not be carried out."
    assert AccessDenied("patient", "GetItem", "Clinic", "U#bob").public == "Access is denied."


people = Table("PublicPeople", key=Key("pk"))


class Person(Entity, table=people, key="PERSON#{name}", unique="email"):
    name: str
    email: str
    age: int = 0


REQUESTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: Person(name="ada", email="a@x").create(), "Person already exists."),
    (lambda: Person(name="eve", email="a@x").create(), "Person: this email is already taken."),
    (lambda: Person.update(name="eve").set(Person.f.age, 3), "Person does not exist."),
    (
        lambda: Person.update(name="ada").set(Person.f.age, 3).where(Person.f.age > 40),
        "Person: a condition of the request does not hold.",
    ),
    (lambda: transaction(Person(name="ada", email="b@x").create()), "Person already exists."),
    (
        lambda: Person.get(name="a#b"),
        "Person: 'name' must not contain '#', which separates the parts; got 'a#b'.",
    ),
]


@pytest.mark.parametrize(("make", "message"), REQUESTS)
def test_what_a_client_is_told(make: Callable[[], Any], message: str) -> None:
    with keyfold.open(people, ":memory:") as store:
        store.run(Person(name="ada", email="a@x", age=36).create())
        with pytest.raises(KeyfoldError) as caught:
            store.run(make())
    assert caught.value.public == message
    assert "PERSON#" not in caught.value.public


def test_fields_are_shown_as_clients_know_them() -> None:
    error = ValueInvalid("User.f.address.zip", "it is required; got None", "Pass a value.")
    assert str(error).startswith("User.f.address.zip: it is required; got None. Pass a value.")
    assert error.public == "User.address.zip: it is required; got None."
