"""The database of a service: one store for everybody, and one for each caller."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from typing import Any

from keyfold.connect import open_async
from keyfold.errors import OptionInvalid
from keyfold.model import Table
from keyfold.service._callers import Authenticator, Caller, FixedCaller, Nobody
from keyfold.service._entity_tags import EntityTags
from keyfold.service._idempotency import IdempotencyKeys
from keyfold.service._problems import refuse
from keyfold.service._running import count_units
from keyfold.store import AsyncStore

_LOG = logging.getLogger("keyfold.service")

# Making a caller's store compiles its rights.
_REMEMBERED = 1_000


class ServiceDatabase:
    """Opens a database when it is first used, and keeps the stores of callers.

    `database` is a URL as `keyfold.open_async` takes it, or an open store, which stays open.
    """

    def __init__(self, table: Table, database: str | AsyncStore, **options: Any) -> None:
        self.table = table
        self._is_given = not isinstance(database, str)
        # A file keeps a key of its own, and a given store may still be opened.
        self._lacks_key = (
            isinstance(database, str) and "://" in database and options.get("cursor_key") is None
        )
        self._opened = (
            open_async(table, database, **options) if isinstance(database, str) else database
        )
        self._store: AsyncStore | None = None
        self._idempotency_keys: IdempotencyKeys | None = None
        # Of no use before the store is opened.
        self.tags = EntityTags(b"")
        self._lock = asyncio.Lock()
        self._stores: OrderedDict[str, AsyncStore] = OrderedDict()

    def check_key(self, authenticator: Authenticator) -> None:
        """Raise OptionInvalid if callers may be end users, but there is no key for their handles."""
        match authenticator:
            case Nobody():
                return
            case FixedCaller(caller=caller):
                names = {*caller.roles}
            case _:
                names = {*self.table.roles}
        roles = [each for each in self.table.roles.values() if each.name in names]
        if self._lacks_key and any(each.is_end_user for each in roles):
            advice = (
                "End users get handles, which have to stay the same: give at least 32 random bytes."
            )
            raise OptionInvalid("cursor_key", None, advice)

    async def open(self) -> AsyncStore:
        """Return the store that may do everything; it is opened with the first call."""
        if self._store is None:
            async with self._lock:
                if self._store is None:
                    if not self._is_given:
                        await self._opened.__aenter__()
                    self._idempotency_keys = self._open_idempotency_keys()
                    self.tags = self._open_tags()
                    self._store = self._opened.observed_by(count_units)
        return self._store

    def _open_idempotency_keys(self) -> IdempotencyKeys | None:
        try:
            return IdempotencyKeys(self._opened, self.table)
        except OptionInvalid as error:
            _LOG.warning("requests with an Idempotency-Key will be refused: %s", error)
            return None

    def _open_tags(self) -> EntityTags:
        try:
            return EntityTags(self._opened.derive_secret("entity tags"))
        except OptionInvalid:
            self._lacks_key = True
            # As cursors are then, tags are of use in this process only.
            return EntityTags(secrets.token_bytes(32))

    async def idempotency_keys(self) -> IdempotencyKeys:
        """Return what runs requests with idempotency keys; raises a problem if that is not possible."""
        await self.open()
        if self._idempotency_keys is None:
            detail = "This service keeps no idempotency keys. Send the request without one."
            raise refuse(400, "idempotency-keys-off", detail)
        return self._idempotency_keys

    async def open_as(self, caller: Caller) -> AsyncStore:
        """Return the store of a caller; raises PrincipalInvalid."""
        found = self._stores.get(caller.principal)
        if found is not None:
            self._stores.move_to_end(caller.principal)
            return found
        whole = await self.open()
        made = whole.as_principal(*caller.roles, **caller.ids)
        self._stores[caller.principal] = made
        if len(self._stores) > _REMEMBERED:
            self._stores.popitem(last=False)
        return made

    async def close(self) -> None:
        """Close the database, unless it was given as an open store."""
        if self._store is not None and not self._is_given:
            await self._opened.__aexit__(None, None, None)
        self._store = None
        self._stores.clear()
