"""The settings of agents' tools: whether they may write, and how much they may use."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid
from keyfold.service._rate_limits import RateLimits
from keyfold.service._running import PageLimits
from keyfold.service.mcp._audit import AuditLog

# What a list has if the agent does not say: more fills its context.
_USUAL_ITEMS = 25
# An answer of this size takes about 12,000 tokens of an agent's context.
_MAX_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class AgentCaps:
    """The most that an agent gets: items and bytes of an answer, capacity units of a call and a session.

    Raises OptionInvalid.
    """

    items: int = 100
    answer_bytes: int = _MAX_BYTES
    call_units: float = 200.0
    session_units: float = 10_000.0

    def __post_init__(self) -> None:
        for name in ("items", "answer_bytes", "call_units", "session_units"):
            value = getattr(self, name)
            if not math.isfinite(value) or value <= 0:
                raise OptionInvalid(name, value, "Give a number above 0.")

    @property
    def pages(self) -> PageLimits:
        """How many items a list has: if the agent does not say, and at most."""
        return PageLimits(min(_USUAL_ITEMS, self.items), self.items)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of agents' tools.

    Without `may_write`, tools that write are neither listed nor run. A session is what a principal
    does until it has been idle for `idle_seconds`: by default, for as long as the server runs.
    """

    caps: AgentCaps = field(default_factory=AgentCaps)
    may_write: bool = False
    audit: AuditLog | None = None
    limits: RateLimits | None = None
    idle_seconds: float = math.inf
    monotonic: Clock = time.monotonic
