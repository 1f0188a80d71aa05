"""The gate: whose a request is, and whether they may do what it asks for.

A request is decided upon by itself, before anything of it is carried out, so that an answer tells
nothing about what the tables hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import orjson

from keyfold.errors import (
    KeysUnusable,
    PolicyInvalid,
    PrincipalInvalid,
    SerializationException,
    ServiceError,
    UnrecognizedClientException,
)
from keyfold.policy import Guard, Layout, Role
from keyfold.policy.iam import parse_policy
from keyfold.wire.server._authorizers import (
    AdminAuthorizer,
    Authorizer,
    PolicyAuthorizer,
    RoleAuthorizer,
    WirePrincipal,
)
from keyfold.wire.server._item_accesses import KeyLookup
from keyfold.wire.server._keyring import AccessKey, Keyring
from keyfold.wire.server._requests import HttpRequest, WireCall
from keyfold.wire.server._signatures import UNRECOGNIZED, Verifier

_REGION = "us-east-1"


class RuledTable(Protocol):
    """A table as it is declared: how it is laid out, and which roles it has."""

    @property
    def layout(self) -> Layout:
        """How its partitions are shared out."""
        ...

    @property
    def roles(self) -> Mapping[str, Role]:
        """Its roles, by their names."""
        ...


class Gate(Protocol):
    """Decides which requests a server carries out."""

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:
        """Return what is answered in place of carrying out a call; None if it may be."""
        ...

    def find_principal(self, request: HttpRequest) -> str:
        """Return what a request that was let in has in common with no other principal's."""
        ...


class KeyGate:
    """Lets those in who sign with a key of a file, for what the key is good for."""

    def __init__(
        self, keyring: Keyring, region: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._keyring = keyring
        self._verifier = Verifier(region)
        self._clock = clock

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:
        """Return what is wrong with the signature of a request, or with what it asks for."""
        claim = self._verifier.read_claim(request, self._clock())
        if isinstance(claim, ServiceError):
            return claim
        entry = self._keyring.find(claim.access_key)
        if entry is None:
            return UnrecognizedClientException(UNRECOGNIZED)
        key = entry.key
        fault = self._verifier.find_fault(claim, request, key.secret, key.token)
        if fault is not None:
            return fault
        return find_denial(entry.authorizer, WirePrincipal(key.name), call)

    def find_principal(self, request: HttpRequest) -> str:
        """Return whose key a request is signed with, and what it is good for."""
        claim = self._verifier.read_claim(request, self._clock())
        entry = None if isinstance(claim, ServiceError) else self._keyring.find(claim.access_key)
        # Whoever has a new key for the same is the same.
        return "" if entry is None else f"{entry.key.name}\0{entry.key.rights}"


class OpenGate:
    """Lets everybody in, for what one authorizer says: signatures are not looked at."""

    def __init__(self, authorizer: Authorizer, name: str) -> None:
        self._authorizer, self._principal = authorizer, WirePrincipal(name)

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:  # noqa: ARG002 - as gates are asked
        """Return the error of a call that is denied."""
        return find_denial(self._authorizer, self._principal, call)

    def find_principal(self, request: HttpRequest) -> str:  # noqa: ARG002 - as gates are asked
        """Return the name that everybody has."""
        return self._principal.name


def find_denial(
    authorizer: Authorizer, principal: WirePrincipal, call: WireCall
) -> ServiceError | None:
    """Ask an authorizer about a call. What is no JSON object is refused as the engine does it."""
    request: dict[str, Any] = {}
    if authorizer.reads_requests:
        try:
            # As the engine reads it: whatever stands there twice means the same to both.
            read: Any = orjson.loads(call.body)
        except orjson.JSONDecodeError:
            return SerializationException()
        if not isinstance(read, dict):
            return SerializationException()
        request = cast(dict[str, Any], read)
    return authorizer.find_denial(principal, call.operation, request)


def make_key_gate(
    path: str,
    keys: KeyLookup,
    *,
    tables: Iterable[RuledTable] = (),
    region: str = _REGION,
    clock: Callable[[], float] = time.time,
) -> Gate:
    """Return a gate for those who sign with a key of a file; raises KeysUnusable.

    `keys` knows the key attributes of tables, as `engine.find_key_names` does; `tables` are those
    whose roles the access keys may have. The file is followed: a change of it applies to the next
    request.
    """
    ruled = tuple(tables)

    def prepare(key: AccessKey, policy: str | None) -> Authorizer:
        if key.is_admin:
            return AdminAuthorizer()
        if policy is not None:
            return _make_policy_authorizer(policy, key.ids, keys, region)
        return RoleAuthorizer(_make_guards(path, key, ruled), keys, region)

    return KeyGate(Keyring(path, prepare), region, clock=clock)


def make_policy_gate(
    path: str,
    keys: KeyLookup,
    *,
    ids: Mapping[str, str] | None = None,
    name: str = "local",
    region: str = _REGION,
) -> Gate:
    """Return a gate that holds everybody to an IAM policy; raises PolicyInvalid.

    They all are the user `name`, with `ids` as the tags of the principal. `keys` knows the key
    attributes of tables, as `engine.find_key_names` does.
    """
    return OpenGate(_make_policy_authorizer(path, ids or {}, keys, region), name)


def _make_policy_authorizer(
    path: str, ids: Mapping[str, str], keys: KeyLookup, region: str
) -> PolicyAuthorizer:
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise PolicyInvalid(path, f"it cannot be read: {error.strerror or error}", "") from None
    return PolicyAuthorizer(parse_policy(text, source=path), ids, keys, region)


def _make_guards(path: str, key: AccessKey, tables: Iterable[RuledTable]) -> dict[str, Guard]:
    """Return the guards of a key, by table; raises KeysUnusable."""
    subject, name = f"[keys.{key.access_key}]", key.role or ""
    having = [(each.layout, each.roles[name]) for each in tables if name in each.roles]
    if not having:
        known = sorted({role for each in tables for role in each.roles})
        fact = f"{subject} has role {name!r}, and the roles that are served are {known or 'none'}"
        raise KeysUnusable(path, fact, "Name the table that declares it, as --table does.")
    taken = {role.tenant for _, role in having}
    idle = [each for each in key.ids if each not in taken]
    if idle:
        fact = f"{subject} has an id {idle[0]!r}, which role {name!r} does not take"
        raise KeysUnusable(path, fact, "Take it out.")
    guards: dict[str, Guard] = {}
    for layout, role in having:
        own = {each: key.ids[each] for each in key.ids if each == role.tenant}
        try:
            guards[layout.table] = Guard(layout, role, own)
        except PrincipalInvalid as error:
            raise KeysUnusable(path, f"{subject} role {name}: {error.fact}", error.advice) from None
    return guards
