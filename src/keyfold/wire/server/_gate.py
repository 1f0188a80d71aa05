"""Gates: authenticate requests, and decide whether they are authorized.

The decision depends on the request alone, and is made before any of it is carried out, so that a
refusal reveals nothing about what the tables hold.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from keyfold.api.wordings import Wording
from keyfold.clocks import Clock
from keyfold.errors import (
    AccessDeniedException,
    KeysUnusable,
    PolicyInvalid,
    PrincipalInvalid,
    SerializationException,
    ServiceError,
    UnrecognizedClientException,
)
from keyfold.policy import PrincipalGuard, RuledTable, make_guards
from keyfold.policy.accesses import KeyLookup
from keyfold.policy.iam import parse_policy
from keyfold.wire.server._authorizers import (
    AdminAuthorizer,
    Authorizer,
    PolicyAuthorizer,
    RoleAuthorizer,
)
from keyfold.wire.server._fast_signatures import FastVerifier
from keyfold.wire.server._file_access import check_folder, read_trusted
from keyfold.wire.server._key_file import AccessKey
from keyfold.wire.server._keyring import Keyring
from keyfold.wire.server._requests import (
    Headers,
    HttpRequest,
    WireCall,
    is_usual,
    match_authorization,
)
from keyfold.wire.server._signatures import UNRECOGNIZED, Claim, Verifier

_REGION = "us-east-1"


class Gate(Protocol):
    """Decides which requests a server carries out."""

    # Whether the access keys of the requests that it allows have been verified.
    verifies_keys: bool

    def find_authorizer(
        self, headers: Headers, body: bytes, *, is_shared: bool = False
    ) -> Authorizer | None:
        """Return the authorizer of a request, for the fast path of reads.

        The request has the form that `find_target` recognises, without repeated headers. None
        unless its principal and the form of its Authorization are certain: `find_refusal` decides
        then. With `is_shared`, one
        check for changed files serves for all requests until `end_sharing`.
        """
        ...

    def end_sharing(self) -> None:
        """Let the next request check the files for changes."""
        ...

    def check_files(self) -> None:
        """Check the files for changes without a request; called once a second."""
        ...

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:
        """Return the error of a call that is refused; None if it may be carried out.

        Raises KeysUnusable if that cannot be told.
        """
        ...

    def find_principal(self, request: HttpRequest) -> str:
        """Return a key that is unique to the principal of an allowed request.

        Raises ServiceError if the request is not allowed any more.
        """
        ...


class KeyGate:
    """Allows requests that are signed with a key of a file, within the rights of the key."""

    verifies_keys = True

    def __init__(
        self, keyring: Keyring[Authorizer], region: str, *, clock: Clock = time.time
    ) -> None:
        self._keyring = keyring
        self._verifier = Verifier(region)
        self._clock = clock
        self._fast = FastVerifier(self._verifier, keyring, clock)
        # Not a method, which would be another call for each request.
        self.find_authorizer = self._fast.find_authorizer

    def end_sharing(self) -> None:
        """Let the next request check the files of its key."""
        self._keyring.end_sharing()

    def check_files(self) -> None:
        """Reload files that have changed, and log what is wrong with them."""
        self._keyring.check()

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:
        """Return the error of a request with a wrong signature, or without the needed rights."""
        authorizer = None
        if is_usual(request):
            authorizer = self.find_authorizer(request.headers, request.body)
        if authorizer is None:
            authorizer = self._verify(request)
            if isinstance(authorizer, ServiceError):
                return authorizer
        return find_denial(authorizer, call)

    def _verify(self, request: HttpRequest) -> Authorizer | ServiceError:
        """Return the authorizer of a request in any form, or the error of its signature."""
        claim = self._verifier.read_claim(request, self._clock())
        if isinstance(claim, ServiceError):
            return claim
        entry = self._keyring.find(claim.scope.access_key)
        if entry is None:
            return self._refuse(claim)
        key = entry.key
        fault = self._verifier.find_fault(claim, request, key.secret, key.token)
        if fault is not None:
            return fault
        self._keyring.note_use(key.access_key)
        if is_usual(request):
            self._fast.keep(claim, request.headers, request.body, key.secret)
        return entry.prepared

    def find_principal(self, request: HttpRequest) -> str:
        """Return the name and the rights of the key that a request is signed with.

        Raises ServiceError if the request is no longer allowed: time has passed since it was
        checked, and the file may have changed.
        """
        claim = self._verifier.read_claim(request, self._clock())
        if isinstance(claim, ServiceError):
            raise claim
        entry = self._keyring.find(claim.scope.access_key)
        if entry is None:
            raise self._refuse(claim)
        # Not the access key itself: after a key is renewed, the principal is the same.
        return f"{entry.key.name}\0{entry.key.rights}"

    def _refuse(self, claim: Claim) -> ServiceError:
        """Return the error of a key that is not found; raise KeysUnusable if it is in doubt."""
        fault = self._keyring.find_fault(claim.scope.access_key)
        if fault is not None:
            raise fault
        return UnrecognizedClientException(UNRECOGNIZED)


class OpenGate:
    """Applies one authorizer to all requests, without verifying signatures."""

    verifies_keys = False

    def __init__(self, authorizer: Authorizer, name: str) -> None:
        self._authorizer, self._name = authorizer, name

    def find_authorizer(
        self,
        headers: Headers,
        body: bytes,  # noqa: ARG002 - Gate's signature
        *,
        is_shared: bool = False,  # noqa: ARG002
    ) -> Authorizer | None:
        """Return the one authorizer, if the Authorization has the usual form."""
        is_usual = match_authorization(headers.get(b"authorization", b""))
        return self._authorizer if is_usual else None

    def end_sharing(self) -> None:
        """Do nothing: the policy stays the same while the server runs."""

    def check_files(self) -> None:
        """Do nothing, for the same reason."""

    def find_refusal(self, request: HttpRequest, call: WireCall) -> ServiceError | None:  # noqa: ARG002 - Gate's signature
        """Return the error of a call that is denied; None for an allowed one."""
        return find_denial(self._authorizer, call)

    def find_principal(self, request: HttpRequest) -> str:  # noqa: ARG002 - Gate's signature
        """Return the name of the one principal that all requests have."""
        return self._name


def find_denial(authorizer: Authorizer, call: WireCall) -> ServiceError | None:
    """Return the error of a call that an authorizer denies; None for an allowed one.

    A Query that is denied as such may be allowed as a lookup, which is then set in the call. A body
    that is not a JSON object gets the engine's error. Raises it if it is not JSON.
    """
    if authorizer.allows_everything:
        return None
    request = call.request
    if request.__class__ is not dict:
        return SerializationException()
    denial = authorizer.find_denial(call.operation, request)
    if isinstance(denial, AccessDeniedException) and call.operation == "Query":
        call.lookup = authorizer.find_lookup(request)
        if call.lookup is not None:
            # It may read many items.
            call.runs_aside = True
            return None
    return denial


def make_key_gate(
    path: str,
    keys: KeyLookup,
    *,
    tables: Iterable[RuledTable] = (),
    checked: Collection[str] = (),
    region: str = _REGION,
    clock: Clock = time.time,
    monotonic: Clock = time.monotonic,
    wording: Wording = "2026",
) -> Gate:
    """Return a gate that verifies signatures with the keys of a file; raises KeysUnusable.

    `keys` returns the key attributes of a table, as `engine.find_key_names` does; `tables` declare
    the roles that the access keys may have. `checked` are the names of tables whose writes the
    engine checks: `write_checks` of declarations. A change of the file applies to the next request. If
    it becomes unusable, keys that were in use are accepted for 30 more seconds, and no others.
    `wording` is that of errors about requests, as the engine has it.
    """
    ruled, checked = tuple(tables), frozenset(checked)

    def prepare(key: AccessKey, policy: str | None) -> Authorizer:
        if key.is_admin:
            return AdminAuthorizer()
        if policy is not None:
            return _make_policy_authorizer(policy, key.name, key.ids, keys, region, wording)
        guards = _make_guards(path, key, ruled)
        return RoleAuthorizer(key.name, guards, keys, region, checked, wording)

    keyring = Keyring(path, prepare, monotonic=monotonic)
    check_folder(path, lambda fact, advice: KeysUnusable(path, fact, advice))
    return KeyGate(keyring, region, clock=clock)


def make_policy_gate(
    path: str,
    keys: KeyLookup,
    *,
    ids: Mapping[str, str] | None = None,
    name: str = "local",
    region: str = _REGION,
    wording: Wording = "2026",
) -> Gate:
    """Return a gate that applies an IAM policy to all requests; raises PolicyInvalid.

    Their principal is the user `name`, with `ids` as its tags. `keys` returns the key attributes
    of a table, as `engine.find_key_names` does; `wording` is that of errors about requests.
    """
    return OpenGate(_make_policy_authorizer(path, name, ids or {}, keys, region, wording), name)


def _make_policy_authorizer(
    path: str, name: str, ids: Mapping[str, str], keys: KeyLookup, region: str, wording: Wording
) -> PolicyAuthorizer:
    text = read_trusted(path, lambda fact, advice: PolicyInvalid(path, fact, advice))
    return PolicyAuthorizer(name, parse_policy(text, source=path), ids, keys, region, wording)


def _make_guards(
    path: str, key: AccessKey, tables: Collection[RuledTable]
) -> dict[str, PrincipalGuard]:
    """Return the guards of a key, by table; raises KeysUnusable."""
    subject = f"[keys.{key.access_key}]"
    known = sorted({role for each in tables for role in each.roles})
    for name in key.roles:
        if name not in known:
            fact = f"{subject} has role {name!r}, but the roles being served are {known or 'none'}"
            raise KeysUnusable(path, fact, "Name the table that declares it, with --table.")
    try:
        return make_guards(tables, key.roles, key.ids)
    except PrincipalInvalid as error:
        fact = f"{subject} role {error.role}: {error.fact}"
        raise KeysUnusable(path, fact, error.advice) from None
