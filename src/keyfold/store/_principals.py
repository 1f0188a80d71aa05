"""How a store runs the requests of a principal: after a look at what they would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from keyfold.errors import AccessDenied, PrincipalInvalid
from keyfold.model._batches import Batch
from keyfold.model._keys import TableLike
from keyfold.model._requests import Chain, Get, Mapped, Query, Request
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
    """The settings of a store, for one principal.

    Nearly every request is allowed, so that is found out first, without spelling out all that the
    request would do.
    """

    is_guarded = True

    def __init__(self, base: StoreSettings, role: str, ids: Mapping[str, str]) -> None:
        if base.is_guarded:
            fact = "a principal's store makes no other principals"
            raise AccessDenied(cast(PrincipalSettings, base).role, "as_principal", None, fact)
        self.__dict__.update(base.__dict__)
        self._base = base
        self.role = role
        self._guards = _make_guards(base, role, ids)
        # The guard of each table and the name of its partition key, by which table it is.
        self._fast_guards = {
            id(table): (self._guards[table.name], table.key.partition[0])
            for table in base.tables.values()
            if table.name in self._guards
        }
        self.principal = repr((role, sorted(ids.items())))

    @property
    def cursors(self) -> CursorBox:
        """What seals this principal's cursors, with the key of the whole store."""
        return self._base.cursors.of(self.principal)

    def check(self, request: Request[Any]) -> None:
        """Raise WrongTable for a request of another table, AccessDenied for one that is denied."""
        look = self._LOOKS.get(type(request))
        if look is None:
            self._check_in_full(request)
        else:
            look(self, request)

    def check_administration(self, operation: str, table: TableLike) -> None:
        """Raise AccessDenied: principals run requests alone."""
        fact = "a principal's store runs requests, and nothing else"
        raise AccessDenied(self.role, operation, table.name, fact)

    # Looks that tell quickly of what is allowed. What they are not sure of is looked at closely.

    def _check_get(self, request: Get[Any]) -> None:
        way = self._fast_guards.get(id(request.table))
        if way is None or not way[0].admits(_GET, request.key[way[1]]):
            self._check_in_full(request)

    def _check_query(self, request: Query[Any]) -> None:
        way = self._fast_guards.get(id(request.table))
        if (
            way is None
            or request.index is not None
            or not way[0].admits(_QUERY, request.keys.equals[0][1])
        ):
            self._check_in_full(request)

    def _check_put(self, request: Put[Any], *, is_member: bool = False) -> None:
        way, item = self._fast_guards.get(id(request.table)), request.item
        if (
            way is None
            or request.schema.unique
            or not way[0].admits(put_rights(request), item[way[1]], item)
        ):
            self._check_write(request, is_member=is_member)

    def _check_update(self, request: Update[Any], *, is_member: bool = False) -> None:
        way, key = self._fast_guards.get(id(request.table)), request.key
        if (
            way is None
            or not way[0].watches_keys_alone
            or request.schema.unique
            or not way[0].admits(_UPDATE, key[way[1]], key)
        ):
            self._check_write(request, is_member=is_member)

    def _check_delete(self, request: Delete[Any], *, is_member: bool = False) -> None:
        way = self._fast_guards.get(id(request.table))
        if way is None or request.schema.unique or not way[0].admits(_DELETE, request.key[way[1]]):
            self._check_write(request, is_member=is_member)

    def _check_transaction(self, request: Transaction) -> None:
        for each in request.requests:
            if isinstance(each, Get):
                self._check_get(each)
            else:
                # It returns nothing, whatever the write would by itself.
                self._LOOKS[type(each)](self, each, is_member=True)

    def _check_batch(self, request: Batch[Any]) -> None:
        super().check(request)
        for each in request.requests:
            way = self._fast_guards.get(id(each.table))
            if way is None or not _admits_member(each, *way):
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
        """Look at all that a write would do, and whether it takes or gives up unique values."""
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
        assert access.table is not None  # requests are about tables
        guard = self._guards.get(access.table)
        if guard is None:
            fact = f"there is no role {self.role} in {access.table}"
            raise AccessDenied(self.role, access.action, access.table, fact)
        self._deny(guard.check(access, keeps_unique=True))

    def _deny(self, denial: Denial | None) -> None:
        if denial is not None:
            raise AccessDenied(self.role, denial.action, denial.table, denial.fact)

    _LOOKS: ClassVar[dict[type[Any], Callable[..., None]]] = {
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
    """Tell whether a member of a batch is sure to be allowed."""
    match request:
        case Get(key=key):
            return guard.admits(_GET, key[name])
        case Put(item=item):
            return guard.admits(_EITHER, item[name], item)
        case Delete(key=key):
            return guard.admits(_DELETE, key[name])


def _make_guards(base: StoreSettings, role: str, ids: Mapping[str, str]) -> dict[str, Guard]:
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
