"""API keys: sent as `ACCESSKEY.SECRET`, in the file of the DynamoDB server."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.errors import (
    AuthenticationUnavailable,
    CallerRefused,
    KeysUnusable,
    Unauthenticated,
)
from tests.unit.service.tokens import LOGIN, Watch, call, open_files, sign

AUTH = 'keys = "keys.toml"\n'


def block(name: str = "ADA", secret: str = "s.e-c/r+t", rights: str = "") -> str:
    shown = rights or 'role = "customer"\nids = {user = "ada"}'
    return f'[keys.{name}]\nname = "ada"\nsecret = "{secret}"\n{shown}\n'


def write_keys(folder: Path, text: str) -> None:
    path = folder / "keys.toml"
    path.write_text(text)
    path.chmod(0o600)


def test_a_key_is_its_caller(tmp_path: Path) -> None:
    write_keys(tmp_path, block())
    opened = open_files(tmp_path, AUTH)
    caller = call(opened, x_api_key="ADA.s.e-c/r+t")
    assert (caller.roles, caller.ids, caller.name) == (("customer",), {"user": "ada"}, "ada")
    assert caller.expires is None
    assert call(opened, "ADA.s.e-c/r+t") == caller


@pytest.mark.parametrize(
    "given",
    [
        "",
        ".",
        "ADA",
        "ADA.",
        "ADA.x",
        "ADA.s.e-c/r+tt",
        "ADA.s.e-c/r+",
        "ada.s.e-c/r+t",
        "BOB.s.e-c/r+t",
        "BOB.\0",
        "ADA.\0",
        "s.e-c/r+t",
        "ADA:s.e-c/r+t",
        "ADA.s\u00e9",
        "ADA." + "x" * 100_000,
    ],
)
def test_another_key_is_refused_without_saying_why(tmp_path: Path, given: str) -> None:
    write_keys(tmp_path, block())
    with pytest.raises(Unauthenticated) as caught:
        call(open_files(tmp_path, AUTH), x_api_key=given)
    assert caught.value.fact == "The API key is unknown, disabled or wrong"


def test_a_revoked_key_is_refused_from_the_next_request_on(tmp_path: Path) -> None:
    write_keys(tmp_path, block() + block("BOB", "two"))
    opened = open_files(tmp_path, AUTH)
    for key in ("ADA.s.e-c/r+t", "BOB.two"):
        call(opened, x_api_key=key)
    write_keys(tmp_path, block() + block("BOB", "two") + "disabled = true\n")
    call(opened, x_api_key="ADA.s.e-c/r+t")
    with pytest.raises(Unauthenticated):
        call(opened, x_api_key="BOB.two")
    write_keys(tmp_path, block("EVE", "three"))
    with pytest.raises(Unauthenticated):
        call(opened, x_api_key="ADA.s.e-c/r+t")
    assert call(opened, x_api_key="EVE.three").name == "ada"


def test_keys_in_use_are_accepted_for_a_while_if_the_file_is_broken(tmp_path: Path) -> None:
    write_keys(tmp_path, block() + block("BOB", "two"))
    watch = Watch()
    opened = open_files(tmp_path, AUTH, watch=watch)
    call(opened, x_api_key="ADA.s.e-c/r+t")
    write_keys(tmp_path, "broken [")
    assert call(opened, x_api_key="ADA.s.e-c/r+t").name == "ada"
    with pytest.raises(Unauthenticated):
        call(opened, x_api_key="ADA.wrong")
    with pytest.raises(AuthenticationUnavailable):
        call(opened, x_api_key="BOB.two")
    watch.now += 30
    with pytest.raises(AuthenticationUnavailable):
        call(opened, x_api_key="ADA.s.e-c/r+t")


@pytest.mark.parametrize(
    ("rights", "problem"),
    [
        ("admin = true", "it has admin rights"),
        ('policy = "p.json"', "it has a policy"),
        ('role = "customer"\nids = {user = "ada"}\ntoken = "t"', "it has a session token"),
        ('role = "pilot"', "role pilot: no table has such a role"),
        ('role = "customer"', "it needs an id for 'user'"),
        ('role = "customer"\nids = {user = "a#b"}', "does not fit the key template"),
        ('role = "customer"\nids = {user = "ada", shop = "7"}', "got an id for 'shop'"),
    ],
)
def test_keys_for_other_purposes_are_refused(
    tmp_path: Path, rights: str, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_keys(tmp_path, block(rights=rights) + block("BOB", "two"))
    opened = open_files(tmp_path, AUTH)
    assert problem in caplog.text
    with pytest.raises(CallerRefused) as caught:
        call(opened, x_api_key="ADA.s.e-c/r+t")
    assert caught.value.public == "The API key is not for this service."
    # Only its owner learns that.
    with pytest.raises(Unauthenticated):
        call(opened, x_api_key="ADA.wrong")
    assert call(opened, x_api_key="BOB.two").name == "ada"


def test_a_key_with_a_dot_in_its_name_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_keys(tmp_path, block('"ADA.PHONE"', "two"))
    opened = open_files(tmp_path, AUTH)
    assert "ADA.PHONE (ada) is refused: its access key has a dot" in caplog.text
    with pytest.raises(Unauthenticated):
        call(opened, x_api_key="ADA.PHONE.two")


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    write_keys(tmp_path, block())
    (tmp_path / "keys.toml").chmod(0o644)
    with pytest.raises(KeysUnusable, match="other than its owner"):
        open_files(tmp_path, AUTH)


def test_keys_and_tokens_may_both_be_accepted(tmp_path: Path) -> None:
    write_keys(tmp_path, block())
    opened = open_files(tmp_path, AUTH + LOGIN)
    assert call(opened, x_api_key="ADA.s.e-c/r+t").expires is None
    assert call(opened, sign()).expires is not None
    with pytest.raises(Unauthenticated, match="both a token and an API key"):
        call(opened, sign(), x_api_key="ADA.s.e-c/r+t")
    with pytest.raises(Unauthenticated, match="no token and no API key"):
        call(opened)


def test_a_kind_that_is_not_configured_is_not_accepted(tmp_path: Path) -> None:
    write_keys(tmp_path, block())
    with pytest.raises(Unauthenticated, match="of no kind accepted here"):
        call(open_files(tmp_path, AUTH), sign())
    with pytest.raises(Unauthenticated, match="of no kind accepted here"):
        call(open_files(tmp_path, LOGIN), x_api_key="ADA.s.e-c/r+t")
