"""Tokens that prove who calls, and all those that do not."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keyfold.errors import CallerRefused, Unauthenticated
from tests.unit.service.tokens import (
    LOGIN,
    NOW,
    Watch,
    call,
    encode,
    make_claims,
    make_jwk,
    make_jwks,
    make_private,
    open_files,
    sign,
    sign_raw,
)

HEADER = {"alg": "RS256", "kid": "one"}


def refuse(folder: Path, token: str, text: str = LOGIN) -> str:
    """Return why a token is refused, as its sender is told. It is never quoted."""
    with pytest.raises(Unauthenticated) as caught:
        call(open_files(folder, text), token)
    assert caught.value.challenge in ("Bearer", 'Bearer error="invalid_token"')
    assert token not in str(caught.value)
    return caught.value.fact


def test_a_token_is_its_caller(tmp_path: Path) -> None:
    caller = call(open_files(tmp_path), sign())
    assert (caller.roles, caller.ids, caller.name) == (("customer",), {"user": "ada"}, "ada")
    assert caller.expires == NOW + 630


def test_the_scheme_is_read_in_any_case(tmp_path: Path) -> None:
    opened = open_files(tmp_path)
    for scheme in ("bearer", "BEARER", "Bearer "):
        assert call(opened, authorization=f"{scheme} {sign()}").ids == {"user": "ada"}
    for given in (f"Basic {sign()}", sign(), "Bearer", "Bearer ", ""):
        with pytest.raises(Unauthenticated):
            call(opened, authorization=given)


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "ES512", "EdDSA"]
)
def test_every_algorithm_verifies_and_refuses(tmp_path: Path, algorithm: str) -> None:
    private = make_private("one", algorithm)
    text = LOGIN.replace("RS256", algorithm)
    opened = open_files(tmp_path, text, make_jwks(make_jwk(private, kid="one")))
    assert call(opened, sign(None, private, algorithm)).ids == {"user": "ada"}
    with pytest.raises(Unauthenticated, match="signature is wrong"):
        call(opened, sign(None, make_private("two", algorithm), algorithm))


@pytest.mark.parametrize("alg", ["none", "None", "nOnE", "NONE", "", None, 7, ["RS256"], {}])
def test_a_token_without_a_signature_is_refused(tmp_path: Path, alg: object) -> None:
    header: dict[str, Any] = {"alg": alg, "kid": "one"}
    for signature in ("", sign().split(".")[2]):
        token = f"{encode(header)}.{encode(make_claims())}.{signature}"
        assert "algorithm (alg) is not accepted" in refuse(tmp_path, token)


@pytest.mark.parametrize("form", [PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1])
@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER])
def test_a_public_key_is_no_secret_of_an_hmac(
    tmp_path: Path, form: PublicFormat, encoding: Encoding
) -> None:
    secret = make_private("one").public_key().public_bytes(encoding, form)
    signed = f"{encode({'alg': 'HS256', 'kid': 'one'})}.{encode(make_claims())}"
    made = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    assert "algorithm (alg) is not accepted" in refuse(tmp_path, f"{signed}.{encode(made)}")
    # Nor if the header says what is accepted.
    signed = f"{encode(HEADER)}.{encode(make_claims())}"
    made = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    assert "signature is wrong" in refuse(tmp_path, f"{signed}.{encode(made)}")


def test_a_key_is_not_used_with_the_algorithm_of_another_type(tmp_path: Path) -> None:
    # Both algorithms are accepted, but this key is one of RSA.
    text = LOGIN.replace('["RS256"]', '["RS256", "ES256", "PS256"]')
    private = make_private("two", "ES256")
    assert "does not have" in refuse(tmp_path, sign(None, private, "ES256"), text)
    # A key that is declared for one algorithm is not used with another of its type.
    jwks = make_jwks(make_jwk(make_private("one"), kid="one", alg="RS256"))
    with pytest.raises(Unauthenticated, match="does not have"):
        call(open_files(tmp_path, text, jwks), sign(None, None, "PS256"))


def test_another_signature_is_refused(tmp_path: Path) -> None:
    head, body, signature = sign().split(".")
    other = sign(make_claims(sub="bob"))
    for token in (
        f"{head}.{other.split('.')[1]}.{signature}",
        f"{head}.{body}.{other.split('.')[2]}",
        f"{head}.{body}.",
        f"{head}.{body}.AAAA",
        sign(None, make_private("two")),
        sign(make_claims(sub="bob"), make_private("two"), jwk=make_jwk(make_private("two"))),
        sign(make_claims(sub="bob"), make_private("two"), jku="http://127.0.0.1:1/jwks.json"),
    ):
        assert "signature is wrong" in refuse(tmp_path, token)


def test_a_signature_has_one_spelling(tmp_path: Path) -> None:
    token = sign()
    head, body, signature = token.split(".")
    for spelled in (f"{head}.{body}!.{signature}", f"{head}\n.{body}.{signature}"):
        assert refuse(tmp_path, spelled)


def test_the_key_id_has_to_be_known(tmp_path: Path) -> None:
    for kid in ("two", "", "../../etc/passwd", "ONE", "o\u0308ne"):
        assert "a key that its issuer does not have" in refuse(tmp_path, sign(kid=kid))
    others: list[object] = [1, ["one"], {}, True, "x" * 300]
    for kid in others:
        token = sign_raw({"alg": "RS256", "kid": kid}, json.dumps(make_claims()))
        assert "key id (kid) is no short text" in refuse(tmp_path, token)


def test_without_a_key_id_there_has_to_be_one_key(tmp_path: Path) -> None:
    token = sign(kid=...)
    assert call(open_files(tmp_path), token).name == "ada"
    two = make_jwks(
        make_jwk(make_private("one"), kid="one"), make_jwk(make_private("two"), kid="two")
    )
    with pytest.raises(Unauthenticated, match="does not have"):
        call(open_files(tmp_path, LOGIN, two), token)


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        ({"iss": "https://evil.example/"}, "issuer (iss)"),
        ({"iss": "https://login.example"}, "issuer (iss)"),
        ({"iss": ["https://login.example/"]}, "issuer (iss)"),
        ({"iss": ...}, "issuer (iss)"),
        ({"aud": "other"}, "audience (aud)"),
        ({"aud": "market2"}, "audience (aud)"),
        ({"aud": ["other", 7, None]}, "audience (aud)"),
        ({"aud": {"market": 1}}, "audience (aud)"),
        ({"aud": []}, "audience (aud)"),
        ({"aud": ...}, "audience (aud)"),
        ({"exp": ...}, "no time of expiry (exp)"),
        ({"exp": None}, "no time of expiry (exp)"),
        ({"exp": NOW - 31}, "has expired"),
        ({"exp": NOW - 30}, "has expired"),
        ({"exp": "2099-01-01"}, "exp is no time"),
        ({"exp": True}, "exp is no time"),
        ({"exp": 10**400}, "exp is no time"),
        ({"exp": [NOW + 60]}, "exp is no time"),
        ({"nbf": NOW + 31}, "not valid yet (nbf)"),
        ({"nbf": "soon"}, "nbf is no time"),
        ({"iat": NOW + 31}, "not valid yet (iat)"),
    ],
)
def test_claims_have_to_fit(tmp_path: Path, changed: dict[str, Any], fact: str) -> None:
    assert fact in refuse(tmp_path, sign(make_claims(**changed)))


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": ["other", "market"]},
        {"exp": NOW - 29},
        {"exp": NOW + 0.5},
        {"nbf": NOW + 29, "iat": NOW + 29},
        {"iat": ..., "nbf": None},
    ],
)
def test_clocks_may_differ_a_little(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert call(open_files(tmp_path), sign(make_claims(**changed))).name == "ada"


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps(make_claims())[:-1] + ', "sub": "bob"}',
        json.dumps(make_claims())[:-1] + ', "exp": 9999999999}',
        json.dumps(make_claims(ctx=...))[:-1] + ', "ctx": {"a": 1, "a": 2}}',
    ],
)
def test_a_claim_that_is_there_twice_is_refused(tmp_path: Path, payload: str) -> None:
    assert "claim or a header twice" in refuse(tmp_path, sign_raw(HEADER, payload))


def test_a_header_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    header = '{"alg": "RS256", "kid": "one", "alg": "none"}'
    assert "twice" in refuse(tmp_path, sign_raw(header, json.dumps(make_claims())))


@pytest.mark.parametrize("crit", [["exp"], ["b64"], [], "b64"])
def test_extensions_that_are_critical_are_refused(tmp_path: Path, crit: object) -> None:
    token = sign_raw({**HEADER, "crit": crit, "b64": False}, json.dumps(make_claims()))
    assert "extensions (crit)" in refuse(tmp_path, token)


@pytest.mark.parametrize(
    "payload",
    [
        "[]",
        '"ada"',
        "null",
        "",
        "{",
        "NaN",
        json.dumps(make_claims())[:-1] + ', "n": NaN}',
        json.dumps(make_claims())[:-1] + ', "n": ' + "9" * 5_000 + "}",
        '{"a":' + "[" * 2_000,
        '{"a":' * 900 + "1" + "}" * 900,
        b"\xff\xfe",
    ],
)
def test_what_is_no_object_is_no_token(tmp_path: Path, payload: str | bytes) -> None:
    fact = refuse(tmp_path, sign_raw(HEADER, payload))
    # The deep one is valid JSON without an issuer.
    assert fact in ("The token is not a JWT", "The token's issuer (iss) is not accepted here")


@pytest.mark.parametrize("token", ["e.e.e", "e..", "eyJ.eyJ.", "e\u00e4.e30.x", "e%%%.***.x"])
def test_what_looks_like_a_token_is_refused(tmp_path: Path, token: str) -> None:
    assert refuse(tmp_path, token) == "The token is not a JWT"


def test_a_huge_token_is_refused_unread(tmp_path: Path) -> None:
    token = sign(make_claims(filler="x" * 10_000))
    assert refuse(tmp_path, token) == "The token has more than 8192 characters"


@pytest.mark.parametrize(
    "subject",
    ["a#b", "a*", "a?b", "\ud800", "x" * 1_025, "", None, True, 1.5, ["ada"], {"user": "ada"}],
)
def test_an_id_that_keys_cannot_have_is_refused(tmp_path: Path, subject: object) -> None:
    with pytest.raises(CallerRefused) as caught:
        call(open_files(tmp_path), sign(make_claims(sub=subject)))
    # Nothing of how keys are made.
    assert "USER" not in caught.value.public


@pytest.mark.parametrize("subject", ["\u00e4da", "\U0001f600", "ada lovelace", "0", "-1", "\0"])
def test_ids_may_be_of_any_script(tmp_path: Path, subject: str) -> None:
    caller = call(open_files(tmp_path), sign(make_claims(sub=subject)))
    assert caller.ids == {"user": subject}
    assert caller.name.isprintable()


def test_a_whole_number_is_an_id(tmp_path: Path) -> None:
    assert call(open_files(tmp_path), sign(make_claims(sub=17))).ids == {"user": "17"}


def test_a_verified_token_expires(tmp_path: Path) -> None:
    watch = Watch()
    opened, token = open_files(tmp_path, watch=watch), sign()
    first = call(opened, token)
    assert call(opened, token) is first
    watch.now = NOW + 629
    # Verified again, because its keys were too old; they are the same.
    assert call(opened, token).ids == first.ids
    watch.now = NOW + 630
    for _ in range(2):
        with pytest.raises(Unauthenticated, match="has expired"):
            call(opened, token)


ROLES = """
[issuers.login]
issuer = "https://login.example/"
audience = ["market", "shop"]
algorithms = ["RS256"]
jwks_file = "jwks.json"
role_claim = ["realm", "roles"]
roles = {buyer = "customer", owner = "seller", "Head of Audit" = "auditor"}
ids = {user = "sub", shop = ["realm", "shop"]}
"""


@pytest.mark.parametrize(
    ("realm", "roles", "ids"),
    [
        ({"roles": ["buyer"]}, ("customer",), {"user": "ada"}),
        ({"roles": "buyer", "shop": "7"}, ("customer",), {"user": "ada"}),
        ({"roles": ["owner", "buyer", "other", 7], "shop": "7"}, ("seller", "customer"), None),
        ({"roles": "Head of Audit"}, ("auditor",), {}),
    ],
)
def test_claims_give_roles_and_the_ids_of_their_tenants(
    tmp_path: Path, realm: object, roles: tuple[str, ...], ids: dict[str, str] | None
) -> None:
    caller = call(open_files(tmp_path, ROLES), sign(make_claims(realm=realm)))
    assert caller.roles == roles
    assert caller.ids == ({"user": "ada", "shop": "7"} if ids is None else ids)


@pytest.mark.parametrize(
    "realm",
    [
        None,
        "buyer",
        ["buyer"],
        {},
        {"roles": []},
        {"roles": ["customer"]},
        {"roles": "buyer owner"},
        {"roles": {"buyer": True}},
        {"roles": [["buyer"]]},
        {"roles": ["owner"]},
        {"roles": ["owner"], "shop": None},
    ],
)
def test_a_token_without_a_role_or_its_id_is_refused(tmp_path: Path, realm: object) -> None:
    with pytest.raises(CallerRefused):
        call(open_files(tmp_path, ROLES), sign(make_claims(realm=realm)))


def test_a_scope_has_several_values(tmp_path: Path) -> None:
    text = ROLES.replace('["realm", "roles"]', '"scope"')
    caller = call(open_files(tmp_path, text), sign(make_claims(scope="openid buyer x")))
    assert caller.roles == ("customer",)


def test_an_issuer_cannot_speak_for_another(tmp_path: Path) -> None:
    (tmp_path / "staff.json").write_text(make_jwks(make_jwk(make_private("two"), kid="one")))
    (tmp_path / "staff.json").chmod(0o600)
    text = LOGIN + LOGIN.replace("login", "staff").replace("jwks.json", "staff.json").replace(
        'role = "customer"\nids = {user = "sub"}', 'role = "auditor"'
    )
    opened = open_files(tmp_path, text)
    staff = make_claims(iss="https://staff.example/")
    assert call(opened, sign()).roles == ("customer",)
    assert call(opened, sign(staff, make_private("two"))).roles == ("auditor",)
    for token in (sign(staff), sign(None, make_private("two"))):
        with pytest.raises(Unauthenticated, match="signature is wrong"):
            call(opened, token)


def test_an_unusable_caller_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = open_files(tmp_path)
    for number in range(300):
        with pytest.raises(CallerRefused):
            call(opened, sign(make_claims(sub=f"a#{number % 150}")))
    assert caplog.text.count("refused a caller: ") == 100
    assert caplog.text.count("No more such callers are logged.") == 1
