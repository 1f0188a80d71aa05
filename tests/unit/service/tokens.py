"""Keys, tokens and forgeries, and a table whose callers they are."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from keyfold import READ, Entity, Get, Key, Role, Table
from keyfold.service._authentication import Authentication, open_authentication
from keyfold.service._callers import Caller

NOW = 1_800_000_000.0

shop = Table("CallersShop", key=Key("pk", "sk"))
users = shop.shard("USER#{user}", name="users")
shops = shop.shard("SHOP#{shop}", name="shops")


class Buyer(Entity, table=shop, key=(users, "PROFILE")):
    user: str


class Store(Entity, table=shop, key=(shops, "PROFILE")):
    shop: str


@shop.pattern("A buyer")
def buyer(user: str) -> Get[Buyer]:
    return Buyer.get(user=user)


shop.add_role(Role("customer", tenant="user", can={users: READ}))
shop.add_role(Role("seller", tenant="shop", can={shops: READ}))
shop.add_role(Role("auditor", can={users: READ, shops: READ}))


class Watch:
    """A clock that a test moves."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@cache
def make_private(name: str, kind: str = "RS256", bits: int = 2_048) -> Any:
    match kind[:2]:
        case "ES":
            curve = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}[kind]
            return ec.generate_private_key(curve())
        case "Ed":
            return ed25519.Ed25519PrivateKey.generate()
        case _:
            return rsa.generate_private_key(65_537, bits)


def make_jwk(private: Any, **members: Any) -> dict[str, Any]:
    public = private.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        shown = RSAAlgorithm.to_jwk(public, as_dict=True)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        shown = ECAlgorithm.to_jwk(public, as_dict=True)
    else:
        shown = OKPAlgorithm.to_jwk(public, as_dict=True)
    # As most issuers publish them; PyJWT adds operations that some tests want to choose.
    return {name: value for name, value in shown.items() if name != "key_ops"} | members


def make_jwks(*keys: dict[str, Any]) -> str:
    return json.dumps({"keys": keys})


def make_claims(**changed: Any) -> dict[str, Any]:
    claims = {
        "iss": "https://login.example/",
        "aud": "market",
        "sub": "ada",
        "iat": NOW - 10,
        "exp": NOW + 600,
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not ...}


def sign(
    claims: dict[str, Any] | None = None,
    private: Any = None,
    algorithm: str = "RS256",
    **header: Any,
) -> str:
    shown = {"kid": "one", **header}
    return jwt.PyJWS().encode(
        json.dumps(make_claims() if claims is None else claims).encode(),
        private or make_private("one"),
        algorithm,
        {name: value for name, value in shown.items() if value is not ...},
    )


def encode(part: bytes | str | dict[str, Any]) -> str:
    content = json.dumps(part) if isinstance(part, dict) else part
    raw = content.encode() if isinstance(content, str) else content
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign_raw(header: str | dict[str, Any], payload: str | bytes) -> str:
    """Sign with key one what no library would encode."""
    signed = f"{encode(header)}.{encode(payload)}"
    algorithm = RSAAlgorithm(RSAAlgorithm.SHA256)
    return f"{signed}.{encode(algorithm.sign(signed.encode(), make_private('one')))}"


LOGIN = """
[issuers.login]
issuer = "https://login.example/"
audience = "market"
algorithms = ["RS256"]
jwks_file = "jwks.json"
role = "customer"
ids = {user = "sub"}
"""


def write_files(folder: Path, text: str = LOGIN, jwks: str | None = None) -> str:
    folder.mkdir(exist_ok=True)
    content = jwks or make_jwks(make_jwk(make_private("one"), kid="one"))
    for name, written in (("jwks.json", content), ("auth.toml", text)):
        (folder / name).write_text(written, "utf-8")
        (folder / name).chmod(0o600)
    return str(folder / "auth.toml")


def open_files(
    folder: Path, text: str = LOGIN, jwks: str | None = None, watch: Watch | None = None
) -> Authentication:
    watch = watch or Watch()
    return open_authentication(
        write_files(folder, text, jwks), [shop], clock=watch, monotonic=watch
    )


def call(opened: Authentication, token: str = "", **headers: str) -> Caller:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        given["authorization"] = f"Bearer {token}"
    return asyncio.run(opened.authenticator.authenticate(given))
