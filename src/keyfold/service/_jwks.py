"""The public keys that bearer tokens are verified with (JWKS), and the algorithms for them.

Only algorithms with a public key are supported: whoever can verify a token of HMAC can also make one,
and a verifier that takes both can be given a public key as the secret of an HMAC. A key is used with
the algorithms of its own type and curve, and with no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson

from keyfold.errors import AuthenticationUnavailable, ExtraMissing

if TYPE_CHECKING:
    from jwt import PyJWK

_MOST_KEYS = 100
_LEAST_RSA_BITS = 2_048


class KeyKind(NamedTuple):
    """The type of key that an algorithm takes, as JWKs name it, and its public members."""

    kty: str
    crv: str | None
    members: tuple[str, ...]


_RSA = KeyKind("RSA", None, ("n", "e"))
KEY_KINDS: Mapping[str, KeyKind] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), _RSA),
    "ES256": KeyKind("EC", "P-256", ("crv", "x", "y")),
    "ES384": KeyKind("EC", "P-384", ("crv", "x", "y")),
    "ES512": KeyKind("EC", "P-521", ("crv", "x", "y")),
    "EdDSA": KeyKind("OKP", "Ed25519", ("crv", "x")),
}


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of a JWKS that fit the accepted algorithms, by key id (`kid`) and algorithm."""

    content: bytes
    keys: Mapping[tuple[str | None, str], PyJWK]

    def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """Return the key of a token; None if it has no such key.

        A token without a key id is only accepted if there is exactly one key for its algorithm.
        """
        if kid is not None:
            return self.keys.get((kid, algorithm))
        fitting = [key for (_, each), key in self.keys.items() if each == algorithm]
        return fitting[0] if len(fitting) == 1 else None


def parse_key_set(content: bytes, algorithms: Collection[str], source: str) -> KeySet:
    """Return the keys of a JWKS; raises AuthenticationUnavailable if it has none that fits.

    Keys of other types, for other uses, or too short, are left out.
    """
    try:
        read: Any = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise AuthenticationUnavailable(source, f"it is not JSON: {error}") from None
    listed: Any = cast(dict[str, Any], read).get("keys") if isinstance(read, dict) else None
    if not isinstance(listed, list):
        raise AuthenticationUnavailable(source, 'it is not a JWKS: it has no list of "keys"')
    keys: dict[tuple[str | None, str], PyJWK] = {}
    for number, entry in enumerate(cast(list[Any], listed)[:_MOST_KEYS]):
        if isinstance(entry, dict):
            for kid, algorithm, key in _read_keys(cast(dict[str, Any], entry), algorithms, number):
                keys.setdefault((kid, algorithm), key)
    if not keys:
        wanted = ", ".join(sorted(algorithms))
        raise AuthenticationUnavailable(source, f"none of its keys is usable for {wanted}")
    return KeySet(content, keys)


def _read_keys(
    entry: dict[str, Any], algorithms: Collection[str], number: int
) -> Iterator[tuple[str, str, PyJWK]]:
    """Yield the key of a JWK for each algorithm that it fits, with its key id."""
    jwt = import_jwt()
    operations = entry.get("key_ops", ["verify"])
    is_for_verifying = isinstance(operations, list) and "verify" in operations
    if entry.get("use", "sig") != "sig" or not is_for_verifying:
        return
    kid = entry.get("kid")
    for algorithm in algorithms:
        kind = KEY_KINDS[algorithm]
        if (entry.get("kty"), entry.get("crv")) != (kind.kty, kind.crv):
            continue
        if entry.get("alg", algorithm) != algorithm:
            continue
        # Nothing but its public members: not the private ones, if somebody published them.
        public = {"kty": kind.kty} | {name: entry.get(name) for name in kind.members}
        try:
            key = jwt.PyJWK(public, algorithm)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        if kind is _RSA and key.key.key_size < _LEAST_RSA_BITS:
            continue
        # A name of its own for a key without one, so that none hides another.
        yield kid if isinstance(kid, str) else f"\0{number}", algorithm, key


def import_jwt() -> Any:
    """Return the module `jwt`; raises ExtraMissing."""
    # Imported here: the service needs it only for bearer tokens.
    try:
        import jwt  # noqa: PLC0415
    except ImportError:
        raise ExtraMissing("bearer tokens", "PyJWT", "api") from None
    return jwt
