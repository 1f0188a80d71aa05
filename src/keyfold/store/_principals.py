"""Settings of a principal's store, which check every request against the role before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from keyfold.errors import AccessDenied, PrincipalInvalid
from keyfold.model._batches import Batch
from keyfold.model._keys import TableLike
from keyfold.model._paged_reads import Query
from keyfold.model._reads import Get
from keyfold.model._requests import Chain, Mapped, Request
from keyfold.model._transactions import Transaction
from keyfold.model._updates import Update, touches_unique
from keyfold.model._writes import Check, CreateOrGet, Delete, Put, Write
from keyfold.policy import Access, Denial, Guard, Right
from keyfold.store._accesses import put_rights, read_access, read_accesses, read_member
from keyfold.store._cursors import CursorBox
from keyfold.store._settings import StoreSettings

_GET = Right.GET.value
_QUERY = Right.QUERY.value
_UPDATE = Right.UPDATE.value
_DELETE = Right.DELETE.value
_EITHER = (Right.CREATE | Right.UPDATE).value


class PrincipalSettings(StoreSettings):
    """The settings of a store, restricted to one principal.

    Nearly every request is allowed, so a fast check comes first, which does not build the accesses
    of the request.
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
        # The guard of each table and the name of its partition key, by the identity of the table.
        self._fast_guards = {
            id(table): (self._guards[table.name], table.key.partition[0])
            for table in base.tables.values()
            if table.name in self._guards
        }
        self.principal = repr((role, sorted(ids.items())))

    @property
    def cursors(self) -> CursorBox:
        """Seals and opens this principal's cursors, with the key of the whole store."""
        return self._base.cursors.of(self.principal)

    def check(self, request: Request[Any]) -> None:
        """Raise WrongTable for a table of another store, AccessDenied if the role denies it."""
        check_request = self._CHECKS.get(type(request))
        if check_request is None:
            self._check_in_full(request)
        else:
            check_request(self, request)

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied: a principal may only run requests."""
        fact = "a principal's store may only run requests"
        raise AccessDenied(self.role, operation, table.name, fact)

    # Fast checks, which recognise most allowed requests. The others get a full check.

    def _check_get(self, request: Get[Any]) -> None:
        fast = self._fast_guards.get(id(request.table))
        if fast is None or not fast[0].admits(_GET, request.key[fast[1]]):
            self._check_in_full(request)

    def _check_query(self, request: Query[Any]) -> None:
        fast = self._fast_guards.get(id(request.table))
        if (
            fast is None
            or request.index is not None
            or not fast[0].admits(_QUERY, request.keys.equals[0][1])
        ):
            self._check_in_full(request)

    def _check_put(self, request: Put[Any], *, is_member: bool = False) -> None:
        fast, item = self._fast_guards.get(id(request.table)), request.item
        if (
            fast is None
            or request.schema.unique
            or not fast[0].admits(put_rights(request), item[fast[1]], item)
        ):
            self._check_write(request, is_member=is_member)

    def _check_update(self, request: Update[Any], *, is_member: bool = False) -> None:
        fast, key = self._fast_guards.get(id(request.table)), request.key
        if (
            fast is None
            or not fast[0].watches_only_keys
            or request.schema.unique
            or not fast[0].admits(_UPDATE, key[fast[1]], key)
        ):
            self._check_write(request, is_member=is_member)

    def _check_delete(self, request: Delete[Any], *, is_member: bool = False) -> None:
        fast = self._fast_guards.get(id(request.table))
        if (
            fast is None
            or request.schema.unique
            or not fast[0].admits(_DELETE, request.key[fast[1]])
        ):
            self._check_write(request, is_member=is_member)

    def _check_transaction(self, request: Transaction) -> None:
        for each in request.requests:
            if isinstance(each, Get):
                self._check_get(each)
            else:
                # A member of a transaction has no ReturnValues, unlike the same write on its own.
                self._CHECKS[type(each)](self, each, is_member=True)

    def _check_batch(self, request: Batch[Any]) -> None:
        super().check(request)
        for each in request.requests:
            fast = self._fast_guards.get(id(each.table))
            if fast is None or not _admits_member(each, *fast):
                self._check_access(read_member(each, self.clock()))

    def _check_create_or_get(self, request: CreateOrGet[Any]) -> None:
        self._check_put(request.put)

    def _check_mapped(self, request: Mapped[Any]) -> None:
        self.check(request.request)

    def _check_chain(self, request: Chain[Any]) -> None:
        if request.is_lookup:
            super().check(request)
        else:
            self.check(request.first)

    def _check_write(self, request: Write[Any], *, is_member: bool = False) -> None:
        """Check the access of a write, and whether the role may change the unique values it touches."""
        super().check(request)
        access = read_access(request, self.clock())
        if is_member:
            access = access._replace(return_values=None)
        self._check_access(access)
        if touches_unique(request):
            self._deny(self._guards[request.table.name].check_unique(access, request.schema.name))

    def _check_in_full(self, request: Request[Any]) -> None:
        super().check(request)
        for access in read_accesses(request, self.clock()):
            self._check_access(access)

    def _check_access(self, access: Access) -> None:
        assert access.table is not None  # every request is for a table
        guard = self._guards.get(access.table)
        if guard is None:
            fact = f"table {access.table} has no role {self.role}"
            raise AccessDenied(self.role, access.action, access.table, fact)
        self._deny(guard.check(access, keeps_unique=True))

    def _deny(self, denial: Denial | None) -> None:
        if denial is not None:
            raise AccessDenied(self.role, denial.action, denial.table, denial.fact)

    _CHECKS: ClassVar[dict[type[Any], Callable[..., None]]] = {
        Batch: _check_batch,
        Chain: _check_chain,
        Check: _check_write,
        CreateOrGet: _check_create_or_get,
        Delete: _check_delete,
        Get: _check_get,
        Mapped: _check_mapped,
        Put: _check_put,
        Query: _check_query,
        Transaction: _check_transaction,
        Update: _check_update,
    }


def _admits_member(request: Get[Any] | Put[Any] | Delete[Any], guard: Guard, name: str) -> bool:
    """Return whether a member of a batch is certainly allowed; if not, it needs a full check."""
    match request:
        case Get(key=key):
            return guard.admits(_GET, key[name])
        case Put(item=item):
            return guard.admits(_EITHER, item[name], item)
        case Delete(key=key):
            return guard.admits(_DELETE, key[name])


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
