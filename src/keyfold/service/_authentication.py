"""From a file that says who may call, and the tables they call, to what authenticates requests."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from keyfold.clocks import Clock
from keyfold.errors import AuthenticationUnavailable, AuthFileInvalid
from keyfold.policy import RuledTable
from keyfold.service._api_keys import ApiKeys
from keyfold.service._auth_file import AuthFile, IssuerSettings, read_auth_file
from keyfold.service._bearer_tokens import BearerTokens, TokenIssuer
from keyfold.service._callers import Authenticators, CredentialAuthenticator
from keyfold.service._key_rotation import JwksFile, RotatingKeys
from keyfold.service._rate_limits import RateLimits


@dataclass(frozen=True, slots=True)
class Authentication:
    """What authenticates requests, and the rate limits of those who sent them, if there are any."""

    authenticator: Authenticators
    limits: RateLimits | None


def open_authentication(
    path: str,
    tables: Collection[RuledTable],
    *,
    clock: Clock = time.time,
    monotonic: Clock = time.monotonic,
) -> Authentication:
    """Return what authenticates the callers of some tables, as a file says.

    Raises AuthFileInvalid, KeysUnusable for its file of API keys, and ExtraMissing if it accepts bearer
    tokens and PyJWT is not installed. The keys of tokens are read at once from a file, and with the
    first token from a URL.
    """
    file = read_auth_file(path)
    accepted: list[CredentialAuthenticator] = []
    if file.issuers:
        issuers = [_make_issuer(file, each, tables, monotonic) for each in file.issuers]
        accepted.append(BearerTokens(issuers, tables, clock=clock))
    if file.keys is not None:
        accepted.append(ApiKeys(file.keys, tables, clock=clock, monotonic=monotonic))
    limits = None if file.limit is None else RateLimits(file.limit, monotonic=monotonic)
    return Authentication(Authenticators(tuple(accepted)), limits)


def _make_issuer(
    file: AuthFile, settings: IssuerSettings, tables: Collection[RuledTable], monotonic: Clock
) -> TokenIssuer:
    _check_mapping(file.path, settings, tables)
    keys = RotatingKeys(settings.source, settings.algorithms, settings.times, monotonic=monotonic)
    if isinstance(settings.source, JwksFile):
        try:
            keys.load()
        except AuthenticationUnavailable as error:
            fact = f"[issuers.{settings.name}] {error.subject}: {error.fact}"
            raise AuthFileInvalid(file.path, fact, error.advice) from None
    return TokenIssuer(
        settings.issuer,
        settings.audiences,
        settings.algorithms,
        keys,
        settings.mapping,
        settings.leeway_seconds,
    )


def _check_mapping(path: str, settings: IssuerSettings, tables: Collection[RuledTable]) -> None:
    """Raise AuthFileInvalid unless the tables have the roles, and the roles take the ids."""

    def refuse(fact: str, advice: str) -> AuthFileInvalid:
        return AuthFileInvalid(path, f"[issuers.{settings.name}] {fact}", advice)

    mapping = settings.mapping
    known = {name: role for table in tables for name, role in table.roles.items()}
    for name in mapping.all_roles:
        if name not in known:
            has = ", ".join(sorted(known)) or "none"
            raise refuse(f"has role {name!r}, which is not declared", f"Known roles: {has}.")
    tenants = {
        role.tenant
        for table in tables
        for name, role in table.roles.items()
        if name in mapping.all_roles and role.tenant is not None
    }
    for name in mapping.ids:
        if name not in tenants:
            takes = ", ".join(sorted(tenants)) or "no id"
            raise refuse(f"has an id for {name!r}", f"Its roles take {takes}.")
    for name in sorted(tenants - mapping.ids.keys()):
        fact = f"has no id for {name!r}, the tenant of a role"
        raise refuse(fact, f'Name the claim that has it, such as ids = {{{name} = "sub"}}.')
