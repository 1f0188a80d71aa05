"""Sessions of agents: how many capacity units each has used, and how many calls it may make at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from keyfold.clocks import Clock
from keyfold.service._problems import refuse

# The calls of a session that run at once. More wait, since units are known only afterwards.
_AT_ONCE = 4
_MOST_SESSIONS = 10_000


@dataclass(slots=True)
class AgentSession:
    """What one principal has used since it was last idle."""

    used_at: float
    units: float = 0.0
    running: int = 0
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


class AgentSessions:
    """The sessions of principals. It is for one event loop: no lock."""

    def __init__(self, most_units: float, idle_seconds: float, monotonic: Clock) -> None:
        self._most_units = most_units
        self._idle_seconds = idle_seconds
        self._monotonic = monotonic
        # Ordered by use, the oldest first.
        self._sessions: OrderedDict[str, AgentSession] = OrderedDict()

    @asynccontextmanager
    async def turn(self, principal: str) -> AsyncGenerator[AgentSession]:
        """Wait for a turn to call; raises a problem if the session has used its units."""
        session = self._find(principal)
        session.running += 1
        try:
            async with session.turns:
                if self.left(session) <= 0:
                    detail = (
                        f"This session has used its {self._most_units:g} capacity units. No tool can be "
                        "called until the server is started again, or the session has been idle."
                    )
                    raise refuse(429, "session-units-spent", detail)
                yield session
        finally:
            session.running -= 1
            session.used_at = self._monotonic()

    def left(self, session: AgentSession) -> float:
        """Return how many units a session may still use."""
        return self._most_units - session.units

    def _find(self, principal: str) -> AgentSession:
        now = self._monotonic()
        found = self._sessions.pop(principal, None)
        if found is None or (not found.running and now - found.used_at > self._idle_seconds):
            found = AgentSession(now)
        self._sessions[principal] = found
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found
