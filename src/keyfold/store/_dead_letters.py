"""Dead letters: changes that a handler failed on, kept in order in the lease table.

Later changes of the same item wait behind them, so a handler always sees the changes of an item
in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from keyfold.errors import ConditionFailed, OutcomeUnknown
from keyfold.model._formatting import show_item
from keyfold.store._follow_options import DeadLetter
from keyfold.store._lease_keeper import LeaseCalls
from keyfold.store._leases import DeadLetterHead, StoredDeadLetter
from keyfold.store._plans import Plan
from keyfold.store._records import StreamRecord

# A record may have two images of 400 KB each, and an item is limited to 400 KB.
_PIECE_BYTES = 300_000
_MAX_ERROR_LENGTH = 2_000


class DeadLetters:
    """The dead letters of one follower, as plans over the lease table."""

    def __init__(self, calls: LeaseCalls, follower: str) -> None:
        self._calls, self._follower = calls, follower
        self._tables = calls.tables

    def add(
        self,
        record: StreamRecord,
        handler: str,
        error: Exception | None,
        attempts: int,
        now: datetime,
    ) -> Plan[None]:
        """Store a record as a dead letter; without an error, it waits behind an earlier one."""
        data = record.to_bytes()
        pieces = [data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES)]
        parts: dict[str, Any] = {
            "follower": self._follower,
            "sequence": int(record.sequence),
            "item": record.item_id,
            "handler": handler,
        }
        # The further pieces first, so that every listed letter is complete.
        for number, piece in enumerate(pieces[1:], start=1):
            yield from self._calls.run(
                self._tables.piece(**parts, number=number, record=piece).put()
            )
        letter = self._tables.dead_letter(
            **parts,
            state="waiting" if error is None else "failed",
            error="" if error is None else describe_error(error),
            key=show_item(record.key),
            kind=record.kind,
            changed_at=record.at,
            added_at=now,
            attempts=attempts,
            record=pieces[0],
            pieces=len(pieces) - 1,
        )
        # If the record is read twice, the first pass may have stored the letter already.
        yield from self._calls.run(letter.create().or_get())

    def list_heads(self) -> Plan[list[DeadLetterHead]]:
        """Return the dead letters without their records, oldest first."""
        query = self._tables.dead_letter.query(follower=self._follower).consistent()
        return (yield from self._calls.collect(query.only(DeadLetterHead)))

    def list_changes(self) -> Plan[list[DeadLetter]]:
        """Return the dead letters for display, oldest first."""
        query = self._tables.dead_letter.query(follower=self._follower).consistent()
        found = yield from self._calls.collect(query)
        return [
            DeadLetter(
                handler=each.handler,
                key=each.key,
                kind=each.kind,
                changed_at=each.changed_at,
                added_at=each.added_at,
                state=each.state,
                attempts=each.attempts,
                error=each.error,
            )
            for each in found
        ]

    def fetch(self, head: DeadLetterHead) -> Plan[tuple[StoredDeadLetter, StreamRecord] | None]:
        """Return a dead letter with its record; None if it was removed."""
        parts = _parts_of(head)
        letter = yield from self._calls.run(self._tables.dead_letter.get(**parts).consistent())
        if letter is None:
            return None
        data = letter.record
        for number in range(1, letter.pieces + 1):
            get = self._tables.piece.get(**parts, number=number).consistent()
            piece = yield from self._calls.run(get)
            assert piece is not None  # pieces are written before the letter, and deleted after it
            data += piece.record
        return letter, StreamRecord.from_bytes(data)

    def remove(self, letter: StoredDeadLetter) -> Plan[None]:
        """Delete the letter of a change that was handled."""
        parts = _parts_of(letter)
        yield from self._calls.run(self._tables.dead_letter.delete(**parts))
        for number in range(1, letter.pieces + 1):
            yield from self._calls.run(self._tables.piece.delete(**parts, number=number))

    def fail_again(self, letter: StoredDeadLetter, error: Exception, attempts: int) -> Plan[None]:
        """Record that a retry failed."""
        fields = self._tables.dead_letter.f
        update = self._tables.dead_letter.update(**_parts_of(letter))
        yield from self._calls.run(
            update.set(fields.state, "failed")
            .set(fields.error, describe_error(error))
            .set(fields.attempts, letter.attempts + attempts)
        )

    def mark_for_retry(self, heads: Sequence[DeadLetterHead]) -> Plan[int]:
        """Mark failed letters for retry; return how many were marked."""
        fields = self._tables.dead_letter.f
        marked = 0
        for head in heads:
            update = self._tables.dead_letter.update(**_parts_of(head)).set(
                fields.state, "retrying"
            )
            try:
                yield from self._calls.run(update.where(fields.state.eq("failed")))
            except (ConditionFailed, OutcomeUnknown):
                # It was handled meanwhile, or is marked already.
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
    """Return the type and message of an error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:_MAX_ERROR_LENGTH] if text else type(error).__name__
