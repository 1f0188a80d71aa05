"""Changes that a handler could not take: kept in the lease table, in order, until they are tried again.

What comes later of the same item waits behind them: a handler never sees an item's changes in
another order than that in which they were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from keyfold.errors import ConditionFailed, OutcomeUnknown, ResourceNotFoundException
from keyfold.model._showing import show_item
from keyfold.model._tables import Table
from keyfold.store._follow_options import DeadLetter, lease_table_name
from keyfold.store._lease_keeper import LeaseCalls
from keyfold.store._leases import DeadLetterHead, StoredDeadLetter
from keyfold.store._plans import Plan
from keyfold.store._records import StreamRecord
from keyfold.store._settings import StoreSettings

# A record may show two images of 400 KB each, and an item has no more than that in all.
_PIECE_BYTES = 300_000
_LONGEST_ERROR = 2_000


class DeadLetters:
    """The parked changes of one follower."""

    def __init__(self, calls: LeaseCalls, follower: str) -> None:
        self._calls, self._follower = calls, follower
        self._tables = calls.tables

    def park(
        self,
        record: StreamRecord,
        handler: str,
        error: Exception | None,
        attempts: int,
        now: datetime,
    ) -> Plan[None]:
        """Keep a record for later; without an error, since another is in its way."""
        data = record.to_bytes()
        pieces = [data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES)]
        parts: dict[str, Any] = {
            "follower": self._follower,
            "sequence": int(record.sequence),
            "item": record.item_id,
            "handler": handler,
        }
        # The rest of it first: what is listed is whole.
        for number, piece in enumerate(pieces[1:], start=1):
            yield from self._calls.run(
                self._tables.piece(**parts, number=number, record=piece).put()
            )
        letter = self._tables.dead_letters(
            **parts,
            state="waiting" if error is None else "failed",
            error="" if error is None else describe_error(error),
            key=show_item(record.key),
            kind=record.kind,
            changed_at=record.at,
            parked_at=now,
            attempts=attempts,
            record=pieces[0],
            pieces=len(pieces) - 1,
        )
        # A record that is read twice may have been parked the first time.
        yield from self._calls.run(letter.create().or_get())

    def list_heads(self) -> Plan[list[DeadLetterHead]]:
        """Return what is parked, oldest first, without the records themselves."""
        query = self._tables.dead_letters.query(follower=self._follower).consistent()
        return (yield from self._calls.collect(query.only(DeadLetterHead)))

    def list_changes(self) -> Plan[list[DeadLetter]]:
        """Return what is parked, oldest first, for people to read."""
        query = self._tables.dead_letters.query(follower=self._follower).consistent()
        found = yield from self._calls.collect(query)
        return [
            DeadLetter(
                handler=each.handler,
                key=each.key,
                kind=each.kind,
                changed_at=each.changed_at,
                parked_at=each.parked_at,
                state=each.state,
                attempts=each.attempts,
                error=each.error,
            )
            for each in found
        ]

    def fetch(self, head: DeadLetterHead) -> Plan[tuple[StoredDeadLetter, StreamRecord] | None]:
        """Return a parked change with its record; None if it is gone."""
        parts = _parts_of(head)
        letter = yield from self._calls.run(self._tables.dead_letters.get(**parts).consistent())
        if letter is None:
            return None
        data = letter.record
        for number in range(1, letter.pieces + 1):
            get = self._tables.piece.get(**parts, number=number).consistent()
            piece = yield from self._calls.run(get)
            assert piece is not None  # pieces are written first, and removed last
            data += piece.record
        return letter, StreamRecord.from_bytes(data)

    def remove(self, letter: StoredDeadLetter) -> Plan[None]:
        """Forget a change that was taken at last."""
        parts = _parts_of(letter)
        yield from self._calls.run(self._tables.dead_letters.delete(**parts))
        for number in range(1, letter.pieces + 1):
            yield from self._calls.run(self._tables.piece.delete(**parts, number=number))

    def fail_again(self, letter: StoredDeadLetter, error: Exception, attempts: int) -> Plan[None]:
        """Note that a change could still not be taken."""
        fields = self._tables.dead_letters.f
        update = self._tables.dead_letters.update(**_parts_of(letter))
        yield from self._calls.run(
            update.set(fields.state, "failed")
            .set(fields.error, describe_error(error))
            .set(fields.attempts, letter.attempts + attempts)
        )

    def ask_again(self, heads: Sequence[DeadLetterHead]) -> Plan[int]:
        """Mark changes that failed, to be tried again; return how many."""
        fields = self._tables.dead_letters.f
        marked = 0
        for head in heads:
            update = self._tables.dead_letters.update(**_parts_of(head)).set(fields.state, "again")
            try:
                yield from self._calls.run(update.where(fields.state.eq("failed")))
            except (ConditionFailed, OutcomeUnknown):
                # It was taken meanwhile, or is marked already.
                continue
            marked += 1
        return marked


def _parts_of(letter: StoredDeadLetter | DeadLetterHead) -> dict[str, str | int]:
    return {
        "follower": letter.follower,
        "sequence": letter.sequence,
        "item": letter.item,
        "handler": letter.handler,
    }


def describe_error(error: Exception) -> str:
    """Say in one line what went wrong."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:_LONGEST_ERROR] if text else type(error).__name__


def open_dead_letters(
    settings: StoreSettings, table: Table, follower: str, leases: str | None
) -> DeadLetters:
    """Return the parked changes of a follower of a table; raises WrongTable."""
    settings.check_table(table)
    return DeadLetters(LeaseCalls(settings, leases or lease_table_name(table)), follower)


def list_dead_letters(dead_letters: DeadLetters) -> Plan[list[DeadLetter]]:
    """Return what is parked; nothing where nobody has followed the table yet."""
    try:
        return (yield from dead_letters.list_changes())
    except ResourceNotFoundException:
        return []


def retry_dead_letters(dead_letters: DeadLetters, handler: str | None) -> Plan[int]:
    """Let what has failed be handed out again; return how many changes that are."""
    try:
        heads = yield from dead_letters.list_heads()
    except ResourceNotFoundException:
        return 0
    wanted = [each for each in heads if each.state == "failed"]
    return (
        yield from dead_letters.ask_again(
            [each for each in wanted if handler in (None, each.handler)]
        )
    )
