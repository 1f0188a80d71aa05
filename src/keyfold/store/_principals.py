"""How a store runs the requests of a principal: after a look at what they would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn, cast

from keyfold.errors import AccessDenied, PrincipalInvalid, TableForeign
from keyfold.model._batches import Batch
from keyfold.model._keys import TableLike
from keyfold.model._requests import Chain, Get, Mapped, Query, Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update, touches_unique
from keyfold.model._writes import Check, CreateOrGet, Delete, Put, Write
from keyfold.policy import Access, Denial, Guard, Right
from keyfold.store._accesses import put_rights, read_access, read_accesses, read_member
from keyfold.store._cursors import CursorBox
from keyfold.store._settings import Settings

_GET = Right.GET.value
_QUERY = Right.QUERY.value
_UPDATE = Right.UPDATE.value
_DELETE = Right.DELETE.value
_EITHER = (Right.CREATE | Right.UPDATE).value


class PrincipalSettings(Settings):
    """The settings of a store, for one principal.

    Nearly every request is allowed, so that is found out first, without spelling out all that the
    request would do.
    """

    is_guarded = True

    def __init__(self, base: Settings, role: str, ids: Mapping[str, str]) -> None:
        if base.is_guarded:
            fact = "a principal's store makes no other principals"
            raise AccessDenied(cast(PrincipalSettings, base).role, "as_principal", None, fact)
        self.__dict__.update(base.__dict__)
        self._base = base
        self.role = role
        self._guards = _make_guards(base, role, ids)
        self.principal = repr((role, sorted(ids.items())))

    @property
    def cursors(self) -> CursorBox:
        """What seals this principal's cursors, with the key of the whole store."""
        return self._base.cursors.of(self.principal)

    def check(self, request: Request[Any]) -> None:
        """Raise TableForeign for a request of another table, AccessDenied for one that is denied."""
        look = self._LOOKS.get(type(request))
        if look is None:
            super().check(request)
            self._check_accesses(request)
        else:
            look(self, request)

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied: principals run requests alone."""
        fact = "a principal's store runs requests, and nothing else"
        raise AccessDenied(self.role, operation, table.name, fact)

    def _find_guard(self, table: TableLike) -> Guard | None:
        """Return what guards a table; None if the principal has no role in it."""
        if self.tables.get(table.name) is not table:
            raise TableForeign(table.name, tuple(self.tables))
        return self._guards.get(table.name)

    def _check_accesses(self, request: Request[Any]) -> None:
        for access in read_accesses(request, self.clock()):
            self._check_access(access)

    def _check_access(self, access: Access) -> None:
        assert access.table is not None  # requests are about tables
        guard = self._guards.get(access.table)
        if guard is None:
            fact = f"there is no role {self.role} in {access.table}"
            raise AccessDenied(self.role, access.action, access.table, fact)
        denial = guard.check(access)
        if denial is not None:
            self._deny(denial)

    def _deny(self, denial: Denial) -> NoReturn:
        raise AccessDenied(self.role, denial.action, denial.table, denial.fact)

    # Looks that tell quickly of what is allowed.

    def _look_at_get(self, request: Get[Any]) -> None:
        guard = self._find_guard(request.table)
        key = request.key
        if guard is None or not guard.admits(_GET, key[request.table.key.partition[0]]):
            self._check_access(read_access(request, self.clock()))

    def _look_at_query(self, request: Query[Any]) -> None:
        guard = self._find_guard(request.table)
        is_sure = (
            guard is not None
            and request.index is None
            and guard.admits(_QUERY, request.keys.equals[0][1])
        )
        if not is_sure:
            self._check_accesses(request)

    def _look_at_transaction(self, request: Transaction) -> None:
        for each in request.requests:
            if isinstance(each, Get):
                self._look_at_get(each)
            else:
                # It returns nothing, whatever the write would by itself.
                self._LOOKS[type(each)](self, each, is_member=True)

    def _look_at_batch(self, request: Batch[Any]) -> None:
        for each in request.requests:
            guard = self._find_guard(each.table)
            key = each.key if isinstance(each, Get | Delete) else each.item
            partition = key[each.table.key.partition[0]]
            match each:
                case Get():
                    is_sure = guard is not None and guard.admits(_GET, partition)
                case Put():
                    is_sure = guard is not None and guard.admits(_EITHER, partition, each.item)
                case Delete():
                    is_sure = guard is not None and guard.admits(_DELETE, partition)
            if not is_sure:
                self._check_access(read_member(each, self.clock()))

    def _look_at_create_or_get(self, request: CreateOrGet[Any]) -> None:
        self._look_at_put(request.put)

    def _look_at_mapped(self, request: Mapped[Any]) -> None:
        self.check(request.request)

    def _look_at_chain(self, request: Chain[Any]) -> None:
        if request.looks_up:
            super().check(request)
        else:
            self.check(request.first)

    def _look_at_put(self, request: Put[Any], *, is_member: bool = False) -> None:
        table, item = request.table, request.item
        guard = self._find_guard(table)
        if (
            guard is None
            or request.schema.unique
            or not guard.admits(put_rights(request), item[table.key.partition[0]], item)
        ):
            self._look_at_write(request, is_member=is_member)

    def _look_at_update(self, request: Update[Any], *, is_member: bool = False) -> None:
        table, key = request.table, request.key
        guard = self._find_guard(table)
        if (
            guard is None
            or not guard.watches_keys_alone
            or request.schema.unique
            or not guard.admits(_UPDATE, key[table.key.partition[0]], key)
        ):
            self._look_at_write(request, is_member=is_member)

    def _look_at_delete(self, request: Delete[Any], *, is_member: bool = False) -> None:
        table = request.table
        guard = self._find_guard(table)
        if (
            guard is None
            or request.schema.unique
            or not guard.admits(_DELETE, request.key[table.key.partition[0]])
        ):
            self._look_at_write(request, is_member=is_member)

    def _look_at_write(self, request: Write[Any], *, is_member: bool = False) -> None:
        """Look at all that a write would do, and whether it takes or gives up unique values."""
        guard = self._find_guard(request.table)
        access = read_access(request, self.clock())
        if is_member:
            access = access._replace(return_values=None)
        self._check_access(access)
        if guard is not None and touches_unique(request):
            denial = guard.check_unique(access, request.schema.name)
            if denial is not None:
                self._deny(denial)

    _LOOKS: ClassVar[dict[type[Any], Callable[..., None]]] = {
        Batch: _look_at_batch,
        Chain: _look_at_chain,
        Check: _look_at_write,
        CreateOrGet: _look_at_create_or_get,
        Delete: _look_at_delete,
        Get: _look_at_get,
        Mapped: _look_at_mapped,
        Put: _look_at_put,
        Query: _look_at_query,
        Transaction: _look_at_transaction,
        Update: _look_at_update,
    }


def _make_guards(base: Settings, role: str, ids: Mapping[str, str]) -> dict[str, Guard]:
    """Return what guards each table in which there is a role of that name."""
    found = {name: table.roles[role] for name, table in base.tables.items() if role in table.roles}
    if not found:
        known = sorted({name for table in base.tables.values() for name in table.roles})
        advice = f"There are {', '.join(known)}." if known else "Tables declare them by add_role()."
        raise PrincipalInvalid(role, "no table has such a role", advice)
    tenants = {each.tenant for each in found.values() if each.tenant is not None}
    strangers = {name: ids[name] for name in ids if name not in tenants}
    return {
        name: Guard(
            base.tables[name].layout,
            each,
            # What no table takes is refused by the first.
            {key: value for key, value in ids.items() if key == each.tenant} | strangers,
        )
        for name, each in found.items()
    }
