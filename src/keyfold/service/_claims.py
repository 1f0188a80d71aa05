"""From the claims of a token to a caller: which roles it has, and the ids of their tenants."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from keyfold.errors import CallerRefused, PrincipalInvalid
from keyfold.policy import RuledTable, make_guards
from keyfold.service._callers import Caller

_LOG = logging.getLogger("keyfold.service")

# The names that lead to a claim: more than one for a claim inside others.
ClaimPath = tuple[str, ...]

# OAuth's claim of several values in one text, separated by spaces.
_SCOPE: ClaimPath = ("scope",)
_MOST_ID_BYTES = 1_024
_MOST_NAME_CHARACTERS = 128
_MOST_REASONS = 100


@dataclass(frozen=True, slots=True)
class ClaimMapping:
    """What the claims of an issuer's tokens mean in the tables.

    All tokens have the roles `always`, and those that `roles` has for a value of `role_claim`. `ids`
    names the claim that has the id of a tenant.
    """

    always: tuple[str, ...] = ()
    role_claim: ClaimPath | None = None
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    ids: Mapping[str, ClaimPath] = field(default_factory=dict[str, ClaimPath])

    @property
    def all_roles(self) -> tuple[str, ...]:
        """Every role that a token may have."""
        return tuple(dict.fromkeys((*self.always, *self.roles.values())))


class RefusalLog:
    """Logs why callers are refused, each reason once, and no more than 100 of them."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def note(self, reason: str) -> None:
        """Log a reason, unless it was logged before."""
        if reason in self._logged or len(self._logged) >= _MOST_REASONS:
            return
        self._logged.add(reason)
        last = len(self._logged) == _MOST_REASONS
        more = " No more such callers are logged." if last else ""
        _LOG.warning("refused a caller: %s%s", reason, more)


def make_caller(
    mapping: ClaimMapping,
    claims: Mapping[str, Any],
    tables: Collection[RuledTable],
    expires: float,
    log: RefusalLog,
) -> Caller:
    """Return the caller that a token stands for; raises CallerRefused."""
    roles = _find_roles(mapping, claims)
    if not roles:
        assert mapping.role_claim is not None
        raise CallerRefused(f"{_show(mapping.role_claim)} gives the caller no role here")
    tenants = {
        table.roles[name].tenant for table in tables for name in roles if name in table.roles
    }
    ids = {
        name: _read_id(claims, path, name) for name, path in mapping.ids.items() if name in tenants
    }
    _check_principal(tables, roles, ids, log)
    return Caller((roles[0], *roles[1:]), ids, _find_name(claims), expires)


def _check_principal(
    tables: Collection[RuledTable], roles: Collection[str], ids: Mapping[str, str], log: RefusalLog
) -> None:
    """Raise CallerRefused unless a principal can have these roles and ids."""
    try:
        make_guards(tables, roles, ids)
    except PrincipalInvalid as error:
        # The message names key templates, which are none of the caller's business.
        log.note(str(error))
        fact = "The caller's roles and ids cannot be used here"
        raise CallerRefused(fact, "The log of the service says why.") from None


def _find_roles(mapping: ClaimMapping, claims: Mapping[str, Any]) -> list[str]:
    found = list(mapping.always)
    if mapping.role_claim is not None:
        given = _find(claims, mapping.role_claim)
        if isinstance(given, str):
            given = given.split(" ") if mapping.role_claim == _SCOPE else [given]
        values = cast(list[Any], given) if isinstance(given, list) else []
        known = (mapping.roles.get(each) for each in values if isinstance(each, str))
        found += [role for role in known if role is not None]
    return list(dict.fromkeys(found))


def _read_id(claims: Mapping[str, Any], path: ClaimPath, tenant: str) -> str:
    """Return the id that a claim has: a text, or a whole number."""
    value = _find(claims, path)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        fact = f"{_show(path)} is to be the caller's {tenant}, but it is no text"
        raise CallerRefused(fact)
    try:
        is_short = len(value.encode()) <= _MOST_ID_BYTES
    except UnicodeEncodeError:
        # Half of a surrogate pair, which JSON can have.
        is_short = False
    if not is_short:
        fact = f"{_show(path)} is to be the caller's {tenant}, but it is too long, or not Unicode"
        raise CallerRefused(fact)
    return value


def _find(claims: Mapping[str, Any], path: ClaimPath) -> Any:
    found: Any = claims
    for name in path:
        found = cast(dict[str, Any], found).get(name) if isinstance(found, dict) else None
    return found


def _find_name(claims: Mapping[str, Any]) -> str:
    """Return the subject of a token for logs: one short line."""
    subject = claims.get("sub")
    shown = subject[:_MOST_NAME_CHARACTERS] if isinstance(subject, str) else ""
    return "".join(each if each.isprintable() else "?" for each in shown)


def _show(path: ClaimPath) -> str:
    return f"The token's claim {'.'.join(path)!r}"
