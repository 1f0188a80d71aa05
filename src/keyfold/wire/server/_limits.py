"""What the server holds clients to."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what clients may send, and on how long they may take.

    A request may have a head of `head_bytes` and a body of `body_bytes`, both as they are sent
    and after decompression. It has to arrive within `receive_seconds`; its answer has to be
    taken within `send_seconds`; a connection may lie idle for `idle_seconds`. There may be
    `connections` of them, `waiting` requests that wait for their turn, and `buffered_bytes` of
    bodies in memory; whatever comes on top is answered with status 503.
    """

    head_bytes: int = 16 * 1024
    body_bytes: int = 16 * MIB
    receive_seconds: float = 60.0
    send_seconds: float = 60.0
    idle_seconds: float = 300.0
    connections: int = 1_000
    waiting: int = 2_000
    buffered_bytes: int = 256 * MIB
    # Requests of one connection that were sent before the first was answered.
    pipelined: int = 32
    # How long a stop waits for what was accepted.
    stop_seconds: float = 10.0
