"""Secrets are stored in full, and shown nowhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr

import keyfold
from keyfold.cli._plain import to_cell, to_json_text, to_plain
from keyfold.errors import ConditionFailed, DeclarationInvalid, KeyfoldError
from keyfold.model import Entity, Index, Key, Table, attr, part, transaction
from keyfold.model._hidden_attributes import hide_secrets

users = Table("Users", key=Key("pk"))


class Login(BaseModel):
    name: str
    password: SecretStr = attr("p")


class User(Entity, table=users, key="USER#{name}"):
    name: str = part()
    token: SecretStr = attr("t")
    code: Secret[int] | None = None
    blob: SecretBytes = SecretBytes(b"")
    tokens: set[SecretStr] = attr(default_factory=set)
    logins: list[Login] = attr(default_factory=list)
    pin: Annotated[SecretStr, Field(min_length=4)] | None = None
    anything: Any = None


SECRET = "hunter2"
ADA = User(
    name="ada",
    token=SecretStr(SECRET),
    code=Secret[int](70077),
    blob=SecretBytes(b"hunter2"),
    tokens={SecretStr(SECRET)},
    logins=[Login(name="x", password=SecretStr(SECRET))],
    anything=SecretStr(SECRET),
)


def hides(text: object) -> bool:
    return not any(each in str(text) for each in (SECRET, "70077"))


def test_a_secret_is_stored_as_what_it_hides() -> None:
    item = ADA.put().to_dynamodb()["Item"]
    assert item == {
        "pk": {"S": "USER#ada"},
        "t": {"S": SECRET},
        "code": {"N": "70077"},
        "blob": {"B": b"hunter2"},
        "tokens": {"SS": [SECRET]},
        "logins": {"L": [{"M": {"name": {"S": "x"}, "p": {"S": SECRET}}}]},
        "anything": {"S": SECRET},
    }
    with keyfold.open(users, ":memory:") as store:
        store.run(ADA.create())
        found = store.run(User.get(name="ada"))
        assert found == ADA.model_copy(update={"anything": SECRET})
        assert found is not None
        assert found.token.get_secret_value() == SECRET
        store.run(
            User.update(name="ada")
            .set(User.f.token, SecretStr("new"))
            .where(User.f.token.eq(SecretStr(SECRET)) & User.f.code.eq(Secret[int](70077)))
        )
        with pytest.raises(ConditionFailed) as caught:
            store.run(User.update(name="ada").set(User.f.token, "x").where(User.f.token.eq("y")))
        assert "new" not in str(caught.value)
        assert store.run(transaction(User.get(name="ada"))) == [
            found.model_copy(update={"token": SecretStr("new")})
        ]


def test_a_secret_is_masked_wherever_it_is_shown() -> None:
    condition = User.f.token.eq(SecretStr(SECRET)) & (User.f.code.eq(Secret[int](70077)))
    assert "**********" in repr(condition)
    request = User.update(name="ada").set(User.f.token, SecretStr(SECRET)).where(condition)
    shown = [
        ADA,
        ADA.put(),
        ADA.put().item,
        ADA.create().to_dynamodb(),
        condition,
        request,
        request.to_dynamodb(),
        transaction(ADA.create(), User.check(condition, name="bob")),
        pickle.loads(pickle.dumps(ADA.put().item)),
        to_cell(ADA),
        to_json_text(to_plain(ADA.model_copy(update={"anything": None}))),
        hide_secrets(
            [User.keyfold_schema()],
            {name: each for name, each in ADA.put().item.items() if name != "anything"},
        ),
    ]
    for each in shown:
        assert hides(repr(each)), each
        assert isinstance(each, str) or hides(f"{each}")


@pytest.mark.parametrize("value", [SECRET, b"hunter2", 70077, {"a": SECRET}])
@pytest.mark.parametrize("field", ["token", "code", "blob", "tokens", "pin"])
def test_an_error_does_not_show_the_secret(field: str, value: Any) -> None:
    path = User.f[field]
    attempts = [
        lambda: path.eq(value),
        lambda: User.update(name="ada").set(path, value),
        lambda: User.update(name="ada").set(path, "x" if field == "pin" else value),
        lambda: User.model_construct(**{**dict(ADA), field: value}).put().item,
    ]
    messages = [show_error(attempt) for attempt in attempts]
    assert [each for each in messages if not hides(each)] == []
    assert any(messages) or not isinstance(value, dict)


def show_error(attempt: Callable[[], object]) -> str:
    """Return the message of an attempt that is refused; an empty text for one that is not."""
    try:
        attempt()
    except KeyfoldError as error:
        return f"{error} {error!r}"
    return ""


def test_a_secret_in_a_key_is_refused() -> None:
    by_token = Index("ByToken", key=Key("token"))
    table = Table("Tab", key=Key("pk"), indexes=[by_token])
    with pytest.raises(
        DeclarationInvalid, match=r"Bad.token: it is a secret, so it cannot be part"
    ):

        class Bad(Entity, table=table, key="{id}"):  # pyright: ignore[reportUnusedClass]
            id: str
            token: SecretStr

    with pytest.raises(DeclarationInvalid, match="Store a hash of it in another field"):

        class Unique(Entity, table=Table("Tab", key=Key("pk")), key="{id}", unique="token"):  # pyright: ignore[reportUnusedClass]
            id: str
            token: SecretStr

    with pytest.raises(DeclarationInvalid, match="cannot be part of a key"):

        class Part(Entity, table=Table("Tab", key=Key("pk")), key="{token}"):  # pyright: ignore[reportUnusedClass]
            token: SecretStr = part()

    with pytest.raises(DeclarationInvalid, match="Use a str, not a secret"):

        class Keyed(Entity, table=Table("Tab", key=Key("pk")), key="{id}"):  # pyright: ignore[reportUnusedClass]
            id: str
            by_token: dict[SecretStr, int]


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: SecretStr = attr("n")


class Bill(BaseModel):
    kind: Literal["bill"] = "bill"
    address: str


class Payment(Entity, table=users, key="PAYMENT#{id}"):
    id: str = part()
    way: Card | Bill
    others: list[Card | Bill] = attr(default_factory=list)


def test_secrets_in_the_models_of_a_union_are_hidden() -> None:
    card = {"M": {"kind": {"S": "card"}, "n": {"S": SECRET}}}
    bill = {"M": {"kind": {"S": "bill"}, "address": {"S": "Delft"}}}
    item = {"pk": {"S": "PAYMENT#1"}, "way": card, "others": {"L": [card, bill]}}
    hidden = hide_secrets([Payment.keyfold_schema()], item)
    assert hides(repr(hidden))
    assert hidden["others"]["L"][1] == bill
