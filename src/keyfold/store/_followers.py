"""Followers of a table: their workers and dead letters, as plans that both stores drive."""

from __future__ import annotations

from keyfold.errors import OptionInvalid, ResourceNotFoundException
from keyfold.model._tables import Table
from keyfold.store._dead_letters import DeadLetters
from keyfold.store._follow_options import DeadLetter, FollowOptions, lease_table_name
from keyfold.store._following import Worker
from keyfold.store._lease_keeper import LeaseCalls
from keyfold.store._plans import Plan
from keyfold.store._settings import StoreSettings


class Follower:
    """A follower of a table, with its progress in a lease table; raises AccessDenied, WrongTable."""

    def __init__(
        self, settings: StoreSettings, table: Table, name: str, leases: str | None
    ) -> None:
        settings.check_administration("GetRecords", table)
        settings.check_table(table)
        self._settings = settings
        self._calls = LeaseCalls(settings, leases or lease_table_name(table))
        self._dead_letters = DeadLetters(self._calls, name)

    def make_worker(self, options: FollowOptions, *, may_await: bool) -> Worker:
        """Return a worker; raises OptionInvalid, for coroutine functions unless it `may_await`."""
        options.check()
        for handler in options.table.handlers.values():
            if handler.is_async and not may_await:
                advice = "It is a coroutine function: follow the table with an AsyncStore."
                raise OptionInvalid("handler", handler.name, advice)
        return Worker(self._settings, options, self._calls, self._dead_letters)

    def list_dead_letters(self) -> Plan[list[DeadLetter]]:
        """Return the dead letters, oldest first; none if there is no lease table yet."""
        try:
            return (yield from self._dead_letters.list_changes())
        except ResourceNotFoundException:
            return []

    def retry_dead_letters(self, handler: str | None) -> Plan[int]:
        """Mark failed letters for retry, all or one handler's; return how many were marked."""
        try:
            heads = yield from self._dead_letters.list_heads()
        except ResourceNotFoundException:
            return 0
        wanted = [
            each for each in heads if each.state == "failed" and handler in (None, each.handler)
        ]
        return (yield from self._dead_letters.mark_for_retry(wanted))
