"""Settings of a principal's store, which check every call against its roles before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from itertools import chain, repeat
from typing import Any, cast

from keyfold.api import TableKeyNames
from keyfold.errors import (
    AccessDenied,
    SerializationException,
    ValidationException,
    WrongTable,
)
from keyfold.model._calls import CALLER, ApiCall, Authority, Calls
from keyfold.model._keys import TableLike
from keyfold.model._requests import Request
from keyfold.policy import Access, Denial, PrincipalGuard, Right, make_guards
from keyfold.policy._layouts import join_names
from keyfold.policy.accesses import read_accesses
from keyfold.store._cursors import CursorBox
from keyfold.store._fast_checks import admits
from keyfold.store._handles import Handles
from keyfold.store._read_ratios import ReadRatios
from keyfold.store._refusals import refusal_error
from keyfold.store._settings import StoreSettings


class PrincipalSettings(StoreSettings):
    """The settings of a store, restricted to one principal.

    All calls that a request is known to make are checked before the first is made. A call that
    depends on a response is checked just before it is made.
    """

    is_guarded = True

    def __init__(self, base: StoreSettings, roles: Iterable[str], ids: Mapping[str, str]) -> None:
        if base.is_guarded:
            fact = "a principal's store cannot create stores of other principals"
            raise AccessDenied(cast(PrincipalSettings, base).shown, "as_principal", None, fact)
        self.__dict__.update(base.__dict__)
        self._base = base
        self.read_ratios = ReadRatios()
        self.roles = tuple(dict.fromkeys(roles))
        # The roles, as messages name them.
        self.shown = join_names(self.roles)
        self._guards = make_guards(base.tables.values(), self.roles, ids)
        self.principal = describe_principal(self.roles, ids)
        # The handles of the whole store, and those of this principal made from them.
        self._own_handles: tuple[Handles, Handles] | None = None
        # The same of what seals cursors.
        self._own_cursors: tuple[CursorBox, CursorBox] | None = None

    @property
    def cursors(self) -> CursorBox:
        """Seals and opens this principal's cursors, with the key of the whole store."""
        whole, known = self._base.cursors, self._own_cursors
        if known is None or known[0] is not whole:
            known = self._own_cursors = (whole, whole.of(self.principal))
        return known[1]

    @property
    def handles(self) -> Handles | None:
        """Shows and reads ids for this principal; None unless all its roles are of end users.

        A role is one of end users if a table declares it so.
        """
        if not self._is_end_user:
            return None
        whole, known = self._base.make_handles(), self._own_handles
        if known is None or known[0] is not whole:
            known = self._own_handles = (whole, whole.of(self.principal))
        return known[1]

    @cached_property
    def _is_end_user(self) -> bool:
        end_users = {
            role.name
            for table in self.tables.values()
            for role in table.roles.values()
            if role.is_end_user
        }
        return end_users.issuperset(self.roles)

    def find_guard(self, table: str) -> PrincipalGuard | None:
        """Return the guard of a table; None if the table has none of the roles."""
        return self._guards.get(table)

    def derive_secret(self, purpose: str) -> bytes:  # noqa: ARG002 - as in other stores
        """Raise AccessDenied: secrets are the whole store's."""
        fact = "a principal's store has no secrets"
        raise AccessDenied(self.shown, "derive_secret", None, fact)

    def show_tables(self) -> str:
        """Return the names of the tables and the roles, for the text of a store."""
        return f"{super().show_tables()} as {self.shown}"

    def admit(self, request: Request[Any], now: datetime) -> Calls:
        """Return the calls that a request is known to make, all of which the roles allow.

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
        """Raise AccessDenied for a call with an access that none of the roles allows.

        Raises the service's ValidationException for one that is invalid whatever is stored.
        """
        if not admits(self._guards, call):
            self._check_accesses(call)

    def admit_raw(self, operation: str, request: dict[str, Any]) -> ApiCall:
        """Return a raw call that the roles allow; raises AccessDenied.

        Raises the service's own error for a call that is invalid whatever is stored.
        """
        for access in read_accesses(operation, request, self._find_key_names):
            self._deny(self._find_raw_denial(access))
        return ApiCall(operation, request).on_own_authority()

    def _find_raw_denial(self, access: Access) -> Denial | None:
        """Return why the roles deny an access by a caller that writes no guard items."""
        if access.table is None:
            # An access that concerns no table is allowed if any guard allows it.
            denials = [guard.check(access) for guard in self._guards.values()]
            return None if None in denials else denials[0]
        guard = self._guards.get(access.table)
        return self._deny_table(access) if guard is None else guard.check(access)

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied: a principal may only run requests."""
        fact = "a principal's store may only run requests"
        raise AccessDenied(self.shown, operation, table.name, fact)

    def _check_accesses(self, call: ApiCall) -> None:
        accesses = read_accesses(call.operation, call.request, self._find_key_names)
        for access, each in zip(accesses, chain(call.authority, repeat(CALLER)), strict=False):
            self._check_access(access, each)

    def _check_access(self, access: Access, authority: Authority) -> None:
        assert access.table is not None  # every request is for a table
        guard = self._guards.get(access.table)
        if authority.replaces_expired:
            access = access._replace(rights=access.rights & ~Right.UPDATE)
        self._deny(
            self._deny_table(access)
            if guard is None
            else guard.check(access, unique=authority.guards)
        )

    def _deny_table(self, access: Access) -> Denial:
        which = "no role" if len(self.roles) == 1 else "none of the roles"
        fact = f"table {access.table} has {which} {self.shown}"
        return Denial(access.action, access.table, fact)

    def _deny(self, denial: Denial | None) -> None:
        if denial is None:
            return
        fact = denial.fact
        if denial.table in self._guards:
            # The guard knows only the roles that its table has.
            for role in self.roles:
                if role not in self.tables[denial.table].roles:
                    fact += f"; {denial.table} has no role {role}"
        raise AccessDenied(self.shown, denial.action, denial.table, fact)

    def _find_key_names(self, table: str) -> TableKeyNames | None:
        guard = self._guards.get(table)
        return None if guard is None else guard.key_names


def describe_principal(roles: Iterable[str], ids: Mapping[str, str]) -> str:
    """Return a text that is unique to a principal, whatever the order of its roles and ids.

    >>> describe_principal(["seller", "customer"], {"user": "ada"})
    "(['customer', 'seller'], [('user', 'ada')])"
    """
    return repr((sorted(set(roles)), sorted(ids.items())))
