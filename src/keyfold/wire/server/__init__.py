"""An HTTP server that any DynamoDB client can use.

A request passes these modules in order: `_connection` receives it and enforces the limits,
`_requests` finds the operation or the error, `_gate` decides whether it is authorized (with
`_signatures`, `_fast_signatures`, `_keyring` and `_authorizers`), `_scheduler` has the engine
carry it out, `_answers` turns the outcome into the response that DynamoDB would send. `_server`
starts and stops them; `_workers` runs several server processes on one port.
"""

from __future__ import annotations

from keyfold.wire.server._gate import Gate, make_key_gate, make_policy_gate
from keyfold.wire.server._limits import Limits
from keyfold.wire.server._server import Server

__all__ = ["Gate", "Limits", "Server", "make_key_gate", "make_policy_gate"]
