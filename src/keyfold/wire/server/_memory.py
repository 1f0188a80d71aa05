"""What connections make the server hold: counted in one place, before it is allocated.

Buffers are requests that have not begun, and answers that have not been sent. Each connection may buffer a
little without asking. What it buffers beyond that is taken from a pool that all connections share. So
clients that fill the pool keep nobody else from making ordinary requests.

Work is what a large request becomes while it is carried out. It waits until there is room for that. Since
requests that wait take nothing from this room, those that have it always finish, and nobody waits for
ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from keyfold.wire.server._limits import Limits

# What each connection may buffer without taking it from the pool.
_OWN_BYTES = 1 << 16
# Below this part of its own bytes, a body is not counted: most are.
_UNCOUNTED_PART = 4

# How much a parsed body takes, at most, for each of its bytes: `{"N":"1"}` takes 27 times its length,
# and is held twice, as received, for a moment.
WORK_FACTOR = 32
# Work up to this part of the limit is small: it has an eighth of the limit for itself, so that it need
# not wait for large work.
_SMALL_PART = 64
_SMALL_RESERVE_PART = 8


class MemoryFull(Exception):
    """The server holds as much as it may, so a request was not begun."""


class _Waiting(NamedTuple):
    owner: object
    size: int
    begin: Callable[[], None]


class ServerMemory:
    """The bytes that all connections of a server make it hold, and their limits."""

    __slots__ = (
        "_is_granting",
        "_pool_bytes",
        "_waiting",
        "_work_limit",
        "is_full",
        "own_bytes",
        "pooled_bytes",
        "uncounted_body_bytes",
        "work_bytes",
    )

    def __init__(self, limits: Limits, connections: int) -> None:
        self.own_bytes = min(_OWN_BYTES, limits.buffered_bytes // (2 * connections))
        self.uncounted_body_bytes = min(self.own_bytes // _UNCOUNTED_PART, limits.body_bytes)
        self._pool_bytes = limits.buffered_bytes - self.own_bytes * connections
        self._work_limit = limits.work_bytes
        # What is taken from the pool, and whether nothing is left there.
        self.pooled_bytes = 0
        self.is_full = False
        self.work_bytes = 0
        self._waiting: deque[_Waiting] = deque()
        self._is_granting = False

    def take(self, size: int) -> bool:
        """Take bytes from the pool; return False, and take none, if there are not so many."""
        if self.pooled_bytes + size > self._pool_bytes:
            return False
        self.take_anyway(size)
        return True

    def take_anyway(self, size: int) -> None:
        """Take bytes from the pool, even more than there are; a negative size returns them."""
        self.pooled_bytes += size
        self.is_full = self.pooled_bytes >= self._pool_bytes

    def begin_work(self, owner: object, size: int, begin: Callable[[], None]) -> bool:
        """Call `begin` when there is room for work of this size; return whether that was now.

        The caller returns the room with `end_work`. Work that is larger than the limit is begun when
        there is no other.
        """
        # Large work waits for its turn.
        is_next = self._is_small(size) or not self._waiting
        has_room = is_next and self._has_room(size)
        if has_room:
            self.work_bytes += size
            begin()
        else:
            self._waiting.append(_Waiting(owner, size, begin))
        return has_room

    def end_work(self, size: int) -> None:
        """Return the room of finished work, and begin the work that has waited longest."""
        self.work_bytes -= size
        if self._is_granting:
            # Work that was finished as soon as it began: the loop below goes on.
            return
        self._is_granting = True
        while self._waiting and self._has_room(self._waiting[0].size):
            waiting = self._waiting.popleft()
            self.work_bytes += waiting.size
            waiting.begin()
        self._is_granting = False

    def cancel_work(self, owner: object) -> None:
        """Forget the work of `owner` that is waiting."""
        self._waiting = deque(each for each in self._waiting if each.owner is not owner)

    def _is_small(self, size: int) -> bool:
        return size <= self._work_limit // _SMALL_PART

    def _has_room(self, size: int) -> bool:
        room = self._work_limit
        if self._is_small(size):
            room += self._work_limit // _SMALL_RESERVE_PART
        return self.work_bytes + size <= room or self.work_bytes == 0


class ConnectionMemory:
    """The bytes that one connection makes the server buffer."""

    __slots__ = ("_is_closed", "_own_bytes", "_server", "held_bytes")

    def __init__(self, server: ServerMemory) -> None:
        self._server = server
        self._own_bytes = server.own_bytes
        self.held_bytes = 0
        self._is_closed = False

    def hold(self, size: int) -> bool:
        """Count bytes that are about to be held; return False, and count none, if there is no room."""
        if self._is_closed:
            return True
        pooled = self._find_pooled(self.held_bytes + size) - self._find_pooled(self.held_bytes)
        if pooled and not self._server.take(pooled):
            return False
        self.held_bytes += size
        return True

    def hold_anyway(self, size: int) -> None:
        """Count bytes that are held already, even beyond the limits; a negative size releases them."""
        if self._is_closed:
            return
        pooled = self._find_pooled(self.held_bytes + size) - self._find_pooled(self.held_bytes)
        if pooled:
            self._server.take_anyway(pooled)
        self.held_bytes += size

    def release(self, size: int) -> None:
        """Count bytes no longer."""
        self.hold_anyway(-size)

    def close(self) -> None:
        """Release everything; nothing is counted from now on."""
        self.release(self.held_bytes)
        self._is_closed = True

    def _find_pooled(self, held: int) -> int:
        return max(0, held - self._own_bytes)
