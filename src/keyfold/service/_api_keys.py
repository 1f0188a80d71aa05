"""API keys for machines: the access keys of `keyfold keys`, sent as `ACCESSKEY.SECRET`.

The file is the one of the DynamoDB server, and is watched in the same way: a change applies to the next
request. Keys with roles of the table are accepted. Those with admin rights or a policy are for the
DynamoDB server alone, because every request of a service runs with a role.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Collection, Mapping

from keyfold.clocks import Clock
from keyfold.errors import (
    AuthenticationUnavailable,
    CallerRefused,
    KeysUnusable,
    PrincipalInvalid,
    Unauthenticated,
)
from keyfold.policy import RuledTable, make_guards
from keyfold.service._bearer_tokens import find_bearer, is_like_jwt
from keyfold.service._callers import Caller
from keyfold.wire.server._file_access import check_folder
from keyfold.wire.server._key_file import AccessKey
from keyfold.wire.server._keyring import Keyring

_LOG = logging.getLogger("keyfold.service")

_HEADER = "x-api-key"
# Compared with the secrets of unknown keys, so that these take as long as known ones.
_NO_SECRET = b"\0"
_CHALLENGE = "Bearer"


class ApiKeys:
    """Authenticates requests by `X-Api-Key`, or by a bearer token that is such a key.

    Raises KeysUnusable if the file is unusable. If it becomes so later, keys that were in use are
    accepted for 30 more seconds, and no others.
    """

    def __init__(
        self,
        path: str,
        tables: Collection[RuledTable],
        *,
        clock: Clock = time.time,
        monotonic: Clock = time.monotonic,
    ) -> None:
        self._tables = tuple(tables)
        self._keyring = Keyring(path, self._prepare, monotonic=monotonic, clock=clock)
        check_folder(path, lambda fact, advice: KeysUnusable(path, fact, advice))

    def recognizes(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has an API key."""
        return _find_key(headers) is not None

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller that the key stands for; raises as `Authenticator` says."""
        given = _find_key(headers) or ""
        access_key, _, secret = given.partition(".")
        entry = self._keyring.find(access_key)
        expected = _NO_SECRET if entry is None else entry.key.secret.encode()
        is_equal = hmac.compare_digest(secret.encode(errors="replace"), expected)
        if entry is None:
            fault = self._keyring.find_fault(access_key)
            if fault is not None:
                raise AuthenticationUnavailable(fault.path, fault.fact, fault.advice)
        if entry is None or not is_equal:
            fact = "The API key is unknown, disabled or wrong"
            raise Unauthenticated(fact, "Send `X-Api-Key: ACCESSKEY.SECRET`.", _CHALLENGE)
        self._keyring.note_use(access_key)
        if isinstance(entry.prepared, str):
            raise CallerRefused(entry.prepared)
        return entry.prepared

    def check_files(self) -> None:
        """Reload the file if it has changed, and log what is wrong with it; once a second."""
        self._keyring.check()

    def _prepare(self, key: AccessKey, policy: str | None) -> Caller | str:
        """Return the caller of a key, or why it is refused."""
        problem = self._find_problem(key, policy)
        if problem is not None:
            _LOG.warning("The API key %s (%s) is refused: %s", key.access_key, key.name, problem)
            return "The API key is not for this service"
        first, *others = key.roles
        return Caller((first, *others), dict(key.ids), key.name)

    def _find_problem(self, key: AccessKey, policy: str | None) -> str | None:
        if key.is_admin or policy is not None:
            kind = "admin rights" if key.is_admin else "a policy"
            return f"it has {kind}, but requests of a service run with roles"
        if "." in key.access_key:
            return "its access key has a dot, where the secret begins in an API key"
        if key.token is not None:
            return "it has a session token, and there is no place for that in an API key"
        try:
            make_guards(self._tables, key.roles, key.ids)
        except PrincipalInvalid as error:
            return str(error)
        return None


def _find_key(headers: Mapping[str, str]) -> str | None:
    given = headers.get(_HEADER)
    if given is not None:
        return given.strip(" ")
    token = find_bearer(headers)
    return None if token is None or is_like_jwt(token) else token
