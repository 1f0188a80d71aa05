"""Settings of a principal's store, which check every call against the role before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import chain, repeat
from typing import Any, cast

from keyfold.api import TableKeyNames
from keyfold.errors import (
    AccessDenied,
    PrincipalInvalid,
    SerializationException,
    ValidationException,
    WrongTable,
)
from keyfold.model._calls import CALLER, ApiCall, Authority, Calls
from keyfold.model._keys import TableLike
from keyfold.model._requests import Request
from keyfold.policy import Access, Denial, Guard, Right
from keyfold.policy.accesses import read_accesses
from keyfold.store._cursors import CursorBox
from keyfold.store._fast_checks import admits
from keyfold.store._refusals import refusal_error
from keyfold.store._settings import StoreSettings


class PrincipalSettings(StoreSettings):
    """The settings of a store, restricted to one principal.

    All calls that a request is known to make are checked before the first is made. A call that
    depends on a response is checked just before it is made.
    """

    is_guarded = True

    def __init__(self, base: StoreSettings, role: str, ids: Mapping[str, str]) -> None:
        if base.is_guarded:
            fact = "a principal's store cannot create stores of other principals"
            raise AccessDenied(cast(PrincipalSettings, base).role, "as_principal", None, fact)
        self.__dict__.update(base.__dict__)
        self._base = base
        self.role = role
        self._guards = _make_guards(base, role, ids)
        self.principal = repr((role, sorted(ids.items())))

    @property
    def cursors(self) -> CursorBox:
        """Seals and opens this principal's cursors, with the key of the whole store."""
        return self._base.cursors.of(self.principal)

    def show_tables(self) -> str:
        """Return the names of the tables and the role, for the text of a store."""
        return f"{super().show_tables()} as {self.role}"

    def admit(self, request: Request[Any], now: datetime) -> Calls:
        """Return the calls that a request is known to make, all of which the role allows.

        Raises WrongTable, AccessDenied, and RequestRefused or SizeExceeded for an invalid call.
        """
        # As in `StoreSettings.admit`, without the cost of another call.
        for table in request.tables:
            if self.tables.get(table.name) is not table:
                raise WrongTable(table.name, tuple(self.tables))
        calls = request.calls(now)
        try:
            # Nearly every request has one call, which the fast check admits.
            if len(calls) == 1:
                if not admits(self._guards, calls[0]):
                    self._check_accesses(calls[0])
                return calls
            for call in calls:
                self.check_call(call)
        except (ValidationException, SerializationException) as error:
            raise refusal_error(request, error, now) from error
        return tuple(call.on_own_authority() for call in calls)

    def check_call(self, call: ApiCall) -> None:
        """Raise AccessDenied for a call that the role denies.

        Raises the service's ValidationException for one that is invalid whatever is stored.
        """
        if not admits(self._guards, call):
            self._check_accesses(call)

    def admit_raw(self, operation: str, request: dict[str, Any]) -> ApiCall:
        """Return a raw call that the role allows; raises AccessDenied.

        Raises the service's own error for a call that is invalid whatever is stored.
        """
        for access in read_accesses(operation, request, self._find_key_names):
            self._deny(self._find_raw_denial(access))
        return ApiCall(operation, request).on_own_authority()

    def _find_raw_denial(self, access: Access) -> Denial | None:
        """Return why the role denies an access by a caller that keeps no guard items."""
        if access.table is None:
            # An access that concerns no table is allowed if any guard allows it.
            denials = [guard.check(access) for guard in self._guards.values()]
            return None if None in denials else denials[0]
        guard = self._guards.get(access.table)
        if guard is None:
            fact = f"table {access.table} has no role {self.role}"
            return Denial(access.action, access.table, fact)
        return guard.check(access)

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied: a principal may only run requests."""
        fact = "a principal's store may only run requests"
        raise AccessDenied(self.role, operation, table.name, fact)

    def _check_accesses(self, call: ApiCall) -> None:
        accesses = read_accesses(call.operation, call.request, self._find_key_names)
        for access, each in zip(accesses, chain(call.authority, repeat(CALLER)), strict=False):
            self._check_access(access, each)

    def _check_access(self, access: Access, authority: Authority) -> None:
        assert access.table is not None  # every request is for a table
        guard = self._guards.get(access.table)
        if guard is None:
            fact = f"table {access.table} has no role {self.role}"
            raise AccessDenied(self.role, access.action, access.table, fact)
        if authority.replaces_expired:
            access = access._replace(rights=access.rights & ~Right.UPDATE)
        self._deny(guard.check(access, keeps_unique=True))
        if authority.guards:
            self._deny(guard.check_unique(access, authority.guards))

    def _deny(self, denial: Denial | None) -> None:
        if denial is not None:
            raise AccessDenied(self.role, denial.action, denial.table, denial.fact)

    def _find_key_names(self, table: str) -> TableKeyNames | None:
        guard = self._guards.get(table)
        return None if guard is None else guard.key_names


def _make_guards(base: StoreSettings, role: str, ids: Mapping[str, str]) -> dict[str, Guard]:
    """Return a guard for each table that has the role; raises PrincipalInvalid."""
    found = {name: table.roles[role] for name, table in base.tables.items() if role in table.roles}
    if not found:
        known = sorted({name for table in base.tables.values() for name in table.roles})
        advice = f"Known roles: {', '.join(known)}." if known else "Declare one with add_role()."
        raise PrincipalInvalid(role, "no table has such a role", advice)
    tenants = {each.tenant for each in found.values() if each.tenant is not None}
    unknown_ids = {name: ids[name] for name in ids if name not in tenants}
    return {
        name: Guard(
            base.tables[name].layout,
            each,
            # Ids that no table takes are given to all, so that the first guard refuses them.
            {key: value for key, value in ids.items() if key == each.tenant} | unknown_ids,
        )
        for name, each in found.items()
    }
