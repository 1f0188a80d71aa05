"""The limits that a server enforces on its clients."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what clients may send, and on how long they may take.

    A request may have a head of `head_bytes` and a body of `body_bytes`, both as sent and after
    decompression. It has to arrive within `receive_seconds`; the client has to read the response
    within `send_seconds`; a connection may be idle for `idle_seconds`.

    Requests that have not begun and answers that have not been sent may take `connection_bytes` for
    each connection: from there on, no more is read from it. All together may take `buffered_bytes`,
    and large requests that are being carried out `work_bytes`: they wait for that.

    There may be `connections` open connections, fewer if the process may not open enough files, and
    `waiting` requests waiting to run. What goes beyond these, or beyond `buffered_bytes`, is answered
    with status 503. A TLS handshake has to be finished within `handshake_seconds`.

    An operation that runs in a thread has to end within `run_seconds`: a page of a Query or Scan ends
    early, and other reads are answered with an InternalServerError.
    """

    head_bytes: int = 16 * 1024
    body_bytes: int = 16 * MIB
    receive_seconds: float = 60.0
    send_seconds: float = 60.0
    idle_seconds: float = 300.0
    handshake_seconds: float = 10.0
    connections: int = 1_000
    waiting: int = 2_000
    connection_bytes: int = 32 * MIB
    buffered_bytes: int = 256 * MIB
    work_bytes: int = 512 * MIB
    # Requests that one connection may send before the first is answered.
    pipelined: int = 32
    run_seconds: float = 10.0
    # How long a stop waits for accepted requests, before it cancels those that still run.
    stop_seconds: float = 2.0
